//! Ends processes by handle. A process id can mean another process a moment later, and a handle cannot: what
//! is checked is what is ended.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use orion_domain::{ErrorCode, ToolError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Ended;
use crate::call::{AppContext, Context};
use crate::tools::running::{FileId, file_of, program_of, running};

/// Maximum number of processes of one application.
const MAX_PROCESSES: usize = 256;
/// How long the processes have to end after they were asked to.
const TERM_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the kernel has to end them with force.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A process by handle.
struct Process {
    pid: u32,
    handle: OwnedFd,
}

/// Ends the processes of the agent's own account that run this program, except the agent itself.
pub(super) fn close(
    program: &Path,
    force: bool,
    context: &AppContext<'_>,
) -> Result<Ended, ToolError> {
    let Some(file) = file_of(program) else {
        return Ok(Ended { closed: Vec::new(), remaining: Vec::new() });
    };
    let pids = running(&[program], context)?.into_iter().flatten();
    let mut processes = Vec::new();
    for pid in pids.filter(|pid| *pid != std::process::id()) {
        if processes.len() == MAX_PROCESSES {
            let message =
                format!("More than {MAX_PROCESSES} processes run this program. None was ended.");
            return Err(ToolError::new(ErrorCode::ResourceExhausted, message));
        }
        processes.extend(open(pid, file)?);
    }
    if context.dry_run {
        let closed = processes.iter().map(|process| process.pid).collect();
        return Ok(Ended { closed, remaining: Vec::new() });
    }
    context.check()?;
    let mut left = end(&processes, Signal::TERM, TERM_TIMEOUT, context)?;
    if force && !left.is_empty() {
        left = end(&processes, Signal::KILL, KILL_TIMEOUT, context)?;
    }
    let (remaining, closed): (Vec<_>, Vec<_>) =
        processes.iter().map(|process| process.pid).partition(|pid| left.contains(pid));
    Ok(Ended { closed, remaining })
}

/// Opens a process, and then compares its program: if the process ended in between and its id means another
/// one, the handle still means the ended one. `None` for a process that ended or runs something else.
fn open(pid: u32, file: FileId) -> Result<Option<Process>, ToolError> {
    let Some(raw) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(None) };
    let handle = match pidfd_open(raw, PidfdFlags::empty()) {
        Ok(handle) => handle,
        Err(Errno::SRCH) => return Ok(None),
        Err(Errno::NOSYS) => {
            let message = "Closing applications takes Linux 5.3 or newer on the device.";
            return Err(ToolError::new(ErrorCode::NotSupported, message));
        }
        Err(error) => return Err(failed(error)),
    };
    Ok((program_of(pid) == Some(file)).then_some(Process { pid, handle }))
}

fn failed(error: Errno) -> ToolError {
    let message = format!("A process of the application could not be ended: {}.", error.kind());
    ToolError::new(ErrorCode::ExecutionFailed, message)
}

/// Sends a signal to each process, and waits until all have ended. Returns those that have not.
fn end(
    processes: &[Process],
    signal: Signal,
    time: Duration,
    context: &Context<'_>,
) -> Result<Vec<u32>, ToolError> {
    for process in processes {
        match pidfd_send_signal(&process.handle, signal) {
            // It has ended.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(Errno::PERM) => {
                let message = "The operating system does not let the agent end this application.";
                return Err(ToolError::new(ErrorCode::PermissionDenied, message));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    let until = Instant::now() + time;
    loop {
        let left: Vec<_> = processes.iter().filter(|process| runs(process)).collect();
        if left.is_empty() || Instant::now() >= until {
            return Ok(left.iter().map(|process| process.pid).collect());
        }
        context.check()?;
        let mut waiting: Vec<_> =
            left.iter().map(|it| PollFd::new(&it.handle, PollFlags::IN)).collect();
        match poll(&mut waiting, Some(&CHECK_INTERVAL)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
    }
}

/// Returns whether a process runs: its handle is readable when it has ended.
fn runs(process: &Process) -> bool {
    let mut handle = [PollFd::new(&process.handle, PollFlags::IN)];
    poll(&mut handle, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_something_else_is_not_opened() {
        let own = std::process::id();
        let program = program_of(own).unwrap();
        assert!(open(own, program).unwrap().is_some_and(|process| runs(&process)));
        assert!(open(own, (program.0, program.1 + 1)).unwrap().is_none());
        for none in [0, u32::MAX, i32::MAX.unsigned_abs()] {
            assert!(open(none, program).unwrap().is_none(), "{none}");
        }
    }
}
