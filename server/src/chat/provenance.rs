//! Tracks the untrusted content of a chat: where it came from, and whether a call that the model makes occurs
//! in it. Texts are compared exactly; nothing is guessed.

mod occurrence;
mod texts;

use orion_domain::extract::ExtractedCall;
use orion_domain::{CallState, ConversationId, DeviceName, Digest};

use crate::clock::now_ms;
use crate::pipeline::CallView;
use crate::store::{Authorship, CallRow, Label, LabelledContent, Provenance, Store, StoreError};

use occurrence::{Text, digest_of, leaves, search};
use texts::{ResultTexts, split_texts};

/// How many bytes of the newest content are kept for comparison.
const MAX_CONTENT_BYTES: usize = 4 * 1024 * 1024;

/// How many of the newest labels an approval card shows.
const MAX_LABELS: usize = 50;

/// Minimum length of an argument whose occurrence is significant, in characters.
const MIN_SIGNIFICANT_CHARS: usize = 12;

/// The untrusted content of one chat.
#[derive(Debug, Default)]
pub(super) struct TaintTracker {
    /// Labels of content that anybody may have written: it taints every call.
    content: Vec<Label>,
    /// Labels of the devices' own messages. They taint calls to every other device, because whoever controls
    /// a device can make it report anything.
    device_reports: Vec<Label>,
    texts: Vec<Text>,
}

impl TaintTracker {
    /// Loads the content of a chat so far.
    pub(super) async fn before(
        store: &Store,
        conversation: ConversationId,
    ) -> Result<Self, StoreError> {
        Ok(Self::of(store.labelled_content(conversation, MAX_CONTENT_BYTES).await?))
    }

    /// Restores content whose calls were extracted when it was received.
    fn of(rows: Vec<LabelledContent>) -> Self {
        let mut tracker = Self::default();
        for LabelledContent { label, voice, calls, result } in rows {
            let texts = split_texts(&label.tool, &result);
            tracker.add(label, voice, texts, calls);
        }
        tracker
    }

    /// Records the result of a call before the model receives it.
    pub(super) async fn record_result(
        &mut self,
        store: &Store,
        conversation: ConversationId,
        reply: &CallView,
    ) -> Result<(), StoreError> {
        let Some(device) = &reply.device else { return Ok(()) };
        let texts = split_texts(&reply.tool, &reply.result);
        let row = store.call(reply.call).await?;
        if texts == ResultTexts::default() || !is_from_device(&row) {
            return Ok(());
        }
        let place = row.touches.first().and_then(|line| line.split_once(' '));
        let label = Label {
            call: reply.call,
            tool: reply.tool.clone(),
            device: device.to_string(),
            place: place.map(|(_, place)| place.to_owned()).unwrap_or_default(),
        };
        let voice =
            if texts.content.is_empty() { Authorship::Device } else { Authorship::Untrusted };
        let calls = search(&texts);
        store.label_content(conversation, label.clone(), voice, &calls, now_ms()).await?;
        self.add(label, voice, texts, calls);
        Ok(())
    }

    fn add(&mut self, label: Label, voice: Authorship, texts: ResultTexts, calls: Vec<Digest>) {
        match voice {
            Authorship::Untrusted => self.content.push(label),
            Authorship::Device => {
                self.device_reports.retain(|earlier| earlier.device != label.device);
                self.device_reports.push(label);
            }
        }
        for labels in [&mut self.content, &mut self.device_reports] {
            let surplus = labels.len().saturating_sub(MAX_LABELS);
            labels.drain(..surplus);
        }
        self.texts.push(Text { words: texts.content, calls });
        let mut room = MAX_CONTENT_BYTES;
        let fits = |text: &&Text| {
            let left = room.checked_sub(text.words.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let kept = self.texts.iter().rev().take_while(fits).count();
        self.texts.drain(..self.texts.len() - kept);
    }

    /// Returns the untrusted content that may have influenced a call to this device.
    pub(super) fn about(&self, call: &ExtractedCall, device: Option<&DeviceName>) -> Provenance {
        let mut strings = Vec::new();
        leaves(&call.arguments, &mut strings);
        let occurs = |value: &str| {
            value.chars().count() >= MIN_SIGNIFICANT_CHARS
                && self.texts.iter().any(|text| text.holds(value))
        };
        let mut names: Vec<String> = strings
            .iter()
            .filter(|(_, value)| occurs(value))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        names.dedup();
        let elsewhere = |label: &&Label| device.is_none_or(|name| label.device != name.as_str());
        let others = self.device_reports.iter().filter(elsewhere);
        let content: Vec<_> = others.chain(&self.content).cloned().collect();
        let surplus = content.len().saturating_sub(MAX_LABELS);
        Provenance {
            content: content.into_iter().skip(surplus).collect(),
            occurs: names,
            quoted: self.texts.iter().any(|text| text.quotes(call, digest_of(call), &strings)),
        }
    }
}

/// Returns whether a result is from a device. The backend itself writes the results of calls that it or a
/// person denied. A device's preview of such a call is still from the device.
fn is_from_device(row: &CallRow) -> bool {
    row.state != CallState::Denied || (row.approval.is_none() && row.decision != "deny")
}

#[cfg(test)]
mod tests;
