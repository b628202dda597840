//! Samples the processes of the device for the tools that list them. Never reads command lines or
//! environments, which hold secrets.

use orion_domain::{ErrorCode, ToolError, visible};
use sysinfo::{
    MINIMUM_CPU_UPDATE_INTERVAL, Pid, Process, ProcessRefreshKind, ProcessesToUpdate, System,
    ThreadKind, UpdateKind,
};

use super::Context;
use crate::call::reserve_memory;

/// Maximum number of processes that are looked at, those with the lowest ids.
pub(super) const MAX_PROCESSES: usize = 8192;
/// What sysinfo holds for one process, in bytes, rounded up.
const BYTES_PER_PROCESS: u64 = 1536;
/// Maximum length of a shown name, in characters.
const MAX_NAME: usize = 128;

/// What to find out about each process, besides its id and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The memory.
    Memory,
    /// The memory, the processor time over a moment, and the account.
    Usage,
}

/// The processes of one moment.
pub(super) struct Sample {
    /// The processes, which the caller orders and cuts before it makes texts of them.
    system: System,
    /// Whether there are more processes than are looked at.
    pub(super) truncated: bool,
}

impl Sample {
    /// Returns every process, in no order.
    pub(super) fn processes(&self) -> impl Iterator<Item = &Process> {
        self.system.processes().values().filter(|it| it.thread_kind() != Some(ThreadKind::Userland))
    }
}

/// Samples the processes. Takes two samples a moment apart for processor time.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`, and `NOT_SUPPORTED` where the operating system does not list its processes.
pub(super) fn sample(wanted: Wanted, context: &Context<'_>) -> Result<Sample, ToolError> {
    let pids = pids()?;
    let truncated = pids.as_ref().is_some_and(|pids| pids.len() > MAX_PROCESSES);
    let pids = pids.map(|pids| pids.into_iter().take(MAX_PROCESSES).collect::<Vec<_>>());
    let count = pids.as_ref().map_or(MAX_PROCESSES, Vec::len);
    reserve_memory(context, BYTES_PER_PROCESS.saturating_mul(count as u64))?;
    let which = pids.as_deref().map_or(ProcessesToUpdate::All, ProcessesToUpdate::Some);
    let kind = ProcessRefreshKind::nothing().without_tasks();
    let kind = match wanted {
        Wanted::Memory => kind.with_memory(),
        Wanted::Usage => kind.with_memory().with_cpu().with_user(UpdateKind::OnlyIfNotSet),
    };
    let mut system =
        System::new_with_specifics(sysinfo::RefreshKind::nothing()).map_err(|_| not_listed())?;
    context.check()?;
    system.refresh_processes_specifics(which, true, kind);
    if wanted == Wanted::Usage {
        context.wait(MINIMUM_CPU_UPDATE_INTERVAL)?;
        system.refresh_processes_specifics(which, true, kind);
    }
    context.check()?;
    Ok(Sample { system, truncated })
}

/// Returns the ids of all processes, one more than are looked at if there are more. `None` where sysinfo
/// lists them itself.
#[cfg(target_os = "linux")]
fn pids() -> Result<Option<Vec<Pid>>, ToolError> {
    let entries = std::fs::read_dir("/proc").map_err(|_| not_listed())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    Ok(Some(names.take(MAX_PROCESSES + 1).map(Pid::from_u32).collect()))
}

#[cfg(not(target_os = "linux"))]
fn pids() -> Result<Option<Vec<Pid>>, ToolError> {
    Ok(None)
}

fn not_listed() -> ToolError {
    ToolError::new(
        ErrorCode::NotSupported,
        "The operating system does not list its processes for the agent.",
    )
}

/// Returns the name of a process, as shown: any program chooses its own.
pub(super) fn name(process: &Process) -> String {
    visible(&process.name().to_string_lossy().chars().take(MAX_NAME).collect::<String>())
}

/// Returns the account that a process runs as, by name or by number.
#[cfg(unix)]
pub(super) fn user(process: &Process) -> Option<String> {
    let name = super::get_file_info::account_name(**process.effective_user_id()?);
    Some(visible(&name.chars().take(MAX_NAME).collect::<String>()))
}

#[cfg(not(unix))]
pub(super) fn user(_: &Process) -> Option<String> {
    None
}
