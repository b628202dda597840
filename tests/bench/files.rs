//! File tools beside programs and calls that do the same and nothing else. Orion is measured twice:
//! the executor alone, in this process, and the whole call through a real backend and agent, with
//! its checks, its record and the worker process that it runs in.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use orion_agent::apps::Apps;
use orion_agent::call::{Context, FileContext, Installation, Memory, RiskGate};
use orion_agent::programs::Programs;
use orion_agent::roots::Roots;
use orion_agent::tools::Installed;
use orion_agent::tools::find;
use orion_agent::trash::Trash;
use orion_domain::grants::{Grants, PathGrant};
use orion_domain::{Access, CallId, PathStyle, Places, Touches};
use orion_tests::World;
use serde_json::{Value, json};
use uuid::Uuid;

use super::ground::Ground;
use super::measure::median;
use super::peers::Peer;

const ROUNDS: usize = 9;
/// How many files are read or written in a round: one takes too short a time.
const READS: usize = 200;
const WRITES: usize = 20;

/// What is searched for: the tool, its arguments besides the path, and how the peer is asked.
struct Search {
    what: &'static str,
    tool: &'static str,
    arguments: Value,
    list: &'static str,
    folder: std::path::PathBuf,
    peer: Option<Peer>,
    missing: &'static str,
    ask: fn(&Peer, &Value, &Path) -> anyhow::Result<Vec<String>>,
}

/// Measures everything, prints it, and gives it as JSON.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) async fn run() -> anyhow::Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let began = Instant::now();
    let ground = Ground::make(folder.path())?;
    println!(
        "\n{ROUNDS} rounds each, alternating; 200,000 files, made in {:.0} s\n",
        began.elapsed().as_secs_f64()
    );
    let alone = Alone::new(folder.path())?;
    let world = World::new().await;
    let path = folder.path().display();
    let grants = json!({"profile": "operator", "paths": ["{files}", path.to_string()]});
    let ceiling =
        format!("[ceiling]\nprofile = \"operator\"\npaths = [\"{{files}}\", \"{path}\"]\n");
    let device = world.device("bench").grant(grants).ceiling(&ceiling).start().await;
    let whole = async |tool: &str, arguments: &Value| {
        let call = world.admin().call(&device.name, tool, arguments.clone()).await;
        call.data().clone()
    };

    println!("{:<44}{:>10}{:>10}{:>20}", "milliseconds", "orion", "peer", "ratio (spread)");
    let mut rows = Vec::new();
    for search in searches(&ground) {
        let Some(peer) = &search.peer else {
            println!("{:<44}{}", search.what, search.missing);
            continue;
        };
        let mut arguments = search.arguments.clone();
        arguments["path"] = json!(search.folder);
        let asked = || (search.ask)(peer, &search.arguments, &search.folder);
        same(&search, &alone.call(search.tool, arguments.clone())?, asked()?)?;
        same(&search, &whole(search.tool, &arguments).await, asked()?)?;
        let (mut ours, mut through, mut theirs, mut starts) = (vec![], vec![], vec![], vec![]);
        for _ in 0..ROUNDS {
            ours.push(timed(|| alone.call(search.tool, arguments.clone()))?);
            theirs.push(timed(asked)?);
            let began = Instant::now();
            whole(search.tool, &arguments).await;
            through.push(millis(began.elapsed()));
            starts.push(timed(|| peer.start())?);
        }
        rows.push(row(&format!("{}, executor", search.what), &ours, &theirs));
        rows.push(row(&format!("{}, whole call", search.what), &through, &theirs));
        let (start, ..) = median(starts);
        println!("{:<44}{:>20.1}", "  of the peer's, its process's start", start);
    }
    for (what, bytes) in [("4 KB", 4_000), ("64 KB", 64_000), ("900 KB", 900_000)] {
        rows.push(reading(&alone, &ground, what, bytes)?);
    }
    for (what, bytes) in [("4 KB", 4_000), ("900 KB", 900_000)] {
        rows.push(writing(&alone, &ground, what, bytes)?);
    }
    Ok(rows)
}

fn searches(ground: &Ground) -> Vec<Search> {
    let files = |peer: &Peer, arguments: &Value, folder: &Path| {
        peer.files(arguments["query"].as_str().unwrap_or_default(), folder)
    };
    let lines = |peer: &Peer, arguments: &Value, folder: &Path| {
        peer.lines(arguments["pattern"].as_str().unwrap_or_default(), folder)
    };
    let in_names = |what, query| Search {
        what,
        tool: "search_files",
        arguments: json!({"query": query, "max_results": 10_000}),
        list: "results",
        folder: ground.wide.clone(),
        peer: Peer::fd(),
        missing: "fd is not installed: apt-get install fd-find",
        ask: files,
    };
    let in_text = |what, pattern, folder: &Path| Search {
        what,
        tool: "search_text",
        arguments: json!({"pattern": pattern, "max_results": 5_000}),
        list: "matches",
        folder: folder.to_owned(),
        peer: Peer::rg(),
        missing: "rg is not installed: apt-get install ripgrep",
        ask: lines,
    };
    vec![
        in_names("search_files *.log, 8,000 found", "*.log"),
        in_names("search_files file-12345?.*, 10 found", "file-12345?.*"),
        in_text("search_text needle, 200,000 files", "needle", &ground.wide),
        in_text("search_text fn \\w+, 200 MB", "fn \\w+_[0-9]+", &ground.texts),
        in_text(
            "search_text [a-z]+ing is late 7$, 200 MB",
            "[a-z]+ing is late .*7$",
            &ground.texts,
        ),
    ]
}

/// Speed counts for nothing where what is found differs.
fn same(search: &Search, data: &Value, mut theirs: Vec<String>) -> anyhow::Result<()> {
    ensure!(data["truncated"] == json!(false), "{}: more than can be told", search.what);
    let list = data[search.list].as_array().context("no list")?;
    let mut ours: Vec<String> = list
        .iter()
        .map(|it| match it["line"].as_u64() {
            Some(line) => {
                let text = |name: &str| it[name].as_str().unwrap_or_default();
                format!("{}:{line}:{}", text("path"), text("text"))
            }
            None => it["path"].as_str().unwrap_or_default().to_owned(),
        })
        .collect();
    ensure!(!ours.is_empty(), "{}: nothing is found", search.what);
    ours.sort_unstable();
    theirs.sort_unstable();
    ensure!(ours == theirs, "{}: {} found, and {} beside", search.what, ours.len(), theirs.len());
    Ok(())
}

fn reading(alone: &Alone, ground: &Ground, what: &str, bytes: usize) -> anyhow::Result<Value> {
    let path = ground.desk.join(format!("read-{bytes}"));
    let text = format!("{}\n", "x".repeat(79)).repeat(bytes / 80);
    fs::write(&path, &text)?;
    let arguments = json!({"path": path, "limit": 100_000});
    let read = alone.call("read_file", arguments.clone())?;
    ensure!(read["content"] == json!(text), "read_file reads something else");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(timed(|| repeat(READS, || alone.call("read_file", arguments.clone())))?);
        theirs.push(timed(|| repeat(READS, || Ok(fs::read_to_string(&path)?)))?);
    }
    Ok(row(&format!("read_file {what} × {READS}, executor"), &ours, &theirs))
}

fn writing(alone: &Alone, ground: &Ground, what: &str, bytes: usize) -> anyhow::Result<Value> {
    let text = format!("{}\n", "y".repeat(79)).repeat(bytes / 80);
    let (mine, plain) = (ground.desk.join("mine"), ground.desk.join("plain"));
    let arguments = json!({"path": mine, "content": text});
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(timed(|| repeat(WRITES, || alone.call("write_file", arguments.clone())))?);
        theirs.push(timed(|| repeat(WRITES, || write(&plain, &text)))?);
    }
    ensure!(fs::read(mine)? == fs::read(plain)?, "write_file writes something else");
    Ok(row(&format!("write_file {what} × {WRITES}, executor"), &ours, &theirs))
}

/// The least that changes a file as a whole and lasts.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let beside = path.with_extension("new");
    let mut file = fs::File::create(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, path)?;
    Ok(())
}

fn repeat<T>(times: usize, mut what: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<()> {
    for _ in 0..times {
        std::hint::black_box(what()?);
    }
    Ok(())
}

fn timed<T>(what: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let began = Instant::now();
    std::hint::black_box(what()?);
    Ok(millis(began.elapsed()))
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
fn row(what: &str, ours: &[f64], theirs: &[f64]) -> Value {
    let (orion, ..) = median(ours.to_vec());
    let (peer, ..) = median(theirs.to_vec());
    let ratios = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    let (ratio, least, most) = median(ratios);
    println!(
        "{what:<44}{orion:>10.1}{peer:>10.1}{:>20}",
        format!("{ratio:.2} ({least:.2}–{most:.2})")
    );
    json!({"what": what, "orion_ms": orion, "peer_ms": peer, "ratio": ratio, "least": least, "most": most})
}

/// The executors with all they need, and nobody around them.
pub(crate) struct Alone {
    pub(crate) roots: Roots,
    pub(crate) places: Places,
    apps: Apps,
    programs: Programs,
    pub(crate) trash: Trash,
}

impl Alone {
    pub(crate) fn new(folder: &Path) -> anyhow::Result<Self> {
        let text = folder.to_str().context("a folder whose name is no text")?;
        let places = Places::parse(PathStyle::Posix, Some(text), Some(text))
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        let access = [Access::Read, Access::Write].into();
        let paths = vec![PathGrant { path: text.to_owned(), access }];
        let (scope, _) = Grants { paths, ..Grants::default() }.compile(&places);
        let state = folder.join("state");
        fs::create_dir(&state)?;
        Ok(Self {
            roots: Roots::open(&scope, &scope, &[]),
            places,
            apps: Apps::default(),
            programs: Programs::default(),
            trash: Trash::open(&state)?,
        })
    }

    /// What a tool returns.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> anyhow::Result<Value> {
        let common = Context {
            call: CallId::new(Uuid::now_v7()),
            device_id: "bench",
            dry_run: false,
            roots: &self.roots,
            places: &self.places,
            installation: &Installation::default(),
            memory: &Memory::default(),
            cancelled: &AtomicBool::new(false),
            deadline: Instant::now() + Duration::from_secs(60),
            progress: &|_, _, _| {},
        };
        let context = FileContext {
            common,
            trash: &self.trash,
            risk: &RiskGate::default(),
            is_final: &std::cell::Cell::new(false),
            touches: &Touches::nothing(),
            undo: None,
            expected: None,
        };
        let installed =
            Installed { apps: &self.apps, programs: &self.programs, output: &|_, _| true };
        let executor = find(tool).context("no such tool")?;
        let outcome = executor
            .call(arguments, &context, installed)
            .map_err(|error| anyhow::anyhow!("{tool}: {}", error.message))?;
        Ok(serde_json::from_str(outcome.data.get())?)
    }
}
