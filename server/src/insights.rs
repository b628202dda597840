//! What the newest calls say of the use of tools: how often each was used, and which alias, macro or rule would save
//! typing or asking. Counts only what the database has, in bounded time.

mod suggest;
#[cfg(test)]
mod tests;
mod usage;

pub(crate) use suggest::{Suggestion, SuggestionKind};
pub(crate) use usage::Usage;

use orion_domain::{CallState, UserName};

use crate::store::{CallRow, Store, StoreError};

/// The most calls that are read.
const MAX_CALLS: u32 = 5_000;

/// The use of tools in a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Insights {
    /// The creation of the oldest call that is counted, or the beginning of the time. Unix milliseconds.
    pub(crate) since: i64,
    /// How many calls are counted.
    pub(crate) calls: usize,
    /// Whether older calls of the time are not counted.
    pub(crate) truncated: bool,
    /// The tools that were used most.
    pub(crate) tools: Vec<Usage>,
    /// The devices that were used most.
    pub(crate) devices: Vec<Usage>,
    /// The persons with the most calls.
    pub(crate) persons: Vec<Usage>,
    /// The suggestions, those that would help most first.
    pub(crate) suggestions: Vec<Suggestion>,
}

/// Reads the newest calls of a person, or of everybody, since a moment.
///
/// # Errors
/// The database cannot be read.
pub(crate) async fn of_newest(
    store: &Store,
    user: Option<&UserName>,
    since: i64,
) -> Result<Insights, StoreError> {
    let newest = store.newest_calls(user, None, false, false, MAX_CALLS).await?;
    let mut rows: Vec<_> = newest.into_iter().map(|listed| listed.call).collect();
    let is_full = rows.len() >= usize::try_from(MAX_CALLS).unwrap_or(usize::MAX);
    let oldest = rows.last().map_or(since, |row| row.created_at);
    rows.retain(|row| row.created_at >= since);
    let truncated = is_full && oldest >= since;
    let mut insights = of_calls(&rows, if truncated { oldest } else { since });
    insights.truncated = truncated;
    for suggestion in &mut insights.suggestions {
        suggestion.complete(store).await?;
    }
    Ok(insights)
}

/// Counts calls, which are the newest first.
fn of_calls(rows: &[CallRow], since: i64) -> Insights {
    let name = |row: &CallRow| row.device.as_ref().map(|(_, name)| name.to_string());
    Insights {
        since,
        calls: rows.len(),
        truncated: false,
        tools: usage::by(rows, |row| Some(row.tool.clone())),
        devices: usage::by(rows, name),
        persons: usage::by(rows, |row| Some(row.caller.user.to_string())),
        suggestions: suggest::of(rows),
    }
}

/// Returns whether a call did what it was made for.
fn succeeded(row: &CallRow) -> bool {
    row.state == CallState::Succeeded
}
