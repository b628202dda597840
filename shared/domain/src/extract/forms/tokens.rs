//! Calls between a model's own tokens, with JSON arguments: Kimi K2, DeepSeek V3 to V3.1 and R1, and the newer
//! form of Mistral.

use super::{Cursor, Parsed, is_name, plain, with_json};

/// Reads one call of Kimi K2 at its opening token: `functions.NAME:INDEX`, then the arguments.
pub(in crate::extract) fn kimi(text: &str, start: usize) -> Option<Parsed> {
    const FORM: &str = "<|tool_call_begin|>";
    let mut cursor = Cursor { text, at: start };
    cursor.eat(FORM);
    let broken = |at, why| Some(Parsed::broken(start, at, FORM, why));
    let Some(id) = cursor.header("<|tool_call_argument_begin|>").map(str::trim) else {
        return broken(cursor.at, "the name and <|tool_call_argument_begin|> are missing");
    };
    let name = plain(id);
    let name = match name.rsplit_once(':') {
        Some((name, index)) if index.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    };
    cursor.skip_space();
    let json = match cursor.object() {
        Ok(json) => json,
        Err(at) => return broken(at, "the arguments are not one JSON object"),
    };
    cursor.skip_space();
    if !cursor.eat("<|tool_call_end|>") {
        return broken(cursor.at, "<|tool_call_end|> is missing");
    }
    Some(Parsed::one(cursor.at, with_json(name, json, Some(id), start)))
}

/// Reads one call of DeepSeek at its opening token: V3 and R1 with a fence around the arguments, V3.1 without.
pub(in crate::extract) fn deepseek(text: &str, start: usize) -> Option<Parsed> {
    const FORM: &str = "<｜tool▁call▁begin｜>";
    const SEPARATOR: &str = "<｜tool▁sep｜>";
    let mut cursor = Cursor { text, at: start };
    cursor.eat(FORM);
    let broken = |at, why| Some(Parsed::broken(start, at, FORM, why));
    let Some(first) = cursor.header(SEPARATOR).map(str::trim) else {
        return broken(cursor.at, "<｜tool▁sep｜> is missing");
    };
    let mut name = first;
    cursor.skip_space();
    let mut fenced = false;
    if first == "function" && !cursor.rest().starts_with('{') {
        name = cursor.word("_-.:/");
        cursor.skip_space();
        fenced = cursor.eat("```json") || cursor.eat("```");
        cursor.skip_space();
    }
    let json = match cursor.object() {
        Ok(json) => json,
        Err(at) => return broken(at, "the arguments are not one JSON object"),
    };
    cursor.skip_space();
    if fenced && !cursor.eat("```") {
        return broken(cursor.at, "the end of the fence is missing");
    }
    cursor.skip_space();
    if !cursor.eat("<｜tool▁call▁end｜>") {
        return broken(cursor.at, "<｜tool▁call▁end｜> is missing");
    }
    Some(Parsed::one(cursor.at, with_json(plain(name), json, None, start)))
}

/// Reads one call of Mistral behind the token `[TOOL_CALLS]` that ends at `start`: `NAME[ARGS]{…}`, with an id
/// before the arguments in some versions. `None` where JSON or prose follows.
pub(in crate::extract) fn mistral(text: &str, start: usize) -> Option<Parsed> {
    const FORM: &str = "[TOOL_CALLS]NAME[ARGS]";
    let mut cursor = Cursor { text, at: start };
    cursor.skip_space();
    let name = cursor.word("_-.:/");
    if !is_name(name) {
        return None;
    }
    let broken = |at, why| Some(Parsed::broken(start, at, FORM, why));
    let id = cursor.eat("[CALL_ID]").then(|| cursor.word("_-"));
    let marked = cursor.eat("[ARGS]") || id.is_some();
    cursor.skip_space();
    match cursor.object() {
        Ok(json) => Some(Parsed::one(cursor.at, with_json(name, json, id, start))),
        Err(at) if marked || cursor.rest().starts_with('{') => {
            broken(at, "the arguments are not one JSON object")
        }
        Err(_) => None,
    }
}
