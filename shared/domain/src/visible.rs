//! Makes untrusted text safe to show: paths, names, messages of models and devices. The result cannot
//! end a line, move a cursor, change the direction of reading, or hide text.

use std::borrow::Cow;

/// The replacement for a character that is not shown.
pub const REPLACEMENT: char = '\u{fffd}';

/// Returns whether a character is a control or has no visible form: controls, line ends, bidirectional
/// marks, and what has no width (Unicode's `Default_Ignorable_Code_Point` but for the variation
/// selectors, which follow visible characters).
#[must_use]
pub const fn is_hidden(c: char) -> bool {
    c.is_ascii_control()
        || matches!(c,
            '\u{80}'..='\u{9f}'
            | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e00ff}'
            | '\u{e01f0}'..='\u{e0fff}')
}

/// Returns a character as shown in one line: line ends and tabs as their pictures, and [`REPLACEMENT`]
/// for other hidden characters.
#[must_use]
pub const fn visible_char(c: char) -> char {
    match c {
        '\t' => '\u{2409}',
        '\n' => '\u{240a}',
        '\r' => '\u{240d}',
        c if is_hidden(c) => REPLACEMENT,
        c => c,
    }
}

/// Returns the text as one line in which nothing is hidden.
#[must_use]
pub fn visible(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

/// Returns the first characters of the text that are not hidden, at most `max_chars`.
#[must_use]
pub fn strip_hidden(text: &str, max_chars: usize) -> String {
    text.chars().filter(|c| !is_hidden(*c)).take(max_chars).collect()
}

/// Writes out the characters that `is_unseen` names, as `\u{202e}`. A text that has such an escape itself differs from
/// it.
#[must_use]
pub fn written_out(text: &str, is_unseen: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_code = |(at, c): (usize, char)| {
        let is_escape = c == '\\' && text.get(at + 1..).is_some_and(|rest| rest.starts_with("u{"));
        is_escape || is_unseen(c)
    };
    if !text.char_indices().any(is_code) {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if is_code((at, c)) {
            written.extend(c.escape_unicode());
        } else {
            written.push(c);
        }
    }
    Cow::Owned(written)
}

/// Returns whether nothing of the text is visible: it is empty, spaces, or hidden.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    // The Braille pattern without dots is not white space, and looks like it.
    text.chars().all(|c| c.is_whitespace() || is_hidden(c) || c == '\u{2800}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_line_turns_it_round_or_hides() {
        for (hidden, shown) in [
            ("a\nb", "a\u{240a}b"),
            ("a\r\tb", "a\u{240d}\u{2409}b"),
            ("a\u{1b}[2Jb\u{7f}", "a\u{fffd}[2Jb\u{fffd}"),
            ("a\u{85}b\u{9b}2J", "a\u{fffd}b\u{fffd}2J"),
            ("a\u{2028}b\u{2029}c", "a\u{fffd}b\u{fffd}c"),
            ("a\u{202e}b\u{2066}c\u{61c}", "a\u{fffd}b\u{fffd}c\u{fffd}"),
            ("a\u{200b}b\u{feff}c\u{ad}\u{e0041}", "a\u{fffd}b\u{fffd}c\u{fffd}\u{fffd}"),
            ("/home/ann/Äpfel 日本 \u{2764}\u{fe0f}", "/home/ann/Äpfel 日本 \u{2764}\u{fe0f}"),
        ] {
            assert_eq!(visible(hidden), shown, "{hidden:?}");
        }
        assert!(!('\u{0}'..=char::MAX).any(|c| c.is_control() && !is_hidden(c)));
    }

    #[test]
    fn hidden_characters_are_left_out_and_do_not_count() {
        assert_eq!(strip_hidden("a\n\u{1b}[2J\u{202e}b\u{200b}c", 10), "a[2Jbc");
        assert_eq!(strip_hidden("\u{7f}äbc", 2), "äb");
    }

    #[test]
    fn what_nobody_sees_is_blank() {
        for blank in ["", " \t", "\u{200b}", "\u{2800}\u{3164}", "\u{ad} \u{e0041}"] {
            assert!(is_blank(blank), "{blank:?}");
        }
        assert!(!is_blank("\u{200b}no") && !is_blank("é"));
    }
}
