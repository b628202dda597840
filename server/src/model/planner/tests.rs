//! What is said, and the call it becomes.

use serde_json::json;

use super::*;
use crate::model::{Message, NativeCall, Request};

fn ask(text: &str) -> String {
    Planner.answer(&Request { messages: vec![Message::user(text)], tools: Vec::new() })
}

const ENGLISH: &[(&str, &str)] = &[
    ("create folder Test", r#"{"tool":"create_directory","path":"Test"}"#),
    ("Please create a new folder called \"My Photos\".", r#"{"tool":"create_directory","path":"My Photos"}"#),
    ("make a folder named Summer 2026 on laptop-123", r#"{"tool":"create_directory","device":"laptop-123","path":"Summer 2026"}"#),
    ("Create a Test folder", r#"{"tool":"create_directory","path":"Test"}"#),
    ("Can you create the folder Test in Documents please?", r#"{"tool":"create_directory","path":"Documents/Test"}"#),
    ("in Documents create a folder Test", r#"{"tool":"create_directory","path":"Documents/Test"}"#),
    ("create folder a/b/c", r#"{"tool":"create_directory","path":"a/b/c","parents":true}"#),
    ("create a nested folder called Photos", r#"{"tool":"create_directory","path":"Photos","parents":true}"#),
    ("mkdir -p x/y", r#"{"tool":"create_directory","path":"x/y","parents":true}"#),
    ("create folder C:/Users/ann/Test", r#"{"tool":"create_directory","path":"C:/Users/ann/Test"}"#),
    ("create folder 'C:\\Users\\ann\\It''s'", r#"{"tool":"create_directory","path":"C:\\Users\\ann\\It''s"}"#),
    ("dry run: create folder Test", r#"{"tool":"create_directory","path":"Test","dry_run":true}"#),
    ("create folder Test on kiosk (dry run)", r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#),
    ("preview create folder Test on kiosk", r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#),
    ("create folder Test as a preview on kiosk", r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#),
    ("create folder preview", r#"{"tool":"create_directory","path":"preview"}"#),
    ("On the kiosk, create folder Test", r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#),
    ("create folder Test on this computer", r#"{"tool":"create_directory","path":"Test"}"#),
    ("create folder Test on label:env=lab", r#"{"tool":"create_directory","device":"label:env=lab","path":"Test"}"#),
    ("list files", r#"{"tool":"list_directory","path":"."}"#),
    ("ls", r#"{"tool":"list_directory","path":"."}"#),
    ("list the files in Documents on Laptop-1", r#"{"tool":"list_directory","device":"Laptop-1","path":"Documents"}"#),
    ("show me everything in Documents recursively", r#"{"tool":"list_directory","path":"Documents","recursive":true}"#),
    ("What's in Test?", r#"{"tool":"list_directory","path":"Test"}"#),
    ("what’s in the folder \"My Photos\"", r#"{"tool":"list_directory","path":"My Photos"}"#),
    ("which files are there in Downloads?", r#"{"tool":"list_directory","path":"Downloads"}"#),
    ("what is in notes.txt?", r#"{"tool":"read_file","path":"notes.txt"}"#),
    ("list C:", r#"{"tool":"list_directory","path":"C:"}"#),
    ("find *.zip files in Downloads", r#"{"tool":"search_files","query":"*.zip","path":"Downloads"}"#),
    ("find all *.zip files", r#"{"tool":"search_files","query":"*.zip","path":"."}"#),
    ("find all pdf files in my folder Documents on kiosk", r#"{"tool":"search_files","device":"kiosk","query":"*.pdf","path":"Documents"}"#),
    ("search for .log files", r#"{"tool":"search_files","query":"*.log","path":"."}"#),
    ("find files named report.pdf in Documents", r#"{"tool":"search_files","query":"report.pdf","path":"Documents"}"#),
    ("find files with invoice in their name", r#"{"tool":"search_files","query":"*invoice*","path":"."}"#),
    ("where is report.pdf?", r#"{"tool":"search_files","query":"report.pdf","path":"."}"#),
    ("read notes.txt", r#"{"tool":"read_file","path":"notes.txt"}"#),
    ("show me the file README", r#"{"tool":"read_file","path":"README"}"#),
    ("show the contents of notes/today.md", r#"{"tool":"read_file","path":"notes/today.md"}"#),
    ("cat /etc/passwd", r#"{"tool":"read_file","path":"/etc/passwd"}"#),
    ("read the first 20 lines of server.log", r#"{"tool":"read_file","path":"server.log","limit":20}"#),
    ("write \"Hello, world.\" to notes.txt", r#"{"tool":"write_file","path":"notes.txt","content":"Hello, world."}"#),
    ("write go to bed to notes.txt", r#"{"tool":"write_file","path":"notes.txt","content":"go to bed"}"#),
    ("put “Milk and  bread” in the file shopping list", r#"{"tool":"write_file","path":"shopping list","content":"Milk and  bread"}"#),
    ("create a file hello.txt with the text \"hi\"", r#"{"tool":"write_file","path":"hello.txt","content":"hi"}"#),
    ("create an empty file hello.txt", r#"{"tool":"write_file","path":"hello.txt","content":"","append":true}"#),
    ("append \"more\" to notes.txt", r#"{"tool":"write_file","path":"notes.txt","content":"more","append":true}"#),
    ("add a line \"Bread\" to shopping.txt", r#"{"tool":"write_file","path":"shopping.txt","content":"Bread\n","append":true}"#),
    ("delete folder Test", r#"{"tool":"delete_directory","path":"Test","confirm":true}"#),
    ("remove the folder Test and everything in it", r#"{"tool":"delete_directory","path":"Test","recursive":true,"confirm":true}"#),
    ("delete the folder Test recursively on kiosk, dry run", r#"{"tool":"delete_directory","device":"kiosk","path":"Test","recursive":true,"confirm":true,"dry_run":true}"#),
    ("open Firefox", r#"{"tool":"open_app","app":"firefox"}"#),
    ("start the app terminal on kiosk", r#"{"tool":"open_app","device":"kiosk","app":"terminal"}"#),
    ("open Google Chrome with https://example.com/A?b=c", r#"{"tool":"open_app","app":"chrome","args":["https://example.com/A?b=c"]}"#),
    ("open example.com in firefox", r#"{"tool":"open_app","app":"firefox","args":["https://example.com"]}"#),
    ("device info", r#"{"tool":"get_device_info","include":["system","cpu","memory","disk"]}"#),
    ("How much disk space is left on kiosk?", r#"{"tool":"get_device_info","device":"kiosk","include":["disk"]}"#),
    ("how much memory is free", r#"{"tool":"get_device_info","include":["memory"]}"#),
    ("which programs are running?", r#"{"tool":"get_device_info","include":["processes"]}"#),
    ("what is my ip address", r#"{"tool":"get_device_info","include":["network"]}"#),
    ("What time is it?", r#"{"tool":"get_datetime"}"#),
    ("what's the date today", r#"{"tool":"get_datetime"}"#),
    ("what time is it in New York on kiosk", r#"{"tool":"get_datetime","device":"kiosk","timezone":"America/New_York"}"#),
    ("what time is it in Asia/Kolkata", r#"{"tool":"get_datetime","timezone":"Asia/Kolkata"}"#),
];

const DUTCH: &[(&str, &str)] = &[
    ("Maak een folder Test", r#"{"tool":"create_directory","path":"Test"}"#),
    ("maak map Test aan op laptop-123", r#"{"tool":"create_directory","device":"laptop-123","path":"Test"}"#),
    ("Maak op de kiosk een map Test aan.", r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#),
    ("Kun je een nieuwe map 'Zomer 2026' maken?", r#"{"tool":"create_directory","path":"Zomer 2026"}"#),
    ("Wil je op kiosk een map Test aanmaken alsjeblieft", r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#),
    ("maak een map Foto's in Documenten", r#"{"tool":"create_directory","path":"Documenten/Foto's"}"#),
    ("maak in Documenten een map Test aan", r#"{"tool":"create_directory","path":"Documenten/Test"}"#),
    ("maak map foto's/2026", r#"{"tool":"create_directory","path":"foto's/2026","parents":true}"#),
    ("maak een geneste map Test", r#"{"tool":"create_directory","path":"Test","parents":true}"#),
    ("proefdraaien: maak een map Test", r#"{"tool":"create_directory","path":"Test","dry_run":true}"#),
    ("maak een map Test op kiosk als proef", r#"{"tool":"create_directory","device":"kiosk","path":"Test","dry_run":true}"#),
    ("maak een map proefdraaien", r#"{"tool":"create_directory","path":"proefdraaien"}"#),
    ("toon de bestanden", r#"{"tool":"list_directory","path":"."}"#),
    ("Wat staat er in Documenten?", r#"{"tool":"list_directory","path":"Documenten"}"#),
    ("wat zit er in de map Test op kiosk", r#"{"tool":"list_directory","device":"kiosk","path":"Test"}"#),
    ("wat staat er op kiosk", r#"{"tool":"list_directory","device":"kiosk","path":"."}"#),
    ("Laat me de bestanden in Downloads zien", r#"{"tool":"list_directory","path":"Downloads"}"#),
    ("welke bestanden staan er in Downloads?", r#"{"tool":"list_directory","path":"Downloads"}"#),
    ("open de map Documenten", r#"{"tool":"list_directory","path":"Documenten"}"#),
    ("zoek *.zip bestanden in Downloads", r#"{"tool":"search_files","query":"*.zip","path":"Downloads"}"#),
    ("zoek alle pdf-bestanden in Documenten", r#"{"tool":"search_files","query":"*.pdf","path":"Documenten"}"#),
    ("zoek naar bestanden met de naam rapport.pdf", r#"{"tool":"search_files","query":"rapport.pdf","path":"."}"#),
    ("zoek bestanden met factuur in de naam", r#"{"tool":"search_files","query":"*factuur*","path":"."}"#),
    ("waar staat rapport.pdf?", r#"{"tool":"search_files","query":"rapport.pdf","path":"."}"#),
    ("lees notities.txt", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("lees het bestand notities.txt voor", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("kun je notities.txt lezen", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("wat staat er in notities.txt?", r#"{"tool":"read_file","path":"notities.txt"}"#),
    ("lees de eerste 5 regels van server.log", r#"{"tool":"read_file","path":"server.log","limit":5}"#),
    ("schrijf \"Melk\" naar boodschappen.txt", r#"{"tool":"write_file","path":"boodschappen.txt","content":"Melk"}"#),
    ("zet 'Melk en brood' in het bestand boodschappen.txt op kiosk", r#"{"tool":"write_file","device":"kiosk","path":"boodschappen.txt","content":"Melk en brood"}"#),
    ("maak een bestand hallo.txt met de tekst \"hoi\"", r#"{"tool":"write_file","path":"hallo.txt","content":"hoi"}"#),
    ("maak een leeg bestand hallo.txt aan", r#"{"tool":"write_file","path":"hallo.txt","content":"","append":true}"#),
    ("voeg \"Brood\" toe aan boodschappen.txt", r#"{"tool":"write_file","path":"boodschappen.txt","content":"Brood","append":true}"#),
    ("voeg de regel \"Brood\" toe aan boodschappen.txt", r#"{"tool":"write_file","path":"boodschappen.txt","content":"Brood\n","append":true}"#),
    ("verwijder de map Test", r#"{"tool":"delete_directory","path":"Test","confirm":true}"#),
    ("verwijder map Test met alles erin", r#"{"tool":"delete_directory","path":"Test","recursive":true,"confirm":true}"#),
    ("gooi de map Test weg op kiosk", r#"{"tool":"delete_directory","device":"kiosk","path":"Test","confirm":true}"#),
    ("Zou je de map Test willen verwijderen?", "?"),
    ("Kun je de map Test met inhoud verwijderen?", r#"{"tool":"delete_directory","path":"Test","recursive":true,"confirm":true}"#),
    ("start firefox op", r#"{"tool":"open_app","app":"firefox"}"#),
    ("open firefox met https://example.com", r#"{"tool":"open_app","app":"firefox","args":["https://example.com"]}"#),
    ("hoeveel schijfruimte is er nog vrij op kiosk?", r#"{"tool":"get_device_info","device":"kiosk","include":["disk"]}"#),
    ("hoe vol is de schijf", r#"{"tool":"get_device_info","include":["disk"]}"#),
    ("hoeveel geheugen is er vrij", r#"{"tool":"get_device_info","include":["memory"]}"#),
    ("toon systeeminfo", r#"{"tool":"get_device_info","include":["system","cpu","memory","disk"]}"#),
    ("welke programma's draaien er nu?", r#"{"tool":"get_device_info","include":["processes"]}"#),
    ("Hoe laat is het?", r#"{"tool":"get_datetime"}"#),
    ("welke dag is het vandaag", r#"{"tool":"get_datetime"}"#),
    ("hoe laat is het in Tokio", r#"{"tool":"get_datetime","timezone":"Asia/Tokyo"}"#),
];

#[test]
fn what_is_said_in_english_becomes_the_call_that_is_meant() {
    check(ENGLISH, Language::English);
}

#[test]
fn what_is_said_in_dutch_becomes_the_call_that_is_meant() {
    check(DUTCH, Language::Dutch);
}

fn check(table: &[(&str, &str)], language: Language) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(text, call)| {
            let expected = if *call == "?" { phrases::unknown(language) } else { (*call).to_owned() };
            (text, ask(text), expected)
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
    for (text, expected) in ENGLISH.iter().chain(DUTCH).filter(|(_, call)| *call != "?") {
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
        "delete file notes.txt",
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
        "verwijder het bestand notities.txt",
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
fn results_are_told_in_the_language_of_the_request() {
    let folder = json!({"success": true, "message": "Directory created", "data": {"created_path": "/srv/Test", "created": true},
        "error": null, "dry_run": false, "meta": {"call_id": "1", "device": "kiosk", "tool": "create_directory"}});
    let listing = json!({"success": true, "message": "2 entries", "dry_run": false, "data": {"path": "/srv", "count": 2, "truncated": false, "entries": [
        {"name": "Test", "path": "/srv/Test", "is_dir": true, "size_bytes": 0},
        {"name": "a.txt", "path": "/srv/a.txt", "is_dir": false, "size_bytes": 2048}]},
        "meta": {"device": "kiosk", "tool": "list_directory"}});
    let told = |text: &str, results: &[&serde_json::Value]| {
        let call = NativeCall { id: "1".to_owned(), name: "x".to_owned(), arguments: "{}".to_owned() };
        let mut messages = vec![Message::user(text), Message::assistant("", vec![call])];
        messages.extend(results.iter().map(|result| Message::tool("1", result.to_string())));
        Planner.answer(&Request { messages, tools: Vec::new() })
    };
    assert_eq!(told("Maak een folder Test", &[&folder]), "De map /srv/Test is gemaakt op kiosk.");
    assert_eq!(
        told("list files", &[&folder, &listing]),
        "Created the folder /srv/Test on kiosk.\n\n/srv on kiosk holds 2 entries:\n  Test/\n  a.txt  2.0 KiB"
    );
    let mut preview = folder;
    preview["dry_run"] = json!(true);
    assert_eq!(
        told("create folder Test", &[&preview]),
        "Preview, nothing was changed. This would create the folder /srv/Test on kiosk."
    );
    let other = json!({"success": true, "message": "Done.", "data": {}, "meta": {"tool": "another"}});
    assert_eq!(told("…", &[&other]), "Done.");
}
