//! However a tool misbehaves, its call ends in time with what happened, and nothing of it is left.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use orion_domain::{CallId, ErrorCode, ToolError};
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::Workers;
use super::{CROWDED, MARKER, Trial, program};
use crate::tools::testing::Device;

/// How long after its deadline or its cancelling a call may take.
const LATEST: Duration = Duration::from_secs(2);
const SHORT: Duration = Duration::from_millis(300);

fn established(error: &ToolError) -> Option<&Value> {
    error.details.get("established")
}

#[test]
fn a_tool_that_never_looks_at_its_clock_is_gone_soon_after_its_deadline() {
    let device = Device::new();
    for has_effects in [false, true] {
        let began = Instant::now();
        let trial = Trial::of(&device, "test_spin", json!({})).within(SHORT);
        let result = if has_effects { trial.changes().1 } else { trial.reads() };
        let error = result.unwrap_err();
        assert_eq!(error.code, ErrorCode::Timeout);
        assert!(began.elapsed() < SHORT + LATEST, "{:?}", began.elapsed());
        let expected = has_effects.then(|| json!("unchanged"));
        assert_eq!(established(&error), expected.as_ref());
    }
    assert!(Trial::of(&device, "test_look", json!({})).reads().is_ok(), "another one runs");
}

#[test]
fn a_tool_that_looks_at_its_clock_ends_by_itself_and_its_worker_stays() {
    let device = Device::new();
    let wait = |ms: u64| Trial::of(&device, "test_wait", json!({"ms": ms}));
    let first = wait(0).reads().unwrap().data;
    let error = wait(60_000).within(SHORT).reads().unwrap_err();
    assert_eq!((error.code, error.message.contains("was ended")), (ErrorCode::Timeout, false));
    let cancelled = AtomicBool::new(false);
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SHORT);
            cancelled.store(true, Ordering::Relaxed);
        });
        wait(60_000).until(&cancelled).reads().unwrap_err()
    });
    assert_eq!((error.code, error.message.contains("was ended")), (ErrorCode::Cancelled, false));
    assert_eq!(wait(0).reads().unwrap().data, first, "it is the same process");
}

#[test]
fn a_tool_that_goes_on_when_it_is_cancelled_is_killed() {
    let device = Device::new();
    let cancelled = AtomicBool::new(false);
    let began = Instant::now();
    let error = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(SHORT);
            cancelled.store(true, Ordering::Relaxed);
        });
        Trial::of(&device, "test_spin", json!({})).until(&cancelled).reads().unwrap_err()
    });
    assert_eq!(error.code, ErrorCode::Cancelled);
    assert!(began.elapsed() < SHORT + LATEST, "{:?}", began.elapsed());
}

#[test]
fn a_tool_that_takes_too_much_memory_ends_alone_and_says_so() {
    let device = Device::new();
    for tool in ["test_hog", "test_swallow"] {
        let error = Trial::of(&device, tool, json!({})).reads().unwrap_err();
        assert_eq!(error.code, ErrorCode::ResourceExhausted, "{tool}: {error}");
        assert!(error.message.contains("of memory"), "{error}");
    }
}

#[test]
fn a_tool_that_fails_as_none_should_ends_alone_and_says_so() {
    let device = Device::new();
    for tool in ["test_panic", "test_abort"] {
        let error = Trial::of(&device, tool, json!({})).reads().unwrap_err();
        assert_eq!(error.code, ErrorCode::Internal, "{error}");
        assert!(!error.message.contains("/secret"), "{error}");
        let (_, result) = Trial::of(&device, tool, json!({})).changes();
        assert_eq!(established(&result.unwrap_err()), Some(&json!("unchanged")));
    }
}

#[test]
fn a_result_that_is_too_large_is_an_error_of_a_read_and_not_of_a_change() {
    let device = Device::new();
    let error = Trial::of(&device, "test_shout", json!({})).reads().unwrap_err();
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    assert!(error.message.contains("maximum"), "{error}");
}

#[test]
fn a_worker_makes_no_socket_and_signals_nobody() {
    let device = Device::new();
    let data = Trial::of(&device, "test_forbidden", json!({})).reads().unwrap().data;
    assert_eq!(data, json!([true, true, true]));
}

#[test]
fn a_worker_that_cannot_be_confined_runs_nothing() {
    let device = Device::new();
    let workers = Workers::of(program().given(MARKER, CROWDED));
    let call = CallId::new(Uuid::now_v7());
    let error = Trial::of(&device, "test_look", json!({})).run(&workers, call, true).unwrap_err();
    assert_eq!(error.code, ErrorCode::ExecutionFailed, "{error}");
}

/// The write is done when the worker is killed, and its call has not ended.
#[test]
fn a_worker_killed_after_a_change_leaves_whole_files_and_says_what_it_changed() {
    let device = Device::new();
    device.put("files/a.txt", "before");
    let arguments = json!({"path": "a.txt", "content": "after"});
    let trial = Trial::of(&device, "test_write_then_spin", arguments.clone()).within(SHORT);
    let (call, result) = trial.changes();
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout);
    assert_eq!(established(&error), Some(&json!("changed")), "{error}");
    assert_eq!(std::fs::read_to_string(device.at("files/a.txt")).unwrap(), "after");
    assert_eq!(device.litter(), [""; 0]);
    device.undo_of(&call.to_string(), &[&device.text("files/a.txt")]).unwrap();
    assert_eq!(std::fs::read_to_string(device.at("files/a.txt")).unwrap(), "before");
    // Nothing is held any more.
    let write = Trial::of(&device, "write_file", arguments).within(Duration::from_secs(5));
    write.changes().1.unwrap();
}

/// A worker is killed at moments all over a change of many steps. Whatever the moment, each file is whole, the
/// end says whether something was changed, and nothing is left over.
#[test]
fn a_worker_killed_in_the_middle_of_a_change_leaves_whole_files_and_a_true_end() {
    let mut ends = std::collections::BTreeSet::new();
    for step in 0..12 {
        let device = Device::new();
        for number in 0..80 {
            device.put(&format!("files/tree/{number}/x.txt"), vec![b'x'; 5_000]);
        }
        let before = device.files();
        let copy = json!({"source": "tree", "destination": "copy"});
        let folder = device.at("files");
        // The tool is not asked to end: a worker that is killed cannot look at a flag.
        let (_, result) = thread::scope(|scope| {
            scope.spawn(|| {
                let began = Instant::now();
                while !has_begun(&folder) && began.elapsed() < LATEST {
                    thread::sleep(Duration::from_micros(100));
                }
                thread::sleep(Duration::from_micros(step * 500));
                kill_workers();
            });
            Trial::of(&device, "copy_path", copy).changes()
        });
        let after = device.files();
        let changed = after.keys().any(|path| path.contains("/files/copy"));
        match &result {
            Ok(_) => assert!(changed),
            // Nothing was run where the worker was gone before the call.
            Err(error) if error.code == ErrorCode::ResourceExhausted => assert!(!changed),
            Err(error) => {
                let expected = if changed { "changed" } else { "unchanged" };
                assert_eq!(established(error), Some(&json!(expected)), "{error}");
            }
        }
        ends.insert((result.is_ok(), changed));
        if !changed {
            assert_eq!(after, before);
        }
        assert_eq!(device.litter(), [""; 0]);
    }
    assert!(ends.iter().any(|(is_ok, _)| !is_ok), "no worker was killed in time: {ends:?}");
}

/// Returns whether a copy is on its way into this folder.
fn has_begun(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with(".orion-"))
}

/// Kills every worker of this test process that has begun a call.
fn kill_workers() {
    use rustix::process::{Pid, Signal, getpid, kill_process};
    let own = getpid().as_raw_pid().to_string();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|it| it.parse::<i32>().ok()) else { continue };
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1));
        if parent == Some(&own) {
            // One that has ended since needs no signal.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}
