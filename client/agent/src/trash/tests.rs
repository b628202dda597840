//! What stays in the trash, and for how long.

use std::fs;

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::tools::testing::Device;

const HOUR_MS: i64 = 60 * 60 * 1000;
const GIB: u64 = 1024 * 1024 * 1024;

/// Deletes a file of this size, which takes no room.
fn put(device: &Device, bytes: u64) -> String {
    device.put("files/old", "");
    let file = fs::OpenOptions::new().write(true).open(device.at("files/old")).unwrap();
    file.set_len(bytes).unwrap();
    let told = device.data("delete_file", json!({"path": "old", "confirm": true}));
    told["trash_id"].as_str().unwrap().to_owned()
}

fn sweep(device: &Device, in_hours: i64) -> Swept {
    let now = Timestamp::now().as_millisecond() + in_hours * HOUR_MS;
    device.trash.sweep(&device.roots, Timestamp::from_millisecond(now).unwrap()).unwrap()
}

fn holds(device: &Device, id: &str) -> bool {
    device.at(&format!("state/trash/{id}/content-0")).exists()
}

#[test]
fn things_stay_a_week() {
    let device = Device::new();
    let first = put(&device, 10);
    let all = Swept { removed: 0, failed: 0, kept: 1, kept_bytes: 10 };
    assert_eq!(sweep(&device, 7 * 24 - 1), all);
    assert!(holds(&device, &first));
    assert_eq!(sweep(&device, 7 * 24 + 1), Swept { removed: 1, ..Swept::default() });
    assert_eq!(device.trashed(), [""; 0]);
}

#[test]
fn beyond_a_gibibyte_the_oldest_go_and_the_last_stays() {
    let device = Device::new();
    let first = put(&device, GIB / 2);
    let second = put(&device, GIB / 2);
    assert_eq!(sweep(&device, 0), Swept { kept: 2, kept_bytes: GIB, ..Swept::default() });
    device.call("create_directory", json!({"path": "small"})).unwrap();
    let small = device.last_call();
    let third = put(&device, 3 * GIB);
    // So much at once does not wait for its time.
    let swept = Swept { removed: 0, failed: 0, kept: 2, kept_bytes: 3 * GIB };
    assert_eq!(sweep(&device, 0), swept);
    assert_eq!([&first, &second, &third].map(|id| holds(&device, id)), [false, false, true]);
    assert!(device.trashed().contains(&small), "what takes no room stays its week");
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

    /// A device whose files lie on another file system than its state; none where there is no other.
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
        let told = device.data("delete_directory", delete);
        let id = told["trash_id"].as_str().unwrap().to_owned();
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
