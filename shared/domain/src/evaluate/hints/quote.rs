//! Writes what a call names into commands and files.

/// Writes a text for a shell, as a person would paste it: a call chose the text, and no part of it may run. What
/// single quotes do not hold in every shell is left to the person, by its name.
pub(super) fn for_shell(text: &str, name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._:-".contains(c);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        text.to_owned()
    } else if text.is_empty() || text.ends_with('\\') || text.chars().any(ends_quotes) {
        name.to_owned()
    } else {
        format!("'{text}'")
    }
}

/// Returns whether a character may end single quotes, or means something within them: PowerShell takes typographic
/// quotes too, and to the shell of Windows single quotes are letters.
fn ends_quotes(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\'' | '\u{2018}'..='\u{201b}' | '&' | '|' | '<' | '>' | '^' | '%' | '!' | '"'
        )
}

/// Quotes text so that both YAML and TOML read it back.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
