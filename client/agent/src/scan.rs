//! Scans a folder and everything below it with several threads, by handles, within limits. Skips denied
//! entries. Results come in no order; [`Firsts`] sorts them.
//!
//! The tool's own thread starts the scan threads and takes none from a pool. So the sandbox that confines the
//! tool confines them as well.

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

use crate::call::Context;
use crate::roots::{FileKind, Located, Roots, Wanted, io_failure};
pub(crate) use firsts::Firsts;
pub(crate) use folder::{Entry, Folder};
pub(crate) use handle::{Handle, Reader};
pub(crate) use names::Names;
use queue::Queue;
use worker::Worker;

/// Maximum depth of folders.
pub(crate) const MAX_DEPTH: usize = 64;
/// Maximum number of names in one call.
pub(crate) const MAX_ENTRIES: u64 = 1_000_000;
/// Interval of progress reports, in names.
pub(crate) const PROGRESS_EVERY: u64 = 10_000;

/// Returns the number of threads that process files together.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(2, usize::from).clamp(2, 4)
}

/// The part of a call's context that its threads share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) roots: &'a Roots,
    cancelled: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> Watch<'a> {
    pub(crate) fn of(context: &Context<'a>) -> Self {
        Self { roots: context.roots, cancelled: context.cancelled, deadline: context.deadline }
    }

    /// Returns the same with an earlier deadline.
    pub(crate) fn until(self, deadline: Instant) -> Self {
        Self { deadline: self.deadline.min(deadline), ..self }
    }

    /// Returns whether to stop; [`Context::check`] gives the reason.
    pub(crate) fn is_over(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Limits of a scan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Maximum depth in folders. Deeper entries were not requested.
    pub(crate) depth: usize,
    /// Maximum number of names.
    pub(crate) entries: u64,
    /// When the scan ends without an error. `None` to scan until the call's deadline.
    pub(crate) until: Option<Instant>,
}

impl Bounds {
    /// Returns limits for everything below a folder, or for the folder alone.
    pub(crate) fn new(deep: bool) -> Self {
        let depth = if deep { usize::MAX } else { 1 };
        Self { depth, entries: MAX_ENTRIES, until: None }
    }
}

/// What one thread of a scan does with the entries.
pub(crate) trait Visitor: Send {
    /// Returns whether a name is of interest. Called first for every name, denied ones included, so it must
    /// be fast.
    fn wants(&self, name: &str, what: FileKind) -> bool;

    /// Processes an entry of interest that is not denied.
    fn visit(&mut self, entry: &Entry<'_>);

    /// Called when a folder and everything below it are done.
    fn leave(&mut self, folder: &Folder) {
        let _ = folder;
    }
}

/// What a scan skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missed {
    /// Whether a limit cut the scan.
    pub(crate) cut: bool,
    /// Folders that could not be read.
    pub(crate) unread: u64,
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

/// Visits everything below a located folder in no order, with one visitor for each thread.
///
/// # Errors
/// Errors of the start folder, `CANCELLED` and `TIMEOUT`.
pub(crate) fn scan<V: Visitor>(
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
    let mut reported = 0;
    let mut report = |seen: u64| {
        if seen / PROGRESS_EVERY > reported {
            reported = seen / PROGRESS_EVERY;
            (context.progress)(seen, None, "entries looked at");
        }
    };
    let top = Arc::new(Folder::start());
    Handle::again(&start.dir)
        .and_then(|handle| first.read(handle, Arc::clone(&top), &mut report))
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
                    // If no thread can be started, fewer threads do the same work.
                    helper
                        .spawn_scoped(scope, move || {
                            let mut worker = Worker::new(scan, visitor());
                            worker.work(&mut |_| {});
                            worker.visitor
                        })
                        .ok()
                })
                .collect();
            first.work(&mut report);
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

/// Returns whether the process or the system ran out of handles, so that entries were skipped.
pub(crate) fn is_short_of_handles(error: &std::io::Error) -> bool {
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

/// Returns the path of these names below a start. `None` if this device has no such path.
fn joined<'n>(start: &DevicePath, names: impl Iterator<Item = &'n str>) -> Option<DevicePath> {
    let mut path = start.clone();
    for name in names {
        path = path.join(name).ok()?;
    }
    Some(path)
}
