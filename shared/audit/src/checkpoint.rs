//! Checkpoints (C2SP `tlog-checkpoint`): the number of rows and the root of their Merkle tree, as the
//! text of a signed note.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orion_domain::Digest;

use crate::merkle::Tree;
use crate::note::{NoteError, Signer, VerifierKey};

/// The contents of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The name of the key that signs for the tree.
    pub origin: String,
    /// The number of rows.
    pub size: u64,
    /// The root of the tree.
    pub root: Digest,
    /// Extension lines.
    pub more: Vec<String>,
}

impl Checkpoint {
    /// Signs the state of a tree.
    #[must_use]
    pub fn sign(signer: &Signer, tree: &Tree, more: Vec<String>) -> String {
        let origin = signer.key().name().to_owned();
        signer.sign(&Self { origin, size: tree.size(), root: tree.root(), more }.text())
    }

    /// Verifies and reads a signed checkpoint.
    ///
    /// # Errors
    /// [`NoteError`]; also for a note that is not a checkpoint of this key's tree.
    pub fn open(key: &VerifierKey, note: &str) -> Result<Self, NoteError> {
        let checkpoint = Self::parse(key.open(note)?).ok_or(NoteError::NotANote)?;
        if checkpoint.origin == key.name() { Ok(checkpoint) } else { Err(NoteError::OtherKey) }
    }

    fn text(&self) -> String {
        let Self { origin, size, root, more } = self;
        let mut text = format!("{origin}\n{size}\n{}\n", STANDARD.encode(root.as_bytes()));
        for line in more {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let checkpoint = Self {
            origin: lines.next()?.to_owned(),
            size: lines.next()?.parse().ok()?,
            root: Digest::from_slice(&STANDARD.decode(lines.next()?).ok()?)?,
            more: lines.map(str::to_owned).collect(),
        };
        // Only the canonical text is accepted: no leading zeros, no other line ends.
        (checkpoint.text() == text).then_some(checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::leaf;

    #[test]
    fn a_checkpoint_is_what_the_specification_writes() {
        let signer = Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap();
        let mut tree = Tree::default();
        tree.push(leaf(b""));
        let note = Checkpoint::sign(&signer, &tree, Vec::new());
        let name = signer.key().name();
        let begin =
            format!("{name}\n1\nbjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=\n\n\u{2014} {name} ");
        assert!(note.starts_with(&begin), "{note}");
        let opened = Checkpoint::open(signer.key(), &note).unwrap();
        assert_eq!((opened.size, opened.root), (1, tree.root()));
        let zeros = signer.sign(&note.split("\n\n").next().unwrap().replace("\n1\n", "\n01\n"));
        assert_eq!(Checkpoint::open(signer.key(), &zeros), Err(NoteError::NotANote));
    }
}
