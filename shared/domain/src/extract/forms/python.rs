//! Calls as Python expressions, with named arguments that are literals: `[f(a=1), g(b="x")]` (Llama 4, Gemma 3),
//! alone or in a fence of code for tools.

mod literal;

use serde_json::Map;

use super::{Cursor, Parsed, Reading, plain, with_values};
use crate::extract::ExtractProblem;
use crate::extract::problem::short;
use literal::{Fault, value};

const FORM: &str = "a Python call";

/// Returns whether a list of Python calls may start here: a bracket, a name and a parenthesis.
pub(in crate::extract) fn starts_list(text: &str, start: usize) -> bool {
    let mut cursor = Cursor { text, at: start };
    cursor.eat("[");
    cursor.skip_space();
    starts_call(cursor)
}

fn starts_call(mut cursor: Cursor<'_>) -> bool {
    let name = cursor.word("_.");
    super::is_name(name) && cursor.rest().starts_with('(')
}

/// Reads the list of calls that starts with a bracket at `start`.
pub(in crate::extract) fn list(text: &str, start: usize) -> Parsed {
    let mut cursor = Cursor { text, at: start };
    cursor.eat("[");
    let mut readings = Vec::new();
    loop {
        cursor.skip_space();
        match call(&mut cursor, start) {
            Ok(reading) => readings.push(reading),
            Err(fault) => return fault.parsed(start),
        }
        cursor.skip_space();
        if cursor.eat("]") {
            return Parsed { end: cursor.at, readings };
        }
        if !cursor.eat(",") {
            return Parsed::broken(
                start,
                cursor.at,
                FORM,
                "a comma or the closing bracket is missing",
            );
        }
    }
}

/// Reads calls without brackets that are all that follows: up to the end, or a token of the model. `None` where
/// something else is there.
pub(in crate::extract) fn bare(text: &str, start: usize) -> Result<Parsed, usize> {
    let mut cursor = Cursor { text, at: start };
    let mut readings = Vec::new();
    let mut end = start;
    loop {
        if !starts_call(cursor) {
            return Err(cursor.at);
        }
        readings.push(call(&mut cursor, start).map_err(|fault| fault.reached())?);
        end = end.max(cursor.at);
        cursor.skip_space();
        cursor.eat(";");
        cursor.skip_space();
        if cursor.rest().is_empty() || cursor.rest().starts_with("<|") {
            return Ok(Parsed { end, readings });
        }
    }
}

/// Reads a fence of code for tools up to its end: calls, lists of calls, and `print` around them.
pub(in crate::extract) fn code(text: &str, start: usize) -> Option<Parsed> {
    let mut cursor = Cursor { text, at: start };
    let mut readings = Vec::new();
    let mut end = start;
    loop {
        cursor.skip_space();
        if cursor.rest().is_empty() || cursor.rest().starts_with("```") {
            return (!readings.is_empty()).then_some(Parsed { end, readings });
        }
        if cursor.rest().starts_with(['{', '<']) && readings.is_empty() {
            // Another form in the same fence.
            return None;
        }
        if starts_list(text, cursor.at) && cursor.rest().starts_with('[') {
            let inner = list(text, cursor.at);
            cursor.at = inner.end;
            let is_broken = inner.readings.iter().any(is_broken);
            readings.extend(inner.readings);
            if is_broken {
                return Some(Parsed { end: cursor.at, readings });
            }
        } else {
            let printed = cursor.eat("print(");
            cursor.skip_space();
            match call(&mut cursor, start) {
                Ok(reading) => readings.push(reading),
                Err(fault) => return Some(fault.parsed(start)),
            }
            cursor.skip_space();
            if printed && !cursor.eat(")") {
                let why = "the closing parenthesis of print is missing";
                return Some(Parsed::broken(start, cursor.at, FORM, why));
            }
        }
        end = cursor.at;
        cursor.eat(";");
    }
}

/// Returns whether a reading is of text that goes on as something else.
pub(in crate::extract) fn is_broken(reading: &Reading) -> bool {
    matches!(reading, Err(ExtractProblem::NotUnderstood { .. }))
}

/// Reads one call. The reading has an error where the call is whole and not acceptable.
fn call(cursor: &mut Cursor<'_>, start: usize) -> Result<Reading, Fault> {
    let name = cursor.word("_.");
    if !super::is_name(name) || !cursor.eat("(") {
        return Err(Fault { at: cursor.at, why: "a call is missing" });
    }
    let name = plain(name.strip_suffix(".call").unwrap_or(name));
    let mut arguments = Map::new();
    let mut twice = None;
    loop {
        cursor.skip_space();
        if cursor.eat(")") {
            break;
        }
        let before = cursor.at;
        let key = cursor.word("_");
        cursor.skip_space();
        if key.is_empty() || cursor.rest().starts_with("==") || !cursor.eat("=") {
            return Err(Fault {
                at: before,
                why: "each argument needs its name, as in f(path=\"x\")",
            });
        }
        cursor.skip_space();
        let value = value(cursor, 0)?;
        if arguments.insert(key.to_owned(), value).is_some() {
            twice = Some(short(key));
        }
        cursor.skip_space();
        if !cursor.eat(",") && !cursor.rest().starts_with(')') {
            let why = "a comma or the closing parenthesis is missing";
            return Err(Fault { at: cursor.at, why });
        }
    }
    Ok(match twice {
        Some(key) => Err(ExtractProblem::DuplicateKey { start, key }),
        None => with_values(name, arguments, start),
    })
}
