//! Why a request is refused, as its sender reads it.

use orion_domain::{Actor, Caller, ErrorCode, Hint, Role, ToolError};

use super::{RequiredScope, Why};
use crate::people::Identity;
use crate::store::StoreError;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AccessError {
    /// The table has no row for the operation.
    #[error("This RPC is not in the access table, so nobody may call it.")]
    UnknownOperation,
    /// The token is missing, unknown or no longer valid.
    #[error("Nobody is signed in: the token is missing, unknown or no longer valid.")]
    NotSignedIn,
    /// The device showed no certificate.
    #[error(
        "This device showed no certificate: it is not enrolled here. Run `orion-agent enroll TOKEN` with a token of `orion devices invite`."
    )]
    NoCertificate,
    /// The operation is limited for each source, and the request has none.
    #[error("The backend cannot determine the sender's address.")]
    UnknownSource,
    /// The person's role does not permit the operation.
    #[error("{}", .0.message)]
    Role(Box<ToolError>),
    /// The token's scopes do not permit the operation.
    #[error("{}", .0.message)]
    Scope(Box<ToolError>),
    /// A rate or request limit is exceeded.
    #[error("{}", .0.message)]
    Limit(Box<ToolError>),
    /// The token could not be looked up.
    #[error(transparent)]
    Store(StoreError),
}

impl AccessError {
    /// Returns why the request is refused, for the audit log.
    #[must_use]
    pub const fn why(&self) -> Why {
        match self {
            Self::UnknownOperation => Why::UnknownRpc,
            Self::NotSignedIn | Self::Store(_) => Why::NotSignedIn,
            Self::NoCertificate => Why::NoCertificate,
            Self::UnknownSource | Self::Limit(_) => Why::Rate,
            Self::Role(_) => Why::Role,
            Self::Scope(_) => Why::Scope,
        }
    }

    pub(super) fn limit(error: ToolError) -> Self {
        Self::Limit(Box::new(error))
    }

    pub(super) fn role(needed: Role, identity: &Identity) -> Self {
        let Caller { user, role, .. } = &identity.caller;
        let error = ToolError::new(
            ErrorCode::PermissionDenied,
            format!("This needs the role {needed}, and {user} is {role}."),
        );
        let command = format!("orion users role {user} {needed}");
        let hint = Hint::run(format!("give {user} the role {needed}"), command).by(Actor::Admin);
        let error = error.with("layer", "access").with("needed_role", needed.as_str()).hint(hint);
        let error = error.hint(format!("or let a person with the role {needed} do it"));
        Self::Role(Box::new(error))
    }

    pub(super) fn scope(needed: RequiredScope, identity: &Identity) -> Self {
        let (message, hint) = match needed {
            RequiredScope::Session => (
                "An API token cannot do this: it needs the person's session.".to_owned(),
                Hint::run("sign in, without ORION_TOKEN in the environment", "orion login"),
            ),
            RequiredScope::Any | RequiredScope::OneOf(_) => (
                format!(
                    "This needs a token with the scope {}, and this one has {}.",
                    needed.description(),
                    identity.kind
                ),
                Hint::run(
                    "make another, without ORION_TOKEN in the environment",
                    format!("orion tokens create --name NAME --scope {}", needed.first()),
                ),
            ),
        };
        let error = ToolError::new(ErrorCode::PermissionDenied, message);
        let error = error.with("layer", "access").with("needed_scope", needed.description());
        let error = error.hint(hint);
        Self::Scope(Box::new(error))
    }
}
