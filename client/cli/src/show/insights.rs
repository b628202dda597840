//! Formats the use of tools and suggestions.

use orion_wire::v1;
use serde::Serialize;

use crate::output::table;
use crate::text;

/// The use of tools for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct InsightsView {
    pub(crate) since: i64,
    pub(crate) calls: u32,
    pub(crate) truncated: bool,
    pub(crate) tools: Vec<UsageView>,
    pub(crate) devices: Vec<UsageView>,
    pub(crate) persons: Vec<UsageView>,
    pub(crate) suggestions: Vec<SuggestionView>,
}

/// How often something was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UsageView {
    pub(crate) name: String,
    pub(crate) calls: u32,
    pub(crate) succeeded: u32,
    pub(crate) denied: u32,
    pub(crate) asked: u32,
    pub(crate) median_ms: u64,
}

/// A suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SuggestionView {
    pub(crate) kind: &'static str,
    pub(crate) user: String,
    pub(crate) reason: String,
    pub(crate) command: String,
    pub(crate) count: u32,
}

impl From<v1::UsageCount> for UsageView {
    fn from(usage: v1::UsageCount) -> Self {
        let v1::UsageCount { name, calls, succeeded, denied, asked, median_ms } = usage;
        Self { name, calls, succeeded, denied, asked, median_ms }
    }
}

impl From<v1::Suggestion> for SuggestionView {
    fn from(suggestion: v1::Suggestion) -> Self {
        let kind = match suggestion.kind() {
            v1::SuggestionKind::Alias => "alias",
            v1::SuggestionKind::Macro => "macro",
            v1::SuggestionKind::Rule => "rule",
            v1::SuggestionKind::Unspecified => "unknown",
        };
        let v1::Suggestion { kind: _, user, reason, command, count } = suggestion;
        Self { kind, user, reason, command, count }
    }
}

impl From<v1::GetInsightsResponse> for InsightsView {
    fn from(response: v1::GetInsightsResponse) -> Self {
        let v1::GetInsightsResponse {
            since,
            calls,
            truncated,
            tools,
            devices,
            persons,
            suggestions,
        } = response;
        let [tools, devices, persons] =
            [tools, devices, persons].map(|list| list.into_iter().map(UsageView::from).collect());
        let suggestions = suggestions.into_iter().map(SuggestionView::from).collect();
        Self { since, calls, truncated, tools, devices, persons, suggestions }
    }
}

/// Formats the use of tools and the suggestions.
pub(crate) fn insights_page(insights: &InsightsView) -> String {
    let InsightsView { tools, devices, persons, suggestions, .. } = insights;
    let lists = [("TOOL", tools), ("DEVICE", devices), ("PERSON", persons)];
    let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let mut page: String = lists.map(|(head, list)| usage_table(head, list) + "\n\n").collect();
    for suggestion in suggestions {
        let reason = text::one_line(&suggestion.reason, 400);
        page.push_str(&format!("{}: {reason}\n", suggestion.kind));
        if !suggestion.command.is_empty() {
            page.push_str(&format!("  {}\n", text::one_line(&suggestion.command, 4000)));
        }
    }
    page.trim_end().to_owned()
}

fn usage_table(head: &str, list: &[UsageView]) -> String {
    let row = |usage: &UsageView| {
        vec![
            text::one_line(&usage.name, 64),
            usage.calls.to_string(),
            usage.succeeded.to_string(),
            usage.denied.to_string(),
            usage.asked.to_string(),
            format!("{} ms", usage.median_ms),
        ]
    };
    table(&[head, "CALLS", "SUCCEEDED", "DENIED", "ASKED", "MEDIAN"], list.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_stands_in_tables_and_suggestions_below_with_their_commands() {
        let usage = v1::UsageCount {
            name: "read_file".to_owned(),
            calls: 3,
            succeeded: 2,
            denied: 1,
            asked: 0,
            median_ms: 6,
        };
        let suggestion = v1::Suggestion {
            kind: v1::SuggestionKind::Alias.into(),
            user: "ann".to_owned(),
            reason: "ann made the same call of read_file on kiosk 5 times.".to_owned(),
            command: "orion aliases set NAME read_file --json '{\"path\":\"a\"}'".to_owned(),
            count: 5,
        };
        let insights = InsightsView::from(v1::GetInsightsResponse {
            since: 1,
            calls: 3,
            truncated: false,
            tools: vec![usage],
            devices: Vec::new(),
            persons: Vec::new(),
            suggestions: vec![suggestion],
        });
        let page = insights_page(&insights);
        let (uses, suggestions) = page.split_once("\n\n").unwrap();
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<_> = uses.lines().map(words).collect();
        assert_eq!(lines[0], ["TOOL", "CALLS", "SUCCEEDED", "DENIED", "ASKED", "MEDIAN"]);
        assert_eq!(lines[1], ["read_file", "3", "2", "1", "0", "6", "ms"]);
        assert_eq!(
            suggestions,
            "alias: ann made the same call of read_file on kiosk 5 times.\n  orion aliases set NAME read_file --json '{\"path\":\"a\"}'"
        );
    }
}
