//! `list_directory` on a real folder.

use orion_domain::{Access, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::{ALL, Device};

const TOOL: &str = "list_directory";

fn names(data: &Value) -> Vec<&str> {
    data["entries"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn it_tells_what_is_there_in_order() {
    let device = Device::new();
    device.put("files/b.txt", "12345");
    device.folder("files/a");
    device.put("files/a/inner.txt", "");
    let mut data = device.data(TOOL, json!({}));
    for entry in data["entries"].as_array_mut().unwrap() {
        let modified = entry.as_object_mut().unwrap().remove("modified").unwrap();
        modified.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    }
    let entry = |name: &str, kind: &str, size: u64| {
        json!({
            "name": name, "path": device.text(&format!("files/{name}")), "kind": kind,
            "is_dir": kind == "directory", "size_bytes": size,
        })
    };
    let expected = json!({
        "path": device.text("files"), "pattern": "*", "count": 2, "truncated": false,
        "entries": [entry("a", "directory", 0), entry("b.txt", "file", 5)],
    });
    assert_eq!(data, expected);
    let data = device.data(TOOL, json!({"recursive": true, "pattern": "*.txt"}));
    assert_eq!(names(&data), ["inner.txt", "b.txt"]);
    device.dry(TOOL, json!({})).unwrap();
}

#[test]
fn it_is_cut_where_asked_and_says_so() {
    let device = Device::new();
    for number in 0..10_000 {
        std::fs::write(device.at(&format!("files/{number:05}.txt")), "").unwrap();
    }
    let outcome = device.call(TOOL, json!({"max_results": 3})).unwrap();
    assert_eq!(names(&outcome.data), ["00000.txt", "00001.txt", "00002.txt"]);
    assert!(outcome.truncated && outcome.data["truncated"] == json!(true));
    let all = device.call(TOOL, json!({"max_results": 10_000})).unwrap();
    assert_eq!((all.data["count"].clone(), all.truncated), (json!(10_000), false));
    assert_eq!(device.progress.get(), 10_000);
    for wrong in [0, 10_001] {
        let code = device.refused(TOOL, json!({"max_results": wrong}));
        assert_eq!(code, ErrorCode::InvalidArgument);
    }
    assert_eq!(device.refused(TOOL, json!({"pattern": "["})), ErrorCode::InvalidArgument);
}

#[test]
fn it_is_cut_before_it_outgrows_a_message() {
    let device = Device::new();
    let folder = format!("files/{}", format!("{}/", "f".repeat(200)).repeat(4));
    device.folder(&folder);
    for number in 0..3000 {
        std::fs::write(device.at(&format!("{folder}{number:04}")), "").unwrap();
    }
    let outcome = device.call(TOOL, json!({"recursive": true, "max_results": 10_000})).unwrap();
    assert!(outcome.truncated);
    assert!(outcome.data.to_string().len() < 3 * 1024 * 1024);
}

#[test]
fn it_shows_nothing_that_is_kept_out() {
    let device = Device::new();
    for name in [".ssh/id", ".env", "a/.env", "a/b.kdbx", ".orion-trash/x", "a/seen"] {
        device.put(&format!("files/{name}"), "");
    }
    let data = device.data(TOOL, json!({"recursive": true}));
    assert_eq!(names(&data), ["a", "seen"]);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"recursive": true}));
}

#[cfg(unix)]
#[test]
fn links_are_told_and_never_followed() {
    let device = Device::new();
    device.folder("files/a");
    device.link("files/a/up", "..");
    device.link("files/a/out", device.at("outside"));
    rustix::fs::mkfifoat(rustix::fs::CWD, device.at("files/pipe"), rustix::fs::Mode::RWXU).unwrap();
    let data = device.data(TOOL, json!({"recursive": true}));
    let kinds: Vec<_> = data["entries"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(names(&data), ["a", "out", "up", "pipe"]);
    assert_eq!(kinds, [&json!("directory"), &json!("link"), &json!("link"), &json!("other")]);
}

#[test]
fn what_is_no_folder_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/Documents/x", "");
    let error = device.error(TOOL, json!({"path": "documents"}));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    assert_eq!(error.suggestions(), [device.text("files/Documents")]);
    let file = json!({"path": "Documents/x"});
    assert_eq!(device.refused(TOOL, file), ErrorCode::PreconditionFailed);
}

#[test]
fn a_folder_that_may_only_be_written_is_not_shown() {
    let device = Device::granting(&[("files", &[Access::Write]), ("outside", ALL)]);
    let error = device.error(TOOL, json!({"path": device.text("files")}));
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
    assert_eq!(error.details["allowed_paths"], json!([device.text("outside")]));
    device.put("files/Documents/x", "");
    let error = device
        .error("write_file", json!({"path": "documents/y", "content": "", "create_dirs": false}));
    assert_eq!((error.code, error.suggestions().len()), (ErrorCode::DirectoryNotFound, 0));
}

#[test]
fn a_tree_that_is_too_deep_is_cut() {
    let device = Device::new();
    device.folder(&format!("files/{}", "d/".repeat(100)));
    let outcome = device.call(TOOL, json!({"recursive": true})).unwrap();
    assert_eq!((outcome.data["count"].clone(), outcome.truncated), (json!(64), true));
}

#[test]
fn it_stops_at_the_deadline() {
    let mut device = Device::new();
    device.time = std::time::Duration::ZERO;
    assert_eq!(device.refused(TOOL, json!({})), ErrorCode::Timeout);
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_text_is_passed_over() {
    use std::os::unix::ffi::OsStrExt;
    let device = Device::new();
    device.put("files/a", "");
    let odd = device.at("files").join(std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    std::fs::write(odd, "").unwrap();
    assert_eq!(names(&device.data(TOOL, json!({}))), ["a"]);
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_take_more_room_in_json_are_cut_and_not_refused() {
    let device = Device::new();
    let odd = "\"\u{1}".repeat(100);
    for number in 0..1_200 {
        device.put(&format!("files/{number:04}{odd}"), "");
    }
    for (tool, arguments) in [
        ("list_directory", json!({"max_results": 10_000})),
        (
            "search_files",
            json!({"path": device.text("files"), "query": "*", "max_results": 10_000}),
        ),
    ] {
        let outcome = device.call(tool, arguments).unwrap();
        let bytes = serde_json::to_vec(&outcome.data).unwrap().len();
        let most = crate::call::MAX_RESULT_BYTES;
        assert!(bytes < most && bytes > most / 4, "{tool}: {bytes}");
    }
    device.folder("files/more");
    for number in 0..2_000 {
        device.put(&format!("files/more/{number:04}{odd}"), "");
    }
    let outcome = device.call(
        "search_files",
        json!({"path": device.text("files"), "query": "*", "max_results": 10_000}),
    );
    assert!(outcome.unwrap().truncated);
}
