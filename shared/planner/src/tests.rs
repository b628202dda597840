//! Sentences, and the calls that they become.

mod dutch;
mod english;
mod results;

use serde_json::json;

use super::{Language, Message, answer, phrases, understand, undo};

fn ask(text: &str) -> String {
    answer(&[Message::of_person(text)])
}

#[test]
fn what_is_said_in_english_becomes_the_call_that_is_meant() {
    check(english::SAID, Language::English);
}

#[test]
fn what_is_said_in_dutch_becomes_the_call_that_is_meant() {
    check(dutch::SAID, Language::Dutch);
}

fn check(table: &[(&str, &str)], language: Language) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(text, call)| {
            assert_eq!(understand(text).map(|known| known.0), Some(language), "{text}");
            (text, ask(text), *call)
        })
        .filter(|(_, answer, expected)| answer != expected)
        .map(|(text, answer, expected)| format!("{text}\n   is {answer}\n  not {expected}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_call_is_one_that_its_tool_takes() {
    use orion_domain::extract::extract;
    use orion_domain::{PathStyle, Places};

    let home = Some("/home/ann");
    let places = Places::parse(PathStyle::Posix, home, home).unwrap();
    for (text, expected) in english::SAID.iter().chain(dutch::SAID) {
        let extraction = extract(expected);
        let [call] = extraction.calls.as_slice() else { panic!("{text}: {extraction:?}") };
        assert!(!call.recovered, "{text}");
        let (spec, _) = orion_catalog::find(&call.tool).unwrap();
        if let Err(error) = spec.parse(call.arguments.clone(), &places) {
            assert!(expected.contains("C:"), "{text}: {error}");
        }
    }
}

#[test]
fn what_is_not_one_plain_request_is_not_guessed_at() {
    for text in [
        "create folder A and write \"x\" to A/b.txt",
        "create folder A, create folder B",
        "create folder A. Delete folder A.",
        "create folder A\ncreate folder B",
        "create folder for",
        "create folder",
        "delete Test",
        "delete everything",
        "don't delete folder Test",
        "do not create folder Test",
        "add folder Test to Documents",
        "run tests",
        "open",
        "write a poem about the sea",
        "{\"tool\":\"open_app\"}",
        "rm -rf /",
    ] {
        assert_eq!(ask(text), phrases::unknown(Language::English), "{text}");
    }
    for text in [
        "maak een map A en daarna een map B",
        "maak geen map Test",
        "verwijder de map Test niet",
        "maak een map met foto's",
    ] {
        assert_eq!(ask(text), phrases::unknown(Language::Dutch), "{text}");
    }
    assert_eq!(ask(&"a ".repeat(100_000)), phrases::unknown(Language::English));
    assert_eq!(ask(&"create ".repeat(64)), phrases::unknown(Language::English));
}

#[test]
fn it_says_what_it_is_and_how_to_connect_a_model() {
    for (text, language) in [
        ("help", Language::English),
        ("Hello!", Language::English),
        ("", Language::English),
        ("What can you do?", Language::English),
        ("hallo", Language::Dutch),
        ("Wat kun je allemaal?", Language::Dutch),
        ("hulp", Language::Dutch),
    ] {
        assert_eq!(ask(text), phrases::help(language), "{text}");
    }
    for text in [
        phrases::help(Language::English),
        phrases::help(Language::Dutch),
        phrases::unknown(Language::English),
        phrases::unknown(Language::Dutch),
    ] {
        assert!(text.contains("[[models]]") && text.contains("planner"), "{text}");
        let extraction = orion_domain::extract::extract(&text);
        assert_eq!((extraction.calls.len(), extraction.problems.len()), (0, 0), "{text}");
        for example in text.lines().filter_map(|line| line.strip_prefix("  ")) {
            assert!(ask(example).starts_with("{\"tool\":"), "{example}");
        }
    }
}

#[test]
fn undo_means_the_last_change_of_the_chat_and_nothing_before_it() {
    let moved = json!({"source": "a", "destination": "b"});
    let done = json!({"success": true, "message": "Moved.", "data": {}, "error": null, "dry_run": false,
        "meta": {"call_id": "01893e2a", "device": "kiosk", "tool": "move_path"}});
    let said = |text: &str, before: &[Message<'static>]| {
        answer(&[before, &[Message::of_person(text)]].concat())
    };
    let chat = [
        Message::of_person("rename a to b"),
        Message::of_call("move_path", &moved),
        Message::of_result(done.to_string()),
        Message::Answer(Vec::new()),
    ];
    let undo = r#"{"tool":"undo_call","device":"kiosk","call_id":"01893e2a","paths":["a","b"]"#;
    for text in [
        "undo",
        "Undo that please",
        "undo the last change",
        "Can you take that back?",
        "maak dat ongedaan",
        "Kun je dat ongedaan maken?",
        "Maak de laatste wijziging ongedaan.",
        "draai dat terug",
        "Wil je dat terugdraaien?",
        "undo that on kiosk",
    ] {
        assert_eq!(said(text, &chat), format!("{undo}}}"), "{text}");
    }
    assert_eq!(said("undo that, dry run", &chat), format!("{undo},\"dry_run\":true}}"));
    let nothing = phrases::no_undo(&undo::Impossible::Nothing, Language::Dutch);
    assert_eq!(said("maak dat ongedaan", &[]), nothing);
    let nothing = phrases::no_undo(&undo::Impossible::Nothing, Language::English);
    assert_eq!(said("undo that on laptop", &chat), nothing);
    assert_eq!(said("undo that and create folder A", &chat), phrases::unknown(Language::English));
}

#[test]
fn results_are_told_in_the_language_of_the_request() {
    let folder = json!({"success": true, "message": "Directory created", "data": {"created_path": "/srv/Test", "created": true},
        "error": null, "dry_run": false, "meta": {"call_id": "1", "device": "kiosk", "tool": "create_directory"}});
    let listing = json!({"success": true, "message": "2 entries", "dry_run": false, "data": {"path": "/srv", "count": 2, "truncated": false, "entries": [
        {"name": "Test", "path": "/srv/Test", "is_dir": true, "size_bytes": 0},
        {"name": "a.txt", "path": "/srv/a.txt", "is_dir": false, "size_bytes": 2048}]},
        "meta": {"device": "kiosk", "tool": "list_directory"}});
    let answer = |text: &str, results: &[&serde_json::Value]| {
        let mut chat = vec![Message::of_person(text), Message::of_call("x", &json!({}))];
        chat.extend(results.iter().map(|result| Message::of_result(result.to_string())));
        answer(&chat)
    };
    assert_eq!(answer("Maak een folder Test", &[&folder]), "De map /srv/Test is gemaakt op kiosk.");
    assert_eq!(
        answer("list files", &[&folder, &listing]),
        "Created the folder /srv/Test on kiosk.\n\n/srv on kiosk holds 2 entries:\n  Test/\n  a.txt  2.0 KiB"
    );
    let mut preview = folder;
    preview["dry_run"] = json!(true);
    assert_eq!(
        answer("create folder Test", &[&preview]),
        "Preview, nothing was changed. This would create the folder /srv/Test on kiosk."
    );
    let other =
        json!({"success": true, "message": "Done.", "data": {}, "meta": {"tool": "another"}});
    assert_eq!(answer("…", &[&other]), "Done.");
}
