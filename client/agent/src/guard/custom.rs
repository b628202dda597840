//! The custom tools that the guard knows.

use std::sync::Arc;

use super::Guard;
use crate::custom::CustomTools;

impl Guard {
    /// Sets the custom tools of this device.
    pub fn define(&mut self, custom: Arc<CustomTools>) {
        self.custom = custom;
    }

    /// Returns the custom tools of this device.
    #[must_use]
    pub fn custom(&self) -> &CustomTools {
        &self.custom
    }
}
