//! What a change comes to, as a unified diff.

use std::time::Duration;

use similar::TextDiff;

/// Larger texts are told by size alone, in bytes.
pub(super) const MAX_COMPARED_BYTES: u64 = 1024 * 1024;
const MAX_DIFF_BYTES: usize = 64 * 1024;
/// After this the comparison goes on more roughly.
const PATIENCE: Duration = Duration::from_secs(2);

/// The difference between two texts, at most 64 KiB of it.
pub(super) fn unified(path: impl std::fmt::Display, old: &str, new: &str) -> String {
    let path = path.to_string();
    let lines = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut diff = lines.unified_diff().context_radius(3).header(&path, &path).to_string();
    if diff.len() > MAX_DIFF_BYTES {
        diff.truncate(diff.floor_char_boundary(MAX_DIFF_BYTES));
        diff.push_str("\n(the rest of the difference is left out)\n");
    }
    diff
}
