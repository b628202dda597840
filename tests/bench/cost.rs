//! What one routed read costs the processes of a backend and an agent: switches, CPU time and written bytes.

use std::path::PathBuf;

use anyhow::Context as _;
use orion_tests::{Process, World};
use serde_json::json;

/// The calls that are counted, after a tenth of them that are not.
const CALLS: u32 = 2_000;

/// What a process has used since its start.
#[derive(Debug, Clone, Copy)]
struct Used {
    voluntary_switches: u64,
    cpu_us: u64,
    written_bytes: u64,
}

impl Used {
    /// Reads what a process has used, over all its threads.
    fn of(process: &Process) -> anyhow::Result<Self> {
        let folder = PathBuf::from(format!("/proc/{}", process.pid().as_raw_nonzero()));
        let (mut voluntary_switches, mut cpu_ns) = (0, 0);
        for task in std::fs::read_dir(folder.join("task"))? {
            let task = task?.path();
            let status = std::fs::read_to_string(task.join("status"))?;
            voluntary_switches += field(&status, "voluntary_ctxt_switches:")?;
            let times = std::fs::read_to_string(task.join("schedstat"))?;
            let time = times.split_whitespace().next().context("no CPU time")?;
            cpu_ns += time.parse::<u64>()?;
        }
        let io = std::fs::read_to_string(folder.join("io"))?;
        let written_bytes = field(&io, "write_bytes:")?;
        Ok(Self { voluntary_switches, cpu_us: cpu_ns / 1000, written_bytes })
    }

    fn since(self, before: Self) -> Self {
        Self {
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            cpu_us: self.cpu_us.saturating_sub(before.cpu_us),
            written_bytes: self.written_bytes - before.written_bytes,
        }
    }
}

fn field(text: &str, name: &str) -> anyhow::Result<u64> {
    let line = text.lines().find(|line| line.starts_with(name)).context("no such field")?;
    Ok(line.trim_start_matches(name).trim().parse()?)
}

/// Measures reads, one in flight, with real processes over mTLS.
#[expect(clippy::print_stdout, reason = "the table is what was asked for")]
pub(crate) async fn run() -> anyhow::Result<serde_json::Value> {
    let world = World::new().await;
    let device = world.device("kiosk").start().await;
    let admin = world.admin();
    let read = async |count: u32| {
        for _ in 0..count {
            let call = admin.call(&device.name, "get_datetime", json!({})).await;
            anyhow::ensure!(call.state.is_closed(), "a call did not end: {call:?}");
        }
        Ok(())
    };
    read(CALLS / 10).await?;
    let (server, agent) = (world.server(), device.agent());
    let processes = [("backend", &server), ("agent", &agent)];
    let before = processes.iter().map(|(_, it)| Used::of(it)).collect::<Result<Vec<_>, _>>()?;
    read(CALLS).await?;
    let mut rows = Vec::new();
    println!(
        "{:<10}{:>20}{:>12}{:>18}",
        "one read", "voluntary switches", "CPU µs", "bytes to disk"
    );
    for ((name, process), before) in processes.iter().zip(before) {
        let used = Used::of(process)?.since(before);
        let each = |whole: u64| whole as f64 / f64::from(CALLS);
        println!(
            "{name:<10}{:>20.1}{:>12.0}{:>18.0}",
            each(used.voluntary_switches),
            each(used.cpu_us),
            each(used.written_bytes)
        );
        rows.push(json!({
            "process": name,
            "voluntary_switches": each(used.voluntary_switches),
            "cpu_us": each(used.cpu_us),
            "written_bytes": each(used.written_bytes),
        }));
    }
    Ok(rows.into())
}
