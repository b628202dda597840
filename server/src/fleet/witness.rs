//! Keeps what was last seen of each device's own chain. A chain that runs backwards, or that forked, is
//! audited. The device stays connected, since its owner may have had to restore it.
//!
//! Reports on one connection arrive in order. While a new connection replaces an older one, the reports of
//! the two may arrive in any order. A report must therefore cover what was received before its connection
//! began, but need not cover anything later.

mod backend_head;
mod chain;
mod device_head;
mod finding;
mod unknown_call;

use std::time::Instant;

use dashmap::DashMap;
use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;

use crate::clock::now_ms;
use crate::store::{DeviceChainRow, Store, StoreError};

pub use chain::WitnessedChain;
use finding::Finding;

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
