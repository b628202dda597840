//! What MCP clients read beside tools: the devices, the audit log for who may read it, and the person's calls.

use orion_domain::{CallId, DeviceId, Role};
use rmcp::ErrorData;
use rmcp::model::{CacheScope, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::server::Server;
use crate::backend::Backend;
use crate::people::Identity;
use crate::pipeline::{CallView, calls};
use crate::scope::Scope;
use crate::secret_values;
use crate::store::{AuditFilter, StoreError};

const DEVICES: &str = "orion://devices";
const AUDIT: &str = "orion://audit";
const CALLS: &str = "orion://calls/";
/// How many of the newest rows of the audit log are read.
const AUDIT_ROWS: usize = 100;

/// Returns the address of a call.
pub(super) fn call_uri(call: CallId) -> String {
    format!("{CALLS}{call}")
}

/// Returns the resources of this person.
pub(super) fn list(by: &Identity) -> Vec<Resource> {
    let json = "application/json";
    let devices = Resource::new(DEVICES, "devices").with_mime_type(json);
    let mut found = vec![devices.with_description("The devices, and whether they are online.")];
    if reads_audit(by) {
        let audit = Resource::new(AUDIT, "audit").with_mime_type(json);
        found.push(audit.with_description("The newest 100 rows of the audit log."));
    }
    found
}

/// Returns the templates of further resources.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let call = ResourceTemplate::new(format!("{CALLS}{{id}}"), "call");
    vec![
        call.with_mime_type("application/json")
            .with_description("One of your calls: its state, and its result at its end."),
    ]
}

/// Reads a resource.
pub(super) async fn read(
    server: &Server,
    by: &Identity,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let backend = &server.backend;
    let missing = || ErrorData::resource_not_found(format!("There is no resource {uri:?}."), None);
    let value = match uri {
        DEVICES => devices(backend).await,
        AUDIT if reads_audit(by) => audit(backend).await,
        AUDIT => return Err(missing()),
        _ => {
            let id = uri.strip_prefix(CALLS).filter(|id| id.parse::<CallId>().is_ok());
            let id = id.ok_or_else(missing)?;
            call(server, by, id).await
        }
    };
    let value = value.map_err(|error| {
        if error == StoreError::NotFound { missing() } else { unavailable(&error) }
    })?;
    let contents =
        ResourceContents::text(value.to_string(), uri).with_mime_type("application/json");
    Ok(ReadResourceResult::new(vec![contents]).with_cache_scope(CacheScope::Private).with_ttl_ms(0))
}

/// Returns the error of a request that the database did not answer.
pub(super) fn unavailable(error: &StoreError) -> ErrorData {
    tracing::error!(%error, "the database failed");
    ErrorData::internal_error("The database does not respond. Try again in a few seconds.", None)
}

fn reads_audit(by: &Identity) -> bool {
    by.caller.role >= Role::Admin && by.kind.holds(Scope::Read, by.caller.role)
}

async fn devices(backend: &Backend) -> Result<Value, StoreError> {
    let rows = backend.store.devices(false).await?;
    let shown = rows.into_iter().filter(|row| row.id != DeviceId::BACKEND).map(|row| {
        json!({
            "name": row.name.to_string(),
            "os": row.os,
            "state": row.state.as_str(),
            "online": backend.fleet.is_online(row.id),
        })
    });
    Ok(shown.collect())
}

async fn audit(backend: &Backend) -> Result<Value, StoreError> {
    let found = backend.store.search_audit(&AuditFilter::default(), None, AUDIT_ROWS).await?;
    let rows = found.rows.into_iter().map(|found| {
        json!({
            "seq": found.row.seq,
            "at": found.row.at,
            "kind": found.row.kind,
            "call_id": found.row.call_id,
            "user": found.user,
            "device": found.device,
            "tool": found.tool,
            "result": found.result,
        })
    });
    Ok(rows.collect())
}

async fn call(server: &Server, by: &Identity, id: &str) -> Result<Value, StoreError> {
    let backend = &server.backend;
    let view = CallView::from(calls::visible(&backend.pipeline, &by.caller, id).await?);
    if view.state.is_closed() {
        server.record(by, &view).await?;
    }
    let mut result = serde_json::from_slice::<Value>(&view.result).ok();
    result.iter_mut().for_each(secret_values::hide_in);
    Ok(json!({
        "call_id": view.call,
        "tool": view.tool,
        "device": view.device,
        "state": view.state.as_str(),
        "approval_id": view.approval,
        "result": result,
    }))
}
