//! Compares the head that a device reports of its own chain with the one before.

use std::time::Instant;

use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;
use serde::Serialize;

use super::Witnesses;
use super::chain::{ReportedChain, WitnessedChain};
use super::finding::Finding;
use crate::clock::now_ms;
use crate::store::{Store, StoreError};

#[derive(Serialize)]
struct ChainBroken<'a> {
    pub(super) device_id: DeviceId,
    pub(super) said: AuditHead,
    pub(super) witnessed: AuditHead,
    pub(super) problem: &'a str,
}

impl Witnesses {
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
    pub(super) fn compare(
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
}
