//! Conditions of a rule on the arguments of a call: by name, typed by the tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::question::Question;

/// A condition on one argument. Where the argument is a list, a rule that tightens matches when one item
/// does, a pre-approval when all do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentCondition {
    /// The argument's own name, never that of an alias.
    pub name: String,
    /// What its value must be.
    pub test: ArgumentTest,
}

/// What the value of an argument must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentTest {
    /// One of these.
    Is(Vec<Value>),
    /// None of these. For a rule that tightens, an argument that is not given fits.
    Not(Vec<Value>),
    /// A number above this.
    Above(i64),
    /// A number below this.
    Below(i64),
    /// A text that fits this pattern, in which `*` stands for any text.
    Matches(String),
}

impl ArgumentTest {
    /// Returns whether a value fits. Where `folds_case`, the case of texts is ignored.
    fn fits(&self, value: &Value, folds_case: bool) -> bool {
        match self {
            Self::Is(values) => values.iter().any(|wanted| is_same(wanted, value, folds_case)),
            // Where case counts for a rule, it is one that allows: then what is nearly one of these is one.
            Self::Not(values) if folds_case => !values.contains(value),
            Self::Not(values) => !values.iter().any(|other| is_same(other, value, true)),
            Self::Above(limit) => value.as_f64().is_some_and(|number| number > as_f64(*limit)),
            Self::Below(limit) => value.as_f64().is_some_and(|number| number < as_f64(*limit)),
            Self::Matches(pattern) => value.as_str().is_some_and(|text| {
                if folds_case {
                    matches(&pattern.to_lowercase(), &text.to_lowercase())
                } else {
                    matches(pattern, text)
                }
            }),
        }
    }
}

impl ArgumentCondition {
    /// Returns whether the arguments of a call fit. `tightens` is whether the rule does.
    fn fits(&self, arguments: &Value, tightens: bool) -> bool {
        let fits = |value: &Value| self.test.fits(value, tightens);
        match arguments.get(&self.name) {
            // For a pre-approval, what is not given may be anything.
            None | Some(Value::Null) => tightens && matches!(self.test, ArgumentTest::Not(_)),
            Some(Value::Array(items)) if tightens && items.is_empty() => {
                matches!(self.test, ArgumentTest::Not(_))
            }
            Some(Value::Array(items)) if tightens => items.iter().any(fits),
            Some(Value::Array(items)) => !items.is_empty() && items.iter().all(fits),
            Some(value) => fits(value),
        }
    }
}

/// Returns whether the arguments of a call fit every condition. Before they are read, they fit none. Where they
/// are not those of the rule's tool, as in a redo, they fit those of a rule that tightens.
pub(super) fn fit(
    conditions: &[ArgumentCondition],
    question: &Question<'_>,
    tightens: bool,
) -> bool {
    if conditions.is_empty() {
        return true;
    }
    if question.touches.is_none() {
        return false;
    }
    match question.arguments.filter(|_| question.tool.called.is_none()) {
        Some(arguments) => conditions.iter().all(|it| it.fits(arguments.values(), tightens)),
        None => tightens,
    }
}

fn is_same(wanted: &Value, found: &Value, folds_case: bool) -> bool {
    match (wanted, found) {
        (Value::String(wanted), Value::String(found)) if folds_case => {
            wanted == found || wanted.to_lowercase() == found.to_lowercase()
        }
        (Value::Number(wanted), Value::Number(found)) => wanted.as_f64() == found.as_f64(),
        _ => wanted == found,
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits that people write are far below 2^53")]
const fn as_f64(number: i64) -> f64 {
    number as f64
}

/// Returns whether a text fits a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pattern_has_any_text_where_it_has_a_star() {
        for (pattern, text, expected) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("*b*", "abc", true),
            ("*x*", "abc", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*ab*ab*", "abab", true),
            ("*ab*ab*", "aba", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn each_condition_is_about_one_argument_by_its_type() {
        let arguments = json!({
            "flag": true, "count": 5, "text": "Secret plan", "list": ["cpu", "Memory"], "none": null, "empty": [],
        });
        let fits = |name: &str, test: &Value, tightens: bool| {
            let test: ArgumentTest = serde_json::from_value(test.clone()).unwrap();
            ArgumentCondition { name: name.to_owned(), test }.fits(&arguments, tightens)
        };
        for (name, test, tightening, preapproving) in [
            ("flag", json!({"is": [true]}), true, true),
            ("flag", json!({"is": [false]}), false, false),
            ("count", json!({"above": 4}), true, true),
            ("count", json!({"above": 5}), false, false),
            ("count", json!({"below": 6}), true, true),
            ("text", json!({"above": 1}), false, false),
            ("text", json!({"matches": "*PLAN"}), true, false),
            ("text", json!({"is": ["secret plan"]}), true, false),
            ("text", json!({"not": ["secret plan"]}), true, false),
            ("text", json!({"not": ["other"]}), true, true),
            ("list", json!({"is": ["cpu"]}), true, false),
            ("list", json!({"is": ["cpu", "Memory"]}), true, true),
            ("list", json!({"not": ["cpu"]}), true, false),
            ("none", json!({"is": [1]}), false, false),
            ("none", json!({"not": [1]}), true, false),
            ("empty", json!({"not": ["cpu"]}), true, false),
            ("empty", json!({"is": ["cpu"]}), false, false),
            ("missing", json!({"not": [1]}), true, false),
        ] {
            assert_eq!(fits(name, &test, true), tightening, "{name} {test}");
            assert_eq!(fits(name, &test, false), preapproving, "{name} {test}");
        }
    }
}
