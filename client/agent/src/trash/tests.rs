//! What stays in the trash, and for how long.

use std::fs;

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::changes::{self, SweepResult, make_room};
use crate::tools::testing::Device;

const HOUR_MS: i64 = 60 * 60 * 1000;
const KIB: u64 = 1024;

/// Creates and deletes a file of so many bytes. Returns its trash id.
fn put(device: &Device, bytes: usize) -> String {
    device.put("files/old", vec![1; bytes]);
    let data = device.data("delete_file", json!({"path": "old", "confirm": true}));
    data["trash_id"].as_str().unwrap().to_owned()
}

/// Returns a device whose trash has so much space, in bytes.
fn with_room(bytes: u64) -> Device {
    let mut device = Device::new();
    device.trash = Trash::with_room(&device.at("state"), bytes).unwrap();
    device
}

fn kept(device: &Device) -> u64 {
    device.trash.kept().bytes
}

fn sweep(device: &Device, in_hours: i64) -> SweepResult {
    let now = Timestamp::now().as_millisecond() + in_hours * HOUR_MS;
    changes::sweep(&device.trash, &device.roots, Timestamp::from_millisecond(now).unwrap()).unwrap()
}

fn holds(device: &Device, id: &str) -> bool {
    device.at(&format!("state/trash/{id}/content-0")).exists()
}

#[test]
fn things_stay_a_week() {
    let device = Device::new();
    let first = put(&device, 10_000);
    let all = SweepResult { removed: 0, failed: 0, kept: 1, kept_bytes: 12 * KIB };
    assert_eq!(sweep(&device, 7 * 24 - 1), all);
    assert!(holds(&device, &first));
    assert_eq!(sweep(&device, 7 * 24 + 1), SweepResult { removed: 1, ..SweepResult::default() });
    assert_eq!(device.trashed(), [""; 0]);
}

#[test]
fn nothing_leaves_before_its_time_and_what_finds_no_room_needs_a_person() {
    let mut device = with_room(256 * KIB);
    let first = put(&device, 100_000);
    device.put("files/large", vec![1; 200_000]);
    let delete = json!({"path": "large", "confirm": true});
    device.approved.clear();
    device.dry("delete_file", delete.clone()).unwrap();
    assert!(device.is_final.get());
    let before = device.tree();
    let error = device.call("delete_file", delete.clone()).unwrap_err();
    assert_eq!(error.code, orion_domain::ErrorCode::ApprovalRequired);
    assert_eq!(error.details["raises"], json!(["cannot_be_undone"]));
    let write = json!({"path": "large", "content": "x"});
    assert_eq!(device.call("write_file", write.clone()).unwrap_err().code, error.code);
    let edit = json!({"path": "large", "old_text": "\u{1}", "new_text": "x"});
    device.call("edit_file", edit).unwrap_err();
    assert_eq!(device.tree(), before, "what is refused changes nothing");
    assert_eq!(sweep(&device, 0).removed, 0);
    device.approved = vec![orion_domain::RiskRaise::CannotBeUndone];
    let data = device.data("write_file", write);
    assert_eq!(data["size_bytes"], json!(1));
    assert!(device.is_final.get());
    assert_eq!(
        device.undo(&["large"]).unwrap_err().code,
        orion_domain::ErrorCode::PreconditionFailed
    );
    assert_eq!(device.trashed(), std::slice::from_ref(&first));
    device.approved.clear();
    assert!(!device.at("files/old").exists());
    device.undo_of(&first, &["old"]).unwrap();
    assert_eq!(fs::metadata(device.at("files/old")).unwrap().len(), 100_000);
    assert!(kept(&device) < 20 * KIB, "what went back takes no room: {}", kept(&device));
}

#[test]
fn what_is_past_its_time_makes_room() {
    let device = with_room(256 * KIB);
    let first = put(&device, 200_000);
    let held = device.trash.kept().calls[&first.parse().unwrap()];
    let old = TrashedCall { at_ms: held.at_ms - 8 * 24 * HOUR_MS, ..held };
    device.trash.kept().set(first.parse().unwrap(), Some(old));
    let record = device.at(&format!("state/trash/{first}/record.jsonl"));
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace(&held.at_ms.to_string(), &old.at_ms.to_string())).unwrap();
    assert!(device.trash.has_room(200_000, 0));
    assert_eq!(device.trashed(), [first], "to look whether there is room makes none");
    let second = put(&device, 200_000);
    assert_eq!(device.trashed(), [second]);
}

#[test]
fn what_lies_there_is_known_after_a_restart() {
    let device = with_room(256 * KIB);
    put(&device, 100_000);
    let again = Trash::with_room(&device.at("state"), 256 * KIB).unwrap();
    assert_eq!(again.kept().bytes, kept(&device));
    assert!(!again.has_room(200 * KIB, 0));
    assert!(again.has_room(200 * KIB, 100 * KIB));
}

#[test]
fn of_two_calls_that_fit_alone_one_finds_room() {
    let device = with_room(256 * KIB);
    let call = |number| CallId::new(uuid::Uuid::from_u128(number));
    let take = |number| make_room(&device.trash, call(number), 150 * KIB, 0, &device.roots);
    assert_eq!([take(1), take(2)], [true, false]);
    device.trash.give_back_room(call(1));
    assert!(take(2));
    assert_eq!(kept(&device), 158 * KIB);
}

#[test]
fn adding_to_a_large_file_takes_no_room() {
    let mut device = with_room(512 * KIB);
    device.approved.clear();
    device.put("files/log", vec![b'x'; 600_000]);
    for number in 0..20 {
        let more = json!({"path": "log", "content": format!("line {number}\n"), "append": true});
        device.call("write_file", more).unwrap();
    }
    assert!(kept(&device) <= 20 * RECORD_BYTES, "{}", kept(&device));
    let length = fs::metadata(device.at("files/log")).unwrap().len();
    device.undo(&["log"]).unwrap();
    assert_eq!(fs::metadata(device.at("files/log")).unwrap().len(), length - 8);
}

#[cfg(unix)]
#[test]
fn a_file_with_holes_counts_as_what_it_takes() {
    let device = with_room(64 * KIB);
    let size = 1 << 40;
    device.put("files/holes", "");
    let file = fs::OpenOptions::new().write(true).open(device.at("files/holes")).unwrap();
    file.set_len(size).unwrap();
    device.call("delete_file", json!({"path": "holes", "confirm": true})).unwrap();
    assert!(kept(&device) <= 16 * KIB);
    device.undo(&["holes"]).unwrap();
    let back = fs::metadata(device.at("files/holes")).unwrap();
    assert_eq!((back.len(), std::os::unix::fs::MetadataExt::blocks(&back)), (size, 0));
}

#[test]
fn what_has_no_record_stays_as_long_as_anything_else() {
    let device = Device::new();
    device.folder("state/trash/stray");
    assert_eq!(sweep(&device, 0).kept, 1);
    assert_eq!(sweep(&device, 7 * 24 + 1).removed, 1);
    assert_eq!(device.trashed(), [""; 0]);
}

#[cfg(unix)]
#[test]
fn the_trash_is_for_the_agents_account_alone() {
    let device = Device::new();
    let id = put(&device, 1);
    for (name, mode) in [
        ("state/trash".to_owned(), 0o700),
        (format!("state/trash/{id}"), 0o700),
        (format!("state/trash/{id}/record.jsonl"), 0o600),
    ] {
        let found = std::os::unix::fs::MetadataExt::mode(&fs::metadata(device.at(&name)).unwrap());
        assert_eq!(found & 0o777, mode, "{name}");
    }
}

#[test]
fn a_call_begins_once() {
    let device = Device::new();
    let id = put(&device, 1);
    let error = device.trash.begin(id.parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
}

#[cfg(target_os = "linux")]
mod elsewhere {
    use super::*;

    /// Returns a device whose files and state lie on different file systems. `None` if there is only one.
    fn device() -> Option<Device> {
        let device = Device::in_shared_memory()?;
        device.put("files/a/old/x", "12345");
        Some(device)
    }

    #[test]
    fn what_lies_on_another_file_system_goes_to_a_hidden_folder_there_and_comes_back() {
        let Some(device) = device() else { return };
        let before = device.files();
        let delete = json!({"path": "a/old", "recursive": true, "confirm": true});
        let data = device.data("delete_directory", delete);
        let id = data["trash_id"].as_str().unwrap().to_owned();
        let hidden = device.at(&format!("files/{LOCAL_TRASH}/{id}/content-0/x"));
        assert!(hidden.exists() && !device.at("files/a/old").exists());
        assert_eq!(fs::read_dir(device.at(&format!("state/trash/{id}"))).unwrap().count(), 1);
        device.undo_of(&id, &["a/old"]).unwrap();
        let mut after = device.files();
        after.retain(|path, _| !path.contains(LOCAL_TRASH));
        assert_eq!(after, before);
    }

    #[test]
    fn it_is_swept_there_too() {
        let Some(device) = device() else { return };
        let delete = json!({"path": "a/old", "recursive": true, "confirm": true});
        device.call("delete_directory", delete).unwrap();
        assert_eq!(sweep(&device, 7 * 24 + 1).removed, 1);
        assert!(!device.at(&format!("files/{LOCAL_TRASH}")).exists());
    }

    #[test]
    fn a_hidden_folder_that_others_may_look_into_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let Some(device) = device() else { return };
        device.folder(&format!("files/{LOCAL_TRASH}"));
        let hidden = device.at(&format!("files/{LOCAL_TRASH}"));
        fs::set_permissions(&hidden, PermissionsExt::from_mode(0o755)).unwrap();
        let before = device.files();
        let delete = json!({"path": "a/old", "recursive": true, "confirm": true});
        let error = device.call("delete_directory", delete).unwrap_err();
        assert_eq!(error.code, orion_domain::ErrorCode::PreconditionFailed);
        assert!(error.message.contains(LOCAL_TRASH), "{error:?}");
        let write = json!({"path": "a/old/x", "content": "new"});
        device.call("write_file", write).unwrap_err();
        assert_eq!(device.files(), before);
        fs::remove_dir(&hidden).unwrap();
        device.link(&format!("files/{LOCAL_TRASH}"), device.at("outside"));
        let delete = json!({"path": "a/old", "recursive": true, "confirm": true});
        assert!(device.call("delete_directory", delete).is_err());
        assert!(device.at("files/a/old/x").exists());
    }
}
