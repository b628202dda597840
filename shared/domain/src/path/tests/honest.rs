//! Odd but legal names, all of which must be accepted unchanged.

use super::*;

/// Names that are legal on both platforms.
const EVERYWHERE: &[&str] = &[
    "..test",
    "te..st",
    "..a..b",
    "...test",
    ".hidden",
    ".a.b.c",
    "a..b..c",
    "%2e%2e",
    "%2e%2e%2f",
    "%252e%252e",
    "%c0%ae%c0%ae",
    "%00",
    "%20",
    "100%",
    "a b",
    " leading",
    "two  spaces",
    "a,b;c",
    "a'b",
    "a&b",
    "a=b",
    "a+b",
    "a@b",
    "#1",
    "#",
    "!",
    "$",
    "$5",
    "$RECYCLE.BIN",
    "(copy)",
    "[x]",
    "{FILE}",
    "a^b",
    "`x`",
    "~x~y.txt",
    "~$draft.docx",
    "file~",
    "report~1.docx",
    "long-name~1",
    "DOCUME~10",
    "a~1.b.c",
    "a~b",
    "-rf",
    "--help",
    "-",
    "_",
    "null",
    "NULL",
    "nul1",
    "console",
    "CONTRACT.md",
    "con-text",
    "auxiliary",
    "COM",
    "COM10",
    "LPT12",
    "COMA",
    "prn2.txt",
    "Test",
    "ünïcödé",
    "cafe\u{301}",
    "caf\u{e9}",
    "日本語",
    "файл.txt",
    "عربي",
    "😀.png",
    "👩\u{200d}💻",
    "\u{2024}\u{2024}",
    "\u{ff0e}\u{ff0e}",
    "a\u{2215}b",
    "a\u{ff3c}b",
    "x\u{a0}y",
    "İstanbul",
    "straße",
    "0x2e0x2e",
    "boot.ini",
    "etc",
    "passwd",
    "home",
    "readme.TXT",
    "a.tar.gz",
    "1.2.3",
    "2024-01-01T10.00",
    "node_modules",
    "C",
];

/// Names that are legal on POSIX only.
const POSIX_ONLY: &[&str] = &[
    "...",
    "....",
    "ends.",
    "ends ",
    " ",
    ". .",
    "a:b",
    "12:30",
    "a|b",
    "a\"b",
    "a<b>",
    "why?",
    "*",
    "back\\slash",
    "..\\..\\x",
    "\\",
    "C:",
    "C:\\x",
    "NUL",
    "con",
    "aux.c",
    "COM1",
    "PROGRA~1",
    "line\nbreak",
    "tab\there",
    "\u{1b}[0m",
    "a\u{7f}",
];

fn accepted(style: PathStyle, names: &[&str]) {
    let root = places(style).workspace.unwrap_or_else(|| unreachable!());
    for name in names {
        let resolved = ok(DevicePath::resolve(&places(style), name));
        assert_eq!(resolved.relative_to(&root), Some(vec![*name]));
        assert_eq!(root.join(name), Ok(resolved.clone()));
        assert_eq!(path(style, &format!("{root}/{name}/x")).parent(), Some(resolved));
    }
}

#[test]
fn odd_names_are_kept_on_posix() {
    assert!(EVERYWHERE.len() >= 60);
    accepted(PathStyle::Posix, EVERYWHERE);
    accepted(PathStyle::Posix, POSIX_ONLY);
}

#[test]
fn odd_names_are_kept_on_windows() {
    accepted(PathStyle::Windows, EVERYWHERE);
}

#[test]
fn long_names_and_deep_trees_are_kept() {
    let long = ["n".repeat(255), "é".repeat(127), "日".repeat(85)];
    let names: Vec<&str> = long.iter().map(String::as_str).collect();
    accepted(PathStyle::Posix, &names);
    accepted(PathStyle::Windows, &names);
    accepted(PathStyle::Windows, &["日".repeat(255).as_str()]);
    let deep = "d/".repeat(1000);
    for style in [PathStyle::Posix, PathStyle::Windows] {
        let root = places(style).workspace.unwrap_or_else(|| unreachable!());
        let resolved = ok(DevicePath::resolve(&places(style), &deep));
        assert_eq!(resolved.relative_to(&root), Some(vec!["d"; 1000]));
    }
}
