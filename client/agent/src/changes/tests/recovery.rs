//! Recovery after a kill at each point of a change. A change that is forgotten midway leaves exactly what a
//! killed process leaves.

use std::fs;
use std::io::Write;

use orion_domain::Access;
use serde_json::json;

use crate::call::FileContext;
use crate::changes::{Change, NO_SWAP, Precondition, Recovered, TrashSpace, recover, sweep};
use crate::entry::Target;
use crate::tools::testing::Device;
use crate::trash::Trash;

fn target(context: &FileContext<'_>, name: &str) -> Target {
    let path = context.path(name).unwrap();
    Target::of(&context.roots.locate_entry(&path, Access::Write).unwrap()).unwrap()
}

/// Ends a change as a kill does, and starts again.
fn killed(
    device: &Device,
    change: impl FnOnce(&FileContext<'_>, &mut Change<'_>),
) -> Vec<Recovered> {
    device.with_context(|context| {
        let path = context.path("a").unwrap();
        let mut begun = Change::begin(
            context,
            "write_file",
            &[&path],
            TrashSpace::take(context, &path, 0).unwrap(),
        );
        change(context, &mut begun);
        std::mem::forget(begun);
    });
    let trash = Trash::open(&device.at("state")).unwrap();
    let settled = recover(&trash, &device.roots).into_iter().map(|(_, it)| it).collect();
    assert_eq!(trash.unsettled(), []);
    assert_eq!(device.litter(), [""; 0]);
    settled
}

fn stage(change: &mut Change<'_>, target: &Target) {
    let mut staged = change.stage(target, None).unwrap();
    staged.write_all(b"new").unwrap();
    drop(staged);
}

fn read(device: &Device) -> String {
    fs::read_to_string(device.at("files/a")).unwrap()
}

#[test]
fn a_file_that_was_being_written_goes() {
    let device = Device::new();
    device.put("files/a", "old");
    let before = device.files();
    let settled = killed(&device, |context, change| stage(change, &target(context, "a")));
    assert_eq!((settled, device.files()), (vec![Recovered::Unchanged], before));
    assert_eq!(device.trashed(), [""; 0]);
}

#[test]
fn a_folder_that_was_being_filled_goes() {
    let device = Device::new();
    let before = device.files();
    let settled = killed(&device, |context, change| {
        let staged = change.stage_folder(&target(context, "a")).unwrap();
        staged.dir.create_dir_all("b/c").unwrap();
    });
    assert_eq!((settled, device.files()), (vec![Recovered::Unchanged], before));
}

/// Writes all that [`Change::place`] records before the kill; the test makes the names itself.
fn ready(context: &FileContext<'_>, change: &mut Change<'_>) -> String {
    let target = target(context, "a");
    let mut staged = change.stage(&target, None).unwrap();
    staged.write_all(b"new").unwrap();
    let stamp = staged.seal().unwrap();
    change.ready(&target, &stamp).unwrap();
    crate::roots::staged_name(context.call)
}

#[test]
fn a_file_that_was_whole_and_had_no_name_yet_goes() {
    let device = Device::new();
    device.put("files/a", "old");
    let settled = killed(&device, |context, change| drop(ready(context, change)));
    assert_eq!((settled, read(&device)), (vec![Recovered::Unchanged], "old".to_owned()));
}

#[test]
fn a_file_that_has_its_name_stays_and_can_be_taken_back() {
    for replaced in [false, true] {
        let device = Device::new();
        if replaced {
            device.put("files/a", "old");
        }
        let settled = killed(&device, |context, change| {
            let temporary = device.at("files").join(ready(context, change));
            if replaced {
                fs::rename(device.at("files/a"), device.at("files/aside")).unwrap();
            }
            fs::rename(&temporary, device.at("files/a")).unwrap();
            if replaced {
                // As an exchange leaves it, before the old file is in the trash.
                fs::rename(device.at("files/aside"), &temporary).unwrap();
            }
        });
        let call = device.last_call();
        assert_eq!((settled, read(&device)), (vec![Recovered::Changed], "new".to_owned()));
        device.undo_of(&call, &["a"]).unwrap();
        assert_eq!(fs::read_to_string(device.at("files/a")).ok(), replaced.then(|| "old".into()));
    }
}

#[test]
fn a_second_name_given_in_advance_goes_again() {
    let device = Device::new();
    device.put("files/a", "old");
    let settled = killed(&device, |context, change| {
        drop(ready(context, change));
        let kept = format!("state/trash/{}.open/content-0", context.call);
        fs::hard_link(device.at("files/a"), device.at(&kept)).unwrap();
    });
    assert_eq!((settled, read(&device)), (vec![Recovered::Unchanged], "old".to_owned()));
    device.call("write_file", json!({"path": "a", "content": "it has one name"})).unwrap();
}

#[test]
fn what_was_on_its_way_out_of_the_trash_goes_back_there() {
    let device = Device::new();
    device.put("files/a", "old");
    device.call("write_file", json!({"path": "a", "content": "new"})).unwrap();
    let written = device.last_call();
    let of = (written.parse().unwrap(), 0);
    let settled = killed(&device, |context, change| {
        let source = crate::record::Source::Kept { call: of.0, step: of.1 };
        let target = target(context, "a");
        let name = change.plan_placed(&target, source).unwrap();
        let kept = device.at(&format!("state/trash/{written}/content-0"));
        fs::rename(kept, device.at("files").join(name)).unwrap();
    });
    assert_eq!((settled, read(&device)), (vec![Recovered::Unchanged], "new".to_owned()));
    device.undo_of(&written, &["a"]).unwrap();
    assert_eq!(read(&device), "old");
}

#[test]
fn what_was_deleted_or_moved_is_found_to_be_so() {
    let device = Device::new();
    device.put("files/a", "old");
    let settled = killed(&device, |context, change| {
        let target = target(context, "a");
        let stamp = target.stamp().unwrap().unwrap();
        change.discard(&target, &stamp, 1, 3).unwrap();
    });
    assert_eq!(settled, [Recovered::Changed]);
    let deleted = device.last_call();
    device.undo_of(&deleted, &["a"]).unwrap();
    assert_eq!(read(&device), "old");

    device.put("files/over", "over");
    for off in [false, true] {
        NO_SWAP.set(off);
        let settled = killed(&device, |context, change| {
            let (from, to) = (target(context, "a"), target(context, "over"));
            change.rename(&from, &to, Precondition::AnyFile).unwrap();
        });
        NO_SWAP.set(false);
        assert_eq!(settled, [Recovered::Changed]);
        let moved = device.last_call();
        device.undo_of(&moved, &["a"]).unwrap();
        assert_eq!(read(&device), "old");
    }
}

#[test]
fn half_of_what_was_added_goes_and_what_others_added_stays() {
    for (there, after) in [("old", "old"), ("oldhal", "old"), ("oldtheirs", "oldtheirs")] {
        let device = Device::new();
        device.put("files/a", "old");
        killed(&device, |context, change| {
            let target = target(context, "a");
            let before = target.stamp().unwrap().unwrap();
            let step = crate::changes::Step::Extended {
                at: target.spot(),
                before,
                added: 4,
                text: orion_domain::Digest::of(b"more"),
            };
            change.plan(&target, step).unwrap();
            let aside = format!("state/trash/{}.open/content-0", context.call);
            fs::write(device.at(&aside), "half").unwrap();
            let file = fs::OpenOptions::new().append(true).open(device.at("files/a"));
            file.unwrap().write_all(there.strip_prefix("old").unwrap().as_bytes()).unwrap();
        });
        assert_eq!(read(&device), after);
    }
}

#[test]
fn a_record_that_was_never_written_stands_for_nothing() {
    let device = Device::new();
    for text in [None, Some(""), Some("{\"call\":{\"call\":\"0")] {
        let place = device.at("state/trash/0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e.open");
        fs::create_dir(&place).unwrap();
        if let Some(text) = text {
            fs::write(place.join("record.jsonl"), text).unwrap();
        }
        let trash = Trash::open(&device.at("state")).unwrap();
        let settled = recover(&trash, &device.roots);
        assert_eq!(settled.len(), 1);
        assert_eq!(device.trashed(), [""; 0]);
    }
}

#[test]
fn what_is_out_of_reach_waits() {
    use orion_domain::grants::Scope;
    let device = Device::new();
    device.put("files/a", "old");
    device.with_context(|context| {
        let target = target(context, "a");
        let mut change = Change::begin(
            context,
            "write_file",
            &[&target.path],
            TrashSpace::take(context, &target.path, 0).unwrap(),
        );
        stage(&mut change, &target);
        std::mem::forget(change);
    });
    let trash = Trash::open(&device.at("state")).unwrap();
    let nothing = crate::roots::Roots::open(&Scope::nothing(), &Scope::nothing(), &[]);
    assert_eq!(recover(&trash, &nothing), []);
    assert_eq!(trash.unsettled().len(), 1);
    sweep(&trash, &device.roots, jiff::Timestamp::now()).unwrap();
    assert_eq!((trash.unsettled().len(), device.litter()), (0, vec![]));
}

#[test]
fn a_copy_out_of_the_trash_that_was_cut_off_goes_and_what_is_kept_stays() {
    let device = Device::new();
    device.put("files/a", "old");
    device.call("write_file", json!({"path": "a", "content": "new"})).unwrap();
    let written = device.last_call();
    let of = (written.parse().unwrap(), 0);
    let settled = killed(&device, |context, change| {
        let source = crate::record::Source::Kept { call: of.0, step: of.1 };
        let name = change.plan_placed(&target(context, "a"), source).unwrap();
        fs::write(device.at("files").join(name), "ol").unwrap();
    });
    assert_eq!((settled, read(&device)), (vec![Recovered::Unchanged], "new".to_owned()));
    device.undo_of(&written, &["a"]).unwrap();
    assert_eq!(read(&device), "old");
}

#[test]
fn a_file_that_has_both_names_keeps_the_one_that_is_meant() {
    let device = Device::new();
    let settled = killed(&device, |context, change| {
        let temporary = device.at("files").join(ready(context, change));
        fs::hard_link(&temporary, device.at("files/a")).unwrap();
    });
    assert_eq!((settled, read(&device)), (vec![Recovered::Changed], "new".to_owned()));
    device.undo(&["a"]).unwrap();
    assert!(!device.at("files/a").exists());
}

#[test]
fn what_lies_beside_a_record_that_is_not_understood_is_not_removed() {
    let device = Device::new();
    let name = "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e.open";
    for line in ["{\"unheard\":1}\n", "\0\n"] {
        device.put(&format!("state/trash/{name}/record.jsonl"), line);
        device.put(&format!("state/trash/{name}/content-0"), "all there is");
        let trash = Trash::open(&device.at("state")).unwrap();
        assert_eq!(recover(&trash, &device.roots), []);
        assert_eq!((device.trashed(), trash.unsettled().len()), (vec![name.to_owned()], 1));
    }
}
