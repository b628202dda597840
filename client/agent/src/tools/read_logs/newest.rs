//! Keeps the newest lines that match, within the limits of a result.

use std::collections::VecDeque;

use grep_matcher::Matcher as _;
use orion_catalog::tools::read_logs::LogLine;

use crate::tools::list_directory::json_bytes;
use crate::tools::search_text::expression::Expression;

/// The most bytes of a line that are returned.
pub(super) const MAX_TEXT_BYTES: usize = 4096;
/// The most bytes of a line as a program prints it. A line of bytes takes five for each.
const MAX_PRINTED_BYTES: usize = 64 * 1024;
/// The most bytes of all lines as JSON.
const MAX_BYTES: usize = 1024 * 1024;
/// What a line takes besides its text, in bytes of JSON.
const LINE_BYTES: usize = 80;

/// The newest lines.
pub(super) struct Newest {
    max: usize,
    grep: Option<Expression>,
    bytes: usize,
    /// The lines, oldest first.
    pub(super) lines: VecDeque<LogLine>,
    /// Whether a line was left out or cut.
    pub(super) truncated: bool,
}

impl Newest {
    pub(super) const fn new(max: u32, grep: Option<Expression>) -> Self {
        let lines = VecDeque::new();
        Self { max: max as usize, grep, bytes: 0, lines, truncated: false }
    }

    /// Returns the same wish without any lines.
    pub(super) fn empty(&self) -> Self {
        let Self { max, grep, .. } = self;
        Self { max: *max, grep: grep.clone(), bytes: 0, lines: VecDeque::new(), truncated: false }
    }

    /// Returns whether not every line is wanted.
    pub(super) const fn is_filtered(&self) -> bool {
        self.grep.is_some()
    }

    /// Returns how many lines are wanted.
    pub(super) const fn max(&self) -> usize {
        self.max
    }

    /// Adds a line that is newer than all others.
    pub(super) fn push(&mut self, line: LogLine) {
        if !self.matches(&line.text) {
            return;
        }
        self.bytes += size(&line);
        self.lines.push_back(line);
        while self.is_over()
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= size(&oldest);
            self.truncated = true;
        }
    }

    /// Adds a line that is older than all others. Returns whether it still fits.
    pub(super) fn push_older(&mut self, line: LogLine) -> bool {
        if !self.matches(&line.text) {
            return true;
        }
        self.bytes += size(&line);
        self.lines.push_front(line);
        let is_over = self.is_over();
        if is_over && let Some(oldest) = self.lines.pop_front() {
            self.bytes -= size(&oldest);
            self.truncated = true;
        }
        !is_over
    }

    fn is_over(&self) -> bool {
        self.lines.len() > self.max || self.bytes > MAX_BYTES
    }

    /// Returns whether a line matches. Of a line that is too long for the expression, its beginning counts.
    fn matches(&mut self, text: &str) -> bool {
        let Some(grep) = &self.grep else { return true };
        let bytes = text.as_bytes();
        let part = bytes.get(..grep.max_line_bytes).unwrap_or(bytes);
        self.truncated |= part.len() < bytes.len();
        grep.matcher.is_match(part).unwrap_or(false)
    }

    /// Returns bytes as the text of a line. Notes if they are cut.
    pub(super) fn text(&mut self, bytes: &[u8]) -> String {
        let part = bytes.get(..MAX_TEXT_BYTES).unwrap_or(bytes);
        self.truncated |= part.len() < bytes.len();
        let mut text = String::from_utf8_lossy(part).into_owned();
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        text
    }
}

fn size(line: &LogLine) -> usize {
    LINE_BYTES + json_bytes(&line.text)
}

/// Splits what a program prints into lines.
#[derive(Default)]
pub(super) struct Splitter {
    partial: Vec<u8>,
    /// Whether a line was longer than any that is read.
    pub(super) is_cut: bool,
}

impl Splitter {
    /// Passes on each line that ends in this piece, without its end.
    pub(super) fn feed(&mut self, piece: &[u8], each: &mut dyn FnMut(&[u8])) {
        for part in piece.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = MAX_PRINTED_BYTES.saturating_sub(self.partial.len());
            self.partial.extend_from_slice(text.get(..room).unwrap_or(text));
            self.is_cut |= text.len() > room;
            if ends {
                self.end(each);
            }
        }
    }

    /// Passes on the last line, if it has no end.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(&[u8])) {
        if !self.partial.is_empty() {
            self.end(each);
        }
    }

    fn end(&mut self, each: &mut dyn FnMut(&[u8])) {
        each(self.partial.strip_suffix(b"\r").unwrap_or(&self.partial));
        self.partial.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::search_text::expression::parse;

    fn line(text: &str) -> LogLine {
        LogLine { time: None, priority: None, text: text.to_owned() }
    }

    fn texts(newest: &Newest) -> Vec<&str> {
        newest.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn the_newest_lines_that_match_are_kept_from_either_end() {
        let mut newest = Newest::new(2, Some(parse("o").unwrap()));
        for text in ["one", "two", "three", "four"] {
            newest.push(line(text));
        }
        assert_eq!((texts(&newest), newest.truncated), (vec!["two", "four"], true));
        let mut older = Newest::new(2, Some(parse("^t").unwrap()));
        let fits = ["four", "two", "to", "one"].map(|text| older.push_older(line(text)));
        assert_eq!((fits, texts(&older), older.truncated), ([true; 4], vec!["to", "two"], false));
        assert!(!older.push_older(line("t")) && older.truncated);
        assert_eq!(texts(&older), ["to", "two"]);
    }

    #[test]
    fn lines_and_all_of_them_are_bounded() {
        let mut newest = Newest::new(1000, None);
        let long = newest.text("\u{e9}".repeat(5000).as_bytes());
        assert!(long.len() <= MAX_TEXT_BYTES && newest.truncated);
        assert!(newest.text(&[0xff; 5000]).len() <= MAX_TEXT_BYTES);
        for _ in 0..1000 {
            newest.push(line(&long));
        }
        assert!(newest.bytes <= MAX_BYTES && newest.lines.len() > 200, "{}", newest.lines.len());
        let mut large = Newest::new(9, Some(parse("a[ab]{40000}[xyz]").unwrap()));
        large.push(line(&long));
        assert!(large.lines.is_empty() && large.truncated);
    }

    #[test]
    fn output_is_split_however_its_pieces_fall() {
        let text = b"one\r\n\ntwo\nthree";
        for piece in 1..=text.len() {
            let (mut splitter, mut found) = (Splitter::default(), Vec::new());
            let mut each = |line: &[u8]| found.push(String::from_utf8(line.to_vec()).unwrap());
            for part in text.chunks(piece) {
                splitter.feed(part, &mut each);
            }
            splitter.finish(&mut each);
            assert_eq!(found, ["one", "", "two", "three"], "{piece}");
            assert!(!splitter.is_cut);
        }
        let (mut splitter, mut longest) = (Splitter::default(), 0);
        splitter.feed(&vec![b'x'; MAX_PRINTED_BYTES + 1], &mut |_| unreachable!());
        splitter.feed(b"\nshort\n", &mut |line| longest = longest.max(line.len()));
        assert!(splitter.is_cut && longest == MAX_PRINTED_BYTES);
    }
}
