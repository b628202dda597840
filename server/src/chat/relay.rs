//! Streams a model's text to the person as it arrives. Text is held back from where a call in text form may
//! begin, so that nobody sees half a JSON object.

use orion_catalog::without_secrets;
use orion_domain::extract::ExtractedCall;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{ChatError, Event, say};
use crate::model::{Answer, Model, ModelError, Request};

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
        let (mut shown, mut held) = (String::new(), false);
        while let Some(piece) = pieces.recv().await {
            let visible = match piece.find(['{', '[', '<', '`']) {
                _ if held => "",
                Some(start) => {
                    held = true;
                    piece.get(..start).unwrap_or_default()
                }
                None => piece.as_str(),
            };
            if !visible.is_empty() {
                shown.push_str(visible);
                say(events, Event::Text(visible.to_owned())).await?;
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

/// Returns a call's arguments in the form of native calls: one JSON object that includes the device.
pub(super) fn arguments_text(call: &ExtractedCall) -> String {
    let mut object: Map<String, Value> = without_secrets(&call.tool, call.arguments.clone());
    if let Some(device) = &call.device {
        object.insert("device".to_owned(), device.as_str().into());
    }
    if call.dry_run {
        object.insert("dry_run".to_owned(), true.into());
    }
    Value::Object(object).to_string()
}
