//! Literals of Python that have one meaning: texts, numbers, `True`, `False`, `None`, lists and dictionaries.

use serde_json::{Map, Value};

use super::FORM;
use crate::extract::MAX_DEPTH;
use crate::extract::forms::{Cursor, Parsed};

/// Where and why an expression is no call with literals.
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) why: &'static str,
}

impl Fault {
    pub(super) fn parsed(self, start: usize) -> Parsed {
        Parsed::broken(start, self.at, FORM, self.why)
    }

    /// The byte up to which the text was read.
    pub(super) const fn reached(&self) -> usize {
        self.at
    }
}

/// Reads one literal.
pub(super) fn value(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Fault> {
    if depth == MAX_DEPTH {
        return Err(Fault { at: cursor.at, why: "it is nested too deep" });
    }
    match cursor.rest().as_bytes().first() {
        Some(b'"' | b'\'') => text(cursor, false).map(Value::from),
        Some(b'r' | b'R') if cursor.rest().get(1..2).is_some_and(|it| "\"'".contains(it)) => {
            cursor.at += 1;
            text(cursor, true).map(Value::from)
        }
        Some(b'[') => items(cursor, depth),
        Some(b'{') => entries(cursor, depth),
        _ => scalar(cursor),
    }
}

fn scalar(cursor: &mut Cursor<'_>) -> Result<Value, Fault> {
    let start = cursor.at;
    let fault = Fault { at: start, why: "a value is missing, or it is no literal" };
    match cursor.word("+-._") {
        "True" | "true" => Ok(Value::from(true)),
        "False" | "false" => Ok(Value::from(false)),
        "None" | "null" => Ok(Value::Null),
        word => match serde_json::from_str::<Value>(word) {
            Ok(number @ Value::Number(_)) => Ok(number),
            Ok(
                Value::Null
                | Value::Bool(_)
                | Value::String(_)
                | Value::Array(_)
                | Value::Object(_),
            )
            | Err(_) => Err(fault),
        },
    }
}

fn items(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Fault> {
    cursor.at += 1;
    let mut found = Vec::new();
    loop {
        cursor.skip_space();
        if cursor.eat("]") {
            return Ok(Value::Array(found));
        }
        found.push(value(cursor, depth + 1)?);
        cursor.skip_space();
        if !cursor.eat(",") && !cursor.rest().starts_with(']') {
            let why = "a comma or the closing bracket is missing";
            return Err(Fault { at: cursor.at, why });
        }
    }
}

fn entries(cursor: &mut Cursor<'_>, depth: u32) -> Result<Value, Fault> {
    cursor.at += 1;
    let mut found = Map::new();
    loop {
        cursor.skip_space();
        if cursor.eat("}") {
            return Ok(Value::Object(found));
        }
        if !cursor.rest().starts_with(['"', '\'']) {
            return Err(Fault { at: cursor.at, why: "a name in quotes is missing" });
        }
        let key = text(cursor, false)?;
        cursor.skip_space();
        if !cursor.eat(":") {
            return Err(Fault { at: cursor.at, why: "a colon is missing" });
        }
        cursor.skip_space();
        let value = value(cursor, depth + 1)?;
        if found.insert(key, value).is_some() {
            return Err(Fault { at: cursor.at, why: "one name is there twice" });
        }
        cursor.skip_space();
        if !cursor.eat(",") && !cursor.rest().starts_with('}') {
            return Err(Fault { at: cursor.at, why: "a comma or the closing brace is missing" });
        }
    }
}

/// Reads a text at its opening quote.
fn text(cursor: &mut Cursor<'_>, raw: bool) -> Result<String, Fault> {
    let rest = cursor.rest();
    let long = ["\"\"\"", "'''"].into_iter().find(|quote| rest.starts_with(quote));
    let quote = long.unwrap_or_else(|| rest.get(..1).unwrap_or_default());
    cursor.at += quote.len();
    let mut found = String::new();
    loop {
        if cursor.eat(quote) {
            return Ok(found);
        }
        let Some(letter) = cursor.rest().chars().next() else {
            return Err(Fault { at: cursor.at, why: "a text has no end" });
        };
        cursor.at += letter.len_utf8();
        match letter {
            '\\' if raw => {
                // A quote behind a backslash does not end the text.
                let next = cursor.rest().chars().next();
                found.push(letter);
                found.extend(next);
                cursor.at += next.map_or(0, char::len_utf8);
            }
            '\\' => found.extend(escape(cursor)?),
            '\n' if long.is_none() => {
                return Err(Fault { at: cursor.at, why: "a text has a line break" });
            }
            _ => found.push(letter),
        }
    }
}

/// Reads what follows a backslash. `None` for a line that goes on.
fn escape(cursor: &mut Cursor<'_>) -> Result<Option<char>, Fault> {
    let at = cursor.at;
    let Some(letter) = cursor.rest().chars().next() else {
        return Err(Fault { at, why: "a text has no end" });
    };
    cursor.at += letter.len_utf8();
    let digits = match letter {
        'n' => return Ok(Some('\n')),
        'r' => return Ok(Some('\r')),
        't' => return Ok(Some('\t')),
        '\\' | '\'' | '"' => return Ok(Some(letter)),
        '\n' => return Ok(None),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Err(Fault { at, why: "a backslash stands before another character" }),
    };
    let code = cursor.rest().get(..digits).unwrap_or_default();
    let is_hex = code.len() == digits && code.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = u32::from_str_radix(code, 16).ok().filter(|_| is_hex).and_then(char::from_u32);
    cursor.at += if found.is_some() { digits } else { 0 };
    found.map(Some).ok_or(Fault { at, why: "a backslash stands before no character's number" })
}
