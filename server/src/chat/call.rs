//! Runs one call of a chat through the pipeline, and waits for its approval.

use std::sync::Arc;

use orion_catalog::tools::generate_arduino_code::GenerateArduinoCode;
use orion_catalog::tools::generate_openscad::GenerateOpenscad;
use orion_catalog::tools::run_macro::RunMacro;
use orion_catalog::tools::save_macro::SaveMacro;
use orion_catalog::tools::schedule_task::ScheduleTask;
use orion_catalog::tools::write_file::WriteFile;
use orion_catalog::{Content, Tool as _, find, without_secrets};
use orion_domain::extract::ExtractedCall;
use orion_domain::{
    CallId, CallRequest, CallState, CanonicalArguments, Digest, Envelope, ErrorCode, ToolError,
};
use serde_json::{Map, Value};

use super::error::ChatError;
use super::turn::Turn;
use super::{Event, ToolUse, say};
use crate::config::Assistant;
use crate::fleet::Fleet;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::validate::Target;
use crate::pipeline::{self, CallView, names};
use crate::store::ApprovalState;

/// A call that is about to run.
pub(super) struct Prepared {
    /// What equal calls of a turn share.
    pub(super) key: Digest,
    written: ExtractedCall,
    quoted: bool,
    incoming: CallContext,
    /// Why it is denied without being looked at further.
    denied: Option<ToolError>,
}

impl Turn<'_> {
    /// Prepares one call for the pipeline, with the content that may have influenced it.
    pub(super) async fn prepare(
        &self,
        id: CallId,
        written: ExtractedCall,
    ) -> Result<Prepared, ChatError> {
        let key = identity_of(&written);
        let mut request = pipeline::extract::request(written.clone());
        let alias = names::resolve(self.pipeline, &self.caller, &mut request).await?;
        let found = pipeline::validate::target(self.pipeline, &request);
        let target = found.as_ref().ok();
        let mut provenance = self.taint.about(&written, target);
        if alias.is_some() {
            // Content may hold the call by either name.
            let (tool, arguments) = (request.tool.clone(), request.arguments.clone());
            let expanded = ExtractedCall { tool, arguments, ..written.clone() };
            provenance = provenance.and(self.taint.about(&expanded, target));
        }
        let denied = match self.fatal.get(&key) {
            Some(earlier) => {
                let mut error = earlier.clone();
                error.message =
                    format!("This call failed for good before in this turn: {}", error.message);
                Some(error)
            }
            None => self
                .assistant
                .and_then(|assistant| narrowed(&self.pipeline.fleet, assistant, &found, &request)),
        };
        if let (Some(_), Some(target)) = (self.assistant, target) {
            // The device that was checked is the one that is called.
            request.device = Some(target.device.name.to_string());
        }
        // An alias may stand for a tool with secrets.
        let shown = without_secrets(&request.tool, written.arguments.clone());
        let quoted = provenance.quoted;
        let incoming = CallContext {
            id,
            provenance,
            token: Some(self.token),
            origin: Origin::Chat,
            alias,
            turn: Some(self.id),
            ..CallContext::new(self.caller.clone(), request)
        };
        let written = ExtractedCall { arguments: shown, ..written };
        Ok(Prepared { key, written, quoted, incoming, denied })
    }

    /// Runs one call through the pipeline. Waits for the approval where the call needs one.
    pub(super) async fn perform(&self, call: Prepared) -> Result<CallView, ChatError> {
        let Prepared { written, quoted, incoming, denied, .. } = call;
        say(self.events, Event::CallBegan { call: incoming.id, written, quoted }).await?;
        // After sending an event, which may wait for the client to read.
        self.still_authorized().await?;
        let reply = match denied {
            Some(error) => {
                let shared = Arc::clone(self.pipeline);
                let denied = async move { shared.deny(incoming, error).await };
                self.pipeline.tasks.run_to_completion(denied).await?
            }
            None => self.pipeline.run(incoming).await?,
        };
        self.to_its_end(reply).await
    }

    /// Waits for the end of a call, or of the one that an approver made instead, and shows it.
    pub(super) async fn to_its_end(&self, reply: CallView) -> Result<CallView, ChatError> {
        let mut reply = self.ended(reply).await?;
        if let Some(other) = changed_to(&reply) {
            say(self.events, Event::CallEnded(Box::new(reply))).await?;
            let row = self.pipeline.store.find_call(&other).await?;
            reply = self.ended(CallView::from(row)).await?;
        }
        say(self.events, Event::CallEnded(Box::new(reply.clone()))).await?;
        Ok(reply)
    }

    /// Shows the approval request of a call that waits for one, and waits for the call's end.
    async fn ended(&self, mut reply: CallView) -> Result<CallView, ChatError> {
        if let (Some(approval), false) = (reply.approval, reply.state.is_closed()) {
            let card = self.pipeline.store.approval(approval).await?;
            // A request that was answered, and whose call runs, is no question any more.
            if card.state == ApprovalState::Open {
                say(self.events, Event::ApprovalNeeded(Box::new(card))).await?;
            }
        }
        let waits = |reply: &CallView| {
            reply.approval.is_some() && reply.state != CallState::Queued && !reply.state.is_closed()
        };
        let mut changes = self.pipeline.bus.watch_call(reply.call);
        while waits(&reply) {
            // The call is read again first: it may have changed before the watcher subscribed.
            reply = CallView::from(self.pipeline.store.call(reply.call).await?);
            if !waits(&reply) {
                break;
            }
            tokio::select! {
                () = self.pipeline.tasks.shutdown.cancelled() => return Err(ChatError::Left),
                () = changes.changed() => {}
            }
        }
        Ok(reply)
    }

    pub(super) fn remember(&mut self, key: Digest, reply: &CallView) {
        let error = serde_json::from_slice::<Envelope>(&reply.result)
            .ok()
            .and_then(|envelope| envelope.error);
        self.used.push(ToolUse {
            call: reply.call,
            tool: reply.tool.clone(),
            device: reply.device.as_ref().map(ToString::to_string).unwrap_or_default(),
            state: reply.state,
            code: error.as_ref().map(|error| error.code),
        });
        if let Some(error) = error
            && !error.recoverable
        {
            self.fatal.insert(key, error);
        }
    }
}

/// Returns why an assistant does not make a call that its person may make.
fn narrowed(
    fleet: &Fleet,
    assistant: &Assistant,
    found: &Result<Target, ToolError>,
    request: &CallRequest,
) -> Option<ToolError> {
    let denied = |what: String| {
        let message = format!("The assistant {} {what}.", assistant.name);
        let hint = "choose another assistant, or none, in a new chat";
        Some(ToolError::new(ErrorCode::PermissionDenied, message).hint(hint))
    };
    let target = match found {
        Ok(target) => target,
        // By the time that it runs, it may have a target, which nothing has checked.
        Err(unknown) => return Some(unknown.clone()),
    };
    if !assistant.calls(target.spec.name) {
        return denied(format!("does not call {}", target.spec.name));
    }
    if let Some(what) = narrowed_within(assistant, target, &request.arguments) {
        return denied(what);
    }
    // A call can also name a device that it takes content from, whether or not that is known by now.
    let takes = target.spec.content == Content::FromDevice;
    let is_device = |(name, value): &(&String, &str)| {
        takes && (*name == "from_device" || fleet.find(value).is_ok())
    };
    let named = request.arguments.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    let named = named.filter(is_device).map(|(_, value)| value);
    let mut reached = std::iter::once(target.device.name.as_str()).chain(named);
    match reached.find(|name| !assistant.reaches(name)) {
        Some(name) => denied(format!("calls no tools on {name}")),
        None => None,
    }
}

/// Returns what an assistant does not do of the calls that a call makes in turn.
fn narrowed_within(
    assistant: &Assistant,
    target: &Target,
    arguments: &Map<String, Value>,
) -> Option<String> {
    if assistant.tools.is_empty() && assistant.devices.is_empty() {
        return None;
    }
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let (tool, device) = match target.spec.name {
        ScheduleTask::NAME => {
            let Some(call) = arguments.get("call") else {
                return Some("runs no macros".to_owned());
            };
            let tool = text(call.get("tool"));
            if find(&tool).is_none() {
                return Some("schedules no aliases and no tools of devices".to_owned());
            }
            // What the call takes content from, or saves its result on.
            let named = |name| text(call.get("arguments").and_then(|it| it.get(name)));
            let saves = named("save_on");
            if !saves.is_empty() && !assistant.calls(WriteFile::NAME) {
                return Some(format!("does not call {}", WriteFile::NAME));
            }
            let other = [named("from_device"), saves]
                .into_iter()
                .find(|name| !name.is_empty() && !assistant.reaches(name));
            if let Some(name) = other {
                return Some(format!("calls no tools on {name}"));
            }
            (tool, text(call.get("device")))
        }
        // Which calls they make is not written in the call.
        RunMacro::NAME | SaveMacro::NAME => return Some("runs no macros".to_owned()),
        GenerateOpenscad::NAME | GenerateArduinoCode::NAME => {
            let device = text(arguments.get("save_on"));
            if device.is_empty() {
                return None;
            }
            (WriteFile::NAME.to_owned(), device)
        }
        _ => return None,
    };
    let own = find(&tool).map_or(tool.as_str(), |(spec, _)| spec.name);
    if !assistant.calls(own) {
        return Some(format!("does not call {own}"));
    }
    (!assistant.reaches(&device)).then(|| format!("calls no tools on {device}"))
}

/// Returns the id of the call that an approver made instead of this one.
fn changed_to(reply: &CallView) -> Option<String> {
    let error = serde_json::from_slice::<Envelope>(&reply.result).ok()?.error?;
    (error.code == ErrorCode::ApprovalRejected)
        .then(|| error.details.get("changed_to")?.as_str().map(str::to_owned))?
}

/// Returns the digest that equal calls of a turn share.
pub(super) fn identity_of(call: &ExtractedCall) -> Digest {
    let arguments = CanonicalArguments::from_value(&Value::Object(call.arguments.clone()));
    Digest::of_fields(
        "orion.chat.call.v1",
        &[
            call.tool.as_bytes(),
            call.device.as_deref().unwrap_or_default().as_bytes(),
            &[u8::from(call.dry_run)],
            arguments.as_bytes(),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assistant_makes_no_call_whose_target_is_not_known() {
        let assistant = Assistant {
            name: "reader".to_owned(),
            prompt: String::new(),
            model: None,
            tools: vec!["read_file".to_owned()],
            devices: Vec::new(),
        };
        let unknown = ToolError::new(ErrorCode::DeviceNotFound, "There is no device `nas`.");
        let written = r#"{"tool":"delete_file","device":"nas","path":"a"}"#;
        let call = orion_domain::extract::extract(written).calls.remove(0);
        let request = pipeline::extract::request(call);
        let denied = narrowed(&Fleet::default(), &assistant, &Err(unknown.clone()), &request);
        assert_eq!(denied, Some(unknown));
    }
}
