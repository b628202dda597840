//! Lists the files to search, in order, a few at a time to any thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use orion_domain::{DevicePath, ToolError};

use crate::roots::{FileKind, Located, Wanted, io_failure};
use crate::scan::{Handle, Watch};
use crate::tools::glob::Pattern;
use crate::walk::{Mode, Walk};

/// Number of files in one batch. Each may hold a handle of its folder open.
const AT_ONCE: usize = 16;

/// A file to search.
pub(super) struct Source {
    /// The folder that holds the file.
    pub(super) folder: Arc<Handle>,
    /// The name.
    pub(super) name: String,
    shown: FileSource,
}

/// How results name the file.
enum FileSource {
    /// By its name below the path of its folder.
    In(Arc<DevicePath>),
    /// As the call named it.
    As(DevicePath),
}

impl Source {
    /// Returns the path; only files with results need it. `None` if this device has no such path.
    pub(super) fn path(&self) -> Option<String> {
        match &self.shown {
            FileSource::In(folder) => Some(folder.join(&self.name).ok()?.to_string()),
            FileSource::As(path) => Some(path.to_string()),
        }
    }
}

/// The files of one search.
pub(super) struct Feed<'a> {
    state: Mutex<State<'a>>,
    glob: &'a Pattern,
    watch: Watch<'a>,
    /// Lines found by all threads. Later files come later in the result, so no more files are needed once
    /// this exceeds `most`.
    pub(super) found: AtomicU64,
    most: u64,
    /// Files searched by all threads.
    pub(super) searched: AtomicU64,
}

struct State<'a> {
    walk: Option<Walk<'a>>,
    one: Option<Source>,
    given: u64,
    cut: bool,
    failed: Option<ToolError>,
}

impl<'a> Feed<'a> {
    /// Returns the feed of all files below a folder whose names match.
    pub(super) fn of_folder(
        start: &'a Located,
        glob: &'a Pattern,
        watch: Watch<'a>,
        most: u64,
    ) -> Result<Self, ToolError> {
        let walk = Walk::begin(start, Mode::Deep, watch)?;
        Ok(Self::new(Some(walk), None, glob, watch, most))
    }

    /// Returns the feed of one file.
    pub(super) fn of_file(
        located: &'a Located,
        name: &str,
        glob: &'a Pattern,
        watch: Watch<'a>,
        most: u64,
    ) -> Result<Self, ToolError> {
        let failed = |error: &std::io::Error| io_failure(error, Wanted::Directory, &located.asked);
        let folder = Arc::new(Handle::again(&located.dir).map_err(|error| failed(&error))?);
        let shown = FileSource::As(located.asked.clone());
        let source = Source { folder, name: name.to_owned(), shown };
        let one = glob.fits([name]).then_some(source);
        Ok(Self::new(None, one, glob, watch, most))
    }

    fn new(
        walk: Option<Walk<'a>>,
        one: Option<Source>,
        glob: &'a Pattern,
        watch: Watch<'a>,
        most: u64,
    ) -> Self {
        let state = State { walk, one, given: 0, cut: false, failed: None };
        let (found, searched) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { state: Mutex::new(state), glob, watch, found, most, searched }
    }

    /// Returns the next batch with its number. `None` if there are no more files, or no more are needed.
    pub(super) fn next(&self) -> Option<(u64, Vec<Source>)> {
        if self.found.load(Ordering::Relaxed) > self.most || self.watch.is_over() {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut files: Vec<_> = state.one.take().into_iter().collect();
        while files.len() < AT_ONCE
            && let Some(walk) = &mut state.walk
        {
            match walk.advance() {
                Ok(true) => files.extend(self.file(walk)),
                Ok(false) => {
                    state.cut = walk.cut;
                    state.walk = None;
                }
                Err(error) => {
                    state.failed = Some(error);
                    state.walk = None;
                }
            }
        }
        let number = state.given;
        state.given += 1;
        (!files.is_empty()).then_some((number, files))
    }

    /// Returns the current entry of the walk, if it is a file to search.
    fn file(&self, walk: &Walk<'_>) -> Option<Source> {
        let at = walk.visit().filter(|at| at.what == FileKind::File)?;
        if !self.glob.fits(at.below.iter().map(String::as_str)) {
            return None;
        }
        let (folder, shown) = (Arc::clone(at.handle), FileSource::In(Arc::clone(at.folder)));
        Some(Source { folder, name: at.below.last()?.clone(), shown })
    }

    /// Returns whether a limit cut off files, and the error of the walk.
    pub(super) fn end(self) -> (bool, Option<ToolError>) {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unfinished = state.walk.is_some_and(|walk| walk.cut);
        (state.cut || unfinished, state.failed)
    }
}
