//! The limits of one process: what it may take of the machine, which privileges it has, and who its parent is.

use std::io;

use rustix::fs::Mode;
use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, nice, set_parent_process_death_signal, setpgid, setrlimit,
    setsid, umask,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    disable_transparent_huge_pages, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use super::launch::Bounds;

/// The most open files of a program.
const MAX_FILES: u64 = 4096;

/// Sets whether the kernel may give this process large pages of memory, and the programs that it starts.
pub(super) fn use_huge_pages(may: bool) {
    // A kernel that does not know it has no such pages.
    disable_transparent_huge_pages(!may).ok();
}

/// Gives this process a session of its own, ends it with its parent, and limits what it may take.
pub(super) fn apply(bounds: &Bounds) -> io::Result<()> {
    setsid()?;
    come_after_others(NICENESS_OF_PROGRAMS)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    umask(Mode::WGRP | Mode::WOTH);
    limit(Resource::Core, 0)?;
    limit(Resource::Nofile, MAX_FILES)?;
    limit(Resource::Fsize, bounds.file_bytes)?;
    // Counts what a process can write to, and not what a runtime reserves and leaves alone.
    limit(Resource::Data, bounds.memory)?;
    // The kernel counts all processes of the user, and these are among those of the machine.
    limit(Resource::Nproc, (processes_on_machine() + bounds.processes) as u64)?;
    Ok(())
}

/// By how much its keeper comes before a program, which with the keeper's own niceness comes 10 behind the agent.
const NICENESS_OF_PROGRAMS: i32 = 5;

/// Lets other processes come before this one and those that it starts, and before its session as a whole, which a
/// desktop's kernel gives a share of the processor of its own.
pub(super) fn come_after_others(more: i32) -> io::Result<()> {
    // Added to what the agent was started with, because only an administrator may lower that.
    let niceness = nice(more)?;
    // The kernel may have no such shares, and sets few of them in a second.
    drop(std::fs::write("/proc/self/autogroup", niceness.to_string()));
    Ok(())
}

/// Privileges that reach files of other accounts, which an agent of the administrator has.
const FILES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID);

/// By how much other processes, the agent first of all, come before a worker that computes.
const NICENESS: i32 = 10;

/// Gives a worker a process group of its own, behind the agent in the same session, ends it with its parent,
/// limits its memory, and leaves it only the privileges for files that the agent has. New files get the
/// agent's own mask.
pub(super) fn apply_to_worker(memory: u64) -> io::Result<()> {
    // A session of its own would have a share of the processor of its own, so that many workers would leave the
    // agent little.
    setpgid(None, None)?;
    nice(NICENESS)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    limit(Resource::Core, 0)?;
    limit(Resource::Data, memory)?;
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    let has = capabilities(None)?;
    let (effective, permitted) = (has.effective & FILES, has.permitted & FILES);
    let inheritable = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?;
    Ok(())
}

/// Sets a limit, but never above the one that holds already.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource).maximum.map_or(most, |held| held.min(most));
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok(())
}

/// Returns the number of processes and threads on this machine.
pub(super) fn processes_on_machine() -> usize {
    usize::from(rustix::system::sysinfo().procs)
}

/// Gives up every privilege that this process has, and that a program could get by being executed.
pub(super) fn drop_privileges() -> io::Result<()> {
    set_no_new_privs(true)?;
    clear_ambient_capability_set()?;
    for bit in 0..u64::BITS {
        // Without the right to do so, the set is that of an ordinary user, who gets nothing of it.
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit));
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    Ok(())
}
