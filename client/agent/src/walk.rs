//! Walks a folder and everything below it in order, by handles, without recursion, within limits. Skips
//! denied entries.
//!
//! Not for searches of every entry: `scan` does that with several threads.

use std::ops::ControlFlow;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::call::Context;
use crate::roots::{FileKind, Located, Wanted, io_failure, refused};
use crate::scan::{
    Handle, MAX_DEPTH, MAX_ENTRIES, Names, PROGRESS_EVERY, Reader, Watch, is_short_of_handles,
};

/// Names of one folder between two checks of the deadline.
const NAMES_PER_CHECK: u64 = 1000;
/// Visited names between two checks of the deadline.
const STEPS_PER_CHECK: u64 = 32;

/// How the walk treats denied and unreadable entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Skips them.
    Deep,
    /// Returns an error for them, and for entries that cannot be evaluated.
    Whole,
}

/// One name found by a walk. Links are never followed.
pub(crate) struct Visit<'a> {
    /// The folder that holds the entry.
    pub(crate) dir: &'a Dir,
    /// The same folder as a shared handle.
    pub(crate) handle: &'a Arc<Handle>,
    /// The path of that folder, below the requested path.
    pub(crate) folder: &'a Arc<DevicePath>,
    /// The names from the start to the entry.
    pub(crate) below: &'a [String],
    /// The kind of the entry.
    pub(crate) what: FileKind,
}

impl Visit<'_> {
    /// Returns the path. `None` if this device has no such path.
    pub(crate) fn path(&self) -> Option<DevicePath> {
        self.folder.join(self.below.last()?).ok()
    }

    /// Returns the metadata. `None` if the entry is gone.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        self.dir.symlink_metadata(self.below.last()?).ok()
    }
}

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Continue.
    On,
    /// Stop.
    Stop,
}

/// Visits everything below a located folder in order, a folder before its contents. Returns whether the walk
/// was stopped or a limit cut it.
pub(crate) fn walk(
    start: &Located,
    mode: Mode,
    context: &Context<'_>,
    visit: &mut dyn FnMut(&Visit<'_>) -> Result<Next, ToolError>,
) -> Result<bool, ToolError> {
    context.check()?;
    let mut walk = Walk::begin(start, mode, Watch::of(context))?;
    let mut reported = 0;
    loop {
        let on = walk.advance()?;
        if walk.seen / PROGRESS_EVERY > reported {
            reported = walk.seen / PROGRESS_EVERY;
            (context.progress)(walk.seen, None, "entries looked at");
        }
        let Some(found) = walk.visit().filter(|_| on) else {
            context.check()?;
            return Ok(walk.cut);
        };
        if visit(&found)? == Next::Stop {
            return Ok(true);
        }
    }
}

/// A walk in progress.
pub(crate) struct Walk<'a> {
    watch: Watch<'a>,
    /// The folder that the call named.
    named: &'a DevicePath,
    root: &'a DevicePath,
    mode: Mode,
    reader: Reader,
    frames: Vec<Frame>,
    /// The names from the start to the current entry, if there is one.
    below: Vec<String>,
    at: Option<FileKind>,
    steps: u64,
    /// Names read so far.
    pub(crate) seen: u64,
    /// Whether a limit cut the walk.
    pub(crate) cut: bool,
}

/// A folder on the path with its names yet to visit.
struct Frame {
    handle: Arc<Handle>,
    asked: Arc<DevicePath>,
    /// The resolved path. `None` if it equals `asked`.
    real: Option<DevicePath>,
    names: Names,
}

impl<'a> Walk<'a> {
    /// Begins a walk before its first entry.
    pub(crate) fn begin(
        start: &'a Located,
        mode: Mode,
        watch: Watch<'a>,
    ) -> Result<Self, ToolError> {
        let mut walk = Self {
            watch,
            named: &start.asked,
            root: &start.root,
            mode,
            reader: Reader::default(),
            frames: Vec::new(),
            below: Vec::new(),
            at: None,
            steps: 0,
            seen: 0,
            cut: false,
        };
        let handle = Handle::again(&start.dir)
            .map_err(|error| io_failure(&error, Wanted::Directory, &start.asked))?;
        let asked = start.asked.clone();
        let real = (start.real != asked).then(|| start.real.clone());
        let names = walk.names(&handle, &asked, real.as_ref())?;
        let (handle, asked) = (Arc::new(handle), Arc::new(asked));
        walk.frames.push(Frame { handle, asked, real, names });
        Ok(walk)
    }

    /// Moves to the next name. Returns false at the end, and when the call is over.
    pub(crate) fn advance(&mut self) -> Result<bool, ToolError> {
        if let Some(what) = self.at.take() {
            let entered = match what {
                FileKind::Folder => self.enter()?,
                FileKind::File | FileKind::Link | FileKind::Special => None,
            };
            match entered {
                Some(frame) => self.frames.push(frame),
                None => drop(self.below.pop()),
            }
        }
        while let Some(frame) = self.frames.last_mut() {
            self.steps += 1;
            if self.steps.is_multiple_of(STEPS_PER_CHECK) && self.watch.is_over() {
                return Ok(false);
            }
            if let Some((name, what)) = frame.names.pop() {
                self.below.push(name.to_owned());
                self.at = Some(what);
                return Ok(true);
            }
            self.frames.pop();
            self.below.pop();
        }
        Ok(false)
    }

    /// Returns the current entry.
    pub(crate) fn visit(&self) -> Option<Visit<'_>> {
        let (what, frame) = (self.at?, self.frames.last()?);
        let (handle, folder) = (&frame.handle, &frame.asked);
        Some(Visit { dir: &handle.dir, handle, folder, below: &self.below, what })
    }

    fn enter(&mut self) -> Result<Option<Frame>, ToolError> {
        let (Some(above), Some(name)) = (self.frames.last(), self.below.last()) else {
            return Ok(None);
        };
        let Ok(asked) = above.asked.join(name) else {
            return self.odd(&above.asked).map(|()| None);
        };
        if self.below.len() >= MAX_DEPTH {
            self.cut = true;
            return match self.mode {
                Mode::Deep => Ok(None),
                Mode::Whole => Err(too_much(&asked, "lies more than 64 folders deep")),
            };
        }
        let real = match above.real.as_ref().map(|real| real.join(name)) {
            Some(Ok(real)) => Some(real),
            None => None,
            Some(Err(_)) => return self.odd(&above.asked).map(|()| None),
        };
        let opened = match above.handle.enter(name) {
            Ok(Some(handle)) => {
                self.names(&handle, &asked, real.as_ref()).map(|names| (handle, names))
            }
            Ok(None) => return self.keep_out().map(|()| None),
            Err(error) => {
                self.cut |= is_short_of_handles(&error);
                Err(io_failure(&error, Wanted::Directory, &asked))
            }
        };
        match opened {
            Ok((handle, names)) => {
                let (handle, asked) = (Arc::new(handle), Arc::new(asked));
                Ok(Some(Frame { handle, asked, real, names }))
            }
            Err(error) if self.mode == Mode::Whole => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Returns the names in a folder that the walk will visit.
    fn names(
        &mut self,
        handle: &Handle,
        asked: &DevicePath,
        real: Option<&DevicePath>,
    ) -> Result<Names, ToolError> {
        let mut names = Names::default();
        let mut failed = None;
        let mut reader = std::mem::take(&mut self.reader);
        let read = reader.each(handle, |name, what| {
            self.take(name, what, asked, real, &mut names).unwrap_or_else(|error| {
                failed = Some(error);
                ControlFlow::Break(())
            })
        });
        self.reader = reader;
        if let Some(error) = failed {
            return Err(error);
        }
        read.map_err(|error| io_failure(&error, Wanted::Directory, asked))?;
        names.sort();
        Ok(names)
    }

    fn take(
        &mut self,
        name: Option<&str>,
        what: FileKind,
        asked: &DevicePath,
        real: Option<&DevicePath>,
        names: &mut Names,
    ) -> Result<ControlFlow<()>, ToolError> {
        self.seen += 1;
        if self.seen > MAX_ENTRIES {
            return self.too_many(asked);
        }
        if self.seen.is_multiple_of(NAMES_PER_CHECK) && self.watch.is_over() {
            return Ok(ControlFlow::Break(()));
        }
        let Some(name) = name else {
            self.odd(asked)?;
            return Ok(ControlFlow::Continue(()));
        };
        if self.mode == Mode::Whole && asked.join(name).is_err() {
            self.odd(asked)?;
        }
        if self.watch.roots.may_hide(name) && self.is_hidden(asked, real, name)? {
            return Ok(ControlFlow::Continue(()));
        }
        if names.push(name, what) { Ok(ControlFlow::Continue(())) } else { self.too_many(asked) }
    }

    fn too_many(&mut self, folder: &DevicePath) -> Result<ControlFlow<()>, ToolError> {
        self.cut = true;
        match self.mode {
            Mode::Deep => Ok(ControlFlow::Break(())),
            Mode::Whole => Err(too_much(folder, "holds more than a million files and folders")),
        }
    }

    fn is_hidden(
        &self,
        asked: &DevicePath,
        real: Option<&DevicePath>,
        name: &str,
    ) -> Result<bool, ToolError> {
        let (Ok(here), Ok(real)) = (asked.join(name), real.unwrap_or(asked).join(name)) else {
            self.odd(asked)?;
            return Ok(true);
        };
        let hidden = self.watch.roots.hides_entry(self.root, &here, &real);
        if hidden {
            self.keep_out()?;
        }
        Ok(hidden)
    }

    /// Skips a denied entry, or fails if the folder must be complete. The error names only the requested
    /// folder, so that it does not reveal the entry.
    fn keep_out(&self) -> Result<(), ToolError> {
        let named = self.named;
        match self.mode {
            Mode::Deep => Ok(()),
            Mode::Whole => Err(refused(
                named,
                format!(
                    "{named} contains something that is denied on this device, so it is not deleted, moved or copied as a whole."
                ),
                "device: paths",
            )),
        }
    }

    /// Skips a name that no path of this device can hold, or fails because the name cannot be evaluated.
    fn odd(&self, folder: &DevicePath) -> Result<(), ToolError> {
        match self.mode {
            Mode::Deep => Ok(()),
            Mode::Whole => Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                format!(
                    "Something in {folder} has a name that cannot be written as text or is too long to be evaluated."
                ),
            ).hint("rename or remove it on the device first")),
        }
    }
}

fn too_much(path: &DevicePath, what: &str) -> ToolError {
    ToolError::new(ErrorCode::ResourceExhausted, format!("{path} {what}."))
        .hint("name a part of it instead")
        .with("attempted_path", path.to_string())
}

#[cfg(test)]
mod tests;
