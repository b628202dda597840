//! What two people compare when a device is enrolled without a token: one set of words over both ends of the
//! connection, so that somebody in between shows different words at each end.
//!
//! The words are short, so they must not be searchable. The device commits to a random secret, by its
//! SHA-256, before the backend sends its own random number, and reveals the secret after it. Whoever is in between has to fix their part on each
//! side before they know the words of the other, and has one guess in 2⁴⁸ for each attempt.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::fingerprint::Fingerprint;
use crate::words::fingerprint_words;

/// What separates these words from every other use of the hash.
const LABEL: &[u8] = b"orion enrolment by code, words, version 1\0";

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
    /// Returns the words: six, joined by hyphens.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { authority, key, nonce, secret } = self;
        // Every part but the last has a fixed length, so that no two inputs are one text.
        let parts = [LABEL, &authority.0, &key.0, nonce, secret.as_bytes()];
        let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part));
        fingerprint_words(&hash.finalize().into())
    }
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
        let words = comparison().words();
        assert_eq!(words.split('-').count(), 6);
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
        }
    }

    #[test]
    fn the_words_of_a_comparison_never_change() {
        assert_eq!(comparison().words(), "tosat-recor-padan-sivex-final-silon");
    }
}
