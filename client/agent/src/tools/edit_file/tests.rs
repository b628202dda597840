//! `edit_file` on real files.

use orion_domain::{Access, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "edit_file";

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "old_text": old, "new_text": new})
}

fn read(device: &Device, name: &str) -> String {
    std::fs::read_to_string(device.at(&format!("files/{name}"))).unwrap()
}

#[test]
fn the_only_place_is_changed_and_the_rest_stays() {
    let device = Device::new();
    device.put("files/a", "one\ntwo\nthree\n");
    let path = device.text("files/a");
    let diff = format!("--- {path}\n+++ {path}\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
    let data = json!({"path": path, "size_bytes": 12, "diff": diff});
    assert_eq!(device.dry(TOOL, edit("a", "two", "2")).unwrap().data, data);
    assert_eq!(device.data(TOOL, edit("a", "two", "2")), data);
    assert_eq!(read(&device, "a"), "one\n2\nthree\n");
    device.undo(&["a"]).unwrap();
    assert_eq!(read(&device, "a"), "one\ntwo\nthree\n");
    device.call(TOOL, edit("a", "two\n", "")).unwrap();
    assert_eq!(read(&device, "a"), "one\nthree\n");
    assert_eq!(device.litter(), [""; 0]);
}

#[test]
fn a_text_that_stands_there_more_than_once_is_told_with_its_lines() {
    let device = Device::new();
    device.put("files/a", "x = 1\ny = 1\nx = 1\n");
    let error = device.error(TOOL, edit("a", "x = 1", "x = 2"));
    assert_eq!(error.code, ErrorCode::TextNotUnique);
    assert_eq!((&error.details["count"], &error.details["lines"]), (&json!(2), &json!([1, 3])));
    device.put("files/b", "aaa");
    let error = device.error(TOOL, edit("b", "aa", "b"));
    assert_eq!(error.details["count"], json!(2), "places may overlap");
    device.put("files/c", "é".repeat(50));
    let error = device.error(TOOL, edit("c", "é", "e"));
    assert_eq!(error.details["count"], json!(50));
    assert_eq!(error.details["lines"].as_array().unwrap().len(), 10);
}

#[test]
fn a_text_that_is_not_there_gets_the_nearest_line() {
    let device = Device::new();
    device.put("files/a", "[server]\nport = 8080\nhost = \"localhost\"\n");
    let error = device.error(TOOL, edit("a", "port=8080", "port = 80"));
    assert_eq!((error.code, &error.details["count"]), (ErrorCode::TextNotUnique, &json!(0)));
    assert_eq!(error.suggestions(), ["line 2: port = 8080"]);
    let error = device.error(TOOL, edit("a", "nothing like it at all", "x"));
    assert_eq!(error.suggestions(), [""; 0]);
}

#[test]
fn line_ends_stay_as_they_are_and_are_told() {
    let device = Device::new();
    device.put("files/a", "one\r\ntwo\r\nthree\r\n");
    let error = device.error(TOOL, edit("a", "one\ntwo", "1\n2"));
    assert!(error.message.contains("\\r\\n"), "{}", error.message);
    device.call(TOOL, edit("a", "two", "2")).unwrap();
    assert_eq!(read(&device, "a"), "one\r\n2\r\nthree\r\n");
}

#[test]
fn what_cannot_be_edited_is_refused() {
    let device = Device::new();
    device.put("files/notes.txt", "x");
    device.put("files/binary", [0xff, 0xfe, b'x']);
    device.folder("files/folder");
    device.put("files/large", "x".repeat(16 * 1024 * 1024 + 1));
    for (arguments, code) in [
        (edit("notes.txt", "", "x"), ErrorCode::InvalidArgument),
        (edit("notes.txt", "x", "x"), ErrorCode::InvalidArgument),
        (edit("binary", "x", "y"), ErrorCode::PreconditionFailed),
        (edit("folder", "x", "y"), ErrorCode::PreconditionFailed),
        (edit("large", "x", "y"), ErrorCode::ResourceExhausted),
        (edit("notes.txt", "x", &"y".repeat(16 * 1024 * 1024 + 1)), ErrorCode::ResourceExhausted),
    ] {
        assert_eq!(device.refused(TOOL, arguments), code);
    }
    let error = device.error(TOOL, edit("note.txt", "x", "y"));
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes.txt")]);
}

#[test]
fn both_reading_and_writing_have_to_be_lent() {
    for access in [Access::Read, Access::Write] {
        let device = Device::granting(&[("files", &[access])]);
        device.put("files/a", "secret");
        let error = device.error(TOOL, edit("a", "guess", "x"));
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{access}");
    }
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"old_text": "a", "new_text": "b"}));
}

#[cfg(unix)]
#[test]
fn a_file_with_another_name_elsewhere_is_not_edited() {
    let device = Device::new();
    std::fs::hard_link(device.at("outside/secret.txt"), device.at("files/twin")).unwrap();
    assert_eq!(device.refused(TOOL, edit("twin", "secret", "x")), ErrorCode::PathNotAllowed);
}

#[test]
fn a_long_text_that_almost_stands_everywhere_is_looked_for_in_time() {
    let mut device = Device::new();
    device.time = std::time::Duration::from_secs(60);
    device.put("files/a", "a".repeat(2_000_000));
    let begun = std::time::Instant::now();
    let almost = format!("{}b", "a".repeat(499_999));
    let error = device.call(TOOL, edit("a", &almost, "x")).unwrap_err();
    assert_eq!(error.details["count"], json!(0));
    let everywhere = device.call(TOOL, edit("a", &"a".repeat(500_000), "x")).unwrap_err();
    assert!(everywhere.message.contains("at least 1000 times"), "{}", everywhere.message);
    assert!(begun.elapsed() < std::time::Duration::from_secs(40), "{:?}", begun.elapsed());
}

#[test]
fn a_search_for_a_text_ends_with_the_call() {
    let mut device = Device::new();
    device.time = std::time::Duration::from_millis(100);
    device.put("files/a", "a".repeat(2_000_000));
    let begun = std::time::Instant::now();
    let error = device.call(TOOL, edit("a", &"a".repeat(1_000_000), "x")).unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
}
