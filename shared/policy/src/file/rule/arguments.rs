//! The conditions of a rule on arguments, typed by the schemas of its tools.

use orion_domain::rule::{ArgumentCondition, ArgumentTest};
use serde_json::Value as Json;

use crate::finding::{Code, Findings, did_you_mean, shown};
use crate::read::{self, Fields};
use crate::yaml::{Key, Node, Value};

/// The longest pattern, in characters.
const MAX_PATTERN_CHARS: usize = 200;

/// Reads the conditions. Every tool of the rule must have each of the arguments.
pub(super) fn read(
    node: &Node,
    tools: &[String],
    findings: &mut Findings,
) -> Vec<ArgumentCondition> {
    let Value::Table(entries) = &node.value else {
        read::wrong(node, "`arguments` is a table", findings);
        return Vec::new();
    };
    if tools.is_empty() {
        let message = "A rule with `arguments` names the tools that have them.";
        findings.error(node.at, Code::Missing, message, "Write `tools: [write_file]`.");
        return Vec::new();
    }
    let conditions = entries.iter().filter_map(|(key, node)| {
        let kinds = kinds(key, tools, findings)?;
        let test = test(key, node, &kinds, findings)?;
        Some(ArgumentCondition { name: key.text.clone(), test })
    });
    conditions.collect()
}

/// What the schema of an argument accepts. An item of a list counts as the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Kinds {
    flag: bool,
    number: bool,
    text: bool,
    /// The only texts, where the schema lists them.
    words: Vec<String>,
}

/// Returns what the tools accept for an argument, and reports a tool that does not have it.
fn kinds(key: &Key, tools: &[String], findings: &mut Findings) -> Option<Kinds> {
    let mut kinds = Kinds::default();
    for tool in tools {
        let (spec, _) = orion_catalog::find(tool)?;
        let schema = spec.arguments_schema();
        let properties = schema.get("properties").and_then(Json::as_object);
        let Some(property) = properties.and_then(|it| it.get(&key.text)) else {
            let names: Vec<_> =
                properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            let message = format!("{tool} has no argument `{}`.", shown(&key.text));
            let hint = did_you_mean(&key.text, names.iter().copied());
            findings.error(key.at, Code::UnknownArgument, message, hint);
            return None;
        };
        accept(property, &schema, &mut kinds, 0);
    }
    Some(kinds)
}

fn accept(property: &Json, schema: &Json, kinds: &mut Kinds, depth: u8) {
    if depth > 8 {
        return;
    }
    if let Some(reference) = property.get("$ref").and_then(Json::as_str) {
        let found = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
        if let Some(found) = found {
            accept(found, schema, kinds, depth + 1);
        }
    }
    for list in ["anyOf", "oneOf"] {
        for one in property.get(list).and_then(Json::as_array).into_iter().flatten() {
            accept(one, schema, kinds, depth + 1);
        }
    }
    let words = property.get("enum").and_then(Json::as_array).into_iter().flatten();
    let words = words.chain(property.get("const")).filter_map(Json::as_str);
    kinds.words.extend(words.map(str::to_owned));
    let types = property.get("type");
    let types = types.map(|it| it.as_array().cloned().unwrap_or_else(|| vec![it.clone()]));
    for kind in types.into_iter().flatten() {
        match kind.as_str() {
            Some("boolean") => kinds.flag = true,
            Some("integer" | "number") => kinds.number = true,
            Some("string") => kinds.text = true,
            Some("array") => {
                if let Some(items) = property.get("items") {
                    accept(items, schema, kinds, depth + 1);
                }
            }
            // Null is no value, and what a table holds is not compared.
            Some(_) | None => {}
        }
    }
    if !kinds.words.is_empty() {
        kinds.text = true;
    }
}

fn test(key: &Key, node: &Node, kinds: &Kinds, findings: &mut Findings) -> Option<ArgumentTest> {
    if !matches!(node.value, Value::Table(_)) {
        return values(key, node, kinds, findings).map(ArgumentTest::Is);
    }
    let mut fields = Fields::of(node, "a condition", findings)?;
    let not = fields.take(&["not"], findings);
    let above = fields.take(&["above"], findings);
    let below = fields.take(&["below"], findings);
    let matches = fields.take(&["matches"], findings);
    fields.finish(findings);
    let given = [not, above, below, matches].iter().flatten().count();
    if given != 1 {
        let message =
            format!("The condition on `{}` is one of not, above, below and matches.", key.text);
        findings.error(node.at, Code::BadValue, message, "Write a value, or { above: 10 }.");
        return None;
    }
    if let Some(node) = not {
        return values(key, node, kinds, findings).map(ArgumentTest::Not);
    }
    if let Some(node) = matches {
        let text = read::text(node, "`matches`", findings)?;
        if text.value.chars().count() > MAX_PATTERN_CHARS || !kinds.text {
            let message = if kinds.text {
                format!("A pattern has at most {MAX_PATTERN_CHARS} characters.")
            } else {
                format!("`{}` is no text, so no pattern fits it.", key.text)
            };
            findings.error(text.at, Code::BadValue, message, "");
            return None;
        }
        return Some(ArgumentTest::Matches(text.value.to_owned()));
    }
    let node = above.or(below)?;
    if !kinds.number {
        let message = format!("`{}` is no number.", key.text);
        findings.error(node.at, Code::WrongType, message, "Write the value that is meant.");
        return None;
    }
    let limit = read::number(node, "a limit", 0..=1 << 53, findings)?;
    let limit = i64::try_from(limit).ok()?;
    Some(if above.is_some() { ArgumentTest::Above(limit) } else { ArgumentTest::Below(limit) })
}

/// Reads one value or a list of them.
fn values(key: &Key, node: &Node, kinds: &Kinds, findings: &mut Findings) -> Option<Vec<Json>> {
    let items = read::items(node, &format!("`{}`", key.text), findings);
    if items.is_empty() {
        let message = format!("There is no value for `{}`.", key.text);
        findings.error(node.at, Code::BadValue, message, "Leave the argument out to mean any.");
        return None;
    }
    items.into_iter().map(|item| value(key, item, kinds, findings)).collect()
}

fn value(key: &Key, node: &Node, kinds: &Kinds, findings: &mut Findings) -> Option<Json> {
    let Value::Scalar { text, plain } = &node.value else {
        read::wrong(node, &format!("a value of `{}` is plain", key.text), findings);
        return None;
    };
    match text.as_str() {
        "true" if *plain && kinds.flag => return Some(Json::Bool(true)),
        "false" if *plain && kinds.flag => return Some(Json::Bool(false)),
        _ => {}
    }
    if *plain
        && kinds.number
        && let Ok(number) = serde_json::from_str::<serde_json::Number>(text)
    {
        return Some(Json::Number(number));
    }
    if kinds.text {
        if !kinds.words.is_empty() && !kinds.words.contains(text) {
            let message = format!("`{}` is no value of `{}`.", shown(text), key.text);
            let hint = did_you_mean(text, kinds.words.iter().map(String::as_str));
            findings.error(node.at, Code::BadValue, message, hint);
            return None;
        }
        return Some(Json::String(text.clone()));
    }
    let wanted = match kinds {
        Kinds { flag: true, number: true, .. } => "true, false or a number",
        Kinds { flag: true, .. } => "true or false, without quotes",
        Kinds { number: true, .. } => "a number, without quotes",
        Kinds { .. } => "no value that a rule can compare",
    };
    let message = format!("`{}` is {wanted}.", key.text);
    findings.error(node.at, Code::WrongType, message, "");
    None
}
