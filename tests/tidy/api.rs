//! Every part of the public API has a comment, and what agents say is recorded for each version.

use crate::tree::{files_ending, root};

#[test]
fn every_proto_file_says_what_it_is_for_and_holds_one_service() {
    for file in files_ending(".proto") {
        assert!(file.text.starts_with("// "), "{} does not open with a comment", file.path);
        let services: Vec<_> = file
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("service "))
            .map(|rest| rest.trim_end_matches(['{', ' ']).to_lowercase())
            .collect();
        let stem = file.path.rsplit('/').next().unwrap().trim_end_matches(".proto");
        assert_eq!(services, [format!("{stem}service")], "{}", file.path);
    }
}

#[test]
fn every_enumeration_begins_with_what_was_not_said() {
    for file in files_ending(".proto") {
        let mut lines = file.text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with("enum ") {
                let first = lines.next().unwrap_or_default();
                assert!(first.trim_end().ends_with("_UNSPECIFIED = 0;"), "{}: {line}", file.path);
            }
        }
    }
}

/// Older and newer agents are compared with the records.
#[test]
fn the_protocol_of_this_version_is_recorded() {
    let record = root().join(format!("tests/api/protocol-{}.binpb", orion_wire::PROTOCOL));
    assert!(record.is_file(), "{} is missing: the Makefile says how it is made", record.display());
}
