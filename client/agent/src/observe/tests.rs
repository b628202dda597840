//! Observations are equal as long as nothing changes, and name the path of a change.

use orion_domain::{Access, Touches};

use super::*;
use crate::tools::testing::{ALL, Device};

fn touching(device: &Device, paths: &[(&str, Access)]) -> Touches {
    paths.iter().fold(Touches::nothing().and_all_in_it(), |touches, (name, access)| {
        touches.and_path(DevicePath::resolve(&device.places, &device.text(name)).unwrap(), *access)
    })
}

fn see(device: &Device, touches: &Touches) -> Vec<Observation> {
    device.with_context(|context| observe(touches, context)).unwrap()
}

fn drift(device: &Device, touches: &Touches, before: &[Observation]) -> Option<String> {
    let expected = ExpectedState { touches, before };
    let error = device
        .with_context(|context| compare(&FileContext { expected: Some(expected), ..*context }))
        .err()?;
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert_eq!(error.details["reason"], "drift");
    let path = error.details["attempted_path"].as_str().unwrap().to_owned();
    let changed = error.details["changed"].as_str().unwrap();
    Some(format!("{}: {changed}", path.replace(&device.text("files"), "")))
}

#[test]
fn what_changes_is_told_with_its_path_and_what_does_not_is_not() {
    let device = Device::new();
    device.put("files/a.txt", "12345");
    device.put("files/folder/x/b.txt", "12");
    let touches = touching(
        &device,
        &[
            ("files/a.txt", Access::Write),
            ("files/folder", Access::Delete),
            ("files/none.txt", Access::Write),
        ],
    );
    let before = see(&device, &touches);
    let kinds: Vec<_> = before.iter().map(|it| (it.kind, it.bytes)).collect();
    assert_eq!(kinds, [(Kind::File, 5), (Kind::Folder, 2), (Kind::Nothing, 0)]);
    assert_eq!(before[0].digest, Some(Digest::of(b"12345")));
    assert_eq!(drift(&device, &touches, &before), None);

    device.put("files/a.txt", "12345");
    assert_eq!(drift(&device, &touches, &before), None, "the same content again is no drift");
    device.put("files/a.txt", "54321");
    let difference = drift(&device, &touches, &before);
    assert_eq!(difference.unwrap(), "/a.txt: its content has changed, at the same size");
    assert_eq!(drift(&device, &touches, &before[1..]), None, "only what is compared can drift");
    device.put("files/a.txt", "12345");

    device.put("files/folder/x/c.txt", "");
    let difference = drift(&device, &touches, &before);
    assert_eq!(difference.unwrap(), "/folder: what is in it has changed, at the same size");
    let before = see(&device, &touches);

    device.put("files/none.txt", "");
    let difference = drift(&device, &touches, &before);
    assert_eq!(difference.unwrap(), "/none.txt: it was nothing and is a file");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_elsewhere_has_drifted_whatever_it_leads_to() {
    let device = Device::new();
    device.put("files/one/a.txt", "same");
    device.put("files/two/a.txt", "same");
    device.link("files/way", "one");
    let write = touching(&device, &[("files/way/a.txt", Access::Write)]);
    let delete = touching(&device, &[("files/way", Access::Delete)]);
    let (written, deleted) = (see(&device, &write), see(&device, &delete));
    assert_eq!(deleted[0].kind, Kind::Link);
    std::fs::remove_file(device.at("files/way")).unwrap();
    device.link("files/way", "two");
    assert!(drift(&device, &write, &written).unwrap().contains("leads to"));
    assert_eq!(drift(&device, &delete, &deleted).unwrap(), "/way: it leads elsewhere");
}

#[test]
fn nothing_outside_is_seen_and_nothing_is_hashed_that_may_not_be_read() {
    let device = Device::granting(&[("files", &[Access::Write, Access::Delete])]);
    device.put("files/a.txt", "secret");
    device.put("files/folder/a.txt", "secret");
    let touches =
        touching(&device, &[("files/a.txt", Access::Write), ("files/folder", Access::Delete)]);
    let seen = see(&device, &touches);
    assert_ne!(seen[0].digest, Some(Digest::of(b"secret")));
    assert!(seen.iter().all(Observation::is_comparable), "{seen:?}");
    assert_eq!(drift(&device, &touches, &seen), None);
    device.put("files/a.txt", "public");
    assert!(drift(&device, &touches, &seen).is_some(), "its times tell");

    let device = Device::granting(&[("files", ALL)]);
    let outside = touching(&device, &[("outside/secret.txt", Access::Read)]);
    let error = device.with_context(|context| observe(&outside, context)).unwrap_err();
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
}

#[test]
fn what_the_call_does_not_touch_cannot_be_compared() {
    let device = Device::new();
    device.put("files/a.txt", "1");
    device.put("files/b.txt", "1");
    let a = touching(&device, &[("files/a.txt", Access::Write)]);
    let b = touching(&device, &[("files/b.txt", Access::Write)]);
    let seen = see(&device, &b);
    let expected = ExpectedState { touches: &a, before: &seen };
    let error = device
        .with_context(|context| compare(&FileContext { expected: Some(expected), ..*context }))
        .unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_compared_by_what_may_be_seen() {
    let device = Device::granting(&[("files", &[Access::Write, Access::Delete])]);
    device.link("files/way", "one");
    device.folder("files/folder");
    let link = touching(&device, &[("files/way", Access::Delete)]);
    let folder = touching(&device, &[("files/folder", Access::Delete)]);
    let (before, of_folder) = (see(&device, &link), see(&device, &folder));
    assert_ne!(before[0].digest, Some(Digest::of(b"one")));
    assert_eq!(drift(&device, &link, &before), None);
    std::fs::remove_file(device.at("files/way")).unwrap();
    device.link("files/way", "two");
    assert_eq!(drift(&device, &link, &before).unwrap(), "/way: it leads elsewhere");
    device.put("files/folder/new", "");
    assert!(drift(&device, &folder, &of_folder).is_some());
}

#[test]
fn a_folder_that_holds_more_than_is_looked_at_has_no_digest() {
    let device = Device::new();
    device.folder("files/deep/a");
    let touches = touching(&device, &[("files/deep", Access::Delete)]);
    assert!(see(&device, &touches)[0].digest.is_some());
    device.folder(&format!("files/deep/{}", vec!["a"; 70].join("/")));
    device.put("files/deep/b.txt", "12345");
    let seen = see(&device, &touches);
    assert_eq!((seen[0].digest, seen[0].bytes), (None, 0));
}

/// Writes other content of the same size, and restores the old times.
#[cfg(unix)]
fn forge(device: &Device, name: &str, content: &[u8]) {
    let modified = std::fs::metadata(device.at(name)).unwrap().modified().unwrap();
    std::fs::write(device.at(name), content).unwrap();
    let file = std::fs::File::options().write(true).open(device.at(name)).unwrap();
    file.set_modified(modified).unwrap();
}

#[cfg(unix)]
#[test]
fn content_that_changed_with_size_and_time_kept_has_drifted_in_a_folder_and_in_a_large_file() {
    let device = Device::new();
    device.put("files/folder/a.txt", "12345");
    let large = usize::try_from(MAX_HASHED_BYTES).unwrap() + 1;
    device.put("files/large", vec![1; large]);
    for name in ["folder", "large"] {
        let touches = touching(&device, &[(&format!("files/{name}"), Access::Delete)]);
        let before = see(&device, &touches);
        assert!(before[0].is_comparable() && drift(&device, &touches, &before).is_none());
        match name {
            "folder" => forge(&device, "files/folder/a.txt", b"54321"),
            _ => forge(&device, "files/large", &vec![2; large]),
        }
        assert!(drift(&device, &touches, &before).is_some(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn what_changes_all_the_time_cannot_be_compared() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let device = Device::new();
    device.put("files/folder/log", "");
    let touches = touching(&device, &[("files/folder", Access::Delete)]);
    let (over, log) = (std::sync::Arc::new(AtomicBool::new(false)), device.at("files/folder/log"));
    let is_over = std::sync::Arc::clone(&over);
    let writer = std::thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) {
            std::fs::write(&log, "more").unwrap();
        }
    });
    // On a busy machine the writer may pause during an observation, which is then correct.
    let met = (0..1_000).map(|_| see(&device, &touches)).find(|seen| !seen[0].is_comparable());
    over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    let seen = met.expect("no look met a change");
    assert!(drift(&device, &touches, &seen).is_some());
    assert!(see(&device, &touches)[0].is_comparable(), "by now it rests");
}

/// A change by others between comparison and step is found in what the step took.
#[cfg(unix)]
#[test]
fn what_a_step_took_and_was_not_shown_goes_back() {
    use crate::changes::{Change, Precondition, TrashSpace};
    let located = |context: &FileContext<'_>, name: &str| {
        let path = context.path(name).unwrap();
        Target::of(&context.roots.locate_entry(&path, Access::Write).unwrap()).unwrap()
    };
    for name in ["folder", "file"] {
        let device = Device::new();
        device.put("files/folder/a.txt", "12345");
        device.put("files/file", "12345");
        let touches = touching(&device, &[(&format!("files/{name}"), Access::Delete)]);
        let before = see(&device, &touches);
        let expected = ExpectedState { touches: &touches, before: &before };
        device.with_context(|context| {
            let context = FileContext { expected: Some(expected), ..*context };
            compare(&context).unwrap();
            let target = located(&context, name);
            if name == "folder" {
                forge(&device, "files/folder/a.txt", b"54321");
            } else {
                forge(&device, "files/file", b"54321");
            }
            let stamp = target.stamp().unwrap().unwrap();
            let room = TrashSpace::take(&context, &target.path, 0).unwrap();
            let mut change = Change::begin(&context, "delete_directory", &[&target.path], room);
            let error: ToolError = change.discard(&target, &stamp, 1, 5).unwrap_err().into();
            assert_eq!(error.details["reason"], "drift", "{error:?}");
            drop(change);
            let elsewhere = located(&context, "elsewhere");
            let room = TrashSpace::take(&context, &target.path, 0).unwrap();
            let mut change = Change::begin(&context, "move_path", &[&target.path], room);
            let error: ToolError =
                change.rename(&target, &elsewhere, Precondition::Nothing).unwrap_err().into();
            assert_eq!(error.details["reason"], "drift", "{error:?}");
        });
        assert!(
            device.at(&format!("files/{name}")).exists() && !device.at("files/elsewhere").exists()
        );
        assert_eq!(device.trashed(), [""; 0]);
    }
}
