//! A call of a file tool in a worker process, beside the same call in a thread of its own that Landlock confines,
//! and in this thread without any confinement. What is measured is `read_file` of 4 KB: nearly all of it is the
//! way to the tool and back.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, Scope,
};
use orion_agent::call::{Installation, Memory, ObservationMode};
use orion_agent::process::WorkerProgram;
use orion_agent::sandbox::Reach;
use orion_agent::workers::{FileCall, Workers};
use orion_domain::{CallId, Touches};
use serde_json::{Value, json};
use uuid::Uuid;

use super::files::Alone;
use super::measure::median;

const ROUNDS: usize = 9;
/// How many calls are made in a round.
const CALLS: u32 = 200;

/// Measures, prints and returns the ratios.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) fn run() -> anyhow::Result<Value> {
    let folder = tempfile::tempdir()?;
    let alone = Alone::new(folder.path())?;
    let path = folder.path().join("read");
    fs::write(&path, "x".repeat(4_000))?;
    let arguments = json!({"path": path});
    let program = || WorkerProgram::of_agent_at(orion_tests::program("orion-agent"));
    let kept = Workers::of(program());
    // A worker that is not kept at all is started for its call.
    let fresh = || in_worker(&Workers::of(program()), &alone, &arguments);
    let expected = alone.call("read_file", arguments.clone())?;
    ensure!(in_worker(&kept, &alone, &arguments)? == expected, "a worker reads something else");
    let (mut plain, mut thread, mut worker, mut first) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        let base = each(CALLS, &|| alone.call("read_file", arguments.clone()))?;
        plain.push(base * 1e6);
        let confined = each(CALLS, &|| in_thread(folder.path(), &alone, &arguments))?;
        thread.push(confined * 1e6);
        worker.push(each(CALLS, &|| in_worker(&kept, &alone, &arguments))? / confined);
        first.push(each(CALLS / 10, &fresh)? / confined);
    }
    let [plain, thread, worker, first] = [plain, thread, worker, first].map(median);
    println!("\n{ROUNDS} rounds of {CALLS} calls each, alternating; median (smallest to largest)");
    println!("read_file, no confinement    {:.0} µs ({:.0} to {:.0})", plain.0, plain.1, plain.2);
    println!(
        "in a confined thread         {:.0} µs ({:.0} to {:.0})",
        thread.0, thread.1, thread.2
    );
    let times = |what: &str, it: (f64, f64, f64)| {
        println!("{what} {:.2} times the thread ({:.2} to {:.2})", it.0, it.1, it.2);
    };
    times("in a worker that is kept    ", worker);
    times("in a worker started for it  ", first);
    Ok(json!([
        {"what": "read_file without confinement", "us": plain.0},
        {"what": "read_file in a confined thread", "us": thread.0},
        {"what": "read_file in a worker that is kept", "times": worker.0, "spread": [worker.1, worker.2]},
        {"what": "read_file in a worker started for it", "times": first.0, "spread": [first.1, first.2]},
    ]))
}

/// Returns what one call takes, in seconds.
fn each(calls: u32, call: &dyn Fn() -> anyhow::Result<Value>) -> anyhow::Result<f64> {
    let began = Instant::now();
    for _ in 0..calls {
        std::hint::black_box(call()?);
    }
    Ok(began.elapsed().as_secs_f64() / f64::from(calls))
}

/// Runs the call as the agent did before it had workers.
fn in_thread(folder: &Path, alone: &Alone, arguments: &Value) -> anyhow::Result<Value> {
    let run = || {
        let abi = ABI::V6;
        let reading = AccessFs::ReadFile | AccessFs::ReadDir;
        Ruleset::default()
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .add_rule(PathBeneath::new(PathFd::new(folder)?, reading))?
            .restrict_self()?;
        alone.call("read_file", arguments.clone())
    };
    std::thread::scope(|scope| {
        let ended = scope.spawn(run).join();
        ended.map_err(|_| anyhow::anyhow!("the thread panicked"))?
    })
}

fn in_worker(workers: &Workers, alone: &Alone, arguments: &Value) -> anyhow::Result<Value> {
    let outcome = workers.run(FileCall {
        call: CallId::new(Uuid::now_v7()),
        tool: "read_file",
        arguments: arguments.clone(),
        dry_run: false,
        has_effects: false,
        reach: Some(Reach::Read),
        roots: &alone.roots,
        touches: &Touches::nothing(),
        seeing: &ObservationMode::Nothing,
        undo: None,
        verdict: None,
        approved_raises: Vec::new(),
        trash: &alone.trash,
        places: &alone.places,
        device_id: "bench",
        installation: &Installation::default(),
        memory: &Memory::default(),
        deadline: Instant::now() + Duration::from_secs(60),
        cancelled: &AtomicBool::new(false),
        progress: &|_, _, _| {},
    });
    Ok(serde_json::from_str(outcome.context("a worker")?.data.get())?)
}
