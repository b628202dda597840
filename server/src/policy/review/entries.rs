//! Reviews each entry of a device's grants: tools, paths, apps, commands, services and logs, with what the linter and
//! the device found.

use orion_catalog::{CATALOG, RunsOn};
use orion_domain::grants::PathGrant;
use orion_domain::touches::ServiceTouch;
use orion_domain::{DeviceId, Grants};
use orion_policy::{Facts, LintContext};
use serde_json::json;

use super::GrantReview;
use super::path::path;
use super::usage::{GrantUsage, Usage};
use crate::active_policy::FILE_NAME;
use crate::fleet::DeviceSnapshot;
use crate::store::{PolicyMismatch, PolicyMismatchKind};

pub(super) fn entries(
    known: &DeviceSnapshot,
    uses: &GrantUsage,
    mismatches: &[PolicyMismatch],
) -> Vec<GrantReview> {
    let grants = &known.policy.grants;
    let ceiling = known.policy.ceiling.as_ref();
    let mut found = Vec::new();
    let tools = CATALOG.iter().filter(|spec| match &known.grants.tools {
        Some(listed) => listed.contains(spec.name),
        None => {
            let is_backend = known.id == DeviceId::BACKEND;
            (spec.runs_on == RunsOn::Backend) == is_backend
                && grants.missing_capability(spec.capabilities).is_none()
        }
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
    for (index, grant) in known.grants.commands.iter().flatten().enumerate() {
        let allows = |ceiling: &orion_domain::grants::Scope| ceiling.grants_command(grant);
        let entry = GrantReview {
            kind: "command",
            entry: grant.to_string(),
            server: true,
            ceiling: ceiling.is_none_or(allows),
            ..GrantReview::default()
        };
        found.push(used_or_not(entry, uses.commands.get(&index)));
    }
    for grant in &known.grants.services {
        let touch = ServiceTouch::read(grant.service.clone());
        let entry = GrantReview {
            kind: "service",
            entry: grant.to_string(),
            server: true,
            ceiling: ceiling.is_none_or(|ceiling| ceiling.lists_service(&touch)),
            ..GrantReview::default()
        };
        found.push(used_or_not(entry, uses.services.get(&grant.service)));
    }
    for grant in &known.grants.logs {
        let entry = GrantReview {
            kind: "log",
            entry: grant.to_string(),
            server: true,
            ceiling: ceiling.is_none_or(|ceiling| ceiling.lists_log(&grant.0)),
            ..GrantReview::default()
        };
        found.push(used_or_not(entry, uses.logs.get(&grant.0)));
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

pub(super) fn used_or_not(entry: GrantReview, used: Option<&Usage>) -> GrantReview {
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

/// Returns what the linter finds in the grants, written as a policy file of this one device.
fn findings(known: &DeviceSnapshot) -> Vec<String> {
    let grants: &Grants = &known.grants;
    let file = json!({"version": 1, "devices": {known.name.as_str(): grants}}).to_string();
    // The review has a column for what the ceiling allows.
    let facts = known.policy_facts().map(|facts| Facts { ceiling: None, ..facts });
    let devices = [(known.name.clone(), facts)].into();
    let context = LintContext { devices: Some(devices), ..LintContext::default() };
    let (_, findings) = orion_policy::check(&file, FILE_NAME, &context);
    let text =
        |it: orion_policy::Finding| format!("{} {}", it.message, it.hint).trim_end().to_owned();
    findings.into_iter().map(text).collect()
}
