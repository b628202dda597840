//! Reviews how a device's grants are used: who grants each entry, how often it is used, and what would be
//! enough.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use orion_catalog::{CATALOG, find};
use orion_domain::grants::PathGrant;
use orion_domain::{Access, CallId, DevicePath, Grants, Places};
use orion_policy::LintContext;
use serde_json::{Value, json};

use super::run_blocking;
use crate::active_policy::FILE_NAME;
use crate::clock::now_ms;
use crate::fleet::{DeviceSnapshot, Devices};
use crate::people::HeavyRequest;
use crate::store::{PolicyMismatch, PolicyMismatchKind, RecordedCall, StoreError, first_id_at};

/// The days of calls that are read.
pub const DAYS: u32 = 30;
/// The most calls that are read, the newest of those days.
const MAX_CALLS: u64 = 100_000;
/// The most calls that are listed as proof.
const MAX_PROOFS: usize = 5;

/// One entry of a device's grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantReview {
    /// `tool`, `path` or `app`.
    pub kind: &'static str,
    /// The entry as it is written.
    pub entry: String,
    /// Whether the backend grants it.
    pub server: bool,
    /// Whether the ceiling of the device allows it.
    pub ceiling: bool,
    /// The number of admitted calls that used it.
    pub uses: u64,
    /// Unix milliseconds. 0 if it was never used.
    pub last_used_at: i64,
    /// Findings of the linter and of the device.
    pub lint: Vec<String>,
    /// A narrower entry, or to remove it. Empty if the entry fits.
    pub proposal: String,
    /// The newest calls that used it.
    pub proof: Vec<CallId>,
}

/// A device's grants, and how many calls were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// The number of calls.
    pub calls: u64,
    /// When the oldest call that was read was made, Unix milliseconds. None if no call was left out.
    pub looked_since: Option<i64>,
    /// One review for each entry.
    pub grants: Vec<GrantReview>,
}

/// How an entry was used.
#[derive(Debug, Default)]
struct Usage {
    calls: u64,
    last: i64,
    proof: Vec<CallId>,
    /// For a path: the kinds of access, and the paths.
    access: BTreeSet<Access>,
    places: BTreeSet<DevicePath>,
}

impl Usage {
    fn by(&mut self, call: &RecordedCall) {
        self.calls += 1;
        self.last = self.last.max(call.created_at);
        if self.proof.len() == MAX_PROOFS {
            self.proof.remove(0);
        }
        self.proof.push(call.id);
    }
}

/// How the calls used the grants.
#[derive(Debug, Default)]
struct GrantUsage {
    tools: BTreeMap<String, Usage>,
    paths: BTreeMap<usize, Usage>,
    apps: BTreeMap<String, Usage>,
    calls: u64,
}

/// Reviews the calls of the last 30 days, the newest 100,000 of them. Each page runs on a blocking thread,
/// so that other requests continue. Dropping the future ends the review with the page.
///
/// # Errors
/// The database cannot be read.
pub async fn review(
    devices: &Devices,
    known: &Arc<DeviceSnapshot>,
    request: &HeavyRequest,
) -> Result<Review, StoreError> {
    let mut after = first_id_at(now_ms() - i64::from(DAYS) * 24 * 3_600_000);
    let newest = devices.store.newest_calls_begin(MAX_CALLS, Some(known.id)).await?;
    let (mut uses, mut looked_since) = (GrantUsage::default(), None);
    if let Some((id, at)) = newest.filter(|(id, _)| *id > after) {
        after = id;
        looked_since = Some(at);
    }
    loop {
        let page = devices.store.calls_after(&after, Some(known.id)).await?;
        let Some(last) = page.last() else { break };
        after = last.id.to_string();
        let known = Arc::clone(known);
        uses = run_blocking(request, move || {
            page.iter().for_each(|call| uses.see(&known, call));
            uses
        })
        .await?;
    }
    let found = devices.store.device(&known.id.to_string()).await?.found;
    Ok(Review { calls: uses.calls, looked_since, grants: entries(known, &uses, &found) })
}

impl GrantUsage {
    fn see(&mut self, known: &DeviceSnapshot, call: &RecordedCall) {
        self.calls += 1;
        // A preview, which explaining a call makes, uses no grant. Nor does a call that was denied.
        if !call.was_admitted || call.dry_run {
            return;
        }
        self.tools.entry(call.tool.clone()).or_default().by(call);
        let (Some((spec, None)), Some(places)) = (find(&call.tool), known.places()) else { return };
        let Ok(Value::Object(arguments)) = serde_json::from_slice(&call.arguments) else { return };
        let Ok(parsed) = spec.parse(arguments, places) else { return };
        for touch in &parsed.touches.paths {
            // The narrowest entry that grants the access is the one in use.
            let candidates = known.policy.grants.allowed.iter().enumerate();
            let covering = candidates
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
    mismatches: &[PolicyMismatch],
) -> Vec<GrantReview> {
    let grants = &known.policy.grants;
    let ceiling = known.policy.ceiling.as_ref();
    let mut found = Vec::new();
    let tools = CATALOG.iter().filter(|spec| match &known.grants.tools {
        Some(listed) => listed.contains(spec.name),
        None => grants.missing_capability(spec.capabilities).is_none(),
    });
    for spec in tools {
        let allows = |scope: &orion_domain::grants::Scope| {
            scope.lists_tool(spec.name) && scope.missing_capability(spec.capabilities).is_none()
        };
        let used = uses.tools.get(spec.name);
        let entry = GrantReview {
            kind: "tool",
            entry: spec.name.to_owned(),
            server: allows(grants),
            ceiling: ceiling.is_none_or(allows),
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
        let mismatches = mismatches.iter().filter(|found| {
            found.entry == written && is_app == (found.kind == PolicyMismatchKind::App)
        });
        entry.lint.extend(mismatches.map(PolicyMismatch::description));
    }
    found
}

/// Returns the use of the path entry with this index. Entries that cannot be read are not compiled, so
/// indexes count only the others.
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
    let permits = |scope: &orion_domain::grants::Scope| {
        root.as_ref().is_some_and(|root| {
            grant.access.iter().any(|access| scope.covering(root, *access).is_some())
                || scope.allowed.iter().any(|it| root.contains(&it.root))
        })
    };
    let entry = GrantReview {
        kind: "path",
        entry: format!("{} ({})", grant.path, access.join(", ")),
        server: root.is_some(),
        ceiling: known.policy.ceiling.as_ref().is_none_or(permits),
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

/// Returns the folder that contains all of these paths. For a single path, that is its parent.
fn common(places: &BTreeSet<DevicePath>) -> Option<DevicePath> {
    let mut folder = places.first()?.parent()?;
    while !places.iter().all(|place| folder.contains(place)) {
        folder = folder.parent()?;
    }
    Some(folder)
}

/// Returns what the linter finds in the grants, written as a policy file of this one device.
fn findings(known: &DeviceSnapshot) -> Vec<String> {
    let grants: &Grants = &known.grants;
    let file = json!({"version": 1, "devices": {known.name.as_str(): grants}}).to_string();
    let devices = [(known.name.clone(), known.policy_facts())].into();
    let context = LintContext { devices: Some(devices), now_ms: None };
    let (_, findings) = orion_policy::check(&file, FILE_NAME, &context);
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
