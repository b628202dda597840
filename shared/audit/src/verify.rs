//! Verifies an export line by line, in constant memory, without its backend.

use orion_domain::audit::{AuditHead, AuditRow, Break, Verifier};

use crate::checkpoint::Checkpoint;
use crate::export::{
    CheckpointLine, EndLine, FORMAT, Header, HeaderLine, Running, UnsignedLine, line, of_export,
};
use crate::merkle::{Tree, leaf};
use crate::note::VerifierKey;

/// A problem in an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A row was changed, removed, inserted or moved, or a checkpoint does not match the rows.
    #[error("{0}")]
    Broken(#[from] Break),
    /// The first line is not an export's.
    #[error("line 1: it is not the first line of an export of the backend, or was changed")]
    Header,
    /// The export names another key than the known one.
    #[error(
        "line 1: the export was signed with another key than the one you gave, or than the older export"
    )]
    OtherKey,
    /// A line cannot be parsed.
    #[error("row {seq}: line {line} of the file is no row; it was changed")]
    Line {
        /// The expected row.
        seq: i64,
        /// The line number, from 1.
        line: u64,
    },
    /// The backend did not sign the export.
    #[error("row {seq}: the backend did not sign this export: {why}")]
    Unsigned {
        /// The last row.
        seq: i64,
        /// The backend's reason.
        why: String,
    },
    /// The last line does not match the file.
    #[error("row {seq}: the signature at the end does not fit the file: {why}")]
    End {
        /// The last row.
        seq: i64,
        /// What does not match.
        why: String,
    },
    /// The last line is missing.
    #[error("row {seq}: the file ends here without its signed end; it was cut")]
    Cut {
        /// The last row.
        seq: i64,
    },
    /// The older export has another row at its end.
    #[error(
        "row {seq}: the older export ends here with another row; the audit was rewritten since"
    )]
    Rewritten {
        /// The last row of the older export.
        seq: i64,
    },
    /// The older export has more rows.
    #[error(
        "row {seq}: the export ends here, and the older one has {older} rows; its end was cut off, or it is not the newer of the two"
    )]
    Shorter {
        /// The last row.
        seq: i64,
        /// The number of rows in the older export.
        older: i64,
    },
    /// Data follows the last line.
    #[error("row {seq}: something follows the end of the export; it was added")]
    Added {
        /// The row after the last.
        seq: i64,
    },
}

impl Problem {
    /// Returns the row to inspect; 0 for the first line.
    #[must_use]
    pub const fn seq(&self) -> i64 {
        match self {
            Self::Broken(broken) => broken.seq(),
            Self::Header | Self::OtherKey => 0,
            Self::Line { seq, .. }
            | Self::Unsigned { seq, .. }
            | Self::End { seq, .. }
            | Self::Cut { seq }
            | Self::Rewritten { seq }
            | Self::Shorter { seq, .. }
            | Self::Added { seq } => *seq,
        }
    }
}

/// What a complete export proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    /// The number of rows.
    pub rows: i64,
    /// The head of the chain.
    pub head: AuditHead,
    /// The number of verified checkpoints, the signed end included.
    pub checkpoints: u64,
    /// The key that signed the checkpoints.
    pub key: VerifierKey,
    /// Unix milliseconds, when the export was made.
    pub at: i64,
}

#[derive(Debug)]
struct Begun {
    header: Header,
    key: VerifierKey,
}

/// Verifies an export line by line.
#[derive(Debug)]
pub struct ExportVerifier {
    known: Option<VerifierKey>,
    /// The head of the older export.
    older: AuditHead,
    begun: Option<Begun>,
    chain: Verifier,
    tree: Tree,
    last: AuditHead,
    lines: u64,
    checkpoints: u64,
    digest: Running,
    ended: bool,
}

impl ExportVerifier {
    /// Creates a verifier. If the backend's key is known, an export signed with another is rejected.
    #[must_use]
    pub fn new(known: Option<VerifierKey>) -> Self {
        Self {
            known,
            older: AuditHead::EMPTY,
            begun: None,
            chain: Verifier::new(),
            tree: Tree::default(),
            last: AuditHead::EMPTY,
            lines: 0,
            checkpoints: 0,
            digest: Running::new(),
            ended: false,
        }
    }

    /// Creates a verifier with an older export: the new one must contain its rows, continue from them,
    /// and be signed with the same key.
    #[must_use]
    pub fn since(older: &Proven) -> Self {
        Self { older: older.head, ..Self::new(Some(older.key.clone())) }
    }

    /// Verifies the next line, with its line end, and returns it if it is a row.
    ///
    /// # Errors
    /// [`Problem`], with the row.
    pub fn line(&mut self, text: &[u8]) -> Result<Option<AuditRow>, Problem> {
        self.lines += 1;
        let seq = self.last.seq;
        if self.ended {
            return Err(Problem::Added { seq: seq + 1 });
        }
        if !text.ends_with(b"\n") {
            return Err(Problem::Cut { seq });
        }
        let Some(Begun { header, key }) = &self.begun else {
            self.begun = Some(self.begin(text)?);
            self.digest.update(text);
            return Ok(None);
        };
        let no_line = || Problem::Line { seq: seq + 1, line: self.lines };
        if text.starts_with(b"{\"end\":") {
            let EndLine { end } = serde_json::from_slice(text).map_err(|_| no_line())?;
            let failed = |why: &str| Problem::End { seq, why: why.to_owned() };
            // Everything before is signed; of this line only the canonical form is accepted.
            if line(&EndLine { end: end.clone() }).as_bytes() != text {
                return Err(no_line());
            }
            let said = Checkpoint::open(key, &end).map_err(|error| failed(&error.to_string()))?;
            self.chain.finish(header.head)?;
            if said.size != self.tree.size() || said.root != self.tree.root() {
                return Err(failed("it is about other rows"));
            }
            if said.more != [of_export(&self.digest.clone().digest(), header.at)] {
                return Err(failed("it is about another file"));
            }
            self.checkpoints += 1;
            self.ended = true;
            return Ok(None);
        }
        if text.starts_with(b"{\"unsigned\":") {
            let UnsignedLine { unsigned } = serde_json::from_slice(text).map_err(|_| no_line())?;
            return Err(Problem::Unsigned { seq, why: unsigned });
        }
        if text.starts_with(b"{\"checkpoint\":") {
            let CheckpointLine { checkpoint } =
                serde_json::from_slice(text).map_err(|_| no_line())?;
            check(key, &checkpoint, &self.tree)?;
            self.checkpoints += 1;
            self.digest.update(text);
            return Ok(None);
        }
        let row: AuditRow = serde_json::from_slice(text).map_err(|_| no_line())?;
        self.chain.next(&row)?;
        // Each hash covers all previous rows, so one comparison covers them all.
        if row.seq == self.older.seq && row.head() != self.older {
            return Err(Problem::Rewritten { seq: row.seq });
        }
        self.tree.push(leaf(&row.canonical()));
        self.last = row.head();
        self.digest.update(text);
        Ok(Some(row))
    }

    fn begin(&self, text: &[u8]) -> Result<Begun, Problem> {
        let HeaderLine { export: header } =
            serde_json::from_slice(text).map_err(|_| Problem::Header)?;
        let key: VerifierKey = header.key.parse().map_err(|_| Problem::Header)?;
        if header.format != FORMAT {
            return Err(Problem::Header);
        }
        if self.known.as_ref().is_some_and(|known| *known != key) {
            return Err(Problem::OtherKey);
        }
        Ok(Begun { header, key })
    }

    /// Finishes the verification.
    ///
    /// # Errors
    /// [`Problem::Cut`] where the signed end is missing, [`Problem::Shorter`] where the older export has
    /// more rows.
    pub fn finish(self) -> Result<Proven, Problem> {
        let (seq, older) = (self.last.seq, self.older.seq);
        match self.begun {
            Some(_) if self.ended && seq < older => Err(Problem::Shorter { seq, older }),
            Some(Begun { header, key }) if self.ended => Ok(Proven {
                rows: self.last.seq,
                head: self.last,
                checkpoints: self.checkpoints,
                key,
                at: header.at,
            }),
            Some(_) | None => Err(Problem::Cut { seq: self.last.seq }),
        }
    }
}

/// Verifies that a signed checkpoint matches this tree.
///
/// # Errors
/// [`Break::Checkpoint`], with the last row that it covers.
pub fn check(key: &VerifierKey, note: &str, tree: &Tree) -> Result<(), Break> {
    let seq = i64::try_from(tree.size()).unwrap_or(i64::MAX);
    let failed = |why: String| Break::Checkpoint { seq, why };
    let said = Checkpoint::open(key, note).map_err(|error| failed(error.to_string()))?;
    if said.size != tree.size() || !said.more.is_empty() {
        return Err(failed(format!("it is about {} rows", said.size)));
    }
    if said.root != tree.root() {
        return Err(failed("rows before were rewritten after it was signed".to_owned()));
    }
    Ok(())
}
