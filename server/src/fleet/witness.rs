//! Keeps what was last seen of each device's own chain. A chain that runs backwards, or that forked, is
//! audited. The device stays connected, since its owner may have had to restore it.
//!
//! Reports on one connection arrive in order. While a new connection replaces an older one, the reports of
//! the two may arrive in any order. A report must therefore cover what was received before its connection
//! began, but need not cover anything later.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, CallState, DeviceId};
use serde::Serialize;

use crate::clock::now_ms;
use crate::store::{DeviceChainRow, Store, StoreError, Witness};

/// Minimum time between two audit rows about one device's chain and of one kind.
const REPORT_INTERVAL: Duration = Duration::from_mins(1);

/// How many calls missing from the database one device can add to the audit log, until the next start.
const MAX_UNKNOWN_CALLS: u32 = 100;

/// What was last seen of one device's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedChain {
    /// The chain's head.
    pub head: AuditHead,
    /// What is wrong with the chain; empty where nothing is.
    pub problem: String,
    /// When the problem was noticed, in Unix milliseconds. None where there is none.
    pub problem_at: Option<i64>,
    /// When the head was reported, and on which connection. None where that was before the last start, and so
    /// before every connection.
    last_report: Option<ReportedChain>,
    is_new: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReportedChain {
    at: Instant,
    since: Instant,
}

impl WitnessedChain {
    const NOTHING: Self = Self {
        head: AuditHead::EMPTY,
        problem: String::new(),
        problem_at: None,
        last_report: None,
        is_new: true,
    };

    fn blame(&mut self, problem: &str) {
        problem.clone_into(&mut self.problem);
        self.problem_at = Some(now_ms());
        self.is_new = true;
    }

    /// Returns whether a report on a connection that began at `since` cannot be older than the stored head.
    fn is_before(&self, since: Instant) -> bool {
        self.last_report
            .is_none_or(|last_report| last_report.since == since || last_report.at < since)
    }
}

/// What can be wrong with a chain. Each kind has its own interval, so that none keeps another out of the
/// audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Finding {
    Broken,
    OtherHistory,
}

impl Finding {
    const fn kind(self) -> &'static str {
        match self {
            Self::Broken => "device.chain_broken",
            Self::OtherHistory => "device.other_history",
        }
    }
}

/// The chains of all devices.
#[derive(Debug, Default)]
pub struct Witnesses {
    chains: DashMap<DeviceId, WitnessedChain>,
    /// When the audit log last got a row of this kind about a device.
    last_reported: DashMap<(DeviceId, Finding), Instant>,
    /// The head of this backend's chain that each device saw and that is missing here, as last audited.
    seen: DashMap<DeviceId, AuditHead>,
    /// How many calls missing from the database each device reported.
    unknown: DashMap<DeviceId, u32>,
}

#[derive(Serialize)]
struct ChainBroken<'a> {
    device_id: DeviceId,
    said: AuditHead,
    witnessed: AuditHead,
    problem: &'a str,
}

#[derive(Serialize)]
struct OtherHistory {
    device_id: DeviceId,
    /// The head of this backend's chain that the device saw.
    saw: AuditHead,
    /// This backend's head when the device reported that.
    own: AuditHead,
}

/// The device reported more unknown calls, which the audit log leaves out.
#[derive(Serialize)]
struct MoreUnknownCalls {
    device_id: DeviceId,
    told: u32,
}

#[derive(Serialize)]
struct UnknownCall {
    device_id: DeviceId,
    call_id: CallId,
    state: CallState,
    witness: Witness,
}

impl Witnesses {
    /// Loads the stored chains.
    ///
    /// # Errors
    /// The store failed.
    pub async fn load(&self, store: &Store) -> Result<(), StoreError> {
        for DeviceChainRow { device, head, problem, problem_at } in store.device_chains().await? {
            self.chains.insert(
                device,
                WitnessedChain { head, problem, problem_at, last_report: None, is_new: false },
            );
        }
        Ok(())
    }

    /// Returns what was last seen of a device's chain.
    #[must_use]
    pub fn of(&self, device: DeviceId) -> Option<WitnessedChain> {
        self.chains.get(&device).map(|entry| entry.clone())
    }

    /// Returns the devices whose chain has a problem, the oldest problem first.
    #[must_use]
    pub fn broken(&self) -> Vec<(DeviceId, WitnessedChain)> {
        let broken = self.chains.iter().filter(|entry| !entry.problem.is_empty());
        let mut broken: Vec<_> = broken.map(|entry| (*entry.key(), entry.clone())).collect();
        broken.sort_by_key(|(_, chain)| chain.problem_at);
        broken
    }

    /// Records the head that a device reports of its own chain, on a connection that began at `since`.
    /// Reports of one connection must come in their order.
    ///
    /// # Errors
    /// A break could not be stored; the next report notices it again.
    pub async fn received(
        &self,
        store: &Store,
        device: DeviceId,
        since: Instant,
        said: AuditHead,
    ) -> Result<(), StoreError> {
        let Some((before, problem)) = self.compare(device, since, said) else { return Ok(()) };
        let body =
            ChainBroken { device_id: device, said, witnessed: before.head, problem: &problem };
        let kept = async {
            // A device with a broken chain may have forgotten calls that it ran, and then reports that it
            // never saw them.
            store.device_forgot(device, now_ms()).await?;
            self.report(store, device, &problem, Finding::Broken, body).await.map(drop)
        };
        let kept = kept.await;
        if kept.is_err() {
            self.chains.insert(device, before);
        }
        kept
    }

    /// Compares a report with the stored head and stores it, in one step. Returns the former state and the
    /// problem, where there is one.
    fn compare(
        &self,
        device: DeviceId,
        since: Instant,
        said: AuditHead,
    ) -> Option<(WitnessedChain, String)> {
        let mut known = self.chains.entry(device).or_insert(WitnessedChain::NOTHING);
        let before = known.clone();
        let witnessed = before.head;
        let problem = if said.seq > witnessed.seq || said == witnessed {
            None
        } else if !before.is_before(since) {
            // The report was sent before the stored head and received after it: it is no break, and not the
            // newest head.
            return None;
        } else if said.seq < witnessed.seq {
            Some(format!("its chain ran backwards, from entry {} to {}", witnessed.seq, said.seq))
        } else {
            Some(format!("its chain forked: it has another entry {}", said.seq))
        };
        known.last_report = Some(ReportedChain { at: Instant::now(), since });
        if said != witnessed {
            known.head = said;
            known.is_new = true;
        }
        let problem = problem?;
        known.blame(&problem);
        Some((before, problem))
    }

    /// Checks the head of this backend's chain that a device last saw. Where it is missing here, the database
    /// was restored to an older state, or replaced.
    ///
    /// # Errors
    /// The store failed.
    pub async fn received_backend_head(
        &self,
        store: &Store,
        device: DeviceId,
        saw: AuditHead,
    ) -> Result<(), StoreError> {
        if saw == AuditHead::EMPTY || store.audit_hash(saw.seq).await? == Some(saw.hash) {
            return Ok(());
        }
        let own = store.audit_head().await?;
        let problem = format!(
            "it saw row {} of this backend's audit, which is another now or not there: the database was restored to an older state",
            saw.seq
        );
        self.chains.entry(device).or_insert(WitnessedChain::NOTHING).blame(&problem);
        // A device repeats this on each connection, until it has seen a newer head.
        if self.seen.get(&device).is_some_and(|seen| *seen == saw) {
            return Ok(());
        }
        let body = OtherHistory { device_id: device, saw, own };
        if self.report(store, device, &problem, Finding::OtherHistory, body).await? {
            self.seen.insert(device, saw);
        }
        Ok(())
    }

    /// Audits a call that a device ran and that is missing from the database, as after a restore.
    ///
    /// # Errors
    /// The store failed.
    pub async fn report_unknown(
        &self,
        store: &Store,
        device: DeviceId,
        call: CallId,
        state: CallState,
        witness: Witness,
    ) -> Result<(), StoreError> {
        let count = {
            let mut count = self.unknown.entry(device).or_default();
            *count = count.saturating_add(1);
            *count
        };
        if count == MAX_UNKNOWN_CALLS + 1 {
            let body = MoreUnknownCalls { device_id: device, told: MAX_UNKNOWN_CALLS };
            return store.audit_event("device.more_unknown_calls", body, now_ms()).await;
        }
        if count > MAX_UNKNOWN_CALLS {
            return Ok(());
        }
        let body = UnknownCall { device_id: device, call_id: call, state, witness };
        store.audit_event("device.unknown_call", body, now_ms()).await
    }

    /// Audits a problem, and returns whether it did: the interval of its kind may not be over.
    async fn report(
        &self,
        store: &Store,
        device: DeviceId,
        problem: &str,
        finding: Finding,
        body: impl Serialize,
    ) -> Result<bool, StoreError> {
        if !self.may_report(device, finding, Instant::now()) {
            return Ok(false);
        }
        tracing::warn!(%device, problem, "a device's chain and this backend's do not fit");
        if let Err(error) = store.audit_event(finding.kind(), body, now_ms()).await {
            self.last_reported.remove(&(device, finding));
            return Err(error);
        }
        self.flush(store).await;
        Ok(true)
    }

    /// Returns whether this kind of problem may be audited now. A suppressed problem does not extend the
    /// interval.
    fn may_report(&self, device: DeviceId, finding: Finding, now: Instant) -> bool {
        let mut may = false;
        self.last_reported
            .entry((device, finding))
            .and_modify(|last| {
                may = now.saturating_duration_since(*last) >= REPORT_INTERVAL;
                if may {
                    *last = now;
                }
            })
            .or_insert_with(|| {
                may = true;
                now
            });
        may
    }

    /// Stores the chains that changed.
    pub async fn flush(&self, store: &Store) {
        let new: Vec<_> = self
            .chains
            .iter_mut()
            .filter(|entry| entry.is_new)
            .map(|mut entry| {
                entry.is_new = false;
                let WitnessedChain { head, problem, problem_at, last_report: _, is_new: _ } =
                    entry.clone();
                DeviceChainRow { device: *entry.key(), head, problem, problem_at }
            })
            .collect();
        if new.is_empty() {
            return;
        }
        let devices: Vec<_> = new.iter().map(|row| row.device).collect();
        if let Err(error) = store.keep_device_chains(new, now_ms()).await {
            tracing::warn!(%error, "where devices' chains end could not be kept; it is tried again");
            for device in devices {
                if let Some(mut entry) = self.chains.get_mut(&device) {
                    entry.is_new = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
