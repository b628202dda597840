//! Finds and ends all processes that come from this one, however far they went away: the caller is their
//! reaper, so that a process whose parent ends becomes its child.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_process_group,
    pidfd_open, pidfd_send_signal, setpriority_process, wait,
};

/// How many processes that ended are noted before the running ones are looked at again: a program can make processes
/// faster than they are noted.
const NOTED_AT_ONCE: usize = 4096;

/// The shortest and the longest pause before what is left is ended again.
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_millis(100);
/// How many times as long as a look at all processes the pause is at least: other work gets most of the processor.
const PAUSE_PER_LOOK: u32 = 3;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: Pid,
    parent: i32,
    group: i32,
    /// When it began, which tells it from a later one of the same number.
    began: u64,
    /// Bytes of memory.
    memory: u64,
}

/// What the descendants take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) processes: usize,
    pub(super) memory: u64,
}

/// Returns what all descendants of this process take. Reads every process of the machine.
pub(super) fn usage() -> Usage {
    sum(&descendants())
}

/// Returns what the descendants take that the kernel lists by their parents. Reads those alone, but misses some that begin
/// or end during that.
pub(super) fn listed_usage() -> Usage {
    sum(&listed(getpid()).unwrap_or_else(descendants))
}

fn sum(processes: &[Process]) -> Usage {
    processes.iter().fold(Usage::default(), |usage, process| Usage {
        processes: usage.processes + 1,
        memory: usage.memory.saturating_add(process.memory),
    })
}

/// Sends a signal to every descendant.
pub(super) fn signal_all(signal: Signal) {
    for process in descendants() {
        let Ok(handle) = pidfd_open(process.pid, PidfdFlags::empty()) else { continue };
        // The handle is of the process that was found, and not of one that has its number now.
        if read(process.pid.as_raw_pid()).is_some_and(|now| now.began == process.began) {
            // One that has ended since needs no signal.
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}

/// The ending of every descendant, in rounds: each finds those that have begun since the one before.
#[derive(Debug, Default)]
pub(super) struct End {
    /// How many the round before found.
    found: Option<usize>,
}

impl End {
    /// Ends what there is now. Returns how long to wait for the next round. `program` is the one that was started, as long
    /// as nobody has noted its end: afterwards its number may be another's.
    pub(super) fn round(&mut self, program: Option<Pid>) -> Duration {
        let began = Instant::now();
        let found = kill_all(program);
        if found > 0 && self.found.is_some_and(|before| found >= before) {
            // They begin as quickly as they end.
            come_first();
        }
        self.found = Some(found);
        (began.elapsed() * PAUSE_PER_LOOK).clamp(MIN_PAUSE, MAX_PAUSE)
    }

    /// Ends all. Returns when there is none left, however long that takes: without the caller they would belong to nobody.
    pub(super) fn all(mut self) {
        while reap(|_, _| {}) {
            sleep(self.round(None));
        }
    }
}

/// Lets this process come before all others, so that a program cannot keep it from ending it by its number of processes
/// alone. It takes the processor from the agent and other calls as well. Only the administrator may.
fn come_first() {
    let _ = setpriority_process(None, -20);
    drop(fs::write("/proc/self/autogroup", "-20"));
}

/// Ends every descendant, once, and returns how many there were. The kernel ends a group as one, so that no member can
/// start another in between; a process with a group of its own is ended with that.
fn kill_all(program: Option<Pid>) -> usize {
    if let Some(program) = program {
        // Most are in the group that the program began, and looking for the others takes time.
        let _ = kill_process_group(program, Signal::KILL);
    }
    let found = descendants();
    // The group of this process holds those that have just begun, and this process.
    let own = getpgrp().as_raw_pid();
    let groups: HashSet<i32> = found.iter().map(|it| it.group).filter(|it| *it != own).collect();
    for group in groups.into_iter().filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    if found.iter().any(|process| process.group == own) {
        signal_all(Signal::KILL);
    }
    found.len()
}

/// Takes note of descendants that ended, of some at most: more can end in the meantime. Returns whether any may be left.
pub(super) fn reap(mut ended: impl FnMut(Pid, WaitStatus)) -> bool {
    for _ in 0..NOTED_AT_ONCE {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => ended(pid, status),
            Ok(None) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    true
}

fn descendants() -> Vec<Process> {
    below(getpid())
}

fn below(root: Pid) -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let all: Vec<Process> =
        entries.filter_map(|entry| read(entry.ok()?.file_name().to_str()?.parse().ok()?)).collect();
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut seen = HashSet::new();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root.as_raw_pid()];
    while let Some(parent) = parents.pop() {
        for &process in children.get(&parent).into_iter().flatten() {
            if seen.insert(process.pid.as_raw_pid()) {
                parents.push(process.pid.as_raw_pid());
                found.push(process);
            }
        }
    }
    found
}

/// Returns the descendants that the kernel lists. None where it lists no children.
fn listed(root: Pid) -> Option<Vec<Process>> {
    let (mut found, mut parents) = (Vec::new(), vec![root]);
    fs::metadata("/proc/thread-self/children").ok()?;
    while let Some(parent) = parents.pop() {
        // A parent that has ended has no children any more.
        let threads =
            fs::read_dir(format!("/proc/{}/task", parent.as_raw_pid())).into_iter().flatten();
        for thread in threads.flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let children =
                children.split_ascii_whitespace().filter_map(|pid| read(pid.parse().ok()?));
            for process in children {
                parents.push(process.pid);
                found.push(process);
            }
        }
    }
    Some(found)
}

/// Reads one process. None where it is gone, or has ended and only waits to be noted.
fn read(pid: i32) -> Option<Process> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    // The name is in brackets and may hold anything, brackets and spaces too.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Fields 22 and 24 of the line; the group is the fifth.
    let began = fields.by_ref().nth(16)?.parse().ok()?;
    let pages: u64 = fields.nth(1)?.parse().ok()?;
    let memory = pages.saturating_mul(rustix::param::page_size() as u64);
    let pid = Pid::from_raw(pid)?;
    (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, group, began, memory })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt as _;

    use super::*;

    #[test]
    fn a_process_is_read_with_its_parent_its_beginning_and_its_memory() {
        let own = read(getpid().as_raw_pid()).unwrap();
        let parent = rustix::process::getppid().unwrap();
        assert_eq!((own.pid, own.parent), (getpid(), parent.as_raw_pid()));
        assert!(own.memory > 1024 * 1024, "{own:?}");
        assert_eq!(read(own.pid.as_raw_pid()).unwrap().began, own.began);
        assert!(read(i32::MAX).is_none());
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test is about processes")]
    fn what_the_kernel_lists_is_what_a_look_at_all_processes_finds() {
        let script = "sleep 60 & (sleep 60 & wait) & wait";
        let mut command = std::process::Command::new("sh");
        let mut shell = command.args(["-c", script]).process_group(0).spawn().unwrap();
        let root = Pid::from_child(&shell);
        let sleeps = |it: &Process| {
            fs::read(format!("/proc/{}/comm", it.pid)).is_ok_and(|name| name == b"sleep\n")
        };
        while below(root).iter().filter(|it| sleeps(it)).count() < 2 {
            std::thread::yield_now();
        }
        let (mut all, mut listed) = (below(root), listed(root).unwrap());
        kill_process_group(root, Signal::KILL).unwrap();
        shell.wait().unwrap();
        // Their memory may have grown between the two looks.
        for processes in [&mut all, &mut listed] {
            processes.sort_by_key(|it| it.pid.as_raw_pid());
            processes.iter_mut().for_each(|it| it.memory = 0);
        }
        assert_eq!(all.len(), 3, "{all:?}");
        assert_eq!(listed, all);
    }
}
