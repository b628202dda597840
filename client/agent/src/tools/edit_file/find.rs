//! Where a text stands in another: once, or what to say.

use orion_domain::{DevicePath, ErrorCode, ToolError};

/// How many places are told.
const MAX_PLACES: usize = 10;
/// How many lines are looked at for one that is similar, and how much of each, in characters.
const MAX_LINES: usize = 20_000;
const MAX_LINE: usize = 200;
/// How alike a line has to be to be told, from 0 to 1.
const ALIKE: f64 = 0.6;

/// Where the only place begins, in bytes.
pub(super) fn only(text: &str, wanted: &str, path: &DevicePath) -> Result<usize, ToolError> {
    let mut places = Vec::new();
    let mut count = 0_u64;
    let mut from = 0;
    // Places may overlap; each would be another edit.
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(wanted)) {
        count += 1;
        if places.len() < MAX_PLACES {
            places.push(from + at);
        }
        let first = wanted.chars().next().map_or(1, char::len_utf8);
        from += at + first;
    }
    match places.as_slice() {
        [at] => Ok(*at),
        [] => Err(missing(text, wanted, path)),
        _ => {
            let lines: Vec<usize> = places
                .iter()
                .map(|at| 1 + text.as_bytes().iter().take(*at).filter(|b| **b == b'\n').count())
                .collect();
            let told: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if count > MAX_PLACES as u64 { ", and more" } else { "" };
            Err(not_unique(
                path,
                count,
                format!(
                    "The text stands in {path} {count} times, in lines {}{more}. Give more of the lines around the one that is meant.",
                    told.join(", ")
                ),
            )
            .with("lines", lines))
        }
    }
}

fn missing(text: &str, wanted: &str, path: &DevicePath) -> ToolError {
    if text.contains("\r\n")
        && !wanted.contains('\r')
        && wanted.contains('\n')
        && text.contains(&wanted.replace('\n', "\r\n"))
    {
        return not_unique(
            path,
            0,
            format!(
                "The text does not stand in {path} as it was given: lines end with \\r\\n there, and have to do so in old_text and new_text."
            ),
        );
    }
    let error = not_unique(path, 0, format!("The text does not stand in {path}. Read it again."));
    let Some(line) = wanted.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return error;
    };
    let line: String = line.chars().take(MAX_LINE).collect();
    let nearest = text
        .lines()
        .take(MAX_LINES)
        .enumerate()
        .map(|(index, it)| {
            let it: String = it.trim_end().chars().take(MAX_LINE).collect();
            (strsim::normalized_levenshtein(&line, it.trim()), index + 1, it)
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((score, number, it)) if score >= ALIKE => {
            error.with("nearest_line", number).suggesting(vec![format!("line {number}: {it}")])
        }
        Some(_) | None => error,
    }
}

fn not_unique(path: &DevicePath, count: u64, message: String) -> ToolError {
    ToolError::new(ErrorCode::TextNotUnique, message)
        .with("attempted_path", path.to_string())
        .with("count", count)
}
