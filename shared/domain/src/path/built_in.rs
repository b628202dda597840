//! The built-in deny entries of every device: three tables, each entry with the reference that documents
//! it.
//!
//! Nearly all apply in every folder. So they protect each person of a device, do not need a known home
//! folder, and cover copies and links anywhere.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::PathStyle;

/// Why an entry is in a table, and what lifts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BuiltInKind {
    /// Orion's own state and configuration. Nothing lifts the entry.
    OwnState,
    /// Keys, passwords, tokens, sessions. A grant that names the file itself lifts the entry for that
    /// file.
    Secret,
    /// A file that starts programs; reading is allowed. A grant that names it, or a folder of it, lifts
    /// the entry there.
    StartPlace,
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// The pattern, in the syntax of policies.
    pub pattern: &'static str,
    /// Names that its wildcards do not match, separated by spaces.
    pub but: &'static str,
    /// Why the entry is in the table.
    pub kind: BuiltInKind,
    /// The program that owns the file.
    pub program: &'static str,
    /// The reference that documents the file.
    pub source: &'static str,
}

const TABLES: [(BuiltInKind, &str); 3] = [
    (BuiltInKind::OwnState, include_str!("own_state.txt")),
    (BuiltInKind::Secret, include_str!("secrets.txt")),
    (BuiltInKind::StartPlace, include_str!("start_places.txt")),
];

/// Returns the entries for a device of this style, which apply before any policy.
pub fn built_in(style: PathStyle) -> &'static [BuiltIn] {
    static POSIX: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| read(PathStyle::Posix));
    static WINDOWS: LazyLock<Vec<BuiltIn>> = LazyLock::new(|| read(PathStyle::Windows));
    match style {
        PathStyle::Posix => &POSIX,
        PathStyle::Windows => &WINDOWS,
    }
}

fn read(style: PathStyle) -> Vec<BuiltIn> {
    let mut entries = Vec::new();
    for (kind, table) in TABLES {
        let (mut program, mut source) = ("", "");
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some((named, reference)) =
                line.strip_prefix('[').and_then(|line| line.split_once("] "))
            {
                (program, source) = (named, reference);
            } else if let Some(pattern) = pattern(line, style) {
                let (pattern, but) = pattern.split_once(" but ").unwrap_or((pattern, ""));
                entries.push(BuiltIn { pattern, but, kind, program, source });
            }
        }
    }
    entries
}

/// Returns the pattern of a line, where it is for this style.
fn pattern(line: &str, style: PathStyle) -> Option<&str> {
    match (line.strip_prefix("posix "), line.strip_prefix("windows ")) {
        (Some(pattern), _) => (style == PathStyle::Posix).then_some(pattern),
        (_, Some(pattern)) => (style == PathStyle::Windows).then_some(pattern),
        (None, None) => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::path::{PathPattern, Places};

    #[test]
    fn every_line_is_a_pattern_with_a_program_and_a_source_and_stands_there_once() {
        for style in [PathStyle::Posix, PathStyle::Windows] {
            let bare = Places::bare(style);
            let mut seen = BTreeSet::new();
            for entry in built_in(style) {
                let BuiltIn { pattern, but, kind, program, source } = *entry;
                assert!(PathPattern::parse(&bare, pattern).is_ok(), "{pattern}");
                assert!(but.is_empty() || pattern.contains('*'), "{pattern}");
                assert!(!program.is_empty(), "{pattern}");
                let is_ours = kind == BuiltInKind::OwnState && source.starts_with("docs/");
                assert!(source.starts_with("https://") || is_ours, "{pattern}");
                assert!(seen.insert((kind as u8, pattern)), "{pattern} is there twice");
            }
        }
    }

    #[test]
    fn the_tables_are_as_large_as_they_have_to_be() {
        let count = |style, kind| built_in(style).iter().filter(|it| it.kind == kind).count();
        for style in [PathStyle::Posix, PathStyle::Windows] {
            assert!(count(style, BuiltInKind::Secret) >= 200, "{style:?}");
            assert!(count(style, BuiltInKind::StartPlace) >= 3 * 56, "{style:?}");
        }
    }
}
