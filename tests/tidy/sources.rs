//! Checks the form of every source file.

use crate::tree::{files, files_ending, root};

/// The maximum length of a Rust file, in lines.
const MAX_LINES: usize = 400;

#[test]
fn every_rust_file_opens_with_what_it_is_for() {
    let bare: Vec<_> = files_ending(".rs")
        .into_iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.path)
        .collect();
    assert_eq!(bare, Vec::<String>::new(), "these do not open with `//!`");
}

#[test]
fn no_rust_file_is_longer_than_one_can_hold_in_mind() {
    let long: Vec<_> = files_ending(".rs")
        .into_iter()
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(lines, _)| *lines > MAX_LINES)
        .collect();
    assert_eq!(long, Vec::new(), "past {MAX_LINES} lines; split by idea");
}

#[test]
fn modules_stand_beside_their_folders() {
    let hidden: Vec<_> = files_ending(".rs")
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.ends_with("/mod.rs"))
        .collect();
    assert_eq!(hidden, Vec::<String>::new(), "`foo.rs` beside `foo/`, never `mod.rs`");
}

#[test]
fn nothing_is_left_unfinished() {
    // Written in halves so that this file does not contain the words.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("unimple", "mented!"),
        concat!("to", "do!("),
        concat!("#[ig", "nore"),
    ];
    let mut found = Vec::new();
    for file in files() {
        if file.path.ends_with("Cargo.lock") || file.path.ends_with("package-lock.json") {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn no_file_names_the_machine_that_it_was_written_on() {
    let root = root().to_str().unwrap();
    let mut found = Vec::new();
    for file in files() {
        for (index, line) in file.text.lines().enumerate() {
            let fetched_from = file.path.ends_with("package-lock.json")
                && line.trim_start().starts_with("\"resolved\": \"http");
            if line.contains(root) || line.contains(concat!(".cargo/", "registry")) || fetched_from
            {
                found.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}
