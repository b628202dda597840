//! Splits the texts of a result by their author.

use orion_catalog::tools::list_macros::ListMacros;
use orion_catalog::tools::list_tasks::ListTasks;
use orion_catalog::tools::query_memory::QueryMemory;
use orion_catalog::{RunsOn, Tool as _, find};
use orion_domain::{Envelope, ErrorCode, Hint};
use serde_json::Value;

/// The texts of one result.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ResultTexts {
    /// Untrusted content, one text a line.
    pub(super) content: String,
    /// The agent's own messages, one text a line.
    pub(super) own: String,
}

/// The tools that list what the person kept, and where: each entry says whether somebody else may have written it.
const KEPT: [(&str, &str); 3] =
    [(QueryMemory::NAME, "matches"), (ListMacros::NAME, "macros"), (ListTasks::NAME, "tasks")];

/// Splits the texts of a result by their author. The data and the errors of untrusted tools, the output of programs and
/// the names that a hint offers are untrusted, and so is whatever an untrusted tool of the backend says; all other
/// texts are the agent's.
pub(super) fn split_texts(tool: &str, result: &[u8]) -> ResultTexts {
    fn walk(value: &Value, into: &mut String) {
        match value {
            Value::String(text) => line(text, into),
            Value::Array(items) => items.iter().for_each(|item| walk(item, into)),
            Value::Object(object) => object.values().for_each(|item| walk(item, into)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    fn line(text: &str, into: &mut String) {
        if !text.is_empty() {
            into.push_str(text);
            into.push('\n');
        }
    }
    let Ok(envelope) = serde_json::from_slice::<Envelope>(result) else {
        return ResultTexts::default();
    };
    let mut texts = ResultTexts::default();
    let spec = find(tool).map(|(spec, _)| spec);
    // What a custom tool returns is what its program wrote.
    let is_found =
        spec.is_none_or(|spec| spec.untrusted || (spec.untrusted_preview && envelope.dry_run));
    let kept = KEPT.iter().find(|(name, _)| *name == tool).map(|(_, list)| *list);
    if let Some(list) = kept {
        // What the person kept, with no untrusted content in sight, is nobody else's.
        let entries = envelope.data.iter().filter_map(|data| data[list].as_array());
        for entry in entries.flatten() {
            let is_own = entry["untrusted"] == false;
            walk(entry, if is_own { &mut texts.own } else { &mut texts.content });
        }
    } else {
        let found = if is_found { &mut texts.content } else { &mut texts.own };
        envelope.data.iter().for_each(|data| walk(data, found));
    }
    // The backend's own messages of what it read elsewhere have parts of it, such as the host that a redirect
    // names. Of a device, its messages count anyway; nobody else would count those of the backend.
    let is_elsewhere = kept.is_none()
        && spec.is_some_and(|spec| spec.untrusted && spec.runs_on == RunsOn::Backend);
    let error = envelope.error.as_ref();
    let repeats = is_elsewhere || (is_found && error.is_some_and(|it| may_repeat(it.code)));
    let mut said = String::new();
    line(&envelope.message, &mut said);
    if let Some(error) = error {
        if error.message != envelope.message {
            line(&error.message, &mut said);
        }
        error.details.values().for_each(|value| walk(value, &mut said));
        for Hint { text, command, who: _, values } in &error.hints {
            line(text, &mut said);
            command.iter().for_each(|command| line(command, &mut said));
            values.iter().for_each(|name| line(name, &mut texts.content));
        }
    }
    let by = if repeats { &mut texts.content } else { &mut texts.own };
    by.insert_str(0, &said);
    for tail in [&envelope.meta.stdout_tail, &envelope.meta.stderr_tail].into_iter().flatten() {
        line(tail, &mut texts.content);
    }
    texts
}

/// Returns whether an error with this code may repeat what its tool read or received.
fn may_repeat(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ExecutionFailed
            | ErrorCode::NotSupported
            | ErrorCode::TextNotUnique
            | ErrorCode::UrlForbidden
    )
}
