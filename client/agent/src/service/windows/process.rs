//! The process of an agent, seen from another one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::config::files_of_an_upgrade;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Returns whether a process runs this program and was started since then, Unix milliseconds: the program of this name may
/// have been another one before.
pub(in super::super) fn runs(pid: u32, program: &Path, since: i64) -> bool {
    let is_it = || {
        let system = look_at(pid)?;
        let process = system.process(Pid::from_u32(pid))?;
        // The time is in whole seconds.
        let started = i64::try_from(process.start_time()).ok()?.saturating_mul(1_000) + 999;
        let is_same = fs::canonicalize(process.exe()?).ok()? == fs::canonicalize(program).ok()?;
        Some(is_same && started >= since)
    };
    is_it().unwrap_or(false)
}

/// Returns the program of a process. None if there is no such process.
fn program_of(pid: u32) -> Option<PathBuf> {
    look_at(pid)?.process(Pid::from_u32(pid))?.exe().map(Path::to_owned)
}

/// Waits until a process of an agent is gone. Returns whether it is.
pub(super) async fn is_gone(pid: u32, within: Duration) -> bool {
    let until = Instant::now() + within;
    loop {
        if !is_agent(pid) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns whether a process is an agent: its number may be another one's by now. The program of an agent that is being
/// upgraded has another name.
fn is_agent(pid: u32) -> bool {
    let Some(program) = program_of(pid) else { return false };
    let agent = program.with_file_name("orion-agent.exe");
    let [_, previous, ..] = files_of_an_upgrade(&agent);
    [agent, previous].iter().any(|it| it.as_os_str().eq_ignore_ascii_case(&program))
}

/// Ends a process of an agent.
pub(super) fn end(pid: u32) {
    let system = look_at(pid).filter(|_| is_agent(pid));
    if let Some(process) = system.as_ref().and_then(|system| system.process(Pid::from_u32(pid))) {
        // Whether it ended is seen afterwards.
        process.kill();
    }
}

/// Returns what the system says of a process.
fn look_at(pid: u32) -> Option<System> {
    let mut system = System::new().ok()?;
    let wanted = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
    let pids = [Pid::from_u32(pid)];
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&pids), true, wanted);
    Some(system)
}
