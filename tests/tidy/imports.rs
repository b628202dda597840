//! Which room of a crate imports which: one direction only, but for the rooms listed here.
//!
//! A room is a file `src/NAME.rs` with its folder `src/NAME/`. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{code_lines, files_ending};

/// Crates with the rooms that import each other. The lists only become shorter.
const CYCLES: &[(&str, &[&str])] = &[
    ("server/src/", &[]),
    ("client/agent/src/", &[]),
    ("client/cli/src/", &[]),
    ("shared/audit/src/", &[]),
    ("shared/catalog/src/", &[]),
    ("shared/commands/src/", &[]),
    ("shared/domain/src/", &[]),
    ("shared/mtls/src/", &[]),
    ("shared/planner/src/", &[]),
    ("shared/policy/src/", &[]),
    ("shared/wire/src/", &[]),
];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The rooms of a crate, each with those that it imports.
fn imports(source: &str) -> Graph {
    let mut graph = Graph::new();
    for file in files_ending(".rs") {
        let Some(path) = file.path.strip_prefix(source) else { continue };
        if path.ends_with("tests.rs") || path.contains("tests/") {
            continue;
        }
        let room = path.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        let imported = graph.entry(room.clone()).or_default();
        let code = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (_, line) in code_lines(code) {
            for part in line.split("crate::").skip(1) {
                let end =
                    part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
                imported.insert(part[..end].to_owned());
            }
        }
        imported.remove(&room);
    }
    let rooms: BTreeSet<String> = graph.keys().cloned().collect();
    for imported in graph.values_mut() {
        imported.retain(|name| rooms.contains(name));
    }
    graph
}

/// Whether a room is imported by a room that it imports, directly or through others.
fn is_in_cycle(graph: &Graph, room: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut left: Vec<&str> = graph[room].iter().map(String::as_str).collect();
    while let Some(next) = left.pop() {
        if next == room {
            return true;
        }
        if seen.insert(next) {
            left.extend(graph[next].iter().map(String::as_str));
        }
    }
    false
}

#[test]
fn rooms_import_each_other_in_one_direction() {
    for (source, expected) in CYCLES {
        let graph = imports(source);
        assert!(!graph.is_empty(), "{source} has no files");
        let found: Vec<_> = graph.keys().filter(|room| is_in_cycle(&graph, room)).collect();
        assert_eq!(found, *expected, "{source} imports {graph:#?}");
    }
}

#[test]
fn a_cycle_through_other_rooms_is_found() {
    let edge = |from: &str, to: &str| (from.to_owned(), BTreeSet::from([to.to_owned()]));
    let graph = Graph::from([edge("a", "b"), edge("b", "c"), edge("c", "b")]);
    let found: Vec<_> = graph.keys().filter(|room| is_in_cycle(&graph, room)).collect();
    assert_eq!(found, ["b", "c"]);
}
