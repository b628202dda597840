//! `read_config` on real files.

use orion_domain::ErrorCode;
use serde_json::json;

use crate::call::MAX_RESULT_BYTES;
use crate::tools::testing::Device;

const TOOL: &str = "read_config";

#[test]
fn it_tells_format_values_and_text() {
    let device = Device::new();
    let text = "# ports\nport = 80 # http\n";
    device.put("files/a.toml", text);
    let outcome = device.dry(TOOL, json!({"path": "a.toml"})).unwrap();
    assert_eq!(
        outcome.data,
        json!({
            "path": device.text("files/a.toml"), "format": "toml", "parsed": {"port": 80},
            "content": text,
        })
    );
    device.put("files/notes.txt", "a = 1\n");
    let data = device.data(TOOL, json!({"path": "notes.txt"}));
    assert_eq!((&data["format"], &data["parsed"]), (&json!("other"), &json!(null)));
}

#[test]
fn what_is_badly_written_is_told_with_its_text() {
    let device = Device::new();
    device.put("files/a.json", "{\"a\": ?}");
    let data = device.data(TOOL, json!({"path": "a.json"}));
    assert_eq!(
        (&data["parsed"], &data["problem"], &data["content"]),
        (&json!(null), &json!("Line 1, column 7: expected value."), &json!("{\"a\": ?}"))
    );
    device.put("files/b.ini", b"a=\xff\n");
    let data = device.data(TOOL, json!({"path": "b.ini"}));
    assert_eq!((&data["parsed"], &data["content"]), (&json!(null), &json!("a=\u{fffd}\n")));
}

#[test]
fn what_it_tells_fits_an_answer() {
    let device = Device::new();
    device.put("files/large.json", format!("[{}]", " ".repeat(1024 * 1024 - 1)));
    assert_eq!(device.refused(TOOL, json!({"path": "large.json"})), ErrorCode::ResourceExhausted);
    device.put("files/nul.txt", vec![0; 512 * 1024]);
    assert_eq!(device.refused(TOOL, json!({"path": "nul.txt"})), ErrorCode::ResourceExhausted);
    let text = format!("{{\"a\": \"{}\"}}", "x".repeat(1_040_000));
    device.put("files/text.json", text);
    let outcome = device.call(TOOL, json!({"path": "text.json"})).unwrap();
    assert_eq!(outcome.data["parsed"], json!(null));
    assert_eq!(outcome.data["problem"], json!("Its values do not fit the answer beside its text."));
    assert!(outcome.data.to_string().len() < MAX_RESULT_BYTES);
}

#[test]
fn nothing_of_the_agents_own_environment_is_told() {
    let device = Device::new();
    device.put("files/example.env", "A=$PATH\nB=\"${PATH}\"\nC=${HOME}\n");
    let data = device.data(TOOL, json!({"path": "example.env"}));
    assert_eq!(data["parsed"], json!({"A": "$PATH", "B": "${PATH}", "C": "${HOME}"}));
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/app/settings.toml", "");
    let error = device.error(TOOL, json!({"path": "app/setings.toml"}));
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestions(), [device.text("files/app/settings.toml")]);
    assert_eq!(device.refused(TOOL, json!({"path": "app"})), ErrorCode::PreconditionFailed);
}

#[test]
fn it_stays_inside() {
    Device::new().assert_unchanged(TOOL, "path", &json!({}));
}

#[cfg(unix)]
#[test]
fn special_files_are_never_opened() {
    let device = Device::new();
    let pipe = device.at("files/pipe.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let error = device.call(TOOL, json!({"path": "pipe.toml"})).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotSupported);
}
