//! Queue of the folders that a scan has yet to visit. The last folder in is the first out, so that few
//! handles are open at a time. A folder is opened only when it is taken.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Folder, Handle, Names, names};

/// How long an idle thread waits before it checks the deadline.
const PATIENCE: Duration = Duration::from_millis(50);

/// The queue of one scan.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    blocks: Vec<Block>,
    /// Size of the queued names, in bytes.
    bytes: usize,
    /// Threads that may still add folders.
    busy: usize,
    closed: bool,
}

/// Subfolders of one folder.
struct Block {
    folder: Arc<Folder>,
    handle: Arc<Handle>,
    names: Names,
}

/// One folder to visit.
pub(super) struct Work {
    /// The parent folder.
    pub(super) folder: Arc<Folder>,
    pub(super) parent: Arc<Handle>,
    pub(super) name: String,
}

/// The next thing to do.
pub(super) enum Next {
    Folder(Work),
    /// Nothing yet; try again.
    Wait,
    /// Nothing any more.
    End,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state().blocks.is_empty()
    }

    /// Adds the subfolders of one folder. Returns false if there is no space.
    pub(super) fn put(&self, folder: Arc<Folder>, handle: Handle, names: Names) -> bool {
        let mut state = self.state();
        if state.closed {
            return true;
        }
        if state.bytes + names.bytes() > names::MAX_BYTES {
            return false;
        }
        state.bytes += names.bytes();
        state.blocks.push(Block { folder, handle: Arc::new(handle), names });
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Takes a folder. The thread is busy until it drops [`Queue::busy`].
    pub(super) fn take(&self) -> Next {
        let mut state = self.state();
        if state.blocks.is_empty() {
            if state.busy == 0 {
                return Next::End;
            }
            let (waited, _) =
                self.changed.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner);
            state = waited;
        }
        let Some(block) = state.blocks.last_mut() else {
            return if state.busy == 0 { Next::End } else { Next::Wait };
        };
        let before = block.names.bytes();
        let name = block.names.pop().map(|(name, _)| name.to_owned()).unwrap_or_default();
        let (mut folder, mut parent) = (Arc::clone(&block.folder), Arc::clone(&block.handle));
        let mut after = block.names.bytes();
        if block.names.is_empty() {
            after = 0;
            if let Some(block) = state.blocks.pop() {
                (folder, parent) = (block.folder, block.handle);
            }
        }
        state.bytes = state.bytes.saturating_sub(before - after);
        state.busy += 1;
        Next::Folder(Work { folder, parent, name })
    }

    /// Empties and closes the queue. Returns the parents of the queued folders.
    #[must_use]
    pub(super) fn close(&self) -> Vec<Arc<Folder>> {
        let mut state = self.state();
        state.closed = true;
        state.bytes = 0;
        let blocks = std::mem::take(&mut state.blocks);
        drop(state);
        self.changed.notify_all();
        blocks.into_iter().map(|block| block.folder).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a thread that may still add folders, until dropped, also by a panic.
pub(super) struct Busy<'a>(&'a Queue);

impl Queue {
    /// Returns the guard for a thread that took a folder.
    pub(super) fn busy(&self) -> Busy<'_> {
        Busy(self)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.busy -= 1;
        let ended = state.busy == 0 && state.blocks.is_empty();
        drop(state);
        if ended {
            self.0.changed.notify_all();
        }
    }
}
