//! What a call has to find on the disk: the state that its preview showed.

use orion_domain::{DevicePath, Observation, Touches};
use orion_wire::Dispatched;

/// What to do about the touched paths before the call runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ObservationMode {
    /// Nothing.
    #[default]
    Nothing,
    /// Report the observations with the result.
    Tell(Touches),
    /// Compare the current state with these observations.
    Compare(Touches, Vec<Observation>),
}

impl ObservationMode {
    /// Returns what the backend asks for.
    #[must_use]
    pub fn of(call: &Dispatched, touches: &Touches) -> Self {
        if !call.observed.is_empty() {
            Self::Compare(touches.clone(), call.observed.clone())
        } else if call.observe {
            Self::Tell(touches.clone())
        } else {
            Self::Nothing
        }
    }
}

/// The touched paths and their state in the preview.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedState<'a> {
    /// What the call touches.
    pub touches: &'a Touches,
    /// The observations of the preview.
    pub before: &'a [Observation],
}

impl<'a> ExpectedState<'a> {
    /// Returns the observation of a path. `None` if the path was not observed.
    #[must_use]
    pub fn of(self, path: &DevicePath) -> Option<&'a Observation> {
        let path = path.to_string();
        self.before.iter().find(|seen| seen.path == path)
    }
}
