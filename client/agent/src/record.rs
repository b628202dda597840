//! The record of one call, an append-only file of planned steps. The line that plans a step is complete
//! before the step runs, so a partial last line means that nothing was done.

use std::io::{self, BufRead, BufReader, Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};
use orion_domain::touches::PathTouch;
use orion_domain::{CallId, DevicePath, Digest, Touches, Undo};
use serde::{Deserialize, Serialize};

use crate::entry::{FileStamp, Location};

const RECORD: &str = "record.jsonl";
/// Maximum size of a record that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Identifies the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// The paths that the call names and may change.
    pub(crate) paths: Vec<DevicePath>,
    /// Time of the first change, in Unix milliseconds.
    pub(crate) at_ms: i64,
    /// Whether replaced and deleted content is not kept. A person approved that.
    pub(crate) is_final: bool,
    /// What the call touched. For an undo, what the call at the start of the undo chain touched.
    pub(crate) touched: Touched,
    /// What the call undid or redid. `None` if the call is not an undo.
    pub(crate) undo: Option<Undo>,
}

impl Header {
    /// Reads the header of a call's folder.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub(crate) fn read(place: &Dir) -> io::Result<Self> {
        Lines::open(place)?.header()
    }

    /// Returns what undoing this call does.
    pub(crate) fn undoing(&self) -> Undo {
        match &self.undo {
            None => Undo::of_call(self.call, self.tool.clone()),
            Some(earlier) => Undo::of_undo(self.call, earlier),
        }
    }
}

/// Reader of the complete lines of a record.
struct Lines {
    file: BufReader<io::Take<File>>,
    text: Vec<u8>,
}

impl Lines {
    fn open(place: &Dir) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = BufReader::new(place.open_with(RECORD, &options)?.take(MAX_BYTES));
        Ok(Self { file, text: Vec::new() })
    }

    fn header(&mut self) -> io::Result<Header> {
        match self.next()? {
            Some(Line::Call(header)) => Ok(header),
            Some(_) => Err(io::ErrorKind::InvalidData.into()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn next(&mut self) -> io::Result<Option<Line>> {
        self.text.clear();
        self.file.read_until(b'\n', &mut self.text)?;
        let whole = self.text.strip_suffix(b"\n").map(serde_json::from_slice).transpose();
        whole.map_err(|_| io::ErrorKind::InvalidData.into())
    }
}

/// What a call of a file tool touched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Touched {
    paths: Vec<PathTouch>,
    whole: bool,
}

impl From<&Touches> for Touched {
    fn from(touches: &Touches) -> Self {
        Self { paths: touches.paths.clone(), whole: touches.whole }
    }
}

impl From<Touched> for Touches {
    fn from(Touched { paths, whole }: Touched) -> Self {
        Self { paths, whole, ..Self::default() }
    }
}

/// Where a placed entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// A folder, created at its path.
    Folder,
    /// Staged beside the path under a temporary name.
    Staged,
    /// The trash, where an earlier call left it.
    Kept {
        /// The earlier call.
        call: CallId,
        /// Index of its step.
        step: usize,
    },
}

/// One change.
#[expect(clippy::large_enum_variant, reason = "a call has a handful of them")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// An entry gets a free name, or the name of a file that goes to the trash.
    Placed { at: Location, source: Source },
    /// An entry goes to the trash.
    Deleted { at: Location, what: FileStamp, entries: u64, disk_bytes: u64 },
    /// An empty folder is removed.
    Removed { at: Location },
    /// An entry is renamed. A file that had the new name goes to the trash.
    Moved { from: Location, to: Location, what: FileStamp, over: Option<FileStamp> },
    /// Text is appended to a file in place; the trash holds the text until the step is done.
    Extended { at: Location, before: FileStamp, added: u64, text: Digest },
    /// A file is cut in place to `before.bytes - cut` bytes; the trash holds the cut part.
    Shortened { at: Location, before: FileStamp, cut: u64 },
}

impl Step {
    /// Returns the paths that the step changes.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &DevicePath> {
        let (one, other) = match self {
            Self::Placed { at, .. }
            | Self::Deleted { at, .. }
            | Self::Removed { at }
            | Self::Extended { at, .. }
            | Self::Shortened { at, .. } => (at, None),
            Self::Moved { from, to, .. } => (from, Some(to)),
        };
        [Some(one), other].into_iter().flatten().map(|location| &location.path)
    }
}

/// One line.
#[expect(clippy::large_enum_variant, reason = "one is held at a time")]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Line {
    /// The first line.
    Call(Header),
    /// A step begins.
    Plan(Step),
    /// The staged content of the step is complete and has this stamp.
    Ready(FileStamp),
    /// The step is done. `kept` is the stamp of what it put into the trash.
    Done { kept: Option<FileStamp> },
    /// This call undid all changes.
    Undone(CallId),
}

/// A step and its progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedStep {
    pub(crate) step: Step,
    pub(crate) ready: Option<FileStamp>,
    pub(crate) done: bool,
    pub(crate) kept: Option<FileStamp>,
}

impl RecordedStep {
    /// Returns the bytes on the disk that the trash holds for the step.
    fn kept_bytes(&self) -> u64 {
        if !self.done {
            return 0;
        }
        let of = |stamp: &Option<FileStamp>| stamp.as_ref().map_or(0, |stamp| stamp.disk_bytes);
        match &self.step {
            Step::Placed { .. } => of(&self.kept),
            Step::Deleted { disk_bytes, .. } => *disk_bytes,
            Step::Removed { .. } | Step::Extended { .. } => 0,
            Step::Moved { over, .. } => of(over),
            Step::Shortened { cut, .. } => *cut,
        }
    }

    /// Returns whether the trash may hold content for the step.
    pub(crate) fn keeps(&self) -> bool {
        match &self.step {
            Step::Placed { .. } => self.kept.is_some() || !self.done,
            Step::Moved { over, .. } => over.is_some(),
            Step::Deleted { .. } | Step::Extended { .. } | Step::Shortened { .. } => true,
            Step::Removed { .. } => false,
        }
    }

    /// Returns the original location of the step's trash content.
    pub(crate) fn kept_from(&self) -> &Location {
        match &self.step {
            Step::Placed { at, .. }
            | Step::Deleted { at, .. }
            | Step::Removed { at }
            | Step::Moved { to: at, .. }
            | Step::Extended { at, .. }
            | Step::Shortened { at, .. } => at,
        }
    }
}

/// A complete record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) header: Header,
    pub(crate) steps: Vec<RecordedStep>,
    /// The call that undid this one. `None` if it was not undone.
    pub(crate) undone: Option<CallId>,
}

impl Record {
    pub(crate) fn new(header: Header) -> Self {
        Self { header, steps: Vec::new(), undone: None }
    }

    /// Reads the complete lines of the record in a call's folder.
    ///
    /// # Errors
    /// `UnexpectedEof` if not even the first line is complete, so that no step ran. `InvalidData` for
    /// complete lines that are not understood, such as those of another version. Errors of the file system.
    pub(crate) fn read(place: &Dir) -> io::Result<Self> {
        let mut lines = Lines::open(place)?;
        let mut record = Self::new(lines.header()?);
        while let Some(line) = lines.next()? {
            record.apply(line);
        }
        Ok(record)
    }

    pub(crate) fn apply(&mut self, line: Line) {
        let last = self.steps.last_mut();
        match (line, last) {
            (Line::Plan(step), _) => {
                self.steps.push(RecordedStep { step, ready: None, done: false, kept: None });
            }
            (Line::Ready(stamp), Some(last)) => last.ready = Some(stamp),
            (Line::Done { kept }, Some(last)) => (last.done, last.kept) = (true, kept),
            (Line::Undone(by), _) => self.undone = Some(by),
            (Line::Call(_) | Line::Ready(_) | Line::Done { .. }, _) => {}
        }
    }

    /// Returns the bytes on the disk that the trash holds for the call. 0 if another call undid it, because
    /// its content has left the trash.
    pub(crate) fn kept_bytes(&self) -> u64 {
        if self.undone.is_some_and(|by| by != self.header.call) {
            return 0;
        }
        self.steps.iter().fold(0, |sum, noted| sum.saturating_add(noted.kept_bytes()))
    }
}

/// Creates the record of a call in its folder.
pub(crate) fn create(place: &Dir, header: &Header) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_fs_ext::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = place.open_with(RECORD, &options)?;
    add(&mut file, &Line::Call(header.clone()))?;
    Ok(file)
}

/// Opens the record of a call for appending.
pub(crate) fn reopen(place: &Dir) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).follow(FollowSymlinks::No);
    place.open_with(RECORD, &options)
}

/// Appends a line in one write.
pub(crate) fn add(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}
