//! Calls in XML: `<function=…><parameter=…>` (Qwen 3 coder, Seed, Nemotron), `<invoke name="…">` (MiniMax,
//! DeepSeek V3.2), and `<arg_key>` with `<arg_value>` (GLM 4.x).
//!
//! Nothing is escaped in these forms: a value ends at the first closing tag, and only another value or the
//! call's end may follow.

use serde_json::{Map, Value};

use super::{Cursor, Parsed, plain, with_json, with_texts, with_values};
use crate::extract::ExtractProblem;
use crate::extract::problem::short;

/// The tags of one form.
#[derive(Debug)]
pub(in crate::extract) struct Xml {
    /// The opening tag of a call, up to its name.
    pub(in crate::extract) open: &'static str,
    /// What ends a name.
    name_end: &'static str,
    parameter: &'static str,
    parameter_end: &'static str,
    end: &'static str,
    /// Whether each value says whether it is text or JSON.
    is_typed: bool,
    form: &'static str,
}

/// Qwen 3 coder, Seed OSS, Nemotron 3; with JSON in the place of parameters Llama 3.
pub(in crate::extract) const FUNCTION: Xml = Xml {
    open: "<function=",
    name_end: ">",
    parameter: "<parameter=",
    parameter_end: "</parameter>",
    end: "</function>",
    is_typed: false,
    form: "<function=NAME><parameter=NAME>",
};
/// MiniMax M2.
pub(in crate::extract) const INVOKE: Xml = Xml {
    open: "<invoke name=\"",
    name_end: "\">",
    parameter: "<parameter name=\"",
    parameter_end: "</parameter>",
    end: "</invoke>",
    is_typed: false,
    form: "<invoke name=NAME><parameter name=NAME>",
};
/// DeepSeek V3.2.
pub(in crate::extract) const DSML: Xml = Xml {
    open: "<｜DSML｜invoke name=\"",
    name_end: "\">",
    parameter: "<｜DSML｜parameter name=\"",
    parameter_end: "</｜DSML｜parameter>",
    end: "</｜DSML｜invoke>",
    is_typed: true,
    form: "<｜DSML｜invoke name=NAME>",
};

/// Reads the call at `start`, where the form's opening tag is. `None` where nothing of a call follows it.
pub(in crate::extract) fn xml(text: &str, start: usize, xml: &Xml) -> Option<Parsed> {
    let mut cursor = Cursor { text, at: start };
    cursor.eat(xml.open);
    let name = plain(cursor.header(xml.name_end)?.trim().trim_matches('"'));
    cursor.skip_space();
    let begins = [xml.parameter, xml.end, "{"].iter().any(|tag| cursor.rest().starts_with(tag));
    if !begins {
        return None;
    }
    let broken = |at, why| Some(Parsed::broken(start, at, xml.form, why));
    if cursor.rest().starts_with('{') {
        let json = match cursor.object() {
            Ok(json) => json,
            Err(at) => return broken(at, "the arguments are not one JSON object"),
        };
        cursor.skip_space();
        if !cursor.eat(xml.end) {
            return broken(cursor.at, "the closing tag of the function is missing");
        }
        return Some(Parsed::one(cursor.at, with_json(name, json, None, start)));
    }
    let mut arguments = Map::new();
    loop {
        cursor.skip_space();
        if cursor.eat(xml.end) {
            let reading = match xml.is_typed {
                true => with_values(name, arguments, start),
                false => with_texts(name, arguments, start),
            };
            return Some(Parsed::one(cursor.at, reading));
        }
        if !cursor.eat(xml.parameter) {
            return broken(cursor.at, "a parameter or the end of the call is missing");
        }
        let Some(key) = key_of(&mut cursor, xml) else {
            return broken(cursor.at, "the name of a parameter has no end");
        };
        let Some(value) = cursor.until(xml.parameter_end) else {
            return broken(text.len(), "the closing tag of a parameter is missing");
        };
        let value = match key.json {
            false => Value::from(inner(value)),
            true => match crate::json::parse(value) {
                Ok(value) => value,
                Err(_) => return broken(cursor.at, "a value that is said to be JSON is none"),
            },
        };
        if arguments.insert(key.name.to_owned(), value).is_some() {
            let problem = ExtractProblem::DuplicateKey { start, key: short(key.name) };
            return Some(Parsed::one(cursor.at, Err(problem)));
        }
    }
}

/// The name of a parameter, and whether its value is JSON.
struct Key<'a> {
    name: &'a str,
    json: bool,
}

fn key_of<'a>(cursor: &mut Cursor<'a>, xml: &Xml) -> Option<Key<'a>> {
    if !xml.is_typed {
        let name = cursor.header(xml.name_end)?.trim().trim_matches('"');
        return Some(Key { name, json: false });
    }
    let name = cursor.header("\" string=\"")?;
    let json = match cursor.header("\">")? {
        "true" => false,
        "false" => true,
        _ => return None,
    };
    Some(Key { name, json })
}

/// Returns a value without the line breaks that belong to its tags: the one behind the opening tag, with the
/// one before the closing tag.
fn inner(value: &str) -> &str {
    match value.strip_prefix("\r\n").or_else(|| value.strip_prefix('\n')) {
        Some(inner) => {
            inner.strip_suffix('\n').map_or(inner, |it| it.strip_suffix('\r').unwrap_or(it))
        }
        None => value,
    }
}

/// Reads the call of GLM behind the tag `<tool_call>` that ends at `start`. It ends before the closing tag.
pub(in crate::extract) fn glm(text: &str, start: usize) -> Option<Parsed> {
    const FORM: &str = "a name with <arg_key> and <arg_value>";
    const CLOSE: &str = "</tool_call>";
    let mut cursor = Cursor { text, at: start };
    cursor.eat("\n");
    let name = plain(cursor.word("_-.:/"));
    cursor.skip_space();
    let begins = cursor.rest().starts_with("<arg_key>") || cursor.rest().starts_with(CLOSE);
    if name.is_empty() || !begins {
        return None;
    }
    let broken = |at, why| Some(Parsed::broken(start, at, FORM, why));
    let mut arguments = Map::new();
    loop {
        cursor.skip_space();
        if cursor.rest().starts_with(CLOSE) {
            return Some(Parsed::one(cursor.at, with_texts(name, arguments, start)));
        }
        if !cursor.eat("<arg_key>") {
            return broken(cursor.at, "an argument or the end of the call is missing");
        }
        let Some(key) = cursor.header("</arg_key>").map(str::trim) else {
            return broken(cursor.at, "the name of an argument has no end");
        };
        cursor.skip_space();
        if !cursor.eat("<arg_value>") {
            return broken(cursor.at, "the value of an argument is missing");
        }
        let Some(value) = cursor.until("</arg_value>") else {
            return broken(text.len(), "the value of an argument has no end");
        };
        if arguments.insert(key.to_owned(), Value::from(inner(value))).is_some() {
            let problem = ExtractProblem::DuplicateKey { start, key: short(key) };
            return Some(Parsed::one(cursor.at, Err(problem)));
        }
    }
}
