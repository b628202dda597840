//! Identifier types, so that one kind cannot be passed for another.
//!
//! Identifiers that Orion creates are UUIDv7 (RFC 9562), drawn by the caller. Names are chosen by people
//! and validated here.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A text that is not a valid identifier of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// Not a UUID.
    #[error("`{text}` is not a {kind} id; ids look like 0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e")]
    NotUuid {
        /// The expected kind.
        kind: &'static str,
        /// The text, shortened.
        text: String,
    },
    /// A name with invalid characters or length.
    #[error(
        "`{text}` is not a {kind} name: use 1 to 63 lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or digit, and not in the form of an id"
    )]
    BadName {
        /// The expected kind.
        kind: &'static str,
        /// The text, shortened.
        text: String,
    },
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID that the caller drew.
            #[must_use]
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Returns the UUID.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::try_parse(text)
                    .map(Self)
                    .map_err(|_| IdError::NotUuid { kind: $kind, text: shortened(text) })
            }
        }
    };
}

uuid_id!(
    /// One tool call.
    CallId, "call"
);
uuid_id!(
    /// One device, until its identity is removed.
    DeviceId, "device"
);
uuid_id!(
    /// One approval request.
    ApprovalId, "approval"
);
uuid_id!(
    /// One chat.
    ConversationId, "conversation"
);
uuid_id!(
    /// One message of a person in a chat, with all that followed from it.
    TurnId, "turn"
);
uuid_id!(
    /// Several calls that are approved together.
    PlanId, "plan"
);
uuid_id!(
    /// One person's request for access that a device's grants deny.
    AccessRequestId, "access request"
);
uuid_id!(
    /// One enrolment token, without its secret.
    InviteId, "invite"
);

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    first
        && text.len() <= 63
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b))
        // A device found by name must never be reached through another device's id.
        && Uuid::try_parse(text).is_err()
}

macro_rules! name_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                if is_name(text) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(IdError::BadName { kind: $kind, text: shortened(text) })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    };
}

name_id!(
    /// A device's name, unique in a backend.
    DeviceName, "device"
);
name_id!(
    /// A person's account name.
    UserName, "user"
);

impl DeviceId {
    /// The backend as the target of calls. It is a custom UUID (version 8), so that no id that is drawn
    /// (version 7) equals it.
    pub const BACKEND: Self = Self(Uuid::from_u128(0x6261_636b_656e_8000_8000_0000_0000_0000));
}

impl DeviceName {
    /// The name of the backend as the target of calls. No device can have it.
    pub const BACKEND: &str = "backend";

    /// Returns the name of the backend as the target of calls.
    #[must_use]
    pub fn backend() -> Self {
        Self(Self::BACKEND.to_owned())
    }

    /// Returns whether a text is a name that no device can have, in any case.
    #[must_use]
    pub fn is_reserved(text: &str) -> bool {
        text.trim().eq_ignore_ascii_case(Self::BACKEND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_backend_is_reserved_in_any_case_and_its_id_is_never_drawn() {
        for reserved in ["backend", "Backend", "BACKEND", " backend "] {
            assert!(DeviceName::is_reserved(reserved), "{reserved:?}");
        }
        for free in ["backend-2", "my-backend", "back-end", ""] {
            assert!(!DeviceName::is_reserved(free), "{free:?}");
        }
        assert_eq!(DeviceName::backend().as_str().parse(), Ok(DeviceName::backend()));
        assert_eq!(DeviceId::BACKEND.uuid().get_version_num(), 8);
        assert_eq!(DeviceId::BACKEND.to_string().parse(), Ok(DeviceId::BACKEND));
    }

    #[test]
    fn names_hold_only_what_is_safe_to_print_and_type() {
        const ID: &str = "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e";
        const SIMPLE: &str = "0199b2c47f3e7c119a520d3f1c2b4a5e";
        let longest = "a".repeat(63);
        for good in ["a", "laptop-123", "web_1.lab", "9", longest.as_str()] {
            assert_eq!(good.parse::<DeviceName>().unwrap().as_str(), good);
        }
        let long = "a".repeat(64);
        for bad in ["", "-a", "A", "a b", "a/b", "a\0", "é", long.as_str(), ID, SIMPLE] {
            assert!(bad.parse::<DeviceName>().is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn an_id_survives_text() {
        let id = CallId::new(Uuid::from_u128(7));
        assert_eq!(id.to_string().parse::<CallId>(), Ok(id));
        assert_eq!(id.uuid(), Uuid::from_u128(7));
        assert!("laptop".parse::<CallId>().is_err());
    }

    #[test]
    fn what_is_no_id_or_name_is_quoted_in_part() {
        let text = "A".repeat(100);
        let shown = "A".repeat(80);
        let (id, name) = (text.parse::<CallId>(), text.parse::<UserName>());
        assert_eq!(id, Err(IdError::NotUuid { kind: "call", text: shown.clone() }));
        assert_eq!(name, Err(IdError::BadName { kind: "user", text: shown }));
    }

    #[test]
    fn a_name_is_written_as_it_is() {
        let name: DeviceName = "laptop-123".parse().unwrap();
        assert_eq!(
            (name.to_string(), String::from(name.clone())),
            ("laptop-123".into(), "laptop-123".into())
        );
        assert_eq!(serde_json::from_str::<DeviceName>("\"laptop-123\"").unwrap(), name);
        assert!(serde_json::from_str::<DeviceName>("\"a b\"").is_err());
    }
}
