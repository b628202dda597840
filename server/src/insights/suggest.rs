//! Which alias, macro or rule would save typing or asking. A suggestion changes nothing: a person runs its command.

use std::collections::{BTreeMap, BTreeSet};

use orion_catalog::{RunsOn, find};
use orion_domain::{CallId, CallState, Digest, ErrorCode, visible};
use serde_json::{Map, Value};

use super::succeeded;
use crate::store::{CallRow, Store, StoreError};

/// How often the same call is made before an alias is suggested.
const MIN_EQUAL_CALLS: usize = 5;
/// How often the same calls follow one another before a macro is suggested.
const MIN_EQUAL_SEQUENCES: usize = 3;
/// How many calls of a tool on a device are approved before a rule is suggested.
const MIN_APPROVED: usize = 5;
/// The longest sequence that is looked for.
const MAX_SEQUENCE: usize = 4;
/// The longest time between two calls of a sequence, in milliseconds.
const MAX_GAP_MS: i64 = 10 * 60_000;
/// The most suggestions.
const MAX_SUGGESTIONS: usize = 20;

/// What is suggested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SuggestionKind {
    /// An alias for a call that is made again and again.
    Alias,
    /// A macro for calls that follow one another again and again.
    Macro,
    /// A rule for calls that are approved again and again.
    Rule,
}

/// A suggestion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suggestion {
    /// What is suggested.
    pub(crate) kind: SuggestionKind,
    /// The person whom it would help.
    pub(crate) user: String,
    /// What was seen, a sentence.
    pub(crate) reason: String,
    /// A command that does it. Empty where a person has to write a rule.
    pub(crate) command: String,
    /// How many times that was.
    pub(crate) count: usize,
    /// Calls whose arguments the command has.
    calls: Vec<CallId>,
}

/// What equal calls have in common.
type Key<'a> = (&'a str, String, Digest);

fn key(row: &CallRow) -> Key<'_> {
    let device = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
    (&row.tool, device, row.arguments_digest)
}

/// Returns suggestions from calls, which are the newest first.
pub(super) fn of(rows: &[CallRow]) -> Vec<Suggestion> {
    let mut persons: BTreeMap<&str, Vec<&CallRow>> = BTreeMap::new();
    for row in rows.iter().rev() {
        persons.entry(row.caller.user.as_str()).or_default().push(row);
    }
    let mut found = Vec::new();
    for (user, rows) in persons {
        found.extend(macros(user, &rows));
        found.extend(aliases(user, &rows));
        found.extend(rules(user, &rows));
    }
    found.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    found.truncate(MAX_SUGGESTIONS);
    found
}

/// Returns whether a call can be a part of a macro or stand behind an alias: it was made on a device, and succeeded.
fn is_repeatable(row: &CallRow) -> bool {
    succeeded(row)
        && row.plan.is_none()
        && find(&row.tool)
            .is_none_or(|(spec, _)| spec.runs_on == RunsOn::Device && spec.secrets.is_empty())
}

fn aliases(user: &str, rows: &[&CallRow]) -> Vec<Suggestion> {
    let mut equal: BTreeMap<Key<'_>, Vec<CallId>> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_repeatable(row)) {
        equal.entry(key(row)).or_default().push(row.id);
    }
    let often = equal.into_iter().filter(|(_, calls)| calls.len() >= MIN_EQUAL_CALLS);
    let suggestion = |((tool, device, _), calls): (Key<'_>, Vec<CallId>)| Suggestion {
        kind: SuggestionKind::Alias,
        user: user.to_owned(),
        reason: format!("{user} made the same call of {tool} on {device} {} times.", calls.len()),
        command: format!("orion aliases set NAME {tool}"),
        count: calls.len(),
        calls: calls.last().copied().into_iter().collect(),
    };
    often.map(suggestion).collect()
}

fn macros(user: &str, rows: &[&CallRow]) -> Vec<Suggestion> {
    let rows: Vec<_> = rows.iter().filter(|row| is_repeatable(row)).collect();
    let (mut found, mut covered) = (Vec::new(), BTreeSet::new());
    // A long sequence says what its parts would.
    for length in (2..=MAX_SEQUENCE).rev() {
        let mut equal: BTreeMap<Vec<Key<'_>>, Vec<usize>> = BTreeMap::new();
        for (start, window) in rows.windows(length).enumerate() {
            let is_close = window.windows(2).all(|pair| match pair {
                [one, next] => next.created_at - one.created_at <= MAX_GAP_MS,
                _ => false,
            });
            let keys: Vec<_> = window.iter().map(|row| key(row)).collect();
            let distinct: BTreeSet<_> = keys.iter().collect();
            if !is_close || distinct.len() != length {
                continue;
            }
            let starts = equal.entry(keys).or_default();
            // Sequences that overlap count once.
            if starts.last().is_none_or(|last| last + length <= start) {
                starts.push(start);
            }
        }
        for (keys, starts) in equal {
            let is_covered = keys.iter().all(|key| covered.contains(key));
            let Some(last) = starts.last().filter(|_| starts.len() >= MIN_EQUAL_SEQUENCES) else {
                continue;
            };
            if is_covered {
                continue;
            }
            let tools: Vec<_> =
                keys.iter().map(|(tool, device, _)| format!("{tool} on {device}")).collect();
            let calls = rows.get(*last..last + length).unwrap_or_default();
            found.push(Suggestion {
                kind: SuggestionKind::Macro,
                user: user.to_owned(),
                reason: format!(
                    "{user} made these calls after one another {} times: {}.",
                    starts.len(),
                    tools.join(", ")
                ),
                command: "orion macros save NAME".to_owned(),
                count: starts.len(),
                calls: calls.iter().map(|row| row.id).collect(),
            });
            covered.extend(keys);
        }
    }
    found
}

fn rules(user: &str, rows: &[&CallRow]) -> Vec<Suggestion> {
    let mut asked: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.approval.is_some() && row.state.is_closed()) {
        let device = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
        let (approved, other) = asked.entry((&row.tool, device)).or_default();
        let is_refused = matches!(
            row.code,
            Some(ErrorCode::ApprovalRejected | ErrorCode::ApprovalExpired | ErrorCode::Cancelled)
        ) || row.state == CallState::Denied;
        if is_refused { *other += 1 } else { *approved += 1 }
    }
    let always =
        asked.into_iter().filter(|(_, (approved, other))| *approved >= MIN_APPROVED && *other == 0);
    let suggestion = |((tool, device), (approved, _)): ((&str, String), (usize, usize))| {
        Suggestion {
            kind: SuggestionKind::Rule,
            user: user.to_owned(),
            reason: format!(
                "All {approved} calls of {tool} on {device} by {user} that needed approval were approved. A narrow rule of the policy could pre-approve what they have in common."
            ),
            command: String::new(),
            count: approved,
            calls: Vec::new(),
        }
    };
    always.map(suggestion).collect()
}

impl Suggestion {
    /// Puts the arguments of the calls into the command, as a shell takes them.
    pub(super) async fn complete(&mut self, store: &Store) -> Result<(), StoreError> {
        let mut steps = Vec::new();
        for call in std::mem::take(&mut self.calls) {
            let row = store.call(call).await?;
            let arguments: Map<String, Value> =
                serde_json::from_slice(&row.arguments).map_err(|_| StoreError::Corrupt)?;
            let device = row.device.map(|(_, name)| name.to_string());
            steps.push((row.tool, device, arguments));
        }
        match (self.kind, &steps[..]) {
            (SuggestionKind::Alias, [(_, _, arguments)]) => {
                let mut arguments = arguments.clone();
                // An alias confirms nothing.
                arguments.remove("confirm");
                self.command.push_str(&format!(" --json {}", quoted(&Value::Object(arguments))));
            }
            (SuggestionKind::Macro, steps) => {
                let calls: Vec<_> = steps
                    .iter()
                    .map(|(tool, device, arguments)| {
                        serde_json::json!({"tool": tool, "device": device, "arguments": arguments})
                    })
                    .collect();
                let all = serde_json::json!({ "calls": calls });
                self.command.push_str(&format!(" {}", quoted(&all)));
            }
            (SuggestionKind::Alias | SuggestionKind::Rule, _) => {}
        }
        Ok(())
    }
}

/// Returns a value as one word of a shell.
fn quoted(value: &Value) -> String {
    format!("'{}'", visible(&value.to_string()).replace('\'', r"'\''"))
}
