//! What calls share is shared across their processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use orion_domain::ErrorCode;
use serde_json::{Value, json};

use super::{Place, Trial};
use crate::call::Memory;
use crate::tools::testing::Device;
use crate::trash::Trash;

fn held(outcome: &Value) -> (u64, u64) {
    (outcome[0].as_u64().unwrap(), outcome[1].as_u64().unwrap())
}

#[test]
fn two_workers_take_turns_on_one_path_and_not_on_two() {
    let device = Device::new();
    device.put("files/a/x", "x");
    device.put("files/b", "y");
    let place = Place::of(&device);
    for (paths, share) in [(["a", "a/x"], true), (["a", "b"], false)] {
        let hold = |path: &str| {
            let arguments = json!({"path": path, "ms": 400});
            let (_, result) = Trial::at(place, "test_hold", arguments).changes();
            held(&result.unwrap().data)
        };
        // Both processes are there before, so that both calls begin at once.
        for path in paths {
            hold(path);
        }
        let (one, other) = thread::scope(|scope| {
            let one = scope.spawn(|| hold(paths[0]));
            let other = hold(paths[1]);
            (one.join().unwrap(), other)
        });
        let overlap = one.0 < other.1 && other.0 < one.1;
        assert_eq!(overlap, !share, "{paths:?} {one:?} {other:?}");
    }
}

#[test]
fn who_waits_for_a_path_in_another_process_can_be_cancelled() {
    let device = Device::new();
    device.put("files/a", "x");
    let place = Place::of(&device);
    let cancelled = AtomicBool::new(false);
    thread::scope(|scope| {
        let hold = json!({"path": "a", "ms": 2_000});
        let first = Trial::at(place, "test_hold", hold.clone());
        let first = scope.spawn(move || first.changes().1.unwrap());
        thread::sleep(Duration::from_millis(700));
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            cancelled.store(true, Ordering::Relaxed);
        });
        let (_, second) = Trial::at(place, "test_hold", hold).until(&cancelled).changes();
        assert_eq!(second.unwrap_err().code, ErrorCode::Cancelled);
        first.join().unwrap();
    });
}

#[test]
fn memory_is_shared_by_calls_in_all_processes() {
    let device = Device::new();
    let place = Place::of(&device);
    let (one, other) = (Memory::default(), Memory::default());
    let take = |memory, time| {
        let trial = Trial::at(place, "test_memory", json!({"bytes": u64::MAX}));
        trial.with(memory).within(time).reads()
    };
    take(&one, Duration::from_secs(60)).unwrap();
    let error = take(&other, Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout, "{error}");
    assert!(error.message.contains("much memory"), "{error}");
    one.give_back();
    take(&other, Duration::from_secs(60)).unwrap();
}

#[test]
fn of_two_calls_that_fit_alone_one_finds_room_in_the_trash() {
    let mut device = Device::new();
    device.trash = Trash::with_room(&device.at("state"), 100_000).unwrap();
    let place = Place::of(&device);
    let reserve = || {
        let trial = Trial::at(place, "test_room", json!({"bytes": 60_000}));
        trial.changes().1.unwrap().data
    };
    let both = thread::scope(|scope| {
        let one = scope.spawn(reserve);
        [reserve(), one.join().unwrap()]
    });
    assert_eq!(both.iter().filter(|made| **made == json!(true)).count(), 1, "{both:?}");
}
