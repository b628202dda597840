//! Converts messages for devices from the domain to the wire.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::audit::AuditHead;
use orion_wire::v1::link_response;
use orion_wire::{approval_basis, call_state, observed_bytes, risk, risk_raise, v1};
use tokio::sync::mpsc;
use tonic::Status;

use super::RECONNECT_MS;
use crate::backend::Backend;
use crate::fleet::custom_tools::RefusedDefinition;
use crate::fleet::{Dispatch, ToDevice};

/// How much each connected device adds to the time over which all renewals spread, in milliseconds.
const EACH_RENEWAL_MS: u64 = 20;
/// Maximum time over which renewals spread, in milliseconds.
const MAX_SPREAD_MS: u64 = 30_000;

pub(super) fn policy_update(version: String, bytes: &Arc<Vec<u8>>) -> link_response::Message {
    link_response::Message::PolicyUpdate(v1::PolicyUpdate {
        version,
        policy: bytes.as_ref().clone().into(),
    })
}

/// Returns the head of this backend's audit log, as devices receive it.
pub(super) fn audit_head(backend: &Backend) -> Option<v1::ChainHead> {
    let AuditHead { seq, hash } = backend.store.synced_audit_head();
    Some(v1::ChainHead { seq, hash: hash.as_bytes().to_vec().into() })
}

/// Asks a device to renew its certificate, because the authorities changed. The more devices are connected,
/// the longer each may wait.
pub(super) fn renew_certificate(backend: &Backend) -> link_response::Message {
    let online = u64::try_from(backend.fleet.online()).unwrap_or(u64::MAX);
    let within_ms = online.saturating_mul(EACH_RENEWAL_MS).min(MAX_SPREAD_MS);
    link_response::Message::RenewCertificate(v1::RenewCertificate { within_ms })
}

pub(super) fn to_device(backend: &Backend, message: ToDevice) -> link_response::Message {
    match message {
        ToDevice::Dispatch(order, left) => link_response::Message::Dispatch(dispatch(&order, left)),
        ToDevice::Query(calls) => link_response::Message::CallQuery(v1::CallQuery {
            call_ids: calls.iter().map(ToString::to_string).collect(),
        }),
        ToDevice::Cancel(call) => {
            link_response::Message::CancelCall(v1::CancelCall { call_id: call.to_string() })
        }
        ToDevice::Ack(call, state) => link_response::Message::ResultAck(v1::ResultAck {
            call_id: call.to_string(),
            state: call_state(state).into(),
            audit: audit_head(backend),
        }),
        ToDevice::Policy { version, bytes } => policy_update(version, &bytes),
        ToDevice::CeilingAck(number) => {
            link_response::Message::CeilingAck(v1::CeilingAck { number })
        }
        ToDevice::ToolsRefused(refused) => {
            let tools = refused
                .into_iter()
                .map(|RefusedDefinition { name, why }| v1::RefusedTool { name, why });
            let tools = tools.collect();
            link_response::Message::CustomToolsRefused(v1::CustomToolsRefused { tools })
        }
        ToDevice::Drain { reconnect } => link_response::Message::Drain(v1::Drain {
            reconnect_ms: u64::try_from(reconnect.as_millis()).unwrap_or(RECONNECT_MS),
        }),
    }
}

fn dispatch(order: &Dispatch, time_left: Duration) -> v1::Dispatch {
    let Dispatch {
        call,
        device,
        tool,
        arguments,
        dry_run,
        risk: how_risky,
        policy_version,
        caller,
        approval,
        observe,
        observed,
        definition,
    } = order;
    v1::Dispatch {
        call_id: call.to_string(),
        tool: (*tool).to_owned(),
        arguments: arguments.as_bytes().to_vec().into(),
        dry_run: *dry_run,
        time_left_ms: u64::try_from(time_left.as_millis()).unwrap_or(u64::MAX),
        risk: risk(*how_risky).into(),
        policy_version: policy_version.clone(),
        user: caller.user.to_string(),
        role: caller.role.to_string(),
        conversation_id: caller.conversation.map(|id| id.to_string()).unwrap_or_default(),
        approval: approval.as_ref().map(|proof| v1::ApprovalProof {
            approval_id: proof.id.to_string(),
            binding: proof.binding.as_bytes().to_vec().into(),
            approved_by: proof.approved_by.clone(),
            expires_at: proof.expires_at,
            raises: proof.raises.iter().map(|raise| risk_raise(*raise).into()).collect(),
            basis: approval_basis(proof.basis).into(),
        }),
        traceparent: String::new(),
        device_id: device.to_string(),
        observe: *observe,
        observed: observed_bytes(observed).into(),
        definition: definition.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default().into(),
    }
}

/// Sends the drains that are queued for a device whose link has ended, where the stream has room.
pub(super) fn last_words(
    backend: &Backend,
    taken: Option<ToDevice>,
    orders: &mut mpsc::Receiver<ToDevice>,
    outgoing: &mpsc::Sender<Result<v1::LinkResponse, Status>>,
) {
    let waiting = std::iter::from_fn(|| orders.try_recv().ok());
    for order in taken.into_iter().chain(waiting) {
        if matches!(order, ToDevice::Drain { .. }) {
            let message = v1::LinkResponse { message: Some(to_device(backend, order)) };
            outgoing.try_send(Ok(message)).ok();
        }
    }
}
