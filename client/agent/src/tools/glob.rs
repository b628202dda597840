//! Globs over names, as people write them.

use globset::{GlobBuilder, GlobMatcher};
use orion_domain::{PathStyle, ToolError};
use unicode_normalization::UnicodeNormalization;

use super::invalid;

const MAX_BYTES: usize = 512;

/// A pattern for names; with a slash in it, for paths below the start.
#[derive(Debug)]
pub(super) struct Pattern {
    matcher: GlobMatcher,
    whole_path: bool,
}

impl Pattern {
    /// Reads a pattern. Case counts where the device's file systems let it count.
    pub(super) fn parse(text: &str, style: PathStyle) -> Result<Self, ToolError> {
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(invalid(format!(
                "A pattern has 1 to {MAX_BYTES} bytes; write a glob such as *.pdf."
            )));
        }
        let windows = style == PathStyle::Windows;
        let text = if windows { text.replace('\\', "/") } else { text.to_owned() };
        let text: String = text.nfc().collect();
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .case_insensitive(windows)
            .backslash_escape(!windows)
            .build()
            .map_err(|error| {
                invalid(format!(
                    "`{}` is not a glob: {}. Write one such as *.pdf or report-??.txt.",
                    text.chars().take(64).collect::<String>(),
                    error.kind()
                ))
            })?;
        Ok(Self { matcher: glob.compile_matcher(), whole_path: text.contains('/') })
    }

    /// Whether the pattern fits something at these names below the start.
    pub(super) fn fits(&self, below: &[String]) -> bool {
        let text = if self.whole_path {
            below.join("/")
        } else {
            below.last().cloned().unwrap_or_default()
        };
        self.matcher.is_match(text.nfc().collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, style: PathStyle, below: &[&str]) -> bool {
        let below: Vec<_> = below.iter().map(|&name| name.to_owned()).collect();
        Pattern::parse(pattern, style).unwrap().fits(&below)
    }

    #[test]
    fn a_pattern_is_for_the_name_and_with_a_slash_for_the_path() {
        assert!(fits("*.pdf", PathStyle::Posix, &["a", "b.pdf"]));
        assert!(!fits("*.pdf", PathStyle::Posix, &["a.pdf", "b"]));
        assert!(fits("a/*.pdf", PathStyle::Posix, &["a", "b.pdf"]));
        assert!(!fits("a/*.pdf", PathStyle::Posix, &["x", "a", "b.pdf"]));
        assert!(fits("**/a/*.pdf", PathStyle::Posix, &["x", "a", "b.pdf"]));
    }

    #[test]
    fn case_counts_on_posix_alone_and_accents_match_however_they_are_written() {
        assert!(!fits("*.PDF", PathStyle::Posix, &["b.pdf"]));
        assert!(fits("*.PDF", PathStyle::Windows, &["b.pdf"]));
        assert!(fits(r"a\*.pdf", PathStyle::Windows, &["a", "b.pdf"]));
        assert!(fits("caf\u{e9}*", PathStyle::Posix, &["cafe\u{301}.txt"]));
        assert!(fits("cafe\u{301}*", PathStyle::Posix, &["caf\u{e9}.txt"]));
    }

    #[test]
    fn what_is_no_glob_is_an_invalid_argument() {
        for text in ["", "[", "{a,b", &"*".repeat(513)] {
            let error = Pattern::parse(text, PathStyle::Posix).unwrap_err();
            assert_eq!(error.code, orion_domain::ErrorCode::InvalidArgument, "{text}");
        }
    }
}
