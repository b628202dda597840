//! One line of the journal: the first eight bytes of the SHA-256 of what follows, in hexadecimal, a
//! space, and JSON. A line that was torn by a power cut does not match its digest.

use orion_domain::{ApprovalId, CallId, Digest};
use serde::{Deserialize, Serialize};

use super::index::{Begin, Ended};

/// What can be noted of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// It may have started.
    Began(Begin),
    /// It is over.
    Ended {
        /// Which.
        call: CallId,
        /// How.
        ended: Ended,
        /// When, Unix milliseconds.
        at: i64,
    },
    /// The backend has the result.
    Acked {
        /// Which.
        call: CallId,
        /// When, Unix milliseconds.
        at: i64,
    },
    /// Calls were forgotten, none of them with a later id.
    Forgot {
        /// The latest id.
        until: CallId,
    },
    /// What is kept of a call that is over and acknowledged when the file is written anew.
    Spent {
        /// Which.
        call: CallId,
        /// The approval it ran on.
        approval: Option<ApprovalId>,
        /// When it was acknowledged, Unix milliseconds.
        at: i64,
    },
}

/// Hexadecimal digits of the digest before each line's JSON.
const DIGITS: usize = 16;

impl Entry {
    /// The line, with its end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        // Plain structs of strings and numbers always serialise.
        let json = serde_json::to_vec(self).unwrap_or_default();
        let mut line = Digest::of(&json).to_string().into_bytes();
        line.truncate(DIGITS);
        line.push(b' ');
        line.extend(json);
        line.push(b'\n');
        line
    }

    fn from_line(line: &[u8]) -> Option<Self> {
        let (digits, json) = line.split_at_checked(DIGITS)?;
        let json = json.strip_prefix(b" ")?;
        Digest::of(json).to_string().as_bytes().starts_with(digits).then_some(())?;
        serde_json::from_slice(json).ok()
    }
}

/// What a file holds.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// What was noted, in order.
    pub entries: Vec<Entry>,
    /// How much of the file is whole, in bytes; the rest is a torn end, to be cut off.
    pub bytes: u64,
    /// Lines in the whole part.
    pub lines: usize,
    /// Lines in the whole part that could not be read.
    pub skipped: usize,
}

/// Reads a whole file. A torn end is left out; a damaged line between good ones is skipped, for the
/// others are still true.
#[must_use]
pub fn read_all(text: &[u8]) -> Loaded {
    let mut loaded = Loaded::default();
    let (mut at, mut damaged) = (0, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        match line.strip_suffix(b"\n").and_then(Entry::from_line) {
            Some(entry) => {
                loaded.skipped += damaged;
                loaded.lines += damaged + 1;
                damaged = 0;
                loaded.entries.push(entry);
                loaded.bytes = at as u64;
            }
            None => damaged += 1,
        }
    }
    loaded
}
