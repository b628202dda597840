//! Normalises output for snapshots: it removes what differs from run to run.

use std::path::Path;

/// Replaces folders, ids, hashes and times in a text.
#[derive(Debug, Default)]
pub struct Seen {
    replaced: Vec<(String, &'static str)>,
}

impl Seen {
    /// Also replaces this folder, by the given word.
    #[must_use]
    pub fn folder(mut self, folder: &Path, word: &'static str) -> Self {
        self.replaced.push((folder.to_string_lossy().into_owned(), word));
        self
    }

    /// Returns the text with all replacements.
    #[must_use]
    pub fn in_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.replaced {
            text = text.replace(from, to);
        }
        words(&text)
    }
}

/// Replaces runs of letters, digits, dashes and colons, the characters of ids, hashes and times.
fn words(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut word = String::new();
    let digit = |c: char| c.is_ascii_digit();
    for letter in text.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | ':') {
            word.push(letter);
            continue;
        }
        let number = shown.strip_suffix(' ').map(|text| text.trim_end_matches(digit).len());
        if let ("ms", Some(from)) = (word.as_str(), number)
            && from + 1 < shown.len()
        {
            shown.truncate(from);
            shown.push_str("[n] ");
        }
        let bare = word.trim_end_matches(':');
        match shape(bare) {
            Some(kind) => {
                shown.push_str(kind);
                shown.push_str(&word[bare.len()..]);
            }
            None => shown.push_str(&word),
        }
        shown.push(letter);
        word.clear();
    }
    shown.pop();
    shown
}

fn shape(word: &str) -> Option<&'static str> {
    let is_hex = word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    let is_number = word.bytes().all(|b| b.is_ascii_digit());
    let is_split_by = |parts: &[usize], by: char| {
        let lengths: Vec<_> = word.split(by).map(str::len).collect();
        lengths == parts && word.chars().all(|c| c.is_ascii_digit() || c == by)
    };
    if word.parse::<uuid::Uuid>().is_ok() && word.len() == 36 {
        Some("[id]")
    } else if is_split_by(&[4, 2, 2], '-') {
        Some("[date]")
    } else if is_split_by(&[2, 2, 2], ':') || (is_number && word.len() == 13) {
        Some("[time]")
    } else if is_hex && matches!(word.len(), 12 | 16 | 64) {
        Some("[hash]")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_taken_out() {
        let text = "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e: at 1795228844123 in /tmp/x/files (12 ms), \
            until 2026-11-21 03:18:34, head: 0123456789ab, took 3 ms, exit 5";
        assert_eq!(
            Seen::default().folder(Path::new("/tmp/x"), "[world]").in_text(text),
            "[id]: at [time] in [world]/files ([n] ms), until [date] [time], head: [hash], \
             took [n] ms, exit 5"
        );
    }
}
