//! Follows an export line by line, in constant memory, without its backend.

use orion_domain::audit::{AuditHead, AuditRow, Break, Verifier};

use crate::checkpoint::Checkpoint;
use crate::export::{
    CheckpointLine, EndLine, FORMAT, Header, HeaderLine, Running, UnsignedLine, line, of_export,
};
use crate::merkle::{Tree, leaf};
use crate::note::VerifierKey;

/// What is wrong with an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A row was changed, removed, inserted or moved, or a checkpoint does not fit the rows.
    #[error("{0}")]
    Broken(#[from] Break),
    /// The first line is not that of an export.
    #[error("line 1: it is not the first line of an export, or was changed")]
    Header,
    /// The export names another key than the one that is known.
    #[error(
        "line 1: the export was signed with another key than the one you gave, or than the older export"
    )]
    OtherKey,
    /// A line is none.
    #[error("row {seq}: line {line} of the file is no row; it was changed")]
    Line {
        /// The row that was to come.
        seq: i64,
        /// The line, from 1.
        line: u64,
    },
    /// The backend itself did not sign.
    #[error("row {seq}: the backend did not sign this export: {why}")]
    Unsigned {
        /// The last row.
        seq: i64,
        /// Why.
        why: String,
    },
    /// The last line does not fit the file.
    #[error("row {seq}: the signature at the end does not fit the file: {why}")]
    End {
        /// The last row.
        seq: i64,
        /// What does not fit.
        why: String,
    },
    /// There is no last line.
    #[error("row {seq}: the file ends here without its signed end; it was cut")]
    Cut {
        /// The last row.
        seq: i64,
    },
    /// An export that was made before has other rows.
    #[error(
        "row {seq}: the older export ends here with another row; the audit was rewritten since"
    )]
    Rewritten {
        /// The last row of the older export.
        seq: i64,
    },
    /// An export that was made before has more rows.
    #[error(
        "row {seq}: the export ends here, and the older one has {older} rows; its end was cut off, or it is not the newer of the two"
    )]
    Shorter {
        /// The last row.
        seq: i64,
        /// How many rows the older export has.
        older: i64,
    },
    /// Something follows the last line.
    #[error("row {seq}: something follows the end of the export; it was added")]
    Added {
        /// The row after the last.
        seq: i64,
    },
}

impl Problem {
    /// The row to look at; 0 for the first line.
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

/// What a whole export proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    /// How many rows.
    pub rows: i64,
    /// Where the chain ends.
    pub head: AuditHead,
    /// How many checkpoints were checked, the signed end among them.
    pub checkpoints: u64,
    /// The key that signed them.
    pub key: VerifierKey,
    /// When the export was made, Unix milliseconds.
    pub at: i64,
}

#[derive(Debug)]
struct Begun {
    header: Header,
    key: VerifierKey,
}

/// See the module.
#[derive(Debug)]
pub struct ExportVerifier {
    known: Option<VerifierKey>,
    /// Where an export that was made before ends.
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
    /// Begins. Where the backend's key is known, an export that was signed with another is not taken.
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

    /// The same where an export that was made before is at hand: this one has to have its rows, and go on
    /// from them, signed with the same key.
    #[must_use]
    pub fn since(older: &Proven) -> Self {
        Self { older: older.head, ..Self::new(Some(older.key.clone())) }
    }

    /// Takes the next line, with its end, and gives it back where it is a row.
    ///
    /// # Errors
    /// [`Problem`], naming the row.
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
            // All before is signed; of this line only its one form is taken.
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
        // Each hash covers all rows before, so that one comparison is one of all of them.
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

    /// Ends.
    ///
    /// # Errors
    /// [`Problem::Cut`] where the signed end did not come, [`Problem::Shorter`] where fewer rows came than
    /// there were before.
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

/// Whether a signed checkpoint is of this very tree.
///
/// # Errors
/// [`Break::Checkpoint`], naming the last row that it is about.
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
