//! What can be the name of a profile or a rule, and the key or value of a label.

/// What a name may be, for people.
pub(crate) const NAMES: &str =
    "Use 1 to 63 lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or digit.";

/// Returns whether a text can be the name of a profile, a label or a rule.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().next().is_some_and(plain)
        && text.bytes().all(|b| plain(b) || b"-_.".contains(&b))
}
