//! Going through a folder and what is below it, by handles, without recursion, within bounds, and
//! past whatever is kept out.

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};
use orion_domain::{DevicePath, ErrorCode, ToolError};

use super::Context;
use crate::roots::{Located, Wanted, What, io_failure};

/// Folders below folders; each holds a handle open.
const MAX_DEPTH: usize = 64;
/// Names looked at in one call.
const MAX_ENTRIES: u64 = 1_000_000;
/// How often progress is told.
const PROGRESS_EVERY: u64 = 10_000;

/// How the walk is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// This folder alone.
    Flat,
    /// All below it; what cannot be read or is kept out is passed over.
    Deep,
    /// All below it, and an error for anything that cannot be judged or is kept out.
    Whole,
}

/// One name that was come by. A link is never followed.
pub(super) struct Visit<'a> {
    /// The folder that holds it.
    pub(super) dir: &'a Dir,
    /// The path of that folder, beneath the path that was asked for.
    folder: &'a DevicePath,
    /// The names from the start to it.
    pub(super) below: &'a [String],
    /// What it is.
    pub(super) what: What,
}

impl Visit<'_> {
    /// Its path; none when no path of this device can name it.
    pub(super) fn path(&self) -> Option<DevicePath> {
        self.folder.join(self.below.last()?).ok()
    }

    /// Its metadata; none when it has gone in the meantime.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        self.dir.symlink_metadata(self.below.last()?).ok()
    }
}

/// What a visitor wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on.
    On,
    /// Enough.
    Stop,
}

/// A folder on the way with the names in it that are still to be visited, last first.
struct Frame {
    dir: Dir,
    asked: DevicePath,
    /// Where it really is, if that is elsewhere.
    real: Option<DevicePath>,
    names: Vec<(String, What)>,
}

struct Walk<'a, 'c> {
    context: &'a Context<'c>,
    root: &'a DevicePath,
    mode: Mode,
    seen: u64,
    cut: bool,
}

/// Visits what is in a located folder, each folder's names in order and a folder before what is in
/// it. Says whether anything was left out at a bound.
pub(super) fn walk(
    start: &Located,
    mode: Mode,
    context: &Context<'_>,
    visit: &mut dyn FnMut(&Visit<'_>) -> Result<Next, ToolError>,
) -> Result<bool, ToolError> {
    let mut walk = Walk { context, root: &start.root, mode, seen: 0, cut: false };
    let dir = start
        .dir
        .try_clone()
        .map_err(|error| io_failure(&error, Wanted::Directory, &start.asked))?;
    let asked = start.asked.clone();
    let real = (start.real != asked).then(|| start.real.clone());
    let names = walk.names(&dir, &asked, real.as_ref())?;
    let mut frames = vec![Frame { dir, asked, real, names }];
    let mut below: Vec<String> = Vec::new();
    while let Some(frame) = frames.last_mut() {
        context.check()?;
        let Some((name, what)) = frame.names.pop() else {
            frames.pop();
            below.pop();
            continue;
        };
        below.push(name);
        let seen = Visit { dir: &frame.dir, folder: &frame.asked, below: &below, what };
        if visit(&seen)? == Next::Stop {
            return Ok(true);
        }
        if what == What::Folder
            && mode != Mode::Flat
            && let Some(frame) = walk.enter(frame, &below)?
        {
            frames.push(frame);
        } else {
            below.pop();
        }
    }
    Ok(walk.cut)
}

impl Walk<'_, '_> {
    fn enter(&mut self, above: &Frame, below: &[String]) -> Result<Option<Frame>, ToolError> {
        let name = below.last().map_or("", String::as_str);
        let Ok(asked) = above.asked.join(name) else {
            self.odd(&above.asked)?;
            return Ok(None);
        };
        if below.len() >= MAX_DEPTH {
            self.cut = true;
            return match self.mode {
                Mode::Flat | Mode::Deep => Ok(None),
                Mode::Whole => Err(too_much(&asked, "lies more than 64 folders deep")),
            };
        }
        let real = match above.real.as_ref().map(|real| real.join(name)) {
            Some(Ok(real)) => Some(real),
            None => None,
            Some(Err(_)) => {
                self.odd(&above.asked)?;
                return Ok(None);
            }
        };
        let opened = above
            .dir
            .open_dir_nofollow(name)
            .map_err(|error| io_failure(&error, Wanted::Directory, &asked))
            .and_then(|dir| Ok((self.names(&dir, &asked, real.as_ref())?, dir)));
        match opened {
            Ok((names, dir)) => Ok(Some(Frame { dir, asked, real, names })),
            Err(error) if self.mode == Mode::Whole || stops(error.code) => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// The names in a folder that are to be visited, in reverse order.
    fn names(
        &mut self,
        dir: &Dir,
        asked: &DevicePath,
        real: Option<&DevicePath>,
    ) -> Result<Vec<(String, What)>, ToolError> {
        let failed = |error: &std::io::Error| io_failure(error, Wanted::Directory, asked);
        let mut names = Vec::new();
        for entry in dir.entries().map_err(|error| failed(&error))? {
            let entry = entry.map_err(|error| failed(&error))?;
            self.seen += 1;
            if self.seen > MAX_ENTRIES {
                self.cut = true;
                if self.mode == Mode::Whole {
                    return Err(too_much(asked, "holds more than a million files and folders"));
                }
                break;
            }
            if self.seen.is_multiple_of(PROGRESS_EVERY) {
                self.context.check()?;
                (self.context.progress)(self.seen, None, "entries looked at");
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.odd(asked)?;
                continue;
            };
            if self.mode == Mode::Whole && asked.join(name).is_err() {
                self.odd(asked)?;
            }
            if self.context.roots.may_hide(name) && self.is_hidden(asked, real, name)? {
                continue;
            }
            if let Ok(kind) = entry.file_type() {
                names.push((name.to_owned(), What::of(kind)));
            }
        }
        names.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        Ok(names)
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
        let (roots, asked) = (self.context.roots, here);
        let hidden = roots.hides(self.root, &real) || (asked != real && roots.denies(&asked));
        if hidden && self.mode == Mode::Whole {
            return Err(crate::roots::refused(
                &asked,
                format!(
                    "{asked} is kept out on this device, so the folder that holds it stays as well."
                ),
                "device: paths",
            ));
        }
        Ok(hidden)
    }

    /// A name that no path of this device can hold. It can be passed over, but not be judged.
    fn odd(&self, folder: &DevicePath) -> Result<(), ToolError> {
        match self.mode {
            Mode::Flat | Mode::Deep => Ok(()),
            Mode::Whole => Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                format!(
                    "Something in {folder} has a name that cannot be written as text or is too long to be judged; rename or remove it on the device first."
                ),
            )),
        }
    }
}

fn stops(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::Cancelled | ErrorCode::Timeout)
}

fn too_much(path: &DevicePath, what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::ResourceExhausted,
        format!("{path} {what}; name a part of it instead."),
    )
    .with("attempted_path", path.to_string())
}
