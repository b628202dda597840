//! `search_directory` on a real folder.

use orion_domain::ErrorCode;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "search_directory";

fn found(device: &Device, arguments: Value) -> Vec<String> {
    let root = device.text("files/");
    let data = device.data(TOOL, arguments);
    let matches = data["matches"].as_array().unwrap();
    assert_eq!(data["count"], json!(matches.len()));
    matches.iter().map(|it| it.as_str().unwrap().replace(&root, "")).collect()
}

#[test]
fn exact_names_come_first_then_beginnings_then_parts_and_the_nearer_before_the_deeper() {
    let device = Device::new();
    for name in ["my-bills", "z/Bills", "bills-2", "a/bills-1", "a/b/bills", "a/b/c/bills", "none"]
    {
        device.folder(&format!("files/{name}"));
    }
    device.put("files/bills.txt", "");
    device.put("files/y/bills", "a file");
    let whole = ["z/Bills", "a/b/bills", "bills-2", "a/bills-1", "my-bills"];
    assert_eq!(found(&device, json!({"name": "bills"})), whole);
    assert_eq!(found(&device, json!({"name": "BILLS", "max_depth": 1})), ["bills-2", "my-bills"]);
    assert_eq!(
        found(&device, json!({"name": "bills", "base": "a/b"})),
        ["a/b/bills", "a/b/c/bills"]
    );
    assert_eq!(found(&device, json!({"name": "nowhere"})), [""; 0]);
    device.dry(TOOL, json!({"name": "bills"})).unwrap();
}

#[test]
fn five_are_told_and_always_the_same() {
    let device = Device::new();
    for number in 0..500 {
        device.folder(&format!("files/{}/bills", 499 - number));
    }
    let first = found(&device, json!({"name": "bills"}));
    assert_eq!(first, ["0", "1", "10", "100", "101"].map(|number| format!("{number}/bills")));
}

#[test]
fn accents_and_case_keep_no_names_apart() {
    let device = Device::new();
    device.folder("files/Cafe\u{301}");
    assert_eq!(found(&device, json!({"name": "CAF\u{c9}"})), ["Cafe\u{301}"]);
}

#[test]
fn what_is_kept_out_is_not_found() {
    let device = Device::new();
    for name in [".ssh", "a/.SSH/keys", ".orion-trash/old", "a/seen"] {
        device.folder(&format!("files/{name}"));
    }
    for name in ["ssh", "keys", "trash", "old"] {
        assert_eq!(found(&device, json!({"name": name})), [""; 0], "{name}");
    }
}

#[test]
fn bad_arguments_are_told() {
    let device = Device::new();
    for arguments in [
        json!({}),
        json!({"name": ""}),
        json!({"name": "a/b"}),
        json!({"name": "x".repeat(256)}),
        json!({"name": "x", "max_depth": 0}),
        json!({"name": "x", "max_depth": 4}),
    ] {
        assert_eq!(
            device.refused(TOOL, arguments.clone()),
            ErrorCode::InvalidArgument,
            "{arguments}"
        );
    }
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "base", &json!({"name": "x"}));
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_no_folders() {
    let device = Device::new();
    device.folder("files/a/inside");
    device.link("files/link", "a");
    assert_eq!(found(&device, json!({"name": "link"})), [""; 0]);
    assert_eq!(found(&device, json!({"name": "inside"})), ["a/inside"]);
}
