//! Definitions as owners write them, and as hostile devices would.

use orion_domain::{Access, Capability, DevicePath, ErrorCode, PathStyle, Places, Risk};
use rstest::rstest;
use serde_json::{Map, Value, json};

use super::*;
use crate::tools::CATALOG;

fn places() -> Places {
    let path = |text: &str| DevicePath::parse(PathStyle::Posix, text).ok();
    Places {
        workspace: path("/srv/files"),
        home: path("/home/ann"),
        ..Places::bare(PathStyle::Posix)
    }
}

fn text(max_length: u32) -> Value {
    json!({"type": "string", "max_length": max_length})
}

fn parameter(name: &str, required: bool, kind: Value) -> Value {
    json!({
        "name": name, "description": "An argument.", "required": required,
        "may_begin_with_hyphen": false, "kind": kind,
    })
}

fn backup() -> Value {
    json!({
        "name": "backup_photos",
        "description": "Copies new photos to the disk.",
        "risk": "high",
        "permissions": ["service_read"],
        "parameters": [
            parameter("label", false, text(100)),
            parameter("source", true, text(500)),
            parameter("tags", false, json!({"type": "strings", "max_items": 3, "max_length": 20})),
            parameter("verbose", false, json!({"type": "boolean"})),
        ],
        "run": {"program": {
            "program": "/usr/local/bin/backup",
            "argv": [
                "--from", "{source}",
                {"when": "label", "argv": ["--label", "{label}"]},
                {"when": "verbose", "argv": ["-v"]},
                "{tags}",
            ],
            "folder": ".", "timeout": 60, "code": [],
        }},
        "touches": {"read": ["{source}"], "write": ["~/Backups"], "delete": [], "hosts": []},
    })
}

fn parsed(value: &Value) -> Result<Definition, DefinitionError> {
    let bytes = orion_domain::CanonicalArguments::from_value(value);
    read(bytes.as_bytes())
}

/// Returns the definition with the value at a JSON pointer replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut changed = backup();
    *changed.pointer_mut(pointer).unwrap() = value;
    changed
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn a_definition_is_identified_by_the_hash_of_its_canonical_form() {
    let definition = parsed(&backup()).unwrap();
    let bytes = definition.canonical();
    assert_eq!(definition.digest(), orion_domain::Digest::of(bytes.as_bytes()));
    assert_eq!(read(bytes.as_bytes()).unwrap(), definition);
    for pointer in ["/description", "/run/program/program", "/run/program/argv/0"] {
        let other = parsed(&with(pointer, json!("/other"))).unwrap();
        assert_ne!(other.digest(), definition.digest(), "{pointer}");
    }
    assert_eq!(
        definition.capabilities().into_iter().collect::<Vec<_>>(),
        [
            Capability::FileRead,
            Capability::FileWrite,
            Capability::ServiceRead,
            Capability::CommandExecute
        ]
    );
}

#[rstest]
#[case("/name", json!("read_file"), "of Orion")]
#[case("/name", json!("shell"), "of Orion")]
#[case("/name", json!("read_files"), "of Orion")]
#[case("/name", json!("readfile"), "of Orion")]
#[case("/name", json!("read_f1le"), "of Orion")]
#[case("/name", json!("backend"), "of Orion")]
#[case("/name", json!("Backup"), "no name")]
#[case("/name", json!("back__up"), "no name")]
#[case("/name", json!("b\u{430}ckup"), "no name")]
#[case("/name", json!(""), "no name")]
#[case("/name", json!("a".repeat(65)), "no name")]
#[case("/description", json!(" "), "says nothing")]
#[case("/description", json!("a\u{202e}b"), "not seen")]
#[case("/description", json!("x".repeat(1_001)), "more than 1000")]
#[case("/parameters/0/name", json!("confirm"), "cannot have this name")]
#[case("/parameters/0/name", json!("device"), "cannot have this name")]
#[case("/parameters/0/name", json!("zzz"), "not sorted")]
#[case("/parameters/0/name", json!("source"), "not sorted")]
#[case("/parameters/0/kind/max_length", json!(0), "a limit")]
#[case("/parameters/0/kind/max_length", json!(1_000_000), "a limit")]
#[case("/parameters/0/kind", json!({"type": "json", "max_length": 10}), "a limit")]
#[case("/parameters/0/kind", json!({"type": "object"}), "cannot be read")]
#[case("/run/program/program", json!("bin/backup"), "absolute path")]
#[case("/run/program/program", json!(""), "absolute path")]
#[case("/run/program/argv/1", json!("--from={source}"), "whole entry")]
#[case("/run/program/argv/1", json!("{other}"), "no argument `other`")]
#[case("/run/program/argv/1", json!("x"), "does not use it")]
#[case("/run/program/argv/2/when", json!("other"), "no argument `other`")]
#[case("/run/program/timeout", json!(0), "between 1 and")]
#[case("/run/program/code", json!(["lib"]), "absolute path")]
#[case("/run/program/argv", json!(vec!["x"; 65]), "more than 64")]
#[case("/touches/read", json!(["{verbose}"]), "no text")]
#[case("/touches/hosts", json!(["example.com"]), "host with a port")]
#[case("/risk", json!("none"), "cannot be read")]
#[case("/permissions", json!(["everything"]), "cannot be read")]
#[case("/run", json!({"shell": "rm -rf /"}), "cannot be read")]
fn what_breaks_a_rule_is_refused(#[case] pointer: &str, #[case] value: Value, #[case] why: &str) {
    let error = parsed(&with(pointer, value)).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn what_is_too_large_not_canonical_or_no_definition_is_refused() {
    let bytes = parsed(&backup()).unwrap().canonical();
    let spaced = format!(" {}", bytes.as_str());
    assert_eq!(read(spaced.as_bytes()), Err(DefinitionError::NotCanonical));
    let large = vec![b' '; MAX_DEFINITION_BYTES + 1];
    assert!(matches!(read(&large), Err(DefinitionError::TooLarge { .. })));
    let twice = bytes.as_str().replacen("{\"description\"", "{\"name\":\"a\",\"description\"", 1);
    for bytes in [&b"\xff"[..], b"", b"[]", b"{}", twice.as_bytes()] {
        assert!(matches!(read(bytes), Err(DefinitionError::Unreadable(_))), "{bytes:?}");
    }
    let more = with("/parameters", Value::Null);
    assert!(matches!(parsed(&more), Err(DefinitionError::Unreadable(_))));
}

#[test]
fn no_tool_of_orion_has_a_name_that_a_tool_of_a_server_can_have() {
    for spec in CATALOG {
        assert!(!spec.name.contains("__"), "{}", spec.name);
        assert!(names::check(spec.name).is_err());
    }
    assert_eq!(tool_of_server("files", "Read-File"), "files__read_file");
    assert!(names::check("backup_photos").is_ok());
}

#[test]
fn each_value_is_one_argument_of_the_program_and_what_is_not_given_is_left_out() {
    let definition = parsed(&backup()).unwrap();
    let argv = |arguments: Value| {
        prepared(&definition, &object(arguments), &places()).unwrap().command.arguments
    };
    assert_eq!(argv(json!({"source": "in"})), ["--from", "/srv/files/in"]);
    assert_eq!(
        argv(
            json!({"source": "~/a b", "label": "$(id); `x` \"y\"\n'z'", "verbose": true, "tags": ["a b", ""]})
        ),
        ["--from", "/home/ann/a b", "--label", "$(id); `x` \"y\"\n'z'", "-v", "a b", ""]
    );
    assert_eq!(argv(json!({"source": "/in", "verbose": false, "tags": []})), ["--from", "/in"]);
}

#[test]
fn a_call_touches_what_the_definition_declares_and_names_the_definition() {
    let definition = parsed(&backup()).unwrap();
    let spec = approved(&definition, Risk::Medium).unwrap();
    assert_eq!(spec.definition(), Some((&definition, definition.digest())));
    assert!(std::ptr::eq(spec, approved(&definition, Risk::Medium).unwrap()), "kept once");
    assert_ne!(spec, approved(&definition, Risk::High).unwrap());
    let call = spec.parse(object(json!({"source": "in", "confirm": true})), &places()).unwrap();
    assert!(call.confirmed && call.facts.is_custom && call.facts.has_effects);
    assert_eq!(call.facts.risk, Risk::Medium);
    assert_eq!(call.arguments.as_str(), r#"{"confirm":true,"source":"in"}"#);
    let paths: Vec<_> =
        call.touches.paths.iter().map(|it| (it.path.to_string(), it.access)).collect();
    assert_eq!(
        paths,
        [
            ("/srv/files".to_owned(), Access::Read),
            ("/srv/files/in".to_owned(), Access::Read),
            ("/home/ann/Backups".to_owned(), Access::Write),
        ]
    );
    assert_eq!(call.touches.commands[0].to_string(), "/usr/local/bin/backup --from /srv/files/in");
    assert_eq!(call.touches.definition, Some(definition.digest()));
    let again = spec.parse(serde_json::from_str(call.arguments.as_str()).unwrap(), &places());
    assert_eq!(again.unwrap(), call, "the canonical arguments mean the same call");
}

#[rstest]
#[case(json!({}), "source")]
#[case(json!({"source": 1}), "source")]
#[case(json!({"source": "-rf"}), "hyphen")]
#[case(json!({"source": "a\0b"}), "NUL")]
#[case(json!({"source": "x".repeat(501)}), "at most 500 bytes")]
#[case(json!({"source": "a", "other": 1}), "no such argument")]
#[case(json!({"source": "a", "verbose": "yes"}), "true or false")]
#[case(json!({"source": "a", "tags": ["1", "2", "3", "4"]}), "at most 3 items")]
#[case(json!({"source": "a", "tags": ["--x"]}), "hyphen")]
#[case(json!({"source": "a", "confirm": 1}), "confirm")]
fn arguments_that_do_not_fit_are_refused(#[case] arguments: Value, #[case] why: &str) {
    let spec = approved(&parsed(&backup()).unwrap(), Risk::High).unwrap();
    let error = spec.parse(object(arguments), &places()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    let said = format!("{} {:?}", error.message, error.details);
    assert!(said.contains(why), "{said}");
}

#[test]
fn hosts_may_be_arguments_and_are_judged() {
    let mut value = with("/touches/hosts", json!(["{label}", "nas.example:443"]));
    let touches = |value: &Value, arguments: Value| {
        let spec = approved(&parsed(value).unwrap(), Risk::High).unwrap();
        spec.parse(object(arguments), &places()).map(|call| call.touches.hosts)
    };
    let hosts = touches(&value, json!({"source": "a", "label": "h.example:22"})).unwrap();
    let hosts: Vec<_> = hosts.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["h.example:22", "nas.example:443"]);
    let error = touches(&value, json!({"source": "a", "label": "nonsense"})).unwrap_err();
    assert_eq!(error.code, ErrorCode::UrlForbidden);
    *value.pointer_mut("/touches/hosts").unwrap() = json!([]);
    assert_eq!(touches(&value, json!({"source": "a", "label": "x"})).unwrap(), []);
}

fn of_server() -> Value {
    json!({
        "name": "files__read_text", "description": "Reads.", "risk": "high", "permissions": [],
        "parameters": [parameter("maxLines", false, json!({"type": "json", "max_length": 100}))],
        "run": {"mcp": {
            "server": "files", "tool": "read-text", "program": "node", "argv": ["/opt/files.js", "{x}"],
            "environment": ["LANG"], "code": ["/opt"],
        }},
        "touches": {"read": ["/srv/files"], "write": [], "delete": [], "hosts": []},
    })
}

#[test]
fn a_tool_of_a_server_has_its_name_and_reaches_what_the_server_does() {
    let definition = parsed(&of_server()).unwrap();
    let call = prepared(&definition, &Map::new(), &places()).unwrap();
    assert_eq!(call.command.to_string(), "node /opt/files.js {x}", "taken as it is");
    assert_eq!(call.paths.len(), 1);
    for (pointer, value) in [
        ("/name", json!("other__read_text")),
        ("/name", json!("read_file")),
        ("/name", json!("files__")),
        ("/name", json!("files__a__b/c")),
        ("/run/mcp/environment", json!(["A=B"])),
        ("/touches/read", json!(["{maxLines}"])),
    ] {
        let mut changed = of_server();
        *changed.pointer_mut(pointer).unwrap() = value.clone();
        assert!(parsed(&changed).is_err(), "{pointer} {value}");
    }
    let deep = (0..20).fold(json!(1), |value, _| json!([value]));
    let spec = approved(&definition, Risk::High).unwrap();
    assert!(spec.parse(object(json!({"maxLines": deep})), &places()).is_err());
    assert!(spec.parse(object(json!({"maxLines": {"a": [1]}})), &places()).is_ok());
}
