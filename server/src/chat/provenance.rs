//! Tracks the untrusted content of a chat: where it came from, and whether a call that the model makes occurs
//! in it. Texts are compared exactly; nothing is guessed.

mod copied;
mod occurrence;
mod texts;
mod written;

use std::collections::BTreeSet;

use orion_catalog::ToolSpec;
use orion_domain::extract::ExtractedCall;
use orion_domain::{CallId, CallState, ContentRaise, ConversationId, DeviceName, Digest};
use uuid::Uuid;

use crate::clock::now_ms;
use crate::model::{Message, Role};
use crate::pipeline::validate::Target;
use crate::pipeline::{CallView, Pipeline};
use crate::store::{Authorship, CallRow, Label, LabelledContent, Provenance, Store, StoreError};

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
    /// Labels of the descriptions of custom tools that the model is offered. Whoever writes the server of the
    /// tools writes them, so they may influence every call but those of the same device's custom tools.
    descriptions: Vec<(Label, Option<Digest>)>,
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
    /// The only device that there is, which needs no naming.
    only: Option<DeviceName>,
    /// The web addresses that the messages hold, as [`address_key`] has them.
    addresses: BTreeSet<String>,
}

/// Returns the names of all devices.
pub(super) fn devices(pipeline: &Pipeline) -> Vec<DeviceName> {
    let all = pipeline.fleet.all();
    let names = all.iter().map(|device| &device.name);
    names.filter(|name| name.as_str() != DeviceName::BACKEND).cloned().collect()
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
            only: match devices {
                [one] => Some(one.clone()),
                _ => None,
            },
            devices: said().rev().map(named).find(|it| !it.is_empty()).unwrap_or_default(),
            addresses: said()
                .flat_map(|text| text.split(|c: char| c.is_whitespace() || "<>\"'()".contains(c)))
                .map(|word| address_key(word.trim_end_matches(['.', ',', ';', ':', '!', '?'])))
                .filter(|key| key.contains('.'))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns whether the person means this device.
    fn means(&self, device: &DeviceName) -> bool {
        self.devices.contains(device) || self.only.as_ref() == Some(device)
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
            let LabelledContent { label, voice, calls, text } = content;
            let texts = match text {
                Some(content) => ResultTexts { content, ..ResultTexts::default() },
                None => {
                    let result = store.result_of(label.call).await?.unwrap_or_default();
                    split_texts(&label.tool, &result)
                }
            };
            tracker.add(label, voice, texts, calls);
        }
        Ok(tracker)
    }

    /// Creates the content of a chat that has read one text. Its first 64 KiB count.
    pub(super) fn of_text(persons: Persons, label: Label, mut text: String) -> Self {
        text.truncate(text.floor_char_boundary(MAX_RESULT_BYTES));
        let texts = ResultTexts { content: text, own: String::new() };
        let calls = search(&texts);
        let mut tracker = Self { persons, ..Self::default() };
        tracker.add(label, Authorship::Untrusted, texts, calls);
        tracker
    }

    /// Adds the descriptions of the custom tools that a model is offered, each once.
    pub(super) fn add_described(&mut self, tools: &[(&'static ToolSpec, DeviceName)]) {
        for (spec, device) in tools {
            let label = Label {
                call: CallId::new(Uuid::nil()),
                tool: spec.name.to_owned(),
                device: device.to_string(),
                place: "the description of the tool".to_owned(),
            };
            let described = (label, spec.definition().map(|(_, digest)| digest));
            if self.descriptions.contains(&described) {
                continue;
            }
            let content = format!("{}\n{}", spec.description, spec.arguments_schema());
            let texts = ResultTexts { content, own: String::new() };
            let calls = search(&texts);
            let label = described.0.clone();
            self.texts.push(Text::new(label, texts, calls, MAX_RESULT_BYTES));
            self.descriptions.push(described);
        }
    }

    /// Records the messages that a client reports: they may hold what anybody wrote, on any device.
    pub(super) async fn record_relayed(
        &mut self,
        store: &Store,
        conversation: ConversationId,
        messages: &[Message],
    ) -> Result<(), StoreError> {
        for message in messages.iter().filter(|message| message.relayed) {
            let label = Label {
                call: CallId::new(Uuid::nil()),
                tool: "earlier messages".to_owned(),
                device: "the API's client".to_owned(),
                place: String::new(),
            };
            let mut content = message.content.clone();
            let texts = ResultTexts { content: content.clone(), ..ResultTexts::default() };
            let calls = search(&texts);
            content.truncate(content.floor_char_boundary(MAX_RESULT_BYTES));
            let recorded = LabelledContent {
                label: label.clone(),
                voice: Authorship::Untrusted,
                calls: calls.clone(),
                text: Some(content),
            };
            store.label_content(conversation, recorded, now_ms()).await?;
            self.add(label, Authorship::Untrusted, texts, calls);
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
        let recorded =
            LabelledContent { label: label.clone(), voice, calls: calls.clone(), text: None };
        store.label_content(conversation, recorded, now_ms()).await?;
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
        forget_oldest(&mut self.content);
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
        let described = self.described(written);
        let content: Vec<_> = described.chain(others).chain(&self.content).cloned().collect();
        let surplus = content.len().saturating_sub(MAX_LABELS);
        let copied_from = self.copied_from(written);
        let mut raises = Vec::new();
        if !content.is_empty() && (written.moves_between_devices || self.crosses(written)) {
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

    /// Returns the descriptions of tools that may influence a call.
    fn described(&self, written: &WrittenCall<'_>) -> impl Iterator<Item = &Label> {
        self.descriptions
            .iter()
            .map(|(label, _)| label)
            .filter(move |label| !written.is_beside(label))
    }

    /// Returns whether content came from elsewhere than this device, which the person has not named and which
    /// is not their only one.
    fn crosses(&self, written: &WrittenCall<'_>) -> bool {
        let device = written.device;
        if device.is_some_and(|name| self.persons.means(name)) {
            return false;
        }
        let is_elsewhere = |label: &Label| device.is_none_or(|name| label.device != name.as_str());
        let described = self.described(written);
        self.content.iter().chain(&self.device_reports).chain(described).any(is_elsewhere)
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

/// Forgets the oldest labels beyond the limit, but none that is the newest of its device: a chat that has read
/// much of one device has still read the others.
fn forget_oldest(labels: &mut Vec<Label>) {
    let mut surplus = labels.len().saturating_sub(MAX_LABELS);
    let mut at = 0;
    while surplus > 0 && at < labels.len() {
        let mut newer = labels.iter().skip(at + 1);
        if labels.get(at).is_some_and(|it| newer.any(|newer| newer.device == it.device)) {
            labels.remove(at);
            surplus -= 1;
        } else {
            at += 1;
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
