//! The errors of calls as a person at a terminal reads them: what a hint names is written as it is typed.

use orion_catalog::tools::download_file::DownloadFile;
use orion_catalog::tools::transfer_file::TransferFile;
use orion_catalog::tools::undo_call::UndoCall;
use orion_catalog::tools::upload_file::UploadFile;
use orion_catalog::{RunsOn, Tool as _};
use orion_domain::{DeviceName, ErrorCode, Hint, Meta, ToolError};
use serde_json::Value;

/// What a hint that names this tool begins with.
const USE_LIST: &str = "use list_directory to ";

/// Returns what is wrong with a field, and with which.
fn problem(field: &Value) -> String {
    let text = |name: &str| field[name].as_str().unwrap_or_default();
    match (text("field"), text("problem")) {
        ("", problem) => problem.to_owned(),
        (name, problem) => format!("{name}: {problem}"),
    }
}

/// Returns the error of a call with its facts and hints as a person types them.
pub(crate) fn as_typed(error: &ToolError, meta: &Meta) -> ToolError {
    let mut error = error.clone();
    let message = error.message.clone();
    let is_said =
        |problem: &Value| problem["problem"].as_str().is_some_and(|it| message.contains(it));
    let fields = error.details.get("fields").and_then(Value::as_array);
    if let Some(fields) = fields.filter(|fields| fields.iter().all(Value::is_object)) {
        let more: Vec<_> = fields.iter().filter(|field| !is_said(field)).map(problem).collect();
        error.details.remove("fields");
        if !more.is_empty() {
            error.details.insert("also".to_owned(), more.join(" ").into());
        }
    }
    let text = |name: &str| error.details.get(name).and_then(Value::as_str).map(str::to_owned);
    let (path, existing) = (text("attempted_path"), text("existing_folder"));
    error.details.remove("existing_folder");
    let copies = [DownloadFile::NAME, TransferFile::NAME, UploadFile::NAME];
    let copies = copies.contains(&meta.tool.as_str());
    // Neither `orion cp` nor `orion undo` waits for a device.
    if copies || meta.tool == UndoCall::NAME {
        error.hints.retain(|hint| !hint.text.contains("--queue"));
    }
    let hints = error.hints.drain(..).map(|hint| {
        typed(hint, meta.device.as_str(), path.as_deref(), existing.as_deref(), copies)
    });
    let hints: Vec<_> = hints.collect();
    error.hints = hints;
    if let Some(line) = error.details.remove("example").as_ref().and_then(|it| example(it, meta)) {
        error.hints.insert(0, Hint::run("for example", line));
    }
    if error.code == ErrorCode::DeviceRequired {
        let makes_calls = orion_catalog::find(&meta.tool)
            .is_some_and(|(spec, _)| spec.runs_on == RunsOn::Backend);
        error.hints.push(if makes_calls {
            // What lacks a device is a call that this one makes or keeps.
            Hint::new("name it in the call that is to be made: before its tool, or as its `device`")
        } else {
            Hint::run("put it before the tool", format!("orion call DEVICE {} …", meta.tool))
        });
    }
    error
}

/// Returns a hint as it is typed.
fn typed(
    hint: Hint,
    device: &str,
    path: Option<&str>,
    existing: Option<&str>,
    copies: bool,
) -> Hint {
    if copies && hint.text.contains("set `overwrite` to true") {
        let text = hint.text.replace("set `overwrite` to true", "add --overwrite");
        return Hint { text, ..hint };
    }
    if let Some((before, name, after)) = argument_to_set(&hint.text) {
        let text = format!("{before}add {name}=true to the command{after}");
        return Hint { text, ..hint };
    }
    let (Some(goal), Some(path), None) = (hint.text.strip_prefix(USE_LIST), path, &hint.command)
    else {
        return hint;
    };
    if copies && goal.ends_with("in it") {
        return Hint::new("add -r to copy everything in it");
    }
    // What is missing is looked for in the folder that it would be in, or in the nearest that is there.
    let folder = match existing {
        _ if goal.ends_with("in it") => path,
        Some(existing) => existing,
        None => parent(path),
    };
    let line = format!("orion call {device} list_directory path={}", quoted(folder));
    Hint::run(goal.to_owned(), line)
}

/// Returns the argument that a hint says to set to true, with what stands before and after it.
fn argument_to_set(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("set `")?;
    let (name, after) = rest.split_once("` to true")?;
    Some((before, name, after.strip_prefix(" in the arguments").unwrap_or(after)))
}

/// Returns the folder of a path of any platform; the path itself where it names none.
fn parent(path: &str) -> &str {
    path.rfind(['/', '\\'])
        .and_then(|at| path.get(..at))
        .filter(|it| !it.is_empty())
        .unwrap_or(path)
}

/// Returns an example of the catalogue as a command line.
fn example(example: &Value, meta: &Meta) -> Option<String> {
    let example: Value = match example.as_str() {
        Some(text) => serde_json::from_str(text).ok()?,
        None => example.clone(),
    };
    let fields = example.as_object()?;
    let tool = fields.get("tool")?.as_str()?;
    // The backend takes calls for devices too, to make them later.
    let is_of_backend =
        orion_catalog::find(tool).is_none_or(|(spec, _)| spec.runs_on != RunsOn::Device);
    let is_there = !meta.device.is_empty() && (meta.device != DeviceName::BACKEND || is_of_backend);
    let device = if is_there { &meta.device } else { "DEVICE" };
    let arguments = fields.iter().filter(|(name, _)| !matches!(name.as_str(), "tool" | "device"));
    let arguments = arguments.map(|(name, value)| match value {
        // A shell keeps a control character in JSON alone.
        Value::String(text) if text.contains(char::is_control) => {
            format!("{name}:={}", quoted(&value.to_string()))
        }
        Value::String(text) => format!("{name}={}", quoted(text)),
        Value::Array(_) | Value::Object(_) => format!("{name}:={}", quoted(&value.to_string())),
        Value::Null | Value::Bool(_) | Value::Number(_) => format!("{name}={value}"),
    });
    let words: Vec<_> =
        ["orion call", device, tool].map(str::to_owned).into_iter().chain(arguments).collect();
    Some(words.join(" "))
}

/// Quotes a word for a shell where it needs it.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-~:+@%,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn meta(tool: &str) -> Meta {
        Meta { tool: tool.to_owned(), device: "kiosk".to_owned(), ..Meta::default() }
    }

    fn hints(error: &ToolError, tool: &str) -> Vec<String> {
        as_typed(error, &meta(tool)).hints.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_example_of_the_catalogue_is_a_command_line() {
        let error = ToolError::new(ErrorCode::InvalidArgument, "`path` is missing.")
            .with("example", r#"{"tool":"edit_file","device":"laptop-123","path":"a b","limit":5,"tags":["it's"]}"#)
            .with("fields", json!([{"field": "", "problem": "`path` is missing."}]));
        let typed = as_typed(&error, &meta("edit_file"));
        assert!(typed.details.is_empty(), "{typed:?}");
        let unsaid = json!([{"field": "limit", "problem": "It is no number."}]);
        let typed = as_typed(&error.clone().with("fields", unsaid), &meta("edit_file"));
        assert_eq!(typed.details["also"], "limit: It is no number.");
        assert_eq!(
            hints(&error, "edit_file"),
            [r#"for example: `orion call kiosk edit_file limit=5 path='a b' tags:='["it'\''s"]'`"#]
        );
    }

    #[test]
    fn a_device_is_missing_in_the_call_or_in_the_one_that_it_keeps() {
        let missing = ToolError::new(ErrorCode::DeviceRequired, "The call names no device.");
        assert_eq!(
            hints(&missing, "check_memory"),
            ["put it before the tool: `orion call DEVICE check_memory …`"]
        );
        assert_eq!(
            hints(&missing, "schedule_task"),
            ["name it in the call that is to be made: before its tool, or as its `device`"]
        );
    }

    #[test]
    fn a_tool_that_a_hint_names_is_a_command_with_its_folder() {
        let missing = ToolError::new(ErrorCode::FileNotFound, "There is no file.")
            .with("attempted_path", "/srv/files/x.txt")
            .hint("use list_directory to see what is there");
        assert_eq!(
            hints(&missing, "read_file"),
            ["see what is there: `orion call kiosk list_directory path=/srv/files`"]
        );
        let folder = ToolError::new(ErrorCode::PreconditionFailed, "It is a folder.")
            .with("attempted_path", "/srv/files")
            .hint("use list_directory to see what is in it");
        assert_eq!(
            hints(&folder, "read_file"),
            ["see what is in it: `orion call kiosk list_directory path=/srv/files`"]
        );
        assert_eq!(hints(&folder, "download_file"), ["add -r to copy everything in it"]);
    }

    #[test]
    fn an_argument_that_a_hint_sets_is_written_as_it_is_typed() {
        let unconfirmed = ToolError::new(ErrorCode::ConfirmationRequired, "It is not confirmed.")
            .hint("set `confirm` to true in the arguments, if the call is meant");
        assert_eq!(
            hints(&unconfirmed, "delete_file"),
            ["add confirm=true to the command, if the call is meant"]
        );
    }

    #[test]
    fn a_copy_is_not_told_of_what_only_a_call_has() {
        let offline = ToolError::new(ErrorCode::DeviceOffline, "kiosk is not connected.")
            .hint("or make it with `orion call` and --queue, and it waits for the device")
            .hint("choose another name, or set `overwrite` to true to replace it");
        assert_eq!(
            hints(&offline, "upload_file"),
            ["choose another name, or add --overwrite to replace it"]
        );
        assert_eq!(hints(&offline, "read_file").len(), 2);
    }
}
