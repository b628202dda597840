//! `copy_path` on real files and folders.

use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, ErrorCode, PathStyle};
use serde_json::{Value, json};

use super::content::refuse_without_room;
use crate::tools::testing::{ALL, Device};

const TOOL: &str = "copy_path";

fn copy(source: &str, destination: &str) -> Value {
    json!({"source": source, "destination": destination})
}

fn over(source: &str, destination: &str) -> Value {
    json!({"source": source, "destination": destination, "overwrite": true})
}

fn read(device: &Device, name: &str) -> String {
    std::fs::read_to_string(device.at(&format!("files/{name}"))).unwrap()
}

#[test]
fn a_file_is_copied() {
    let device = Device::new();
    device.put("files/a", "12345");
    device.folder("files/b");
    let expected = json!({
        "source": device.text("files/a"), "destination": device.text("files/b/c"), "bytes": 5,
        "entries": 1, "replaced": false,
    });
    assert_eq!(device.dry(TOOL, copy("a", "b/c")).unwrap().data, expected);
    assert_eq!(device.data(TOOL, copy("a", "b/c")), expected);
    assert_eq!((read(&device, "a"), read(&device, "b/c")), ("12345".into(), "12345".into()));
    device.put("files/b/c", "changed");
    assert_eq!(read(&device, "a"), "12345", "they are two files");
    device.put("files/b/c", "12345");
    assert_eq!(device.litter(), Vec::<String>::new());
}

#[test]
fn a_folder_is_copied_with_all_that_is_in_it() {
    let device = Device::new();
    device.put("files/a/one", "1");
    device.put("files/a/deep/er/two", "22");
    device.folder("files/a/deep/empty");
    device.put("files/a/z", "");
    let expected = json!({
        "source": device.text("files/a"), "destination": device.text("files/b"), "bytes": 3,
        "entries": 7, "replaced": false,
    });
    assert_eq!(device.dry(TOOL, copy("a", "b")).unwrap().data, expected);
    assert_eq!(device.data(TOOL, copy("a", "b")), expected);
    let names = |name: &str| -> Vec<(String, String)> {
        let start = device.text(name);
        let below = device.tree().into_iter();
        below.filter_map(|(path, it)| Some((path.strip_prefix(&start)?.to_owned(), it))).collect()
    };
    assert_eq!(names("files/a/"), names("files/b/"));
    assert_eq!(names("files/b/").len(), 6);
    assert_eq!(device.litter(), Vec::<String>::new());
    device.undo(&[&device.text("files/b")]).unwrap();
    assert!(!device.at("files/b").exists() && device.at("files/a/one").exists());
}

#[test]
fn only_a_file_is_replaced_and_only_when_meant() {
    let device = Device::new();
    device.put("files/a", "new");
    device.put("files/b", "old");
    device.put("files/folder/x", "");
    device.folder("files/empty");
    assert_eq!(device.refused(TOOL, copy("a", "b")), ErrorCode::AlreadyExists);
    for (source, destination) in
        [("a", "folder"), ("a", "empty"), ("folder", "b"), ("folder", "empty"), ("a", ".")]
    {
        let code = device.refused(TOOL, over(source, destination));
        assert_eq!(code, ErrorCode::AlreadyExists, "{source} {destination}");
    }
    assert_eq!(device.dry(TOOL, over("a", "b")).unwrap().data["replaced"], json!(true));
    assert_eq!(device.data(TOOL, over("a", "b"))["replaced"], json!(true));
    assert_eq!(read(&device, "b"), "new");
    device.undo(&[&device.text("files/b")]).unwrap();
    assert_eq!((read(&device, "a"), read(&device, "b")), ("new".into(), "old".into()));
}

#[test]
fn nothing_is_put_into_itself() {
    let device = Device::new();
    device.put("files/a/b/c", "");
    for (source, destination) in
        [("a", "a"), ("a", "a/b/d"), ("a", "a/x"), ("a/b/c", "a/b/c"), ("a", "a/."), (".", "x")]
    {
        let code = device.refused(TOOL, over(source, destination));
        assert_eq!(code, ErrorCode::InvalidArgument, "{source} {destination}");
    }
}

#[test]
fn what_is_missing_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/notes/today.md", "");
    let error = device.error(TOOL, copy("notes/todya.md", "x"));
    assert_eq!(error.code, ErrorCode::PathNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes/today.md")]);
    let error = device.error(TOOL, copy("notes/today.md", "nots/x"));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    assert!(error.suggestions().contains(&device.text("files/notes")), "{:?}", error.suggestions());
    let below = copy("notes/today.md", "notes/today.md/x");
    assert_eq!(device.refused(TOOL, below), ErrorCode::InvalidArgument);
    device.put("files/file", "");
    let below = copy("notes/today.md", "file/x");
    assert_eq!(device.refused(TOOL, below), ErrorCode::PreconditionFailed);
}

#[test]
fn what_is_kept_out_is_neither_copied_nor_made() {
    let device = Device::new();
    device.put("files/project/deep/.env", "SECRET=1");
    let error = device.error(TOOL, copy("project", "copy"));
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
    assert_eq!(error.details["attempted_path"], json!(device.text("files/project")));
    assert!(!error.message.contains(".env"), "{error}");
    device.put("files/plain/env", "");
    assert_eq!(device.refused(TOOL, copy("plain/env", "plain/.env")), ErrorCode::PathNotAllowed);
    assert_eq!(device.refused(TOOL, copy("plain", ".ssh")), ErrorCode::PathNotAllowed);
    // `**/.docker/config.json` is one of the built-in entries: it is harmless in any other folder.
    device.put("files/other/config.json", "");
    let code = device.refused(TOOL, copy("other", ".docker"));
    assert_eq!(code, ErrorCode::PathNotAllowed);
}

#[test]
fn the_source_is_read_and_the_destination_written() {
    let granted: &[(&str, &[Access])] = &[("files", &[Access::Read]), ("state/in", ALL)];
    let device = Device::granting(granted);
    device.put("files/a", "1");
    device.folder("state/in");
    let to = device.text("state/in/a");
    assert_eq!(device.refused(TOOL, copy("a", "b")), ErrorCode::PathNotAllowed);
    device.call(TOOL, copy("a", &to)).unwrap();
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "1");
    assert_eq!(device.refused(TOOL, over(&to, "a")), ErrorCode::PathNotAllowed);
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

#[test]
fn what_there_is_no_room_for_is_not_begun() {
    let device = Device::new();
    device.put("files/a", "content");
    let files = device.at("files");
    let dir = Dir::open_ambient_dir(&files, cap_std::ambient_authority()).unwrap();
    let path = DevicePath::parse(PathStyle::Posix, files.to_str().unwrap()).unwrap();
    let error = refuse_without_room(&dir, 1 << 62, &path).unwrap_err();
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    assert!(error.details["free_bytes"].as_u64().unwrap() > 0);
    assert_eq!(refuse_without_room(&dir, 1, &path), Ok(()));
}

#[test]
fn a_copy_that_is_stopped_leaves_nothing() {
    let mut device = Device::new();
    for number in 0..3000 {
        device.put(&format!("files/a/{number}"), "content");
    }
    device.put("files/large", vec![1; 64 << 20]);
    device.time = std::time::Duration::from_millis(10);
    for source in ["a", "large"] {
        let error = device.call(TOOL, copy(source, "b")).unwrap_err();
        assert_eq!(error.code, ErrorCode::Timeout, "{source}");
        assert!(!device.at("files/b").exists());
        assert_eq!(device.litter(), Vec::<String>::new());
    }
}

#[cfg(unix)]
#[test]
fn links_inside_are_copied_and_others_refused() {
    let device = Device::new();
    device.put("files/a/deep/real", "1");
    device.link("files/a/near", "deep/real");
    device.link("files/a/deep/up", "../near");
    device.link("files/a/deep/gone", "nothing");
    device.link("files/to-a", "a");
    assert_eq!(device.data(TOOL, copy("to-a", "b"))["entries"], json!(6));
    for (name, target) in [("near", "deep/real"), ("deep/up", "../near"), ("deep/gone", "nothing")]
    {
        let link = std::fs::read_link(device.at(&format!("files/b/{name}"))).unwrap();
        assert_eq!(link.to_str(), Some(target));
    }
    for target in ["../outside/secret.txt", "/etc/passwd", "near/../../x", ".."] {
        device.link("files/a/bad", target);
        let error = device.error(TOOL, copy("a", "c"));
        let found = (error.code, error.details["attempted_path"].as_str().unwrap());
        assert_eq!(found, (ErrorCode::PathNotAllowed, &*device.text("files/a/bad")), "{target}");
        std::fs::remove_file(device.at("files/a/bad")).unwrap();
    }
    let pipe = device.at("files/a/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    for source in ["a", "a/pipe"] {
        let error = device.call(TOOL, copy(source, "c")).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotSupported, "{source}");
    }
    assert!(!device.at("files/c").exists());
}

#[cfg(unix)]
#[test]
fn modes_are_taken_over_without_the_right_to_run_as_another() {
    use std::os::unix::fs::PermissionsExt;

    let device = Device::new();
    let mode = |name: &str| std::fs::metadata(device.at(name)).unwrap().permissions().mode();
    let set = |name: &str, mode| {
        std::fs::set_permissions(device.at(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    device.put("files/a/run", "");
    device.put("files/a/closed/secret", "1");
    set("files/a/run", 0o6755);
    set("files/a/closed/secret", 0o400);
    set("files/a/closed", 0o500);
    set("files/a", 0o2750);
    device.call(TOOL, copy("a", "b")).unwrap();
    device.call(TOOL, copy("a/run", "run")).unwrap();
    let modes = ["run", "b", "b/run", "b/closed", "b/closed/secret"];
    assert_eq!(
        modes.map(|name| mode(&format!("files/{name}")) & 0o7777),
        [0o755, 0o750, 0o755, 0o500, 0o400]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_with_holes_is_copied_with_its_holes() {
    use std::io::{Seek, SeekFrom, Write};
    use std::os::unix::fs::MetadataExt;

    let device = Device::new();
    device.folder("files/in");
    let mut file = std::fs::File::create(device.at("files/in/holes")).unwrap();
    file.write_all(b"begin").unwrap();
    file.seek(SeekFrom::Start(1 << 40)).unwrap();
    file.write_all(b"end").unwrap();
    drop(file);
    let copies = [("in/holes", "one"), ("in", "all")];
    for (source, destination) in copies {
        device.call("copy_path", json!({"source": source, "destination": destination})).unwrap();
    }
    for name in ["files/one", "files/all/holes"] {
        let copy = std::fs::metadata(device.at(name)).unwrap();
        assert_eq!(copy.len(), (1 << 40) + 3);
        assert!(copy.blocks() * 512 < 1 << 20, "{name} takes {} blocks", copy.blocks());
        let mut file = std::fs::File::open(device.at(name)).unwrap();
        let mut begin = [0; 6];
        std::io::Read::read_exact(&mut file, &mut begin).unwrap();
        assert_eq!(&begin, b"begin\0");
        file.seek(SeekFrom::End(-4)).unwrap();
        let mut end = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut end).unwrap();
        assert_eq!(end, b"\0end");
    }
}
