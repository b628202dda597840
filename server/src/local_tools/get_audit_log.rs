//! `get_audit_log`: the newest rows of the audit log, for those who may list it.

use std::collections::HashSet;

use jiff::Timestamp;
use orion_catalog::tools::get_audit_log::{Arguments, Entry, GetAuditLog, Returns};
use orion_domain::audit::AuditRow;
use orion_domain::{ErrorCode, Hint, ToolError};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Context, LocalTool, Outcome};
use crate::access::{Access, Operation};
use crate::clock::now_ms;
use crate::store::StoreError;

/// The RPC whose row in the access table says who may read the audit log.
const LISTING: &str = "/orion.v1.AuditService/ListAudit";
/// How many rows are read for one call; older rows are not searched.
const MAX_READ: u32 = 5_000;
/// The maximum size of the returned events, in bytes.
const MAX_BYTES: usize = 256 * 1024;

impl LocalTool for GetAuditLog {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { last_n, of_device, of_tool } = arguments;
        if !may_list(&context).await.map_err(failed)? {
            let message =
                "The audit log is for admins, with a session or a token of the scope read.";
            return Err(ToolError::new(ErrorCode::PermissionDenied, message)
                .hint(Hint::run("see your own calls", "orion calls list")));
        }
        let is_filtered = of_device.is_some() || of_tool.is_some();
        let limit = if is_filtered { MAX_READ } else { last_n };
        let mut rows = context.devices.store.audit_rows(limit, None, None).await.map_err(failed)?;
        let is_whole = rows.len() < limit as usize;
        if is_filtered {
            let wanted = calls_of(&rows, of_device.as_deref(), of_tool.as_deref());
            rows.retain(|row| wanted.contains(&row.call_id));
        }
        let matching = rows.len();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for row in rows.into_iter().take(last_n as usize) {
            bytes += row.body.len();
            if bytes > MAX_BYTES {
                break;
            }
            entries.push(entry(row));
        }
        let wanted = matching.min(last_n as usize);
        let truncated = entries.len() < wanted;
        let count = entries.len();
        let mut message =
            if count == 1 { "1 entry.".to_owned() } else { format!("{count} entries.") };
        if truncated {
            message.push_str(" The others are too large to be shown at once.");
        } else if is_filtered && !is_whole && count < last_n as usize {
            message.push_str(&format!(" Only the newest {MAX_READ} rows were searched."));
        }
        Ok(Outcome { message, data: Returns { entries, count }, truncated })
    }
}

/// Returns whether the caller may list the audit log, by the row of the access table: with this role, and with
/// the session or token that made the call.
async fn may_list(context: &Context) -> Result<bool, StoreError> {
    let Some(Operation { access: Access::Person(least, scope), .. }) = Operation::find(LISTING)
    else {
        return Ok(false);
    };
    let store = &context.devices.store;
    // A call that nobody's session or token made, such as a step of a plan, reads nothing here.
    let Some(token) = store.call(context.call).await?.token else { return Ok(false) };
    let Some((token, role)) = store.token(token, now_ms()).await? else { return Ok(false) };
    let role = role.min(context.caller.role);
    Ok(token.user == context.caller.user && role >= *least && scope.is_met(&token.kind, role))
}

/// What the opening of a call says of its target.
#[derive(Deserialize)]
struct Opened<'a> {
    #[serde(borrow)]
    device: Option<&'a RawValue>,
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
}

/// Returns the calls of these rows that are on this device and of this tool.
fn calls_of(rows: &[AuditRow], device: Option<&str>, tool: Option<&str>) -> HashSet<String> {
    let is = |found: Option<&RawValue>, wanted: Option<&str>| {
        wanted.is_none_or(|wanted| {
            let found = found.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
            found.as_deref() == Some(wanted)
        })
    };
    let opened = rows.iter().filter(|row| row.kind == "call.opened");
    opened
        .filter(|row| {
            serde_json::from_str::<Opened<'_>>(&row.body)
                .is_ok_and(|opened| is(opened.device, device) && is(opened.tool, tool))
        })
        .map(|row| row.call_id.clone())
        .collect()
}

fn entry(row: AuditRow) -> Entry {
    let AuditRow { seq, at, kind, call_id, body, prev_hash: _, hash: _ } = row;
    Entry {
        seq,
        at: Timestamp::from_millisecond(at).map(|at| at.to_string()).unwrap_or_default(),
        kind,
        call_id,
        event: serde_json::from_str(&body).unwrap_or_default(),
    }
}

fn failed(error: StoreError) -> ToolError {
    tracing::error!(%error, "the audit log could not be read for a call");
    ToolError::new(ErrorCode::Internal, "The audit log could not be read.")
        .hint("make the call again")
}
