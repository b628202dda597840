//! What was last seen of each device's own chain. A chain that runs backwards, or has another entry where
//! it ended before, is noted in the audit; the device is not cut off for it, since its owner may have had to
//! restore it.
//!
//! What a device says on one connection comes in order. Of two connections, as there are while one takes
//! over from the other, the words may come in any: only what was heard before a connection began must be
//! in what is said on it.

use std::time::{Duration, Instant};

use dashmap::DashMap;
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, CallState, DeviceId};
use serde::Serialize;

use crate::clock::now_ms;
use crate::store::{DeviceChainRow, Store, StoreError, Witness};

/// How often one device can make the audit say one kind of thing of chains.
const AT_MOST_EVERY: Duration = Duration::from_mins(1);

/// How many calls that are not on record one device can bring into the audit, until the next start.
const MOST_UNKNOWN: u32 = 100;

/// What is known of one device's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WitnessedChain {
    /// Where it ends.
    pub head: AuditHead,
    /// What did not fit; empty where all did.
    pub problem: String,
    /// When that was noticed, Unix milliseconds.
    pub problem_at: Option<i64>,
    /// When the head was heard, and when the connection began on which it was; none where that was before
    /// the last start, and so before every connection.
    heard: Option<ReportedChain>,
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
        heard: None,
        is_new: true,
    };

    fn blame(&mut self, problem: &str) {
        problem.clone_into(&mut self.problem);
        self.problem_at = Some(now_ms());
        self.is_new = true;
    }

    /// Whether a connection that began at `since` tells nothing older than the head that is known.
    fn is_before(&self, since: Instant) -> bool {
        self.heard.is_none_or(|heard| heard.since == since || heard.at < since)
    }
}

/// What can be wrong with a chain. Each has a time of its own, so that none keeps another out of the audit.
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

/// See the module.
#[derive(Debug, Default)]
pub struct Witnesses {
    chains: DashMap<DeviceId, WitnessedChain>,
    /// When the audit last said so.
    told: DashMap<(DeviceId, Finding), Instant>,
    /// What each device saw of this backend that is not there, as it was last told.
    seen: DashMap<DeviceId, AuditHead>,
    /// How many calls each told of that are not on record.
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
    /// What the device saw of this backend.
    saw: AuditHead,
    /// Where the audit ended when it said so.
    own: AuditHead,
}

/// There are more of them, which the audit does not have.
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
    /// Takes in what was kept.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn load(&self, store: &Store) -> Result<(), StoreError> {
        for DeviceChainRow { device, head, problem, problem_at } in store.device_chains().await? {
            self.chains.insert(
                device,
                WitnessedChain { head, problem, problem_at, heard: None, is_new: false },
            );
        }
        Ok(())
    }

    /// What is known of a device's chain.
    #[must_use]
    pub fn of(&self, device: DeviceId) -> Option<WitnessedChain> {
        self.chains.get(&device).map(|entry| entry.clone())
    }

    /// The devices whose chain did not fit what was seen of it before.
    #[must_use]
    pub fn broken(&self) -> Vec<(DeviceId, WitnessedChain)> {
        let broken = self.chains.iter().filter(|entry| !entry.problem.is_empty());
        let mut broken: Vec<_> = broken.map(|entry| (*entry.key(), entry.clone())).collect();
        broken.sort_by_key(|(_, chain)| chain.problem_at);
        broken
    }

    /// Takes what a device says of its chain, on a connection that began at `since`, in the order in which
    /// it says so there.
    ///
    /// # Errors
    /// A break could not be recorded; it is noticed again when it is heard again.
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
            // Such a device may have forgotten what it ran, and says of it that it never came.
            store.device_forgot(device, now_ms()).await?;
            self.report(store, device, &problem, Finding::Broken, body).await.map(drop)
        };
        let kept = kept.await;
        if kept.is_err() {
            self.chains.insert(device, before);
        }
        kept
    }

    /// Compares with what is known and takes it in, as one step. Gives what was known and what is wrong,
    /// where something is.
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
            // Said before, and heard after: it accuses nobody, and is not what the chain has come to.
            return None;
        } else if said.seq < witnessed.seq {
            Some(format!("its chain ran backwards, from entry {} to {}", witnessed.seq, said.seq))
        } else {
            Some(format!("its chain forked: it has another entry {}", said.seq))
        };
        known.heard = Some(ReportedChain { at: Instant::now(), since });
        if said != witnessed {
            known.head = said;
            known.is_new = true;
        }
        let problem = problem?;
        known.blame(&problem);
        Some((before, problem))
    }

    /// Takes what a device last saw of this backend's audit. Where that is not there, the record was
    /// restored to an older state, or replaced.
    ///
    /// # Errors
    /// The record cannot be read or kept.
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
            "it saw row {} of this backend's audit, which is another now or not there: the record was restored to an older state",
            saw.seq
        );
        self.chains.entry(device).or_insert(WitnessedChain::NOTHING).blame(&problem);
        // A device says so each time that it connects, until it has seen something newer.
        if self.seen.get(&device).is_some_and(|seen| *seen == saw) {
            return Ok(());
        }
        let body = OtherHistory { device_id: device, saw, own };
        if self.report(store, device, &problem, Finding::OtherHistory, body).await? {
            self.seen.insert(device, saw);
        }
        Ok(())
    }

    /// Takes a call that a device ran and that is not on record, as after a restore.
    ///
    /// # Errors
    /// The record cannot be kept.
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
        if count == MOST_UNKNOWN + 1 {
            let body = MoreUnknownCalls { device_id: device, told: MOST_UNKNOWN };
            return store.audit_event("device.more_unknown_calls", body, now_ms()).await;
        }
        if count > MOST_UNKNOWN {
            return Ok(());
        }
        let body = UnknownCall { device_id: device, call_id: call, state, witness };
        store.audit_event("device.unknown_call", body, now_ms()).await
    }

    /// Writes down what was found, and gives whether it did: it says the same kind of thing only so often.
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
            self.told.remove(&(device, finding));
            return Err(error);
        }
        self.flush(store).await;
        Ok(true)
    }

    /// Whether the audit is to say this of a device now. What it did not say puts off nothing.
    fn may_report(&self, device: DeviceId, finding: Finding, now: Instant) -> bool {
        let mut may = false;
        self.told
            .entry((device, finding))
            .and_modify(|last| {
                may = now.saturating_duration_since(*last) >= AT_MOST_EVERY;
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

    /// Keeps what is new.
    pub async fn flush(&self, store: &Store) {
        let new: Vec<_> = self
            .chains
            .iter_mut()
            .filter(|entry| entry.is_new)
            .map(|mut entry| {
                entry.is_new = false;
                let WitnessedChain { head, problem, problem_at, heard: _, is_new: _ } =
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
