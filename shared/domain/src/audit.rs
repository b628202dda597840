//! The audit chain: the format of a row, the links between rows, and the detection of a break.
//!
//! Each row's hash covers the whole row and the previous hash. Changing, removing, inserting or swapping
//! rows breaks the chain at the first row concerned. Truncation is found by comparison with the head,
//! which is stored separately.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// One row as it is stored and exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Position in the chain, from 1, without gaps.
    pub seq: i64,
    /// Unix milliseconds.
    pub at: i64,
    /// The kind of event: `call.opened`, `call.closed`, `approval.decided`, `device.enrolled`, …
    pub kind: String,
    /// The call that the row is about; empty for rows about something else.
    pub call_id: String,
    /// The rest of the row as JSON text, byte for byte as it was hashed.
    pub body: String,
    /// The hash of the previous row; zeros in the first.
    pub prev_hash: Digest,
    /// The hash of this row.
    pub hash: Digest,
}

/// The end of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The last row's position; 0 when there is none.
    pub seq: i64,
    /// The last row's hash; zeros when there is none.
    pub hash: Digest,
}

impl AuditHead {
    /// The head of a chain without rows.
    pub const EMPTY: Self = Self { seq: 0, hash: Digest::ZERO };
}

impl AuditRow {
    /// Returns the next row of a chain that ends in `head`.
    #[must_use]
    pub fn link(head: AuditHead, at: i64, kind: &str, call_id: &str, body: String) -> Self {
        let mut row = Self {
            seq: head.seq + 1,
            at,
            kind: kind.to_owned(),
            call_id: call_id.to_owned(),
            body,
            prev_hash: head.hash,
            hash: Digest::ZERO,
        };
        row.hash = row.expected_hash();
        row
    }

    /// Returns the head of a chain that ends in this row.
    #[must_use]
    pub const fn head(&self) -> AuditHead {
        AuditHead { seq: self.seq, hash: self.hash }
    }

    fn expected_hash(&self) -> Digest {
        Digest::of(&self.canonical())
    }

    /// Returns the bytes that are hashed: all of the row except its own hash.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        Digest::fields(
            "orion.audit.v1",
            &[
                &self.seq.to_be_bytes(),
                &self.at.to_be_bytes(),
                self.kind.as_bytes(),
                self.call_id.as_bytes(),
                self.body.as_bytes(),
                self.prev_hash.as_bytes(),
            ],
        )
    }
}

/// Where and how a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// The hash of the row's content differs from the stored hash.
    #[error("row {seq}: its content was changed after it was written")]
    Changed {
        /// The row.
        seq: i64,
    },
    /// The row's `prev_hash` or position does not follow from the previous row.
    #[error(
        "row {seq}: it does not follow the row before it; a row was removed, inserted or moved"
    )]
    Unlinked {
        /// The row.
        seq: i64,
    },
    /// The rows end before or after the recorded head.
    #[error(
        "row {found}: the chain ends here, but the recorded head is row {recorded}; rows at the end were removed or replaced"
    )]
    Head {
        /// The last row that was read.
        found: i64,
        /// The position in the recorded head.
        recorded: i64,
    },
    /// A signed checkpoint contradicts the rows up to this one.
    #[error("row {seq}: the signed checkpoint over {seq} rows does not fit them: {why}")]
    Checkpoint {
        /// The last row that the checkpoint covers.
        seq: i64,
        /// What differs.
        why: String,
    },
}

impl Break {
    /// Returns the position of the row to inspect.
    #[must_use]
    pub const fn seq(&self) -> i64 {
        match self {
            Self::Changed { seq } | Self::Unlinked { seq } | Self::Checkpoint { seq, .. } => *seq,
            Self::Head { found, .. } => *found,
        }
    }
}

/// Verifies a chain row by row, in constant memory.
#[derive(Debug, Clone, Copy)]
pub struct Verifier {
    head: AuditHead,
}

impl Verifier {
    /// Starts at the first row.
    #[must_use]
    pub const fn new() -> Self {
        Self { head: AuditHead::EMPTY }
    }

    /// Continues after rows that were verified before.
    #[must_use]
    pub const fn after(head: AuditHead) -> Self {
        Self { head }
    }

    /// Verifies the next row.
    ///
    /// # Errors
    /// The row was changed, or is not the next one.
    pub fn next(&mut self, row: &AuditRow) -> Result<(), Break> {
        if row.hash != row.expected_hash() {
            return Err(Break::Changed { seq: row.seq });
        }
        if row.seq != self.head.seq + 1 || row.prev_hash != self.head.hash {
            return Err(Break::Unlinked { seq: row.seq });
        }
        self.head = row.head();
        Ok(())
    }

    /// Compares the last row with the recorded head and returns the number of rows.
    ///
    /// # Errors
    /// The rows end elsewhere than recorded.
    pub fn finish(self, recorded: AuditHead) -> Result<i64, Break> {
        if self.head == recorded {
            Ok(self.head.seq)
        } else {
            Err(Break::Head { found: self.head.seq, recorded: recorded.seq })
        }
    }
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(length: i64) -> Vec<AuditRow> {
        let mut head = AuditHead::EMPTY;
        (0..length)
            .map(|n| {
                let row = AuditRow::link(head, n, "call.opened", "c", format!("{{\"n\":{n}}}"));
                head = row.head();
                row
            })
            .collect()
    }

    fn verify(rows: &[AuditRow], head: AuditHead) -> Result<i64, Break> {
        let mut verifier = Verifier::new();
        rows.iter().try_for_each(|row| verifier.next(row))?;
        verifier.finish(head)
    }

    #[test]
    fn a_whole_chain_counts_its_rows() {
        let rows = chain(5);
        assert_eq!(verify(&rows, rows[4].head()), Ok(5));
        assert_eq!(verify(&[], AuditHead::EMPTY), Ok(0));
    }

    #[test]
    fn every_edit_is_found_and_named() {
        let rows = chain(5);
        let head = rows[4].head();

        let mut edited = rows.clone();
        edited[2].body.push(' ');
        assert_eq!(verify(&edited, head), Err(Break::Changed { seq: 3 }));

        let mut rehashed = rows.clone();
        rehashed[2] = AuditRow::link(rows[1].head(), 9, "call.opened", "c", "{}".to_owned());
        assert_eq!(verify(&rehashed, head), Err(Break::Unlinked { seq: 4 }));

        let mut removed = rows.clone();
        removed.remove(1);
        assert_eq!(verify(&removed, head), Err(Break::Unlinked { seq: 3 }));

        let mut swapped = rows.clone();
        swapped.swap(1, 2);
        assert_eq!(verify(&swapped, head), Err(Break::Unlinked { seq: 3 }));

        assert_eq!(verify(&rows[..4], head), Err(Break::Head { found: 4, recorded: 5 }));
    }

    #[test]
    fn a_break_says_which_row_to_look_at() {
        assert_eq!(Break::Changed { seq: 3 }.seq(), 3);
        assert_eq!(Break::Unlinked { seq: 4 }.seq(), 4);
        assert_eq!(Break::Head { found: 5, recorded: 7 }.seq(), 5);
    }
}
