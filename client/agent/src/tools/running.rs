//! Finds the processes that run a program, among those of the agent's own account.

use std::path::Path;

use orion_domain::ToolError;

use crate::call::Context;

/// Maximum number of processes that are looked at, those with the lowest ids.
#[cfg(target_os = "linux")]
const MAX_PROCESSES: usize = 8192;

/// Returns the ids of the processes that run each of these programs.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
#[cfg(target_os = "linux")]
pub(super) fn running(
    programs: &[&Path],
    context: &Context<'_>,
) -> Result<Vec<Vec<u32>>, ToolError> {
    let mut found = vec![Vec::new(); programs.len()];
    let programs: Vec<_> = programs.iter().map(|program| file_of(program)).collect();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Ok(found) };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for pid in pids.take(MAX_PROCESSES) {
        context.check()?;
        let Some(file) = program_of(pid) else { continue };
        for (found, program) in found.iter_mut().zip(&programs) {
            if *program == Some(file) {
                found.push(pid);
            }
        }
    }
    Ok(found)
}

/// Device and inode of a file. A path is not enough: in a container, another file can have the same one.
#[cfg(target_os = "linux")]
pub(super) type FileId = (u64, u64);

/// Returns the file at a path.
#[cfg(target_os = "linux")]
pub(super) fn file_of(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Returns the program that a process of the agent's own account runs. The kernel gives the files of a process
/// that changed its account to root, so such a process is not the agent's own.
#[cfg(target_os = "linux")]
pub(super) fn program_of(pid: u32) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    let own = rustix::process::geteuid().as_raw();
    let owner = std::fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    file_of(Path::new(&format!("/proc/{pid}/exe"))).filter(|_| owner == own)
}

/// Returns the ids of the processes that run each of these programs, by path.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
#[cfg(not(target_os = "linux"))]
pub(super) fn running(
    programs: &[&Path],
    context: &Context<'_>,
) -> Result<Vec<Vec<u32>>, ToolError> {
    use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, RefreshKind, System, UpdateKind};
    let mut found = vec![Vec::new(); programs.len()];
    let Ok(mut system) = System::new_with_specifics(RefreshKind::nothing()) else {
        return Ok(found);
    };
    let kind = ProcessRefreshKind::nothing().with_exe(UpdateKind::OnlyIfNotSet).without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
    for process in system.processes().values() {
        context.check()?;
        let Some(exe) = process.exe() else { continue };
        for (found, program) in found.iter_mut().zip(programs) {
            if *program == exe {
                found.push(process.pid().as_u32());
            }
        }
    }
    Ok(found)
}
