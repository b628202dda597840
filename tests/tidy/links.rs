//! Links in documents resolve, and the tests that documents name exist.

use std::fs;

use crate::markdown::Page;
use crate::tree::{files_ending, read, root};

fn pages() -> impl Iterator<Item = (crate::tree::SourceFile, Page)> {
    files_ending(".md").into_iter().map(|file| {
        let page = Page { path: file.path.clone(), text: file.text.clone() };
        (file, page)
    })
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    for (file, page) in pages() {
        for (_, target) in page.links() {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let whole =
                if path.is_empty() { root().join(&file.path) } else { file.folder().join(path) };
            if !whole.exists() {
                dead.push(format!("{}: {target}", file.path));
            } else if !anchor.is_empty() {
                let text = fs::read_to_string(&whole).unwrap_or_default();
                let there = Page { path: target.clone(), text };
                if !there.anchors().iter().any(|known| known == anchor) {
                    dead.push(format!("{}: {target} has no such heading", file.path));
                }
            }
        }
    }
    assert_eq!(dead, Vec::<String>::new());
}

#[test]
fn every_test_that_a_document_names_is_there() {
    let mut missing = Vec::new();
    let mut found = 0;
    for (file, page) in pages() {
        for (text, target) in page.links() {
            let Some(name) = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) else {
                continue;
            };
            let is_name = name.contains('_')
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            if !is_name || !target.ends_with(".rs") {
                continue;
            }
            let source = fs::read_to_string(file.folder().join(&target)).unwrap_or_default();
            if source.contains(&format!("fn {name}(")) {
                found += 1;
            } else {
                missing.push(format!("{}: `{name}` is not in {target}", file.path));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(found > 20, "only {found} tests are named; are links still written the same way?");
}

#[test]
fn every_invariant_names_what_holds_it() {
    let page = Page::read("docs/ARCHITECTURE.md");
    let rows = page.section("Invariants").rows();
    assert!(rows.len() > 10, "only {} invariants", rows.len());
    for row in rows {
        let [invariant, held_by] = &row[..] else { panic!("a row of two cells: {row:?}") };
        assert!(held_by.contains("]("), "`{invariant}` names nothing that holds it");
    }
}

#[test]
fn every_decision_says_what_it_is_not_for() {
    let records = files_ending(".md").into_iter().filter(|f| f.path.starts_with("docs/adr/0"));
    let index = read("docs/adr/README.md");
    for record in records {
        for heading in ["## Context", "## Decision", "## Consequences", "## Non-goals"] {
            assert!(record.text.contains(heading), "{} has no {heading}", record.path);
        }
        let name = record.path.rsplit('/').next().unwrap();
        assert!(index.contains(name), "docs/adr/README.md does not list {name}");
    }
}
