//! `undo_call` for each tool: undoes a call once, and never overwrites later changes of others.

use std::fs;

use orion_domain::{Access, ErrorCode, ToolError};
use rstest::rstest;
use serde_json::{Value, json};

use crate::tools::testing::{ALL, Device};

const TOOL: &str = "undo_call";

/// A tool, a call of it, the paths that it changes, and one of its results for others to change.
struct Case {
    tool: &'static str,
    arguments: Value,
    paths: &'static [&'static str],
    /// A file or folder that others change.
    left: &'static str,
}

fn case(name: &str) -> Case {
    let (tool, arguments, paths, left): (_, _, &[&str], _) = match name {
        "make a file" => (
            "write_file",
            json!({"path": "new/deep/a", "content": "x"}),
            &["new/deep/a"],
            "new/deep/a",
        ),
        "replace" => {
            ("write_file", json!({"path": "old.txt", "content": "x"}), &["old.txt"], "old.txt")
        }
        "add" => (
            "write_file",
            json!({"path": "old.txt", "content": "x", "append": true}),
            &["old.txt"],
            "old.txt",
        ),
        "edit" => (
            "edit_file",
            json!({"path": "old.txt", "old_text": "old", "new_text": "x"}),
            &["old.txt"],
            "old.txt",
        ),
        "make folders" => {
            ("create_directory", json!({"path": "p/q/r", "parents": true}), &["p/q/r"], "p/q/r")
        }
        "delete a file" => {
            ("delete_file", json!({"path": "old.txt", "confirm": true}), &["old.txt"], "old.txt")
        }
        "delete a folder" => (
            "delete_directory",
            json!({"path": "folder", "recursive": true, "confirm": true}),
            &["folder"],
            "folder",
        ),
        "copy a file" => {
            ("copy_path", json!({"source": "old.txt", "destination": "copy"}), &["copy"], "copy")
        }
        "copy over" => (
            "copy_path",
            json!({"source": "old.txt", "destination": "folder/a", "overwrite": true}),
            &["folder/a"],
            "folder/a",
        ),
        "copy a folder" => {
            ("copy_path", json!({"source": "folder", "destination": "copy"}), &["copy"], "copy/a")
        }
        "move a file" => (
            "move_path",
            json!({"source": "old.txt", "destination": "moved"}),
            &["old.txt", "moved"],
            "moved",
        ),
        "move over" => (
            "move_path",
            json!({"source": "old.txt", "destination": "folder/a", "overwrite": true}),
            &["old.txt", "folder/a"],
            "folder/a",
        ),
        "move a folder" => (
            "move_path",
            json!({"source": "folder", "destination": "moved"}),
            &["folder", "moved"],
            "moved",
        ),
        other => panic!("{other}"),
    };
    Case { tool, arguments, paths, left }
}

/// Returns a device after the call, with the trees before and after it.
fn done(case: &Case) -> (Device, Tree, Tree) {
    let device = Device::new();
    device.put("files/old.txt", "an old text");
    device.put("files/folder/a", "1");
    device.put("files/folder/b/c", "2");
    let before = device.files();
    device.call(case.tool, case.arguments.clone()).unwrap();
    let after = device.files();
    assert_ne!(after, before);
    (device, before, after)
}

type Tree = std::collections::BTreeMap<String, String>;

fn refused(device: &Device, call: &str, paths: &[&str]) -> ToolError {
    let error = device.error(TOOL, json!({"call_id": call, "paths": paths}));
    assert_eq!(error.code, ErrorCode::PreconditionFailed, "{error:?}");
    error
}

#[rstest]
fn a_call_is_taken_back_once_and_that_can_be_taken_back_too(
    #[values(
        "make a file",
        "replace",
        "add",
        "edit",
        "make folders",
        "delete a file",
        "delete a folder",
        "copy a file",
        "copy over",
        "copy a folder",
        "move a file",
        "move over",
        "move a folder"
    )]
    name: &str,
) {
    let case = case(name);
    let (device, before, after) = done(&case);
    let call = device.last_call();
    let arguments = json!({"call_id": call, "paths": case.paths});
    let preview = device.dry(TOOL, arguments.clone()).unwrap();
    let data = device.data(TOOL, arguments);
    assert_eq!(data, preview.data);
    assert_eq!((&data["call_id"], &data["tool"]), (&json!(call), &json!(case.tool)));
    let paths: Vec<String> =
        case.paths.iter().map(|path| device.text(&format!("files/{path}"))).collect();
    let data: Vec<_> = data["paths"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(json!(data), json!(paths));
    let undoing = device.last_call();
    assert_eq!(device.files(), before);
    assert_eq!(device.litter(), [""; 0]);

    let error = refused(&device, &call, case.paths);
    assert!(error.message.contains("taken back already"), "{}", error.message);
    assert_eq!(error.details.get("already_undone"), Some(&json!(true)));
    device.undo_of(&undoing, case.paths).unwrap();
    assert_eq!(device.files(), after);
    assert_eq!(device.litter(), [""; 0]);
}

#[rstest]
fn what_changed_since_is_left_alone(
    #[values(
        "make a file",
        "replace",
        "add",
        "edit",
        "make folders",
        "copy a file",
        "copy over",
        "copy a folder"
    )]
    name: &str,
) {
    let case = case(name);
    let (device, ..) = done(&case);
    let call = device.last_call();
    let left = format!("files/{}", case.left);
    if device.at(&left).is_dir() {
        device.put(&format!("{left}/theirs"), "");
    } else {
        device.put(&left, "changed by others");
    }
    let error = refused(&device, &call, case.paths);
    let conflicts = error.details["conflicts"].as_array().unwrap();
    assert!(conflicts.iter().any(|it| it["differs"].is_string()), "{error:?}");
}

#[rstest]
fn a_place_that_is_taken_is_left_alone(
    #[values(
        "delete a file", "delete a folder", "move a file", "move over", "move a folder"
    )]
    name: &str,
) {
    let case = case(name);
    let (device, ..) = done(&case);
    let call = device.last_call();
    device.put(&format!("files/{}", case.paths[0]), "theirs");
    let error = refused(&device, &call, case.paths);
    assert_eq!(error.details["conflicts"][0]["differs"], json!("something has its name"));
}

#[rstest]
fn what_is_gone_or_replaced_by_another_kind_is_told(
    #[values("make a file", "replace", "make folders", "copy a folder", "move a file")] name: &str,
) {
    let case = case(name);
    let (device, ..) = done(&case);
    let call = device.last_call();
    let at = device.at(&format!("files/{}", case.paths.last().unwrap()));
    if at.is_dir() {
        fs::remove_dir_all(&at).unwrap();
    } else {
        fs::remove_file(&at).unwrap();
    }
    refused(&device, &call, case.paths);
    device.put(&format!("files/{}/x", case.paths.last().unwrap()), "a folder of theirs");
    refused(&device, &call, case.paths);
}

#[test]
fn what_is_not_known_cannot_be_taken_back() {
    let device = Device::new();
    let unknown = "01893e2a-7c00-7000-8000-000000000001";
    let error = refused(&device, unknown, &["a"]);
    assert!(error.message.contains("Nothing is kept"), "{}", error.message);
    device.put("files/a", "");
    device.call("read_file", json!({"path": "a"})).unwrap();
    refused(&device, &device.last_call(), &["a"]);
    device.call("create_directory", json!({"path": "."})).unwrap();
    refused(&device, &device.last_call(), &["."]);
    for call in ["", "no id", "../x"] {
        let code = device.refused(TOOL, json!({"call_id": call, "paths": ["a"]}));
        assert_eq!(code, ErrorCode::InvalidArgument, "{call:?}");
    }
}

#[test]
fn every_path_of_the_call_has_to_be_named() {
    let device = Device::new();
    device.put("files/a", "");
    device.call("move_path", json!({"source": "a", "destination": "b"})).unwrap();
    let call = device.last_call();
    let error = refused(&device, &call, &["a"]);
    assert!(error.message.contains(&device.text("files/b")), "{}", error.message);
    refused(&device, &call, &["other"]);
    device.undo_of(&call, &["b", "other", "a"]).unwrap();
    assert!(device.at("files/a").exists());
}

#[test]
fn the_permissions_of_the_moment_hold() {
    let mut device = Device::new();
    device.call("write_file", json!({"path": "a", "content": "x"})).unwrap();
    let call = device.last_call();
    device.grant(&[("files", &[Access::Read])]);
    let error = device.error(TOOL, json!({"call_id": call, "paths": ["a"]}));
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
    device.grant(&[("files", ALL)]);
    device.undo_of(&call, &["a"]).unwrap();
    assert!(!device.at("files/a").exists());
}

#[test]
fn a_chmod_or_a_touch_since_is_not_lost() {
    let device = Device::new();
    device.put("files/a", "old");
    device.call("write_file", json!({"path": "a", "content": "new"})).unwrap();
    let call = device.last_call();
    let at = device.at("files/a");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&at).unwrap().permissions();
        fs::set_permissions(&at, PermissionsExt::from_mode(0o600)).unwrap();
        refused(&device, &call, &["a"]);
        fs::set_permissions(&at, mode).unwrap();
    }
    // Content that an editor saved again unchanged is no change.
    fs::remove_file(&at).unwrap();
    device.put("files/a", "new");
    device.undo_of(&call, &["a"]).unwrap();
    assert_eq!(fs::read_to_string(&at).unwrap(), "old");
}

#[cfg(unix)]
#[test]
fn a_path_that_leads_elsewhere_since_is_left_alone() {
    let device = Device::new();
    device.call("write_file", json!({"path": "d/a", "content": "x"})).unwrap();
    let call = device.last_call();
    fs::rename(device.at("files/d"), device.at("files/e")).unwrap();
    device.link("files/d", "e");
    let error = device.undo_of(&call, &["d/a"]).unwrap_err();
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert!(device.at("files/e/a").exists());
}

#[test]
fn what_others_took_out_of_the_trash_is_told() {
    let device = Device::new();
    device.put("files/a", "old");
    device.call("delete_file", json!({"path": "a", "confirm": true})).unwrap();
    let call = device.last_call();
    let kept = device.at(&format!("state/trash/{call}/content-0"));
    fs::write(&kept, "forged").unwrap();
    refused(&device, &call, &["a"]);
    fs::remove_file(&kept).unwrap();
    refused(&device, &call, &["a"]);
}

#[test]
fn a_large_file_that_was_added_to_is_cut_again() {
    let device = Device::new();
    device.put("files/log", "");
    let file = fs::OpenOptions::new().write(true).open(device.at("files/log")).unwrap();
    file.set_len(65 << 20).unwrap();
    device.call("write_file", json!({"path": "log", "content": "end", "append": true})).unwrap();
    let call = device.last_call();
    device.undo_of(&call, &["log"]).unwrap();
    let undoing = device.last_call();
    assert_eq!(fs::metadata(device.at("files/log")).unwrap().len(), 65 << 20);
    device.undo_of(&undoing, &["log"]).unwrap();
    assert_eq!(fs::metadata(device.at("files/log")).unwrap().len(), (65 << 20) + 3);
    device.call("write_file", json!({"path": "log", "content": "x", "append": true})).unwrap();
    let call = device.last_call();
    fs::OpenOptions::new().append(true).open(device.at("files/log")).unwrap().set_len(1).unwrap();
    refused(&device, &call, &["log"]);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    let more = json!({"call_id": "01893e2a-7c00-7000-8000-000000000001", "paths": []});
    device.assert_unchanged(TOOL, "paths", &more);
}

#[test]
fn a_folder_goes_back_by_the_rules_of_a_move() {
    let device = Device::new();
    device.put("files/folder/a", "1");
    device.call("move_path", json!({"source": "folder", "destination": "moved"})).unwrap();
    let call = device.last_call();
    device.put("files/moved/.env", "theirs");
    let arguments = json!({"call_id": call, "paths": ["folder", "moved"]});
    assert_eq!(device.refused(TOOL, arguments.clone()), ErrorCode::PathNotAllowed);
    fs::remove_file(device.at("files/moved/.env")).unwrap();
    device.call(TOOL, arguments).unwrap();
    assert!(device.at("files/folder/a").exists());
}

#[test]
fn what_others_wrote_where_nothing_may_be_read_does_not_come_back_with_a_move() {
    let mut device = Device::new();
    for name in ["box", "files"] {
        device.folder(name);
    }
    device.grant(&[("files", ALL), ("box", &[Access::Write])]);
    for (name, left) in [("file", "file"), ("folder", "folder/a")] {
        device.put(&format!("files/{left}"), "mine");
        let (from, to) =
            (device.text(&format!("files/{name}")), device.text(&format!("box/{name}")));
        device.call("move_path", json!({"source": from, "destination": to})).unwrap();
        let call = device.last_call();
        let arguments = json!({"call_id": call, "paths": [from, to]});
        device.put(&format!("box/{left}"), "theirs, in the same file");
        assert_eq!(device.refused(TOOL, arguments), ErrorCode::PathNotAllowed, "{name}");
    }
    device.put("files/same", "mine");
    let (from, to) = (device.text("files/same"), device.text("box/same"));
    device.call("move_path", json!({"source": from, "destination": to})).unwrap();
    device.undo(&[&from, &to]).unwrap();
    assert!(device.at("files/same").exists());
}
