//! How long workers are kept, and for whom.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_domain::CallId;
use serde_json::json;
use uuid::Uuid;

use super::super::Workers;
use super::super::pool::{Key, Pool};
use super::{MARKER, Trial, program};
use crate::process::WorkerProgram;
use crate::sandbox::Reach;
use crate::tools::testing::Device;

const PATIENCE: Duration = Duration::from_secs(30);

fn eventually(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn key(device: &Device, user: &str) -> Key {
    Key::of(&device.roots, None, Some(Reach::Read), Some(user.parse().unwrap()))
}

/// Takes a worker for a key, and gives it back. Returns its number.
fn used(pool: &Pool, key: &Key) -> u32 {
    let mut worker = pool.take(key).unwrap();
    worker.key = Some(key.clone());
    let pid = worker.process.id();
    pool.give_back(worker);
    pid
}

#[test]
fn a_worker_is_kept_for_the_same_person_in_the_same_folders_and_for_nobody_else() {
    let mut device = Device::new();
    let pool = Pool::new(program(), PATIENCE);
    let (ann, bob) = (key(&device, "ann"), key(&device, "bob"));
    let first = used(&pool, &ann);
    assert_eq!(used(&pool, &ann), first);
    assert_ne!(used(&pool, &bob), first, "another person");
    let other_reach = Key { reach: Some(Reach::Change), ..ann.clone() };
    assert_ne!(used(&pool, &other_reach), first, "other rights");
    // The folder has its name, and is another one.
    fs::rename(device.at("files"), device.at("moved")).unwrap();
    device.folder("files");
    assert_ne!(used(&pool, &key(&device, "ann")), first, "another folder");
    assert_eq!(used(&pool, &ann), first);
    device.grant(&[("files", &[orion_domain::Access::Read])]);
    assert_ne!(used(&pool, &key(&device, "ann")), first, "another policy");
}

#[test]
fn a_new_policy_ends_the_workers_of_the_old_one_and_has_one_ready() {
    let device = Device::new();
    let pool = Pool::new(program(), PATIENCE);
    let old = used(&pool, &key(&device, "ann"));
    let under_way = pool.take(&Key { reach: None, ..key(&device, "ann") }).unwrap();
    let also_old = under_way.process.id();
    pool.renew();
    let is_there = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
    assert!(!is_there(old), "the old one is still there");
    assert!(is_there(also_old), "one that runs a call runs it to its end");
    pool.give_back(under_way);
    assert!(!is_there(also_old), "and is not kept for another");
    eventually("no worker is ready", || pool.count() == 1);
}

#[test]
fn nothing_is_kept_when_there_are_no_calls() {
    let device = Device::new();
    let pool = Pool::new(program(), Duration::from_millis(300));
    pool.renew();
    used(&pool, &key(&device, "ann"));
    assert!(pool.count() > 0);
    eventually("a worker is kept", || pool.count() == 0);
    // And they come back.
    used(&pool, &key(&device, "ann"));
    drop(pool);
}

#[test]
fn no_more_are_kept_than_there_is_room_for() {
    let device = Device::new();
    let pool = Arc::new(Pool::new(program(), PATIENCE));
    let taken: Vec<_> = (0..8).map(|n| (n, pool.take(&key(&device, &format!("p{n}"))))).collect();
    for (number, worker) in taken {
        let mut worker = worker.unwrap();
        worker.key = Some(key(&device, &format!("p{number}")));
        pool.give_back(worker);
    }
    // Four, and one that is bound to nothing.
    eventually("too many are kept", || pool.count() <= 5);
}

const AGENT: &str = "ORION_TEST_AGENT";

/// Stands for an agent in the test below. Does nothing in an ordinary run of the tests.
#[test]
fn is_an_agent_with_workers() {
    let Some(note) = std::env::var_os(AGENT) else { return };
    assert!(std::env::var_os(MARKER).is_none());
    let device = Device::new();
    let workers = Workers::of(program());
    workers.renew();
    let call = || CallId::new(Uuid::now_v7());
    let idle = Trial::of(&device, "test_wait", json!({"ms": 0})).run(&workers, call(), false);
    let idle = idle.unwrap().data["pid"].as_u64().unwrap();
    fs::write(note, idle.to_string()).unwrap();
    // One worker is idle, one is bound to nothing, and this one never ends.
    drop(Trial::of(&device, "test_spin", json!({})).run(&workers, call(), true));
}

#[test]
fn no_worker_outlives_an_agent_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    let name = "workers::tests::kept::is_an_agent_with_workers";
    let value = note.to_str().unwrap();
    let mut agent = WorkerProgram::of_this_test(name, AGENT).given(AGENT, value).start().unwrap();
    eventually("no worker ran", || fs::read(&note).is_ok_and(|it| !it.is_empty()));
    // The other call needs a moment to begin.
    let children = || children_of(agent.id());
    eventually("there are no two workers", || children().len() >= 2);
    let children = children();
    agent.kill();
    let began = Instant::now();
    eventually("a worker is left", || children.iter().all(|pid| !is_running(pid)));
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

fn children_of(parent: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
