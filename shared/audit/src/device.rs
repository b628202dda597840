//! The chain that a device keeps of its own: each call that it ran with effects, or refused, with the
//! backend's head as it last saw it. The file on the device and an export of it have the same lines.

use orion_domain::audit::AuditHead;
use orion_domain::{CallState, Digest};
use serde::{Deserialize, Serialize};

/// The version of the form.
const FORMAT: u32 = 1;

/// The first line: whose chain it is, and where it goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainHeader {
    /// The version of the form.
    pub format: u32,
    /// The device.
    pub device: String,
    /// The head before the first entry that is kept.
    pub from: AuditHead,
}

impl ChainHeader {
    /// The header of a file that begins at `from`.
    #[must_use]
    pub fn new(device: &str, from: AuditHead) -> Self {
        Self { format: FORMAT, device: device.to_owned(), from }
    }
}

/// One call, as the device tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceEntry {
    /// Position in the chain, from 1, without gaps.
    pub seq: i64,
    /// When it was noted, Unix milliseconds by the device's clock.
    pub at: i64,
    /// The call.
    pub call_id: String,
    /// The tool, as it was asked for.
    pub tool: String,
    /// SHA-256 of the arguments; none where the device died before it noted them.
    pub arguments: Option<Digest>,
    /// How the call ended.
    pub state: CallState,
    /// The stable code; empty on success.
    pub code: String,
    /// SHA-256 of the result.
    pub result: Digest,
    /// The backend's head, as it was last told to the device.
    pub backend: AuditHead,
    /// The hash of the entry before; zeros in the first.
    pub prev_hash: Digest,
    /// The hash of this entry.
    pub hash: Digest,
}

/// What a call came to, before it has its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    /// When, Unix milliseconds.
    pub at: i64,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// SHA-256 of the arguments, if they are known.
    pub arguments: Option<Digest>,
    /// How it ended.
    pub state: CallState,
    /// The stable code; empty on success.
    pub code: String,
    /// SHA-256 of the result.
    pub result: Digest,
}

impl DeviceEntry {
    /// The next entry of the chain of `device` that ends in `head`.
    #[must_use]
    pub fn link(device: &str, head: AuditHead, backend: AuditHead, what: Happened) -> Self {
        let Happened { at, call_id, tool, arguments, state, code, result } = what;
        // Behind the last number there is none: the entry follows from nothing, and is not taken.
        let seq = head.seq.saturating_add(1);
        let mut entry = Self {
            seq,
            at,
            call_id,
            tool,
            arguments,
            state,
            code,
            result,
            backend,
            prev_hash: head.hash,
            hash: Digest::ZERO,
        };
        entry.hash = entry.expected_hash(device);
        entry
    }

    /// The head of a chain that ends in this entry.
    #[must_use]
    pub const fn head(&self) -> AuditHead {
        AuditHead { seq: self.seq, hash: self.hash }
    }

    fn expected_hash(&self, device: &str) -> Digest {
        let Self {
            seq,
            at,
            call_id,
            tool,
            arguments,
            state,
            code,
            result,
            backend,
            prev_hash,
            hash: _,
        } = self;
        Digest::of_fields(
            "orion.device-audit.v1",
            &[
                device.as_bytes(),
                &seq.to_be_bytes(),
                &at.to_be_bytes(),
                call_id.as_bytes(),
                tool.as_bytes(),
                arguments.as_ref().map_or(&[][..], |digest| digest.as_bytes()),
                state.as_str().as_bytes(),
                code.as_bytes(),
                result.as_bytes(),
                &backend.seq.to_be_bytes(),
                backend.hash.as_bytes(),
                prev_hash.as_bytes(),
            ],
        )
    }
}

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainLine {
    /// The first.
    Header(ChainHeader),
    /// An entry.
    Entry(DeviceEntry),
    /// The last of an export.
    Head(AuditHead),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    device_chain: ChainHeader,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadLine {
    head: AuditHead,
}

impl ChainLine {
    /// The line, with its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        // Plain structs of strings and numbers always serialise.
        let mut line = match self {
            Self::Header(header) => {
                serde_json::to_string(&HeaderLine { device_chain: header.clone() })
            }
            Self::Entry(entry) => serde_json::to_string(entry),
            Self::Head(head) => serde_json::to_string(&HeadLine { head: *head }),
        }
        .unwrap_or_default();
        line.push('\n');
        line
    }

    /// Whether it is a header of a chain that begins at its beginning, or behind an entry.
    const fn begins_somewhere(&self) -> bool {
        match self {
            Self::Header(header) => header.from.seq >= 0,
            Self::Entry(_) | Self::Head(_) => false,
        }
    }

    /// Reads a line with its end; `None` for what [`Self::to_line`] does not write.
    #[must_use]
    pub fn from_line(line: &[u8]) -> Option<Self> {
        let read = if line.starts_with(b"{\"device_chain\":") {
            let line: HeaderLine = serde_json::from_slice(line).ok()?;
            (line.device_chain.format == FORMAT).then_some(Self::Header(line.device_chain))?
        } else if line.starts_with(b"{\"head\":") {
            Self::Head(serde_json::from_slice::<HeadLine>(line).ok()?.head)
        } else {
            Self::Entry(serde_json::from_slice(line).ok()?)
        };
        (read.to_line().as_bytes() == line).then_some(read)
    }
}

/// What is wrong with the chain of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainProblem {
    /// A line is none.
    #[error("line {line} of the device's file is no line of a chain, or was changed")]
    Line {
        /// Its number, from 1.
        line: usize,
    },
    /// An entry's content does not give its hash.
    #[error("entry {seq} of the device: its content was changed after it was written")]
    Changed {
        /// The entry.
        seq: i64,
    },
    /// An entry does not follow from the one before.
    #[error("entry {seq} of the device: it does not follow the entry before it")]
    Unlinked {
        /// The entry.
        seq: i64,
    },
    /// The file ends without its last line, or that says another end.
    #[error(
        "the device's file ends at entry {seq} without the head that belongs there; it was cut"
    )]
    Cut {
        /// The last entry that is there.
        seq: i64,
    },
}

/// A device's chain, followed whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChain {
    /// Whose, and where it begins.
    pub header: ChainHeader,
    /// What is kept.
    pub entries: Vec<DeviceEntry>,
}

impl DeviceChain {
    /// Follows an export, line by line; or the file on the device, which has no last line.
    ///
    /// # Errors
    /// [`ChainProblem`], naming the place.
    pub fn read(text: &[u8], is_export: bool) -> Result<Self, ChainProblem> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').zip(1..);
        let header = lines.next().and_then(|(line, _)| ChainLine::from_line(line));
        let Some(ChainLine::Header(header)) = header.filter(ChainLine::begins_somewhere) else {
            return Err(ChainProblem::Line { line: 1 });
        };
        let mut chain = Self { header, entries: Vec::new() };
        let mut ended = false;
        for (line, number) in lines {
            let read = ChainLine::from_line(line);
            match read.filter(|_| !ended) {
                Some(ChainLine::Entry(entry)) => chain.push(entry)?,
                Some(ChainLine::Head(head)) if is_export => {
                    if head != chain.head() {
                        return Err(ChainProblem::Cut { seq: chain.head().seq });
                    }
                    ended = true;
                }
                Some(ChainLine::Head(_) | ChainLine::Header(_)) | None => {
                    return Err(ChainProblem::Line { line: number });
                }
            }
        }
        if ended == is_export {
            Ok(chain)
        } else {
            Err(ChainProblem::Cut { seq: chain.head().seq })
        }
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// It was changed, or is not the next one.
    pub fn push(&mut self, entry: DeviceEntry) -> Result<(), ChainProblem> {
        let (head, seq) = (self.head(), entry.seq);
        if entry.hash != entry.expected_hash(&self.header.device) {
            return Err(ChainProblem::Changed { seq });
        }
        if head.seq.checked_add(1) != Some(seq) || entry.prev_hash != head.hash {
            return Err(ChainProblem::Unlinked { seq });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Where it ends.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.entries.last().map_or(self.header.from, DeviceEntry::head)
    }

    /// The entry at this position, where it is kept.
    #[must_use]
    pub fn entry(&self, seq: i64) -> Option<&DeviceEntry> {
        let at = seq.checked_sub(self.header.from.seq)?.checked_sub(1)?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    /// The hash at this position: of an entry that is kept, or of the one before them.
    #[must_use]
    pub fn hash_at(&self, seq: i64) -> Option<Digest> {
        if seq == self.header.from.seq {
            return Some(self.header.from.hash);
        }
        self.entry(seq).map(|entry| entry.hash)
    }

    /// As an export.
    #[must_use]
    pub fn to_export(&self) -> String {
        let header = ChainLine::Header(self.header.clone()).to_line();
        let entries = self.entries.iter().map(|entry| ChainLine::Entry(entry.clone()).to_line());
        let head = ChainLine::Head(self.head()).to_line();
        std::iter::once(header).chain(entries).chain([head]).collect()
    }
}

#[cfg(test)]
mod tests;
