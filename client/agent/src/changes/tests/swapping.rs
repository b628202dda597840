//! Races between a change and other processes.

use std::fs;
use std::io::Write;

use orion_domain::{Access, Touches};
use serde_json::json;

use crate::call::{ExpectedState, FileContext};
use crate::changes::{Change, NO_SWAP, Precondition, StepError, TrashSpace};
use crate::entry::{FileStamp, Target};
use crate::observe::{compare, observe};
use crate::tools::testing::Device;

fn target(context: &FileContext<'_>, name: &str) -> Target {
    let path = context.path(name).unwrap();
    Target::of(&context.roots.locate_entry(&path, Access::Write).unwrap()).unwrap()
}

fn begin<'a>(context: &'a FileContext<'_>, name: &str) -> (Change<'a>, Target) {
    let target = target(context, name);
    (
        Change::begin(
            context,
            "write_file",
            &[&target.path],
            TrashSpace::take(context, &target.path, 0).unwrap(),
        ),
        target,
    )
}

fn read(device: &Device, name: &str) -> String {
    fs::read_to_string(device.at(&format!("files/{name}"))).unwrap()
}

/// Runs a test with and without the exchange of two names.
fn both_ways(test: impl Fn(&Device)) {
    for off in [false, true] {
        NO_SWAP.set(off);
        test(&Device::new());
    }
    NO_SWAP.set(false);
}

#[test]
fn a_file_is_made_replaced_and_taken_back_either_way() {
    both_ways(|device| {
        device.call("write_file", json!({"path": "a/b", "content": "one"})).unwrap();
        let made = device.last_call();
        device.call("write_file", json!({"path": "a/b", "content": "two"})).unwrap();
        let replaced = device.last_call();
        assert_eq!(read(device, "a/b"), "two");
        device.undo_of(&replaced, &["a/b"]).unwrap();
        assert_eq!(read(device, "a/b"), "one");
        device.undo_of(&made, &["a/b"]).unwrap();
        assert!(!device.at("files/a").exists());
        assert_eq!(device.litter(), [""; 0]);
    });
}

#[test]
fn a_file_that_appeared_is_not_written_over() {
    both_ways(|device| {
        device.with_context(|context| {
            let (mut change, target) = begin(context, "a");
            let mut staged = change.stage(&target, None).unwrap();
            staged.write_all(b"mine").unwrap();
            device.put("files/a", "theirs");
            let refused = change.place(&target, staged, Precondition::Nothing);
            assert!(matches!(refused, Err(StepError::Taken(_))), "{refused:?}");
        });
        assert_eq!(read(device, "a"), "theirs");
        assert_eq!((device.litter(), device.trashed()), (vec![], vec![]));
    });
}

#[test]
fn a_file_that_changed_since_it_was_read_is_put_back() {
    both_ways(|device| {
        device.put("files/a", "read");
        device.with_context(|context| {
            let (mut change, target) = begin(context, "a");
            let file = target.dir.open("a").unwrap();
            let stamp = FileStamp::of_file(&file).unwrap();
            let mut staged = change.stage(&target, Some(file)).unwrap();
            staged.write_all(b"mine").unwrap();
            device.put("files/a", "written by others");
            let refused = change.place(&target, staged, Precondition::Unchanged(&stamp));
            assert!(matches!(refused, Err(StepError::Changed(_))), "{refused:?}");
        });
        assert_eq!(read(device, "a"), "written by others");
        assert_eq!((device.litter(), device.trashed()), (vec![], vec![]));
    });
}

#[test]
fn only_a_file_is_replaced() {
    both_ways(|device| {
        device.with_context(|context| {
            let (mut change, target) = begin(context, "a");
            let mut staged = change.stage(&target, None).unwrap();
            staged.write_all(b"mine").unwrap();
            device.put("files/a/inner", "theirs");
            let refused = change.place(&target, staged, Precondition::AnyFile);
            assert!(matches!(refused, Err(StepError::Changed(_))), "{refused:?}");
        });
        assert_eq!(read(device, "a/inner"), "theirs");
        assert_eq!((device.litter(), device.trashed()), (vec![], vec![]));
    });
}

#[test]
fn what_was_looked_at_is_what_is_deleted() {
    let device = Device::new();
    device.put("files/a", "looked at");
    device.with_context(|context| {
        let (mut change, target) = begin(context, "a");
        let stamp = target.stamp().unwrap().unwrap();
        fs::remove_file(device.at("files/a")).unwrap();
        device.put("files/a", "something else");
        let refused = change.discard(&target, &stamp, 1, stamp.bytes);
        assert!(matches!(refused, Err(StepError::Changed(_))), "{refused:?}");
    });
    assert_eq!(read(&device, "a"), "something else");
    assert_eq!(device.trashed(), [""; 0]);
}

#[test]
fn a_call_that_fails_takes_back_what_it_did() {
    both_ways(|device| {
        device.put("files/old", "old");
        device.put("files/gone", "gone");
        device.put("files/here", "here");
        device.put("files/over", "over");
        let before = device.files();
        device.with_context(|context| {
            let path = context.path("x/y/new").unwrap();
            let located = context.roots.locate(&path, Access::Write).unwrap();
            let mut change = Change::begin(
                context,
                "write_file",
                &[&path],
                TrashSpace::take(context, &path, 0).unwrap(),
            );
            let new = change.parents(&located).unwrap();
            let mut staged = change.stage(&new, None).unwrap();
            staged.write_all(b"new").unwrap();
            change.place(&new, staged, Precondition::Nothing).unwrap();
            let old = target(context, "old");
            let mut staged = change.stage(&old, None).unwrap();
            staged.write_all(b"changed").unwrap();
            change.place(&old, staged, Precondition::AnyFile).unwrap();
            let gone = target(context, "gone");
            let stamp = gone.stamp().unwrap().unwrap();
            change.discard(&gone, &stamp, 1, 4).unwrap();
            change
                .rename(&target(context, "here"), &target(context, "over"), Precondition::AnyFile)
                .unwrap();
            let folder = change.stage_folder(&target(context, "copy")).unwrap();
            folder.dir.write("inner", "1").unwrap();
            change.place_folder(&target(context, "copy"), folder).unwrap();
            let file = fs::OpenOptions::new().append(true).read(true).open(device.at("files/old"));
            let file = cap_std::fs::File::from_std(file.unwrap());
            change.append(&target(context, "old"), &file, b" more").unwrap();
            assert_eq!(read(device, "old"), "changed more");
            assert_eq!(
                (read(device, "over"), read(device, "x/y/new")),
                ("here".into(), "new".into())
            );
            let unfinished = change.stage(&target(context, "unfinished"), None).unwrap();
            drop(unfinished);
        });
        assert_eq!(device.files(), before);
        assert_eq!(device.litter(), [""; 0]);
        let error = device.undo(&["x/y/new"]).unwrap_err();
        assert_eq!(error.code, orion_domain::ErrorCode::PreconditionFailed);
    });
}

#[test]
fn writers_to_one_path_take_turns_and_others_do_not_wait() {
    let path = |name: &str| orion_domain::DevicePath::parse(orion_domain::PathStyle::Posix, name);
    let (a, b) = (path("/turn/a").unwrap(), path("/turn/b").unwrap());
    let (above, below) = (path("/turn").unwrap(), path("/turn/a/x").unwrap());
    let device = Device::new();
    let busy = device.with_context(|context| crate::changes::lock_paths(context, &[&a]).unwrap());
    device.with_context(|context| drop(crate::changes::lock_paths(context, &[&b]).unwrap()));
    device.cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
    let error =
        device.with_context(|context| crate::changes::lock_paths(context, &[&b, &a]).unwrap_err());
    assert_eq!(error.code, orion_domain::ErrorCode::Cancelled);
    // A call that moves a folder waits for a call that writes into it, and the other way round.
    for path in [&above, &below] {
        let waiting = device.with_context(|context| crate::changes::lock_paths(context, &[path]));
        assert_eq!(waiting.unwrap_err().code, orion_domain::ErrorCode::Cancelled);
    }
    drop(busy);
    device.with_context(|context| drop(crate::changes::lock_paths(context, &[&b, &a]).unwrap()));
}

#[test]
fn what_is_added_goes_behind_what_others_add_and_only_that_is_cut() {
    let device = Device::new();
    device.put("files/log", "old");
    let others = |text: &str| {
        let file = fs::OpenOptions::new().append(true).open(device.at("files/log"));
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    device.with_context(|context| {
        let (mut change, target) = begin(context, "log");
        let file = crate::changes::tail::open_to_add(&target).unwrap();
        others(" theirs");
        change.append(&target, &file, b" mine").unwrap();
        change.finish();
    });
    assert_eq!(read(&device, "log"), "old theirs mine");
    device.with_context(|context| {
        let (mut change, target) = begin(context, "log");
        let now = target.stamp().unwrap().unwrap();
        others(" again");
        let refused = change.shorten(&target, &now, 5);
        assert!(matches!(refused, Err(StepError::Changed(_))), "{refused:?}");
    });
    assert_eq!(read(&device, "log"), "old theirs mine again");
}

#[test]
fn nothing_is_added_to_another_file_than_the_one_that_was_compared() {
    let device = Device::new();
    device.put("files/log", "shown");
    device.put("files/other", "never shown");
    let log = device.with_context(|context| context.path("log").unwrap());
    let touches = Touches::nothing().and_path(log, Access::Write);
    let before = device.with_context(|context| observe(&touches, context)).unwrap();
    let expected = ExpectedState { touches: &touches, before: &before };
    device.with_context(|context| {
        let context = FileContext { expected: Some(expected), ..*context };
        let (mut change, log) = begin(&context, "log");
        let opened = crate::changes::tail::open_to_add(&target(&context, "other")).unwrap();
        let refused = change.append(&log, &opened, b" more");
        assert!(refused.is_err(), "{refused:?}");
        let opened = crate::changes::tail::open_to_add(&log).unwrap();
        change.append(&log, &opened, b" more").unwrap();
        change.finish();
    });
    assert_eq!(
        (read(&device, "log"), read(&device, "other")),
        ("shown more".into(), "never shown".into())
    );
}

#[test]
fn what_another_call_changed_while_its_turn_was_awaited_is_left_alone() {
    let device = Device::new();
    device.put("files/a", "12345");
    device.put("files/b", "1");
    let (a, b) =
        device.with_context(|context| (context.path("a").unwrap(), context.path("b").unwrap()));
    let touches = Touches::nothing().and_path(a.clone(), Access::Delete);
    let before = device.with_context(|context| observe(&touches, context)).unwrap();
    let expected = ExpectedState { touches: &touches, before: &before };
    let other = device.with_context(|context| crate::changes::lock_paths(context, &[&a]).unwrap());
    let (at, (compared, go)) = (device.at("files/a"), std::sync::mpsc::channel::<()>());
    let writer = std::thread::spawn(move || {
        go.recv().unwrap();
        fs::write(at, "other").unwrap();
        drop(other);
    });
    let error = device.with_context(|context| {
        let context = FileContext { expected: Some(expected), ..*context };
        compare(&context).unwrap();
        compared.send(()).unwrap();
        let arguments = json!({"path": "a", "confirm": true});
        let delete = crate::tools::find("delete_file").unwrap();
        delete.call(arguments, &context, device.installed()).unwrap_err()
    });
    writer.join().unwrap();
    assert_eq!(error.code, orion_domain::ErrorCode::PreconditionFailed);
    assert_eq!(error.details["reason"], "drift");
    assert_eq!(read(&device, "a"), "other");

    // The lock covers previewed paths too, even if the call itself would not lock them.
    device.put("files/a", "12345");
    let busy = device.with_context(|context| {
        crate::changes::lock_paths(&FileContext { expected: Some(expected), ..*context }, &[&b])
            .unwrap()
    });
    device.cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
    let waiting = device.with_context(|context| crate::changes::lock_paths(context, &[&a]));
    assert_eq!(waiting.unwrap_err().code, orion_domain::ErrorCode::Cancelled);
    drop(busy);
}
