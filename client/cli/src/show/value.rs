//! Formats any tool's data for people: text as text, lists as tables, the rest as names and values.

use serde_json::{Map, Value};

use crate::output::{facts, table};
use crate::text;

/// Formats the data in the most readable form.
pub(crate) fn value(data: &Value) -> String {
    match data {
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => data.to_string(),
        Value::String(content) => text::plain(content),
        Value::Array(items) => list(items),
        Value::Object(object) => self::object(object),
    }
}

fn object(object: &Map<String, Value>) -> String {
    // Only a file's lines are printed; other fields would be in the way of a pipe.
    if let Some(Value::String(content)) = object.get("content") {
        return text::plain(content).trim_end_matches('\n').to_owned();
    }
    let mut parts = vec![facts(object.iter().filter_map(|(name, value)| match value {
        Value::Bool(_) | Value::Number(_) => Some((name.as_str(), value.to_string())),
        Value::String(path) if matches!(name.as_str(), "path" | "source" | "destination") => {
            Some((name.as_str(), text::one_line(path, 5000)))
        }
        Value::String(content) if name != "diff" => Some((name.as_str(), content.clone())),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            Some((name.as_str(), words(items)))
        }
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }))];
    for (name, value) in object {
        match value {
            Value::Array(items) if items.iter().any(|item| !item.is_string()) => {
                parts.push(format!("\n{}:\n{}", text::one_line(name, 80), list(items)));
            }
            Value::Object(inner) => {
                let inner = self::object(inner).replace('\n', "\n  ");
                parts.push(format!("\n{}:\n  {inner}", text::one_line(name, 80)));
            }
            Value::String(diff) if name == "diff" => parts.push(format!("\n{}", text::plain(diff))),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n").trim().to_owned()
}

fn words(items: &[Value]) -> String {
    let lines = items.iter().filter_map(Value::as_str).map(|item| text::one_line(item, 2000));
    lines.collect::<Vec<_>>().join("\n")
}

fn list(items: &[Value]) -> String {
    if items.iter().all(|item| item.is_number() || item.is_boolean()) {
        return items.iter().map(cell).collect::<Vec<_>>().join("  ");
    }
    let mut columns: Vec<&str> = Vec::new();
    for item in items {
        let Value::Object(object) = item else {
            return items.iter().map(cell).collect::<Vec<_>>().join("\n");
        };
        for name in object.keys() {
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
    }
    // Names come first.
    columns.sort_by_key(|name| !matches!(*name, "name" | "path"));
    let headings: Vec<String> =
        columns.iter().map(|name| text::one_line(name, 40).to_uppercase()).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    table(
        &headings,
        items.iter().map(|item| columns.iter().map(|name| cell(&item[*name])).collect()),
    )
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(content) => text::one_line(content, 2000),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            text::one_line(&value.to_string(), 2000)
        }
    }
}

/// Formats a call's arguments in one line, as they would be typed.
pub(crate) fn short_arguments(tool: &str, arguments: &[u8]) -> String {
    text::one_line(&typed_arguments(tool, arguments), 200)
}

/// Returns a call's arguments as they would be typed: what the tool requires comes first, and what it takes anyway is left
/// out. They are not made fit for a terminal.
pub(super) fn typed_arguments(tool: &str, arguments: &[u8]) -> String {
    let Ok(Value::Object(object)) = serde_json::from_slice(arguments) else {
        return String::new();
    };
    let schema = orion_catalog::find(tool).map(|(spec, _)| spec.arguments_schema());
    let schema = schema.unwrap_or_default();
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_required = |name: &str| required.iter().any(|it| it == name);
    let is_usual = |name: &str, value: &Value| {
        value.is_null() || schema["properties"][name].get("default") == Some(value)
    };
    let mut shown: Vec<_> =
        object.iter().filter(|(name, value)| is_required(name) || !is_usual(name, value)).collect();
    // The order of the tool's own arguments is kept within both groups.
    shown.sort_by_key(|(name, _)| !is_required(name));
    let needs_quotes = |c: char| c.is_whitespace() || c == '"';
    let shown: Vec<String> = shown
        .into_iter()
        .map(|(name, value)| match value.as_str() {
            Some(content) if !content.is_empty() && !content.contains(needs_quotes) => {
                format!("{name}={content}")
            }
            Some(_) | None => format!("{name}={value}"),
        })
        .collect();
    shown.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_listing_is_a_table() {
        insta::assert_snapshot!(value(&json!({
            "path": "/home/ann", "count": 2, "truncated": false,
            "entries": [
                {"kind": "directory", "name": "Test", "size_bytes": null},
                {"kind": "file", "name": "a\u{1b}b.txt", "size_bytes": 12},
            ],
        })), @"
        count      2
        path       /home/ann
        truncated  false

        entries:
        NAME     KIND       SIZE_BYTES
        Test     directory
        a�b.txt  file       12
        ");
    }

    #[test]
    fn a_file_is_its_text_alone_and_a_preview_shows_its_difference() {
        assert_eq!(value(&json!({"content": "one\ntwo\n", "lines": 2})), "one\ntwo");
        insta::assert_snapshot!(value(&json!({
            "path": "/a", "diff": "-one\n+two\n", "first_entries": ["x", "y"],
        })), @"
        first_entries  x
                       y
        path           /a

        -one
        +two
        ");
    }

    #[test]
    fn lines_that_match_and_what_is_large_stand_in_tables() {
        insta::assert_snapshot!(value(&json!({
            "pattern": "MILK", "path": "/p", "count": 2, "truncated": false,
            "files_searched": 3, "files_skipped": 0,
            "matches": [
                {"path": "/p/a.rs", "line": 7, "text": "// MILK\u{1b}[2J: one"},
                {"path": "/p/long-name.rs", "line": 120, "text": "    // MILK: two"},
            ],
        })), @"
        count           2
        files_searched  3
        files_skipped   0
        path            /p
        pattern         MILK
        truncated       false

        matches:
        PATH             LINE  TEXT
        /p/a.rs          7     // MILK�[2J: one
        /p/long-name.rs  120       // MILK: two
        ");
        insta::assert_snapshot!(value(&json!({
            "path": "/p", "total_bytes": 5000, "entries": 3, "truncated": false,
            "directories": [{"path": "/p/b", "size_bytes": 4000}],
            "files": [{"path": "/p/b/c", "size_bytes": 4000}],
        })), @"
        entries      3
        path         /p
        total_bytes  5000
        truncated    false

        directories:
        PATH  SIZE_BYTES
        /p/b  4000

        files:
        PATH    SIZE_BYTES
        /p/b/c  4000
        ");
    }

    #[test]
    fn an_edit_shows_its_difference_and_an_undoing_what_became_of_each_path() {
        insta::assert_snapshot!(value(&json!({
            "path": "/p/a.toml", "format": "toml", "backup_path": null,
            "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-port = 80\n+port = 8080\n",
        })), @"
        format  toml
        path    /p/a.toml

        --- a
        +++ b
        @@ -1 +1 @@
        -port = 80
        +port = 8080
        ");
        insta::assert_snapshot!(value(&json!({
            "call_id": "0199b2c4", "tool": "move_path", "paths": [
                {"path": "/p/a", "outcome": "restored"},
                {"path": "/p/b", "outcome": "removed"},
            ],
        })), @"
        call_id  0199b2c4
        tool     move_path

        paths:
        PATH  OUTCOME
        /p/a  restored
        /p/b  removed
        ");
        insta::assert_snapshot!(value(&json!({
            "query": "inv", "base": "/p", "count": 2, "matches": ["/p/inv", "/p/x/invoices"],
        })), @"
        base     /p
        count    2
        matches  /p/inv
                 /p/x/invoices
        query    inv
        ");
    }

    #[test]
    fn facts_within_facts_are_indented() {
        insta::assert_snapshot!(value(&json!({
            "device_id": "d", "system": {"os": "linux", "ram_gb": 16.0}, "cpu": null,
        })), @"
        device_id  d

        system:
          os      linux
          ram_gb  16.0
        ");
    }

    #[test]
    fn arguments_read_as_they_would_be_typed() {
        let arguments = br#"{"confirm":true,"path":"My Folder","name":"x"}"#;
        assert_eq!(short_arguments("none", arguments), r#"confirm=true name=x path="My Folder""#);
        // What the tool requires comes first, and what it takes anyway is left out.
        let arguments = br#"{"append":false,"content":"x","create_dirs":true,"path":"a"}"#;
        assert_eq!(short_arguments("write_file", arguments), "content=x path=a");
        assert_eq!(short_arguments("write_file", b"nope"), "");
    }
}
