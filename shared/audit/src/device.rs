//! A device's own audit chain: each call with effects that it ran, and each call that it denied, with
//! the last backend head that it received. The file on the device has these lines; an export adds one
//! that signs them ([`signed`]).

mod signed;

use orion_domain::audit::AuditHead;
use orion_domain::{CallState, Digest};
use serde::{Deserialize, Serialize};

pub use signed::{DeviceKeyError, DeviceSigner, SignedChain};

/// The version of the format.
const FORMAT: u32 = 1;

/// The first line: the device, and the head that the chain continues from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainHeader {
    /// The version of the format.
    pub format: u32,
    /// The device's id.
    pub device: String,
    /// The head before the first stored entry.
    pub from: AuditHead,
}

impl ChainHeader {
    /// Creates the header of a file that begins after `from`.
    #[must_use]
    pub fn new(device: &str, from: AuditHead) -> Self {
        Self { format: FORMAT, device: device.to_owned(), from }
    }
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happened {
    /// Unix milliseconds by the device's clock, when the entry was recorded.
    pub at: i64,
    /// The call's id.
    pub call_id: String,
    /// The tool, as requested.
    pub tool: String,
    /// SHA-256 of the arguments. `None` where the device stopped before it recorded them.
    pub arguments: Option<Digest>,
    /// How the call ended.
    pub state: CallState,
    /// The error code; empty on success.
    pub code: String,
    /// SHA-256 of the result.
    pub result: Digest,
}

/// One call at its position in the chain. An entry with extra fields is invalid: it is serialised again
/// and compared with the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceEntry {
    /// Position in the chain, from 1, without gaps.
    pub seq: i64,
    /// The outcome of the call.
    #[serde(flatten)]
    pub what: Happened,
    /// The last backend head that the device received.
    pub backend: AuditHead,
    /// The hash of the previous entry; zeros in the first.
    pub prev_hash: Digest,
    /// The hash of this entry.
    pub hash: Digest,
}

impl DeviceEntry {
    /// Returns the next entry of the chain of `device` that ends in `head`.
    #[must_use]
    pub fn link(device: &str, head: AuditHead, backend: AuditHead, what: Happened) -> Self {
        // There is no position after the maximum: such an entry does not link, and verification rejects
        // it.
        let seq = head.seq.saturating_add(1);
        let mut entry = Self { seq, what, backend, prev_hash: head.hash, hash: Digest::ZERO };
        entry.hash = entry.expected_hash(device);
        entry
    }

    /// Returns the head of a chain that ends in this entry.
    #[must_use]
    pub const fn head(&self) -> AuditHead {
        AuditHead { seq: self.seq, hash: self.hash }
    }

    fn expected_hash(&self, device: &str) -> Digest {
        let Self { seq, what, backend, prev_hash, hash: _ } = self;
        let Happened { at, call_id, tool, arguments, state, code, result } = what;
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
    /// The first line.
    Header(ChainHeader),
    /// An entry.
    Entry(DeviceEntry),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine {
    device_chain: ChainHeader,
}

impl ChainLine {
    /// Returns the line, with its line end.
    #[must_use]
    pub fn to_line(&self) -> String {
        // Plain structs of strings and numbers always serialise.
        let mut line = match self {
            Self::Header(header) => {
                serde_json::to_string(&HeaderLine { device_chain: header.clone() })
            }
            Self::Entry(entry) => serde_json::to_string(entry),
        }
        .unwrap_or_default();
        line.push('\n');
        line
    }

    /// Returns whether this is a header with a valid start: the beginning, or the position of an entry.
    const fn begins_somewhere(&self) -> bool {
        match self {
            Self::Header(header) => header.from.seq >= 0,
            Self::Entry(_) => false,
        }
    }

    /// Parses a line with its line end; `None` for what [`Self::to_line`] does not write.
    #[must_use]
    pub fn from_line(line: &[u8]) -> Option<Self> {
        let read = if line.starts_with(b"{\"device_chain\":") {
            let line: HeaderLine = serde_json::from_slice(line).ok()?;
            (line.device_chain.format == FORMAT).then_some(Self::Header(line.device_chain))?
        } else {
            Self::Entry(serde_json::from_slice(line).ok()?)
        };
        (read.to_line().as_bytes() == line).then_some(read)
    }
}

/// A problem in a device's chain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainProblem {
    /// A line cannot be parsed.
    #[error("line {line} of the device's file is no line of a chain, or was changed")]
    Line {
        /// The line number, from 1.
        line: usize,
    },
    /// The hash of the entry's content differs from the stored hash.
    #[error("entry {seq} of the device: its content was changed after it was written")]
    Changed {
        /// The entry's position.
        seq: i64,
    },
    /// An entry does not follow from the previous entry.
    #[error("entry {seq} of the device: it does not follow the entry before it")]
    Unlinked {
        /// The entry's position.
        seq: i64,
    },
    /// The export has no last line, or one with another head.
    #[error(
        "the device's file ends at entry {seq} without the end that belongs there; it was cut, or is no export"
    )]
    Cut {
        /// Position of the last entry.
        seq: i64,
    },
    /// The export has the older format, which devices did not sign.
    #[error(
        "the device's export, up to entry {seq}, is not signed, so that anybody may have made it; make it again on the device with `orion-agent audit export`"
    )]
    Unsigned {
        /// Position of the last entry.
        seq: i64,
    },
    /// The signature does not match the export.
    #[error(
        "the signature of the device's export, behind entry {seq}, does not fit it; it was changed, or made by somebody else"
    )]
    Signature {
        /// Position of the last entry.
        seq: i64,
    },
}

/// A device's chain, verified completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChain {
    /// The device, and the head that the chain continues from.
    pub header: ChainHeader,
    /// The stored entries.
    pub entries: Vec<DeviceEntry>,
}

impl DeviceChain {
    /// Verifies the file on the device line by line, or an export without its last line.
    ///
    /// # Errors
    /// [`ChainProblem`], with the position.
    pub fn read(text: &[u8]) -> Result<Self, ChainProblem> {
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').zip(1..);
        let header = lines.next().and_then(|(line, _)| ChainLine::from_line(line));
        let Some(ChainLine::Header(header)) = header.filter(ChainLine::begins_somewhere) else {
            return Err(ChainProblem::Line { line: 1 });
        };
        let mut chain = Self { header, entries: Vec::new() };
        for (line, number) in lines {
            match ChainLine::from_line(line) {
                Some(ChainLine::Entry(entry)) => chain.push(entry)?,
                Some(ChainLine::Header(_)) | None => {
                    return Err(ChainProblem::Line { line: number });
                }
            }
        }
        Ok(chain)
    }

    /// Verifies and appends the next entry.
    ///
    /// # Errors
    /// The entry was changed, or is not the next one.
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

    /// Returns the head of the chain.
    #[must_use]
    pub fn head(&self) -> AuditHead {
        self.entries.last().map_or(self.header.from, DeviceEntry::head)
    }

    /// Returns the entry at this position, if it is stored.
    #[must_use]
    pub fn entry(&self, seq: i64) -> Option<&DeviceEntry> {
        let at = seq.checked_sub(self.header.from.seq)?.checked_sub(1)?;
        self.entries.get(usize::try_from(at).ok()?)
    }

    /// Returns the hash at this position, of a stored entry or of the one before the first.
    #[must_use]
    pub fn hash_at(&self, seq: i64) -> Option<Digest> {
        if seq == self.header.from.seq {
            return Some(self.header.from.hash);
        }
        self.entry(seq).map(|entry| entry.hash)
    }

    /// Returns the chain as lines, the format of the file on the device.
    #[must_use]
    pub fn to_lines(&self) -> String {
        let header = ChainLine::Header(self.header.clone()).to_line();
        let entries = self.entries.iter().map(|entry| ChainLine::Entry(entry.clone()).to_line());
        std::iter::once(header).chain(entries).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests;
