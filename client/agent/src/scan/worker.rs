//! One thread of a scan. Takes folders, visits their entries, and queues their subfolders for any thread.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::folder::Place;
use super::queue::Next;
use super::{Entry, Folder, Handle, MAX_DEPTH, Names, Reader, Scan, Visitor, is_short_of_handles};
use crate::roots::FileKind;

/// Names between two checks of the deadline and of the shared counter.
const FLUSH_EVERY: u64 = 500;

/// The worker of one thread.
pub(super) struct Worker<'s, 'a, V> {
    scan: &'s Scan<'a>,
    pub(super) visitor: V,
    reader: Reader,
}

impl<'s, 'a, V: Visitor> Worker<'s, 'a, V> {
    pub(super) fn new(scan: &'s Scan<'a>, visitor: V) -> Self {
        Self { scan, visitor, reader: Reader::default() }
    }

    /// Takes folders until there are no more.
    pub(super) fn work(&mut self, report: &mut dyn FnMut(u64)) {
        loop {
            if self.scan.watch.is_over() {
                self.close();
            }
            let next = match self.scan.queue.take() {
                Next::Folder(next) => next,
                Next::Wait => {
                    report(self.scan.seen.load(Ordering::Relaxed));
                    continue;
                }
                Next::End => return,
            };
            let _busy = self.scan.queue.busy();
            let folder = Arc::new(Folder::below(next.folder, &next.name));
            let opened = next.parent.enter(&next.name);
            // Closes the parent's handle before others are opened.
            drop(next.parent);
            match opened.and_then(|opened| match opened {
                Some(handle) => self.read(handle, Arc::clone(&folder), report),
                None => Ok(()),
            }) {
                Ok(()) => {}
                Err(error) => {
                    if is_short_of_handles(&error) {
                        self.scan.cut.store(true, Ordering::Relaxed);
                    }
                    self.scan.unread.fetch_add(1, Ordering::Relaxed);
                }
            }
            self.leave(folder);
        }
    }

    /// Visits the entries of a folder and queues its subfolders.
    pub(super) fn read(
        &mut self,
        handle: Handle,
        folder: Arc<Folder>,
        report: &mut dyn FnMut(u64),
    ) -> io::Result<()> {
        let Self { scan, visitor, reader } = self;
        let place = Place::new(scan.start, &folder);
        let mut names = Names::default();
        let mut seen = 0;
        let deeper = folder.depth + 1 < scan.bounds.depth;
        let result = reader.each(&handle, |name, what| {
            seen += 1;
            if seen >= FLUSH_EVERY {
                let whole = scan.count(&mut seen);
                report(whole);
                if whole > scan.bounds.entries || scan.watch.is_over() {
                    return ControlFlow::Break(());
                }
            }
            let Some(name) = name else { return ControlFlow::Continue(()) };
            let enters = what == FileKind::Folder && deeper;
            let wanted = visitor.wants(name, what);
            if (!enters && !wanted)
                || (scan.watch.roots.may_hide(name) && place.hides(scan.watch.roots, name))
            {
                return ControlFlow::Continue(());
            }
            if wanted {
                visitor.visit(&Entry {
                    handle: &handle,
                    folder: &folder,
                    place: &place,
                    name,
                    what,
                });
            }
            if enters && (folder.depth + 1 >= MAX_DEPTH || !names.push(name, what)) {
                scan.cut.store(true, Ordering::Relaxed);
            }
            ControlFlow::Continue(())
        });
        let whole = scan.count(&mut seen);
        report(whole);
        drop(place);
        if whole > scan.bounds.entries {
            self.close();
        } else if !names.is_empty() && !scan.queue.put(folder, handle, names) {
            scan.cut.store(true, Ordering::Relaxed);
        }
        result
    }

    /// Drops all queued folders.
    fn close(&mut self) {
        for folder in self.scan.queue.close() {
            self.leave(folder);
        }
    }

    /// Passes a finished folder's tally on to the folders above that are finished as well.
    pub(super) fn leave(&mut self, folder: Arc<Folder>) {
        let mut last = Arc::into_inner(folder);
        while let Some(folder) = last {
            self.visitor.leave(&folder);
            last = folder.into_above().and_then(Arc::into_inner);
        }
    }
}

impl Scan<'_> {
    /// Adds to the number of names, and returns the total.
    fn count(&self, seen: &mut u64) -> u64 {
        let new = std::mem::take(seen);
        let whole = self.seen.fetch_add(new, Ordering::Relaxed) + new;
        if whole > self.bounds.entries {
            self.cut.store(true, Ordering::Relaxed);
        }
        whole
    }
}
