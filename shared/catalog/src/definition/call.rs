//! A call of a custom tool: its arguments, and what it touches. Pure, and the same on both sides.

use orion_domain::hosts::Address;
use orion_domain::touches::CommandTouch;
use orion_domain::{
    Access, CanonicalArguments, DevicePath, Digest, ErrorCode, Places, ToolError, Touches,
};
use serde_json::{Map, Value, json};

use super::template::{Word, fill, word};
use super::{DeclaredTouches, Definition, Run};
use crate::argument_path::path;

/// The argument that every custom tool takes.
const CONFIRM: &str = "confirm";
/// The most faults that an error lists.
const MAX_FAULTS: usize = 16;

/// A call whose arguments fit the definition.
#[derive(Debug)]
pub(crate) struct FittingCall {
    /// Every argument, in the canonical form.
    pub(crate) arguments: CanonicalArguments,
    /// What the call would touch.
    pub(crate) touches: Touches,
    /// Whether `confirm` was given.
    pub(crate) confirmed: bool,
    /// Why the call has its risk.
    pub(crate) reason: String,
}

/// The program of a call, with its arguments and its paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedCall {
    /// The program with its arguments, each as the program gets it.
    pub command: CommandTouch,
    /// The paths, with what the program does with each.
    pub paths: Vec<DeclaredPath>,
    /// The hosts that the program contacts.
    pub hosts: Vec<Address>,
}

/// A path of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredPath {
    /// Absolute, by the device's path rules.
    pub path: DevicePath,
    /// What the program does with it, or with what is in it.
    pub access: Access,
    /// Whether an argument of the call names it.
    pub is_argument: bool,
}

/// Returns the JSON Schema of the arguments, closed.
pub(crate) fn schema(definition: &Definition) -> Value {
    let mut properties: Map<String, Value> =
        definition.parameters.iter().map(|it| (it.name.clone(), it.schema())).collect();
    properties.insert(
        CONFIRM.to_owned(),
        json!({"type": "boolean", "default": false, "description": "Must be true where the risk is high."}),
    );
    let required: Vec<&str> =
        definition.parameters.iter().filter(|it| it.required).map(|it| it.name.as_str()).collect();
    json!({
        "type": "object", "additionalProperties": false, "properties": properties, "required": required,
    })
}

/// Parses the arguments of a call.
///
/// # Errors
/// `INVALID_ARGUMENT` with every field at fault, `INVALID_PATH`, `URL_FORBIDDEN`.
pub(crate) fn fit(
    (definition, digest): (&Definition, Digest),
    mut arguments: Map<String, Value>,
    places: &Places,
) -> Result<FittingCall, ToolError> {
    let confirmed = match arguments.remove(CONFIRM) {
        None => false,
        Some(Value::Bool(confirmed)) => confirmed,
        Some(_) => return Err(misfit(definition, &[fault(CONFIRM, "It is true or false.")])),
    };
    let faults = faults(definition, &arguments);
    if !faults.is_empty() {
        return Err(misfit(definition, &faults));
    }
    let PreparedCall { command, paths, hosts } = prepared(definition, &arguments, places)?;
    let mut touches = Touches::path(command.folder.clone(), Access::Read);
    for DeclaredPath { path, access, is_argument } in paths {
        // A fixed path that is deleted in is changed, and stays itself.
        if access == Access::Delete {
            // The program can write there, too.
            touches = touches.and(Touches::path(path.clone(), Access::Write));
        }
        if access != Access::Delete || is_argument {
            touches = touches.and(Touches::path(path, access));
        }
    }
    touches.hosts = hosts;
    touches.commands.push(command);
    touches.definition = Some(digest);
    arguments.insert(CONFIRM.to_owned(), Value::Bool(confirmed));
    let reason = match &definition.run {
        Run::Program(_) => {
            "It is a custom tool, which the owner of the device defines and an admin approved."
                .to_owned()
        }
        Run::Mcp(run) => format!(
            "It is a tool of the MCP server {}, which the owner of the device runs and an admin approved.",
            run.server
        ),
    };
    let arguments = CanonicalArguments::from_value(&Value::Object(arguments));
    Ok(FittingCall { arguments, touches, confirmed, reason })
}

/// Returns the arguments of a call as they are for the tool itself: without `confirm`.
#[must_use]
pub fn arguments_of(arguments: Value) -> Map<String, Value> {
    match arguments {
        Value::Object(mut object) => {
            object.remove(CONFIRM);
            object
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// Returns what a call starts and reaches. The arguments fit the definition.
///
/// # Errors
/// `INVALID_PATH`, `URL_FORBIDDEN`, and `INVALID_ARGUMENT` where the device has no workspace.
pub fn prepared(
    definition: &Definition,
    arguments: &Map<String, Value>,
    places: &Places,
) -> Result<PreparedCall, ToolError> {
    let DeclaredTouches { read, write, delete, hosts } = &definition.touches;
    let mut paths = Vec::new();
    for (list, access) in [(read, Access::Read), (write, Access::Write), (delete, Access::Delete)] {
        for text in list {
            let is_argument = matches!(word(text), Some(Word::Argument(_)));
            for value in values(text, arguments) {
                paths.push(DeclaredPath { path: path(places, value)?, access, is_argument });
            }
        }
    }
    let mut addresses = Vec::new();
    for text in hosts {
        for value in values(text, arguments) {
            addresses.push(Address::parse(value).ok_or_else(|| no_host(value))?);
        }
    }
    let (program, filled, folder) = match &definition.run {
        Run::Program(run) => {
            let is_path = |name: &str| {
                [read, write, delete]
                    .iter()
                    .any(|list| list.iter().any(|text| word(text) == Some(Word::Argument(name))))
            };
            // The program gets the path that was judged, which does not depend on how it reads a tilde.
            let value_of = |name: &str, text: &str| match path(places, text) {
                Ok(path) if is_path(name) => path.to_string(),
                Ok(_) | Err(_) => text.to_owned(),
            };
            (&run.program, fill(&run.argv, arguments, &value_of), path(places, &run.folder)?)
        }
        Run::Mcp(run) => {
            let root = read.first().or(write.first()).map_or(".", String::as_str);
            (&run.program, run.argv.clone(), path(places, root)?)
        }
    };
    let command = CommandTouch { program: program.clone(), arguments: filled, folder };
    Ok(PreparedCall { command, paths, hosts: addresses })
}

/// Returns the values that a text of `touches` stands for.
fn values<'a>(text: &'a str, arguments: &'a Map<String, Value>) -> Vec<&'a str> {
    match word(text) {
        Some(Word::Fixed(text)) => vec![text],
        Some(Word::Argument(name)) => match arguments.get(name) {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                Vec::new()
            }
        },
        None => Vec::new(),
    }
}

/// Returns every fault of the arguments.
fn faults(definition: &Definition, arguments: &Map<String, Value>) -> Vec<Value> {
    let given = arguments.iter().filter_map(|(name, value)| match definition.parameter(name) {
        Some(parameter) => Some(fault(name, &parameter.fault(value)?)),
        None => Some(fault(name, "The tool has no such argument.")),
    });
    let missing = definition
        .parameters
        .iter()
        .filter(|it| it.required && !arguments.contains_key(&it.name))
        .map(|it| fault(&it.name, "It is required."));
    given.chain(missing).take(MAX_FAULTS).collect()
}

fn fault(field: &str, problem: &str) -> Value {
    let field: String = field.chars().take(64).collect();
    json!({"field": field, "problem": problem})
}

fn misfit(definition: &Definition, faults: &[Value]) -> ToolError {
    let first = faults.first();
    let word = |key: &str| first.and_then(|it| it[key].as_str()).unwrap_or_default();
    let message = format!(
        "The arguments of {} do not fit: {}: {}",
        definition.name,
        orion_domain::visible(word("field")),
        word("problem")
    );
    ToolError::new(ErrorCode::InvalidArgument, message).with("fields", faults.to_vec())
}

fn no_host(text: &str) -> ToolError {
    let shown = orion_domain::visible(&text.chars().take(200).collect::<String>());
    ToolError::new(ErrorCode::UrlForbidden, format!("{shown} is no host with a port."))
        .with("attempted_host", shown)
}
