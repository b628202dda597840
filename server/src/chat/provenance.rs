//! Tracks the untrusted content of a chat: where it came from, and whether a call that the model makes occurs
//! in it. Texts are compared exactly; nothing is guessed.

mod copied;
mod occurrence;
mod texts;
mod written;

use std::collections::BTreeSet;

use orion_domain::extract::ExtractedCall;
use orion_domain::{CallId, CallState, ContentRaise, ConversationId, DeviceName, Digest};
use uuid::Uuid;

use crate::clock::now_ms;
use crate::model::{Message, Role};
use crate::pipeline::CallView;
use crate::pipeline::validate::Target;
use crate::store::{Authorship, CallRow, Label, Provenance, Store, StoreError};

use copied::{Sought, letters};
use occurrence::{Text, digest_of, leaves, search};
use texts::{ResultTexts, split_texts};

pub(super) use written::WrittenCall;

/// How many bytes of the newest content are kept for comparison.
const MAX_CONTENT_BYTES: usize = 4 * 1024 * 1024;

/// How many bytes of one result are kept for comparison. A model is given its first 4,096 bytes by default.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// How many of the newest labels an approval card shows.
const MAX_LABELS: usize = 50;

/// Minimum length of an argument whose occurrence is significant, in characters.
const MIN_SIGNIFICANT_CHARS: usize = 12;

/// The untrusted content of one chat.
#[derive(Debug, Default)]
pub(super) struct TaintTracker {
    /// Labels of content that anybody may have written: it may influence every call.
    content: Vec<Label>,
    /// Labels of the devices' own messages. They may influence calls to every other device, because whoever
    /// controls a device can make it report anything.
    device_reports: Vec<Label>,
    texts: Vec<Text>,
    /// What the person said.
    persons: Persons,
    /// Whether the built-in planner alone has made all calls of the chat. No text persuades it.
    planner_alone: bool,
}

/// What the person said in a chat.
#[derive(Debug, Default)]
pub(super) struct Persons {
    /// The letters of each message.
    words: Vec<String>,
    /// The devices that the newest message names that names any.
    devices: BTreeSet<DeviceName>,
    /// The web addresses that the messages hold, as [`address_key`] has them.
    addresses: BTreeSet<String>,
}

/// Returns a web address without its scheme and a slash at its end, for comparison.
fn address_key(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    rest.trim_end_matches('/')
}

/// Returns whether a text is a web address.
fn is_address(text: &str) -> bool {
    let text = text.trim_start();
    ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme)))
}

impl Persons {
    /// Returns what the person said in these messages, oldest first, to these devices. What a client brought is not
    /// what the person said.
    pub(super) fn said(messages: &[Message], devices: &[DeviceName]) -> Self {
        let own = |message: &&Message| message.role == Role::User && !message.relayed;
        let said = || messages.iter().filter(own).map(|it| &it.content);
        let named = |text: &String| {
            let text = text.to_lowercase();
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            let words: BTreeSet<&str> =
                text.split(|c| !is_part(c)).map(|word| word.trim_matches('.')).collect();
            let is_named = |name: &&DeviceName| words.contains(name.as_str());
            devices.iter().filter(is_named).cloned().collect::<BTreeSet<_>>()
        };
        Self {
            words: said().map(|text| letters(text)).collect(),
            devices: said().rev().map(named).find(|it| !it.is_empty()).unwrap_or_default(),
            addresses: said()
                .flat_map(|text| text.split(|c: char| c.is_whitespace() || "<>\"'()".contains(c)))
                .map(|word| address_key(word.trim_end_matches(['.', ',', ';', ':', '!', '?'])))
                .filter(|key| key.contains('.'))
                .map(str::to_owned)
                .collect(),
        }
    }
}

impl TaintTracker {
    /// Loads the content of a chat so far. Where the planner alone has made all calls, no content counts.
    pub(super) async fn before(
        store: &Store,
        conversation: ConversationId,
        persons: Persons,
        planner_alone: bool,
    ) -> Result<Self, StoreError> {
        let mut tracker = Self { persons, planner_alone, ..Self::default() };
        if planner_alone {
            return Ok(tracker);
        }
        for content in store.labelled_content(conversation).await? {
            let result = store.result_of(content.label.call).await?.unwrap_or_default();
            let texts = split_texts(&content.label.tool, &result);
            tracker.add(content.label, content.voice, texts, content.calls);
        }
        Ok(tracker)
    }

    /// Adds the messages that a client brought: they may hold what anybody wrote, on any device. The chat keeps the
    /// label when it has grown beyond these messages.
    pub(super) async fn add_relayed(
        &mut self,
        store: &Store,
        conversation: ConversationId,
        messages: &[Message],
    ) -> Result<(), StoreError> {
        let label = Label {
            call: CallId::new(Uuid::nil()),
            tool: "messages of a program".to_owned(),
            device: "the API's client".to_owned(),
            place: String::new(),
        };
        let relayed = messages.iter().filter(|message| message.relayed).map(|message| {
            let texts = ResultTexts { content: message.content.clone(), ..ResultTexts::default() };
            let calls = search(&texts);
            (texts, calls)
        });
        let relayed: Vec<_> = relayed.collect();
        let voice = Authorship::Untrusted;
        if !relayed.is_empty() && !self.content.contains(&label) {
            let calls: Vec<_> = relayed.iter().flat_map(|(_, calls)| calls).copied().collect();
            store.label_content(conversation, label.clone(), voice, &calls, now_ms()).await?;
        }
        for (texts, calls) in relayed {
            self.add(label.clone(), voice, texts, calls);
        }
        Ok(())
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
        let voice =
            if texts.content.is_empty() { Authorship::Device } else { Authorship::Untrusted };
        if voice == Authorship::Device && device.as_str() == DeviceName::BACKEND {
            // What the backend says itself nobody else has written.
            return Ok(());
        }
        let place = row.touches.first().and_then(|line| line.split_once(' '));
        let label = Label {
            call: reply.call,
            tool: reply.tool.clone(),
            device: device.to_string(),
            place: place.map(|(_, place)| place.to_owned()).unwrap_or_default(),
        };
        let calls = search(&texts);
        store.label_content(conversation, label.clone(), voice, &calls, now_ms()).await?;
        self.add(label, voice, texts, calls);
        Ok(())
    }

    fn add(&mut self, label: Label, voice: Authorship, texts: ResultTexts, calls: Vec<Digest>) {
        self.texts.push(Text::new(label.clone(), texts, calls, MAX_RESULT_BYTES));
        match voice {
            Authorship::Untrusted => {
                self.content.retain(|earlier| *earlier != label);
                self.content.push(label);
            }
            Authorship::Device => {
                self.device_reports.retain(|earlier| earlier.device != label.device);
                self.device_reports.push(label);
            }
        }
        for labels in [&mut self.content, &mut self.device_reports] {
            let surplus = labels.len().saturating_sub(MAX_LABELS);
            labels.drain(..surplus);
        }
        let mut room = MAX_CONTENT_BYTES;
        let fits = |text: &&Text| {
            let left = room.checked_sub(text.size());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let kept = self.texts.iter().rev().take_while(fits).count();
        self.texts.drain(..self.texts.len() - kept);
    }

    /// Returns the untrusted content that may have influenced a call.
    pub(super) fn about(&self, written: &ExtractedCall, target: Option<&Target>) -> Provenance {
        self.of(&WrittenCall::new(written, target))
    }

    fn of(&self, written: &WrittenCall<'_>) -> Provenance {
        if self.planner_alone {
            return Provenance::default();
        }
        let WrittenCall { call, device, .. } = *written;
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
        let copied_from = self.copied_from(written);
        let mut raises = Vec::new();
        if !content.is_empty() && (written.moves_between_devices || self.crosses(device)) {
            raises.push(ContentRaise::CrossesDevices);
        }
        let unnamed =
            |text: &str| is_address(text) && !self.persons.addresses.contains(address_key(text));
        if !content.is_empty() && strings.iter().any(|(_, text)| unnamed(text.trim())) {
            raises.push(ContentRaise::SendsOut);
        }
        if !copied_from.is_empty() {
            raises.push(ContentRaise::Copied);
        }
        Provenance {
            content: content.into_iter().skip(surplus).collect(),
            occurs: names,
            quoted: self.texts.iter().any(|text| text.quotes(call, digest_of(call), &strings)),
            raises,
            copied_from,
        }
    }

    /// Returns whether content came from another device than this one, which the person has not named.
    fn crosses(&self, device: Option<&DeviceName>) -> bool {
        if device.is_some_and(|name| self.persons.devices.contains(name)) {
            return false;
        }
        let is_elsewhere = |label: &Label| {
            label.device != DeviceName::BACKEND
                && device.is_none_or(|name| label.device != name.as_str())
        };
        self.content.iter().chain(&self.device_reports).any(is_elsewhere)
    }

    /// Returns the content in which a text stands that the call writes. What the same file held before is no
    /// such content.
    fn copied_from(&self, written: &WrittenCall<'_>) -> Vec<Label> {
        let mut found: Vec<Label> = Vec::new();
        for text in &written.texts {
            let Some(sought) = Sought::new(text, &self.persons.words) else { continue };
            let mut seam = String::new();
            for content in self.texts.iter().filter(|it| !written.is_own_file(&it.label)) {
                let letters = format!("{seam}{}", content.letters());
                if sought.stands_in(&letters) && !found.contains(&content.label) {
                    found.push(content.label.clone());
                }
                seam = sought.seam(&letters).to_owned();
            }
        }
        found
    }
}

/// Returns whether a result is from a device. The backend itself writes the results of calls that it or a
/// person denied. A device's preview of such a call is still from the device.
fn is_from_device(row: &CallRow) -> bool {
    row.state != CallState::Denied || (row.approval.is_none() && row.decision != "deny")
}

#[cfg(test)]
mod tests;
