//! Parses INI as Git, Python, systemd and desktops write it. There is no standard, so the parser assumes
//! little: values are text as written, quotes included.
//!
//! A repeated key or section becomes a list. A line continues the value above if it is indented more than the
//! key, or if the previous line ends with `\`.

use serde_json::{Map, Value};

use super::value::{Budget, add, too_much};
use super::{Position, Reading};

pub(super) fn read(text: &str) -> Reading {
    let mut reader = Reader::default();
    let mut budget = Budget::new();
    for (number, line) in text.lines().enumerate() {
        if !budget.take_text(line) {
            return too_much();
        }
        if let Err(what) = reader.line(line) {
            let column = line.chars().take_while(|it| it.is_whitespace()).count() + 1;
            return Position { line: number + 1, column }.broken(what);
        }
    }
    Reading::Values(Value::Object(reader.end()))
}

#[derive(Default)]
struct Reader {
    whole: Map<String, Value>,
    section: Option<(String, Map<String, Value>)>,
    property: Option<Property>,
}

/// A key and its value so far.
struct Property {
    key: String,
    value: Option<String>,
    /// Indentation of the key, in bytes.
    indent: usize,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let text = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(property) = &mut self.property
            && let Some(value) = &mut property.value
            && (value.ends_with('\\') || (indent > property.indent && !text.is_empty()))
        {
            if !text.starts_with(['#', ';']) {
                value.push('\n');
                value.push_str(text);
            }
            return Ok(());
        }
        if text.is_empty() || text.starts_with(['#', ';']) {
            return Ok(());
        }
        self.end_property();
        if let Some(rest) = text.strip_prefix('[') {
            let (name, after) = rest.rsplit_once(']').ok_or("a section's name has no end")?;
            if !(after.is_empty() || after.trim_start().starts_with(['#', ';'])) {
                return Err("something follows the name of a section");
            }
            self.end_section();
            self.section = Some((name.trim().to_owned(), Map::new()));
            return Ok(());
        }
        // In `nameserver fe80::1` the colon separates nothing.
        let colon = || text.split_once(':').filter(|(key, _)| is_word(key.trim_end()));
        let split = text.split_once('=').or_else(colon);
        let (key, value) = match split {
            Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
            None if self.section.is_some() && is_word(text) => (text, None),
            None => return Err("neither a section nor a key with its value"),
        };
        if key.is_empty() {
            return Err("a value has no key");
        }
        self.property = Some(Property { key: key.to_owned(), value, indent });
        Ok(())
    }

    fn end_property(&mut self) {
        if let Some(Property { key, value, .. }) = self.property.take() {
            let map = self.section.as_mut().map_or(&mut self.whole, |(_, map)| map);
            add(map, &key, value.map_or(Value::Null, Value::from));
        }
    }

    fn end_section(&mut self) {
        if let Some((name, map)) = self.section.take() {
            add(&mut self.whole, &name, Value::Object(map));
        }
    }

    fn end(mut self) -> Map<String, Value> {
        self.end_property();
        self.end_section();
        self.whole
    }
}

/// Returns whether a line may be a key without a value, such as `skip-networking`.
fn is_word(text: &str) -> bool {
    text.chars().all(|it| it.is_alphanumeric() || matches!(it, '-' | '_' | '.'))
}
