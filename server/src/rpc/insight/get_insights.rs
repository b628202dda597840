//! `GetInsights`: the use of the caller's tools, or of everybody's for an admin.

use orion_domain::{ErrorCode, Role};
use orion_wire::v1;
use tonic::Status;

use super::InsightApi;
use crate::clock::now_ms;
use crate::insights::{self, Insights, Suggestion, SuggestionKind, Usage};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// How many days are looked at where the request does not say it, and the most.
const DEFAULT_DAYS: u32 = 30;
const MAX_DAYS: u32 = 365;
const DAY_MS: i64 = 86_400_000;

/// Counts the newest calls.
pub(super) async fn get_insights(
    api: &InsightApi,
    request: Signed<v1::GetInsightsRequest>,
) -> Result<v1::GetInsightsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::GetInsightsRequest { days, all } = message;
    if all && identity.caller.role != Role::Admin {
        return Err(status::hinted(
            ErrorCode::PermissionDenied,
            "only an admin sees everybody's use",
            "look at your own",
        ));
    }
    let days = if days == 0 { DEFAULT_DAYS } else { days.min(MAX_DAYS) };
    let since = now_ms() - i64::from(days) * DAY_MS;
    let whose = (!all).then_some(&identity.caller.user);
    let found = insights::of_newest(&api.store, whose, since).await.map_err(status::store)?;
    let Insights { since, calls, truncated, tools, devices, persons, suggestions } = found;
    let [tools, devices, persons] =
        [tools, devices, persons].map(|list| list.into_iter().map(usage).collect());
    Ok(v1::GetInsightsResponse {
        since,
        calls: u32::try_from(calls).unwrap_or(u32::MAX),
        truncated,
        tools,
        devices,
        persons,
        suggestions: suggestions.into_iter().map(suggestion).collect(),
    })
}

fn usage(usage: Usage) -> v1::UsageCount {
    let Usage { name, calls, succeeded, denied, asked, median_ms } = usage;
    v1::UsageCount { name, calls, succeeded, denied, asked, median_ms }
}

fn suggestion(suggestion: Suggestion) -> v1::Suggestion {
    let kind = match suggestion.kind {
        SuggestionKind::Alias => v1::SuggestionKind::Alias,
        SuggestionKind::Macro => v1::SuggestionKind::Macro,
        SuggestionKind::Rule => v1::SuggestionKind::Rule,
    };
    v1::Suggestion {
        kind: kind.into(),
        user: suggestion.user,
        reason: suggestion.reason,
        command: suggestion.command,
        count: u32::try_from(suggestion.count).unwrap_or(u32::MAX),
    }
}
