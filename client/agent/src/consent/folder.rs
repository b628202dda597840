//! The folder of questions and answers: one file for each question, and one for its answer. The first answer counts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use orion_domain::{Digest, strip_hidden};
use serde::{Deserialize, Serialize};

use super::Question;
use crate::owner_file;
use crate::state::names::QUESTIONS;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 512 * 1024;
/// The most questions that are listed.
const MAX_LISTED: usize = 64;
/// How many digits of the digest name a question.
const ID_LENGTH: usize = 8;

/// The folder of one device.
#[derive(Debug, Clone)]
pub struct Folder {
    state: PathBuf,
    path: PathBuf,
}

/// An answer, as its file has it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// The digest of the question.
    question: Digest,
    allow: bool,
    by: String,
}

/// An answer that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given {
    /// Whether the call may run.
    pub(crate) allow: bool,
    /// The account that answered.
    pub(crate) by: String,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// The name that commands use: the start of the digest.
    pub id: String,
    /// The question.
    #[serde(flatten)]
    pub question: Question,
    /// SHA-256 of the question's file.
    pub digest: Digest,
}

impl OpenQuestion {
    fn of(bytes: &[u8]) -> io::Result<Self> {
        let digest = Digest::of(bytes);
        let id: String = digest.to_string().chars().take(ID_LENGTH).collect();
        Ok(Self { id, question: serde_json::from_slice(bytes)?, digest })
    }
}

impl Folder {
    /// Returns the folder in this state folder.
    #[must_use]
    pub fn new(state_dir: &Path) -> Self {
        Self { state: state_dir.to_owned(), path: state_dir.join(QUESTIONS) }
    }

    /// Removes what an earlier agent left. The calls of its questions are asked about again, if they come again.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub(crate) fn clear(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Writes a question.
    ///
    /// # Errors
    /// The disk refuses it.
    pub(crate) fn ask(&self, question: &Question) -> io::Result<OpenQuestion> {
        let bytes = serde_json::to_vec(question)?;
        let open = OpenQuestion::of(&bytes)?;
        make_private(&self.path)?;
        if !owner_file::create(&self.open()?, &question_of(&open.id), &bytes)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(open)
    }

    /// Returns the answer to a question. None while there is none that counts.
    ///
    /// # Errors
    /// The answer cannot be read.
    pub(crate) fn answer(&self, open: &OpenQuestion) -> io::Result<Option<Given>> {
        let bytes = match owner_file::read(&self.path_of_answer(&open.id), MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Answer { question, allow, by } = serde_json::from_slice(&bytes)?;
        if question != open.digest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it answers another question"));
        }
        Ok(Some(Given { allow, by: strip_hidden(&by, 64) }))
    }

    /// Removes a question and its answer.
    pub(crate) fn remove(&self, open: &OpenQuestion) {
        for path in [self.question(&open.id), self.path_of_answer(&open.id)] {
            if let Err(error) = owner_file::remove(&path) {
                tracing::warn!(%error, "a question that is over could not be removed");
            }
        }
    }

    /// Returns the questions that wait at this moment, oldest first.
    ///
    /// # Errors
    /// The folder cannot be read by this account.
    pub fn open_questions(&self, now_ms: i64) -> io::Result<Vec<OpenQuestion>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
        let read = paths
            .take(MAX_LISTED)
            .filter_map(|path| OpenQuestion::of(&owner_file::read(&path, MAX_BYTES).ok()?).ok());
        let mut open: Vec<_> = read
            .filter(|it| now_ms < it.question.expires_at && !self.path_of_answer(&it.id).exists())
            .collect();
        open.sort_by_key(|it| it.question.asked_at);
        Ok(open)
    }

    /// Answers a question. Returns `false` where it was answered before.
    ///
    /// # Errors
    /// The folder cannot be written by this account.
    pub fn give(&self, open: &OpenQuestion, allow: bool, by: &str) -> io::Result<bool> {
        let answer = Answer { question: open.digest, allow, by: by.to_owned() };
        owner_file::create(&self.open()?, &answer_of(&open.id), &serde_json::to_vec(&answer)?)
    }

    /// Opens the folder itself, as root may answer in the folder of another account, which can put a link in its place.
    fn open(&self) -> io::Result<Dir> {
        owner_file::folder_in(&self.state, QUESTIONS)
    }

    fn question(&self, id: &str) -> PathBuf {
        self.path.join(question_of(id))
    }

    fn path_of_answer(&self, id: &str) -> PathBuf {
        self.path.join(answer_of(id))
    }
}

fn question_of(id: &str) -> String {
    format!("{id}.json")
}

fn answer_of(id: &str) -> String {
    format!("{id}.answer")
}

#[cfg(unix)]
fn make_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The folder lies in the state folder, whose access list it has.
#[cfg(not(unix))]
fn make_private(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)
}

#[cfg(test)]
mod tests;
