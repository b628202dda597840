//! `move_path` on real files and folders.

use orion_domain::{Access, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::{ALL, Device};

const TOOL: &str = "move_path";

fn moving(source: &str, destination: &str) -> Value {
    json!({"source": source, "destination": destination})
}

fn over(source: &str, destination: &str) -> Value {
    json!({"source": source, "destination": destination, "overwrite": true})
}

fn read(device: &Device, name: &str) -> String {
    std::fs::read_to_string(device.at(&format!("files/{name}"))).unwrap()
}

#[test]
fn a_file_gets_another_name() {
    let device = Device::new();
    device.put("files/a", "12345");
    device.folder("files/b");
    let paths = [device.text("files/a"), device.text("files/b/c")];
    let expected = json!({
        "source": paths[0], "destination": paths[1], "bytes": 5, "entries": 1, "replaced": false,
    });
    assert_eq!(device.dry(TOOL, moving("a", "b/c")).unwrap().data, expected);
    assert_eq!(device.data(TOOL, moving("a", "b/c")), expected);
    assert!(!device.at("files/a").exists());
    assert_eq!(read(&device, "b/c"), "12345");
    assert_eq!(device.litter(), Vec::<String>::new());
    device.undo(&[&paths[0], &paths[1]]).unwrap();
    assert_eq!(read(&device, "a"), "12345");
    assert!(!device.at("files/b/c").exists());
}

#[test]
fn a_folder_moves_with_all_that_is_in_it() {
    let device = Device::new();
    device.put("files/a/one", "1");
    device.put("files/a/deep/two", "22");
    device.folder("files/b");
    let data = device.data(TOOL, moving("a", "b/c"));
    assert_eq!((&data["entries"], &data["bytes"]), (&json!(4), &json!(3)));
    assert_eq!(
        (read(&device, "b/c/one"), read(&device, "b/c/deep/two")),
        ("1".into(), "22".into())
    );
    assert!(!device.at("files/a").exists());
    device.undo(&[&device.text("files/a"), &device.text("files/b/c")]).unwrap();
    assert_eq!(read(&device, "a/deep/two"), "22");
}

#[test]
fn only_a_file_is_replaced_and_only_when_meant() {
    let device = Device::new();
    device.put("files/a", "new");
    device.put("files/b", "old");
    device.put("files/folder/x", "");
    device.folder("files/empty");
    assert_eq!(device.refused(TOOL, moving("a", "b")), ErrorCode::AlreadyExists);
    for (source, destination) in [
        ("a", "folder"),
        ("a", "empty"),
        ("folder", "b"),
        ("folder", "empty"),
        ("folder/x", "folder"),
    ] {
        let code = device.refused(TOOL, over(source, destination));
        assert_eq!(code, ErrorCode::AlreadyExists, "{source} {destination}");
    }
    assert_eq!(device.data(TOOL, over("a", "b"))["replaced"], json!(true));
    assert_eq!(read(&device, "b"), "new");
    assert!(!device.at("files/a").exists());
    device.undo(&[&device.text("files/a"), &device.text("files/b")]).unwrap();
    assert_eq!((read(&device, "a"), read(&device, "b")), ("new".into(), "old".into()));
}

#[test]
fn nothing_is_put_into_itself() {
    let device = Device::new();
    device.put("files/a/b/c", "");
    for (source, destination) in [("a", "a"), ("a", "a/b/d"), ("a/b/c", "a/b/c"), ("a", "a/.")] {
        let code = device.refused(TOOL, over(source, destination));
        assert_eq!(code, ErrorCode::InvalidArgument, "{source} {destination}");
    }
}

#[test]
fn what_is_missing_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/notes/today.md", "");
    let error = device.error(TOOL, moving("notes/todya.md", "x"));
    assert_eq!(error.code, ErrorCode::PathNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes/today.md")]);
    let code = device.refused(TOOL, moving("notes/today.md", "nots/x"));
    assert_eq!(code, ErrorCode::DirectoryNotFound);
    let code = device.refused(TOOL, moving("notes/today.md/x", "y"));
    assert_eq!(code, ErrorCode::PreconditionFailed);
}

#[test]
fn an_allowed_path_stays_and_whatever_holds_one() {
    let device = Device::granting(&[("files", ALL), ("files/a/inner", &[Access::Read])]);
    device.folder("files/a/inner");
    for path in [".", "a", "a/inner"] {
        let code = device.refused(TOOL, moving(path, "b"));
        assert_eq!(code, ErrorCode::PathNotAllowed, "{path}");
    }
}

#[test]
fn what_is_kept_out_is_neither_moved_nor_made() {
    let device = Device::new();
    device.put("files/project/deep/.env", "SECRET=1");
    let error = device.error(TOOL, moving("project", "copy"));
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
    assert_eq!(error.details["attempted_path"], json!(device.text("files/project")));
    assert!(!error.message.contains(".env"), "{error}");
    device.put("files/plain/env", "");
    assert_eq!(device.refused(TOOL, moving("plain/env", "plain/.env")), ErrorCode::PathNotAllowed);
    assert_eq!(device.refused(TOOL, moving("plain", ".ssh")), ErrorCode::PathNotAllowed);
    device.put("files/other/config.json", "");
    let code = device.refused(TOOL, moving("other", ".docker"));
    assert_eq!(code, ErrorCode::PathNotAllowed);
}

#[test]
fn moving_needs_every_right() {
    for lacking in [Access::Read, Access::Delete] {
        let access: Vec<_> = ALL.iter().copied().filter(|access| *access != lacking).collect();
        let device = Device::granting(&[("files", &access), ("state/in", ALL)]);
        device.put("files/a", "1");
        device.folder("state/in");
        let to = device.text("state/in/a");
        assert_eq!(
            device.refused(TOOL, moving("a", &to)),
            ErrorCode::PathNotAllowed,
            "{lacking:?}"
        );
    }
    let device = Device::granting(&[("files", ALL), ("state/in", &[Access::Read, Access::Delete])]);
    device.put("files/a", "1");
    device.folder("state/in");
    let to = device.text("state/in/a");
    assert_eq!(device.refused(TOOL, moving("a", &to)), ErrorCode::PathNotAllowed);
}

#[test]
fn it_stays_inside() {
    Device::new().assert_unchanged(TOOL, "source", &json!({"destination": "x"}));
    let device = Device::new();
    device.put("files/real.txt", "");
    device.assert_unchanged(TOOL, "destination", &json!({"source": "real.txt"}));
    let device = Device::new();
    device.put("files/folder/file", "");
    let more = json!({"source": "folder", "overwrite": true});
    device.assert_unchanged(TOOL, "destination", &more);
}

#[cfg(unix)]
#[test]
fn links_and_special_files_stay() {
    let device = Device::new();
    device.put("files/real/a", "1");
    device.link("files/link", "real");
    device.link("files/out", device.at("outside"));
    let pipe = device.at("files/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    for path in ["link", "out"] {
        let code = device.call(TOOL, moving(path, "x")).unwrap_err().code;
        assert_eq!(code, ErrorCode::PreconditionFailed, "{path}");
    }
    assert_eq!(device.call(TOOL, moving("pipe", "x")).unwrap_err().code, ErrorCode::NotSupported);
    device.link("files/real/out", device.at("outside"));
    device.call(TOOL, moving("real", "moved")).unwrap();
    assert!(std::fs::symlink_metadata(device.at("files/moved/out")).unwrap().is_symlink());
    assert!(device.at("outside/secret.txt").exists());
}

/// Returns a folder on another file system than the tests' own, if there is one.
#[cfg(target_os = "linux")]
fn elsewhere() -> Option<tempfile::TempDir> {
    use std::os::unix::fs::MetadataExt;

    let other = tempfile::TempDir::new_in("/dev/shm").ok()?;
    let device = |path: &std::path::Path| std::fs::metadata(path).map(|it| it.dev()).ok();
    (device(other.path()) != device(&std::env::temp_dir())).then_some(other)
}

#[cfg(target_os = "linux")]
#[test]
fn to_another_file_system_it_is_copied_and_then_goes_to_the_trash() {
    let Some(other) = elsewhere() else { return };
    let there = other.path().to_str().unwrap();
    let device = Device::granting(&[("files", ALL), (there, ALL)]);
    device.put("files/a/deep/one", "1");
    device.put("files/b", "22");
    let (to_a, to_b) = (format!("{there}/a"), format!("{there}/b"));
    device.call(TOOL, moving("b", &to_b)).unwrap();
    assert!(!device.at("files/b").exists());
    assert_eq!(std::fs::read_to_string(&to_b).unwrap(), "22");
    device.call(TOOL, moving("a", &to_a)).unwrap();
    assert!(!device.at("files/a").exists());
    assert_eq!(std::fs::read_to_string(format!("{to_a}/deep/one")).unwrap(), "1");
    device.undo(&[&device.text("files/a"), &to_a]).unwrap();
    assert_eq!(read(&device, "a/deep/one"), "1");
    assert!(!std::path::Path::new(&to_a).exists());
    device.link("files/a/out", "/etc/passwd");
    let code = device.call(TOOL, moving("a", &to_a)).unwrap_err().code;
    assert_eq!(code, ErrorCode::PathNotAllowed);
    assert!(device.at("files/a/deep/one").exists() && !std::path::Path::new(&to_a).exists());
    assert_eq!(device.litter(), Vec::<String>::new());
}
