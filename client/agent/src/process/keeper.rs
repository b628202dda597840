//! The keeper of one program: starts it, ends it and all that it started at the deadline, on a word of the
//! agent, or when the agent is gone, and reports once. A process of its own, with one thread.
//!
//! The keeper is the reaper of everything below it, so nothing that the program starts can leave it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, set_child_subreaper,
};

use super::CONFINED;
use super::confine::{self, Failed};
use super::descendants::{End, listed_usage, reap, signal_all, usage};
use super::handles::{receive, send};
use super::launch::{Bounds, Ending, Launch, Report};
use super::limits::{come_after_others, processes_on_machine};

/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_millis(500);
/// By how much other processes come before a keeper, which looks at many processes while it measures and ends them.
const NICENESS: i32 = 5;
/// How often the processes are counted and measured.
const MEASURE_INTERVAL: Duration = Duration::from_millis(100);
/// How often it is asked whether the machine has many more processes than before.
const GROWTH_INTERVAL: Duration = Duration::from_millis(10);
/// The path of this program, whatever its file is called now.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Keeps the program that standard input names.
pub(super) fn main() -> ExitCode {
    let Ok(agent) = confine::socket() else { return ExitCode::FAILURE };
    let report = keep(&agent).unwrap_or_else(|error| Report::NotStarted {
        why: format!("its keeper failed: {error}"),
        program: false,
    });
    drop(send(&agent, &report, &[]));
    ExitCode::SUCCESS
}

fn keep(agent: &UnixStream) -> io::Result<Report> {
    set_child_subreaper(Some(getpid()))?;
    // A share of the processor of its own, where the kernel gives one to each session.
    let _ = rustix::process::setsid();
    come_after_others(NICENESS)?;
    let (launch, handles) =
        receive::<Launch>(agent)?.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
    let began = Instant::now();
    let (own, theirs) = UnixStream::pair()?;
    let child = start(theirs)?;
    // The output belongs to the program alone: it ends when the program and all that it started have.
    let null = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let borrowed: Vec<_> = handles.iter().map(|handle| handle.as_fd()).collect();
    send(&own, &launch, &borrowed)?;
    drop(handles);
    // The socket is closed by the execution, so that its end means that the program runs.
    if let Some((Failed { why, program }, _)) = receive::<Failed>(&own)? {
        End::default().all();
        return Ok(Report::NotStarted { why, program });
    }
    watch(agent, &child, &launch.bounds, began)
}

#[expect(clippy::disallowed_methods, reason = "the keeper starts the program")]
fn start(stdin: UnixStream) -> io::Result<Child> {
    Command::new(OWN_PROGRAM)
        .arg(CONFINED)
        .env_clear()
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(stdin)))
        .spawn()
}

/// Waits until the program ends, and sees that it does.
fn watch(agent: &UnixStream, child: &Child, bounds: &Bounds, began: Instant) -> io::Result<Report> {
    let pid = Pid::from_child(child);
    let program = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = began + Duration::from_millis(bounds.time_ms);
    let mut ending = Ending::Itself;
    let mut kill_at = None::<Instant>;
    let mut end = End::default();
    let mut gauge = Gauge::new(pid, bounds);
    let status = loop {
        let next = kill_at.unwrap_or(deadline).saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(next.min(GROWTH_INTERVAL)).map_err(io::Error::other)?;
        let mut ready = vec![PollFd::new(&program, PollFlags::IN)];
        if kill_at.is_none() {
            ready.push(PollFd::new(agent, PollFlags::IN));
        }
        match poll(&mut ready, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let agent_speaks = ready.get(1).is_some_and(|it| !it.revents().is_empty());
        if kill_at.is_some_and(|at| Instant::now() >= at) {
            // What was stopped, ignores the request or has just begun ends now.
            let pause = end.round(Some(pid));
            kill_at = Some(Instant::now() + pause);
        }
        let mut ended = None;
        let is_any_left = reap(|process, status| {
            if process == pid {
                ended = Some(status);
            }
        });
        if let Some(status) = ended {
            break status;
        }
        if !is_any_left {
            return Err(Errno::CHILD.into());
        }
        if let Some(at) = kill_at {
            // Nor does it take more in the time that it has to end.
            if Instant::now() < at && gauge.too_much().is_some() {
                kill_at = Some(Instant::now());
            }
            continue;
        }
        let now = Instant::now();
        let stop = if agent_speaks && is_gone(agent) {
            Some((Ending::Cancelled, now))
        } else if agent_speaks {
            Some((Ending::Cancelled, now + GRACE))
        } else if now >= deadline {
            Some((Ending::Deadline, now + GRACE))
        } else {
            gauge.too_much().map(|ending| (ending, now))
        };
        if let Some((why, at)) = stop {
            (ending, kill_at) = (why, Some(at));
            if at > now {
                signal_all(Signal::TERM);
            }
        }
    };
    let (exit_code, signal) = (status.exit_status(), status.terminating_signal());
    end.all();
    Ok(Report::Ended { ending, exit_code, signal })
}

/// Measures what the processes take.
struct Gauge<'a> {
    /// The program, which began its own group.
    program: Pid,
    bounds: &'a Bounds,
    /// How many processes the machine had at the last measurement.
    on_machine: usize,
    measured: Instant,
}

impl<'a> Gauge<'a> {
    fn new(program: Pid, bounds: &'a Bounds) -> Self {
        Self { program, bounds, on_machine: processes_on_machine(), measured: Instant::now() }
    }

    /// Returns which limit the processes exceed, if any. Measures from time to time, and at once where the
    /// machine has many more processes than before.
    fn too_much(&mut self) -> Option<Ending> {
        let on_machine = processes_on_machine();
        let grown = on_machine.saturating_sub(self.on_machine) > self.bounds.processes / 2;
        if !grown && self.measured.elapsed() < MEASURE_INTERVAL {
            return None;
        }
        if grown {
            // Otherwise they might become more than can be counted.
            let _ = kill_process_group(self.program, Signal::STOP);
        }
        let usage = if grown { usage() } else { listed_usage() };
        (self.on_machine, self.measured) = (on_machine, Instant::now());
        if usage.memory > self.bounds.memory {
            Some(Ending::Memory)
        } else if usage.processes > self.bounds.processes {
            Some(Ending::Processes)
        } else {
            if grown {
                let _ = kill_process_group(self.program, Signal::CONT);
            }
            None
        }
    }
}

/// Returns whether the agent has closed its end, rather than sent a word.
fn is_gone(mut agent: &UnixStream) -> bool {
    agent.read(&mut [0; 1]).is_ok_and(|length| length == 0)
}
