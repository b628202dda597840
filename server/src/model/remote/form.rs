//! The forms of requests and answers that providers speak.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use orion_domain::Secret;

use super::conversation::Conversation;
use super::draft::{Draft, OnText};
use super::{anthropic, chat, gemini, refusal, responses};
use crate::model::{Api, ModelConfig, ModelError, ModelKind};

/// The form of a provider's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::model) enum Form {
    /// OpenAI's Chat Completions.
    Chat,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
}

/// What a request asks for beside the conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes<'a> {
    /// The model's name at its provider.
    pub(super) model: &'a str,
    /// The longest answer, in tokens. None leaves it to the provider.
    pub(super) max_output_tokens: Option<u32>,
    /// Whether the server may be asked for usage figures, and for reasoning to be passed back.
    pub(super) extras: bool,
}

impl Form {
    /// Returns the form that a section speaks. None for the planner.
    pub(super) const fn of(config: &ModelConfig) -> Option<Self> {
        match (config.kind, config.api) {
            (ModelKind::Openai, Api::Chat) => Some(Self::Chat),
            (ModelKind::Openai, Api::Responses) => Some(Self::Responses),
            (ModelKind::Anthropic, _) => Some(Self::Anthropic),
            (ModelKind::Gemini, _) => Some(Self::Gemini),
            (ModelKind::Planner, _) => None,
        }
    }

    /// What this form calls its answer, for errors.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Chat => {
                "chat completion; `url` must be the address below which /chat/completions is"
            }
            Self::Responses => "response; `url` must be the address below which /responses is",
            Self::Anthropic => "message; `url` must be the address below which /messages is",
            Self::Gemini => "generated content; `url` must be the address below which /models is",
        }
    }

    /// Sets the path and query below the base address of `url`.
    pub(super) fn complete_address(self, url: &mut Url, model: &str) {
        let path = url.path().trim_end_matches('/').to_owned();
        let below = |end: &str| format!("{}{end}", path.strip_suffix(end).unwrap_or(&path));
        match self {
            Self::Chat => url.set_path(&below("/chat/completions")),
            Self::Responses => url.set_path(&below("/responses")),
            Self::Anthropic => url.set_path(&below("/messages")),
            Self::Gemini => {
                let model = model.strip_prefix("models/").unwrap_or(model);
                url.set_path(&format!("{path}/models/{model}:streamGenerateContent"));
                url.set_query(Some("alt=sse"));
            }
        }
    }

    /// Adds the headers of this form, with the key.
    ///
    /// # Errors
    /// The key cannot be in a header.
    pub(super) fn headers(self, key: Option<&Secret>, headers: &mut HeaderMap) -> Result<(), ()> {
        if self == Self::Anthropic {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
        }
        let Some(key) = key else { return Ok(()) };
        let (name, value) = match self {
            Self::Chat | Self::Responses => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            Self::Anthropic => (HeaderName::from_static("x-api-key"), key.expose().to_owned()),
            Self::Gemini => (HeaderName::from_static("x-goog-api-key"), key.expose().to_owned()),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| ())?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    }

    /// Returns the body of a request.
    pub(super) fn body(self, conversation: &Conversation<'_>, wishes: Wishes<'_>) -> Value {
        match self {
            Self::Chat => chat::request::body(conversation, wishes),
            Self::Responses => responses::request::body(conversation, wishes),
            Self::Anthropic => anthropic::request::body(conversation, wishes),
            Self::Gemini => gemini::request::body(conversation, wishes),
        }
    }

    /// Adds one value of the answer. Text goes to `on_text` immediately.
    ///
    /// # Errors
    /// The error that the server reports, and [`ModelError::TooLarge`].
    pub(super) fn take(
        self,
        value: &Value,
        draft: &mut Draft,
        on_text: OnText<'_>,
    ) -> Result<(), ModelError> {
        if let Value::Array(values) = value {
            return values.iter().try_for_each(|value| self.take(value, draft, &mut *on_text));
        }
        if let Some(reason) = refusal::error_in(value) {
            return Err(refusal::in_stream(value, reason, draft.answered));
        }
        match self {
            Self::Chat => chat::take(value, draft, on_text),
            Self::Responses => responses::take(value, draft, on_text),
            Self::Anthropic => anthropic::take(value, draft, on_text),
            Self::Gemini => gemini::take(value, draft, on_text),
        }
    }
}
