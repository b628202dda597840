//! `delete_directory` on a real folder.

use orion_domain::{Access, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::{ALL, Device};

const TOOL: &str = "delete_directory";

fn delete(path: &str) -> Value {
    json!({"path": path, "recursive": true, "confirm": true})
}

#[test]
fn a_folder_goes_to_the_trash_with_what_is_in_it() {
    let device = Device::new();
    device.put("files/old/a/b.txt", "12345");
    device.put("files/old/c", "678");
    let outcome = device.call(TOOL, delete("old")).unwrap();
    let id = outcome.data["trash_id"].as_str().unwrap().to_owned();
    let path = device.text("files/old");
    assert_eq!(outcome.data, json!({"path": path, "entries": 4, "bytes": 8, "trash_id": id}));
    assert!(!device.at("files/old").exists());
    assert_eq!(id, device.last_call());
    let kept = device.at(&format!("state/trash/{id}/content-0"));
    assert_eq!(std::fs::read_to_string(kept.join("a/b.txt")).unwrap(), "12345");
}

#[test]
fn a_preview_counts_and_deletes_nothing() {
    let device = Device::new();
    for number in 0..30 {
        device.put(&format!("files/old/{number:02}"), "1");
    }
    let data = device.dry(TOOL, delete("old")).unwrap().data;
    assert_eq!((&data["entries"], &data["bytes"]), (&json!(31), &json!(30)));
    assert_eq!(data["trash_id"], json!(null));
    assert_eq!(data["first_entries"].as_array().unwrap().len(), 20);
    assert_eq!(data["first_entries"][0], json!(device.text("files/old/00")));
}

#[test]
fn an_empty_folder_goes_and_a_full_one_only_when_meant() {
    let device = Device::new();
    device.folder("files/empty");
    device.put("files/full/a", "");
    let error = device.error(TOOL, json!({"path": "full", "confirm": true}));
    assert_eq!((error.code, &error.details["entries"]), (ErrorCode::NotEmpty, &json!(1)));
    let unsure = json!({"path": "empty"});
    assert_eq!(device.refused(TOOL, unsure), ErrorCode::ConfirmationRequired);
    device.call(TOOL, json!({"path": "empty", "confirm": true})).unwrap();
    assert!(!device.at("files/empty").exists());
}

#[test]
fn what_is_no_folder_stays() {
    let device = Device::new();
    device.put("files/file", "");
    device.folder("files/folder");
    assert_eq!(device.refused(TOOL, delete("file")), ErrorCode::DirectoryNotFound);
    let error = device.error(TOOL, delete("foldr"));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    assert_eq!(error.suggestions(), [device.text("files/folder")]);
    assert_eq!(device.refused(TOOL, delete("file/x")), ErrorCode::PreconditionFailed);
}

#[test]
fn an_allowed_path_stays_and_whatever_holds_one() {
    let device = Device::granting(&[("files", ALL), ("files/a/inner", &[Access::Read])]);
    device.folder("files/a/inner");
    for path in [".", "a", "a/inner"] {
        assert_eq!(device.refused(TOOL, delete(path)), ErrorCode::PathNotAllowed, "{path}");
    }
}

#[test]
fn a_folder_with_something_kept_out_in_it_stays() {
    let device = Device::new();
    device.put("files/project/deep/.env", "SECRET=1");
    let error = device.error(TOOL, delete("project"));
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
    assert_eq!(error.details["attempted_path"], json!(device.text("files/project")));
    assert!(!error.message.contains(".env"), "{error}");
}

#[test]
fn what_cannot_be_judged_stays() {
    let device = Device::new();
    device.folder(&format!("files/deep/{}", "d/".repeat(100)));
    assert_eq!(device.refused(TOOL, delete("deep")), ErrorCode::ResourceExhausted);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"recursive": true, "confirm": true}));
}

#[cfg(unix)]
#[test]
fn links_are_neither_deleted_nor_followed() {
    let device = Device::new();
    device.put("files/real/a", "1");
    device.link("files/link", "real");
    device.link("files/out", device.at("outside"));
    for path in ["link", "out"] {
        assert_eq!(device.refused(TOOL, delete(path)), ErrorCode::PreconditionFailed, "{path}");
    }
    device.folder("files/old");
    device.link("files/old/out", device.at("outside"));
    device.link("files/old/real", "../real");
    let data = device.data(TOOL, delete("old"));
    assert_eq!((&data["entries"], &data["bytes"]), (&json!(3), &json!(0)));
    assert!(device.at("outside/secret.txt").exists() && device.at("files/real/a").exists());
}

#[test]
fn ten_thousand_entries_go_at_once() {
    let device = Device::new();
    device.folder("files/many");
    for number in 0..9_999 {
        std::fs::write(device.at(&format!("files/many/{number}")), "").unwrap();
    }
    assert_eq!(device.data(TOOL, delete("many"))["entries"], json!(10_000));
}
