//! Checks that the statements of the store are SQL that PostgreSQL understands as well, where it has words of
//! its own for the same.

use crate::tree::{code_lines, files, files_ending};

/// What only SQLite understands, with what to write.
const DIALECT: &[(&str, &str)] = &[
    ("rowid", "a column of its own"),
    ("INSERT OR ", "ON CONFLICT"),
    ("instr(", "LIKE"),
    ("->>", "a column of its own"),
    ("json_each", "a list of parameters"),
    ("x''", "NULL"),
];

/// Columns that are true or false: `NOT dry_run`, not `dry_run = 0`.
const TRUTHS: &[&str] = &[
    "device_reported_unknown",
    "dry_run",
    "has_effects",
    "has_language_model",
    "is_estimated",
    "is_own",
    "is_own_preview",
    "keep_going",
    "may_stand",
    "not_requester",
    "preapproved",
    "quoted",
    "reason_required",
    "recovered",
    "second_if_any",
    "tainted",
    "yes",
];

/// Returns whether a line compares a truth with a number.
fn counts_truth(line: &str) -> bool {
    let is_variable = line.trim_start().starts_with("let ");
    !is_variable
        && TRUTHS.iter().any(|column| {
            ["= 0", "= 1", "<> 0", "<> 1"]
                .iter()
                .any(|number| line.contains(&format!(" {column} {number}")))
        })
}

#[test]
fn the_store_writes_sql_that_is_not_sqlites_alone() {
    let mut found = Vec::new();
    for file in files_ending(".rs") {
        let is_store =
            file.path == "server/src/store.rs" || file.path.starts_with("server/src/store/");
        let may = file.path.starts_with("server/src/store/db/")
            || file.path.starts_with("server/src/store/tests");
        if !is_store || may {
            continue;
        }
        for (number, line) in code_lines(&file.text) {
            for (word, better) in DIALECT.iter().filter(|(word, _)| line.contains(word)) {
                found.push(format!("{}:{number}: {word}, use {better}", file.path));
            }
            if counts_truth(line) {
                found.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    for file in files().into_iter().filter(|file| file.path.ends_with(".sql")) {
        for (index, line) in file.text.lines().enumerate() {
            if line.contains("rowid") || counts_truth(line) {
                found.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_truth_that_is_compared_with_a_number_is_found() {
    assert!(counts_truth("WHERE dry_run = 0 ORDER BY id"));
    assert!(!counts_truth("WHERE NOT dry_run AND uses_left = 0"));
    assert!(!counts_truth("    let mut recovered = 0;"));
}
