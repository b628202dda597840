//! Stopped calls: a stop refuses every call that it covers, and ends those that run or wait, until it is lifted.
//!
//! [`Stops`] keeps all stops in memory. A call is checked when it is evaluated, once more in the step that sends
//! it, and after it was stored as waiting. A stop is stored, then counts in memory, and only then reads which calls
//! to end: a call at the same moment is refused by the check or found by the read.

mod end;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use orion_domain::{Caller, DeviceId, Role, ToolError, UserName};
use tokio::sync::Mutex;

use super::Pipeline;
use crate::clock::now_ms;
use crate::store::{StopRow, StopScope, Store, StoreError};

pub use end::{EndedCalls, end_all_covered, set};
pub(super) use end::{end_if_covered, end_plan_if_covered};
use refusal::refusal;

/// The maximum length of a stored reason, in characters.
pub const MAX_REASON_CHARS: usize = 1000;

type ActiveStops = HashMap<StopScope, StopRow>;

/// The stops that are set, at most one for each scope.
#[derive(Debug)]
pub struct Stops {
    active: RwLock<ActiveStops>,
    /// Held while a stop changes in the database and then in memory.
    changing: Mutex<()>,
}

/// The right to send one call: no stop is set while it is held.
#[derive(Debug)]
pub struct Unstopped<'a> {
    _active: RwLockReadGuard<'a, ActiveStops>,
}

impl Stops {
    /// Reads the stops that are stored.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn load(store: &Store) -> Result<Self, StoreError> {
        let rows = store.stops().await?;
        let active = rows.into_iter().map(|row| (row.scope.clone(), row)).collect();
        Ok(Self { active: RwLock::new(active), changing: Mutex::default() })
    }

    /// Returns the error for a call of this person on this device. None if it is not stopped.
    #[must_use]
    pub fn refusal(&self, user: &UserName, device: DeviceId) -> Option<ToolError> {
        covering(&self.read(), user, device).map(refusal)
    }

    /// Returns the refusal of a person's calls on one device, or on any, by a stop that they did not set.
    pub fn set_by_others(&self, user: &UserName, device: Option<DeviceId>) -> Option<ToolError> {
        let covers = |stop: &&StopRow| {
            let is_place =
                stop.scope.device.is_none_or(|it| device.is_none_or(|device| device == it));
            is_place && stop.scope.user.as_ref().is_none_or(|it| it == user) && !stop.is_own()
        };
        // The one that covers most is lifted first.
        let widest = |stop: &&StopRow| (stop.scope.user.is_some(), stop.scope.device.is_some());
        self.read().values().filter(covers).min_by_key(widest).map(refusal)
    }

    /// Returns the right to send one call, to be held until it is sent.
    ///
    /// # Errors
    /// The call is stopped.
    pub fn pass(&self, user: &UserName, device: DeviceId) -> Result<Unstopped<'_>, ToolError> {
        let active = self.read();
        match covering(&active, user, device) {
            Some(stop) => Err(refusal(stop)),
            None => Ok(Unstopped { _active: active }),
        }
    }

    /// Returns the stops that this person may see, oldest first: those that cover their calls, or all for an admin.
    #[must_use]
    pub fn visible(&self, caller: &Caller) -> Vec<StopRow> {
        let is_visible = |stop: &&StopRow| {
            let user = stop.scope.user.as_ref();
            caller.role == Role::Admin || user.is_none_or(|user| *user == caller.user)
        };
        let mut stops: Vec<_> = self.read().values().filter(is_visible).cloned().collect();
        stops.sort_by_key(|stop| (stop.at, stop.scope.user.clone(), stop.scope.device));
        stops
    }

    /// Lifts a stop that is set, or with `device` None every stop of these people's calls. A person who is no admin
    /// lifts only stops that they set on their own calls. Returns the stops that were lifted.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn lift(
        &self,
        store: &Store,
        by: &Caller,
        scope: &StopScope,
    ) -> Result<Vec<StopRow>, StoreError> {
        let _changing = self.changing.lock().await;
        let is_wanted = |stop: &StopRow| {
            stop.scope.user == scope.user
                && (scope.device.is_none() || stop.scope.device == scope.device)
                && (by.role == Role::Admin || stop.is_own())
        };
        let mut wanted = self.visible(by);
        wanted.retain(is_wanted);
        for stop in &wanted {
            if store.lift_stop(stop, &by.user, now_ms()).await? {
                self.write(|active| active.remove(&stop.scope));
            }
        }
        Ok(wanted)
    }

    /// Returns the stop that covers a call. None if there is none.
    fn covering(&self, user: &UserName, device: DeviceId) -> Option<StopRow> {
        covering(&self.read(), user, device).cloned()
    }

    fn is_empty(&self) -> bool {
        self.read().is_empty()
    }

    /// Stores a stop. From then on no call that it covers is sent. Returns the stop that is set, and whether it is
    /// this one.
    async fn add(&self, store: &Store, stop: StopRow) -> Result<(StopRow, bool), StoreError> {
        let _changing = self.changing.lock().await;
        if store.set_stop(&stop).await? {
            self.write(|active| active.insert(stop.scope.clone(), stop.clone()));
            return Ok((stop, true));
        }
        let set = self.read().get(&stop.scope).cloned();
        Ok((set.ok_or(StoreError::Conflict)?, false))
    }

    fn read(&self) -> RwLockReadGuard<'_, ActiveStops> {
        self.active.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, change: impl FnOnce(&mut ActiveStops) -> Option<StopRow>) {
        change(&mut self.active.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns the widest stop that covers a call of this person on this device.
fn covering<'a>(active: &'a ActiveStops, user: &UserName, device: DeviceId) -> Option<&'a StopRow> {
    if active.is_empty() {
        return None;
    }
    [(None, None), (None, Some(device)), (Some(user), None), (Some(user), Some(device))]
        .into_iter()
        .find_map(|(user, device)| active.get(&StopScope { user: user.cloned(), device }))
}

impl Pipeline {
    /// Returns the stop that covers a call. None if there is none.
    fn stop_of(&self, user: &UserName, device: Option<DeviceId>) -> Option<StopRow> {
        self.stops.covering(user, device?)
    }
}
