//! Unified diffs of changes. Compares only the differing part, within bounds of memory and time for any
//! input.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use orion_domain::ToolError;
use similar::{DiffTag, TextDiff};

use super::Context;

/// Maximum size of a text that is read for a comparison, in bytes. Larger texts are described by size alone.
pub(super) const MAX_COMPARED_BYTES: u64 = 1024 * 1024;
/// Maximum size of the differing part of each text, in bytes and in lines; a larger part is described by size
/// alone. A comparison needs memory for each line, and at worst time for each pair of lines.
const MAX_DIFFERING_BYTES: usize = 256 * 1024;
const MAX_DIFFERING_LINES: usize = 5_000;
const MAX_DIFF_BYTES: usize = 64 * 1024;
/// After this time the comparison becomes less exact.
const PATIENCE: Duration = Duration::from_secs(1);
/// Number of context lines around a change.
const AROUND: usize = 3;

/// Returns the difference between two texts, at most 64 KiB.
pub(super) fn unified(
    path: impl std::fmt::Display,
    old: &str,
    new: &str,
    context: &Context<'_>,
) -> Result<String, ToolError> {
    let same = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let same = old.floor_char_boundary(same);
    let (left_old, left_new) = (rest(old, same), rest(new, same));
    let ends = left_old.bytes().rev().zip(left_new.bytes().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let end = left_old.len() - left_old.ceil_char_boundary(left_old.len() - end);
    replaced(path, old, same..old.len() - end, part(new, same, new.len() - end), context)
}

/// Returns the difference that replacing a part of a text makes, at most 64 KiB. Never builds the whole new
/// text.
pub(super) fn replaced(
    path: impl std::fmt::Display,
    old: &str,
    at: std::ops::Range<usize>,
    by: &str,
    context: &Context<'_>,
) -> Result<String, ToolError> {
    context.check()?;
    if part(old, at.start, at.end) == by {
        return Ok(String::new());
    }
    let bytes = old.as_bytes();
    let head = bytes.get(..at.start).unwrap_or_default();
    let start = memchr::memrchr_iter(b'\n', head).nth(AROUND).map_or(0, |end| end + 1);
    // If only whole lines are added, the line after them is their context.
    let tail = bytes.get(at.end..).unwrap_or_default();
    let stop = memchr::memchr_iter(b'\n', tail).nth(AROUND);
    let stop = stop.map_or(old.len(), |end| at.end + end + 1);
    let first = memchr::memchr_iter(b'\n', bytes.get(..start).unwrap_or_default()).count();
    let before = part(old, start, stop);
    let sizes = [before.len(), by.len()];
    let lines = [before, by].map(|text| memchr::memchr_iter(b'\n', text.as_bytes()).count());
    if sizes.iter().any(|size| *size > MAX_DIFFERING_BYTES)
        || lines.iter().any(|lines| *lines > MAX_DIFFERING_LINES)
    {
        let after = old.len() - at.len() + by.len();
        return Ok(format!(
            "(too much differs to be shown: {} bytes before, {after} after)\n",
            old.len()
        ));
    }
    let after = [part(old, start, at.start), by, part(old, at.end, stop)].concat();
    let diff = compared(path, first, (before, &after), context);
    context.check()?;
    Ok(diff)
}

/// Returns the difference between two parts that begin at the same line.
fn compared(
    path: impl std::fmt::Display,
    first: usize,
    (old, new): (&str, &str),
    context: &Context<'_>,
) -> String {
    let until = (Instant::now() + PATIENCE).min(context.deadline);
    let lines = TextDiff::configure().deadline(until).diff_lines(old, new);
    let mut diff = format!("--- {path}\n+++ {path}\n");
    for group in lines.grouped_ops(AROUND) {
        let (Some(begin), Some(end)) = (group.first(), group.last()) else { continue };
        let old = hunk(first, begin.old_range().start, end.old_range().end);
        let new = hunk(first, begin.new_range().start, end.new_range().end);
        // Writing to a string never fails.
        let _ = writeln!(diff, "@@ -{old} +{new} @@");
        for change in group.iter().flat_map(|op| lines.iter_changes(op)) {
            let _ = write!(diff, "{}{}", change.tag(), change.value());
            if change.missing_newline() {
                diff.push_str("\n\\ No newline at end of file\n");
            }
            if diff.len() > MAX_DIFF_BYTES {
                diff.truncate(diff.floor_char_boundary(MAX_DIFF_BYTES));
                diff.push_str("\n(the rest of the difference is left out)\n");
                return diff;
            }
        }
    }
    if lines.ops().iter().all(|op| op.tag() == DiffTag::Equal) { String::new() } else { diff }
}

/// Returns start and length of a hunk in the notation of `diff -u`.
fn hunk(first: usize, start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{},0", first + start),
        1 => format!("{}", first + start + 1),
        lines => format!("{},{lines}", first + start + 1),
    }
}

fn part(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

fn rest(text: &str, start: usize) -> &str {
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tools::testing::Device;

    fn diff(old: &str, new: &str) -> String {
        Device::new().with_context(|context| unified("a", old, new, context).unwrap())
    }

    #[test]
    fn it_says_what_comparing_the_whole_texts_says() {
        let device = Device::new();
        let part = "[ab\n]{0,60}";
        let texts = (part, part, "(x\n){0,9}", "(y\n){0,9}");
        proptest!(|((old, new, head, tail) in texts)| {
            let (old, new) = (format!("{head}{old}\n{tail}"), format!("{head}{new}\n{tail}"));
            let diff = device.with_context(|context| unified("a", &old, &new, context).unwrap());
            prop_assert_eq!(counts(&diff), counts_of(&old, &new));
        });
    }

    /// Returns the net number of added lines.
    fn counts(diff: &str) -> i64 {
        let lines = diff.lines().skip(2);
        lines.map(|line| i64::from(line.starts_with('+')) - i64::from(line.starts_with('-'))).sum()
    }

    fn counts_of(old: &str, new: &str) -> i64 {
        let lines = |text: &str| i64::try_from(text.lines().count()).unwrap();
        lines(new) - lines(old)
    }

    #[test]
    fn lines_are_numbered_as_in_the_whole_text() {
        let old: String = (1..=50).map(|number| format!("{number}\n")).collect();
        let new = old.replace("\n40\n", "\nforty\n");
        let hunk = "@@ -37,7 +37,7 @@\n 37\n 38\n 39\n-40\n+forty\n 41\n 42\n 43\n";
        assert_eq!(diff(&old, &new), format!("--- a\n+++ a\n{hunk}"));
        assert_eq!(diff(&old, &old), "");
        assert_eq!(
            diff("é", "è"),
            "--- a\n+++ a\n@@ -1 +1 @@\n-é\n\\ No newline at end of file\n+è\n\\ No newline at end of file\n"
        );
        assert_eq!(diff("", "a\n"), "--- a\n+++ a\n@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn what_differs_too_much_is_told_by_size() {
        let (old, new) = ("\n".repeat(600_000), "a\n".repeat(300_000));
        assert_eq!(
            diff(&old, &new),
            "(too much differs to be shown: 600000 bytes before, 600000 after)\n"
        );
    }
}
