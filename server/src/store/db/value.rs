//! The values of a statement's parameters.

use orion_domain::id::InviteId;
use orion_domain::{
    AccessRequestId, ApprovalId, CallId, ConversationId, DeviceId, DeviceName, Digest, PlanId,
    TurnId, UserName,
};

/// A value that a statement is given. Ids are text, digests are bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Value {
    /// No value, of any type.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number: a count, Unix milliseconds or a duration.
    Integer(i64),
    /// A text, UTF-8.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<Digest> for Value {
    fn from(value: Digest) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

macro_rules! integers {
    ($($kind:ty),+) => {
        $(impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::Integer(value.into())
            }
        })+
    };
}
integers!(u8, u16, u32, i32, i64);

macro_rules! texts {
    ($($kind:ty),+) => {
        $(impl From<$kind> for Value {
            fn from(value: $kind) -> Self {
                Self::Text(value.to_string())
            }
        })+
    };
}
texts!(AccessRequestId, ApprovalId, CallId, ConversationId, DeviceId, InviteId, PlanId, TurnId);
texts!(UserName, &UserName, DeviceName, &DeviceName);
