//! Parses YAML to a small tree in which every node has its line and column. Only what a policy needs:
//! texts, lists and tables; no anchors, aliases, tags or second document.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::finding::{Code, Findings, Position, shown};

/// The maximum size of a file, in bytes.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;
/// The maximum nesting of tables and lists.
const MAX_DEPTH: usize = 16;
/// The maximum number of entries of one table or list.
const MAX_ENTRIES: usize = 10_000;

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A text, number or word. `plain` when it is not quoted.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    Table(Vec<(Key, Node)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) at: Position,
    pub(crate) text: String,
}

impl Node {
    /// Returns the kind of node, in a word for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Scalar { text, plain } if is_null(text, *plain) => "nothing",
            Value::Scalar { .. } => "a text",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// Returns the text, if the node is one. Nothing, `null` and a bare `~` are none.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, plain } if !is_null(text, *plain) => Some(text),
            Value::Scalar { .. } | Value::List(_) | Value::Table(_) => None,
        }
    }
}

fn is_null(text: &str, plain: bool) -> bool {
    plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// A table or list under construction.
enum Open {
    List {
        at: Position,
        items: Vec<Node>,
    },
    Table {
        at: Position,
        entries: Vec<(Key, Node)>,
        key: Option<Key>,
        /// The line of each key.
        lines: BTreeMap<String, u32>,
    },
}

/// Parses one document. Errors are reported; then there is no tree.
pub(crate) fn parse(text: &str, findings: &mut Findings) -> Option<Node> {
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        findings.error(
            start,
            Code::TooLarge,
            format!("The file has {} bytes; a policy may have {MAX_BYTES}.", text.len()),
            "Name groups of devices by labels, and tools once in a profile.",
        );
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Node> = None;
    while let Some(event) = parser.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let message = format!("This is not YAML: {}.", shown(error.info()));
                let hint = "Indent with spaces, alike in one list or table, and quote texts with `: ` or ` #`.";
                findings.error(position(error.marker()), Code::Syntax, message, hint);
                return None;
            }
        };
        let at = position(&span.start);
        let done = match step(event, at, &mut open) {
            Ok(done) => done,
            Err((code, message, hint)) => {
                findings.error(at, code, message, hint);
                return None;
            }
        };
        let Some(node) = done else { continue };
        match open.last_mut() {
            None if root.is_some() => {
                let hint = "A policy is one document; remove the `---` and what follows.";
                findings.error(node.at, Code::Syntax, "The file holds a second document.", hint);
                return None;
            }
            None => root = Some(node),
            Some(Open::List { items, at }) if items.len() >= MAX_ENTRIES => {
                return too_long(*at, findings);
            }
            Some(Open::Table { entries, at, .. }) if entries.len() >= MAX_ENTRIES => {
                return too_long(*at, findings);
            }
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Table { entries, key, lines, .. }) => match key.take() {
                Some(name) => {
                    match lines.entry(name.text.clone()) {
                        Entry::Occupied(first) => {
                            let first = first.get();
                            let message =
                                format!("`{}` is in line {first} too.", shown(&name.text));
                            let code = Code::DuplicateKey;
                            findings.error(name.at, code, message, "Put both into one.");
                        }
                        Entry::Vacant(free) => drop(free.insert(name.at.line)),
                    }
                    entries.push((name, node));
                }
                None => match node.value {
                    Value::Scalar { text, .. } => *key = Some(Key { at, text }),
                    Value::List(_) | Value::Table(_) => {
                        let hint = "Keys are plain words.";
                        findings.error(node.at, Code::Syntax, "A key is a list or table.", hint);
                        return None;
                    }
                },
            },
        }
    }
    if root.is_none() {
        let hint = "Begin with `version: 1`. An empty policy would grant nothing to anyone.";
        findings.error(start, Code::Syntax, "The file is empty.", hint);
    }
    root
}

/// Reports a list or table that is too long to be written by hand.
fn too_long(at: Position, findings: &mut Findings) -> Option<Node> {
    let message = format!("This list or table has more than {MAX_ENTRIES} entries.");
    findings.error(at, Code::TooLarge, message, "No policy needs that.");
    None
}

type Refused = (Code, String, &'static str);

/// Processes one event; returns the value that it completes, if any.
fn step(event: Event<'_>, at: Position, open: &mut Vec<Open>) -> Result<Option<Node>, Refused> {
    let (anchor, tagged) = match &event {
        Event::Scalar(_, _, anchor, tag)
        | Event::SequenceStart(anchor, tag)
        | Event::MappingStart(anchor, tag) => (*anchor != 0, tag.is_some()),
        Event::Alias(_) => (true, false),
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd
        | Event::SequenceEnd
        | Event::MappingEnd => (false, false),
    };
    if anchor {
        let message = "Anchors and aliases (`&`, `*`) are not part of policy files.".to_owned();
        return Err((Code::Syntax, message, "Use a profile, or quote a text that begins so."));
    }
    if tagged {
        let message = "Tags (`!`) are not part of policy files.".to_owned();
        return Err((Code::Syntax, message, "Quote a text that begins so."));
    }
    let begins = matches!(event, Event::SequenceStart(..) | Event::MappingStart(..));
    if begins && open.len() >= MAX_DEPTH {
        let message = format!("Lists and tables lie more than {MAX_DEPTH} deep.");
        return Err((Code::TooLarge, message, "No policy needs that."));
    }
    Ok(match event {
        Event::Scalar(text, style, ..) => {
            let plain = style == ScalarStyle::Plain;
            Some(Node { at, value: Value::Scalar { text: text.into_owned(), plain } })
        }
        Event::SequenceStart(..) => {
            open.push(Open::List { at, items: Vec::new() });
            None
        }
        Event::MappingStart(..) => {
            open.push(Open::Table { at, entries: Vec::new(), key: None, lines: BTreeMap::new() });
            None
        }
        Event::SequenceEnd | Event::MappingEnd => open.pop().map(|closed| match closed {
            Open::List { at, items } => Node { at, value: Value::List(items) },
            Open::Table { at, entries, .. } => Node { at, value: Value::Table(entries) },
        }),
        Event::Alias(_)
        | Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd => None,
    })
}

fn position(marker: &Marker) -> Position {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Position { line: number(marker.line().max(1)), column: number(marker.col()).saturating_add(1) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reported(text: &str) -> Vec<String> {
        let mut findings = Findings::of("p.yaml");
        parse(text, &mut findings);
        findings.into_sorted().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn everything_knows_its_place() {
        let mut findings = Findings::of("p.yaml");
        let root = parse("a: 1\nb:\n  - {c: \"é\", d: e}\n", &mut findings).unwrap();
        let Value::Table(entries) = root.value else { panic!("no table") };
        let (key, node) = &entries[1];
        assert_eq!((key.text.as_str(), key.at), ("b", Position { line: 2, column: 1 }));
        let Value::List(items) = &node.value else { panic!("no list") };
        let Value::Table(inner) = &items[0].value else { panic!("no table") };
        assert_eq!(inner[1].1.at, Position { line: 3, column: 17 });
        assert_eq!(inner[1].1.text(), Some("e"));
    }

    #[test]
    fn what_is_no_policy_is_refused_with_its_place() {
        for (text, told_at) in [
            ("", "1:1: error[syntax]: The file is empty."),
            ("# only words\n", "1:1: error[syntax]: The file is empty."),
            ("a: [1, 2", "error[syntax]: This is not YAML"),
            ("a: 1\na: 2\n", "2:1: error[duplicate-key]: `a` is in line 1 too."),
            ("a: &x 1\nb: *x\n", "1:4: error[syntax]: Anchors"),
            ("a: !!str 1\n", "error[syntax]: Tags"),
            ("a: 1\n---\nb: 2\n", "3:1: error[syntax]: The file holds a second document."),
            ("? [a]\n: b\n", "error[syntax]: A key is a list or table."),
        ] {
            let all = reported(text);
            assert!(all.first().is_some_and(|first| first.contains(told_at)), "{text}: {all:?}");
        }
    }

    #[test]
    fn size_and_depth_are_bounded_and_a_bomb_is_an_alias() {
        assert!(reported(&"a".repeat(MAX_BYTES + 1))[0].contains("too-large"));
        assert!(reported(&"[".repeat(100))[0].contains("too-large"));
        assert_eq!(reported(&"[".repeat(100_000)).len(), 1);
        assert!(reported(&"- ".repeat(100_000))[0].contains("too-large"));
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        assert!(reported(bomb)[0].contains("Anchors and aliases"));
    }

    #[test]
    fn nothing_is_not_a_text() {
        let mut findings = Findings::of("p.yaml");
        let root = parse("[~, null, '~', \"\", ~/x, ]", &mut findings).unwrap();
        let Value::List(items) = root.value else { panic!("no list") };
        let texts: Vec<_> = items.iter().map(Node::text).collect();
        assert_eq!(texts, [None, None, Some("~"), Some(""), Some("~/x")]);
    }

    proptest! {
        #[test]
        fn no_text_upsets_it(text in "[-:?&*!|>'\"%@`{}\\[\\], #a~\n\t0é]{0,60}") {
            let mut findings = Findings::of("p.yaml");
            let tree = parse(&text, &mut findings);
            prop_assert!(tree.is_some() || findings.has_errors());
        }
    }
}
