//! kill -9 of the agent at any instant while it changes files: each file is the old or the new whole,
//! what was swapped out is in the trash, and once the agent runs again there is no litter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_catalog::find;
use orion_catalog::tools::undo_call::paths_of;
use orion_tests::{Deceived, Link, LyingServer};
use orion_wire::v1;
use orion_wire::v1::{link_request, link_response};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

const CONFIG: &str = "[ceiling]\nprofile = \"operator\"\npaths = [{ path = \"{files}\", access = [\"read\", \"write\", \"delete\"] }]\n";
/// How long an agent may take for the answers of one round.
const PATIENCE: Duration = Duration::from_secs(60);
const WRITES: usize = 1_000;
const FILES: usize = 8;

async fn grant(link: &mut Link, device: &Deceived) {
    let everything = json!(["read", "write", "delete"]);
    let grants =
        json!({"profile": "operator", "paths": [{"path": device.files(), "access": everything}]});
    assert_eq!(link.grant(grants).await.error, "");
}

/// Some number below this one.
fn any(below: u128) -> u64 {
    u64::try_from(Uuid::now_v7().as_u128() % (1 << 60) % below).unwrap()
}

/// A call under way, or answered.
struct Asked {
    call_id: String,
    work: usize,
    tool: &'static str,
    arguments: Value,
    /// How it ended, if it was said: the code, empty for a success.
    code: Option<String>,
}

/// Makes calls, several at once, until the agent is killed in the middle of them; starts it again, and
/// tells what was asked. `next` gives the next call of one of so many kinds of work, if there is one.
async fn until_killed(
    server: &LyingServer,
    device: &mut Deceived,
    link: &mut Link,
    works: usize,
    mut next: impl FnMut(usize, &[Asked]) -> Option<(&'static str, Value)>,
) -> Vec<Asked> {
    let mut asked: Vec<Asked> = Vec::new();
    let mut idle: Vec<usize> = (0..works).collect();
    // So many answers, and then anywhere in the calls after them, to the microsecond.
    let mut left = any(60);
    let mut end = Instant::now() + PATIENCE;
    loop {
        while let Some(work) = idle.pop() {
            let Some((tool, arguments)) = next(work, &asked) else { continue };
            let mut order = link.order(tool, &arguments);
            if find(tool).unwrap().0.risk.is_dangerous() {
                order.approval = Some(link.approval_of(&order));
            }
            let call_id = order.call_id.clone();
            asked.push(Asked { call_id, work, tool, arguments, code: None });
            link.send(link_response::Message::Dispatch(order)).await;
        }
        match timeout_at(end, link.receive()).await {
            Ok(Some(message)) => {
                let answered = note(&mut asked, &message);
                left = left.saturating_sub(u64::from(answered.is_some()));
                if left == 0 {
                    end = end.min(Instant::now() + Duration::from_micros(any(20_000)));
                }
                idle.extend(answered);
            }
            Ok(None) => panic!("the device left by itself"),
            Err(_) => break,
        }
    }
    device.kill9_and_restart().await;
    // What it said with its last breath counts as well.
    while let Some(message) = link.receive().await {
        note(&mut asked, &message);
    }
    *link = server.link().await;
    grant(link, device).await;
    for Asked { call_id, .. } in &asked {
        let call_id = call_id.clone();
        link.send(link_response::Message::ResultAck(v1::ResultAck {
            call_id,
            audit: None,
            state: 0,
        }))
        .await;
    }
    asked
}

/// Notes an answer; whose work it ends.
fn note(asked: &mut [Asked], message: &link_request::Message) -> Option<usize> {
    let link_request::Message::CallResult(result) = message else { return None };
    let one = asked.iter_mut().find(|one| one.call_id == result.call_id)?;
    one.code = Some(result.code.clone());
    Some(one.work)
}

/// Every file below a folder.
fn files_in(folder: &Path) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_in(&path));
        } else {
            files.insert(path);
        }
    }
    files
}

fn assert_no_litter(device: &Deceived) {
    let is_litter = |path: &PathBuf| path.to_string_lossy().contains("/.orion-");
    let litter: Vec<_> = files_in(&device.files()).into_iter().filter(is_litter).collect();
    assert!(litter.is_empty(), "{litter:?}");
    let trash = std::fs::read_dir(device.state_dir().join("trash")).unwrap();
    let open = |name: &String| name.ends_with(".open");
    let names = trash.map(|it| it.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(open).collect::<Vec<_>>(), [""; 0]);
}

fn content(file: usize, version: usize) -> String {
    let line = format!("{file} {version}\n");
    line.repeat(1 + version * 7919 % 20_000)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_writes_are_cut_off_and_each_file_is_whole() {
    let server = LyingServer::start().await;
    let mut device = Deceived::start(&server, CONFIG).await;
    let mut link = server.link().await;
    grant(&mut link, &device).await;
    let (mut written, mut cut_off, mut happened) = (0, 0, 0);
    // Which version each file has; none is there in the beginning.
    let mut versions: [Option<usize>; FILES] = [None; FILES];
    while written < WRITES {
        let mut tried: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let asked = until_killed(&server, &mut device, &mut link, FILES, |file, _| {
            written += 1;
            tried.entry(file).or_default().push(written);
            let path = format!("{file}/deep/file");
            Some(("write_file", json!({"path": path, "content": content(file, written)})))
        })
        .await;
        assert_no_litter(&device);
        for (file, tried) in tried {
            let calls: Vec<&Asked> = asked.iter().filter(|one| one.work == file).collect();
            for (call, version) in calls.iter().zip(&tried) {
                let before = versions[file];
                let now = std::fs::read_to_string(device.files().join(format!("{file}/deep/file")));
                let is_done = match &call.code {
                    Some(code) => {
                        assert_eq!(code, "", "a write that was answered succeeded");
                        true
                    }
                    None => {
                        cut_off += 1;
                        let new = now.as_deref().is_ok_and(|now| now == content(file, *version));
                        let old = now.ok() == before.map(|before| content(file, before));
                        assert!(new || old, "file {file} is neither the old nor the new");
                        happened += usize::from(new);
                        new
                    }
                };
                if !is_done {
                    continue;
                }
                versions[file] = Some(*version);
                if let Some(before) = before {
                    let kept = device.state_dir().join("trash").join(&call.call_id);
                    let kept = std::fs::read_to_string(kept.join("content-0")).unwrap();
                    assert!(kept == content(file, before), "what was swapped out is not kept");
                }
            }
            let now = std::fs::read_to_string(device.files().join(format!("{file}/deep/file")));
            let whole = versions[file].map(|version| content(file, version));
            assert!(now.ok() == whole, "file {file} is not what its last write left");
        }
    }
    assert!(
        cut_off > 20 && happened > 0,
        "{cut_off} of {written} were cut off, {happened} of these happened"
    );
}

/// What is done to the files of one folder, every other time to take it back.
fn next_of(work: usize, step: usize, asked: &[Asked]) -> (&'static str, Value) {
    let at = |name: &str| format!("{work}/{name}");
    let last = asked.iter().rev().find(|one| one.work == work && one.tool != "undo_call");
    if let Some(last) = last.filter(|_| step % 2 == 1) {
        let paths = paths_of(last.tool, last.arguments.as_object().unwrap());
        return ("undo_call", json!({"call_id": last.call_id, "paths": paths}));
    }
    match step / 2 % 7 {
        0 => ("move_path", json!({"source": at("a"), "destination": at("b"), "overwrite": true})),
        1 => {
            ("delete_directory", json!({"path": at("folder"), "recursive": true, "confirm": true}))
        }
        2 => ("copy_path", json!({"source": at("a"), "destination": at("b"), "overwrite": true})),
        3 => ("copy_path", json!({"source": at("folder"), "destination": at("copy")})),
        4 => ("delete_file", json!({"path": at("a"), "confirm": true})),
        5 => ("move_path", json!({"source": at("folder"), "destination": at("moved")})),
        _ => ("edit_file", json!({"path": at("b"), "old_text": "b of", "new_text": "edited"})),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_moved_deleted_copied_and_taken_back_is_never_lost() {
    const WORKS: usize = 5;
    let server = LyingServer::start().await;
    let mut device = Deceived::start(&server, CONFIG).await;
    let mut link = server.link().await;
    grant(&mut link, &device).await;
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut step = [0, 3, 6, 9, 12];
    for round in 0..20 {
        let text = |what: &str, work: usize| format!("{what} of {work} in round {round}");
        for work in 0..WORKS {
            let folder = device.files().join(format!("{work}"));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(folder.join("folder/inner")).unwrap();
            for (name, what) in [("a", "a"), ("b", "b"), ("folder/inner/x", "x")] {
                std::fs::write(folder.join(name), text(what, work)).unwrap();
            }
        }
        let asked = until_killed(&server, &mut device, &mut link, WORKS, |work, asked| {
            step[work] += 1;
            Some(next_of(work, step[work], asked))
        })
        .await;
        for Asked { tool, code, .. } in &asked {
            *ends.entry(format!("{tool} {code:?}")).or_default() += 1;
        }
        assert_no_litter(&device);
        let mut found = BTreeSet::new();
        for folder in [device.files(), device.state_dir().join("trash")] {
            found.extend(files_in(&folder).iter().map(|it| std::fs::read_to_string(it).unwrap()));
        }
        for (what, work) in (0..WORKS).flat_map(|work| ["a", "b", "x"].map(|what| (what, work))) {
            assert!(found.contains(&text(what, work)), "{} is lost", text(what, work));
        }
    }
    assert!(ends.get("undo_call Some(\"\")").is_some_and(|count| *count > 3), "{ends:?}");
    assert!(ends.get("undo_call None").is_some_and(|count| *count > 3), "{ends:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_may_not_become_so_large_stays_as_it_was() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let server = LyingServer::start().await;
    let device = Deceived::start(&server, CONFIG).await;
    let mut link = server.link().await;
    grant(&mut link, &device).await;
    std::fs::write(device.files().join("a"), "old").unwrap();
    let limit = Rlimit { current: Some(100_000), maximum: None };
    // The limit is that of the agent and of the workers that it has started.
    let agent = device.agent().pid();
    let workers = crate::bounds::children_of(agent.as_raw_pid());
    let pids = workers.iter().filter_map(|pid| Pid::from_raw(pid.parse().unwrap()));
    for pid in pids.chain([agent]) {
        prlimit(Some(pid), Resource::Fsize, limit).unwrap();
    }
    let write = |content: String| json!({"path": "a", "content": content});
    let order = link.order("write_file", &write("x".repeat(120_000)));
    let failed = ("failed".to_owned(), "RESOURCE_EXHAUSTED".to_owned());
    assert_eq!(link.dispatch(order).await, failed);
    assert_eq!(std::fs::read_to_string(device.files().join("a")).unwrap(), "old");
    assert_no_litter(&device);
    let order = link.order("write_file", &write("small".to_owned()));
    assert_eq!(link.dispatch(order).await.0, "succeeded");
}
