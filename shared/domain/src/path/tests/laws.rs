//! Laws that are true for every path.

use proptest::prelude::*;

use super::super::name::{Name, Signature};
use super::*;

fn style() -> impl Strategy<Value = PathStyle> {
    prop_oneof![Just(PathStyle::Posix), Just(PathStyle::Windows)]
}

/// Pieces with a meaning for some rule, and arbitrary text.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            ".", "..", "...", "", "a", "A", "b", "é", "e\u{301}", "É", "~", "..a", "%2e%2e", "nul", "a:b", "PROGRA~1", "a.", "C:", "?",
            "İ", "ß", "ẞ", "Σ", "ς", "*", "\u{200c}", "K"
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,6}",
        1 => any::<String>(),
    ]
}

fn soup() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "",
        "/",
        "\\",
        "//",
        "C:/",
        "c:\\",
        "C:",
        "//s/h/",
        "\\\\?\\",
        "~/",
        "/srv/root/",
    ]);
    let separator = prop::sample::select(vec!["/", "\\", "//"]);
    (start, prop::collection::vec((piece(), separator), 0..8)).prop_map(|(start, pieces)| {
        let rest: String = pieces
            .into_iter()
            .flat_map(|(piece, separator)| [piece, separator.to_owned()])
            .collect();
        format!("{start}{rest}")
    })
}

/// A path of the few names `a`, `A`, `b`, so that one is often inside another.
fn near(style: PathStyle) -> impl Strategy<Value = DevicePath> {
    prop::collection::vec(prop::sample::select(vec!["a", "A", "b", "é", "e\u{301}"]), 0..4)
        .prop_map(move |names| {
            let root = if style == PathStyle::Posix { "/" } else { "C:/" };
            path(style, &format!("{root}{}", names.join("/")))
        })
}

/// Resolves `..` in the simplest way: a stack of names, or `None` when it runs empty.
fn reference(text: &str) -> Option<Vec<&str>> {
    text.split('/').try_fold(Vec::new(), |mut stack, name| {
        match name {
            "" | "." => {}
            ".." => {
                stack.pop()?;
            }
            name => stack.push(name),
        }
        Some(stack)
    })
}

/// One component, often equal for one comparison and not for another, optionally with wildcards.
fn component(wildcards: &'static str) -> impl Strategy<Value = String> {
    let letters = "aAé.\u{301}K\u{212a}ßẞςΣİ\u{200c}".chars().chain(wildcards.chars());
    let letter = prop::sample::select(letters.collect::<Vec<_>>());
    prop::collection::vec(letter, 1..5).prop_map(|letters| letters.into_iter().collect())
}

/// An entry of a list and a path that may match it.
fn entry_and_path(style: PathStyle) -> impl Strategy<Value = (PathPattern, DevicePath)> {
    let root = if style == PathStyle::Posix { "/" } else { "C:/" };
    let start = prop::sample::select(vec!["**/", root]);
    let entry = (start, prop::collection::vec(component("**?"), 1..4));
    let names = prop::collection::vec(component(""), 0..4);
    (entry, names).prop_filter_map("no entry and path", move |((start, entry), names)| {
        let entry = PathPattern::parse(&places(style), &format!("{start}{}", entry.join("/")));
        let path = DevicePath::parse(style, &format!("{root}{}", names.join("/")));
        Some((entry.ok()?, path.ok()?))
    })
}

proptest! {
    #[test]
    fn a_first_look_passes_over_nothing_that_fits(
        (entry, path) in style().prop_flat_map(entry_and_path)
    ) {
        let mut plain = entry.clone();
        plain.signature = Signature::default();
        prop_assert_eq!(entry.matches(&path), plain.matches(&path));
        prop_assert_eq!(entry.denies(&path), plain.denies(&path));
    }

    #[test]
    fn a_first_look_passes_over_nothing_that_is_inside(
        (outer, inner) in style().prop_flat_map(|style| (near(style), near(style)))
    ) {
        prop_assert_eq!(outer.contains(&inner), outer.is_above(&inner));
        prop_assert_eq!(outer.may_contain(&inner), outer.may_be_above(&inner));
    }

    #[test]
    fn what_is_read_is_normal_and_reads_back_the_same(style in style(), text in soup()) {
        if let Ok(path) = DevicePath::resolve(&places(style), &text) {
            let written = path.to_string();
            prop_assert_eq!(DevicePath::parse(style, &written), Ok(path.clone()));
            prop_assert_eq!(DevicePath::resolve(&places(style), &written), Ok(path.clone()));
            for name in path.components() {
                prop_assert!(!matches!(name, "" | "." | "..") && !name.contains(['/', '\0']));
                prop_assert!(style == PathStyle::Posix || !name.contains(['\\', ':']));
            }
            prop_assert!(text.len() < 4000);
        }
    }

    #[test]
    fn posix_parents_agree_with_a_plain_stack(names in prop::collection::vec(prop::sample::select(vec!["..", ".", "", "a", "b", "..."]), 0..12)) {
        let text = format!("/{}", names.join("/"));
        let read = DevicePath::parse(PathStyle::Posix, &text);
        let found = read.as_ref().map(|path| path.components().collect::<Vec<_>>());
        prop_assert_eq!(found, reference(&text).ok_or(&PathError::EscapesRoot));
    }

    #[test]
    fn containment_is_reflexive_transitive_and_agrees_with_relative_to(
        (a, b, c) in style().prop_flat_map(|style| (near(style), near(style), near(style)))
    ) {
        prop_assert!(a.contains(&a));
        prop_assert!(!(a.contains(&b) && b.contains(&c)) || a.contains(&c));
        prop_assert_eq!(a.contains(&b), b.relative_to(&a).is_some());
        if let Some(parent) = a.parent() {
            prop_assert!(parent.contains(&a) && !a.contains(&parent));
        }
    }

    #[test]
    fn join_never_leaves_its_folder(style in style(), name in prop_oneof![piece(), soup()]) {
        let folder = places(style).workspace.unwrap_or_else(|| unreachable!());
        if let Ok(joined) = folder.join(&name) {
            prop_assert_eq!(joined.parent(), Some(folder.clone()));
            prop_assert_eq!(joined.relative_to(&folder), Some(vec![name.as_str()]));
            prop_assert_eq!(path(style, &joined.to_string()), joined);
        }
    }

    #[test]
    fn what_is_alike_for_an_allow_is_alike_for_a_deny(style in style(), a in piece(), b in piece()) {
        let (a, b) = (Name::new(style, &a), Name::new(style, &b));
        prop_assert!(!a.is(&b) || a.loose() == b.loose());
    }

    #[test]
    fn an_entry_without_wildcards_is_its_folder(
        (entry, at) in style().prop_flat_map(|style| (near(style), near(style)))
    ) {
        let pattern = pattern(entry.style(), &entry.to_string());
        prop_assert_eq!(pattern.matches(&at), entry.contains(&at));
        prop_assert!(!pattern.matches(&at) || pattern.denies(&at));
    }

    #[test]
    fn a_pattern_never_panics_and_allows_no_more_than_it_matches(style in style(), text in soup(), at in soup()) {
        if let (Ok(pattern), Ok(at)) = (PathPattern::parse(&places(style), &text), DevicePath::resolve(&places(style), &at)) {
            prop_assert!(!pattern.allows(&at) || pattern.matches(&at));
            prop_assert!(!pattern.matches(&at) || pattern.denies(&at));
        }
    }
}
