//! Whether the service runs its program and is connected.

use std::path::Path;
use std::time::{Duration, Instant};

use super::Layout;
use crate::state::Status;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How the service stands after it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Connection {
    /// It is connected to this address.
    Connected(String),
    /// It is not connected, and why, as a sentence. None where that is not known.
    NotYet(Option<String>),
    /// It is not connected, and only a person can change that. Why, as a sentence.
    Refused(String),
}

impl Connection {
    pub(super) const fn is_connected(&self) -> bool {
        matches!(self, Self::Connected(_))
    }
}

/// Waits until the service runs this program and is connected, or cannot be, or the time is over. What an agent wrote
/// before `since`, Unix milliseconds, does not count.
pub async fn connects(layout: &Layout, program: &Path, since: i64, within: Duration) -> Connection {
    let until = Instant::now() + within;
    loop {
        let Status { connected_to, last_error, needs_person, .. } =
            status_of(layout, program, since).unwrap_or_default();
        match (connected_to, last_error) {
            (Some(address), _) => return Connection::Connected(address),
            (None, Some(error)) if needs_person => return Connection::Refused(error),
            (None, error) if Instant::now() >= until => return Connection::NotYet(error),
            (None, _) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// Returns the address that the service is connected to. None if it is not, or if it runs another file than the
/// program is now: one that was replaced is another.
pub(super) fn connected_to(layout: &Layout, program: &Path, since: i64) -> Option<String> {
    status_of(layout, program, since)?.connected_to
}

/// Returns what the service wrote since then that runs this program.
fn status_of(layout: &Layout, program: &Path, since: i64) -> Option<Status> {
    let status = Status::read(&layout.state_dir).filter(|status| status.at >= since)?;
    runs(status.pid, program, since).then_some(status)
}

/// Returns whether a process runs this program. One that was replaced is another file.
#[cfg(target_os = "linux")]
fn runs(pid: u32, program: &Path, _: i64) -> bool {
    is_same_file(Path::new(&format!("/proc/{pid}/exe")), program)
}

/// Returns whether a process runs this program and was started since then, Unix milliseconds: the program of this name may
/// have been another one before.
#[cfg(target_os = "macos")]
fn runs(pid: u32, program: &Path, since: i64) -> bool {
    use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

    let Ok(mut system) = System::new() else { return false };
    let wanted = ProcessRefreshKind::nothing().with_exe(UpdateKind::Always);
    let pid = Pid::from_u32(pid);
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, wanted);
    let Some(process) = system.process(pid) else { return false };
    // The time is in whole seconds.
    let started = i64::try_from(process.start_time()).unwrap_or(0).saturating_mul(1_000) + 999;
    started >= since && process.exe().is_some_and(|running| is_same_file(running, program))
}

#[cfg(windows)]
use super::windows::runs;

/// Returns whether this process runs this program.
pub(super) fn is_this_program(program: &Path) -> bool {
    runs(std::process::id(), program, 0)
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path: &Path| std::fs::metadata(path).map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}
