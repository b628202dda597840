//! `ExplainCall`: why a call would be allowed, asked about or denied.

use orion_domain::{CallRequest, Caller, Hint, Role, UserName};
use orion_wire::{call_request, v1};
use tonic::Status;

use super::{PolicyApi, to_proto};
use crate::chat::{SeenText, seen_in_chat};
use crate::pipeline::explain::{DeviceVerdict, ask_device, explain};
use crate::pipeline::names::resolve;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::{Provenance, StoreError};

/// Explains what would be decided of a call, with all evidence and the smallest changes that would let it run.
/// With `as_user`, an admin asks for another person; with `ask_device`, the device evaluates a preview too.
pub(super) async fn explain_call(
    api: &PolicyApi,
    request: Signed<v1::ExplainCallRequest>,
) -> Result<v1::ExplainCallResponse, Status> {
    let Signed { identity, message } = request;
    let asks = identity.caller;
    let v1::ExplainCallRequest {
        tool,
        device,
        arguments,
        dry_run,
        as_user,
        ask_device: wants,
        seen,
    } = message;
    let called = v1::CallToolRequest { tool, device, arguments, dry_run, ..Default::default() };
    let (mut request, _) = call_request(called).map_err(status::wire)?;
    let subject = subject(api, &asks, &as_user).await?;
    resolve(&api.pipeline, &subject, &mut request).await.map_err(status::store)?;
    let verdict = verdict(api, wants, &asks, &subject, request.clone()).await?;
    let device_state = match &verdict {
        DeviceVerdict::Asked(reply) => Some(reply.as_ref()),
        DeviceVerdict::NotAsked(_) => None,
    };
    let provenance = seen.map(|seen| provenance(api, seen, &request)).unwrap_or_default();
    let explained =
        explain(&api.pipeline, subject.clone(), request, device_state, provenance).await;
    let explained = explained.map_err(status::store)?;
    Ok(to_proto::explained(&explained, &subject, to_proto::verdict(verdict)))
}

/// Returns what content may have influenced a call, if a chat had read this text before it.
fn provenance(api: &PolicyApi, seen: v1::SeenContent, request: &CallRequest) -> Provenance {
    let v1::SeenContent { device, tool, text, said } = seen;
    seen_in_chat(&api.pipeline, SeenText { device, tool, text, said }, request)
}

/// Returns the caller in whose name a call is explained.
async fn subject(api: &PolicyApi, asks: &Caller, as_user: &str) -> Result<Caller, Status> {
    if as_user.is_empty() || as_user == asks.user.as_str() {
        return Ok(asks.clone());
    }
    if asks.role != Role::Admin {
        return Err(status::denied("only an admin may ask what another person could do"));
    }
    let user: UserName = as_user.parse().map_err(status::invalid)?;
    let row = api.devices.store.user(&user).await.map_err(|error| match error {
        StoreError::NotFound => status::no_user(&user),
        StoreError::Conflict
        | StoreError::Ambiguous
        | StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => status::store(error),
    })?;
    if row.disabled_at.is_some() {
        return Err(status::managed_elsewhere(
            format!("{user} is disabled and may do nothing"),
            Hint::run("enable the account", format!("orion users enable {user}")),
        ));
    }
    Ok(Caller { user, role: row.role, conversation: None })
}

/// Asks the device for its verdict, where the caller wants that and may.
async fn verdict(
    api: &PolicyApi,
    wants: bool,
    asks: &Caller,
    subject: &Caller,
    request: CallRequest,
) -> Result<DeviceVerdict, Status> {
    let not_asked = |why: &str| Ok(DeviceVerdict::NotAsked(why.to_owned()));
    if !wants {
        return not_asked(
            "this shows the backend's layers; `orion why` without --no-device asks the device too",
        );
    }
    if asks.user != subject.user {
        return not_asked("a device is asked in one's own name only");
    }
    status::not_stopping(&api.pipeline.tasks)?;
    ask_device(&api.pipeline, asks.clone(), request).await.map_err(status::store)
}
