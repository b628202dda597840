//! A program in its sandbox beside the same program started plainly, and beside bubblewrap where it is
//! installed. The program is `true`: all that is measured is what starting and ending costs.

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use orion_agent::process::{Bounds, Launch, Launcher};
use orion_agent::sandbox::{Metadata, Network, Rights};
use rustix::fs::{CWD, Mode, OFlags, openat};
use serde_json::{Value, json};

use super::measure::median;

const ROUNDS: usize = 9;
/// How often the program is started in a round.
const STARTS: u32 = 50;
const PROGRAM: &str = "/usr/bin/true";
const FOLDERS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Measures, prints and returns the ratios.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) fn run() -> anyhow::Result<Value> {
    let sandbox = Sandbox::new()?;
    let has_bubblewrap = bubblewrap().is_ok();
    let (mut plain, mut kept, mut wrapped) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let base = each(&mut started)?;
        plain.push(base.as_secs_f64() * 1e3);
        kept.push(each(&mut || sandbox.start())?.as_secs_f64() / base.as_secs_f64());
        if has_bubblewrap {
            wrapped.push(each(&mut bubblewrap)?.as_secs_f64() / base.as_secs_f64());
        }
    }
    let (plain, kept) = (median(plain), median(kept));
    println!("{ROUNDS} rounds of {STARTS} starts each, alternating; median (smallest to largest)");
    println!("plain start of `true`      {:.2} ms ({:.2} to {:.2})", plain.0, plain.1, plain.2);
    println!("in Orion's sandbox         {:.1} times ({:.1} to {:.1})", kept.0, kept.1, kept.2);
    let wrapped = has_bubblewrap.then(|| median(wrapped));
    match wrapped {
        Some(it) => {
            println!("by bubblewrap              {:.1} times ({:.1} to {:.1})", it.0, it.1, it.2)
        }
        None => println!("by bubblewrap              not measured: bwrap does not start here"),
    }
    Ok(json!([
        {"what": "plain start", "ms": plain.0},
        {"what": "in Orion's sandbox", "times": kept.0, "spread": [kept.1, kept.2]},
        {"what": "by bubblewrap", "times": wrapped.map(|it| it.0)},
    ]))
}

/// Returns what one start takes.
fn each(start: &mut dyn FnMut() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let began = Instant::now();
    for _ in 0..STARTS {
        start()?;
    }
    Ok(began.elapsed() / STARTS)
}

fn started() -> anyhow::Result<()> {
    succeeds(PROGRAM, &[])
}

fn bubblewrap() -> anyhow::Result<()> {
    let bind = ["--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", PROGRAM];
    succeeds("bwrap", &bind)
}

#[expect(clippy::disallowed_methods, reason = "this is what the sandbox is measured beside")]
fn succeeds(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    ensure!(command.output()?.status.success(), "{program} failed");
    Ok(())
}

/// The sandbox of a program that only reads, as a call gives it.
struct Sandbox {
    launcher: Launcher,
    launch: Launch,
    handles: Vec<OwnedFd>,
}

impl Sandbox {
    fn new() -> anyhow::Result<Self> {
        let open = |path: &Path| {
            openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).context("a folder")
        };
        let folders = FOLDERS.iter().map(Path::new).filter(|path| path.exists());
        let mut handles = folders.map(open).collect::<anyhow::Result<Vec<_>>>()?;
        let rights = vec![Rights::Execute; handles.len()];
        handles.push(open(Path::new("/"))?);
        let bounds =
            Bounds { time_ms: 10_000, memory: 1 << 30, processes: 64, file_bytes: 1 << 20 };
        let launch = Launch {
            program: PathBuf::from(PROGRAM),
            name: "true".to_owned(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            rights,
            network: Network::Nothing,
            metadata: Metadata::Nothing,
            bounds,
        };
        let launcher = Launcher::of_agent_at(orion_tests::program("orion-agent"));
        Ok(Self { launcher, launch, handles })
    }

    fn start(&self) -> anyhow::Result<()> {
        let handles: Vec<_> = self.handles.iter().map(|handle| handle.as_fd()).collect();
        let ended = self.launcher.run(&self.launch, &handles, &mut |_| {}, &|| true)?;
        ensure!(ended.exit_code == Some(0), "{ended:?}");
        Ok(())
    }
}
