//! What of a device's grants is used: each entry with who lends it, how often, and what would do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use orion_catalog::{CATALOG, find};
use orion_domain::grants::PathGrant;
use orion_domain::{Access, CallId, DevicePath, Grants, Places};
use orion_policy::LintContext;
use serde_json::{Value, json};

use super::{FILE_NAME, beside};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::DeviceSnapshot;
use crate::people::HeavyRequest;
use crate::store::{PolicyMismatch, PolicyMismatchKind, RecordedCall, StoreError, first_id_at};

/// How many days of calls are looked at.
pub const DAYS: u32 = 30;
/// How many calls are looked at, the newest in that time.
const MOST: u64 = 100_000;
/// How many calls prove something.
const PROOFS: usize = 5;

/// One entry of what a device is lent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantReview {
    /// `tool`, `path` or `app`.
    pub kind: &'static str,
    /// As it is written.
    pub entry: String,
    /// Whether the backend lends it.
    pub server: bool,
    /// Whether its owner leaves it.
    pub ceiling: bool,
    /// How often calls that were let through used it.
    pub uses: u64,
    /// When last, Unix milliseconds; 0 for never.
    pub last_used_at: i64,
    /// What the linter says of it, and what the device found.
    pub lint: Vec<String>,
    /// A narrower entry, or to remove it; empty where it fits.
    pub proposal: String,
    /// Calls that prove it.
    pub proof: Vec<CallId>,
}

/// What a device is lent, and how many calls were looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// How many.
    pub calls: u64,
    /// Where there were too many: when the oldest was made that was looked at, Unix milliseconds.
    pub looked_since: Option<i64>,
    /// An entry each.
    pub grants: Vec<GrantReview>,
}

/// How something was used.
#[derive(Debug, Default)]
struct Usage {
    calls: u64,
    last: i64,
    proof: Vec<CallId>,
    /// For a path: what was done, and where.
    access: BTreeSet<Access>,
    places: BTreeSet<DevicePath>,
}

impl Usage {
    fn by(&mut self, call: &RecordedCall) {
        self.calls += 1;
        self.last = self.last.max(call.created_at);
        if self.proof.len() == PROOFS {
            self.proof.remove(0);
        }
        self.proof.push(call.id);
    }
}

/// How the calls used what is lent.
#[derive(Debug, Default)]
struct GrantUsage {
    tools: BTreeMap<String, Usage>,
    paths: BTreeMap<usize, Usage>,
    apps: BTreeMap<String, Usage>,
    calls: u64,
}

/// Looks at the calls of the last 30 days, the newest 100,000 of them: a page at a time, on a thread that no
/// other request waits for. Dropping this ends it with the page.
///
/// # Errors
/// The record cannot be read.
pub async fn review(
    backend: &Backend,
    known: &Arc<DeviceSnapshot>,
    turn: &HeavyRequest,
) -> Result<Review, StoreError> {
    let mut after = first_id_at(now_ms() - i64::from(DAYS) * 24 * 3_600_000);
    let newest = backend.store.newest_calls_begin(MOST, Some(known.id)).await?;
    let (mut uses, mut looked_since) = (GrantUsage::default(), None);
    if let Some((id, at)) = newest.filter(|(id, _)| *id > after) {
        after = id;
        looked_since = Some(at);
    }
    loop {
        let page = backend.store.calls_after(&after, Some(known.id)).await?;
        let Some(last) = page.last() else { break };
        after = last.id.to_string();
        let known = Arc::clone(known);
        uses = beside(turn, move || {
            page.iter().for_each(|call| uses.see(&known, call));
            uses
        })
        .await?;
    }
    let found = backend.store.device(&known.id.to_string()).await?.found;
    Ok(Review { calls: uses.calls, looked_since, grants: entries(known, &uses, &found) })
}

impl GrantUsage {
    fn see(&mut self, known: &DeviceSnapshot, call: &RecordedCall) {
        self.calls += 1;
        // A preview used nothing; explaining a call makes one. Nor did a call that somebody refused.
        if !call.was_admitted || call.dry_run {
            return;
        }
        self.tools.entry(call.tool.clone()).or_default().by(call);
        let (Some((spec, None)), Some(places)) = (find(&call.tool), known.places()) else { return };
        let Ok(Value::Object(arguments)) = serde_json::from_slice(&call.arguments) else { return };
        let Ok(parsed) = spec.parse(arguments, places) else { return };
        for touch in &parsed.touches.paths {
            // The narrowest entry that lends it is the one that is used.
            let lending = known.policy.grants.allowed.iter().enumerate();
            let covering = lending
                .filter(|(_, it)| {
                    it.access.contains(&touch.access) && it.root.contains(&touch.path)
                })
                .max_by_key(|(_, it)| it.root.components().len());
            if let Some((index, _)) = covering {
                let used = self.paths.entry(index).or_default();
                used.access.insert(touch.access);
                used.places.insert(touch.path.clone());
                if used.proof.last() != Some(&call.id) {
                    used.by(call);
                }
            }
        }
        for app in &parsed.touches.apps {
            self.apps.entry(app.clone()).or_default().by(call);
        }
    }
}

fn entries(
    known: &DeviceSnapshot,
    uses: &GrantUsage,
    there: &[PolicyMismatch],
) -> Vec<GrantReview> {
    let grants = &known.policy.grants;
    let ceiling = known.policy.ceiling.as_ref();
    let mut found = Vec::new();
    let tools = CATALOG.iter().filter(|spec| match &known.grants.tools {
        Some(listed) => listed.contains(spec.name),
        None => grants.missing_capability(spec.capabilities).is_none(),
    });
    for spec in tools {
        let lends = |scope: &orion_domain::grants::Scope| {
            scope.lists_tool(spec.name) && scope.missing_capability(spec.capabilities).is_none()
        };
        let used = uses.tools.get(spec.name);
        let entry = GrantReview {
            kind: "tool",
            entry: spec.name.to_owned(),
            server: lends(grants),
            ceiling: ceiling.is_none_or(lends),
            ..GrantReview::default()
        };
        found.push(used_or_not(entry, used));
    }
    for (index, grant) in known.grants.paths.iter().enumerate() {
        found.push(path(known, grant, used_of(known, index, uses)));
    }
    for app in &known.grants.apps {
        let entry = GrantReview {
            kind: "app",
            entry: app.clone(),
            server: true,
            ceiling: ceiling.is_none_or(|ceiling| ceiling.apps.contains(app)),
            ..GrantReview::default()
        };
        found.push(used_or_not(entry, uses.apps.get(app)));
    }
    let findings = findings(known);
    for entry in &mut found {
        let written = match entry.kind {
            "path" => entry.entry.rsplit_once(" (").map_or(entry.entry.as_str(), |it| it.0),
            _ => entry.entry.as_str(),
        };
        let quoted = format!("`{written}`");
        entry.lint = findings.iter().filter(|it| it.contains(&quoted)).cloned().collect();
        let is_app = entry.kind == "app";
        let there = there.iter().filter(|found| {
            found.entry == written && is_app == (found.kind == PolicyMismatchKind::App)
        });
        entry.lint.extend(there.map(PolicyMismatch::description));
    }
    found
}

/// Entries that cannot be read are not compiled, so positions are counted among those that can.
fn used_of<'u>(known: &DeviceSnapshot, index: usize, uses: &'u GrantUsage) -> Option<&'u Usage> {
    let is_bad = |grant: &PathGrant| known.bad_grants.iter().any(|bad| bad.entry == grant.path);
    let grants = known.grants.paths.get(..=index)?;
    if grants.last().is_some_and(is_bad) {
        return None;
    }
    let before = grants.iter().filter(|grant| !is_bad(grant)).count();
    uses.paths.get(&before.checked_sub(1)?)
}

fn used_or_not(entry: GrantReview, used: Option<&Usage>) -> GrantReview {
    match used {
        Some(used) => GrantReview {
            uses: used.calls,
            last_used_at: used.last,
            proof: used.proof.clone(),
            ..entry
        },
        None => GrantReview { proposal: "remove it".to_owned(), ..entry },
    }
}

fn path(known: &DeviceSnapshot, grant: &PathGrant, used: Option<&Usage>) -> GrantReview {
    let access: Vec<_> = grant.access.iter().map(|access| access.as_str()).collect();
    let anchored = known.places().map(|places| Places { workspace: None, ..places.clone() });
    let root = anchored.and_then(|places| DevicePath::resolve(&places, &grant.path).ok());
    let leaves = |scope: &orion_domain::grants::Scope| {
        root.as_ref().is_some_and(|root| {
            grant.access.iter().any(|access| scope.covering(root, *access).is_some())
                || scope.allowed.iter().any(|it| root.contains(&it.root))
        })
    };
    let entry = GrantReview {
        kind: "path",
        entry: format!("{} ({})", grant.path, access.join(", ")),
        server: root.is_some(),
        ceiling: known.policy.ceiling.as_ref().is_none_or(leaves),
        ..GrantReview::default()
    };
    let entry = used_or_not(entry, used);
    let (Some(used), Some(root)) = (used, root) else { return entry };
    let narrow = common(&used.places).filter(|folder| root.contains(folder) && *folder != root);
    if narrow.is_none() && used.access == grant.access {
        return entry;
    }
    let access: Vec<_> = used.access.iter().map(|access| access.as_str()).collect();
    let place = narrow.map_or_else(|| grant.path.clone(), |folder| folder.to_string());
    let proposal = format!("{{ path: {}, access: [{}] }}", Value::from(place), access.join(", "));
    GrantReview { proposal, ..entry }
}

/// The folder that holds all of these: of one thing, the folder around it.
fn common(places: &BTreeSet<DevicePath>) -> Option<DevicePath> {
    let mut folder = places.first()?.parent()?;
    while !places.iter().all(|place| folder.contains(place)) {
        folder = folder.parent()?;
    }
    Some(folder)
}

/// What the linter says of grants as they are, written as a policy file of this one device.
fn findings(known: &DeviceSnapshot) -> Vec<String> {
    let grants: &Grants = &known.grants;
    let file = json!({"version": 1, "devices": {known.name.as_str(): grants}}).to_string();
    let devices = [(known.name.clone(), known.policy_facts())].into();
    let lint_context = LintContext { devices: Some(devices), now_ms: None };
    let (_, findings) = orion_policy::check(&file, FILE_NAME, &lint_context);
    let text =
        |it: orion_policy::Finding| format!("{} {}", it.message, it.hint).trim_end().to_owned();
    findings.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;

    use super::*;

    fn places(paths: &[&str]) -> BTreeSet<DevicePath> {
        paths.iter().map(|path| DevicePath::parse(PathStyle::Posix, path).unwrap()).collect()
    }

    #[test]
    fn the_folder_around_everything_is_what_would_do() {
        let common = |paths| common(&places(paths)).map(|folder| folder.to_string());
        assert_eq!(common(&["/a/b/c/x", "/a/b/c/y"]).as_deref(), Some("/a/b/c"));
        assert_eq!(common(&["/a/b/c/x", "/a/b/d/y"]).as_deref(), Some("/a/b"));
        assert_eq!(common(&["/a/b"]).as_deref(), Some("/a"));
        assert_eq!(common(&[]), None);
    }
}
