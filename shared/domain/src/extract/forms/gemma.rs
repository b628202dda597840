//! Calls of FunctionGemma and Gemma 4: `call:NAME{key:value}`, with a token around each text.

use serde_json::{Map, Value};

use super::{Cursor, Parsed, with_values};
use crate::extract::problem::short;
use crate::extract::{ExtractProblem, MAX_DEPTH};

/// The tokens around a text.
const QUOTES: [&str; 2] = ["<escape>", "<|\"|>"];

/// Why the arguments could not be read.
enum Fault {
    At(usize, &'static str),
    Twice(String),
}

/// Reads the call behind the opening token that ends at `start`, with the closing token. `None` where no call
/// follows.
pub(in crate::extract) fn gemma(text: &str, start: usize, close: &str) -> Option<Parsed> {
    const FORM: &str = "call:NAME{NAME:VALUE}";
    let mut cursor = Cursor { text, at: start };
    cursor.skip_space();
    if !cursor.eat("call:") {
        return None;
    }
    let name = cursor.word("_-.:/");
    let broken = |at, why| Some(Parsed::broken(start, at, FORM, why));
    let arguments = match object(&mut cursor, 0) {
        Ok(arguments) => arguments,
        Err(Fault::At(at, why)) => return broken(at, why),
        Err(Fault::Twice(key)) => {
            let problem = ExtractProblem::DuplicateKey { start, key: short(&key) };
            return Some(Parsed::one(cursor.at, Err(problem)));
        }
    };
    cursor.skip_space();
    if !cursor.eat(close) {
        return broken(cursor.at, "the closing token is missing");
    }
    Some(Parsed::one(cursor.at, with_values(name, arguments, start)))
}

fn object(cursor: &mut Cursor<'_>, depth: u32) -> Result<Map<String, Value>, Fault> {
    if depth == MAX_DEPTH {
        return Err(Fault::At(cursor.at, "it is nested too deep"));
    }
    if !cursor.eat("{") {
        return Err(Fault::At(cursor.at, "the arguments in braces are missing"));
    }
    let mut found = Map::new();
    cursor.skip_space();
    if cursor.eat("}") {
        return Ok(found);
    }
    loop {
        cursor.skip_space();
        let key = match quoted(cursor)? {
            Some(key) => key,
            None => cursor.word("_-.").to_owned(),
        };
        cursor.skip_space();
        if key.is_empty() || !cursor.eat(":") {
            return Err(Fault::At(cursor.at, "a name with a colon is missing"));
        }
        let value = value(cursor, depth + 1)?;
        if found.insert(key.clone(), value).is_some() {
            return Err(Fault::Twice(key));
        }
        cursor.skip_space();
        if cursor.eat("}") {
            return Ok(found);
        }
        if !cursor.eat(",") {
            return Err(Fault::At(cursor.at, "a comma or the closing brace is missing"));
        }
    }
}

fn value(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Fault> {
    cursor.skip_space();
    if let Some(text) = quoted(cursor)? {
        return Ok(Value::from(text));
    }
    if cursor.rest().starts_with('{') {
        return object(cursor, depth).map(Value::Object);
    }
    if cursor.rest().starts_with('[') {
        return items(cursor, depth).map(Value::Array);
    }
    let start = cursor.at;
    match serde_json::from_str::<Value>(cursor.word("+-.")) {
        Ok(value @ (Value::Null | Value::Bool(_) | Value::Number(_))) => Ok(value),
        Ok(Value::String(_) | Value::Array(_) | Value::Object(_)) | Err(_) => {
            Err(Fault::At(start, "a value is missing, or a text without its tokens"))
        }
    }
}

fn items(cursor: &mut Cursor<'_>, depth: u32) -> Result<Vec<Value>, Fault> {
    if depth == MAX_DEPTH {
        return Err(Fault::At(cursor.at, "it is nested too deep"));
    }
    cursor.eat("[");
    let mut found = Vec::new();
    cursor.skip_space();
    if cursor.eat("]") {
        return Ok(found);
    }
    loop {
        found.push(value(cursor, depth + 1)?);
        cursor.skip_space();
        if cursor.eat("]") {
            return Ok(found);
        }
        if !cursor.eat(",") {
            return Err(Fault::At(cursor.at, "a comma or the closing bracket is missing"));
        }
    }
}

/// Reads a text between its tokens, if one is here.
fn quoted(cursor: &mut Cursor<'_>) -> Result<Option<String>, Fault> {
    for quote in QUOTES {
        if cursor.eat(quote) {
            let end = Fault::At(cursor.text.len(), "a text has no end");
            return cursor.until(quote).map(|text| Some(text.to_owned())).ok_or(end);
        }
    }
    Ok(None)
}
