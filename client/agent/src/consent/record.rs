//! The record of questions and answers, on the device. An answer is on the disk before its call runs.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use orion_domain::Digest;
use orion_mtls::secret_file;
use serde::{Deserialize, Serialize};

use crate::owner_file;
use crate::state::names::{ANSWERS, ANSWERS_OLDER};

/// The size at which the next file begins, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// One question and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsentEntry {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The person that the call is made for.
    pub user: String,
    /// SHA-256 of the call's arguments.
    pub arguments: Digest,
    /// SHA-256 of the question.
    pub question: Digest,
    /// `allowed`, `denied` or `no_answer`.
    pub answer: String,
    /// The account that answered; empty where nobody did.
    pub by: String,
}

/// Appends an entry, and returns when it is on the disk.
///
/// # Errors
/// The disk refuses it.
pub(crate) fn append(state_dir: &Path, entry: &ConsentEntry) -> io::Result<()> {
    let path = state_dir.join(ANSWERS);
    if fs::metadata(&path).is_ok_and(|it| it.len() >= MAX_BYTES) {
        fs::rename(&path, state_dir.join(ANSWERS_OLDER))?;
    }
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    let mut file = secret_file::private().append(true).create(true).open(&path)?;
    file.write_all(&line)?;
    file.sync_all()
}

/// Returns the entries, oldest first. A line that is torn or unknown is left out.
///
/// # Errors
/// A file cannot be read.
pub fn read_record(state_dir: &Path) -> io::Result<Vec<ConsentEntry>> {
    let mut entries = Vec::new();
    for name in [ANSWERS_OLDER, ANSWERS] {
        let text = match owner_file::read(&state_dir.join(name), 2 * MAX_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let lines = text.split(|byte| *byte == b'\n');
        entries.extend(lines.filter_map(|line| serde_json::from_slice(line).ok()));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_answered_is_kept_in_two_files_at_most() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read_record(dir.path()).unwrap(), []);
        let entry = |at| ConsentEntry {
            at,
            call_id: "call".to_owned(),
            tool: "delete_file".to_owned(),
            user: "bob".to_owned(),
            arguments: Digest::ZERO,
            question: Digest::ZERO,
            answer: "denied".to_owned(),
            by: "ann".to_owned(),
        };
        append(dir.path(), &entry(1)).unwrap();
        append(dir.path(), &entry(2)).unwrap();
        assert_eq!(read_record(dir.path()).unwrap(), [entry(1), entry(2)]);
        let full = "x".repeat(usize::try_from(MAX_BYTES).unwrap());
        fs::write(dir.path().join(ANSWERS), full).unwrap();
        append(dir.path(), &entry(3)).unwrap();
        append(dir.path(), &entry(4)).unwrap();
        assert_eq!(read_record(dir.path()).unwrap(), [entry(3), entry(4)]);
    }
}
