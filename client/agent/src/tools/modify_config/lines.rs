//! Replaces lines of a text. Keeps line ends, a byte order mark, and whether the last line has an end.

use std::collections::BTreeMap;

use orion_catalog::tools::modify_config::Change;
use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::tools::counted::counted;
use crate::tools::invalid;

const MARK: char = '\u{feff}';
/// Maximum length of a line in an error, in characters.
const MAX_SHOWN: usize = 200;

/// A line and its end, which is empty for an unfinished last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line<'a> {
    text: &'a str,
    end: &'a str,
}

/// Returns what the changes would do, and what they did: one may put many lines in the place of one.
pub(super) fn described(changes: &[Change], path: &DevicePath) -> (String, String) {
    let puts = |change: &Change| change.new.as_ref().map_or(0, |new| new.split('\n').count());
    let put: usize = changes.iter().map(puts).sum();
    let lines = counted(changes.len() as u64, "line");
    if changes.iter().all(|change| puts(change) == 1) {
        (format!("change {path} at {lines}"), format!("Changed {path} at {lines}"))
    } else if put == 0 {
        (format!("take {lines} out of {path}"), format!("Took {lines} out of {path}"))
    } else {
        let rest = format!("{} in the place of {lines} of {path}", counted(put as u64, "line"));
        (format!("put {rest}"), format!("Put {rest}"))
    }
}

/// Returns the text with all changes made, or none.
pub(super) fn edit(text: &str, changes: &[Change], path: &DevicePath) -> Result<String, ToolError> {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(body) => (text.get(..MARK.len_utf8()).unwrap_or_default(), body),
        None => ("", text),
    };
    let lines = split(body);
    let mut wanted = BTreeMap::new();
    for change in changes {
        let index = change.line.checked_sub(1).ok_or_else(|| invalid("Lines count from 1."))?;
        if wanted.insert(index, change).is_some() {
            return Err(invalid(format!(
                "Line {} is named twice; say all that becomes of it in one change.",
                change.line
            )));
        }
    }
    for (index, change) in &wanted {
        let line = usize::try_from(*index).ok().and_then(|index| lines.get(index));
        let old = change.old.strip_prefix(MARK).filter(|_| *index == 0).unwrap_or(&change.old);
        if line.is_none_or(|line| line.text != old) {
            return Err(mismatch(change, line.copied(), &lines, path));
        }
    }
    // The end for a line without one, if other lines follow it.
    let usual =
        lines.first().map_or("\n", |line| if line.end.is_empty() { "\n" } else { line.end });
    let open = lines.last().is_some_and(|line| line.end.is_empty());
    let mut edited = mark.to_owned();
    let mut last = "";
    for (index, line) in (0_u64..).zip(&lines) {
        let end = if line.end.is_empty() { usual } else { line.end };
        match wanted.get(&index).map(|change| &change.new) {
            None => edited.extend([line.text, end]),
            Some(None) => continue,
            Some(Some(new)) => {
                for text in new.split('\n') {
                    edited.extend([text.strip_suffix('\r').unwrap_or(text), end]);
                }
            }
        }
        last = end;
    }
    if open {
        edited.truncate(edited.len() - last.len());
    }
    Ok(edited)
}

/// Splits a text into lines; an empty text has one empty line.
fn split(text: &str) -> Vec<Line<'_>> {
    if text.is_empty() {
        return vec![Line { text: "", end: "" }];
    }
    let line = |whole: &str| {
        let text = whole.strip_suffix('\n').map_or(whole, |it| it.strip_suffix('\r').unwrap_or(it));
        text.len()
    };
    text.split_inclusive('\n')
        .map(|whole| {
            let (text, end) = whole.split_at(line(whole));
            Line { text, end }
        })
        .collect()
}

/// Returns the error for a line that differs from the call's `old`. Names the nearest line with that text, if
/// any.
fn mismatch(
    change: &Change,
    found: Option<Line<'_>>,
    lines: &[Line<'_>],
    path: &DevicePath,
) -> ToolError {
    let numbered = (1_u64..).zip(lines);
    let nearest = numbered
        .filter(|(_, line)| line.text == change.old)
        .map(|(number, _)| number)
        .min_by_key(|number| number.abs_diff(change.line));
    let there = match found {
        Some(_) => format!("Line {} of {path} is not what old says.", change.line),
        None => format!("{path} has {} lines, and no line {}.", lines.len(), change.line),
    };
    let hint = match nearest {
        Some(number) => format!("That text is in line {number}."),
        None => "Read it again with read_config.".to_owned(),
    };
    let found = found.map(|line| shown(line.text));
    ToolError::new(ErrorCode::PreconditionFailed, format!("{there} Nothing is changed. {hint}"))
        .with("attempted_path", path.to_string())
        .with("line", change.line)
        .with("expected", shown(&change.old))
        .with("found", found)
        .with("nearest_line", nearest)
}

fn shown(text: &str) -> String {
    text.chars().take(MAX_SHOWN).collect()
}

#[cfg(test)]
mod tests;
