//! Finds the target that a caller means: a device, or the backend.

use std::sync::Arc;

use orion_catalog::RunsOn;
use orion_domain::{Actor, DeviceId, DeviceName, ErrorCode, Hint, ToolError};
use uuid::Uuid;

use super::{DeviceSnapshot, Fleet};

impl Fleet {
    /// Returns the target that a caller names by id or name.
    ///
    /// # Errors
    /// `DEVICE_NOT_FOUND`.
    pub fn find(&self, wanted: &str) -> Result<Arc<DeviceSnapshot>, ToolError> {
        let by_name =
            || wanted.parse().ok().and_then(|name: DeviceName| self.names.get(&name).map(|id| *id));
        let by_id = || wanted.parse::<Uuid>().ok().map(DeviceId::new);
        by_id().or_else(by_name).and_then(|id| self.known(id)).ok_or_else(|| {
            let shown: String = wanted.chars().take(64).collect();
            let mut near: Vec<_> = self
                .names
                .iter()
                .map(|entry| {
                    let name = entry.key();
                    let near = strsim::normalized_damerau_levenshtein(
                        &shown.to_lowercase(),
                        name.as_str(),
                    );
                    (near, name.to_string())
                })
                .filter(|(score, _)| *score > 0.6)
                .collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            ToolError::new(ErrorCode::DeviceNotFound, format!("No device is called `{shown}`."))
                .hint(Hint::run("list the devices", "orion devices list"))
                .suggesting(near.into_iter().take(3).map(|(_, name)| name).collect())
        })
    }

    /// Returns the last device of this name whose identity has ended.
    #[must_use]
    pub fn ended(&self, wanted: &str) -> Option<Arc<DeviceSnapshot>> {
        let named = |known: &DeviceSnapshot| known.has_ended() && known.name.as_str() == wanted;
        let ended = self.known.iter().filter(|entry| named(entry));
        // Ids sort by their creation time.
        ended.max_by_key(|entry| entry.id.uuid()).map(|entry| Arc::clone(&entry))
    }

    /// Returns the only target that runs tools of this place, for a caller who names none.
    ///
    /// # Errors
    /// `DEVICE_REQUIRED` where several could be meant, `DEVICE_NOT_FOUND` where none is.
    pub fn only(&self, place: RunsOn) -> Result<Arc<DeviceSnapshot>, ToolError> {
        let those = |is_meant: fn(&DeviceSnapshot) -> bool| -> Vec<_> {
            let meant = self.known.iter().filter(|it| it.runs() == place && is_meant(it));
            meant.map(|entry| Arc::clone(&entry)).collect()
        };
        let usable = those(DeviceSnapshot::is_approved);
        match &usable[..] {
            [one] => Ok(Arc::clone(one)),
            [] => match &those(|it| !it.has_ended())[..] {
                [] => Err(ToolError::new(ErrorCode::DeviceNotFound, "No device is enrolled.")
                    .hint(
                        Hint::run("make a token for one", "orion devices invite").by(Actor::Admin),
                    )),
                // Why it takes no calls is said of it by its name.
                [held] => Ok(Arc::clone(held)),
                held => {
                    let message = format!(
                        "None of the {} devices takes calls: they wait for approval, or are in quarantine.",
                        held.len()
                    );
                    Err(ToolError::new(ErrorCode::DeviceNotFound, message)
                        .hint(Hint::run("see their states", "orion devices list"))
                        .hint(
                            Hint::run("approve one", "orion devices approve NAME").by(Actor::Admin),
                        ))
                }
            },
            several => {
                let mut names: Vec<_> = several.iter().map(|it| it.name.to_string()).collect();
                names.sort_unstable();
                Err(ToolError::new(
                    ErrorCode::DeviceRequired,
                    format!("There are {} devices, and the call names none.", several.len()),
                )
                .hint(Hint::one_of("name one of them", names.into_iter().take(10).collect())))
            }
        }
    }
}
