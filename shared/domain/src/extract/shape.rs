//! Converts one parsed value to the calls that it holds, in any accepted shape.

use serde_json::{Map, Value};

use super::forms::is_name;
use super::problem::short;
use super::{ExtractProblem, ExtractedCall};
use crate::json::{self, JsonError};

/// One call, or why it could not be read as one.
type Reading = Result<ExtractedCall, ExtractProblem>;
type Object = Map<String, Value>;

/// The names that hold arguments. The first two hold nothing else. The others are also ordinary
/// arguments (`open_app` has `args`), so only an object, or the text of one, under them counts.
const ARGUMENTS: [&str; 4] = ["parameters", "arguments", "args", "input"];
const ALWAYS_ARGUMENTS: [&str; 2] = ["parameters", "arguments"];
/// The wrappers around one call that are unwrapped, and whether the wrapper alone marks a call.
const WRAPPERS: [(&str, bool); 3] =
    [("tool_call", true), ("function_call", true), ("action", false)];
/// The values of `type` beside a call.
const CALL_TYPES: [&str; 4] = ["function", "function_call", "tool_call", "tool_use"];

/// Names beside a call that only the record of a call has.
const OF_RECORDS: [&str; 4] = ["success", "result", "exit_code", "duration_ms"];
/// Names that show that a call was meant, in forms that are not read.
const OF_CALLS: [&str; 5] =
    ["tool_name", "function_name", "action_input", "tool_input", "tool_args"];

/// Returns the calls in a value that starts at byte `start`, or `None` when it is no call. `declared` is
/// true where only calls are expected.
pub(super) fn calls(value: Value, start: usize, declared: bool) -> Option<Vec<Reading>> {
    match value {
        Value::Array(items) => list(items, &[], start, declared),
        Value::Object(mut map) => {
            if tool_name(&map).is_none()
                && let Some(Value::Array(items)) = map.get_mut("tool_calls").map(Value::take)
            {
                return list(items, &[&map], start, true);
            }
            if let Some(call) = single(&map, &[], start, declared) {
                return Some(vec![call]);
            }
            wrapped(&map, start).map(|call| vec![call])
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// Reads a native call: its name and the JSON text of its arguments.
pub(super) fn native(name: &str, arguments: &str) -> Reading {
    let arguments = arguments_text(name, "arguments", arguments, 0)?;
    finish(name.to_owned(), &[], Object::new(), arguments, None)
}

/// Returns the call with arguments that have their types.
pub(super) fn with_values(name: &str, arguments: Object) -> Reading {
    finish(name.to_owned(), &[], Object::new(), arguments, None)
}

/// Returns the call with arguments that are text, whatever their types are. Orion's own switches are no
/// arguments of the tool, and their types are known.
pub(super) fn with_texts(name: &str, mut arguments: Object) -> Reading {
    for key in ["dry_run", "queue"] {
        let Some(value) = arguments.get_mut(key) else { continue };
        match value.as_str().map(str::trim) {
            Some("true" | "True") => *value = Value::from(true),
            Some("false" | "False") => *value = Value::from(false),
            Some(_) | None => {}
        }
    }
    let call = with_values(name, arguments)?;
    Ok(ExtractedCall { untyped: !call.arguments.is_empty(), ..call })
}

/// Returns whether a value is the record of a call that was made, with its result.
pub(super) fn is_record(value: &Value) -> bool {
    let object = match value {
        Value::Array(items) => items.first().and_then(Value::as_object),
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    };
    object.is_some_and(|object| {
        object.get("role").is_some_and(|role| role == "tool")
            || (!object.contains_key("tool_calls")
                && OF_RECORDS.iter().any(|name| object.contains_key(*name)))
    })
}

/// Returns whether a value that is no call shows that one was meant.
pub(super) fn resembles(value: &Value) -> bool {
    value.as_object().is_some_and(|object| OF_CALLS.iter().any(|name| object.contains_key(*name)))
}

/// Returns whether an argument of this name and value has another meaning beside `tool`.
pub(super) fn has_meaning(name: &str, value: &Value) -> bool {
    matches!(name, "tool" | "device" | "dry_run" | "queue")
        || (name == "role" && value == "tool")
        || OF_RECORDS.contains(&name)
        || holds_arguments(name, value)
}

fn list(
    items: Vec<Value>,
    around: &[&Object],
    start: usize,
    declared: bool,
) -> Option<Vec<Reading>> {
    let read = |item: &Value| single(item.as_object()?, around, start, declared);
    let readings: Vec<Option<Reading>> = items.iter().map(read).collect();
    if readings.is_empty() || (!declared && readings.iter().all(Option::is_none)) {
        return None;
    }
    if !declared && readings.iter().any(Option::is_none) {
        return Some(vec![Err(ExtractProblem::MixedList { start })]);
    }
    let not_a_call = || Err(ExtractProblem::NotACall { start });
    Some(readings.into_iter().map(|reading| reading.unwrap_or_else(not_a_call)).collect())
}

/// Unwraps one level of a known wrapper: `{"action": {"tool": …}}`.
fn wrapped(map: &Object, start: usize) -> Option<Reading> {
    let read =
        |(wrapper, declared)| single(map.get(wrapper)?.as_object()?, &[map], start, declared);
    let mut readings = WRAPPERS.into_iter().filter_map(read);
    let reading = readings.next()?;
    if readings.next().is_some() {
        return Some(Err(ExtractProblem::SeveralCalls { start }));
    }
    Some(reading.map(|call| ExtractedCall { recovered: true, ..call }))
}

/// Reads an object that is one call by itself. `around` are the enclosing objects, which may name the
/// device.
fn single(map: &Object, around: &[&Object], start: usize, declared: bool) -> Option<Reading> {
    if let Some(tool) = tool_name(map) {
        if !is_name(tool) {
            return Some(Err(ExtractProblem::NotAName { start }));
        }
        let mut call = map.clone();
        call.remove("tool");
        return Some(with_arguments(tool, around, call, start));
    }
    if let Some(Value::Object(function)) = map.get("function") {
        let mut beside = map.clone();
        beside.remove("function");
        let id = take_id(&mut beside);
        let levels: Vec<&Object> = around.iter().copied().chain([&beside]).collect();
        let reading = named(function, &levels, start, true)?;
        return Some(reading.map(|call| ExtractedCall { id: call.id.or(id), ..call }));
    }
    named(map, around, start, declared)
}

fn tool_name(map: &Object) -> Option<&str> {
    map.get("tool").and_then(Value::as_str).filter(|tool| !tool.trim().is_empty())
}

/// Reads `{"name": …, "arguments": …}`. A name alone is prose unless a call is expected there. A name
/// with the schema of its parameters describes a tool.
fn named(map: &Object, around: &[&Object], start: usize, declared: bool) -> Option<Reading> {
    let key = if declared && !map.contains_key("name") { "tool_name" } else { "name" };
    let name = map.get(key)?.as_str().filter(|name| !name.trim().is_empty())?;
    let typed = map.get("type").is_some_and(is_call_type);
    let arguments = |key: &&str| map.get(*key).is_some_and(|value| named_arguments(key, value));
    // `args` and `input` are common words beside a name.
    let is_call = declared || typed || ALWAYS_ARGUMENTS.iter().any(arguments);
    let describes = |key: &&str| map.get(*key).is_some_and(is_schema);
    let is_described = !declared && !typed && map.contains_key("description");
    if !is_call || is_described || ARGUMENTS.iter().any(describes) {
        return None;
    }
    if !is_name(name) {
        // A thing with a name and parameters, where nothing says that it is a call.
        return (declared || typed).then_some(Err(ExtractProblem::NotAName { start }));
    }
    let mut call = map.clone();
    call.remove(key);
    if key == "tool_name" {
        call.remove("tool_call_id");
    }
    if typed {
        call.retain(|key, _| !matches!(key.as_str(), "type" | "index" | "status"));
    }
    // Where a call is expected, an id beside the name is the call's even without arguments.
    let id = if ARGUMENTS.iter().any(arguments) { None } else { take_id(&mut call) };
    let reading = with_arguments(name, around, call, start);
    Some(reading.map(|call| ExtractedCall { id: call.id.or(id), ..call }))
}

fn is_call_type(value: &Value) -> bool {
    value.as_str().is_some_and(|kind| CALL_TYPES.contains(&kind))
}

fn is_schema(value: &Value) -> bool {
    value.get("type").is_some_and(|kind| kind == "object")
        && value.get("properties").is_some_and(Value::is_object)
}

/// Returns whether `value` under `key` holds a call's arguments.
fn holds_arguments(key: &str, value: &Value) -> bool {
    ALWAYS_ARGUMENTS.contains(&key)
        || (ARGUMENTS.contains(&key)
            && (value.is_object()
                || value.as_str().is_some_and(|text| text.trim_start().starts_with('{'))))
}

/// Does the same beside a `name`, which is a common word: there a list or number has another meaning.
fn named_arguments(key: &str, value: &Value) -> bool {
    holds_arguments(key, value) && (value.is_object() || value.is_string() || value.is_null())
}

fn take_id(map: &mut Object) -> Option<String> {
    let ids = [map.remove("call_id"), map.remove("id")];
    ids.into_iter().flatten().find_map(|id| match id {
        Value::String(id) => Some(id),
        Value::Number(id) => Some(id.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

/// Reads a call whose arguments are under one of their names, beside it, or both.
fn with_arguments(tool: &str, around: &[&Object], mut call: Object, start: usize) -> Reading {
    let under: Vec<&str> = ARGUMENTS
        .into_iter()
        .filter(|key| call.get(*key).is_some_and(|value| holds_arguments(key, value)))
        .collect();
    let (key, value) = match under[..] {
        [] => return finish(tool.to_owned(), around, call, Object::new(), None),
        [key] => (key, call.remove(key).unwrap_or_default()),
        [first, second, ..] => {
            let (first, second) = (first.to_owned(), second.to_owned());
            return Err(ExtractProblem::TwoArguments { tool: short(tool), first, second });
        }
    };
    let arguments = match value {
        Value::Object(arguments) => arguments,
        Value::String(text) => arguments_text(tool, key, &text, start)?,
        Value::Null => Object::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Err(ExtractProblem::ArgumentsNotObject {
                tool: short(tool),
                key: key.to_owned(),
            });
        }
    };
    let id = take_id(&mut call);
    if call.get("type").is_some_and(is_call_type) {
        call.remove("type");
    }
    finish(tool.to_owned(), around, call, arguments, id)
}

/// Reads arguments written as text. `start` is where the call starts in the output.
fn arguments_text(
    tool: &str,
    key: &str,
    text: &str,
    start: usize,
) -> Result<Object, ExtractProblem> {
    if text.trim().is_empty() {
        return Ok(Object::new());
    }
    match json::parse(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(Value::Null) => Ok(Object::new()),
        Ok(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            Err(ExtractProblem::ArgumentsNotObject { tool: short(tool), key: key.to_owned() })
        }
        Err(JsonError::Duplicate(key)) => {
            Err(ExtractProblem::DuplicateKey { start, key: short(&key) })
        }
        Err(JsonError::TooDeep) => Err(ExtractProblem::TooDeep { start, at: start }),
        // Only the parser of objects returns this error.
        Err(JsonError::NotAnObject) => {
            Err(ExtractProblem::ArgumentsNotObject { tool: short(tool), key: key.to_owned() })
        }
        Err(JsonError::Syntax { at, why }) => Err(ExtractProblem::ArgumentsNotJson {
            tool: short(tool),
            key: key.to_owned(),
            at,
            why,
        }),
    }
}

/// Removes Orion's own fields (device, dry run, queue) from every place where they may be, and merges
/// the rest.
fn finish(
    tool: String,
    around: &[&Object],
    mut beside: Object,
    mut arguments: Object,
    id: Option<String>,
) -> Reading {
    let mut take = |key: &str| {
        let own = [beside.remove(key), arguments.remove(key)];
        let mut values = around
            .iter()
            .filter_map(|level| level.get(key))
            .cloned()
            .chain(own.into_iter().flatten());
        let first = values.next();
        match values.all(|value| Some(&value) == first.as_ref()) {
            true => Ok(first),
            false => Err(ExtractProblem::GivenTwice { tool: short(&tool), key: key.to_owned() }),
        }
    };
    let device = match take("device")? {
        None | Some(Value::Null) => None,
        Some(Value::String(device)) => Some(device),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(ExtractProblem::NotText { tool: short(&tool), key: "device".into() });
        }
    };
    let mut switch = |key: &str| match take(key)? {
        None => Ok(None),
        Some(Value::Bool(on)) => Ok(Some(on)),
        Some(
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
        ) => Err(ExtractProblem::NotABool { tool: short(&tool), key: key.to_owned() }),
    };
    let dry_run = switch("dry_run")?.unwrap_or_default();
    let queue = switch("queue")?;
    for (key, value) in beside {
        if arguments.contains_key(&key) {
            return Err(ExtractProblem::GivenTwice { tool: short(&tool), key: short(&key) });
        }
        arguments.insert(key, value);
    }
    Ok(ExtractedCall {
        tool,
        device,
        dry_run,
        queue,
        arguments,
        untyped: false,
        recovered: false,
        id,
    })
}
