//! What a line of the program is: a request, a message without an answer, or the end of an earlier request.

use serde_json::Value;

/// The code of a line that is not JSON.
pub(super) const NO_JSON: i64 = -32700;
/// The code of JSON that is not a message.
pub(super) const INVALID: i64 = -32600;

/// The kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It is answered with its id.
    Request,
    /// It cancels the request with this id, as JSON.
    Cancels(String),
    /// It has no answer.
    OneWay,
}

/// Reads a line. `None` for an empty one.
///
/// # Errors
/// The line is not a message: the code of the error, and why.
pub(super) fn read(line: &[u8]) -> Result<Option<(Kind, Value)>, (i64, String)> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let invalid = |why: &str| Err((INVALID, why.to_owned()));
    let message: Value = serde_json::from_slice(line)
        .map_err(|error| (NO_JSON, format!("This line is not a JSON message: {error}.")))?;
    let Some(fields) = message.as_object() else {
        return invalid(
            "A line is one message, which is a JSON object. MCP has no batches: send each message on a line of its own.",
        );
    };
    let Some(method) = fields.get("method") else { return Ok(Some((Kind::OneWay, message))) };
    if !method.is_string() {
        return invalid("`method` must be a text.");
    }
    if method == "notifications/cancelled" {
        let id = message["params"]["requestId"].to_string();
        return Ok(Some((Kind::Cancels(id), message)));
    }
    match fields.get("id") {
        None => Ok(Some((Kind::OneWay, message))),
        Some(Value::String(_)) => Ok(Some((Kind::Request, message))),
        Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Ok(Some((Kind::Request, message))),
        Some(_) => invalid("`id` must be a text or a whole number."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_message_or_its_error_says_why() {
        for (line, kind) in [
            (r#"{"id":1,"method":"a"}"#, Kind::Request),
            (r#"{"id":"1","method":"a"}"#, Kind::Request),
            (r#"{"method":"a"}"#, Kind::OneWay),
            (r#"{"id":1,"result":{}}"#, Kind::OneWay),
            (
                r#"{"method":"notifications/cancelled","params":{"requestId":"1"}}"#,
                Kind::Cancels("\"1\"".to_owned()),
            ),
            (r#"{"method":"notifications/cancelled"}"#, Kind::Cancels("null".to_owned())),
        ] {
            let (found, message) = read(line.as_bytes()).unwrap().unwrap();
            assert_eq!(found, kind, "{line}");
            assert_eq!(message, serde_json::from_str::<Value>(line).unwrap(), "{line}");
        }
        for (line, code) in [
            ("{", NO_JSON),
            ("\u{1}", NO_JSON),
            (r#"[{"id":1,"method":"a"}]"#, INVALID),
            ("7", INVALID),
            (r#"{"id":null,"method":"a"}"#, INVALID),
            (r#"{"id":1.5,"method":"a"}"#, INVALID),
            (r#"{"id":{},"method":"a"}"#, INVALID),
            (r#"{"id":1,"method":7}"#, INVALID),
        ] {
            assert_eq!(read(line.as_bytes()).unwrap_err().0, code, "{line}");
        }
        assert_eq!(read(b" \r").unwrap(), None);
        assert_eq!(read(b"\xff").unwrap_err().0, NO_JSON);
    }
}
