//! `list_directory`.

use cap_std::fs::Metadata;
use jiff::Timestamp;
use orion_catalog::tools::list_directory::{Arguments, Entry, EntryKind, ListDirectory, Returns};
use orion_domain::{Access, ToolError};

use super::glob::Pattern;
use super::walk::{Mode, Next, Visit, walk};
use super::{Context, Execute, Outcome, invalid, nearby};
use crate::report::MAX_RESULT_BYTES;
use crate::roots::{Located, What};

/// The most that may be asked for.
const MAX_RESULTS: u32 = 10_000;
/// The most that is told, in bytes of paths and what stands beside them, so that it fits a result
/// with what stands around it.
const MAX_BYTES: usize = MAX_RESULT_BYTES - 64 * 1024;
/// What an entry takes besides its name and path.
const ENTRY_BYTES: usize = 120;

impl Execute for ListDirectory {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let limits = Limits::new(arguments.max_results)?;
        let pattern = Pattern::parse(&arguments.pattern, context.places.style)?;
        let start = folder(&arguments.path, context)?;
        let mode = if arguments.recursive { Mode::Deep } else { Mode::Flat };
        let mut entries = Vec::new();
        let mut room = limits;
        let truncated = walk(&start, mode, context, &mut |visit| {
            if !pattern.fits(visit.below) {
                return Ok(Next::On);
            }
            let Some(entry) = entry(visit) else { return Ok(Next::On) };
            if !room.take(json_bytes(&entry.path) + json_bytes(&entry.name)) {
                return Ok(Next::Stop);
            }
            entries.push(entry);
            Ok(Next::On)
        })?;
        let count = entries.len() as u64;
        let path = start.asked.to_string();
        let message = format!("{path}: {count} entries{}", limits.note(truncated));
        Ok(Outcome::new(message, Returns { path, entries, count, truncated }).cut(truncated))
    }
}

/// The folder at a path, with similar names where there is none.
pub(super) fn folder(text: &str, context: &Context<'_>) -> Result<Located, ToolError> {
    let located = context.locate(text, Access::Read)?;
    if located.found.is_none() && !located.is_folder() {
        let error = crate::roots::Wanted::Directory.missing(&located.asked);
        return Err(nearby::suggest(error, &located, context));
    }
    located.folder()
}

/// How much room there is for results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    results: u32,
    bytes: usize,
}

impl Limits {
    /// At most as many as were asked for, and no more than fit a message.
    pub(super) fn new(max_results: u32) -> Result<Self, ToolError> {
        if !(1..=MAX_RESULTS).contains(&max_results) {
            return Err(invalid(format!(
                "max_results is {max_results}, and has to be from 1 to {MAX_RESULTS}; narrow the pattern to see the rest."
            )));
        }
        Ok(Self { results: max_results, bytes: MAX_BYTES })
    }

    /// Takes the room for one result with this much text; false when there is none left.
    pub(super) fn take(&mut self, text_bytes: usize) -> bool {
        let (Some(results), Some(bytes)) =
            (self.results.checked_sub(1), self.bytes.checked_sub(text_bytes + ENTRY_BYTES))
        else {
            return false;
        };
        *self = Self { results, bytes };
        true
    }

    /// The end of the sentence that tells how many there are.
    pub(super) fn note(self, truncated: bool) -> &'static str {
        if truncated { ", and more; narrow the pattern or the folder to see them." } else { "." }
    }
}

/// What a text takes in JSON, without its quotes.
pub(super) fn json_bytes(text: &str) -> usize {
    let cost = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(cost).sum()
}

fn entry(visit: &Visit<'_>) -> Option<Entry> {
    let metadata = visit.metadata()?;
    let kind = match visit.what {
        What::File => EntryKind::File,
        What::Folder => EntryKind::Directory,
        What::Link => EntryKind::Link,
        What::Special => EntryKind::Other,
    };
    Some(Entry {
        name: visit.below.last()?.clone(),
        path: visit.path()?.to_string(),
        kind,
        is_dir: kind == EntryKind::Directory,
        size_bytes: if kind == EntryKind::File { metadata.len() } else { 0 },
        modified: modified(&metadata),
    })
}

/// When something was last changed, RFC 3339 in UTC, to the second.
pub(super) fn modified(metadata: &Metadata) -> Option<String> {
    let at = Timestamp::try_from(metadata.modified().ok()?.into_std()).ok()?;
    Some(at.round(jiff::Unit::Second).ok()?.to_string())
}

#[cfg(test)]
mod tests;
