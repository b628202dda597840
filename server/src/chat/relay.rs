//! A model's words on their way to the person: streamed as they come, but held back from where a
//! call in text form may begin, so that nobody is shown half a JSON object.

use orion_domain::extract::ExtractedCall;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{ChatError, Event, say};
use crate::model::{Answer, Model, ModelError, Request};

/// Asks the model. Gives its answer and the words that were shown already.
pub(super) async fn complete(
    model: &Model,
    request: &Request,
    events: &mpsc::Sender<Event>,
) -> Result<(Answer, String), ChatError> {
    // As large as the model's answer at most, and that is bounded.
    let (sender, mut pieces) = mpsc::unbounded_channel::<String>();
    let asking = async move {
        let mut on_text = |piece: &str| {
            // The person may have left; then nobody reads.
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

/// Shows the words that were held back, once it is known what was a call.
pub(super) async fn rest(
    events: &mpsc::Sender<Event>,
    text: &str,
    shown: &str,
) -> Result<(), ChatError> {
    // White space around what was shown may not be in the text, or be there twice.
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

/// A call's arguments as native calls carry them: one JSON object with the device inside.
pub(super) fn arguments_text(call: &ExtractedCall) -> String {
    let mut object: Map<String, Value> = call.arguments.clone();
    if let Some(device) = &call.device {
        object.insert("device".to_owned(), device.as_str().into());
    }
    if call.dry_run {
        object.insert("dry_run".to_owned(), true.into());
    }
    Value::Object(object).to_string()
}
