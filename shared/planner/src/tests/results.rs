//! How the results of the file tools are described.

use serde_json::{Value, json};

use super::answer;
use crate::Message;

/// A tool, whether the call was a preview, its data, and the sentences in English and in Dutch.
const TOLD: &[(&str, bool, &str, &str, &str)] = &[
    (
        "list_processes",
        false,
        r#"{"processes": [{"pid": 7, "name": "note", "cpu_percent": 1.5, "memory_bytes": 4096, "user": "ann"}], "total": 1}"#,
        "Processes on kiosk:\n  note (7)  1.5%  4.0 KiB",
        "Processen op kiosk:\n  note (7)  1.5%  4.0 KiB",
    ),
    (
        "list_apps",
        false,
        r#"{"apps": [{"app": "code", "installed": true, "running": false}, {"app": "note", "installed": false, "running": false}]}"#,
        "Applications on kiosk:\n  code: not running\n  note: not installed",
        "Applicaties op kiosk:\n  code: draait niet\n  note: niet geïnstalleerd",
    ),
    (
        "list_apps",
        false,
        r#"{"apps": []}"#,
        "No applications on kiosk.",
        "Geen applicaties op kiosk.",
    ),
    (
        "close_app",
        true,
        r#"{"app": "note", "closed": [7, 8]}"#,
        "Preview, nothing was changed. This would close note on kiosk: 2 processes.",
        "Proef, er is niets veranderd. Dit zou note sluiten op kiosk: 2 processen.",
    ),
    (
        "close_app",
        false,
        r#"{"app": "note", "closed": [7]}"#,
        "Closed note on kiosk: 1 process.",
        "note is gesloten op kiosk: 1 proces.",
    ),
    (
        "close_app",
        false,
        r#"{"app": "note", "closed": []}"#,
        "note does not run on kiosk.",
        "note draait niet op kiosk.",
    ),
    (
        "health_check",
        false,
        r#"{"checks": [{"name": "disk", "status": "warn", "detail": "/d: 2 of 9 GiB are free."}], "overall": "warn"}"#,
        "Health on kiosk: warn\n  disk: warn. /d: 2 of 9 GiB are free.",
        "Gezondheid op kiosk: let op\n  schijf: let op",
    ),
    (
        "check_network",
        false,
        r#"{"targets": [{"target": "dns", "reachable": true, "latency_ms": 0.21, "detail": "It answered."}, {"target": "backend", "reachable": false, "latency_ms": null, "detail": "It did not answer."}]}"#,
        "Network on kiosk:\n  dns (0.21 ms): It answered.\n  backend: It did not answer.",
        "Netwerk op kiosk:\n  dns (0.21 ms): bereikbaar\n  backend: niet bereikbaar",
    ),
    (
        "search_directory",
        false,
        r#"{"query": "inv", "base": "/d", "count": 2, "matches": ["/d/inv", "/d/x/invoices"]}"#,
        "Folders called inv on kiosk:\n  /d/inv\n  /d/x/invoices",
        "Mappen die inv heten op kiosk:\n  /d/inv\n  /d/x/invoices",
    ),
    (
        "search_directory",
        false,
        r#"{"query": "inv", "base": "/d", "count": 0, "matches": []}"#,
        "No folder near /d on kiosk is called inv.",
        "Bij /d op kiosk is geen map die inv heet.",
    ),
    (
        "search_text",
        false,
        r#"{"pattern": "MILK", "path": "/d", "count": 1, "truncated": true, "matches": [{"path": "/d/a.rs", "line": 7, "text": "  // MILK"}]}"#,
        "at least 1 line matches in /d on kiosk:\n  a.rs:7: // MILK\n  …",
        "minstens 1 regel past bij MILK in /d op kiosk:\n  a.rs:7: // MILK\n  …",
    ),
    (
        "search_text",
        false,
        r#"{"pattern": "MILK", "path": "/d", "count": 0, "truncated": false, "matches": []}"#,
        "No line in /d on kiosk matches MILK.",
        "Geen regel in /d op kiosk past bij MILK.",
    ),
    (
        "analyze_disk",
        false,
        r#"{"path": "/d", "directories": [{"path": "/d/b", "size_bytes": 4096}], "files": [{"path": "/d/b/c", "size_bytes": 4000}], "total_bytes": 5000, "entries": 1, "truncated": false}"#,
        "/d on kiosk holds 4.9 KiB in 1 entry.\nLargest folders:\n  b  4.0 KiB\nLargest files:\n  b/c  3.9 KiB",
        "/d op kiosk bevat 4.9 KiB in 1 item.\nGrootste mappen:\n  b  4.0 KiB\nGrootste bestanden:\n  b/c  3.9 KiB",
    ),
    (
        "get_file_info",
        false,
        r#"{"path": "/d/a", "kind": "file", "size_bytes": 5, "modified": "2026-01-02T03:04:05Z", "mode": "644", "owner": "ann", "sha256": null}"#,
        "/d/a on kiosk is a file, 5 bytes, changed at 2026-01-02T03:04:05Z, mode 644, owner ann.",
        "/d/a op kiosk is een bestand, 5 bytes, gewijzigd op 2026-01-02T03:04:05Z, rechten 644, eigenaar ann.",
    ),
    (
        "get_file_info",
        false,
        r#"{"path": "/d", "kind": "directory", "size_bytes": 0, "modified": null, "mode": null, "owner": null, "sha256": null}"#,
        "/d on kiosk is a folder.",
        "/d op kiosk is een map.",
    ),
    (
        "edit_file",
        false,
        r#"{"path": "/d/a", "size_bytes": 2, "diff": "-a\n+b\n"}"#,
        "Changed /d/a on kiosk:\n  -a\n  +b",
        "/d/a is veranderd op kiosk:\n  -a\n  +b",
    ),
    (
        "modify_config",
        true,
        r#"{"path": "/d/a.toml", "format": "toml", "diff": "-a\n+b\n", "backup_path": null}"#,
        "Preview, nothing was changed. This would change /d/a.toml on kiosk:\n  -a\n  +b",
        "Proef, er is niets veranderd. Dit zou /d/a.toml veranderen op kiosk:\n  -a\n  +b",
    ),
    (
        "copy_path",
        false,
        r#"{"source": "/d/a", "destination": "/d/b", "bytes": 5, "entries": 1, "replaced": true}"#,
        "Copied /d/a to /d/b on kiosk: 1 entry, 5 bytes. What was there is in the trash.",
        "/d/a is gekopieerd naar /d/b op kiosk: 1 item, 5 bytes. Wat daar stond, staat in de prullenbak.",
    ),
    (
        "move_path",
        true,
        r#"{"source": "/d/a", "destination": "/d/b", "bytes": 5, "entries": 2, "replaced": false}"#,
        "Preview, nothing was changed. This would move /d/a to /d/b on kiosk: 2 entries, 5 bytes.",
        "Proef, er is niets veranderd. Dit zou /d/a verplaatsen naar /d/b op kiosk: 2 items, 5 bytes.",
    ),
    (
        "delete_file",
        false,
        r#"{"path": "/d/a", "bytes": 5, "trash_id": "t"}"#,
        "Moved /d/a to the trash on kiosk: 5 bytes.",
        "/d/a staat in de prullenbak op kiosk: 5 bytes.",
    ),
    (
        "delete_file",
        true,
        r#"{"path": "/d/a", "bytes": 5, "trash_id": null}"#,
        "Preview, nothing was changed. This would delete /d/a on kiosk: 5 bytes.",
        "Proef, er is niets veranderd. Dit zou /d/a verwijderen op kiosk: 5 bytes.",
    ),
    (
        "read_config",
        false,
        r#"{"path": "/d/a.toml", "format": "toml", "parsed": null, "problem": "Line 1 has no value.", "content": "a =\n"}"#,
        "/d/a.toml on kiosk (toml):\n  a =\nLine 1 has no value.",
        "/d/a.toml op kiosk (toml):\n  a =\nLine 1 has no value.",
    ),
    (
        "undo_call",
        false,
        r#"{"call_id": "c", "tool": "move_path", "paths": [{"path": "/d/a", "outcome": "restored"}, {"path": "/d/b", "outcome": "removed"}]}"#,
        "Took move_path back on kiosk.\n  /d/a is as it was\n  /d/b went to the trash",
        "move_path is teruggedraaid op kiosk.\n  /d/a is zoals het was\n  /d/b staat in de prullenbak",
    ),
    (
        "undo_call",
        true,
        r#"{"call_id": "c", "tool": "write_file", "paths": [{"path": "/d/a", "outcome": "removed"}]}"#,
        "Preview, nothing was changed. This would take write_file back on kiosk.\n  /d/a would go to the trash",
        "Proef, er is niets veranderd. Dit zou write_file terugdraaien op kiosk.\n  /d/a zou naar de prullenbak gaan",
    ),
];

fn describe(asked: &str, tool: &str, dry_run: bool, data: &str) -> String {
    let data: Value = serde_json::from_str(data).unwrap();
    let envelope = json!({"success": true, "message": "Done.", "data": data, "error": null, "dry_run": dry_run,
        "meta": {"call_id": "1", "device": "kiosk", "tool": tool}});
    answer(&[
        Message::of_person(asked),
        Message::of_call(tool, &json!({})),
        Message::of_result(envelope.to_string()),
    ])
}

#[test]
fn results_of_file_tools_are_told_in_both_languages() {
    for &(tool, dry_run, data, english, dutch) in TOLD {
        assert_eq!(describe("list files", tool, dry_run, data), english);
        assert_eq!(describe("wat staat er", tool, dry_run, data), dutch);
    }
}

#[test]
fn a_listing_is_told_by_its_names_and_a_count_only_where_that_is_asked() {
    let one = r#"{"path": "/d", "count": 1, "entries": [{"path": "/d/a", "size_bytes": 5}]}"#;
    for request in [
        "list files in live",
        "list the files in live",
        "show the files in live",
        "show me all the files in live",
        "list the files in ~/Projects on kiosk",
        "toon de bestanden in live",
        "laat de bestanden in live zien",
    ] {
        let said = describe(request, "list_directory", false, one);
        assert!(said.ends_with("  a  5 bytes"), "{request}: {said}");
    }
    for request in
        ["count the files in live", "how many files are in live", "tel de bestanden in live"]
    {
        let said = describe(request, "list_directory", false, one);
        assert!(said.contains('1') && !said.contains("  a"), "{request}: {said}");
    }
}

#[test]
fn one_thing_is_not_called_many() {
    let one = r#"{"path": "/d", "count": 1, "entries": [{"path": "/d/a", "size_bytes": 5}]}"#;
    let said = describe("list files", "list_directory", false, one);
    assert_eq!(said, "/d on kiosk holds 1 entry:\n  a  5 bytes");
    let said = describe("wat staat er", "list_directory", false, one);
    assert_eq!(said, "In /d op kiosk staat 1 item:\n  a  5 bytes");
    let gone = r#"{"path": "/d", "entries": 1, "bytes": 0, "trash_id": "t"}"#;
    let said = describe("list files", "delete_directory", false, gone);
    assert_eq!(said, "Moved /d to the trash on kiosk: 1 entry, 0 bytes.");
}

#[test]
fn a_long_list_says_how_much_of_it_is_left_out() {
    let entries: Vec<_> =
        (0..25).map(|n| json!({"path": format!("/d/{n}"), "is_dir": true})).collect();
    let listing = |more: &Value| {
        let mut data = json!({"path": "/d", "entries": entries});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data.to_string()
    };
    let last = |request: &str, tool: &str, data: &str| {
        let said = describe(request, tool, false, data);
        let head = said.lines().next().unwrap_or_default().to_owned();
        (head, said.lines().last().unwrap_or_default().to_owned())
    };
    let whole = listing(&json!({"count": 25}));
    let (head, more) = last("list files", "list_directory", &whole);
    assert_eq!((&*head, &*more), ("/d on kiosk holds 25 entries:", "  … and 5 more"));
    let cut = listing(&json!({"count": 500, "truncated": true}));
    let (head, more) = last("list files", "list_directory", &cut);
    assert_eq!(head, "/d on kiosk holds at least 500 entries:");
    assert_eq!(more, "  … and at least 480 more");
    let (head, more) = last("wat staat er", "list_directory", &cut);
    assert_eq!(head, "In /d op kiosk staan minstens 500 items:");
    assert_eq!(more, "  … en minstens nog 480");
    let found: Vec<_> = (0..25).map(|n| json!({"path": "/d/a", "line": n, "text": "x"})).collect();
    let found = json!({"path": "/d", "pattern": "x", "count": 25, "matches": found}).to_string();
    assert_eq!(last("list files", "search_text", &found).1, "  … and 5 more");
}
