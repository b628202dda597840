//! What two people compare when a device is enrolled without a token: words over both ends of the connection, so
//! that somebody in between shows different words at each end. Those of the device go to the backend, typed by an
//! admin, and those of the answer go to the device, typed by the person in front of it: neither end takes the word
//! of what is on the line.
//!
//! The words are short, so they must not be searchable. The device commits to a random secret, by its
//! SHA-256, before the backend sends its own random number, and reveals the secret after it. Whoever is in between
//! has to fix their part on each side before they know the words of the other, and has one guess in 2²⁴ for each
//! attempt at the backend, and few in 2¹⁶ at the device.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::fingerprint::Fingerprint;
use crate::words::first_words;

/// What separates the device's words from every other use of the hash.
const LABEL: &[u8] = b"orion enrolment by code, words, version 1\0";
/// The same for the words of the answer.
const ANSWER_LABEL: &[u8] = b"orion enrolment by code, answer, version 1\0";
/// The number of the device's words: 24 bits.
const WORDS: usize = 3;
/// The number of words of the answer: 16 bits.
const ANSWER_WORDS: usize = 2;

/// Everything that the words cover. `Debug` does not show the secret.
#[derive(Clone, Copy)]
pub struct Comparison<'a> {
    /// The backend's certificate authority: the one that the device met, or the one that the backend has.
    pub authority: Fingerprint,
    /// The device's public key: the one that it made, or the one that the backend received.
    pub key: Fingerprint,
    /// The backend's random number, sent after the commitment.
    pub nonce: [u8; 32],
    /// The device's secret, revealed after the nonce.
    pub secret: &'a str,
}

impl fmt::Debug for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { authority, key, nonce: _, secret: _ } = self;
        f.debug_struct("Comparison")
            .field("authority", authority)
            .field("key", key)
            .finish_non_exhaustive()
    }
}

impl Comparison<'_> {
    /// Returns the words that the device shows and an admin types: three, joined by hyphens.
    #[must_use]
    pub fn words(&self) -> String {
        first_words(&self.hash(LABEL), WORDS)
    }

    /// Returns the words that the admin sees after the confirmation and a person types at the device: two, joined by
    /// a hyphen.
    #[must_use]
    pub fn answer(&self) -> String {
        first_words(&self.hash(ANSWER_LABEL), ANSWER_WORDS)
    }

    fn hash(&self, label: &[u8]) -> [u8; 32] {
        let Self { authority, key, nonce, secret } = self;
        // Every part but the label and the last has a fixed length, and a label ends with a zero, so that no two
        // inputs are one text.
        let parts = [label, &authority.0, &key.0, nonce, secret.as_bytes()];
        let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part));
        hash.finalize().into()
    }
}

/// Returns words as they are compared, however a person typed them: in any case, with hyphens or spaces.
#[must_use]
pub fn typed_words(text: &str) -> String {
    let separated = text.split(|c: char| c == '-' || c.is_whitespace());
    let words: Vec<_> = separated.filter(|word| !word.is_empty()).map(str::to_lowercase).collect();
    words.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison() -> Comparison<'static> {
        Comparison {
            authority: Fingerprint([1; 32]),
            key: Fingerprint([2; 32]),
            nonce: [3; 32],
            secret: "secret",
        }
    }

    #[test]
    fn the_words_cover_both_keys_and_both_random_numbers() {
        let (words, answer) = (comparison().words(), comparison().answer());
        assert_eq!(words.split('-').count(), 3);
        assert_eq!(answer.split('-').count(), 2);
        assert_eq!(comparison().words(), words);
        let others = [
            Comparison { authority: Fingerprint([9; 32]), ..comparison() },
            Comparison { key: Fingerprint([9; 32]), ..comparison() },
            Comparison { nonce: [9; 32], ..comparison() },
            Comparison { secret: "another", ..comparison() },
            // The parts in each other's place.
            Comparison {
                authority: Fingerprint([2; 32]),
                key: Fingerprint([1; 32]),
                ..comparison()
            },
        ];
        for other in others {
            assert_ne!(other.words(), words, "{other:?}");
            assert_ne!(other.answer(), answer, "{other:?}");
        }
    }

    #[test]
    fn the_words_of_a_comparison_never_change() {
        assert_eq!(comparison().words(), "tosat-recor-padan");
        assert_eq!(comparison().answer(), "likim-hudan");
        assert!(!comparison().words().starts_with(&comparison().answer()));
    }

    #[test]
    fn words_are_the_same_however_they_are_typed() {
        assert_eq!(typed_words(" Babel dedan  LIVEX\n"), "babel-dedan-livex");
        assert_eq!(typed_words("babel-dedan - livex"), "babel-dedan-livex");
        assert_eq!(typed_words(" - "), "");
    }
}
