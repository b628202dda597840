//! A command as one line, as Windows takes it apart again.

/// Returns the words as one line, each in quotes. None if a word cannot be written so.
pub(super) fn joined<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let quoted: Option<Vec<_>> = words.into_iter().map(quoted).collect();
    Some(quoted?.join(" "))
}

/// Paths of Windows have no quotes. Backslashes before the closing quote count twice.
fn quoted(word: &str) -> Option<String> {
    if word.chars().any(|c| c.is_control() || c == '"') {
        return None;
    }
    let at_the_end = word.len() - word.trim_end_matches('\\').len();
    Some(format!("\"{word}{}\"", "\\".repeat(at_the_end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one_word() {
        let words = [r"C:\Program Files\Orion\orion-agent.exe", "run", r"C:\a b\", ""];
        let line = r#""C:\Program Files\Orion\orion-agent.exe" "run" "C:\a b\\" """#;
        assert_eq!(joined(words).as_deref(), Some(line));
    }

    #[test]
    fn what_would_end_the_word_is_refused() {
        for bad in [r#"C:\a" run"#, "C:\\a\n", "\0"] {
            assert_eq!(joined(["run", bad]), None, "{bad:?}");
        }
    }
}
