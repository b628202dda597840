//! Parses `name=value` on the command line to a call's arguments, typed by the tool's schema.
//!
//! Forms: `name=text`, `name:=json`, `name=@file`. What does not match the schema is sent as written, so
//! that the backend rejects it with a reason and the audit log has it.

use std::path::Path;

use orion_catalog::typed;
use orion_domain::json;
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::global::duration;
use crate::input;

/// Parses the arguments; `base` are those of `--json`, which the pairs extend and override.
///
/// # Errors
/// A pair without `=`, invalid JSON, a name that is given twice and is no list, a file that cannot be
/// read.
pub(crate) fn arguments(
    pairs: &[String],
    base: Map<String, Value>,
    schema: Option<&Value>,
) -> Result<Map<String, Value>, Failure> {
    let mut arguments = base;
    let mut given: Vec<String> = Vec::new();
    for pair in pairs {
        let (name, written) = pair.split_once('=').ok_or_else(|| {
            let failure = usage(format!("`{pair}` is no argument"));
            if duration(pair).is_ok() {
                return failure.hint("the time of --queue follows a `=`, as in --queue=8h");
            }
            failure.hint("write name=value, as in path=Documents")
        })?;
        let (name, value) = if let Some(name) = name.strip_suffix(':') {
            let value = json::parse(written).map_err(|_| {
                usage(format!("`{name}:=` is followed by what is not JSON: `{written}`")).hint(
                    format!("write {name}={written} for a text; := is for JSON, as in limit:=5"),
                )
            })?;
            (name, value)
        } else {
            let property = schema.and_then(|schema| schema.get("properties")?.get(name));
            let content = match written.strip_prefix('@') {
                Some(path) => input::file(Path::new(path))?,
                None => written.to_owned(),
            };
            (name, typed(&content, property))
        };
        if name.is_empty() {
            return Err(usage(format!("`{pair}` has no name before the `=`"))
                .hint("write name=value, as in path=Documents"));
        }
        if given.iter().any(|earlier| earlier == name) {
            match (arguments.get_mut(name), value) {
                (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
                _ => {
                    return Err(usage(format!("`{name}` is given twice, and takes one value"))
                        .hint("leave one of them out"));
                }
            }
        } else {
            given.push(name.to_owned());
            arguments.insert(name.to_owned(), value);
        }
    }
    Ok(arguments)
}

/// Parses the JSON object of a call's arguments, given as itself, as `@file` or as `-`. `name` is the option.
///
/// # Errors
/// It is not a JSON object, or the file cannot be read.
pub(crate) fn object(name: &str, given: &str) -> Result<Map<String, Value>, Failure> {
    object_like(name, given, r#"{"path":"Documents"}"#)
}

/// Parses any JSON object, given as itself, as `@file` or as `-`. `example` is one that fits.
///
/// # Errors
/// As [`object`].
pub(crate) fn object_like(
    name: &str,
    given: &str,
    example: &str,
) -> Result<Map<String, Value>, Failure> {
    json::parse_object(input::value(given)?.as_bytes()).map_err(|error| {
        let file = given.strip_prefix('@').map(|file| format!(" in {file}")).unwrap_or_default();
        let failure = usage(format!("{name}{file} cannot be read, {error}"));
        if std::path::Path::new(given).is_file() {
            return failure.hint(format!("write @{given} to read that file"));
        }
        failure.hint(format!("write a JSON object, as in '{example}'"))
    })
}

const fn usage(message: String) -> Failure {
    Failure::Usage(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "properties": {
            "path": {"type": "string"},
            "recursive": {"type": "boolean"},
            "limit": {"type": ["integer", "null"]},
            "ratio": {"type": "number"},
            "include": {"type": "array", "items": {"type": "string"}},
            "lines": {"type": "array", "items": {"type": "integer"}},
            "mode": {"anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
            "filter": {"type": "object"},
        }})
    }

    fn read(pairs: &[&str]) -> Result<Value, Failure> {
        let pairs: Vec<_> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        arguments(&pairs, Map::new(), Some(&schema())).map(Value::Object)
    }

    #[rstest]
    #[case(&["path=a=b c"], json!({"path": "a=b c"}))]
    #[case(&["path="], json!({"path": ""}))]
    #[case(&["path=true"], json!({"path": "true"}))]
    #[case(&["path=7"], json!({"path": "7"}))]
    #[case(&["recursive=true"], json!({"recursive": true}))]
    #[case(&["recursive=maybe"], json!({"recursive": "maybe"}))]
    #[case(&["limit=-3"], json!({"limit": -3}))]
    #[case(&["limit=18446744073709551615"], json!({"limit": 18_446_744_073_709_551_615_u64}))]
    #[case(&["limit=null"], json!({"limit": null}))]
    #[case(&["limit=many"], json!({"limit": "many"}))]
    #[case(&["ratio=0.5"], json!({"ratio": 0.5}))]
    #[case(&["include=cpu", "include=disk"], json!({"include": ["cpu", "disk"]}))]
    #[case(&["include=[\"cpu\",\"disk\"]"], json!({"include": ["cpu", "disk"]}))]
    #[case(&["include=a,b"], json!({"include": ["a,b"]}))]
    #[case(&["lines=1", "lines=2"], json!({"lines": [1, 2]}))]
    #[case(&["mode=a"], json!({"mode": "a"}))]
    #[case(&["mode=null"], json!({"mode": "null"}))]
    #[case(&["filter={\"a\":1}"], json!({"filter": {"a": 1}}))]
    #[case(&["unknown=1"], json!({"unknown": "1"}))]
    #[case(&["path:=[1,\"x\"]"], json!({"path": [1, "x"]}))]
    fn values_take_the_type_that_the_tool_wants(#[case] pairs: &[&str], #[case] expected: Value) {
        assert_eq!(read(pairs).unwrap(), expected);
    }

    #[rstest]
    #[case(&["path"])]
    #[case(&["=x"])]
    #[case(&["path=a", "path=b"])]
    #[case(&["path:=nope"])]
    #[case(&["filter:={\"a\":1,\"a\":2}"])]
    fn what_is_no_argument_is_a_usage_error(#[case] pairs: &[&str]) {
        assert_eq!(read(pairs).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_file_gives_its_whole_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note.txt");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        let pair = format!("path=@{}", path.display());
        assert_eq!(read(&[&pair]).unwrap(), json!({"path": "one\ntwo\n"}));
        assert_eq!(read(&["path=@/nonexistent/file"]).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn pairs_override_what_json_said_and_without_a_schema_all_is_text() {
        let base = object("--json", r#"{"path":"a","limit":1,"include":["x"]}"#).unwrap();
        let pairs = ["path=b".to_owned(), "include=y".to_owned()];
        assert_eq!(
            Value::Object(arguments(&pairs, base, None).unwrap()),
            json!({"path": "b", "limit": 1, "include": "y"})
        );
        assert_eq!(object("--json", "[1]").unwrap_err().exit_code(), 2);
        assert_eq!(object("--json", "{").unwrap_err().exit_code(), 2);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("twice.json");
        let twice = r#"{"path":"a","deep":[{"b":1,"b":2}]}"#;
        std::fs::write(&file, twice).unwrap();
        for given in [twice.to_owned(), format!("@{}", file.display())] {
            let refused = object("--json", &given).unwrap_err();
            assert_eq!(refused.exit_code(), 2);
            assert!(refused.to_string().contains("\"b\" is twice"), "{refused}");
        }
    }

    #[test]
    fn every_tool_of_the_catalogue_can_be_called_this_way() {
        for spec in orion_catalog::CATALOG {
            let schema = spec.arguments_schema();
            // A tool without arguments has no properties.
            let properties = schema["properties"].as_object();
            for (name, property) in properties.into_iter().flatten() {
                assert!(
                    !orion_catalog::kinds(property).is_empty(),
                    "{}.{name}: {property}",
                    spec.name
                );
            }
        }
    }
}
