//! `create_directory` on a real folder.

use orion_domain::ErrorCode;
use serde_json::json;

use crate::tools::testing::Device;

const TOOL: &str = "create_directory";

#[test]
fn it_makes_a_folder_once() {
    let device = Device::new();
    let made = device.call(TOOL, json!({"path": "Test"})).unwrap();
    let path = device.text("files/Test");
    assert_eq!(made.data, json!({"created_path": path, "created": true}));
    assert!(device.at("files/Test").is_dir());
    let again = device.data(TOOL, json!({"path": path}));
    assert_eq!(again, json!({"created_path": path, "created": false}));
    let root = device.data(TOOL, json!({"path": "."}));
    assert_eq!(root, json!({"created_path": device.text("files"), "created": false}));
}

#[test]
fn it_makes_the_folders_above_only_when_asked() {
    let device = Device::new();
    device.folder("files/Documents/Taxes");
    let error = device.error(TOOL, json!({"path": "Docments/Taxes/2024"}));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    assert_eq!(
        error.suggestions(),
        [device.text("files/Documents/Taxes"), device.text("files/Documents")]
            .into_iter()
            .filter(|it| error.suggestions().contains(it))
            .collect::<Vec<_>>()
    );
    assert!(error.suggestions().contains(&device.text("files/Documents")));
    device.call(TOOL, json!({"path": "a/b/c", "parents": true})).unwrap();
    assert!(device.at("files/a/b/c").is_dir());
}

#[test]
fn a_preview_makes_nothing() {
    let device = Device::new();
    let outcome = device.dry(TOOL, json!({"path": "a/b", "parents": true})).unwrap();
    assert_eq!(outcome.message, format!("Would make the folder {}.", device.text("files/a/b")));
    assert_eq!(outcome.data["created"], json!(true));
}

#[test]
fn a_file_in_its_place_or_on_the_way_is_told() {
    let device = Device::new();
    device.put("files/a", "x");
    assert_eq!(device.refused(TOOL, json!({"path": "a"})), ErrorCode::AlreadyExists);
    let below = json!({"path": "a/b", "parents": true});
    assert_eq!(device.refused(TOOL, below), ErrorCode::PreconditionFailed);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"parents": true}));
}

#[test]
fn names_are_kept_as_they_are_written() {
    let device = Device::new();
    for name in ["Übung 🎉", "cafe\u{301}", "caf\u{e9}", "-rf", "a\\b", "%2e%2e", " "] {
        device.call(TOOL, json!({"path": format!("./{name}")})).unwrap();
        assert!(device.at("files").join(name).is_dir(), "{name:?}");
    }
    assert_eq!(std::fs::read_dir(device.at("files")).unwrap().count(), 7);
    let long = "x".repeat(256);
    assert_eq!(device.refused(TOOL, json!({"path": long})), ErrorCode::InvalidPath);
}

#[cfg(unix)]
#[test]
fn a_link_inside_leads_where_it_points() {
    let device = Device::new();
    device.folder("files/real/deep");
    device.link("files/here", "real");
    device.link("files/real/back", "../real/deep");
    device.call(TOOL, json!({"path": "here/back/new"})).unwrap();
    assert!(device.at("files/real/deep/new").is_dir());
}

#[test]
fn it_makes_so_many_folders_at_once() {
    let device = Device::new();
    let path = |count: usize| format!("a{}", "/d".repeat(count - 1));
    device.dry(TOOL, json!({"path": path(256), "parents": true})).unwrap();
    for (tool, arguments) in [
        (TOOL, json!({"path": path(257), "parents": true})),
        ("write_file", json!({"path": path(257), "content": ""})),
    ] {
        assert_eq!(device.refused(tool, arguments), ErrorCode::ResourceExhausted, "{tool}");
    }
}
