//! Tests of `transfer_file`, with another device that has `Milk` and a line end in its file.

use std::fs;

use orion_domain::{Digest, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::Device;

fn milk(path: &str) -> Value {
    json!({"from_device": "laptop-123", "from_path": "list.txt", "path": path})
}

#[test]
fn what_the_other_device_has_is_written_and_can_be_taken_back() {
    let device = Device::new();
    let preview = device.dry("transfer_file", milk("new/list.txt")).unwrap();
    assert_eq!(preview.data.get("sha256"), None);
    let data = device.data("transfer_file", milk("new/list.txt"));
    assert_eq!(data["sha256"], json!(Digest::of(b"Milk\n").to_string()));
    assert_eq!(fs::read(device.at("files/new/list.txt")).unwrap(), b"Milk\n");
    device.undo(&["new/list.txt"]).unwrap();
    assert!(!device.at("files/new").exists());
}

#[test]
fn what_is_there_stays_unless_it_may_be_replaced() {
    let device = Device::new();
    device.put("files/list.txt", "Bread\n");
    assert_eq!(device.refused("transfer_file", milk("list.txt")), ErrorCode::AlreadyExists);
    let mut over = milk("list.txt");
    over["overwrite"] = json!(true);
    assert_eq!(device.data("transfer_file", over)["replaced"], json!(true));
}

#[test]
fn it_refuses_what_every_tool_refuses() {
    let device = Device::new();
    device.assert_unchanged("transfer_file", "path", &milk("."));
}
