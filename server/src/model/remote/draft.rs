//! An answer in progress, which the readers of all forms fill.
//!
//! Only the calls themselves show that there are calls: servers use their stop reasons too differently to rely
//! on them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::calls::{Calls, Fragment};
use crate::model::{Answer, ModelError, ProviderState, ToolDefinition, Usage};

/// Receives each piece of text as it arrives.
pub(super) type OnText<'a> = &'a mut (dyn FnMut(&str) + Send);

/// An answer in progress.
#[derive(Debug)]
pub(super) struct Draft {
    limit_bytes: usize,
    held_bytes: usize,
    pub(super) text: String,
    refusal: String,
    pub(super) calls: Calls,
    /// The calls in an older form, which some servers send as a copy beside the calls.
    pub(super) legacy: Calls,
    /// What the provider wants back with the results of the calls: reasoning and its signatures, in order.
    items: BTreeMap<u64, Value>,
    pub(super) usage: Option<Usage>,
    /// Whether any value in the expected form arrived.
    pub(super) answered: bool,
    /// Whether the server sent a stop reason or an end marker.
    pub(super) finished: bool,
    /// Whether the answer was cut off at a limit.
    pub(super) cut: bool,
    /// Whether the provider's filter or the model itself ended the answer.
    pub(super) filtered: bool,
}

impl Draft {
    pub(super) fn new(tools: &[ToolDefinition], limit_bytes: usize) -> Self {
        let known = || tools.iter().map(|tool| tool.name.clone()).collect();
        Self {
            limit_bytes,
            held_bytes: 0,
            text: String::new(),
            refusal: String::new(),
            calls: Calls::new(known()),
            legacy: Calls::new(known()),
            items: BTreeMap::new(),
            usage: None,
            answered: false,
            finished: false,
            cut: false,
            filtered: false,
        }
    }

    /// Adds text, which goes to `on_text` immediately.
    pub(super) fn say(&mut self, text: &str, on_text: OnText<'_>) -> Result<(), ModelError> {
        if text.is_empty() {
            return Ok(());
        }
        self.hold(text.len())?;
        self.text.push_str(text);
        on_text(text);
        Ok(())
    }

    /// Adds the text of a refusal, which is the answer where there is no other.
    pub(super) fn refuse(&mut self, text: &str) -> Result<(), ModelError> {
        self.hold(text.len())?;
        self.refusal.push_str(text);
        Ok(())
    }

    /// Adds a fragment of a call; `place` is its position in a list of several.
    pub(super) fn call(&mut self, part: Fragment, place: Option<u64>) -> Result<(), ModelError> {
        let held = self.calls.push(part, place);
        self.hold(held)
    }

    /// Keeps what the provider wants back, at its position.
    pub(super) fn item(&mut self, at: u64, item: Value) -> Result<(), ModelError> {
        self.hold(size_of::<Value>() + item.to_string().len())?;
        self.items.insert(at, item);
        Ok(())
    }

    /// Appends text to a member of what is kept at that position.
    pub(super) fn extend_item(
        &mut self,
        at: u64,
        member: &str,
        more: &str,
    ) -> Result<(), ModelError> {
        self.hold(more.len())?;
        if let Some(Value::Object(item)) = self.items.get_mut(&at) {
            match item.get_mut(member) {
                Some(Value::String(text)) => text.push_str(more),
                _ => drop(item.insert(member.to_owned(), more.into())),
            }
        }
        Ok(())
    }

    pub(super) const fn hold(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        if self.held_bytes > self.limit_bytes {
            return Err(ModelError::TooLarge { limit_bytes: self.limit_bytes });
        }
        Ok(())
    }

    /// Returns the assembled answer.
    ///
    /// # Errors
    /// [`ModelError::BrokenStream`] where nothing arrived, or a call is incomplete.
    pub(super) fn finish(
        self,
        expected: &str,
        state: impl FnOnce(Vec<Value>) -> ProviderState,
        on_text: OnText<'_>,
    ) -> Result<Answer, ModelError> {
        if !self.answered {
            return Err(ModelError::BrokenStream { reason: format!("what came is no {expected}") });
        }
        let calls = if self.calls.is_empty() { self.legacy } else { self.calls };
        let native_calls = calls.finish();
        let whole = |arguments: &str| {
            arguments.trim().is_empty()
                || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
        };
        if !self.finished && !native_calls.iter().all(|call| whole(&call.arguments)) {
            return Err(ModelError::BrokenStream {
                reason: "it ended in the middle of a tool call".to_owned(),
            });
        }
        let mut text = self.text;
        if text.is_empty() && !self.refusal.is_empty() {
            on_text(&self.refusal);
            text = self.refusal;
        }
        let items: Vec<Value> = self.items.into_values().collect();
        Ok(Answer {
            text,
            native_calls,
            truncated: self.cut || !self.finished,
            not_understood: false,
            filtered: self.filtered,
            usage: self.usage,
            state: (!items.is_empty()).then(|| state(items)),
            // The client that sent the request knows.
            offered_natively: false,
        })
    }
}

/// Returns a number of tokens, however it is written.
pub(super) fn tokens(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or_default()
}
