//! The conversation as the planner receives it.

use std::borrow::Cow;

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A person's request.
    Request(Cow<'a, str>),
    /// A model's answer.
    Answer {
        /// Its text, which is only compared with what the planner asks.
        text: Cow<'a, str>,
        /// Its native calls.
        calls: Vec<Call<'a>>,
    },
    /// The result of a call.
    Result {
        /// The id of the native call. None for a call that was found in text.
        call_id: Option<Cow<'a, str>>,
        /// The result envelope as JSON, possibly cut at a limit.
        envelope: Cow<'a, str>,
    },
}

/// A call of a model. Nothing in it is validated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// The call's id, unique within its answer.
    pub id: Cow<'a, str>,
    /// The tool's name or alias, as the model wrote it.
    pub tool: Cow<'a, str>,
    /// The arguments as the model wrote them; should be a JSON object.
    pub arguments: Cow<'a, str>,
}

impl Message<'_> {
    /// Returns the text of a request.
    pub(crate) fn request(&self) -> Option<&str> {
        match self {
            Self::Request(text) => Some(text),
            Self::Answer { .. } | Self::Result { .. } => None,
        }
    }

    /// Returns the calls of an answer; none for other messages.
    pub(crate) fn calls(&self) -> &[Call<'_>] {
        match self {
            Self::Answer { calls, .. } => calls,
            Self::Request(_) | Self::Result { .. } => &[],
        }
    }

    /// Returns the text of an answer without calls.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Answer { text, calls } if calls.is_empty() => Some(text),
            Self::Answer { .. } | Self::Request(_) | Self::Result { .. } => None,
        }
    }

    /// Returns the envelope of a result.
    pub(crate) fn envelope(&self) -> Option<&str> {
        match self {
            Self::Result { envelope, .. } => Some(envelope),
            Self::Request(_) | Self::Answer { .. } => None,
        }
    }
}

#[cfg(test)]
impl Message<'_> {
    /// Creates a request.
    pub(crate) fn of_person(text: &str) -> Message<'static> {
        Message::Request(text.to_owned().into())
    }

    /// Creates an answer with one call whose id is `1`.
    pub(crate) fn of_call(tool: &str, arguments: &serde_json::Value) -> Message<'static> {
        let call = Call {
            id: "1".into(),
            tool: tool.to_owned().into(),
            arguments: arguments.to_string().into(),
        };
        Message::Answer { text: "".into(), calls: vec![call] }
    }

    /// Creates the result of the call whose id is `1`.
    pub(crate) fn of_result(envelope: impl Into<String>) -> Message<'static> {
        Message::Result { call_id: Some("1".into()), envelope: envelope.into().into() }
    }
}
