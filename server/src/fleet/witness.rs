//! What was last seen of each device's own chain. A chain that runs backwards or forks is noted in the
//! audit; the device is not cut off for it, since its owner may have had to restore it.

use dashmap::DashMap;
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, CallState, DeviceId};
use serde::Serialize;

use crate::clock::now_ms;
use crate::store::{DeviceChainRow, Store, StoreError, Witness};

/// How often one device can make the audit say that its chain does not fit, in milliseconds.
const AT_MOST_EVERY_MS: i64 = 60_000;

/// How many calls that are not on record one device can bring into the audit, until the next start.
const MOST_UNKNOWN: u32 = 100;

/// What is known of one device's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witnessed {
    /// Where it ends.
    pub head: AuditHead,
    /// What did not fit; empty where all did.
    pub problem: String,
    /// When that was noticed, Unix milliseconds.
    pub problem_at: Option<i64>,
    is_new: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Witnesses {
    chains: DashMap<DeviceId, Witnessed>,
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
            self.chains.insert(device, Witnessed { head, problem, problem_at, is_new: false });
        }
        Ok(())
    }

    /// What is known of a device's chain.
    #[must_use]
    pub fn of(&self, device: DeviceId) -> Option<Witnessed> {
        self.chains.get(&device).map(|entry| entry.clone())
    }

    /// The devices whose chain did not fit what was seen of it before.
    #[must_use]
    pub fn broken(&self) -> Vec<(DeviceId, Witnessed)> {
        let broken = self.chains.iter().filter(|entry| !entry.problem.is_empty());
        let mut broken: Vec<_> = broken.map(|entry| (*entry.key(), entry.clone())).collect();
        broken.sort_by_key(|(_, chain)| chain.problem_at);
        broken
    }

    /// Takes what a device says of its chain, in the order in which it says so.
    ///
    /// # Errors
    /// A break could not be recorded.
    pub async fn heard(
        &self,
        store: &Store,
        device: DeviceId,
        said: AuditHead,
    ) -> Result<(), StoreError> {
        let before = self.of(device);
        let witnessed = before.as_ref().map_or(AuditHead::EMPTY, |before| before.head);
        if said == witnessed {
            return Ok(());
        }
        let problem = if said.seq < witnessed.seq {
            format!("its chain ran backwards, from entry {} to {}", witnessed.seq, said.seq)
        } else if said.seq == witnessed.seq {
            format!("its chain forked: it has another entry {}", said.seq)
        } else {
            self.note(device, said, None);
            return Ok(());
        };
        let body = ChainBroken { device_id: device, said, witnessed, problem: &problem };
        self.note(device, said, Some(problem.clone()));
        self.tell(store, device, before.as_ref(), &problem, "device.chain_broken", body).await
    }

    /// Takes what a device last saw of this backend's audit. Where that is not there, the record was
    /// restored to an older state, or replaced.
    ///
    /// # Errors
    /// The record cannot be read or kept.
    pub async fn heard_of_us(
        &self,
        store: &Store,
        device: DeviceId,
        saw: AuditHead,
    ) -> Result<(), StoreError> {
        if saw == AuditHead::EMPTY || store.audit_hash(saw.seq).await? == Some(saw.hash) {
            return Ok(());
        }
        let own = store.audit_head().await?;
        let before = self.of(device);
        let problem = format!(
            "it saw row {} of this backend's audit, which is another now or not there: the record was restored to an older state",
            saw.seq
        );
        let head = before.as_ref().map_or(AuditHead::EMPTY, |before| before.head);
        self.note(device, head, Some(problem.clone()));
        let body = OtherHistory { device_id: device, saw, own };
        self.tell(store, device, before.as_ref(), &problem, "device.other_history", body).await
    }

    /// Takes a call that a device ran and that is not on record, as after a restore.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn told_of_unknown(
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
        if count > MOST_UNKNOWN {
            return Ok(());
        }
        let body = UnknownCall { device_id: device, call_id: call, state, witness };
        store.audit_event("device.unknown_call", body, now_ms()).await
    }

    fn note(&self, device: DeviceId, head: AuditHead, problem: Option<String>) {
        let mut entry = self.chains.entry(device).or_insert_with(|| Witnessed {
            head,
            problem: String::new(),
            problem_at: None,
            is_new: true,
        });
        entry.head = head;
        entry.is_new = true;
        if let Some(problem) = problem {
            entry.problem = problem;
            entry.problem_at = Some(now_ms());
        }
    }

    async fn tell(
        &self,
        store: &Store,
        device: DeviceId,
        before: Option<&Witnessed>,
        problem: &str,
        kind: &'static str,
        body: impl Serialize,
    ) -> Result<(), StoreError> {
        let now = now_ms();
        let last = before.and_then(|before| before.problem_at);
        if last.is_some_and(|last| now - last < AT_MOST_EVERY_MS && now >= last) {
            return Ok(());
        }
        tracing::warn!(%device, problem, "a device's chain and this backend's do not fit");
        store.audit_event(kind, body, now).await?;
        self.flush(store).await;
        Ok(())
    }

    /// Keeps what is new.
    pub async fn flush(&self, store: &Store) {
        let new: Vec<_> = self
            .chains
            .iter_mut()
            .filter(|entry| entry.is_new)
            .map(|mut entry| {
                entry.is_new = false;
                let Witnessed { head, problem, problem_at, is_new: _ } = entry.clone();
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
