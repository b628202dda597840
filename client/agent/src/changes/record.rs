//! The record of one call: what it is about to do, in lines that are only ever added to. The line that
//! plans a step is whole before the step is taken, so a torn last line stands for nothing that was
//! done.

use std::io::{self, BufRead, BufReader, Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};
use orion_domain::touches::PathTouch;
use orion_domain::{CallId, DevicePath, Digest, Touches, Undo};
use serde::{Deserialize, Serialize};

use super::FileStamp;

const RECORD: &str = "record.jsonl";
/// The most that is read of a record, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Which call it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    /// The paths that it names and may change.
    pub(crate) paths: Vec<DevicePath>,
    /// When it began to change something, in milliseconds since 1970 began in UTC.
    pub(crate) at_ms: i64,
    /// Whether nothing is kept of what it replaces or deletes: a person knew that and said yes.
    pub(crate) is_final: bool,
    /// What the call touched; of an undoing, what the call at the beginning of its chain touched.
    pub(crate) touched: Touched,
    /// What it took back or did again, of an undoing.
    pub(crate) undo: Option<Undo>,
}

impl Header {
    /// Reads which call a folder is of.
    ///
    /// # Errors
    /// As [`Record::read`].
    pub(crate) fn read(place: &Dir) -> io::Result<Self> {
        Lines::open(place)?.header()
    }

    /// What taking this call back does.
    pub(crate) fn undoing(&self) -> Undo {
        match &self.undo {
            None => Undo::of_call(self.call, self.tool.clone()),
            Some(earlier) => Undo::of_undo(self.call, earlier),
        }
    }
}

/// The lines of a record, as far as they are whole.
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

/// A place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Location {
    /// As the call names it, or as far as it can be named.
    pub(crate) path: DevicePath,
    /// Where it really is, links followed.
    pub(crate) real: DevicePath,
}

/// Where something that gets a name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source {
    /// A folder, made in its place.
    Folder,
    /// Made beside it, under a name of its own.
    Staged,
    /// From the trash, where an earlier call left it.
    Kept {
        /// The call.
        call: CallId,
        /// Which of its steps.
        step: usize,
    },
}

/// One change.
#[expect(clippy::large_enum_variant, reason = "a call has a handful of them")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
    /// Something gets a name that was free, or that a file had which goes to the trash.
    Placed { at: Location, source: Source },
    /// Something goes to the trash.
    Deleted { at: Location, what: FileStamp, entries: u64, disk_bytes: u64 },
    /// An empty folder is removed.
    Removed { at: Location },
    /// Something gets another name. A file that had it goes to the trash.
    Moved { from: Location, to: Location, what: FileStamp, over: Option<FileStamp> },
    /// Text is added to the end of a file where it is; the trash has the text until that is done.
    Extended { at: Location, before: FileStamp, added: u64, text: Digest },
    /// A file is cut to `before.bytes - cut` bytes where it is; the trash has what is cut.
    Shortened { at: Location, before: FileStamp, cut: u64 },
}

impl Step {
    /// The paths at which it changes something.
    pub(super) fn paths(&self) -> impl Iterator<Item = &DevicePath> {
        let (one, other) = match self {
            Self::Placed { at, .. }
            | Self::Deleted { at, .. }
            | Self::Removed { at }
            | Self::Extended { at, .. }
            | Self::Shortened { at, .. } => (at, None),
            Self::Moved { from, to, .. } => (from, Some(to)),
        };
        [Some(one), other].into_iter().flatten().map(|spot| &spot.path)
    }
}

/// One line.
#[expect(clippy::large_enum_variant, reason = "one is held at a time")]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first.
    Call(Header),
    /// A step begins.
    Plan(Step),
    /// What the step puts in place is whole and looks like this.
    Ready(FileStamp),
    /// The step is done. What it put into the trash looks like this.
    Done { kept: Option<FileStamp> },
    /// Everything was taken back, by this call.
    Undone(CallId),
}

/// A step and how far it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedStep {
    pub(crate) step: Step,
    pub(crate) ready: Option<FileStamp>,
    pub(crate) done: bool,
    pub(crate) kept: Option<FileStamp>,
}

impl RecordedStep {
    /// What lies in the trash for it, in bytes of the disk.
    fn kept_bytes(&self) -> u64 {
        if !self.done {
            return 0;
        }
        let of = |print: &Option<FileStamp>| print.as_ref().map_or(0, |print| print.disk_bytes);
        match &self.step {
            Step::Placed { .. } => of(&self.kept),
            Step::Deleted { disk_bytes, .. } => *disk_bytes,
            Step::Removed { .. } | Step::Extended { .. } => 0,
            Step::Moved { over, .. } => of(over),
            Step::Shortened { cut, .. } => *cut,
        }
    }

    /// Whether anything may lie in the trash for it.
    pub(crate) fn keeps(&self) -> bool {
        match &self.step {
            Step::Placed { .. } => self.kept.is_some() || !self.done,
            Step::Moved { over, .. } => over.is_some(),
            Step::Deleted { .. } | Step::Extended { .. } | Step::Shortened { .. } => true,
            Step::Removed { .. } => false,
        }
    }

    /// The place from which what is in the trash came.
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

/// The record as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) header: Header,
    pub(crate) steps: Vec<RecordedStep>,
    /// The call that took it back.
    pub(crate) undone: Option<CallId>,
}

impl Record {
    pub(super) fn new(header: Header) -> Self {
        Self { header, steps: Vec::new(), undone: None }
    }

    /// Reads the record in a call's folder, as far as it is whole.
    ///
    /// # Errors
    /// `UnexpectedEof` where not even the first line is, so that no step was taken; `InvalidData` for
    /// whole lines that are not understood, as another version may write them; what the file system
    /// says.
    pub(crate) fn read(place: &Dir) -> io::Result<Self> {
        let mut lines = Lines::open(place)?;
        let mut record = Self::new(lines.header()?);
        while let Some(line) = lines.next()? {
            record.apply(line);
        }
        Ok(record)
    }

    pub(super) fn apply(&mut self, line: Line) {
        let last = self.steps.last_mut();
        match (line, last) {
            (Line::Plan(step), _) => {
                self.steps.push(RecordedStep { step, ready: None, done: false, kept: None });
            }
            (Line::Ready(print), Some(last)) => last.ready = Some(print),
            (Line::Done { kept }, Some(last)) => (last.done, last.kept) = (true, kept),
            (Line::Undone(by), _) => self.undone = Some(by),
            (Line::Call(_) | Line::Ready(_) | Line::Done { .. }, _) => {}
        }
    }

    /// What lies in the trash for the call, in bytes of the disk. What another call took back has left it.
    pub(crate) fn kept_bytes(&self) -> u64 {
        if self.undone.is_some_and(|by| by != self.header.call) {
            return 0;
        }
        self.steps.iter().fold(0, |sum, noted| sum.saturating_add(noted.kept_bytes()))
    }
}

/// Begins the record of a call in its folder.
pub(super) fn create(place: &Dir, header: &Header) -> io::Result<File> {
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

/// Opens the record of a call to add to it.
pub(super) fn reopen(place: &Dir) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).follow(FollowSymlinks::No);
    place.open_with(RECORD, &options)
}

/// Adds a line, in one piece.
pub(super) fn add(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}
