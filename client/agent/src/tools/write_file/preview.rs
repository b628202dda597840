//! What a write would change, as a unified diff.

use std::io::Read;
use std::time::Duration;

use orion_domain::ToolError;
use similar::TextDiff;

use super::Job;
use crate::roots::{Wanted, io_failure};

/// Larger files are told by size alone.
const MAX_COMPARED_BYTES: u64 = 1024 * 1024;
const MAX_DIFF_BYTES: usize = 64 * 1024;
/// After this the comparison goes on more roughly.
const PATIENCE: Duration = Duration::from_secs(2);

/// The size in bytes that the file would have, and the difference.
pub(super) fn preview(job: Job<'_>) -> Result<(u64, String), ToolError> {
    let content = &job.arguments.content;
    let added = content.len() as u64;
    let Some(old) = job.old else {
        return Ok((added, diff(job.path, "", content)));
    };
    let before = old.metadata.len();
    let size = if job.arguments.append { before + added } else { added };
    let mut bytes = Vec::new();
    old.file
        .take(MAX_COMPARED_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| io_failure(&error, Wanted::File, job.path))?;
    let small = bytes.len() as u64 <= MAX_COMPARED_BYTES && added <= MAX_COMPARED_BYTES;
    let text = String::from_utf8(bytes).ok().filter(|_| small);
    let diff = match text {
        Some(old) if job.arguments.append => diff(job.path, &old, &format!("{old}{content}")),
        Some(old) => diff(job.path, &old, content),
        None => {
            format!("(too large to compare, or not text: {before} bytes before, {size} after)\n")
        }
    };
    Ok((size, diff))
}

fn diff(path: impl std::fmt::Display, old: &str, new: &str) -> String {
    let path = path.to_string();
    let lines = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut diff = lines.unified_diff().context_radius(3).header(&path, &path).to_string();
    if diff.len() > MAX_DIFF_BYTES {
        diff.truncate(diff.floor_char_boundary(MAX_DIFF_BYTES));
        diff.push_str("\n(the rest of the difference is left out)\n");
    }
    diff
}
