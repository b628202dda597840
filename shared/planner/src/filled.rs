//! The values of the slots of a sentence.

use crate::slots::Value;

/// The values of a sentence's slots.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Filled(Vec<(&'static str, Value)>);

impl Filled {
    /// Returns the slot's value. `None` for a slot that the pattern does not have.
    pub(crate) fn get(&self, slot: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| *name == slot).map(|(_, value)| value)
    }

    /// Sets a slot's value.
    pub(crate) fn set(&mut self, slot: &'static str, value: Value) {
        self.0.retain(|(name, _)| *name != slot);
        self.0.push((slot, value));
    }

    /// Adds a slot's value.
    pub(crate) fn push(&mut self, slot: &'static str, value: Value) {
        self.0.push((slot, value));
    }

    /// Returns the value that was added last.
    pub(crate) fn last_mut(&mut self) -> Option<&mut Value> {
        self.0.last_mut().map(|(_, value)| value)
    }

    /// Removes the value that was added last.
    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }

    /// Returns the values.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}
