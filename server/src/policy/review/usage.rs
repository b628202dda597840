//! How calls used the grants of a device.

use std::collections::{BTreeMap, BTreeSet};

use orion_domain::services::Service;
use orion_domain::{Access, CallId, DevicePath};
use serde_json::Value;

use crate::fleet::DeviceSnapshot;
use crate::store::RecordedCall;

/// The most calls that are listed as proof.
const MAX_PROOFS: usize = 5;

/// How an entry was used.
#[derive(Debug, Default)]
pub(super) struct Usage {
    pub(super) calls: u64,
    pub(super) last: i64,
    pub(super) proof: Vec<CallId>,
    /// For a path: the kinds of access, and the paths.
    pub(super) access: BTreeSet<Access>,
    pub(super) places: BTreeSet<DevicePath>,
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
pub(super) struct GrantUsage {
    pub(super) tools: BTreeMap<String, Usage>,
    pub(super) paths: BTreeMap<usize, Usage>,
    pub(super) apps: BTreeMap<String, Usage>,
    /// By the position of the entry.
    pub(super) commands: BTreeMap<usize, Usage>,
    pub(super) services: BTreeMap<Service, Usage>,
    pub(super) logs: BTreeMap<Service, Usage>,
    pub(super) calls: u64,
}

impl GrantUsage {
    pub(super) fn see(&mut self, known: &DeviceSnapshot, call: &RecordedCall) {
        self.calls += 1;
        // A preview, which explaining a call makes, uses no grant. Nor does a call that was denied.
        if !call.was_admitted || call.dry_run {
            return;
        }
        self.tools.entry(call.tool.clone()).or_default().by(call);
        let (Some((spec, None)), Some(places)) = (known.tool(&call.tool), known.places()) else {
            return;
        };
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
        let granted = known.grants.commands.iter().flatten().enumerate();
        for (index, _) in granted.filter(|(_, grant)| {
            parsed.touches.commands.iter().any(|command| grant.covers(command))
        }) {
            self.commands.entry(index).or_default().by(call);
        }
        for app in &parsed.touches.apps {
            self.apps.entry(app.clone()).or_default().by(call);
        }
        for touch in &parsed.touches.services {
            self.services.entry(touch.service.clone()).or_default().by(call);
        }
        for service in &parsed.touches.logs {
            self.logs.entry(service.clone()).or_default().by(call);
        }
    }
}
