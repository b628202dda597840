//! One component, as written and as it is compared.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};

use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::PathStyle;

/// A 128-bit signature of the components of a path: two bits for each loose key and for its ending. A
/// missing bit proves that a component is absent, and saves the comparison.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub(super) struct Signature(u128);

impl Signature {
    /// Returns the signature of one loose key.
    pub(super) fn of(key: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(key.as_bytes());
        let hash = hasher.finish();
        Self(1 << (hash >> 57)).and(Self(1 << (hash & 127)))
    }

    /// Returns the signature of a component's ending, from its last dot on, as `*.pem` needs it; empty
    /// where there is none.
    pub(super) fn of_ending(key: &str) -> Self {
        key.rfind('.').map_or_else(Self::default, |dot| Self::of(&key[dot..]))
    }

    /// Returns the positions of the set bits.
    pub(super) fn bits(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros() as usize;
            // Clears the lowest bit; ends when none is set.
            left &= left.checked_sub(1)?;
            Some(bit)
        })
    }

    /// Returns the bits set in both.
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether everything in `other` may be present here as well.
    pub(super) fn may_hold(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A component with the two keys for comparison, computed once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Name {
    written: Box<str>,
    exact: Box<str>,
    loose: Box<str>,
    original: Option<Box<str>>,
}

impl Name {
    pub(super) fn new(style: PathStyle, written: &str) -> Self {
        let loose = loose(written);
        Self {
            written: written.into(),
            exact: exact(style, written).into(),
            original: copied_from(&loose).map(|name| name.into_owned().into()),
            loose: loose.into(),
        }
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// Returns the key that an allow compares: never wider than the style's own file systems.
    pub(super) fn exact(&self) -> &str {
        &self.exact
    }

    /// Returns the key that a deny compares: at least as wide as any file system.
    pub(super) fn loose(&self) -> &str {
        &self.loose
    }

    /// Returns the loose form of the name that this one is a copy of, by the usual naming of copies.
    pub(super) fn original(&self) -> Option<&str> {
        self.original.as_deref()
    }

    /// Returns the letter of a drive (`C:`) or of its administrative share (`//any/C$`); any other
    /// prefix unchanged.
    pub(super) fn drive(&self) -> &str {
        let share = self.loose().rsplit_once('/').map_or("", |(_, share)| share);
        share
            .strip_suffix('$')
            .or_else(|| self.loose().strip_suffix(':'))
            .filter(|letter| letter.len() == 1)
            .unwrap_or(self.loose())
    }

    pub(super) fn signature(&self) -> Signature {
        let of = |key| Signature::of(key).and(Signature::of_ending(key));
        self.original().map_or(of(&self.loose), |original| of(&self.loose).and(of(original)))
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.exact == other.exact
    }
}

/// The endings of copies, as editors, package managers and people write them.
const COPIES: &[&str] = &[
    "backup", "bak", "bck", "bkp", "copy", "dpkg-bak", "dpkg-old", "old", "orig", "prev",
    "rpmorig", "rpmsave", "save", "saved", "swn", "swo", "swp", "tmp",
];

/// Returns the name that a lower-case name is a copy of, if the name shows it: `id_rsa` for `id_rsa~`,
/// `id_rsa.bak.2` and `#id_rsa#`, and `a.json` for `a (1).json`.
#[must_use]
pub fn copied_from(name: &str) -> Option<Cow<'_, str>> {
    let mut original = None;
    // Copies of copies are followed, up to this bound.
    for _ in 0..4 {
        match without_mark(original.unwrap_or(name)).filter(|shorter| !shorter.is_empty()) {
            Some(shorter) => original = Some(shorter),
            None => break,
        }
    }
    let left = original.unwrap_or(name);
    // File managers put their mark before the ending.
    let before_ending = left.rsplit_once('.').and_then(|(stem, ending)| {
        Some(format!("{}.{ending}", of_file_manager(stem).filter(|stem| !stem.is_empty())?))
    });
    before_ending.map(Cow::Owned).or(original.map(Cow::Borrowed))
}

fn without_mark(name: &str) -> Option<&str> {
    if let Some(inner) = name.strip_prefix('#').and_then(|name| name.strip_suffix('#')) {
        return Some(inner);
    }
    for mark in ["~", "-journal", "-wal", "-shm"] {
        if let Some(original) = name.strip_suffix(mark) {
            return Some(original);
        }
    }
    if let Some(original) = of_file_manager(name).or_else(|| name.strip_prefix(".#")) {
        return Some(original);
    }
    let (original, ending) = name.rsplit_once('.')?;
    let number = ending.strip_prefix('~').unwrap_or(ending);
    (is_number(number) || COPIES.contains(&ending)).then_some(original)
}

/// Removes a trailing ` copy`, ` - copy`, ` (copy)`, ` (2)` and the like.
fn of_file_manager(name: &str) -> Option<&str> {
    let numbered = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    if let Some((original, mark)) = numbered
        && (is_number(mark) || mark == "copy" || mark == "another copy")
    {
        return Some(of_file_manager(original).unwrap_or(original));
    }
    let unnumbered = name.rsplit_once(' ').filter(|(_, number)| is_number(number));
    let name = unnumbered.map_or(name, |(name, _)| name);
    name.strip_suffix(" - copy").or_else(|| name.strip_suffix(" copy"))
}

fn is_number(text: &str) -> bool {
    (1..=3).contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
}

/// Returns the text, on Windows with each character in lower case where that is one character, as its
/// file systems fold one to one. Nothing is normalised: `é` and `e` with a combining accent are two
/// names, and two files.
fn exact(style: PathStyle, text: &str) -> String {
    match style {
        PathStyle::Posix => text.to_owned(),
        PathStyle::Windows => text.chars().map(lower).collect(),
    }
}

/// Returns the exact key of Windows in full case folding and NFC, without the invisible characters that
/// some file systems (HFS+) ignore.
///
/// A deny compares this key on POSIX too: on macOS `~/.SSH` opens `~/.ssh`. It is made from the exact
/// key, so names that are equal for an allow are always equal for a deny.
pub(super) fn loose(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let visible: String = exact(PathStyle::Windows, &nfc(text))
        .chars()
        .filter(|character| !is_ignorable(*character))
        .collect();
    nfc(&nfc(&visible).to_uppercase().to_lowercase()).replace('ς', "σ")
}

fn nfc(text: &str) -> String {
    if is_nfc(text) { text.to_owned() } else { text.nfc().collect() }
}

fn lower(character: char) -> char {
    let mut folded = character.to_lowercase();
    match (folded.next(), folded.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_a_signature_are_those_that_are_set() {
        for set in [0, 1, 1 << 127, 0b1010_0001, u128::MAX] {
            let bits: Vec<_> = Signature(set).bits().collect();
            assert_eq!(bits.len(), set.count_ones() as usize);
            assert_eq!(bits.into_iter().fold(0, |all, bit| all | (1 << bit)), set);
        }
    }

    #[test]
    fn names_that_differ_at_their_end_alone_have_signatures_of_their_own() {
        let of = |n: u32| Signature::of(&format!("folder-{n:02}")).0;
        let seen: std::collections::BTreeSet<u128> = (0..100).map(of).collect();
        assert!(seen.len() > 95, "{} of 100", seen.len());
    }

    #[test]
    fn copies_are_known_by_their_names() {
        for (name, original) in [
            ("id_rsa~", Some("id_rsa")),
            ("id_rsa.~2~", Some("id_rsa")),
            (".netrc.bak.1", Some(".netrc")),
            ("#.env#", Some(".env")),
            (".#.env", Some(".env")),
            ("a.key - copy", Some("a.key")),
            ("a.json - copy (2)", Some("a.json")),
            ("credentials - copy.json", Some("credentials.json")),
            ("credentials (1).json", Some("credentials.json")),
            ("secrets (copy).yml.bak", Some("secrets.yml")),
            ("id_rsa copy 2", Some("id_rsa")),
            ("chapter 2.md", None),
            ("a (draft).md", None),
            ("a.sqlite-wal", Some("a.sqlite")),
            ("a.b.c.d.1.2.3.4.5", Some("a.b.c.d.1")),
            ("a.2026", None),
            ("main.rs", None),
            (".bak", None),
            ("~", None),
            ("##", None),
            ("", None),
        ] {
            assert_eq!(copied_from(name).as_deref(), original, "{name}");
        }
    }

    #[test]
    fn allows_fold_only_on_windows_and_one_to_one() {
        let key = |text| (exact(PathStyle::Posix, text), exact(PathStyle::Windows, text));
        assert_eq!(key("ÀB"), ("ÀB".into(), "àb".into()));
        assert_eq!(key("A\u{300}"), ("A\u{300}".into(), "a\u{300}".into()));
        assert_eq!(key("İ"), ("İ".into(), "İ".into()));
        assert_eq!(key("straße"), ("straße".into(), "straße".into()));
    }

    #[test]
    fn denies_fold_case_and_drop_the_invisible() {
        assert_eq!(loose(".S\u{200c}SH"), ".ssh");
        assert_eq!(loose("STRASSE"), loose("straße"));
        assert_eq!(loose("ΟΔΟΣ"), loose("οδος"));
        assert_eq!(loose("E\u{301}TE\u{301}"), "été");
    }
}
