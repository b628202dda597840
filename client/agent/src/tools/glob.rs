//! Matches names against globs, as people write them.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use orion_domain::{PathStyle, ToolError};
use unicode_normalization::UnicodeNormalization;

use super::invalid;

const MAX_BYTES: usize = 512;

/// A pattern for names, or for paths below the start if it contains a slash.
#[derive(Debug)]
pub(super) struct Pattern {
    /// A set of one glob, because sets have fast paths for simple patterns such as *.pdf.
    matcher: GlobSet,
    whole_path: bool,
    /// Whether the pattern matches everything.
    any: bool,
}

impl Pattern {
    /// Parses a pattern. Case-sensitive where the device's file systems usually are.
    pub(super) fn parse(text: &str, style: PathStyle) -> Result<Self, ToolError> {
        if text.is_empty() || text.len() > MAX_BYTES {
            return Err(invalid(format!(
                "A pattern has 1 to {MAX_BYTES} bytes; write a glob such as *.pdf."
            )));
        }
        let windows = style == PathStyle::Windows;
        let text = if windows { text.replace('\\', "/") } else { text.to_owned() };
        let text: String = text.nfc().collect();
        let whole_path = text.contains('/');
        let glob = GlobBuilder::new(&text)
            // A name contains no separator, and matching is faster without the check for one.
            .literal_separator(whole_path)
            .case_insensitive(windows)
            .backslash_escape(!windows)
            .build()
            .and_then(|glob| GlobSetBuilder::new().add(glob).build())
            .map_err(|error| {
                invalid(format!(
                    "`{}` is not a glob: {}. Write one such as *.pdf or report-??.txt.",
                    text.chars().take(64).collect::<String>(),
                    error.kind()
                ))
            })?;
        Ok(Self { matcher: glob, whole_path, any: text == "*" })
    }

    /// Returns whether the pattern may match an entry of this name.
    pub(super) fn may_fit(&self, name: &str) -> bool {
        self.any || self.whole_path || self.matcher.is_match(&*normal(name))
    }

    /// Returns whether the pattern matches the path of these names below the start.
    pub(super) fn fits<'n>(&self, below: impl IntoIterator<Item = &'n str>) -> bool {
        let names = below.into_iter();
        if self.whole_path {
            let path = names.collect::<Vec<_>>().join("/");
            return self.matcher.is_match(&*normal(&path));
        }
        names.last().is_some_and(|name| self.may_fit(name))
    }
}

/// Normalises accents, so that different spellings of a name are equal.
pub(super) fn normal(name: &str) -> Cow<'_, str> {
    if name.is_ascii() { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// Normalises accents and case, for lookups by people.
pub(super) fn folded(name: &str) -> String {
    normal(name).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, style: PathStyle, below: &[&str]) -> bool {
        Pattern::parse(pattern, style).unwrap().fits(below.iter().copied())
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
