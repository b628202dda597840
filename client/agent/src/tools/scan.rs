//! Going through a folder and what is below it with several threads, by handles, within bounds, and
//! past whatever is kept out. What is found comes in no order; [`Firsts`] brings it into one.
//!
//! The threads are started by the one that runs the tool, never taken from elsewhere: so whatever
//! confines that one confines them.

mod firsts;
mod folder;
mod handle;
mod names;
mod queue;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use orion_domain::{DevicePath, ToolError};

use super::Context;
use crate::roots::{FileKind, Located, Roots, Wanted, io_failure};
pub(super) use firsts::Firsts;
pub(super) use folder::{Entry, Folder};
pub(super) use handle::{Handle, Reader};
pub(super) use names::Names;
use queue::Queue;
use worker::Worker;

/// Folders below folders.
pub(super) const MAX_DEPTH: usize = 64;
/// Names looked at in one call.
pub(super) const MAX_ENTRIES: u64 = 1_000_000;
/// How often progress is told.
pub(super) const PROGRESS_EVERY: u64 = 10_000;

/// How many threads go through files together.
pub(super) fn threads() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, 4)
}

/// What several threads of one call share of its context.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch<'a> {
    pub(super) roots: &'a Roots,
    cancelled: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> Watch<'a> {
    pub(super) fn of(context: &Context<'a>) -> Self {
        Self { roots: context.roots, cancelled: context.cancelled, deadline: context.deadline }
    }

    /// The same with an earlier end.
    pub(super) fn until(self, deadline: Instant) -> Self {
        Self { deadline: self.deadline.min(deadline), ..self }
    }

    /// Whether to stop; [`Context::check`] says why.
    pub(super) fn is_over(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// How far a scan goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// How many folders deep. What lies deeper was not asked for.
    pub(super) depth: usize,
    /// How many names are looked at.
    pub(super) entries: u64,
    /// When it ends without an error, if that is before the call's deadline.
    pub(super) until: Option<Instant>,
}

impl Bounds {
    /// This folder alone, or all below it.
    pub(super) fn new(deep: bool) -> Self {
        let depth = if deep { usize::MAX } else { 1 };
        Self { depth, entries: MAX_ENTRIES, until: None }
    }
}

/// What one thread of a scan does with what it comes by.
pub(super) trait Visitor: Send {
    /// Whether a name is of interest at all. Asked of every name first, so it has to be quick; what is
    /// kept out has not been left out yet.
    fn wants(&self, name: &str, what: FileKind) -> bool;

    /// Something of interest that is not kept out.
    fn visit(&mut self, entry: &Entry<'_>);

    /// A folder and everything below it was gone through.
    fn leave(&mut self, folder: &Folder) {
        let _ = folder;
    }
}

/// What a scan left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missed {
    /// Whether something was left out at a bound.
    pub(super) cut: bool,
    /// Folders that could not be read.
    pub(super) unread: u64,
}

struct Scan<'a> {
    start: &'a Located,
    bounds: Bounds,
    watch: Watch<'a>,
    queue: Queue,
    seen: AtomicU64,
    unread: AtomicU64,
    cut: AtomicBool,
}

/// Visits everything below a located folder, with a visitor for each thread; the order is anyone's.
///
/// # Errors
/// What the start is refused with, `CANCELLED` and `TIMEOUT`.
pub(super) fn scan<V: Visitor>(
    start: &Located,
    bounds: Bounds,
    context: &Context<'_>,
    visitor: impl Fn() -> V + Sync,
) -> Result<(Vec<V>, Missed), ToolError> {
    let watch = Watch::of(context);
    let scan = Scan {
        start,
        bounds,
        watch: bounds.until.map_or(watch, |until| watch.until(until)),
        queue: Queue::new(),
        seen: AtomicU64::new(0),
        unread: AtomicU64::new(0),
        cut: AtomicBool::new(false),
    };
    let mut first = Worker::new(&scan, visitor());
    let mut told = 0;
    let mut tell = |seen: u64| {
        if seen / PROGRESS_EVERY > told {
            told = seen / PROGRESS_EVERY;
            (context.progress)(seen, None, "entries looked at");
        }
    };
    let top = Arc::new(Folder::start());
    Handle::again(&start.dir)
        .and_then(|handle| first.read(handle, Arc::clone(&top), &mut tell))
        .map_err(|error| io_failure(&error, Wanted::Directory, &start.asked))?;
    first.leave(top);
    let mut visitors = Vec::new();
    if scan.queue.is_empty() {
        visitors.push(first.visitor);
    } else {
        thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads())
                .filter_map(|_| {
                    let (scan, visitor) = (&scan, &visitor);
                    let helper = thread::Builder::new();
                    // Where no thread can be had, fewer do the same.
                    helper
                        .spawn_scoped(scope, move || {
                            let mut worker = Worker::new(scan, visitor());
                            worker.work(&mut |_| {});
                            worker.visitor
                        })
                        .ok()
                })
                .collect();
            first.work(&mut tell);
            visitors.push(first.visitor);
            for helper in helpers {
                match helper.join() {
                    Ok(visitor) => visitors.push(visitor),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
    }
    context.check()?;
    let cut = scan.cut.into_inner() || scan.watch.is_over();
    Ok((visitors, Missed { cut, unread: scan.unread.into_inner() }))
}

/// Whether the process or the system has no more handles: then what is there was not seen.
pub(super) fn is_short_of_handles(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let errno = Errno::from_io_error(error);
        matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
    }
    #[cfg(not(unix))]
    {
        error.kind() == std::io::ErrorKind::OutOfMemory
    }
}

/// A path below a start, from the names that lead there.
fn joined<'n>(start: &DevicePath, names: impl Iterator<Item = &'n str>) -> Option<DevicePath> {
    let mut path = start.clone();
    for name in names {
        path = path.join(name).ok()?;
    }
    Some(path)
}
