//! An export of the backend's audit as JSON lines. The first names the key; the rows follow, with each
//! signed checkpoint after the last row that it covers. A signed note over the whole file is last.

use orion_domain::Digest;
use orion_domain::audit::{AuditHead, AuditRow, Verifier};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::merkle::{Tree, leaf};
use crate::note::Signer;

/// The version of the format.
pub const FORMAT: u32 = 1;

/// The contents of the first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// The key that signs the checkpoints.
    pub key: String,
    /// The head of the chain.
    pub head: AuditHead,
    /// Unix milliseconds, when the export was made.
    pub at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeaderLine {
    pub(crate) export: Header,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckpointLine {
    pub(crate) checkpoint: String,
}

/// The last line: a note, or the reason for its absence.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndLine {
    pub(crate) end: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnsignedLine {
    pub(crate) unsigned: String,
}

/// Returns the extension line of the last note: SHA-256 of everything before the last line, and the
/// time.
pub(crate) fn of_export(digest: &Digest, at: i64) -> String {
    format!("export {digest} {at}")
}

pub(crate) fn line(value: &impl Serialize) -> String {
    // Plain structs of strings and numbers always serialise.
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line
}

/// The running digest of a growing file.
#[derive(Clone)]
pub(crate) struct Running(Context);

impl Running {
    pub(crate) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn digest(self) -> Digest {
        Digest::from_slice(self.0.finish().as_ref()).unwrap_or(Digest::ZERO)
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

/// Writes an export line by line.
#[derive(Debug)]
pub struct Exporter {
    header: Header,
    chain: Verifier,
    tree: Tree,
    broken: Option<String>,
    digest: Running,
}

impl Exporter {
    /// Starts an export and returns its first line.
    #[must_use]
    pub fn begin(signer: &Signer, head: AuditHead, at: i64) -> (Self, String) {
        let header = Header { format: FORMAT, key: signer.key().to_string(), head, at };
        let first = line(&HeaderLine { export: header.clone() });
        let mut digest = Running::new();
        digest.update(first.as_bytes());
        let (chain, tree) = (Verifier::new(), Tree::default());
        (Self { header, chain, tree, broken: None, digest }, first)
    }

    /// Returns the line of the next row.
    pub fn row(&mut self, row: &AuditRow) -> String {
        if self.broken.is_none()
            && let Err(broken) = self.chain.next(row)
        {
            self.broken = Some(broken.to_string());
        }
        self.tree.push(leaf(&row.canonical()));
        self.taken(line(row))
    }

    /// Returns the line of a checkpoint over the rows so far.
    pub fn checkpoint(&mut self, note: String) -> String {
        self.taken(line(&CheckpointLine { checkpoint: note }))
    }

    fn taken(&mut self, line: String) -> String {
        self.digest.update(line.as_bytes());
        line
    }

    /// Returns the last line. It is signed only if the rows are a complete chain up to the head and give
    /// `root`, which the backend computed independently.
    #[must_use]
    pub fn end(self, signer: &Signer, root: Option<Digest>) -> String {
        let Self { header, chain, tree, broken, digest } = self;
        let broken = broken
            .or_else(|| chain.finish(header.head).err().map(|broken| broken.to_string()))
            .or_else(|| {
                (root != Some(tree.root()))
                    .then(|| "these rows are not those that were signed before".to_owned())
            });
        match broken {
            None => {
                let more = vec![of_export(&digest.digest(), header.at)];
                line(&EndLine { end: Checkpoint::sign(signer, &tree, more) })
            }
            Some(unsigned) => line(&UnsignedLine { unsigned }),
        }
    }
}
