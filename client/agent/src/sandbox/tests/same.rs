//! Landlock does not disturb calls that stay inside their grants.

use std::collections::BTreeSet;

use orion_domain::ErrorCode;
use serde_json::Value;

use super::escapes::{calls, file_tools, ground};
use super::ground::{Ground, Layers};

const HONEST: &[&str] = &[
    ".",
    "note.txt",
    "sub",
    "sub/note.txt",
    "new",
    "new/deep",
    "hard.txt",
    "fifo",
    "inside",
    "inside-file",
    "up",
    "file",
    "{}/shared",
    "{}/shared/note.txt",
    "{}/drop/note.txt",
    "{}/drop/new",
    "{}/files/sub",
];

/// Returns how a call ends, and what is there afterwards, by name.
fn ends(
    layers: Layers,
    tool: &str,
    arguments: &Value,
    dry_run: bool,
) -> (Option<ErrorCode>, BTreeSet<String>) {
    let ground = with_links();
    let text = arguments.to_string().replace("{}", ground.text("").trim_end_matches('/'));
    let arguments = serde_json::from_str(&text).unwrap();
    let result = ground.call(layers, tool, arguments, dry_run);
    let top = ground.text("");
    let names = ["files", "shared", "drop"].iter().flat_map(|name| ground.tree(name).into_keys());
    let names = names.map(|name| name.strip_prefix(&top).unwrap().to_owned()).collect();
    (result.err().map(|error| error.code), names)
}

fn with_links() -> Ground {
    let ground = ground();
    ground.link("files/inside", "sub");
    ground.link("files/inside-file", "sub/note.txt");
    ground
}

fn end_the_same(dry_run: bool) {
    for spec in file_tools() {
        for path in HONEST {
            for arguments in calls(spec, path, "honest = 1") {
                let [with, without] = [Layers::Both, Layers::Handles]
                    .map(|layers| ends(layers, spec.name, &arguments, dry_run));
                assert_eq!(with, without, "{}{arguments} {dry_run}", spec.name);
            }
        }
    }
}

#[test]
fn honest_calls_end_the_same_with_and_without_landlock() {
    end_the_same(false);
}

#[test]
fn honest_previews_end_the_same_with_and_without_landlock() {
    end_the_same(true);
}
