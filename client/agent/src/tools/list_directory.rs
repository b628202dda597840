//! Executes `list_directory`.

use cap_std::fs::Metadata;
use jiff::Timestamp;
use orion_catalog::tools::list_directory::{Arguments, Entry, EntryKind, ListDirectory, Returns};
use orion_domain::{Access, DevicePath, ToolError};

use super::counted::counted;
use super::glob::Pattern;
use super::{Context, FileContext, FileTool, Outcome, invalid, nearby};
use crate::call::MAX_RESULT_BYTES;
use crate::roots::{FileKind, Located};
use crate::scan::{self, Bounds, Firsts, Visitor, scan};
use crate::walk::{Mode, Next, walk};

/// Maximum value of `max_results`.
const MAX_RESULTS: u32 = 10_000;
/// Maximum size of the listed entries as JSON, in bytes. Leaves space in the result for its other fields.
const MAX_BYTES: usize = MAX_RESULT_BYTES - 64 * 1024;
/// Size of an entry besides its name and path, in bytes.
const ENTRY_BYTES: usize = 120;

impl FileTool for ListDirectory {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let limits = Limits::new(arguments.max_results)?;
        let pattern = Pattern::parse(&arguments.pattern, context.places.style)?;
        let start = folder(&arguments.path, context)?;
        let (entries, truncated) = if arguments.recursive {
            deep(&start, &pattern, limits, context)?
        } else {
            flat(&start, &pattern, limits, context)?
        };
        let count = entries.len() as u64;
        let path = start.asked.to_string();
        let message = format!("{path}: {}{}", counted(count, "entry"), Limits::note(truncated));
        let pattern = arguments.pattern;
        Ok(Outcome::new(message, Returns { path, pattern, entries, count, truncated })
            .cut(truncated))
    }
}

/// Returns everything below a folder in order, up to the limits.
fn deep(
    start: &Located,
    pattern: &Pattern,
    limits: Limits,
    context: &Context<'_>,
) -> Result<(Vec<Entry>, bool), ToolError> {
    let mut entries = Vec::new();
    let mut room = limits;
    let truncated = walk(start, Mode::Deep, context, &mut |visit| {
        let names = visit.below.iter().map(String::as_str);
        let (Some(name), true) = (visit.below.last(), pattern.fits(names)) else {
            return Ok(Next::On);
        };
        let (Some(metadata), Some(path)) = (visit.metadata(), visit.path()) else {
            return Ok(Next::On);
        };
        let (entry, bytes) = entry(name, &path, visit.what, &metadata);
        if !room.take(bytes) {
            return Ok(Next::Stop);
        }
        entries.push(entry);
        Ok(Next::On)
    })?;
    Ok((entries, truncated))
}

/// Returns the first entries of one folder of any size.
fn flat(
    start: &Located,
    pattern: &Pattern,
    limits: Limits,
    context: &Context<'_>,
) -> Result<(Vec<Entry>, bool), ToolError> {
    let (lists, missed) =
        scan(start, Bounds::new(false), context, || List { pattern, found: limits.firsts() })?;
    let mut firsts = limits.firsts();
    lists.into_iter().for_each(|list| firsts.merge(list.found));
    let (entries, more) = firsts.into_sorted();
    Ok((entries, more || missed.cut))
}

struct List<'a> {
    pattern: &'a Pattern,
    found: Firsts<String, Entry>,
}

impl Visitor for List<'_> {
    fn wants(&self, name: &str, _: FileKind) -> bool {
        self.pattern.may_fit(name)
    }

    fn visit(&mut self, found: &scan::Entry<'_>) {
        if !self.pattern.fits(found.below()) {
            return;
        }
        let Some(key) = self.found.admit(found.key()) else { return };
        let (Some(metadata), Some(path)) = (found.metadata(), found.path()) else { return };
        let (entry, bytes) = entry(found.name, &path, found.what, &metadata);
        self.found.put(key, bytes, entry);
    }
}

/// Returns the folder at a path; suggests similar names if there is none.
pub(super) fn folder(text: &str, context: &Context<'_>) -> Result<Located, ToolError> {
    let located = context.locate(text, Access::Read)?;
    if located.found.is_none() && !located.is_folder() {
        let error = crate::roots::Wanted::Directory.missing(&located.asked);
        return Err(nearby::suggest(error, &located, context));
    }
    located.folder()
}

/// Remaining space for results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    results: u32,
    bytes: usize,
}

impl Limits {
    /// Returns limits for `max_results` results that fit a message.
    pub(super) fn new(max_results: u32) -> Result<Self, ToolError> {
        Self::up_to(max_results, MAX_RESULTS)
    }

    /// As [`new`](Self::new), with `most` as the maximum.
    pub(super) fn up_to(max_results: u32, most: u32) -> Result<Self, ToolError> {
        if !(1..=most).contains(&max_results) {
            return Err(invalid(format!(
                "max_results is {max_results}, and has to be from 1 to {most}; narrow the pattern to see the rest."
            )));
        }
        Ok(Self { results: max_results, bytes: MAX_BYTES })
    }

    /// Returns the size that a result with this much text counts as, in bytes.
    pub(super) fn bytes(text_bytes: usize) -> usize {
        text_bytes + ENTRY_BYTES
    }

    /// Takes the space of one result. Returns false if too little is left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let (Some(results), Some(bytes)) =
            (self.results.checked_sub(1), self.bytes.checked_sub(bytes))
        else {
            return false;
        };
        *self = Self { results, bytes };
        true
    }

    /// Returns a collector for the first results within the limits.
    pub(super) fn firsts<K: Ord, T>(self) -> Firsts<K, T> {
        Firsts::new(self.results as usize, self.bytes)
    }

    /// Returns the end of the sentence that states the number of results.
    pub(super) fn note(truncated: bool) -> &'static str {
        if truncated { ", and more; narrow the pattern or the folder to see them." } else { "." }
    }
}

/// Returns the size of a text in JSON without its quotes, in bytes.
pub(super) fn json_bytes(text: &str) -> usize {
    let cost = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(cost).sum()
}

/// Returns an entry, and the size that it counts as, in bytes.
fn entry(name: &str, path: &DevicePath, what: FileKind, metadata: &Metadata) -> (Entry, usize) {
    let kind = match what {
        FileKind::File => EntryKind::File,
        FileKind::Folder => EntryKind::Directory,
        FileKind::Link => EntryKind::Link,
        FileKind::Special => EntryKind::Other,
    };
    let path = path.to_string();
    let bytes = Limits::bytes(json_bytes(&path) + json_bytes(name));
    let entry = Entry {
        name: name.to_owned(),
        path,
        kind,
        is_dir: kind == EntryKind::Directory,
        size_bytes: if kind == EntryKind::File { metadata.len() } else { 0 },
        modified: modified(metadata),
    };
    (entry, bytes)
}

/// Returns the time of the last change in RFC 3339, UTC, to the second. `None` if unknown.
pub(super) fn modified(metadata: &Metadata) -> Option<String> {
    let at = Timestamp::try_from(metadata.modified().ok()?.into_std()).ok()?;
    Some(at.round(jiff::Unit::Second).ok()?.to_string())
}

#[cfg(test)]
mod tests;
