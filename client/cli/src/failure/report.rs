//! A failure in lines for people: what happened, the facts, and what to do.

use jiff::tz::TimeZone;
use orion_domain::{Actor, Hint, ToolError, without_system_number};
use orion_usage::GivenOptions;
use serde_json::Value;

use crate::text;

/// The maximum number of characters of a fact.
const MAX_LINE_CHARS: usize = 400;
/// The maximum number of characters of a hint: a command that is cut cannot be run.
const MAX_HINT_CHARS: usize = 2_000;

/// A failure as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    /// What happened, with the code.
    pub(crate) message: String,
    /// The facts of the error, one line each.
    pub(crate) facts: Vec<String>,
    /// What to do, one line each.
    pub(crate) hints: Vec<String>,
}

impl Report {
    /// Formats a message with its code and hints; the requester's own commands have the options that were given.
    pub(crate) fn new<'a>(
        message: &str,
        code: &str,
        hints: impl IntoIterator<Item = &'a Hint>,
        options: &GivenOptions,
    ) -> Self {
        let mut is_after_admin = false;
        let hint = |hint: &Hint| {
            // Where an admin and the owner each keep a call from running, one step alone does not help.
            let also = if is_after_admin && hint.who == Actor::Owner { "and also " } else { "" };
            is_after_admin |= hint.who == Actor::Admin;
            let line = text::one_line(&format!("{also}{hint}"), MAX_HINT_CHARS);
            // What another person types is for a sign-in of theirs.
            if hint.who == Actor::Requester { options.add_to(&line) } else { line }
        };
        Self {
            message: format!("{} ({code})", text::plain(without_system_number(message).trim_end())),
            facts: Vec::new(),
            hints: hints.into_iter().map(hint).collect(),
        }
    }

    /// Formats an error of the catalogue, its times in `zone`.
    pub(crate) fn of(error: &ToolError, zone: &TimeZone, options: &GivenOptions) -> Self {
        // The message names the look-alikes.
        let shown = error.details.iter().filter(|(name, _)| *name != "look_alikes");
        let facts = shown.map(|(name, value)| {
            let is_time = name.ends_with("_at") || name.ends_with("_until");
            let shown = match value {
                Value::Number(ms) if is_time => {
                    ms.as_i64().map_or_else(|| value.to_string(), |ms| text::when(zone, ms))
                }
                Value::String(text) => text.clone(),
                Value::Array(items) if items.iter().all(Value::is_string) => {
                    items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                }
                Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_) => value.to_string(),
            };
            format!("{name}: {}", text::one_line(&shown, MAX_LINE_CHARS))
        });
        let report = Self::new(&error.message, error.code.as_str(), &error.hints, options);
        Self { facts: facts.collect(), ..report }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::ErrorCode;

    #[test]
    fn an_error_says_what_was_tried_what_is_allowed_and_what_to_do() {
        let error = ToolError::new(ErrorCode::PathNotAllowed, "/etc/passwd is outside.")
            .with("attempted_path", "/etc/passwd")
            .with("allowed_paths", vec!["/home/ann\u{1b}[2J", "/srv"])
            .with("expires_at", 1_700_000_000_000_i64)
            .with("queued_until", 1_700_000_001_000_i64)
            .with("size_bytes", 7)
            .suggesting(vec!["/srv/pass\u{9b}wd".to_owned()])
            .hint(Hint::run("grant it", "orion policy apply").by(Actor::Admin));
        assert_eq!(
            Report::of(&error, &TimeZone::UTC, &GivenOptions::none()),
            Report {
                message: "/etc/passwd is outside. (PATH_NOT_ALLOWED)".to_owned(),
                facts: vec![
                    "allowed_paths: /home/ann\u{fffd}[2J, /srv".to_owned(),
                    "attempted_path: /etc/passwd".to_owned(),
                    "expires_at: 2023-11-14 22:13:20".to_owned(),
                    "queued_until: 2023-11-14 22:13:21".to_owned(),
                    "size_bytes: 7".to_owned(),
                ],
                hints: vec![
                    "did you mean /srv/pass\u{fffd}wd?".to_owned(),
                    "grant it (an admin of this backend: orion policy apply)".to_owned(),
                ],
            }
        );
    }
}
