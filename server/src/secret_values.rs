//! Hides keys, tokens and passwords in the results that a model or a program is given, and in the log. What is stored
//! stays as it is.
//!
//! A mark names the kind, and a short keyed digest, so that the same secret is recognised again and nobody can try
//! guesses against it.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::{Match, Regex};
use ring::hmac;
use serde::Deserialize;
use serde_json::Value;

/// How many levels of a result are read. What is deeper is left out.
const MAX_DEPTH: usize = 64;

/// The longest name of a field, and the longest value of it, that are read together.
const MAX_NAME_BYTES: usize = 64;
const MAX_VALUE_BYTES: usize = 256;

/// What stands in the place of a text that cannot be examined.
const UNREADABLE: &str = "[hidden: it could not be examined for secrets]";

/// Words that a placeholder has, and no secret.
const PLACEHOLDERS: [&str; 10] = [
    "example",
    "changeme",
    "change_me",
    "placeholder",
    "your",
    "xxxx",
    "****",
    "....",
    "dummy",
    "1234567",
];

/// The rules as the file has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    rules: Vec<WrittenRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRule {
    kind: String,
    pattern: String,
    #[serde(default)]
    guess: bool,
}

/// A rule that is ready to search.
#[derive(Debug)]
struct Rule {
    kind: String,
    pattern: Regex,
    guess: bool,
}

/// The rules and the key of the marks, made once for the process. None where they cannot be made.
static HIDING: LazyLock<Option<(Vec<Rule>, hmac::Key)>> = LazyLock::new(|| {
    let made = rules().and_then(|rules| {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &ring::rand::SystemRandom::new());
        Ok((rules, key.map_err(|_| anyhow::anyhow!("there is no randomness"))?))
    });
    made.inspect_err(|error| tracing::error!(%error, "secrets in results cannot be found")).ok()
});

fn rules() -> anyhow::Result<Vec<Rule>> {
    let file: RuleFile = toml::from_str(include_str!("secret_values/rules.toml"))?;
    let compiled = file.rules.into_iter().map(|rule| {
        let WrittenRule { kind, pattern, guess } = rule;
        Ok(Rule { kind, pattern: Regex::new(&format!("(?-u){pattern}"))?, guess })
    });
    compiled.collect()
}

/// Makes the rules and the key of the marks ready.
pub(crate) fn prepare() {
    LazyLock::force(&HIDING);
}

/// Hides the secrets in every text of a value, the names of its fields included.
pub(crate) fn hide_in(value: &mut Value) {
    hide_below(value, MAX_DEPTH);
}

fn hide_below(value: &mut Value, levels: usize) {
    let Some(levels) = levels.checked_sub(1) else {
        *value = UNREADABLE.into();
        return;
    };
    match value {
        Value::String(text) => {
            if let Some(hidden) = hidden(text) {
                *text = hidden;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_below(item, levels)),
        Value::Object(fields) => {
            let each = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                if let Value::String(text) = &mut value
                    && let Some(hidden) = hidden_as(&name, text)
                {
                    *text = hidden;
                }
                hide_below(&mut value, levels);
                (hidden(&name).unwrap_or(name), value)
            });
            fields.extend(each);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the value of a field hidden, where its name says that it is a secret. None where it does not.
fn hidden_as(name: &str, value: &str) -> Option<String> {
    if name.len() > MAX_NAME_BYTES || value.len() > MAX_VALUE_BYTES {
        return None;
    }
    let before = format!("\"{name}\": \"");
    let shown = hidden(&format!("{before}{value}\""))?;
    shown.strip_prefix(&before)?.strip_suffix('"').map(str::to_owned)
}

/// Returns a text with its secrets hidden. None where there are none.
pub(crate) fn hidden(text: &str) -> Option<String> {
    let Some((rules, key)) = &*HIDING else { return Some(UNREADABLE.to_owned()) };
    let mut found = Vec::new();
    for rule in rules {
        let is_secret = |secret: &Match<'_>| !rule.guess || looks_random(secret.as_str());
        if rule.pattern.captures_len() == 1 {
            let matches = rule.pattern.find_iter(text).filter(is_secret);
            found.extend(matches.map(|secret| (secret.range(), rule)));
        } else {
            let groups = rule.pattern.captures_iter(text);
            let secrets = groups.filter_map(|groups| groups.name("secret")).filter(is_secret);
            found.extend(secrets.map(|secret| (secret.range(), rule)));
        }
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let (mut shown, mut end) = (String::with_capacity(text.len()), 0);
    for (range, rule) in found {
        if range.start >= end {
            shown.push_str(text.get(end..range.start).unwrap_or_default());
            let secret = text.get(range.clone()).unwrap_or_default();
            shown.push_str(&mark(&rule.kind, secret, key));
        }
        // A secret that begins inside another one ends with it, or goes on behind it: both are hidden.
        end = end.max(range.end);
    }
    shown.push_str(text.get(end..).unwrap_or_default());
    Some(shown)
}

fn mark(kind: &str, secret: &str, key: &hmac::Key) -> String {
    let tag = hmac::sign(key, secret.as_bytes());
    let short = tag.as_ref().get(..4).unwrap_or_default();
    format!("[secret: {kind}, id {}]", hex::encode(short))
}

/// Returns whether a value is no placeholder, and no word or path: it has digits and letters in a mixture.
fn looks_random(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    if PLACEHOLDERS.iter().any(|word| lower.contains(word)) {
        return false;
    }
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let distinct = value.bytes().collect::<BTreeSet<_>>().len();
    digits > 0 && letters > 1 && distinct >= 6
}
