//! `search_files` on a real folder.

use orion_domain::ErrorCode;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "search_files";

fn found(device: &Device, arguments: Value) -> Vec<String> {
    let root = device.text("files/");
    let data = device.data(TOOL, arguments);
    let results = data["results"].as_array().unwrap();
    results.iter().map(|it| it["path"].as_str().unwrap().replace(&root, "")).collect()
}

#[test]
fn it_finds_files_by_name_from_home_downwards() {
    let device = Device::new();
    for name in ["b.zip", "a/c.zip", "a/d/e.ZIP", "a/d/f.zip", "a/.env", "x.zip/inner.txt"] {
        device.put(&format!("files/{name}"), "12");
    }
    assert_eq!(found(&device, json!({"query": "*.zip"})), ["a/c.zip", "a/d/f.zip", "b.zip"]);
    assert_eq!(found(&device, json!({"query": "*.zip", "recursive": false})), ["b.zip"]);
    assert_eq!(found(&device, json!({"query": "a/*/*.zip"})), ["a/d/f.zip"]);
    assert_eq!(found(&device, json!({"query": "*.zip", "path": "a/d"})), ["a/d/f.zip"]);
    assert_eq!(found(&device, json!({"query": ".env"})), [""; 0]);
    let cut = device.call(TOOL, json!({"query": "*.zip", "max_results": 1})).unwrap();
    assert!(cut.truncated);
    assert_eq!(cut.data["results"][0]["size_bytes"], json!(2));
    device.dry(TOOL, json!({"query": "*"})).unwrap();
}

#[test]
fn accents_match_however_they_are_written() {
    let device = Device::new();
    device.put("files/cafe\u{301}.txt", "");
    device.put("files/th\u{e9}.txt", "");
    assert_eq!(found(&device, json!({"query": "caf\u{e9}.txt"})), ["cafe\u{301}.txt"]);
    assert_eq!(found(&device, json!({"query": "the\u{301}.txt"})), ["th\u{e9}.txt"]);
}

#[test]
fn bad_arguments_are_told() {
    let device = Device::new();
    for arguments in [
        json!({}),
        json!({"query": "["}),
        json!({"query": ""}),
        json!({"query": "*", "max_results": 0}),
        json!({"query": "*", "max_results": 10_001}),
        json!({"query": 1}),
    ] {
        assert_eq!(device.refused(TOOL, arguments), ErrorCode::InvalidArgument);
    }
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"query": "*"}));
}
