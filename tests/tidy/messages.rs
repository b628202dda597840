//! What a call's error says: sentences about what happened. What to do is in hints, and gone words do not come
//! back.

use orion_domain::ErrorCode;

use crate::tree::{SourceFile, files_ending};

/// Words that people read before, with what to write.
const GONE: &[(&str, &str)] = &[
    ("anew", "again"),
    ("heard", "received"),
    ("judged", "evaluated"),
    ("lend", "grant"),
    ("lends", "grants"),
    ("lent", "granted"),
    ("strangers", "untrusted content"),
    ("told", "reported"),
    ("unanswered", "not decided"),
];

/// Functions whose first text is a message, and whether it is a sentence as it is written.
const MAKERS: &[(&str, bool)] = &[
    ("ToolError::new(", true),
    ("status::invalid(", false),
    ("status::denied(", false),
    ("managed_elsewhere(", false),
    ("hinted(", false),
];

/// Words that begin a sentence about what to do.
const ORDERS: &[&str] = &[
    "Answer", "Approve", "Ask", "Choose", "Give", "Look", "Make", "Name", "Read", "Rename",
    "Restart", "Run", "Say", "See", "Start", "Try", "Undo", "Use", "Wait", "Write",
];

/// Codes that no call returns yet: the tools that do are still to come.
const UNUSED: &[&str] = &[];

/// One message in the code.
#[derive(Debug)]
struct Message {
    place: String,
    /// The first text, with its placeholders.
    text: String,
    is_sentence: bool,
}

/// Returns the code of a file without its tests. None for a file that is a test.
fn product_code(file: &SourceFile) -> Option<&str> {
    let product = ["server/src/", "client/", "shared/"].iter().any(|it| file.path.starts_with(it));
    let is_test = file.path.contains("/tests") || file.path.ends_with("tests.rs");
    (product && !is_test).then(|| file.text.split("#[cfg(test)]\n").next().unwrap())
}

/// Returns the first text literal before the closing parenthesis.
fn first_text(rest: &str) -> Option<String> {
    let (mut depth, mut literal) = (1, None::<String>);
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match (&mut literal, letter) {
            (Some(text), '\\') => text.push(letters.next()?),
            (Some(_), '"') => return literal,
            (Some(text), letter) => text.push(letter),
            (None, '"') => literal = Some(String::new()),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, _) => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

fn messages() -> Vec<Message> {
    let mut found = Vec::new();
    for file in files_ending(".rs") {
        let Some(code) = product_code(&file) else { continue };
        for (maker, is_sentence) in MAKERS {
            for (at, _) in code.match_indices(maker) {
                let line = code[..at].matches('\n').count() + 1;
                let Some(text) = first_text(&code[at + maker.len()..]) else { continue };
                found.push(Message {
                    place: format!("{}:{line}", file.path),
                    text: text.split_whitespace().collect::<Vec<_>>().join(" "),
                    is_sentence: *is_sentence,
                });
            }
        }
    }
    found
}

/// Returns what is wrong with a message, if anything.
fn fault(message: &Message) -> Option<String> {
    let text = &message.text;
    let ends = text.ends_with(['.', '}']);
    if message.is_sentence && !ends {
        return Some("has no final period".to_owned());
    }
    if text.contains("; ") {
        return Some("has a semicolon: make it two sentences, or a hint".to_owned());
    }
    if text.contains("`orion") {
        return Some("names a command, which belongs into a hint".to_owned());
    }
    let is_order = |it: &str| ORDERS.iter().any(|order| it.split(' ').next() == Some(order));
    if let Some(order) = text.split(". ").find(|it| message.is_sentence && is_order(it)) {
        return Some(format!("says what to do, which belongs into a hint: {order}"));
    }
    let mut words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    words.find_map(|word| {
        let (gone, better) = GONE.iter().find(|(gone, _)| *gone == word)?;
        Some(format!("says {gone}, write {better}"))
    })
}

#[test]
fn a_message_is_sentences_without_hints_and_without_words_that_are_gone() {
    let faults: Vec<_> = messages()
        .iter()
        .filter_map(|message| Some((fault(message)?, message)))
        .map(|(fault, Message { place, text, .. })| format!("{place} {fault}: {text}"))
        .collect();
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_fault_of_a_message_is_found() {
    let fault = |text: &str| {
        fault(&Message { place: String::new(), text: text.to_owned(), is_sentence: true })
    };
    assert_eq!(fault("The call did not run: {why}."), None);
    for text in [
        "There is no final period",
        "It did not run; run it again.",
        "It did not run. Run it again.",
        "It did not run: `orion calls list` shows why.",
        "The record was not told.",
    ] {
        assert!(fault(text).is_some(), "{text}");
    }
}

#[test]
fn every_code_is_used() {
    let files = files_ending(".rs");
    let code: Vec<_> = files.iter().filter_map(product_code).collect();
    let is_used = |code_of: &ErrorCode| {
        let name = format!("ErrorCode::{code_of:?}");
        code.iter().any(|code| code.contains(&name))
    };
    let unused: Vec<_> =
        ErrorCode::ALL.iter().filter(|code| !is_used(code)).map(|code| code.as_str()).collect();
    assert_eq!(unused, UNUSED);
}
