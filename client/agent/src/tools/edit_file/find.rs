//! Finds the single occurrence of a text, or explains why there is none. Each search takes time linear in
//! both texts, and the deadline is checked between searches.

use memchr::memmem::Finder;
use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::call::Context;

/// Maximum number of occurrences in an error.
const MAX_PLACES: usize = 10;
/// Maximum number of occurrences that are counted; there may be more.
const MAX_COUNTED: usize = 1_000;
/// Maximum number of lines compared for similarity, and of characters compared in each.
const MAX_LINES: usize = 20_000;
const MAX_LINE: usize = 200;
/// Minimum similarity of a suggested line, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Returns the offset of the only occurrence, in bytes.
pub(super) fn only(
    text: &str,
    wanted: &str,
    path: &DevicePath,
    context: &Context<'_>,
) -> Result<usize, ToolError> {
    let finder = Finder::new(wanted);
    let mut places = Vec::new();
    let mut count = 0;
    let mut from = 0;
    // Occurrences may overlap; each would be another edit.
    while count < MAX_COUNTED
        && let Some(at) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest))
    {
        context.check()?;
        count += 1;
        if places.len() < MAX_PLACES {
            places.push(from + at);
        }
        from += at + 1;
    }
    match places.as_slice() {
        [at] => Ok(*at),
        [] => Err(missing(text, wanted, path, context)?),
        _ => {
            let ends = |at: usize| {
                memchr::memchr_iter(b'\n', text.as_bytes().get(..at).unwrap_or_default()).count()
            };
            let lines: Vec<usize> = places.iter().map(|at| 1 + ends(*at)).collect();
            let numbers: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if count > MAX_PLACES { ", and more" } else { "" };
            let least = if count == MAX_COUNTED { "at least " } else { "" };
            Err(not_unique(
                path,
                count,
                format!(
                    "The text is in {path} {least}{count} times, in lines {}{more}.",
                    numbers.join(", ")
                ),
            )
            .with("lines", lines)
            .hint("give more of the lines around the one that is meant"))
        }
    }
}

/// Returns the error for a text that does not occur.
fn missing(
    text: &str,
    wanted: &str,
    path: &DevicePath,
    context: &Context<'_>,
) -> Result<ToolError, ToolError> {
    let find = |wanted: &str| Finder::new(wanted).find(text.as_bytes()).is_some();
    if !wanted.contains('\r')
        && wanted.contains('\n')
        && find("\r\n")
        && find(&wanted.replace('\n', "\r\n"))
    {
        return Ok(not_unique(
            path,
            0,
            format!(
                "The text is not in {path} as it was given: lines end with \\r\\n there, and have to do so in old_text and new_text."
            ),
        ));
    }
    let error = not_unique(path, 0, format!("The text is not in {path}."))
        .hint("read the file again, and give the text as it is there");
    let Some(line) = wanted.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return Ok(error);
    };
    let line: String = line.chars().take(MAX_LINE).collect();
    let mut nearest: Option<(f64, usize, String)> = None;
    for (index, it) in text.lines().take(MAX_LINES).enumerate() {
        context.check()?;
        let it: String = it.chars().take(MAX_LINE).collect();
        let score = strsim::normalized_levenshtein(&line, it.trim());
        if nearest.as_ref().is_none_or(|(best, ..)| score >= *best) {
            nearest = Some((score, index + 1, it.trim_end().to_owned()));
        }
    }
    Ok(match nearest {
        Some((score, number, it)) if score >= ALIKE => {
            error.with("nearest_line", number).suggesting(vec![format!("line {number}: {it}")])
        }
        Some(_) | None => error,
    })
}

fn not_unique(path: &DevicePath, count: usize, message: String) -> ToolError {
    ToolError::new(ErrorCode::TextNotUnique, message)
        .with("attempted_path", path.to_string())
        .with("count", count)
}
