//! The table of everyday requests: what each becomes, how many are right, and the page that publishes it.
//!
//! A line of `requests/*.txt` is `request => expected`, below the `[class]` that it belongs to. Messages of one
//! chat are separated by ` | `; the calls of the earlier ones succeed on the device kiosk, and fail for want of
//! a device where the message ends in `!DEVICE`. Expected are the calls of the last message, `? question`,
//! `say` for words that need no answer, or `miss`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::conversation::{Call, Message};
use crate::{Answer, answer};

const FILES: &[&str] = &[
    include_str!("requests/english.txt"),
    include_str!("requests/dutch.txt"),
    include_str!("requests/chats.txt"),
    include_str!("requests/somebody-else.txt"),
];
const PAGE: &str = "../../docs/planner.md";
const WRITE: &str = "ORION_WRITE_PLANNER_PAGE";

/// A request of the table.
struct Request {
    class: &'static str,
    said: &'static str,
    expected: &'static str,
}

/// How a request was answered.
#[derive(PartialEq)]
enum Verdict {
    Right,
    NotHandled,
    /// A call that is not expected.
    Wrong,
}

fn table() -> Vec<Request> {
    let mut class = "";
    let lines = FILES.iter().flat_map(|file| file.lines());
    let mut requests = Vec::new();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            class = name;
            continue;
        }
        let (said, expected) = line.rsplit_once(" => ").unwrap_or_else(|| panic!("{line}"));
        requests.push(Request { class, said, expected });
    }
    requests
}

/// Runs messages of one chat, and returns the calls or the words for the last one.
pub(super) fn chat(said: &str) -> String {
    let mut conversation: Vec<Message<'static>> = Vec::new();
    let mut shown = String::new();
    for message in said.split(" | ") {
        let (text, lacks_device) =
            message.strip_suffix(" !DEVICE").map_or((message, false), |text| (text, true));
        conversation.push(Message::of_person(text));
        let mut calls = Vec::new();
        shown = loop {
            let Answer { text, understood } = answer(&conversation);
            if !text.starts_with("{\"tool\"") {
                conversation.push(Message::Answer { text: text.clone().into(), calls: Vec::new() });
                break match (calls.is_empty(), understood) {
                    (false, _) => calls.join(" ; "),
                    (true, true) => "say".to_owned(),
                    (true, false)
                        if text.ends_with('?')
                            || text.contains("? ")
                            || text.ends_with("name.")
                            || text.ends_with("naam.") =>
                    {
                        format!("? {text}")
                    }
                    (true, false) => "miss".to_owned(),
                };
            }
            assert!(calls.len() < 20, "{said}");
            round(&text, lacks_device, &mut conversation, &mut calls);
        };
    }
    shown
}

/// Returns whether a call made something that was not there.
fn is_creation(message: &Message<'_>) -> bool {
    match message {
        Message::Answer { calls, .. } => calls.iter().any(|call| call.tool.starts_with("create_")),
        Message::Request(_) | Message::Result { .. } => false,
    }
}

/// Records the calls of an answer and their results.
fn round(
    text: &str,
    lacks_device: bool,
    conversation: &mut Vec<Message<'static>>,
    shown: &mut Vec<String>,
) {
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for (nth, line) in text.lines().enumerate() {
        let mut call: Map<String, Value> = serde_json::from_str(line).unwrap();
        let tool = call.remove("tool").unwrap().as_str().unwrap().to_owned();
        shown.push(short(&tool, &call, line));
        let id = format!("{}-{nth}", conversation.len());
        let device = call.get("device").and_then(Value::as_str).unwrap_or("kiosk");
        let entry = |name: &str, is_dir: bool| json!({"name": name, "path": format!("/srv/{name}"), "is_dir": is_dir});
        // An undo removes what the conversation made, and restores the rest.
        let outcome = if conversation.iter().any(is_creation) { "removed" } else { "restored" };
        let paths = call.get("paths").and_then(Value::as_array);
        let paths: Vec<_> = paths
            .into_iter()
            .flatten()
            .map(|path| json!({"path": path, "outcome": outcome}))
            .collect();
        let result = if lacks_device {
            json!({"success": false, "message": "…", "error": {"code": "DEVICE_REQUIRED"}, "meta": {"tool": tool}})
        } else {
            json!({"success": true, "message": "…", "error": null, "dry_run": call.contains_key("dry_run"),
                "data": {"path": "/srv", "entries": [entry("one", false), entry("two", false), entry("old", true)], "paths": paths},
                "meta": {"tool": tool, "device": device, "call_id": id}})
        };
        let arguments = Value::Object(call).to_string();
        calls.push(Call { id: id.clone().into(), tool: tool.into(), arguments: arguments.into() });
        results.push(Message::Result {
            call_id: Some(id.into()),
            envelope: result.to_string().into(),
        });
    }
    conversation.push(Message::Answer { text: "".into(), calls });
    conversation.extend(results);
}

/// Returns a call in the table's form: `tool@device name=value …`.
fn short(tool: &str, call: &Map<String, Value>, line: &str) -> String {
    let mut text = tool.to_owned();
    if let Some(device) = call.get("device").and_then(Value::as_str) {
        write!(text, "@{device}").unwrap();
    }
    let mut arguments: Vec<_> =
        call.iter().filter(|(name, _)| *name != "device" && *name != "confirm").collect();
    arguments.sort_by_key(|(name, _)| line.find(&format!("\"{name}\":")));
    for (name, value) in arguments {
        let plain = value.as_str().filter(|it| !it.is_empty() && !it.contains([' ', '"', '\n']));
        match plain {
            _ if *value == Value::Bool(true) => write!(text, " {name}").unwrap(),
            Some(plain) => write!(text, " {name}={plain}").unwrap(),
            None => write!(text, " {name}={value}").unwrap(),
        }
    }
    text
}

fn verdict(request: &Request) -> (Verdict, String) {
    let shown = chat(request.said);
    let is_call = !shown.starts_with("? ") && shown != "miss" && shown != "say";
    let verdict = match () {
        () if shown == request.expected => Verdict::Right,
        () if is_call => Verdict::Wrong,
        () => Verdict::NotHandled,
    };
    (verdict, shown)
}

#[test]
fn nine_of_ten_everyday_requests_are_understood_and_none_does_something_else() {
    let requests = table();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut wrong, mut missed) = (String::new(), String::new());
    let mut unhandled = String::new();
    for request in &requests {
        let (verdict, shown) = verdict(request);
        let count = counts.entry(request.class).or_default();
        count.1 += 1;
        let line = format!("{}\n   is {shown}\n  not {}\n", request.said, request.expected);
        match verdict {
            Verdict::Right => count.0 += 1,
            Verdict::Wrong => wrong.push_str(&line),
            Verdict::NotHandled => {
                writeln!(unhandled, "- {}", request.said.replace('*', "\\*")).unwrap();
                missed.push_str(&line);
            }
        }
    }
    let right: usize = counts.values().map(|count| count.0).sum();
    println!("{right} of {}\n{counts:?}\nnot handled:\n{missed}", requests.len());
    assert!(wrong.is_empty(), "wrong:\n{wrong}");
    assert!(requests.len() >= 400, "{} requests", requests.len());
    assert!(right * 10 >= requests.len() * 9, "{right} of {}", requests.len());
    compare_with_page(&counts, right, requests.len(), &unhandled);
}

/// Compares the counts with those of the page, or writes them to it.
fn compare_with_page(
    counts: &BTreeMap<&str, (usize, usize)>,
    right: usize,
    all: usize,
    unhandled: &str,
) {
    let mut rows = "| Class | Understood | Requests |\n| --- | --- | --- |\n".to_owned();
    for (class, (right, all)) in counts {
        writeln!(rows, "| {class} | {right} | {all} |").unwrap();
    }
    writeln!(rows, "| all | {right} | {all} |").unwrap();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let written = section(&section(&page, "## Counts", &rows), "## Not understood", unhandled);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, written).unwrap();
    } else {
        assert!(
            page == written,
            "set {WRITE}=1 for this test to write docs/planner.md:\n{rows}{unhandled}"
        );
    }
}

/// Returns the page with the table or list behind a heading's paragraph replaced.
fn section(page: &str, heading: &str, content: &str) -> String {
    let start = page.find(heading).unwrap_or_else(|| panic!("{heading}"));
    let begin = page[start..]
        .find("\n| ")
        .or_else(|| page[start..].find("\n- "))
        .map(|at| start + at + 1)
        .unwrap();
    let end = page[begin..].find("\n\n").map_or(page.len(), |at| begin + at + 1);
    format!("{}{content}{}", &page[..begin], &page[end..])
}

#[test]
fn a_word_that_denies_or_restricts_anywhere_in_a_request_stops_every_change() {
    let has_effects = |calls: &str| {
        calls.split(" ; ").any(|call| {
            let tool = call.split([' ', '@']).next().unwrap();
            orion_catalog::find(tool).is_some_and(|(spec, _)| spec.has_effects)
        })
    };
    let mut acted = String::new();
    let requests = table();
    // What is written to a file may hold any word.
    let plain = requests.iter().filter(|it| {
        !it.said.contains(['"', '|'])
            && has_effects(it.expected)
            && !it.expected.contains("write_file")
    });
    // Every second request, because there are many places for a word.
    for (nth, request) in plain.step_by(2).enumerate() {
        let words: Vec<&str> = request.said.split(' ').collect();
        let inserted = ["not", "unless", "niet", "behalve"][nth % 4];
        for at in 0..=words.len() {
            let mut changed = words.clone();
            changed.insert(at, inserted);
            let said = changed.join(" ");
            let shown = chat(&said);
            if has_effects(&shown) {
                writeln!(acted, "{said}\n   is {shown}").unwrap();
            }
        }
    }
    assert!(acted.is_empty(), "{acted}");
}
