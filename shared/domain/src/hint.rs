//! What to do about an error: steps beside its message, for people and for models.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who can take a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// The requester.
    #[default]
    Requester,
    /// A person who may approve the call.
    Approver,
    /// An admin of the backend.
    Admin,
    /// The device's owner, on the device.
    Owner,
    /// Nobody: no change allows the call.
    Nobody,
}

impl Actor {
    /// Returns whether the step is the requester's own.
    const fn is_requester(&self) -> bool {
        matches!(self, Self::Requester)
    }
}

/// The step that offers what the caller may have meant.
const DID_YOU_MEAN: &str = "did you mean";

/// One step that helps after an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// The step, in lower case and without a final period, such as `try again in a few seconds`.
    pub text: String,
    /// The command or file that takes the step. None where no command takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Who can take the step.
    #[serde(default, skip_serializing_if = "Actor::is_requester")]
    pub who: Actor,
    /// Names or paths that the caller may have meant, best first. They can be untrusted content. Empty for
    /// every other step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}

impl Hint {
    /// Creates a step of the requester.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), command: None, who: Actor::Requester, values: Vec::new() }
    }

    /// Creates a step that this command takes.
    #[must_use]
    pub fn run(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self { command: Some(command.into()), ..Self::new(text) }
    }

    /// Creates a step that offers names or paths.
    #[must_use]
    pub fn did_you_mean(values: Vec<String>) -> Self {
        Self { values, ..Self::new(DID_YOU_MEAN) }
    }

    /// Creates a step that takes one of these names or paths.
    #[must_use]
    pub fn one_of(text: impl Into<String>, values: Vec<String>) -> Self {
        Self { values, ..Self::new(text) }
    }

    /// Assigns the step to somebody else.
    #[must_use]
    pub fn by(self, who: Actor) -> Self {
        Self { who, ..self }
    }
}

impl From<&str> for Hint {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Hint {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Formats one line: the step, then who takes it, and the command.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, command, who, values } = self;
        f.write_str(text)?;
        if !values.is_empty() {
            let values = values.join(", ");
            if text == DID_YOU_MEAN { write!(f, " {values}?") } else { write!(f, ": {values}") }?;
        }
        let by = match who {
            Actor::Requester | Actor::Approver | Actor::Nobody => None,
            Actor::Admin => Some("an admin of this backend"),
            Actor::Owner => Some("the owner of the device"),
        };
        match (by, command) {
            (None, None) => Ok(()),
            (None, Some(command)) => write!(f, ": `{command}`"),
            (Some(by), None) => write!(f, " ({by})"),
            (Some(by), Some(command)) => write!(f, " ({by}: {command})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_one_line_with_who_takes_the_step_and_how() {
        for (hint, line) in [
            (Hint::new("try again in a few seconds"), "try again in a few seconds"),
            (Hint::run("list the tools", "orion tools list"), "list the tools: `orion tools list`"),
            (Hint::did_you_mean(vec!["a".into(), "b".into()]), "did you mean a, b?"),
            (Hint::one_of("name one", vec!["a".into(), "b".into()]), "name one: a, b"),
            (Hint::new("grant it").by(Actor::Owner), "grant it (the owner of the device)"),
            (
                Hint::run("add it", "orion policy apply").by(Actor::Admin),
                "add it (an admin of this backend: orion policy apply)",
            ),
        ] {
            assert_eq!(hint.to_string(), line);
        }
    }

    #[test]
    fn what_a_hint_does_not_say_takes_no_room_in_json() {
        let plain = Hint::new("try again");
        let json = serde_json::to_string(&plain).unwrap();
        assert_eq!(json, r#"{"text":"try again"}"#);
        assert_eq!(serde_json::from_str::<Hint>(&json).unwrap(), plain);
        let whole = Hint {
            command: Some("orion policy apply".to_owned()),
            who: Actor::Admin,
            values: vec!["a".to_owned()],
            ..plain
        };
        let json = serde_json::to_string(&whole).unwrap();
        assert_eq!(
            json,
            r#"{"text":"try again","command":"orion policy apply","who":"admin","values":["a"]}"#
        );
        assert_eq!(serde_json::from_str::<Hint>(&json).unwrap(), whole);
    }
}
