//! Searches the audit log: rows by person, device, tool, time and outcome, with what their call says of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use orion_domain::DeviceId;
use orion_domain::audit::AuditRow;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::columns::id_range;
use super::super::db::{DecodeError, FromRow, Row, sql, values};
use super::super::{Store, StoreError};

/// How many rows are read at a time.
const PAGE: i64 = 1_000;
/// How many rows one search reads. The caller goes on from there.
const MAX_SEARCHED: i64 = 50_000;

/// Kinds of rows that are a denial by themselves.
const DENIALS: &[&str] = &[
    "access.refused",
    "auth.failed",
    "plan.refused",
    "policy.refused",
    "approval.denied",
    "approval.refused",
    "passkey.refused",
];

/// Which rows are wanted. Empty texts and None stand for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// The call's id, or a prefix of it.
    pub call: String,
    /// The person who did it, or whom it is about.
    pub user: String,
    /// The device's name.
    pub device: String,
    /// The tool's name.
    pub tool: String,
    /// Since when, Unix milliseconds.
    pub since: Option<i64>,
    /// Before when, Unix milliseconds.
    pub until: Option<i64>,
    /// Only denials.
    pub denied: bool,
}

/// A row with what it and its call say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundRow {
    /// The row.
    pub row: AuditRow,
    /// Who did it. Empty where nobody did.
    pub user: String,
    /// The device. Empty where there is none.
    pub device: String,
    /// The tool. Empty where there is none.
    pub tool: String,
    /// What became of it. Empty where the row does not say.
    pub result: String,
    /// Whom the row is about, beside the one who did it: whose account, whose request, whose call.
    about: Vec<String>,
    /// The device, where the row has its id alone.
    unnamed: Option<DeviceId>,
    is_denial: bool,
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The rows, newest first.
    pub rows: Vec<FoundRow>,
    /// The oldest row that was read, where the search ended at its limit. None if everything was searched or
    /// enough was found.
    pub searched_to: Option<i64>,
}

/// The fields of a body that the search reads.
#[derive(Debug, Default, Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    by: Option<&'a RawValue>,
    #[serde(borrow)]
    user: Option<&'a RawValue>,
    #[serde(borrow)]
    requester: Option<&'a RawValue>,
    #[serde(borrow)]
    device: Option<&'a RawValue>,
    #[serde(borrow)]
    device_id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    tool: Option<&'a RawValue>,
    #[serde(borrow)]
    decision: Option<&'a RawValue>,
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    #[serde(borrow)]
    code: Option<&'a RawValue>,
}

/// Returns a field that is a text.
fn text(field: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(field?.get()).ok()
}

impl FoundRow {
    fn new(row: AuditRow, call: Call) -> Self {
        let body: Body<'_> = serde_json::from_str(&row.body).unwrap_or_default();
        let by = text(body.by);
        let about = [text(body.user), text(body.requester), call.user.clone()];
        let about = about.into_iter().flatten().collect::<Vec<_>>();
        let state = text(body.state).unwrap_or_default();
        let is_device = row.kind.starts_with("device.") || row.kind.starts_with("certificate.");
        let named = || text(body.name).filter(|_| is_device);
        let is_refused_call = row.kind == "call.closed" && matches!(&*state, "denied" | "refused");
        let result = match &*row.kind {
            "call.opened" => text(body.decision).unwrap_or_default(),
            _ => text(body.code).unwrap_or_else(|| state.clone()),
        };
        let is_preview = call.dry_run == Some(true) && row.kind.starts_with("call.");
        let result = if is_preview { format!("preview: {result}") } else { result };
        let device = text(body.device).or(call.device).or_else(named);
        Self {
            unnamed: text(body.device_id)
                .filter(|_| device.is_none())
                .and_then(|id| id.parse().ok()),
            device: device.unwrap_or_default(),
            user: by.or(call.user).or_else(|| about.first().cloned()).unwrap_or_default(),
            tool: text(body.tool).or(call.tool).unwrap_or_default(),
            result,
            about,
            is_denial: is_refused_call || DENIALS.contains(&&*row.kind),
            row,
        }
    }

    /// Returns whether a filter wants the row. `device` is the id of the device that it names.
    fn is_wanted(&self, filter: &AuditFilter, device: Option<DeviceId>) -> bool {
        let is = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        (is(&filter.user, &self.user) || self.about.contains(&filter.user))
            && (is(&filter.device, &self.device)
                || self.unnamed.is_some() && self.unnamed == device)
            && is(&filter.tool, &self.tool)
            && (self.is_denial || !filter.denied)
    }
}

impl AuditFilter {
    /// Returns whether rows are wanted by something that is not in the index.
    fn reads_bodies(&self) -> bool {
        let Self { call: _, user, device, tool, since: _, until: _, denied } = self;
        *denied || [user, device, tool].iter().any(|text| !text.is_empty())
    }
}

impl Store {
    /// Searches rows, newest first, before `before`; at most `limit` of them. Reads at most 50,000 rows.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if no call's id can have the prefix.
    pub async fn search_audit(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Found, StoreError> {
        self.db().flush().await?;
        let device = match &*filter.device {
            "" => None,
            name => match self.device(name).await {
                Ok(device) => Some(device.id),
                // The name of a removed device stands in older rows.
                Err(StoreError::NotFound | StoreError::Ambiguous) => None,
                Err(error) => return Err(error),
            },
        };
        let first = match filter.since {
            Some(since) => self.first_row_at(since).await?,
            None => 1,
        };
        let mut before = before.unwrap_or(i64::MAX);
        if let Some(until) = filter.until {
            before = before.min(self.first_row_at(until).await?);
        }
        if !filter.call.is_empty() {
            let most = usize::try_from(MAX_SEARCHED).unwrap_or(limit);
            let rows = self.rows_of_calls(&filter.call, before, most).await?;
            let is_wanted = |it: &FoundRow| it.row.seq >= first && it.is_wanted(filter, device);
            let rows = rows.into_iter().filter(is_wanted).take(limit).collect();
            return Ok(Found { rows: self.named(rows).await?, searched_to: None });
        }
        let (mut found, mut searched) = (Found::default(), 0);
        let wanted = i64::try_from(limit).unwrap_or(PAGE).clamp(1, PAGE);
        let page = if filter.reads_bodies() { PAGE } else { wanted };
        loop {
            let rows: Vec<FoundRow> = self
                .db()
                .query(
                    sql("SELECT audit.seq, at, kind, call_id, body, prev_hash, hash, \
                         calls.user_name, calls.device_name, calls.tool, calls.dry_run FROM audit \
                         LEFT JOIN calls ON calls.id = call_id \
                         WHERE audit.seq < $1 AND audit.seq >= $2 ORDER BY audit.seq DESC LIMIT $3")
                    .with(values![before, first, page]),
                )
                .await?;
            let count = i64::try_from(rows.len()).unwrap_or(PAGE);
            let last = rows.last().map(|it| it.row.seq);
            found.rows.extend(rows.into_iter().filter(|it| it.is_wanted(filter, device)));
            searched += count;
            if found.rows.len() >= limit {
                found.rows.truncate(limit);
                break;
            }
            let Some(last) = last.filter(|_| count == page) else { break };
            before = last;
            if searched >= MAX_SEARCHED {
                found.searched_to = Some(last);
                break;
            }
        }
        found.rows = self.named(found.rows).await?;
        Ok(found)
    }

    /// Names the devices of rows that have only their ids. A removed device has no name any more.
    async fn named(&self, mut rows: Vec<FoundRow>) -> Result<Vec<FoundRow>, StoreError> {
        let mut names = HashMap::new();
        for row in &mut rows {
            let Some(id) = row.unnamed else { continue };
            let name = match names.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(match self.device_by_id(id).await {
                    Ok(device) => device.name.to_string(),
                    Err(StoreError::NotFound) => String::new(),
                    Err(error) => return Err(error),
                }),
            };
            row.device.clone_from(name);
        }
        Ok(rows)
    }

    async fn rows_of_calls(
        &self,
        prefix: &str,
        before: i64,
        limit: usize,
    ) -> Result<Vec<FoundRow>, StoreError> {
        let (from, to) = id_range(prefix).ok_or(StoreError::NotFound)?;
        let limit = i64::try_from(limit).unwrap_or(PAGE);
        // The subquery sorts only the numbers, out of the index.
        let statement = sql(
            "SELECT audit.seq, at, kind, call_id, body, prev_hash, hash, calls.user_name, \
             calls.device_name, calls.tool, calls.dry_run FROM audit LEFT JOIN calls ON calls.id = call_id \
             WHERE audit.seq IN (SELECT seq FROM audit WHERE call_id <> '' AND call_id >= $3 \
             AND call_id < $4 AND +seq < $1 ORDER BY +seq DESC LIMIT $2) ORDER BY audit.seq DESC",
        );
        self.db().query(statement.with(values![before, limit, from, to])).await
    }

    /// Returns the number of the first row at or after a time; one past the last row if there is none. Rows follow
    /// each other in time, but for a clock that was set back.
    async fn first_row_at(&self, time: i64) -> Result<i64, StoreError> {
        let head = self.audit_head().await?.seq;
        let (mut low, mut high) = (1, head + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let at: Option<(i64,)> = self
                .db()
                .query_optional(sql("SELECT at FROM audit WHERE seq = $1").bind(middle))
                .await?;
            match at {
                Some((at,)) if at < time => low = middle + 1,
                Some(_) => high = middle,
                None => return Err(StoreError::Corrupt),
            }
        }
        Ok(low)
    }
}

/// What the call of a row says.
#[derive(Debug, Default)]
struct Call {
    user: Option<String>,
    device: Option<String>,
    tool: Option<String>,
    dry_run: Option<bool>,
}

impl FromRow for FoundRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let call = Call {
            user: row.get("user_name")?,
            device: row.get("device_name")?,
            tool: row.get("tool")?,
            dry_run: row.get("dry_run")?,
        };
        Ok(Self::new(AuditRow::from_row(row)?, call))
    }
}
