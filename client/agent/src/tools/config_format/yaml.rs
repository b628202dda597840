//! Parses YAML 1.2 by events, so that neither depth nor text repeated by anchors exceeds the limits. Keys
//! become text; `<<` is an ordinary key; several documents become a list.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};
use serde_json::{Map, Value};

use super::value::{Budget, MAX_DEPTH, Weight, float, too_much};
use super::{Position, Reading};

/// Maximum number of `,`, `[` and `{` in a file. The library keeps a whole `[…]` in memory until it ends,
/// with about three hundred bytes for each.
const MAX_IN_BRACKETS: usize = 20_000;

pub(super) fn read(text: &str) -> Reading {
    if memchr::memchr3_iter(b',', b'[', b'{', text.as_bytes()).count() > MAX_IN_BRACKETS {
        return Reading::TooMuch(format!(
            "It holds more than {MAX_IN_BRACKETS} `,`, `[` and `{{`, up to which YAML is read as values."
        ));
    }
    let mut reader = Reader::new();
    let mut events = Parser::new_from_str(text);
    while let Some(event) = events.next_event() {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => return position(error.marker()).broken(error.info()),
        };
        match reader.event(event) {
            Ok(()) => {}
            Err(Stop::TooMuch) => return too_much(),
            Err(Stop::Broken(what)) => return position(&span.start).broken(&what),
        }
    }
    let mut documents = reader.documents;
    Reading::Values(match documents.len() {
        0 | 1 => documents.pop().unwrap_or(Value::Null),
        _ => Value::Array(documents),
    })
}

fn position(at: &Marker) -> Position {
    Position { line: at.line().max(1), column: at.col() + 1 }
}

enum Stop {
    TooMuch,
    Broken(String),
}

/// A list or map that has not ended.
struct Open {
    anchor: usize,
    weight: Weight,
    values: Values,
}

enum Values {
    List(Vec<Value>),
    /// A map, and the key whose value comes next.
    Map(Map<String, Value>, Option<String>),
}

struct Reader {
    budget: Budget,
    open: Vec<Open>,
    anchors: HashMap<usize, (Value, Weight)>,
    documents: Vec<Value>,
}

impl Reader {
    fn new() -> Self {
        Self {
            budget: Budget::new(),
            open: Vec::new(),
            anchors: HashMap::new(),
            documents: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) -> Result<(), Stop> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.anchors.clear();
                Ok(())
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (value, weight) = known.ok_or_else(|| {
                    Stop::Broken("this repeats what it is part of, without end".to_owned())
                })?;
                self.pay(weight)?;
                self.put(value, weight, 0)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let weight = Weight { values: 1, text: text.len(), depth: 1 };
                // A key keeps the text as written.
                let is_key = self.open.last().is_some_and(|open| open.waits_for_key());
                let value = if is_key {
                    Value::from(text.as_ref())
                } else {
                    scalar(&text, style, tag.as_deref())
                };
                self.pay(weight)?;
                self.put(value, weight, anchor)
            }
            Event::SequenceStart(anchor, _) => self.begin(anchor, Values::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.begin(anchor, Values::Map(Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { anchor, weight, values }) = self.open.pop() else { return Ok(()) };
                let value = match values {
                    Values::List(items) => Value::Array(items),
                    Values::Map(map, _) => Value::Object(map),
                };
                self.pay(Weight { values: 1, text: 0, depth: 1 })?;
                let weight =
                    Weight { values: weight.values + 1, depth: weight.depth + 1, ..weight };
                self.put(value, weight, anchor)
            }
        }
    }

    fn begin(&mut self, anchor: usize, values: Values) -> Result<(), Stop> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Stop::TooMuch);
        }
        self.open.push(Open { anchor, weight: Weight::default(), values });
        Ok(())
    }

    fn pay(&mut self, weight: Weight) -> Result<(), Stop> {
        if self.budget.take(weight) { Ok(()) } else { Err(Stop::TooMuch) }
    }

    /// Adds a complete value to the open list or map, or to the documents.
    fn put(&mut self, value: Value, weight: Weight, anchor: usize) -> Result<(), Stop> {
        if self.open.len() + weight.depth > MAX_DEPTH {
            return Err(Stop::TooMuch);
        }
        if anchor != 0 {
            self.pay(weight)?;
            self.anchors.insert(anchor, (value.clone(), weight));
        }
        match self.open.last_mut() {
            Some(open) => open.add(value, weight),
            None => {
                self.documents.push(value);
                Ok(())
            }
        }
    }
}

impl Open {
    fn waits_for_key(&self) -> bool {
        matches!(self.values, Values::Map(_, None))
    }

    fn add(&mut self, value: Value, weight: Weight) -> Result<(), Stop> {
        self.weight.values += weight.values;
        self.weight.text += weight.text;
        self.weight.depth = self.weight.depth.max(weight.depth);
        match &mut self.values {
            Values::List(items) => items.push(value),
            Values::Map(map, key) => match key.take() {
                Some(key) => drop(map.insert(key, value)),
                None => {
                    let text = match value {
                        Value::String(text) => text,
                        other @ (Value::Null
                        | Value::Bool(_)
                        | Value::Number(_)
                        | Value::Array(_)
                        | Value::Object(_)) => other.to_string(),
                    };
                    if map.contains_key(&text) {
                        let shown: String = text.chars().take(60).collect();
                        return Err(Stop::Broken(format!("the key {shown} is there twice")));
                    }
                    *key = Some(text);
                }
            },
        }
        Ok(())
    }
}

/// Returns the value of a scalar: by its tag, or by its spelling if it has no tag.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let plain = match tag {
        Some(tag) if tag.is_yaml_core_schema() => tag.suffix != "str",
        Some(_) => false,
        None => style == ScalarStyle::Plain,
    };
    if !plain {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::from(true),
        "false" | "False" | "FALSE" => return Value::from(false),
        _ => {}
    }
    number(text).unwrap_or_else(|| Value::from(text))
}

/// Parses a number. Returns `None` for text that would lose digits: `0644` is most likely a mode, and a
/// number that does not fit stays text.
fn number(text: &str) -> Option<Value> {
    let radix = [("0x", 16), ("0o", 8)];
    for (prefix, radix) in radix {
        if let Some(digits) = text.strip_prefix(prefix) {
            let number = digits.chars().all(|it| it.is_digit(radix));
            return u64::from_str_radix(digits, radix).ok().filter(|_| number).map(Value::from);
        }
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let first = digits.strip_prefix('.').unwrap_or(digits);
    if !first.starts_with(|it: char| it.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        if digits.len() > 1 && digits.starts_with('0') {
            return None;
        }
        let whole = text.parse::<i64>().map(Value::from);
        return whole.or_else(|_| text.parse::<u64>().map(Value::from)).ok();
    }
    let known = |byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    let number: f64 = text.parse().ok().filter(|_| text.bytes().all(known))?;
    Some(float(number, text))
}
