//! Handles the messages of a connected device.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use orion_domain::audit::AuditHead;
use orion_domain::{CallId, DeviceId, Grants};
use orion_wire::v1;
use orion_wire::v1::link_request;

use super::chains::received;
use super::incoming::{answer, found, grants, owner_pause};
use super::rate_limits::DeviceRateLimits;
use super::{NOT_RECORDED, TOO_OFTEN};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::custom_tools;
use crate::fleet::presence::{CeilingTold, ceiling_reported};
use crate::fleet::{CallProgress, DeviceLink, DeviceSnapshot, OutputPiece, ToDevice};
use crate::pipeline::reconcile::{self, MAX_ASKED};
use crate::pipeline::result::{self, LateResult};
use crate::store::Witness;

/// Maximum length of a policy version that a device reports, in bytes.
const MAX_VERSION: usize = 64;
/// Maximum length of a progress note, in characters.
const MAX_NOTE: usize = 200;
/// Maximum size of one piece of a call's output, in bytes.
const MAX_OUTPUT_PIECE: usize = 16 * 1024;

/// Handles one message of a device. An invalid message ends the stream.
pub(super) async fn from_device(
    (backend, pace, since): (&Arc<Backend>, &DeviceRateLimits, Instant),
    (known, link): (&DeviceSnapshot, &DeviceLink),
    message: link_request::Message,
) -> Result<(), &'static str> {
    match message {
        link_request::Message::Hello(_) => return Err("a second hello"),
        link_request::Message::PolicyAck(v1::PolicyAck { version, error, findings }) => {
            if version.len() > MAX_VERSION {
                return Err("a policy version that is none");
            }
            if !error.is_empty() {
                let error: String = orion_domain::strip_hidden(&error, 500);
                tracing::warn!(device = %known.name, ?version, %error, "the device refused its policy");
                return Ok(());
            }
            // Acknowledgements of other versions are ignored: those were replaced, or never sent.
            let current = backend.fleet.known(known.id);
            if current.is_some_and(|current| current.policy.version == version) {
                let found = found(findings);
                let stored =
                    backend.store.acknowledge_policy(known.id, &version, &found, now_ms()).await;
                if let Err(error) = stored {
                    tracing::warn!(device = %known.name, %error, "an acknowledgement could not be recorded");
                }
                backend.bus.publish(crate::bus::Change::Device(known.id));
            }
        }
        link_request::Message::CeilingUpdate(update) => {
            let v1::CeilingUpdate { ceiling, workspace, fault, number, projects, pause } = update;
            let ceiling = grants(&ceiling).map_err(|_| "a ceiling that cannot be read")?;
            let fault: String = orion_domain::strip_hidden(&fault, 500);
            if link.has_ended() {
                // The hello of the device's newer connection reported a later ceiling.
                return Err("ended by the backend");
            }
            let pause = pause.map(owner_pause);
            if pause != link.pause() {
                if !pace.may_report(known.id, Instant::now()) {
                    return Err(TOO_OFTEN);
                }
                tracing::info!(device = %known.name, is_paused = pause.is_some(), "the owner paused or resumed the device");
                link.set_pause(pause);
                backend.bus.publish(crate::bus::Change::Device(known.id));
            }
            let is_known = is_known(backend, known.id, (&ceiling, &workspace, &projects));
            if !is_known || pace.is_new_fault(known.id, &fault) {
                let is_free = is_known && fault.is_empty();
                if !is_free && !pace.may_report(known.id, Instant::now()) {
                    return Err(TOO_OFTEN);
                }
                let report = CeilingTold { ceiling, workspace, projects, fault: fault.clone() };
                if let Err(error) = ceiling_reported(&backend.devices, known.id, report).await {
                    tracing::warn!(device = %known.name, %error, "a ceiling was not taken");
                    // The hello of the device's next connection reports the ceiling again.
                    return Err("a ceiling that could not be taken");
                }
                pace.report_fault(known.id, fault);
            }
            if link.send(ToDevice::CeilingAck(number)).is_err() {
                return Err("it does not read what it is sent");
            }
        }
        link_request::Message::CustomTools(v1::CustomTools { definitions }) => {
            if link.has_ended() {
                // The device's newer connection announces its tools itself.
                return Err("ended by the backend");
            }
            let may_change = || pace.may_announce(known.id, Instant::now());
            let (devices, id) = (&backend.devices, known.id);
            match custom_tools::announced(devices, id, &definitions, may_change).await {
                // The definitions that are known stay. A device refuses a call of another definition.
                Ok(None) => {
                    if pace.may_warn(known.id, Instant::now()) {
                        tracing::warn!(device = %known.name, "custom tools that change too often were not taken");
                    }
                }
                Ok(Some(refused)) if refused.is_empty() => {}
                Ok(Some(refused)) => {
                    if pace.may_warn(known.id, Instant::now()) {
                        let count = refused.len();
                        tracing::warn!(device = %known.name, count, "definitions of custom tools were refused");
                    }
                    if link.send(ToDevice::ToolsRefused(refused)).is_err() {
                        return Err("it does not read what it is sent");
                    }
                }
                Err(error) => {
                    tracing::warn!(device = %known.name, %error, "custom tools were not taken");
                    // The device's next connection announces them again.
                    return Err("custom tools that could not be taken");
                }
            }
        }
        link_request::Message::CallStarted(v1::CallStarted { call_id }) => {
            tracing::debug!(device = %known.name, call = call_id, "started");
            if let Ok(call) = call_id.parse() {
                link.asked().resolve(call);
            }
        }
        link_request::Message::CallProgress(v1::CallProgress { call_id, done, total, note }) => {
            let Ok(call) = call_id.parse() else { return Err("progress of what is no call") };
            let note = orion_domain::strip_hidden(&note, MAX_NOTE);
            let advance = CallProgress { done, total, note };
            if backend.fleet.waiting().advance(known.id, call, advance, Instant::now()) {
                backend.bus.publish(crate::bus::Change::CallMoved(call));
            }
        }
        link_request::Message::CallOutput(v1::CallOutput { call_id, offset, data }) => {
            let Ok(call) = call_id.parse() else { return Err("output of what is no call") };
            if data.len() > MAX_OUTPUT_PIECE {
                return Err("a piece of output beyond the largest size");
            }
            let piece = OutputPiece { offset, data: data.into() };
            if backend.fleet.waiting().add_output(known.id, call, &piece) {
                backend.bus.publish(crate::bus::Change::CallOutput(call));
            }
        }
        link_request::Message::CallsNotSeen(v1::CallsNotSeen { call_ids }) => {
            let calls: Result<Vec<CallId>, _> = call_ids.iter().map(|id| id.parse()).collect();
            let Ok(calls) = calls else { return Err("word of what is no call") };
            if calls.len() > MAX_ASKED {
                return Err("word of more calls than it is asked about at once");
            }
            // Reports about calls that this stream did not ask about are ignored.
            for call in calls.into_iter().filter(|call| link.asked().resolve(*call)) {
                if !backend.fleet.waiting().not_seen(known.id, link.id(), call)
                    && let Err(error) = reconcile::never_ran(&backend.pipeline, known, call).await
                {
                    tracing::error!(device = %known.name, %error, "what became of a call could not be recorded");
                }
            }
        }
        link_request::Message::CallResult(message) => {
            let answer = match answer(message) {
                Ok(answer) => answer,
                Err(error) => {
                    if pace.may_warn(known.id, Instant::now()) {
                        tracing::warn!(device = %known.name, %error, "an answer that cannot be read was dropped");
                    }
                    return Ok(());
                }
            };
            link.asked().resolve(answer.call);
            let chain = answer.witness.map(|Witness { seq, hash, .. }| AuditHead { seq, hash });
            if !received(backend, (known.id, since), chain, None).await {
                return Err(NOT_RECORDED);
            }
            // Storing results that no call waits for delays only the device that sends them.
            if let Err(answer) = backend.fleet.waiting().deliver(known.id, answer) {
                let call = answer.call;
                match result::late(&backend.pipeline, known.id, answer).await {
                    Ok(LateResult::Taken) => {}
                    Ok(LateResult::NotItsOwn) if pace.may_warn(known.id, Instant::now()) => {
                        tracing::warn!(device = %known.name, %call, "a device answered a call that is not its own; dropped");
                    }
                    Ok(LateResult::NotItsOwn) => {}
                    Err(error) => {
                        tracing::error!(device = %known.name, %error, "a late answer could not be recorded");
                    }
                }
            }
        }
    }
    Ok(())
}

/// Returns whether a device reported this ceiling, workspace and projects before: an unchanged report costs
/// nothing.
pub(super) fn is_known(
    backend: &Backend,
    device: DeviceId,
    (ceiling, workspace, projects): (&Grants, &str, &HashMap<String, String>),
) -> bool {
    backend.fleet.known(device).is_some_and(|known| {
        let places = known.places();
        let begins = places.and_then(|places| places.workspace.as_ref()).map(ToString::to_string);
        let named = places.map(|places| places.projects.written()).unwrap_or_default();
        known.ceiling.as_ref() == Some(ceiling)
            && begins.unwrap_or_default() == workspace
            && named.into_iter().collect::<HashMap<_, _>>() == *projects
    })
}
