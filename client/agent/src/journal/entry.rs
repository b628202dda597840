//! One line of the journal: the first eight bytes of the SHA-256 of the JSON, in hexadecimal, a space,
//! and the JSON. A line that was torn by a power cut does not match its digest.

use std::sync::Arc;

use orion_domain::{ApprovalId, CallId, CallState, Digest};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A call that is about to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The approval that the call runs on. None if it needs none.
    pub approval: Option<ApprovalId>,
    /// Whether the call may change something. A preview does not.
    pub has_effects: bool,
    /// Whether a second run has the same effect as one.
    pub idempotent: bool,
    /// When the call began, Unix milliseconds.
    pub at: i64,
}

impl Begin {
    /// Returns whether the entry must be on disk before the call starts: for calls with effects, and
    /// calls that use an approval.
    #[must_use]
    pub const fn is_durable(&self) -> bool {
        self.has_effects || self.approval.is_some()
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The final state.
    pub state: CallState,
    /// The stable error code. Empty on success.
    pub code: String,
    /// The result envelope, JSON. Shared with the message that reports it.
    #[serde(serialize_with = "serialize_text", deserialize_with = "deserialize_text")]
    pub result: Arc<str>,
    /// How long the call ran on the device, in microseconds.
    pub duration_us: u64,
}

fn serialize_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn deserialize_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(deserializer).map(Into::into)
}

/// An entry about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// The call may have started.
    Began(Begin),
    /// The call ended.
    Ended {
        /// The call.
        call: CallId,
        /// How it ended.
        ended: Ended,
        /// When it ended, Unix milliseconds.
        at: i64,
    },
    /// The backend has stored the result.
    Acked {
        /// The call.
        call: CallId,
        /// When the acknowledgement arrived, Unix milliseconds.
        at: i64,
    },
    /// Calls were forgotten, none of them with a later id.
    Forgot {
        /// The latest id.
        until: CallId,
    },
    /// What a compaction keeps of an acknowledged call.
    Spent {
        /// The call.
        call: CallId,
        /// The approval that the call ran on. None if it needed none.
        approval: Option<ApprovalId>,
        /// When the result was acknowledged, Unix milliseconds.
        at: i64,
    },
}

/// Hexadecimal digits of the digest before each line's JSON.
const DIGITS: usize = 16;

impl Entry {
    /// Returns the line with its line end.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = vec![b' '; DIGITS + 1];
        // Plain structs of strings and numbers always serialise.
        drop(serde_json::to_writer(&mut line, self));
        let (digits, json) = line.split_at_mut(DIGITS);
        let digest = Digest::of(json.get(1..).unwrap_or_default()).to_string();
        digits.iter_mut().zip(digest.bytes()).for_each(|(digit, byte)| *digit = byte);
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

/// The content of a journal file.
#[derive(Debug, Default, PartialEq)]
pub struct Loaded {
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// Length of the intact part, in bytes. The rest is a torn end, to be cut off.
    pub bytes: u64,
    /// Number of lines in the intact part.
    pub lines: usize,
    /// Number of lines in the intact part that could not be read.
    pub skipped: usize,
}

/// Parses a whole file. A torn end is left out; a damaged line between good lines is skipped, because the
/// others are still valid.
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
