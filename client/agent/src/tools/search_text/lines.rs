//! Finds the matching lines of files.

use std::io::{self, Read};

use cap_std::fs::File;
use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkFinish, SinkMatch};
use orion_catalog::tools::search_text::Match;

use super::expression::Expression;
use super::feed::Source;
use crate::call::MAX_RESULT_BYTES;
use crate::scan::Watch;
use crate::tools::list_directory::{Limits, json_bytes};

/// Maximum part of a file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024 * 1024;
/// Maximum part of a line that is returned, in characters.
const MAX_SHOWN_CHARACTERS: usize = 500;

/// The result for some files.
#[derive(Default)]
pub(super) struct Lines {
    /// Files that were searched.
    pub(super) searched: u64,
    /// Files that could not be read to their end.
    pub(super) skipped: u64,
    /// Skipped files that were searched only up to a line that is too long.
    pub(super) long_lines: u64,
    /// The lines, in order.
    pub(super) found: Vec<Line>,
    bytes: usize,
}

/// One line.
pub(super) struct Line {
    /// Files of the batch that were searched, up to and including this line's file.
    pub(super) searched: u64,
    /// Files of the batch that were skipped, up to and including this line's file.
    pub(super) skipped: u64,
    /// Skipped files with a line that is too long, up to and including this line's file.
    pub(super) long_lines: u64,
    /// Size that the line counts as in the result, in bytes.
    pub(super) bytes: usize,
    pub(super) told: Match,
}

impl Lines {
    /// Returns the number of lines. If they fill a result by themselves, more than a call can request.
    pub(super) fn weight(&self) -> u64 {
        if self.bytes > MAX_RESULT_BYTES { u64::from(u32::MAX) } else { self.found.len() as u64 }
    }
}

/// Searches files, one after the other.
pub(super) struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    watch: Watch<'a>,
    most: u64,
}

impl<'a> Search<'a> {
    /// Creates a search for at most `most` lines and one more, which shows that there are more.
    pub(super) fn new(expression: Expression, watch: Watch<'a>, most: u64) -> Self {
        let Expression { matcher, max_line_bytes } = expression;
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            // This also limits what the matcher gets at once.
            .heap_limit(Some(max_line_bytes))
            .build();
        Self { matcher, searcher, watch, most }
    }

    /// Searches files in order, as long as more lines are needed.
    pub(super) fn all(&mut self, files: &[Source]) -> Lines {
        let mut lines = Lines::default();
        for file in files {
            if lines.weight() > self.most || self.watch.is_over() {
                break;
            }
            self.one(file, &mut lines);
        }
        lines
    }

    fn one(&mut self, source: &Source, lines: &mut Lines) {
        let (file, size) = match source.folder.file(&source.name) {
            Ok(Some(opened)) => opened,
            // Another entry has the name by now.
            Ok(None) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => {
                lines.skipped += 1;
                return;
            }
        };
        // A growing file is searched up to its first size; some file systems report no sizes.
        let left = if size == 0 { MAX_FILE_BYTES } else { size.min(MAX_FILE_BYTES) };
        let before = (lines.found.len(), lines.bytes);
        let (most, watch) = (self.most, self.watch);
        let mut sink = Collect { source, path: None, most, watch, lines, useless: false };
        let watched = Watched { file, left, watch: self.watch };
        let result = self.searcher.search_reader(&self.matcher, watched, &mut sink);
        if sink.useless {
            lines.found.truncate(before.0);
            lines.bytes = before.1;
        } else if let Err(error) = result {
            lines.skipped += 1;
            lines.long_lines += u64::from(is_long_line(&error));
        } else if size > MAX_FILE_BYTES {
            lines.skipped += 1;
        } else {
            lines.searched += 1;
        }
        for line in lines.found.iter_mut().skip(before.0) {
            (line.searched, line.skipped) = (lines.searched, lines.skipped);
            line.long_lines = lines.long_lines;
        }
    }
}

/// Returns whether the searcher stopped at a line longer than its buffer. That error is its own, so it has no
/// operating system code.
fn is_long_line(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Other && error.raw_os_error().is_none()
}

struct Collect<'a> {
    source: &'a Source,
    /// The file's path. `None` until a line is found.
    path: Option<String>,
    most: u64,
    watch: Watch<'a>,
    lines: &'a mut Lines,
    /// Whether the file is binary, or has a name that this device cannot express.
    useless: bool,
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let Some(path) = self.path.take().or_else(|| self.source.path()) else {
            self.useless = true;
            return Ok(false);
        };
        let text = shortened(found.bytes());
        let bytes = Limits::bytes(json_bytes(&path) + json_bytes(&text));
        let line = found.line_number().unwrap_or(0);
        let told = Match { path: path.clone(), line, text };
        self.path = Some(path);
        self.lines.bytes += bytes;
        self.lines.found.push(Line { searched: 0, skipped: 0, long_lines: 0, bytes, told });
        Ok(self.lines.weight() <= self.most && !self.watch.is_over())
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.useless |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// Returns the beginning of a line as text.
fn shortened(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // A character has at most four bytes.
    let most = line.len().min(4 * MAX_SHOWN_CHARACTERS);
    let text = String::from_utf8_lossy(line.get(..most).unwrap_or(line));
    text.chars().take(MAX_SHOWN_CHARACTERS).collect()
}

/// A file that ends at a limit, and whose reads fail when the call is over.
struct Watched<'a> {
    file: File,
    left: u64,
    watch: Watch<'a>,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        if self.watch.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        loop {
            match self.file.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(read) => {
                    self.left = self.left.saturating_sub(read as u64);
                    return Ok(read);
                }
            }
        }
    }
}
