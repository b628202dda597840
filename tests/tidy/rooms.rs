//! Checks which room may name what.

use crate::tree::{code_lines, files_ending, root};

/// Returns the lines of code that contain one of these words, outside the allowed rooms.
fn named_outside(words: &[&str], below: &str, may: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for file in files_ending(".rs") {
        if !file.path.starts_with(below) || may(&file.path) {
            continue;
        }
        for (number, line) in code_lines(&file.text) {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    found
}

#[test]
fn only_the_stores_database_names_sqlx() {
    let may = |path: &str| {
        path == "server/src/store/db.rs"
            || path.starts_with("server/src/store/db/")
            || path == "server/src/store/tests.rs"
            || path.starts_with("server/src/store/tests/")
            || path.starts_with("tests/")
    };
    assert_eq!(named_outside(&["sqlx"], "", may), Vec::<String>::new());
}

#[test]
fn in_the_backend_only_the_rpc_room_names_generated_types() {
    let may = |path: &str| path == "server/src/rpc.rs" || path.starts_with("server/src/rpc/");
    assert_eq!(named_outside(&["v1::", "wire::v1"], "server/", may), Vec::<String>::new());
}

#[test]
fn the_access_room_names_no_grpc_type() {
    for below in ["server/src/access.rs", "server/src/access/"] {
        let found = named_outside(&["tonic", "orion_wire"], below, |_| false);
        assert_eq!(found, Vec::<String>::new());
    }
}

#[test]
fn a_handler_sees_its_caller_in_a_signed_request_only() {
    let may =
        |path: &str| path == "server/src/rpc/signed.rs" || path == "server/src/rpc/access_layer.rs";
    let found = named_outside(&["::<Identity>", "::<Caller>"], "server/src/rpc", may);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn only_the_process_room_and_the_demo_start_processes() {
    let may = |path: &str| {
        path.starts_with("client/agent/src/process")
            || path.starts_with("client/cli/src/commands/")
            // It starts the person's own pager.
            || path == "client/cli/src/output/pager.rs"
            // A race needs two processes, and so does a killed agent.
            || path == "client/agent/tests/process/probes.rs"
            || path == "client/agent/src/sandbox/tests/races.rs"
            // The splitter is compared with a real shell, and git is run as its grammar says.
            || path == "shared/commands/src/split/tests/shell.rs"
            || path == "shared/commands/src/judge/tests/hostile_repository.rs"
    };
    let words = ["Command::new", "process::Command"];
    let found = ["server/", "client/", "shared/"]
        .into_iter()
        .flat_map(|below| named_outside(&words, below, may))
        .collect::<Vec<_>>();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_domain_and_the_planner_do_no_io_read_no_clock_and_draw_nothing() {
    let words = [
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
        "SystemTime",
        "Instant::now",
        "now_v7",
        "new_v4",
        "rand::",
        "tokio::",
    ];
    // What the room's tests read from the disk is test data.
    let may = |path: &str| path.contains("/tests");
    for below in ["shared/commands/src/", "shared/domain/src/", "shared/planner/src/"] {
        assert_eq!(named_outside(&words, below, may), Vec::<String>::new());
    }
}

#[test]
fn the_backend_holds_no_tool_of_a_device() {
    let manifest = std::fs::read_to_string(root().join("server/Cargo.toml")).unwrap();
    for crate_name in ["orion-agent", "cap-std", "sysinfo", "globset", "open"] {
        let stands = manifest.lines().any(|line| line.starts_with(&format!("{crate_name}.")));
        assert!(!stands, "the backend depends on {crate_name}");
    }
}
