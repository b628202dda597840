//! Streams a model's text to the person as it arrives. Text is held back from where a call in text form may
//! begin, so that nobody sees half a JSON object.

use orion_catalog::without_secrets;
use orion_domain::extract::{ExtractedCall, Released};
use orion_domain::{Envelope, Meta};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{ChatError, Event, say};
use crate::model::{Answer, Model, ModelError, Request};
use crate::pipeline::CallView;
use crate::secret_values::{hidden, hide_in};

/// The longest text of a result that comes before longer ones, in bytes.
const MAX_SHORT_BYTES: usize = 1024;

/// Sends a request to the model. Returns the answer and the text that was shown already.
pub(super) async fn complete(
    model: &Model,
    request: &Request,
    events: &mpsc::Sender<Event>,
) -> Result<(Answer, String), ChatError> {
    // The channel is unbounded, but the model's answer is not.
    let (sender, mut pieces) = mpsc::unbounded_channel::<String>();
    let asking = async move {
        let mut on_text = |piece: &str| {
            // Fails where the person has disconnected.
            let _ = sender.send(piece.to_owned());
        };
        model.complete(request, &mut on_text).await
    };
    let showing = async {
        let (mut shown, mut released) = (String::new(), Released::default());
        while let Some(piece) = pieces.recv().await {
            let visible = released.push(&piece);
            if !visible.is_empty() {
                shown.push_str(&visible);
                say(events, Event::Text(visible)).await?;
            }
        }
        Ok::<_, ChatError>(shown)
    };
    let (answer, shown): (Result<Answer, ModelError>, _) = tokio::join!(asking, showing);
    Ok((answer?, shown?))
}

/// Shows the text that was held back, once the calls in it are known.
pub(super) async fn rest(
    events: &mpsc::Sender<Event>,
    text: &str,
    shown: &str,
) -> Result<(), ChatError> {
    // White space around the shown text may be missing in `text`, or occur twice.
    let shown = shown.trim_start();
    let rest = match text.strip_prefix(shown) {
        Some(rest) => rest,
        None => text.strip_prefix(shown.trim_end()).map_or(text, str::trim_start),
    };
    if rest.trim().is_empty() {
        return Ok(());
    }
    say(events, Event::Text(rest.to_owned())).await
}

/// Returns the result of a call for the conversation, with its secrets hidden. Which call it is of, and which
/// device ran it, the backend says itself: a device may name another.
#[must_use]
pub fn result_of(reply: &CallView) -> Vec<u8> {
    let Ok(mut envelope) = serde_json::from_slice::<Envelope>(&reply.result) else {
        let text = String::from_utf8_lossy(&reply.result);
        return hidden(&text).map_or_else(|| reply.result.clone(), String::into_bytes);
    };
    let device = reply.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let (call_id, tool) = (reply.call.to_string(), reply.tool.clone());
    envelope.meta = Meta { call_id, device, tool, ..envelope.meta };
    let Ok(mut value) = serde_json::to_value(&envelope) else { return Vec::new() };
    hide_in(&mut value);
    serde_json::to_vec(&LongLast(&value)).unwrap_or_default()
}

/// A result whose short fields come first, and its data last: a long one is cut at its end.
struct LongLast<'a>(&'a Value);

impl Serialize for LongLast<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(fields) = self.0 else { return self.0.serialize(serializer) };
        let place = |name: &str, value: &Value| match value {
            _ if name == "success" => 0,
            _ if name == "data" => 3,
            Value::Array(_) => 2,
            Value::String(text) if text.len() > MAX_SHORT_BYTES => 2,
            Value::Object(_)
            | Value::String(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_) => 1,
        };
        let mut ordered: Vec<_> = fields.iter().collect();
        ordered.sort_by_key(|(name, value)| place(name, value));
        serializer.collect_map(ordered.into_iter().map(|(name, value)| {
            // The entries of lists are left as they are.
            (name, LongLast(value))
        }))
    }
}

/// Returns a call's arguments in the form of native calls: one JSON object that includes the device. `tool` is
/// what an alias stands for, or the call's own tool.
#[must_use]
pub fn arguments_text(call: &ExtractedCall, tool: &str) -> String {
    let mut object: Map<String, Value> = without_secrets(tool, call.arguments.clone());
    if let Some(device) = &call.device {
        object.insert("device".to_owned(), device.as_str().into());
    }
    if call.dry_run {
        object.insert("dry_run".to_owned(), true.into());
    }
    Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use orion_domain::{CallId, CallState, Caller, Role};
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn which_device_a_result_is_of_is_not_for_the_device_to_say() {
        let envelope = |call: &str, device: &str, tool: &str| {
            let meta = Meta {
                call_id: call.to_owned(),
                device: device.to_owned(),
                tool: tool.to_owned(),
                ..Meta::default()
            };
            serde_json::to_value(Envelope::success("Done.", json!({"path": "/a"}), false, meta))
        };
        let call = CallId::new(Uuid::from_u128(7));
        let said = envelope("another", "server", "delete_file").unwrap();
        let reply = CallView {
            call,
            state: CallState::Succeeded,
            tool: "read_file".to_owned(),
            device: Some("kiosk".parse().unwrap()),
            arguments: Vec::new(),
            dry_run: false,
            result: said.to_string().into_bytes(),
            approval: None,
            caller: Caller {
                user: "ann".parse().unwrap(),
                role: Role::Operator,
                conversation: None,
            },
            created_at: 1,
            queued_until: None,
            closed_at: None,
        };
        let shown: Value = serde_json::from_slice(&result_of(&reply)).unwrap();
        assert_eq!(shown, envelope(&call.to_string(), "kiosk", "read_file").unwrap());
        let text = String::from_utf8(result_of(&reply)).unwrap();
        assert!(text.starts_with(r#"{"success":true"#), "{text}");
        let data = json!({"content": format!("key {}{}", "AKIA", "ABCDEFGH234567IJ")});
        let envelope = Envelope::success("Done.", data, false, Meta::default());
        let result = serde_json::to_vec(&envelope).unwrap();
        let told = result_of(&CallView { result, ..reply.clone() });
        let told = String::from_utf8(told).unwrap();
        assert!(
            told.contains("key [secret: aws access key, id ") && !told.contains("AKIA"),
            "{told}"
        );
        let broken = CallView { result: b"no JSON".to_vec(), ..reply };
        assert_eq!(result_of(&broken), b"no JSON");
    }

    #[test]
    fn an_alias_hides_the_secrets_of_the_tool_that_it_stands_for() {
        let written =
            r#"{"tool":"setup","url":"https://example.com/app.deb?sign=hush","name":"app"}"#;
        let call = orion_domain::extract::extract(written).calls.remove(0);
        let hidden = arguments_text(&call, "install_artifact");
        assert!(arguments_text(&call, "setup").contains("hush"));
        assert!(!hidden.contains("hush") && hidden.contains("app"), "{hidden}");
    }
}
