//! `write_file` on real files.

use orion_domain::ErrorCode;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "write_file";

fn read(device: &Device, name: &str) -> String {
    std::fs::read_to_string(device.at(&format!("files/{name}"))).unwrap()
}

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

#[test]
fn it_writes_replaces_and_adds() {
    let device = Device::new();
    let expected = |size: u64, mode: &str, created: bool| json!({"path": device.text("files/a/b.txt"), "size_bytes": size, "mode": mode, "created": created});
    assert_eq!(device.data(TOOL, write("a/b.txt", "one\n")), expected(4, "write", true));
    assert_eq!(device.data(TOOL, write("a/b.txt", "two")), expected(3, "write", false));
    assert_eq!(read(&device, "a/b.txt"), "two");
    let add = json!({"path": "a/b.txt", "content": " and three", "append": true});
    assert_eq!(device.data(TOOL, add), expected(13, "append", false));
    assert_eq!(read(&device, "a/b.txt"), "two and three");
    let names: Vec<_> = std::fs::read_dir(device.at("files/a")).unwrap().collect();
    assert_eq!(names.len(), 1, "no temporary file stays");
}

#[test]
fn a_line_is_added_on_a_line_of_its_own_however_the_file_ends() {
    let device = Device::new();
    let line = json!({"path": "list", "content": "Bread\n", "append": true, "own_line": true});
    for (before, after) in [
        (None, "Bread\n"),
        (Some(""), "Bread\n"),
        (Some("Milk"), "Milk\nBread\n"),
        (Some("Milk\n"), "Milk\nBread\n"),
    ] {
        drop(std::fs::remove_file(device.at("files/list")));
        if let Some(before) = before {
            device.put("files/list", before);
        }
        let preview = device.dry(TOOL, line.clone()).unwrap();
        assert_eq!(preview.data["size_bytes"], json!(after.len()), "{before:?}");
        assert!(preview.data["diff"].as_str().unwrap().ends_with("+Bread\n"), "{preview:?}");
        assert_eq!(device.data(TOOL, line.clone())["size_bytes"], json!(after.len()), "{before:?}");
        assert_eq!(read(&device, "list"), after);
    }
}

#[test]
fn a_preview_is_a_diff() {
    let device = Device::new();
    device.put("files/a", "one\ntwo\n");
    let path = device.text("files/a");
    let preview = device.dry(TOOL, write("a", "one\n2\n")).unwrap();
    let diff = format!("--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n");
    assert_eq!(
        preview.data,
        json!({"path": path, "size_bytes": 6, "mode": "write", "created": false, "diff": diff})
    );
    let add = json!({"path": "a", "content": "three\n", "append": true});
    let preview = device.dry(TOOL, add).unwrap();
    assert!(preview.data["diff"].as_str().unwrap().ends_with("+three\n"));
    let preview = device.dry(TOOL, write("new/b", "x\n")).unwrap();
    assert_eq!(preview.data["created"], json!(true));
    device.put("files/binary", [0xff; 10]);
    let preview = device.dry(TOOL, write("binary", "x")).unwrap();
    assert!(preview.data["diff"].as_str().unwrap().contains("10 bytes before, 1 after"));
    device.put("files/large", "line\n".repeat(100_000));
    let preview = device.dry(TOOL, write("large", &"other\n".repeat(100_000))).unwrap();
    assert!(preview.data["diff"].as_str().unwrap().len() < 70 * 1024);
}

#[test]
fn missing_folders_are_made_unless_that_is_not_wanted() {
    let device = Device::new();
    device.folder("files/notes");
    let error = device.error(TOOL, json!({"path": "nots/a", "content": "x", "create_dirs": false}));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes")]);
    device.call(TOOL, write("x/y/z", "x")).unwrap();
    assert_eq!(read(&device, "x/y/z"), "x");
}

#[test]
fn what_cannot_be_a_file_is_refused() {
    let device = Device::new();
    device.folder("files/folder");
    device.put("files/file", "");
    for path in ["folder", ".", "file/below"] {
        assert_eq!(device.refused(TOOL, write(path, "x")), ErrorCode::PreconditionFailed, "{path}");
    }
    let large = write("large", &"x".repeat(16 * 1024 * 1024 + 1));
    assert_eq!(device.refused(TOOL, large), ErrorCode::ResourceExhausted);
    assert_eq!(device.refused(TOOL, json!({"path": "a"})), ErrorCode::InvalidArgument);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"content": "x"}));
}

#[cfg(unix)]
#[test]
fn mode_and_owner_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let device = Device::new();
    device.put("files/run.sh", "old");
    let path = device.at("files/run.sh");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&path, Some(65_534), Some(65_534)).unwrap();
    }
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    device.call(TOOL, write("run.sh", "new")).unwrap();
    let after = std::fs::metadata(&path).unwrap();
    let of = |it: &std::fs::Metadata| (it.mode(), it.uid(), it.gid());
    assert_eq!(of(&after), of(&before));
    assert_ne!(after.ino(), before.ino(), "the new content came as a whole");
    assert_eq!(read(&device, "run.sh"), "new");
}

#[cfg(unix)]
#[test]
fn a_file_with_another_name_elsewhere_is_not_written() {
    let device = Device::new();
    std::fs::hard_link(device.at("outside/secret.txt"), device.at("files/twin")).unwrap();
    let error = device.error(TOOL, write("twin", "x"));
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
    assert_eq!(error.details["rule"], json!("device: hard links"));
    let add = json!({"path": "twin", "content": "x", "append": true});
    assert_eq!(device.refused(TOOL, add), ErrorCode::PathNotAllowed);
    device.put("files/own", "");
    std::fs::hard_link(device.at("files/own"), device.at("files/other")).unwrap();
    assert_eq!(device.refused(TOOL, write("own", "x")), ErrorCode::PathNotAllowed);
}

#[cfg(unix)]
#[test]
fn a_link_inside_stays_a_link_and_its_target_is_written() {
    let device = Device::new();
    device.put("files/real/a", "old");
    device.link("files/link", "real/a");
    device.link("files/new", "real/b");
    device.call(TOOL, write("link", "x")).unwrap();
    device.call(TOOL, write("new", "y")).unwrap();
    assert_eq!((read(&device, "real/a"), read(&device, "real/b")), ("x".into(), "y".into()));
    assert!(std::fs::symlink_metadata(device.at("files/link")).unwrap().is_symlink());
}

#[test]
fn a_large_file_is_added_to_in_place() {
    let device = Device::new();
    device.put("files/log", "");
    let file = std::fs::OpenOptions::new().write(true).open(device.at("files/log")).unwrap();
    file.set_len(65 << 20).unwrap();
    let add = json!({"path": "log", "content": "end", "append": true});
    assert_eq!(device.data(TOOL, add)["size_bytes"], json!((65_u64 << 20) + 3));
    let add = json!({"path": "log", "content": "x", "append": true});
    assert_eq!(device.dry(TOOL, add).unwrap().data["size_bytes"], json!((65_u64 << 20) + 4));
}

#[test]
fn names_are_kept_as_they_are_written() {
    let device = Device::new();
    for name in ["Übung 🎉.txt", "cafe\u{301}", "caf\u{e9}", "line\nbreak"] {
        device.call(TOOL, write(name, name)).unwrap();
        assert_eq!(read(&device, name), name);
    }
}

#[test]
fn where_only_writing_is_lent_the_old_content_is_not_shown() {
    use orion_domain::Access;
    let device = Device::granting(&[("files", &[Access::Write])]);
    device.put("files/a", "secret\n");
    for (append, size) in [(false, 4), (true, 11)] {
        let change = json!({"path": "a", "content": "new\n", "append": append});
        let preview = device.dry(TOOL, change).unwrap().data;
        let words =
            format!("(the old content may not be read here: 7 bytes before, {size} after)\n");
        assert_eq!((&preview["diff"], &preview["size_bytes"]), (&json!(words), &json!(size)));
    }
    device.call(TOOL, write("a", "new\n")).unwrap();
    assert_eq!(read(&device, "a"), "new\n");
}

#[cfg(target_os = "linux")]
#[test]
fn access_lists_and_attributes_stay() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let device = Device::new();
    device.put("files/a", "old");
    let path = device.at("files/a");
    // An access list, version 2: the owner reads and writes, user 65534 reads, the group has no access, the
    // mask is read.
    let mut list = vec![2, 0, 0, 0];
    for (tag, rights, id) in [
        (1_u16, 6_u16, u32::MAX),
        (2, 4, 65_534),
        (4, 0, u32::MAX),
        (16, 4, u32::MAX),
        (32, 0, u32::MAX),
    ] {
        list.extend(tag.to_le_bytes());
        list.extend(rights.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    let given =
        [("user.origin", b"https://example.com".to_vec()), ("system.posix_acl_access", list)];
    for (name, value) in &given {
        if setxattr(&path, *name, value, XattrFlags::empty()).is_err() {
            return;
        }
    }
    device.call(TOOL, write("a", "new")).unwrap();
    device.call("edit_file", json!({"path": "a", "old_text": "new", "new_text": "newer"})).unwrap();
    for (name, value) in given {
        let mut kept = vec![0; 256];
        let length = getxattr(&path, name, &mut *kept).unwrap();
        assert_eq!(kept.get(..length), Some(&*value), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_new_file_is_closed_to_others_until_it_has_the_rights_of_the_old_one() {
    use std::os::unix::fs::PermissionsExt;
    let device = Device::new();
    device.put("files/key", "old");
    std::fs::set_permissions(device.at("files/key"), PermissionsExt::from_mode(0o600)).unwrap();
    device.call(TOOL, write("key", "new")).unwrap();
    let mode = std::fs::metadata(device.at("files/key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_added_in_place_goes_behind_what_others_add_meanwhile() {
    let device = Device::new();
    device.put("files/log", "old");
    device.with_context(|context| {
        let path = context.path("log").unwrap();
        let located = context.roots.locate(&path, orion_domain::Access::Write).unwrap();
        let (mut file, _) = super::open(&located).unwrap();
        let others = std::fs::OpenOptions::new().append(true).open(device.at("files/log"));
        std::io::Write::write_all(&mut others.unwrap(), b" theirs").unwrap();
        std::io::Write::write_all(&mut file, b" mine").unwrap();
    });
    assert_eq!(std::fs::read_to_string(device.at("files/log")).unwrap(), "old theirs mine");
}

#[test]
fn bytes_are_written_as_base64_and_what_is_none_is_refused() {
    let device = Device::new();
    let bytes: Vec<u8> = (0..=255).collect();
    let content = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &bytes);
    let arguments = json!({"path": "all.bin", "content": content, "encoding": "base64"});
    let preview = device.dry(TOOL, arguments.clone()).unwrap();
    assert_eq!(preview.data["diff"], json!("(not text: 256 bytes)\n"));
    assert_eq!(device.data(TOOL, arguments)["size_bytes"], json!(256));
    assert_eq!(std::fs::read(device.at("files/all.bin")).unwrap(), bytes);
    let wrong = json!({"path": "all.bin", "content": "no base64!", "encoding": "base64"});
    assert_eq!(device.refused(TOOL, wrong), ErrorCode::InvalidArgument);
    let text = json!({"path": "text", "content": "TWlsawo=", "encoding": "base64"});
    assert!(
        device.dry(TOOL, text.clone()).unwrap().data["diff"].as_str().unwrap().contains("+Milk")
    );
    device.call(TOOL, text).unwrap();
    assert_eq!(read(&device, "text"), "Milk\n");
}
