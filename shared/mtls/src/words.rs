//! A fingerprint in words, for two people (or one person and two screens) to compare.
//!
//! A byte becomes one of 256 words: its high half selects a first syllable, its low half a second. No
//! two first syllables share their consonant and no two second syllables share theirs, so that words
//! differ audibly. Six words carry 48 bits: enough to detect a mix-up or a swapped request while an
//! invitation is open. They do not replace the whole fingerprint, which software compares.

/// The number of words in the short form of a fingerprint.
const WORDS: usize = 6;

/// One syllable for each value of a byte's high half.
const FIRST: [&str; 16] = [
    "ba", "de", "fi", "go", "hu", "ja", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "za",
];

/// One syllable for each value of a byte's low half.
const SECOND: [&str; 16] = [
    "bel", "cor", "dan", "fin", "gar", "hosh", "jun", "kim", "lon", "mer", "nal", "por", "rus",
    "sat", "tig", "vex",
];

/// Returns the short form of a SHA-256 fingerprint: words for its first bytes, joined by hyphens.
pub(crate) fn fingerprint_words(sha256: &[u8; 32]) -> String {
    first_words(sha256, WORDS)
}

/// Returns words for the first bytes of a hash, joined by hyphens.
pub(crate) fn first_words(sha256: &[u8; 32], count: usize) -> String {
    sha256.iter().take(count).map(|byte| word(*byte)).collect::<Vec<_>>().join("-")
}

/// Returns the word for one byte.
fn word(byte: u8) -> String {
    let [first, second] = [byte >> 4, byte & 0x0f].map(usize::from);
    [FIRST[first], SECOND[second]].concat()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_byte_has_a_word_of_its_own() {
        let words: HashSet<String> = (0..=u8::MAX).map(word).collect();
        assert_eq!(words.len(), 256);
    }

    #[test]
    fn no_two_syllables_of_a_table_begin_alike() {
        for table in [FIRST, SECOND] {
            let consonants: HashSet<_> = table.iter().map(|syllable| &syllable[..1]).collect();
            assert_eq!(consonants.len(), 16);
        }
    }

    #[test]
    fn the_words_of_a_fingerprint_never_change() {
        let mut sha256 = [0xff; 32];
        sha256[..6].copy_from_slice(&[0x00, 0x12, 0x7f, 0x80, 0xa5, 0xfe]);
        assert_eq!(fingerprint_words(&sha256), "babel-dedan-livex-mobel-pahosh-zatig");
    }
}
