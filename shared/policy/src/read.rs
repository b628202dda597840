//! Reads typed values from the tree, and reports values of another type.

use crate::finding::{At, Code, Findings, Position, did_you_mean, nearest, shown};
use crate::yaml::{Key, Node, Value};

/// A table whose keys are read one by one; the remaining keys are unknown.
pub(crate) struct Fields<'a> {
    pub(crate) at: Position,
    what: &'static str,
    entries: Vec<(&'a Key, &'a Node)>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Returns the table, or reports that the node is none. `what` names it in messages.
    pub(crate) fn of(node: &'a Node, what: &'static str, findings: &mut Findings) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            wrong(node, &format!("{what} is a table of `key: value` lines"), findings);
            return None;
        };
        let entries = entries.iter().map(|(key, value)| (key, value)).collect();
        Some(Self { at: node.at, what, entries, known: Vec::new() })
    }

    /// Returns the value of a key, which may be written by any of its names.
    pub(crate) fn take(
        &mut self,
        names: &[&'static str],
        findings: &mut Findings,
    ) -> Option<&'a Node> {
        self.known.extend(names);
        let mut found: Option<(&Key, &'a Node)> = None;
        self.entries.retain(|&(key, node)| {
            if !names.contains(&key.text.as_str()) {
                return true;
            }
            match found {
                // The same name twice was reported when the file was parsed.
                Some((first, _)) if first.text != key.text => findings.error(
                    key.at,
                    Code::DuplicateKey,
                    format!(
                        "`{}` says the same as `{}` in line {}.",
                        key.text, first.text, first.at.line
                    ),
                    "Leave one out.",
                ),
                Some(_) => {}
                None => found = Some((key, node)),
            }
            false
        });
        found.map(|(_, node)| node)
    }

    /// Reports the keys that were not read.
    pub(crate) fn finish(self, findings: &mut Findings) {
        for (key, _) in self.entries {
            findings.error(
                key.at,
                Code::UnknownKey,
                format!("`{}` is no key of {}.", shown(&key.text), self.what),
                did_you_mean(&key.text, self.known.iter().copied()),
            );
        }
    }
}

/// Reports a value of the wrong type.
pub(crate) fn wrong(node: &Node, wanted: &str, findings: &mut Findings) {
    let hint = match &node.value {
        Value::Scalar { text, plain: true } if text == "~" => {
            "A bare `~` is YAML for nothing; write \"~\"."
        }
        Value::Scalar { .. } | Value::List(_) | Value::Table(_) => "",
    };
    let message = format!("{}, and here is {}.", capitalised(wanted), node.kind());
    findings.error(node.at, Code::WrongType, message, hint);
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Reads a text.
pub(crate) fn text<'a>(node: &'a Node, what: &str, findings: &mut Findings) -> Option<At<&'a str>> {
    let found = node.text().map(|value| At { at: node.at, value });
    if found.is_none() {
        wrong(node, &format!("{what} is a text"), findings);
    }
    found
}

/// Reads the items of a list; a single text is a list of one.
pub(crate) fn items<'a>(node: &'a Node, what: &str, findings: &mut Findings) -> Vec<&'a Node> {
    match &node.value {
        Value::List(items) => items.iter().collect(),
        Value::Scalar { .. } if node.text().is_some() => vec![node],
        Value::Scalar { .. } | Value::Table(_) => {
            wrong(node, &format!("{what} is a list"), findings);
            Vec::new()
        }
    }
}

/// Reads the texts of a list.
pub(crate) fn texts<'a>(node: &'a Node, what: &str, findings: &mut Findings) -> Vec<At<&'a str>> {
    let items = items(node, what, findings);
    items.into_iter().filter_map(|item| text(item, "an entry", findings)).collect()
}

/// Reads `true` or `false`.
pub(crate) fn flag(node: &Node, what: &str, findings: &mut Findings) -> Option<bool> {
    match &node.value {
        Value::Scalar { text, plain: true } if text == "true" => Some(true),
        Value::Scalar { text, plain: true } if text == "false" => Some(false),
        Value::Scalar { .. } | Value::List(_) | Value::Table(_) => {
            let message = format!("{} is true or false.", capitalised(what));
            findings.error(node.at, Code::WrongType, message, "Without quotes.");
            None
        }
    }
}

/// Reads a whole number within bounds.
pub(crate) fn number(
    node: &Node,
    what: &str,
    bounds: std::ops::RangeInclusive<u64>,
    findings: &mut Findings,
) -> Option<u64> {
    let found = node.text().and_then(|text| text.parse().ok()).filter(|it| bounds.contains(it));
    if found.is_none() {
        let message =
            format!("{what} is a whole number from {} to {}.", bounds.start(), bounds.end());
        findings.error(node.at, Code::BadValue, message, "");
    }
    found
}

/// Reads one of a few words.
pub(crate) fn word<T: Copy>(
    node: &Node,
    what: &str,
    words: &[(&'static str, T)],
    findings: &mut Findings,
) -> Option<T> {
    let given = text(node, what, findings)?;
    let found = words.iter().find(|(word, _)| *word == given.value).map(|&(_, value)| value);
    if found.is_none() {
        let names: Vec<_> = words.iter().map(|&(word, _)| word).collect();
        findings.error(
            given.at,
            Code::BadValue,
            format!(
                "{} is one of {}, and not `{}`.",
                capitalised(what),
                names.join(", "),
                shown(given.value)
            ),
            nearest(given.value, names.iter().copied()).unwrap_or_default(),
        );
    }
    found
}
