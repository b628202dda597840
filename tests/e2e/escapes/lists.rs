//! The attack lists, read from `ORION_CORPORA` or from `shared/corpora` beside the project.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

/// The tools that are tried with more of the lists than the others: what reads, and what writes.
const MOST: [&str; 2] = ["read_file", "write_file"];

/// One list.
pub(super) struct List {
    pub(super) name: &'static str,
    /// The lines, each once. What isn't UTF-8 can't be the text of a call; it stands here with
    /// replacement characters.
    pub(super) lines: Vec<String>,
    /// Whether each line leaves the folder by POSIX rules, as it stands.
    leaves: bool,
}

/// Whether every line is tried with this tool.
pub(super) fn all(tool: &str) -> bool {
    std::env::var("ORION_ESCAPES")
        .is_ok_and(|wanted| wanted == "all" || wanted.split(',').any(|wanted| wanted == tool))
}

impl List {
    /// Reads a list; where there is none, says so.
    pub(super) fn read(name: &'static str) -> Option<Self> {
        let folder = std::env::var_os("ORION_CORPORA").map_or_else(
            || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora")),
            PathBuf::from,
        );
        let Ok(bytes) = std::fs::read(folder.join("paths").join(name)) else {
            assert!(
                std::env::var_os("ORION_ESCAPES").is_none(),
                "no attack list paths/{name} in {}: name its folder by ORION_CORPORA",
                folder.display()
            );
            say(&format!("skipped: no attack list paths/{name} in {}", folder.display()));
            return None;
        };
        let lines: BTreeSet<String> = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect();
        assert!(lines.len() > 1000, "{name} is no whole list");
        let leaves = name.starts_with("escapes");
        Some(Self { name, lines: lines.into_iter().collect(), leaves })
    }

    /// What is tried with a tool: every line as it stands and behind the granted folder's own path, or a
    /// part of both.
    pub(super) fn part_for(&self, tool: &str) -> Vec<Tried<'_>> {
        let (every, every_below) = match (self.leaves, MOST.contains(&tool)) {
            _ if all(tool) => (1, 1),
            (true, true) => (8, 320),
            (true, false) => (40, 400),
            (false, true) => (160, 400),
            (false, false) => (1200, 2400),
        };
        let tried = |below: bool, every| {
            self.lines.iter().step_by(every).map(move |line| Tried { line, below })
        };
        tried(false, every).chain(tried(true, every_below)).collect()
    }
}

/// Returns the lines of a list. None where there is none.
pub(crate) fn list_of(name: &'static str) -> Option<Vec<String>> {
    Some(List::read(name)?.lines)
}

/// A line, and whether the path of the granted folder is put before it.
pub(super) struct Tried<'a> {
    pub(super) line: &'a str,
    pub(super) below: bool,
}

/// Written past the harness's capture, so that what was skipped and what was counted is seen; nothing
/// is lost if the stream is closed.
pub(crate) fn say(text: &str) {
    drop(writeln!(std::io::stderr(), "{text}"));
}
