//! What is kept out on every device from the start: three tables of data, each entry with the
//! reference that says what is there.
//!
//! Nearly all hold in every folder, so that they protect each person of a device, need no home folder
//! to be known, and hold for a copy or a link that lies anywhere.

use std::sync::LazyLock;

use super::PathStyle;

/// Why an entry is in a table, and what lifts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BuiltInKind {
    /// Orion's own state and configuration. Nothing lifts it.
    OwnState,
    /// Keys, passwords, tokens, sessions. A grant that names the file itself lifts it for that file.
    Secret,
    /// It starts programs, and may be read. A grant that names it, or a folder of it, lifts it there.
    StartPlace,
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// The pattern, as policies write them.
    pub pattern: &'static str,
    /// Names that its wildcards do not mean, with spaces between them.
    pub but: &'static str,
    /// Why it is there.
    pub kind: BuiltInKind,
    /// Whose file it is.
    pub program: &'static str,
    /// Where that is written.
    pub source: &'static str,
}

const TABLES: [(BuiltInKind, &str); 3] = [
    (BuiltInKind::OwnState, include_str!("own_state.txt")),
    (BuiltInKind::Secret, include_str!("secrets.txt")),
    (BuiltInKind::StartPlace, include_str!("start_places.txt")),
];

/// The entries that hold on a device of this style, ahead of any policy.
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

/// The pattern of a line, where it is for this style.
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
            let bare = Places { style, workspace: None, home: None };
            let mut seen = BTreeSet::new();
            for entry in built_in(style) {
                let BuiltIn { pattern, but, kind, program, source } = *entry;
                assert!(PathPattern::parse(&bare, pattern).is_ok(), "{pattern}");
                assert!(but.is_empty() || pattern.contains('*'), "{pattern}");
                assert!(!program.is_empty(), "{pattern}");
                let is_ours = kind == BuiltInKind::OwnState && source.starts_with("docs/");
                assert!(source.starts_with("https://") || is_ours, "{pattern}");
                assert!(seen.insert((kind as u8, pattern)), "{pattern} stands there twice");
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
