//! `get_file_info` on real files.

use std::time::Duration;

use orion_domain::ErrorCode;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "get_file_info";

fn info(device: &Device, path: &str) -> Value {
    device.dry(TOOL, json!({"path": path})).unwrap().data
}

#[cfg(unix)]
#[test]
fn it_tells_what_a_path_leads_to() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    let device = Device::new();
    device.put("files/a.txt", "12345");
    device.folder("files/folder");
    device.link("files/link", "a.txt");
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(device.at("files/a.txt"), mode(0o640)).unwrap();
    std::fs::set_permissions(device.at("files/folder"), mode(0o1777)).unwrap();
    super::cache_accounts();
    let number = std::fs::metadata(device.at("files")).unwrap().uid();
    let users = sysinfo::Users::new_with_refreshed_list().unwrap();
    let name = users.iter().find(|user| **user.id() == number).map(|user| user.name().to_owned());
    let owner = name.unwrap_or_else(|| number.to_string());
    let data = info(&device, "a.txt");
    assert!(data["modified"].as_str().unwrap().ends_with('Z'));
    let file = |path: &str| {
        json!({
            "path": device.text(path), "kind": "file", "size_bytes": 5, "mode": "640",
            "owner": owner, "modified": data["modified"], "sha256": null,
        })
    };
    assert_eq!(data, file("files/a.txt"));
    assert_eq!(info(&device, "link"), file("files/link"));
    let folder = info(&device, "folder");
    assert_eq!(
        (&folder["kind"], &folder["mode"], &folder["size_bytes"]),
        (&json!("directory"), &json!("1777"), &json!(0))
    );
    assert_eq!(info(&device, ".")["kind"], json!("directory"));
}

#[test]
fn content_is_summed_up_when_asked_for() {
    let device = Device::new();
    for (content, digest) in [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ] {
        device.put("files/a", content);
        let data = device.data(TOOL, json!({"path": "a", "sha256": true}));
        assert_eq!(data["sha256"], json!(digest));
    }
    let folder = json!({"path": ".", "sha256": true});
    assert_eq!(device.refused(TOOL, folder), ErrorCode::PreconditionFailed);
}

#[test]
fn a_huge_sparse_file_is_refused_or_ends_at_the_deadline() {
    let mut device = Device::new();
    device.put("files/huge", "");
    let file = std::fs::OpenOptions::new().write(true).open(device.at("files/huge")).unwrap();
    file.set_len(100 << 30).unwrap();
    let ask = || json!({"path": "huge", "sha256": true});
    assert_eq!(device.call(TOOL, ask()).unwrap_err().code, ErrorCode::ResourceExhausted);
    assert_eq!(told_of(&device, "huge"), json!(100_u64 << 30));
    file.set_len(60 << 30).unwrap();
    device.time = Duration::from_millis(300);
    assert_eq!(device.call(TOOL, ask()).unwrap_err().code, ErrorCode::Timeout);
    std::fs::remove_file(device.at("files/huge")).unwrap();
}

fn told_of(device: &Device, path: &str) -> Value {
    device.data(TOOL, json!({"path": path}))["size_bytes"].clone()
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/notes/today.md", "");
    for sha256 in [true, false] {
        let ask = |path: &str| device.error(TOOL, json!({"path": path, "sha256": sha256}));
        let error = ask("notes/todya.md");
        assert_eq!(error.code, ErrorCode::PathNotFound);
        assert_eq!(error.suggestions(), [device.text("files/notes/today.md")]);
        assert_eq!(ask("nots/x").code, ErrorCode::DirectoryNotFound);
        assert_eq!(ask("notes/today.md/x").code, ErrorCode::PreconditionFailed);
    }
}

#[test]
fn it_stays_inside() {
    for sha256 in [true, false] {
        Device::new().assert_unchanged(TOOL, "path", &json!({"sha256": sha256}));
    }
}

#[cfg(unix)]
#[test]
fn special_files_are_looked_at_and_never_opened() {
    let device = Device::new();
    let pipe = device.at("files/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let data = device.data(TOOL, json!({"path": "pipe"}));
    assert_eq!((&data["kind"], &data["size_bytes"]), (&json!("other"), &json!(0)));
    let error = device.call(TOOL, json!({"path": "pipe", "sha256": true})).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotSupported);
}
