//! Signed notes (C2SP `signed-note`): a text, an empty line, and a signature line. Keys are Ed25519; the
//! verifier key is written as `name+id+key`.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orion_domain::Digest;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// The algorithm number in a key: Ed25519.
const ED25519_KEY: u8 = 1;
/// The prefix of a signature line.
const DASH: &str = "\u{2014} ";

/// Why a note or a key is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The text is not in the format of a note.
    #[error("it is no signed note")]
    NotANote,
    /// The note names another key.
    #[error("it was signed with another key")]
    OtherKey,
    /// The signature does not match this text.
    #[error("its signature does not fit")]
    BadSignature,
    /// The text is not in the format of a key.
    #[error("it is no key; `orion audit key` prints one")]
    NotAKey,
}

/// The key that verifies, with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifierKey {
    name: String,
    public: [u8; 32],
}

impl VerifierKey {
    /// Creates a backend's key. Its name is derived from it, so that names are unique.
    #[must_use]
    pub fn new(public: [u8; 32]) -> Self {
        let digest = Digest::of(&public).to_string();
        Self { name: format!("orion-audit/{}", digest.get(..16).unwrap_or_default()), public }
    }

    /// Returns the name, which also begins each checkpoint.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    fn encoded(&self) -> Vec<u8> {
        let mut key = vec![ED25519_KEY];
        key.extend(self.public);
        key
    }

    fn id(&self) -> [u8; 4] {
        let mut bytes = format!("{}\n", self.name).into_bytes();
        bytes.extend(self.encoded());
        let [a, b, c, d, ..] = *Digest::of(&bytes).as_bytes();
        [a, b, c, d]
    }

    /// Returns the text of a note that this key signed, with its last line's end. Notes with several
    /// signatures are rejected: here each note has one.
    ///
    /// # Errors
    /// [`NoteError`].
    pub fn open<'n>(&self, note: &'n str) -> Result<&'n str, NoteError> {
        let at = note.rfind("\n\n").ok_or(NoteError::NotANote)?;
        let (text, line) = note.split_at_checked(at + 1).ok_or(NoteError::NotANote)?;
        let line = line.strip_prefix('\n').and_then(|line| line.strip_suffix('\n'));
        let line = line.filter(|line| !line.contains('\n')).ok_or(NoteError::NotANote)?;
        let line = line.strip_prefix(DASH).ok_or(NoteError::NotANote)?;
        let (name, signature) = line.split_once(' ').ok_or(NoteError::NotANote)?;
        let signature = STANDARD.decode(signature).map_err(|_| NoteError::NotANote)?;
        let (id, signature) = signature.split_at_checked(4).ok_or(NoteError::NotANote)?;
        if name != self.name || id != self.id() {
            return Err(NoteError::OtherKey);
        }
        UnparsedPublicKey::new(&ED25519, self.public)
            .verify(text.as_bytes(), signature)
            .map_err(|_| NoteError::BadSignature)?;
        Ok(text)
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.id();
        let key = STANDARD.encode(self.encoded());
        write!(f, "{}+{a:02x}{b:02x}{c:02x}{d:02x}+{key}", self.name)
    }
}

impl FromStr for VerifierKey {
    type Err = NoteError;

    fn from_str(text: &str) -> Result<Self, NoteError> {
        let (_, encoded) = text.rsplit_once('+').ok_or(NoteError::NotAKey)?;
        // Base64 uses `+` too, so the key may contain one.
        let encoded = text.splitn(3, '+').nth(2).unwrap_or(encoded);
        let bytes = STANDARD.decode(encoded).map_err(|_| NoteError::NotAKey)?;
        let public = bytes.strip_prefix(&[ED25519_KEY]).and_then(|key| key.try_into().ok());
        let key = Self::new(public.ok_or(NoteError::NotAKey)?);
        // The name and the id are derived from the key, so that a key has only one form.
        if key.to_string() == text { Ok(key) } else { Err(NoteError::NotAKey) }
    }
}

/// The key that signs.
pub struct Signer {
    pair: Ed25519KeyPair,
    key: VerifierKey,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Signer {
    /// Generates a key for storage, as PKCS#8.
    ///
    /// # Errors
    /// [`NoteError::NotAKey`] where the system returns no random bytes.
    pub fn generate() -> Result<Vec<u8>, NoteError> {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        Ok(key.map_err(|_| NoteError::NotAKey)?.as_ref().to_vec())
    }

    /// Loads a stored key.
    ///
    /// # Errors
    /// [`NoteError::NotAKey`].
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, NoteError> {
        let pair = Ed25519KeyPair::from_pkcs8(bytes).map_err(|_| NoteError::NotAKey)?;
        let public = pair.public_key().as_ref().try_into().map_err(|_| NoteError::NotAKey)?;
        Ok(Self { pair, key: VerifierKey::new(public) })
    }

    /// Returns the key that verifies this key's signatures.
    #[must_use]
    pub const fn key(&self) -> &VerifierKey {
        &self.key
    }

    /// Signs a text that ends with a line end.
    #[must_use]
    pub fn sign(&self, text: &str) -> String {
        let mut signature = self.key.id().to_vec();
        signature.extend(self.pair.sign(text.as_bytes()).as_ref());
        format!("{text}\n{DASH}{} {}\n", self.key.name, STANDARD.encode(signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signer() -> Signer {
        Signer::from_pkcs8(&Signer::generate().unwrap()).unwrap()
    }

    #[test]
    fn what_was_signed_opens_with_its_key_alone() {
        let (one, other) = (signer(), signer());
        let note = one.sign("a text\nof two lines\n");
        assert_eq!(one.key().open(&note), Ok("a text\nof two lines\n"));
        assert_eq!(other.key().open(&note), Err(NoteError::OtherKey));
        assert_eq!(one.key().open(&note.replace("two", "2")), Err(NoteError::BadSignature));
        assert_eq!(one.key().open(&format!("{note}\n")), Err(NoteError::NotANote));
        assert_eq!(one.key().open("no note"), Err(NoteError::NotANote));
    }

    #[test]
    fn a_key_is_one_word_and_reads_back() {
        for _ in 0..64 {
            let key = signer().key().clone();
            let text = key.to_string();
            assert!(!text.contains(char::is_whitespace));
            assert_eq!(text.parse(), Ok(key));
            assert!(text.replacen('/', "-", 1).parse::<VerifierKey>().is_err());
        }
        assert_eq!("x".parse::<VerifierKey>(), Err(NoteError::NotAKey));
    }

    #[test]
    fn debug_shows_no_key() {
        assert!(!format!("{:?}", signer()).contains("pair"));
    }
}
