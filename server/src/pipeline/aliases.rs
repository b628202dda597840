//! Aliases that people gave to calls. One is replaced by its tool before anything is decided, so that policy, approval
//! and audit are about the call that runs.

use orion_catalog::{find, nearest};
use orion_domain::{CallRequest, Caller, ErrorCode, Hint, ToolError};
use serde_json::{Map, Value};

use super::Pipeline;
use crate::clock::now_ms;
use crate::store::{AliasRow, MAX_ALIASES, StoreError};

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 40;
/// The most bytes of the arguments of an alias.
pub const MAX_ARGUMENTS_BYTES: usize = 4 * 1024;

/// Replaces an alias of the caller by its tool, and fills in its arguments where the call gives no others. Returns the
/// alias, or `None` for a call that names a tool.
///
/// # Errors
/// The database cannot be read.
pub async fn expand(
    pipeline: &Pipeline,
    caller: &Caller,
    request: &mut CallRequest,
) -> Result<Option<String>, StoreError> {
    // A name that came into the catalogue after the alias is the tool's.
    if find(&request.tool).is_some() || !is_name(&request.tool) {
        return Ok(None);
    }
    let Some(alias) = pipeline.store.alias(&caller.user, &request.tool).await? else {
        return Ok(None);
    };
    // So is the name of a custom tool that a device announced after it.
    if is_custom(pipeline, &request.tool) {
        return Ok(None);
    }
    let AliasRow { user: _, name, tool, arguments, set_at: _ } = alias;
    // An argument of the alias gives way to that of the call, also where the call has it under another name.
    if let Some((spec, _)) = find(&tool) {
        spec.adapt_arguments(None, &mut request.arguments);
    }
    for (argument, value) in arguments {
        request.arguments.entry(argument).or_insert(value);
    }
    request.tool = tool;
    Ok(Some(name))
}

/// Stores an alias of the caller.
///
/// # Errors
/// The database cannot be written. The inner error says what does not fit.
pub async fn set(
    pipeline: &Pipeline,
    caller: &Caller,
    name: &str,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<Result<AliasRow, ToolError>, StoreError> {
    let arguments = match check(pipeline, name, tool, arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Ok(Err(error)),
    };
    let user = caller.user.clone();
    let (name, tool) = (name.to_owned(), tool.to_owned());
    let alias = AliasRow { user, name, tool, arguments, set_at: now_ms() };
    if pipeline.store.set_alias(&alias).await? {
        return Ok(Ok(alias));
    }
    let message = format!("You have {MAX_ALIASES} aliases, which is the most.");
    Ok(Err(ToolError::new(ErrorCode::ResourceExhausted, message)
        .hint(Hint::run("remove one that you do not need", "orion aliases list"))))
}

/// Returns whether a device announces a custom tool of this name.
fn is_custom(pipeline: &Pipeline, name: &str) -> bool {
    pipeline.fleet.all().iter().any(|device| device.tool(name).is_some())
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte))
}

/// Checks an alias, and returns its arguments under the tool's own names.
fn check(
    pipeline: &Pipeline,
    name: &str,
    tool: &str,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    let invalid = |message: String| ToolError::new(ErrorCode::InvalidArgument, message);
    if !is_name(name) {
        return Err(invalid(format!(
            "The name of an alias has 1 to {MAX_NAME_BYTES} lower-case letters, digits, `_` or `-`, and begins with a letter."
        )));
    }
    if find(name).is_some() || is_custom(pipeline, name) {
        let message = format!("{name} is the name of a tool.");
        return Err(ToolError::new(ErrorCode::AlreadyExists, message).hint("choose another name"));
    }
    if find(tool).is_none() && !is_custom(pipeline, tool) {
        let shown: String = tool.chars().take(64).collect();
        return Err(ToolError::new(
            ErrorCode::ToolNotFound,
            format!("There is no tool `{shown}`. An alias stands for a tool."),
        )
        .hint(Hint::run("list the tools", "orion tools list"))
        .suggesting(nearest(tool)));
    }
    if Value::Object(arguments.clone()).to_string().len() > MAX_ARGUMENTS_BYTES {
        return Err(invalid(format!(
            "The arguments of an alias have {MAX_ARGUMENTS_BYTES} bytes at most."
        )));
    }
    if arguments.contains_key("confirm") {
        return Err(invalid("An alias cannot confirm a call.".to_owned())
            .hint("give confirm=true with each call"));
    }
    fits(tool, arguments)
}

/// Checks the arguments of an alias of a tool of the catalogue: the tool has them, and none is a secret. Returns them
/// under the tool's own names.
fn fits(tool: &str, mut arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
    let Some((spec, alias)) = find(tool) else { return Ok(arguments) };
    if !spec.take_secrets(&mut arguments).is_empty() {
        let message = "An alias stores no secret.";
        return Err(ToolError::new(ErrorCode::InvalidArgument, message)
            .hint("give the argument that holds it with each call"));
    }
    spec.adapt_arguments(None, &mut arguments);
    // What else the tool's other name changes, it changes at each call, with the call's own arguments.
    let mut adapted = arguments.clone();
    spec.adapt_arguments(alias, &mut adapted);
    let schema = spec.arguments_schema();
    let unknown = adapted.keys().find(|argument| schema["properties"].get(argument).is_none());
    match unknown {
        None => Ok(arguments),
        Some(unknown) => {
            let shown: String = unknown.chars().take(64).collect();
            let message = format!("{} has no argument `{shown}`.", spec.name);
            let show = format!("orion tools show {}", spec.name);
            Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint(Hint::run("see the arguments", show)))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_plain_and_arguments_are_those_of_the_tool() {
        for (name, good) in [
            ("deploy", true),
            ("a-1_b", true),
            ("", false),
            ("1a", false),
            ("Deploy", false),
            ("a b", false),
            ("a=b", false),
            (&"a".repeat(41), false),
        ] {
            assert_eq!(is_name(name), good, "{name}");
        }
        let code = |tool: &str, arguments: Value| {
            let fitting = fits(tool, arguments.as_object().unwrap().clone());
            fitting.map(|arguments| Value::Object(arguments).to_string()).map_err(|it| it.code)
        };
        for (tool, given, stored) in [
            (
                "list_directory",
                json!({"path": ".", "recursive": true}),
                r#"{"path":".","recursive":true}"#,
            ),
            ("execute_command", json!({"cmd": "ls"}), r#"{"command":"ls"}"#),
            ("view_logs", json!({"service": "nginx"}), r#"{"service":"nginx"}"#),
            ("no_such_tool_here", json!({"x": 1}), r#"{"x":1}"#),
        ] {
            assert_eq!(code(tool, given), Ok(stored.to_owned()));
        }
        let invalid = Err(ErrorCode::InvalidArgument);
        assert_eq!(code("list_directory", json!({"paht": "."})), invalid);
        assert_eq!(code("install_artifact", json!({"url": "https://a.example/?s"})), invalid);
    }
}
