//! Tests of `upload_file`, with a side that sends `Milk` and a line end, four bytes at a time.

use std::fs;

use orion_domain::{Digest, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::Device;

fn milk(path: &str) -> Value {
    json!({"path": path, "size_bytes": 5, "sha256": Digest::of(b"Milk\n").to_string()})
}

#[test]
fn what_was_sent_is_there_whole_and_can_be_taken_back() {
    let device = Device::new();
    let data = device.data("upload_file", milk("new/folder/list.txt"));
    assert_eq!((&data["replaced"], &data["size_bytes"]), (&json!(false), &json!(5)));
    assert_eq!(fs::read(device.at("files/new/folder/list.txt")).unwrap(), b"Milk\n");
    device.undo(&["new/folder/list.txt"]).unwrap();
    assert!(!device.at("files/new").exists(), "the folders on the way are gone too");
    assert_eq!(device.litter(), [""; 0]);
}

#[test]
fn a_file_is_replaced_where_that_is_asked_for_and_comes_back() {
    let device = Device::new();
    device.put("files/list.txt", "Bread\n");
    assert_eq!(device.refused("upload_file", milk("list.txt")), ErrorCode::AlreadyExists);
    let mut over = milk("list.txt");
    over["overwrite"] = json!(true);
    device.dry("upload_file", over.clone()).unwrap();
    assert_eq!(device.data("upload_file", over)["replaced"], json!(true));
    assert_eq!(fs::read(device.at("files/list.txt")).unwrap(), b"Milk\n");
    device.undo(&["list.txt"]).unwrap();
    assert_eq!(fs::read(device.at("files/list.txt")).unwrap(), b"Bread\n");
}

#[test]
fn content_with_another_digest_is_not_put_in_place() {
    let device = Device::new();
    let before = device.tree();
    let mut other = milk("list.txt");
    other["sha256"] = json!(Digest::of(b"Bread").to_string());
    let error = device.call("upload_file", other).unwrap_err();
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert_eq!(device.tree(), before);
}

#[test]
fn more_content_than_was_stated_is_refused() {
    let device = Device::new();
    let before = device.tree();
    let mut less = milk("list.txt");
    less["size_bytes"] = json!(3);
    let error = device.call("upload_file", less).unwrap_err();
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    assert_eq!(device.tree(), before);
}

#[test]
fn a_file_larger_than_the_owner_allows_is_refused_before_it_comes() {
    let mut device = Device::new();
    device.installation.transfers = std::sync::Arc::new(crate::transfer::Transfers::limited(4));
    let error = device.error("upload_file", milk("list.txt"));
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    assert!(error.message.contains("at most 4"), "{}", error.message);
}

#[test]
fn an_empty_file_needs_no_content() {
    let device = Device::new();
    let digest = Digest::of(b"").to_string();
    device.data("upload_file", json!({"path": "empty", "size_bytes": 0, "sha256": digest}));
    assert_eq!(fs::read(device.at("files/empty")).unwrap(), b"");
}

#[test]
fn it_refuses_what_every_tool_refuses() {
    let device = Device::new();
    device.assert_unchanged("upload_file", "path", &milk("."));
    device.folder("files/folder");
    assert_eq!(device.refused("upload_file", milk("folder")), ErrorCode::AlreadyExists);
    let mut flat = milk("none/list.txt");
    flat["create_dirs"] = json!(false);
    assert_eq!(device.refused("upload_file", flat), ErrorCode::DirectoryNotFound);
}
