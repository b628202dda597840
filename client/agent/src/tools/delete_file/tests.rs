//! `delete_file` on real files.

use orion_domain::ErrorCode;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "delete_file";

fn delete(path: &str) -> Value {
    json!({"path": path, "confirm": true})
}

#[test]
fn a_file_goes_to_the_trash_and_comes_back() {
    let device = Device::new();
    device.put("files/a", "12345");
    let before = device.files();
    let data = device.data(TOOL, delete("a"));
    let id = device.last_call();
    assert_eq!(data, json!({"path": device.text("files/a"), "bytes": 5, "trash_id": id}));
    assert!(!device.at("files/a").exists());
    let kept = device.at(&format!("state/trash/{id}/content-0"));
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "12345");
    device.undo(&["a"]).unwrap();
    assert_eq!(device.files(), before);
}

#[test]
fn a_preview_deletes_nothing_and_needs_no_word() {
    let device = Device::new();
    device.put("files/a", "12345");
    let data = device.dry(TOOL, json!({"path": "a"})).unwrap().data;
    assert_eq!(data, json!({"path": device.text("files/a"), "bytes": 5, "trash_id": null}));
    assert_eq!(device.refused(TOOL, json!({"path": "a"})), ErrorCode::ConfirmationRequired);
}

#[test]
fn what_is_no_file_stays() {
    let device = Device::new();
    device.put("files/notes.txt", "");
    device.folder("files/folder");
    assert_eq!(device.refused(TOOL, delete("folder")), ErrorCode::PreconditionFailed);
    assert_eq!(device.refused(TOOL, delete("notes.txt/x")), ErrorCode::PreconditionFailed);
    assert_eq!(device.refused(TOOL, delete(".")), ErrorCode::PathNotAllowed);
    let error = device.error(TOOL, delete("note.txt"));
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes.txt")]);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"confirm": true}));
}

#[cfg(unix)]
#[test]
fn a_link_goes_and_what_it_leads_to_stays() {
    let device = Device::new();
    device.put("files/real", "1");
    for (name, to) in [("in", "real"), ("out", "../outside/secret.txt"), ("nowhere", "none")] {
        device.link(&format!("files/{name}"), to);
        let before = device.files();
        let data = device.data(TOOL, delete(name));
        assert_eq!(data["bytes"], json!(0));
        assert!(std::fs::symlink_metadata(device.at(&format!("files/{name}"))).is_err());
        device.undo(&[name]).unwrap();
        assert_eq!(device.files(), before);
    }
    assert!(device.at("files/real").exists() && device.at("outside/secret.txt").exists());
}

#[cfg(unix)]
#[test]
fn a_file_with_other_names_goes_by_this_one_alone() {
    let device = Device::new();
    std::fs::hard_link(device.at("outside/secret.txt"), device.at("files/twin")).unwrap();
    device.call(TOOL, delete("twin")).unwrap();
    assert!(!device.at("files/twin").exists() && device.at("outside/secret.txt").exists());
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_left_alone() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let device = Device::new();
    mknodat(CWD, device.at("files/fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(device.at("files/socket")).unwrap();
    for name in ["fifo", "socket"] {
        assert_eq!(device.refused(TOOL, delete(name)), ErrorCode::NotSupported, "{name}");
    }
}
