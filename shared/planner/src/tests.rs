//! Sentences, and the calls that they become.

mod dutch;
mod english;
mod results;
mod table;

use serde_json::json;

use super::texts;
use super::{Language, Message, undo};

fn answer(conversation: &[Message<'_>]) -> String {
    super::answer(conversation).text
}

fn ask(text: &str) -> String {
    answer(&[Message::of_person(text)])
}

#[test]
fn what_is_said_in_english_becomes_the_call_that_is_meant() {
    check(english::SAID);
}

#[test]
fn what_is_said_in_dutch_becomes_the_call_that_is_meant() {
    check(dutch::SAID);
}

fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(text, call)| (text, ask(text), *call))
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

/// Returns whether an answer makes no call.
fn makes_no_call(text: &str) -> bool {
    let extraction = orion_domain::extract::extract(text);
    extraction.calls.is_empty() && extraction.problems.is_empty()
}

#[test]
fn what_is_not_understood_or_denies_or_restricts_makes_no_call() {
    for text in [
        "create folder for",
        "delete Test",
        "delete everything",
        "don't delete folder Test",
        "please do not delete notes.txt",
        "dont delete notes.txt",
        "never delete notes.txt",
        "do not create folder Test",
        "delete notes.txt unless it is important",
        "delete notes.txt if it is empty",
        "delete notes.txt but not today",
        "delete notes.txt older than 3 days",
        "delete folder Old except a.txt",
        "delete folder Old without a.txt",
        "delete all files except a.txt",
        "delete a.txt or b.txt",
        "delete a.txt and don't delete b.txt",
        "create folder A and do not delete it",
        "create folder A, but don't write anything in it",
        "delete folder Old only on kiosk",
        "move a.txt to Archive unless it is there",
        "delete file not notes.txt",
        "delete old notes.txt",
        "write hi to a.txt and bye to b.txt and never mind",
        "add folder Test to Documents",
        "write a poem about the sea",
        "create folder A and frobnicate the sea",
        "{\"tool\":\"open_app\"}",
        "rm -rf /",
        "maak geen map Test",
        "verwijder de map Test niet",
        "verwijder notities.txt niet",
        "verwijder notities.txt tenzij het leeg is",
        "verwijder alles behalve a.txt",
        "gooi notities.txt nooit weg",
        "verwijder notities.txt als het leeg is",
        "maak een map A en verwijder hem niet",
        "maak een map met foto's",
        "delte folder Test",
        "verwijdr de map Test",
    ] {
        let text_of = ask(text);
        assert!(makes_no_call(&text_of), "{text}: {text_of}");
        assert_eq!(text_of.lines().count(), 1, "{text}: {text_of}");
        assert!(!super::answer(&[Message::of_person(text)]).understood, "{text}");
    }
    for text in ["a ".repeat(100_000), "create ".repeat(64)] {
        let said = ask(&text);
        assert!(makes_no_call(&said) && said.lines().count() == 1, "{said}");
    }
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
        assert_eq!(ask(text), texts::help(language), "{text}");
    }
    for text in [texts::help(Language::English), texts::help(Language::Dutch)] {
        assert!(text.contains("docs/models.md") && text.contains("planner"), "{text}");
        assert!(!text.contains("orion-server.toml"), "the demo overwrites it: {text}");
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
        Message::Answer { text: "".into(), calls: Vec::new() },
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
    let nothing = texts::no_undo(&undo::Impossible::Nothing, Language::Dutch);
    assert_eq!(said("maak dat ongedaan", &[]), nothing);
    let nothing = texts::no_undo(&undo::Impossible::Nothing, Language::English);
    assert_eq!(said("undo that on laptop", &chat), nothing);
    assert!(makes_no_call(&said("undo that and create folder A", &chat)));
}

#[test]
fn a_folder_that_is_not_empty_is_meant_by_the_request_that_its_failure_proposes() {
    let failed = json!({"success": false, "message": "Vakantie is not empty.", "data": null, "dry_run": false,
        "error": {"code": "NOT_EMPTY", "message": "…", "details": {}, "recoverable": true, "hints": []},
        "meta": {"call_id": "1", "device": "kiosk", "tool": "delete_directory"}});
    let made = json!({"success": true, "message": "Made.", "data": {}, "error": null, "dry_run": false,
        "meta": {"call_id": "0", "device": "kiosk", "tool": "create_directory"}});
    let mut preview = failed.clone();
    preview["dry_run"] = json!(true);
    for (request, failed) in [
        ("delete the folder Vakantie", &failed),
        ("verwijder de map Vakantie", &failed),
        ("delete the folder Vakantie, dry run", &preview),
    ] {
        let mut chat = vec![
            Message::of_person("create folder Older"),
            Message::of_call("create_directory", &json!({"path": "Older"})),
            Message::of_result(made.to_string()),
            Message::Answer { text: "".into(), calls: Vec::new() },
            Message::of_person(request),
            Message::of_call("delete_directory", &json!({"path": "Vakantie"})),
            Message::of_result(failed.to_string()),
        ];
        let said = answer(&chat);
        let proposed = said.split('"').nth(1).unwrap().to_owned();
        chat.push(Message::Answer { text: said.into(), calls: Vec::new() });
        chat.push(Message::of_person(&proposed));
        let call = answer(&chat);
        assert!(
            call.starts_with(r#"{"tool":"delete_directory","device":"kiosk","path":"Vakantie""#)
                && call.contains(r#""recursive":true"#),
            "{proposed}: {call}"
        );
    }
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
        let mut chat = vec![Message::of_person(text)];
        for result in results {
            chat.push(Message::of_call("x", &json!({})));
            chat.push(Message::of_result(result.to_string()));
        }
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

#[test]
fn what_was_done_in_a_chat_is_told_again_and_what_was_replaced_is_said() {
    let wrote = json!({"success": true, "message": "…", "error": null, "dry_run": false,
        "data": {"path": "/srv/a.txt", "size_bytes": 5, "mode": "write", "created": false, "diff": null},
        "meta": {"call_id": "1", "device": "kiosk", "tool": "write_file"}});
    let said = "Wrote /srv/a.txt on kiosk; it holds 5 bytes. What it held before was replaced.";
    let mut chat = vec![
        Message::of_person("write hello to a.txt"),
        Message::of_call("write_file", &json!({"path": "a.txt", "content": "hello"})),
        Message::of_result(wrote.to_string()),
    ];
    assert_eq!(answer(&chat), said);
    chat.push(Message::Answer { text: said.into(), calls: Vec::new() });
    let asked =
        |question: &str| answer(&[chat.clone(), vec![Message::of_person(question)]].concat());
    assert_eq!(
        asked("what did you do?"),
        format!("In this chat, as far as I can see back:\n\n{said}")
    );
    let nothing = "Nothing that I can see was changed in this chat.";
    assert_eq!(asked("what did you do on laptop-2?"), nothing);
    assert_eq!(ask("what did you change so far?"), nothing);
    assert!(ask("wat heb je gedaan?").starts_with("Voor zover ik kan zien"));
    for question in ["undo everything", "undo the last two changes", "maak alles ongedaan"] {
        let words = ["“undo the earlier change”", "“maak de eerdere verandering ongedaan”"];
        assert!(words.iter().any(|it| ask(question).contains(it)), "{question}");
    }
    for question in ["give me access to Downloads", "geef toegang tot Downloads"] {
        assert!(ask(question).contains("`orion-agent allow "), "{question}");
    }
}

#[test]
fn what_was_done_before_too_many_files_is_told() {
    let request = "create folder Photos and move all jpgs to Photos and list my files";
    let result = |data: serde_json::Value| {
        let meta = json!({"call_id": "c", "device": "kiosk", "tool": "t", "duration_ms": 1});
        let envelope = json!({"success": true, "message": "Made the folder Photos.", "data": data,
            "error": null, "dry_run": false, "meta": meta});
        Message::of_result(envelope.to_string())
    };
    let made = json!({"path": "Photos"});
    let listing = json!({"path": ".", "pattern": "*.jpg"});
    let entries: Vec<_> =
        (0..31).map(|n| json!({"name": format!("{n}.jpg"), "is_dir": false})).collect();
    let conversation = [
        Message::of_person(request),
        Message::of_call("create_directory", &made),
        result(json!({"created_path": "/d/Photos", "created": true})),
        Message::of_call("list_directory", &listing),
        result(json!({"path": "/d", "entries": entries, "count": 31, "truncated": false})),
    ];
    let said = answer(&conversation);
    assert!(said.contains("Photos") && said.contains("more than 30"), "{said}");
    assert!(said.lines().count() == 3 && said.contains("what was to follow is not done"), "{said}");
}
