//! Tests of `download_file`, with a side that reads four bytes at a time.

use orion_domain::ErrorCode;
use serde_json::json;

use crate::tools::testing::Device;

#[test]
fn a_file_of_every_byte_is_read_whole_and_its_digest_returned() {
    let device = Device::new();
    let bytes: Vec<u8> = (0..=255).collect();
    device.put("files/all.bin", &bytes);
    let data = device.data("download_file", json!({"path": "all.bin"}));
    assert_eq!(data["size_bytes"], json!(256));
    assert_eq!(data["sha256"], json!(orion_domain::Digest::of(&bytes).to_string()));
    assert_eq!(device.progress.get(), 256, "progress is the last byte");
}

#[test]
fn an_empty_file_is_brought_too() {
    let device = Device::new();
    device.put("files/empty", "");
    let data = device.data("download_file", json!({"path": "empty"}));
    assert_eq!(data["size_bytes"], json!(0));
}

#[test]
fn what_is_missing_or_no_file_is_refused() {
    let device = Device::new();
    device.folder("files/folder");
    assert_eq!(device.refused("download_file", json!({"path": "none"})), ErrorCode::FileNotFound);
    let refused = device.refused("download_file", json!({"path": "folder"}));
    assert_eq!(refused, ErrorCode::PreconditionFailed);
    device.assert_unchanged("download_file", "path", &json!({"path": "."}));
}
