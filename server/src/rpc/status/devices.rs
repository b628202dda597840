//! The statuses for devices, their enrollment and their policy.

use orion_domain::{ErrorCode, Hint};
use orion_wire::status_from;
use tonic::Status;

use super::{backend_log, capital, hinted, store, with};
use crate::fleet::custom_tools::DecideToolError;
use crate::fleet::effective_policy::ModeError;
use crate::fleet::enrollment::EnrollError;
use crate::fleet::presence::ConnectError;
use crate::store::{RenameError, StoreError};

/// The status for an error of the store when a device was looked up.
pub(crate) fn device(error: StoreError) -> Status {
    looked_up(error, || {
        hinted(
            ErrorCode::DeviceNotFound,
            "no device has that name or id",
            Hint::run("list the devices", "orion devices list"),
        )
    })
}

/// The status for an error of the store when something was looked up that may not be there.
fn looked_up(error: StoreError, missing: impl FnOnce() -> Status) -> Status {
    if error == StoreError::NotFound { missing() } else { store(error) }
}

/// The status for an error of the store when an invitation was looked up.
pub(crate) fn invite(error: StoreError) -> Status {
    looked_up(error, || {
        hinted(
            ErrorCode::NotFound,
            "no invitation that can still be used has that id",
            Hint::run("list them", "orion devices invites list"),
        )
    })
}

/// The status for a device that was not renamed.
pub(crate) fn rename(error: RenameError) -> Status {
    match error {
        RenameError::Store(error) => device(error),
        RenameError::Taken => hinted(
            ErrorCode::AlreadyExists,
            error,
            Hint::run("choose a name that is free", "orion devices list"),
        ),
        RenameError::Ended => hinted(
            ErrorCode::PreconditionFailed,
            error,
            Hint::run("list it no more", "orion devices remove DEVICE"),
        ),
    }
}

/// The status for a failed enrollment.
pub(crate) fn enroll(error: EnrollError) -> Status {
    match error {
        EnrollError::Store(error) => store(error),
        EnrollError::Connect(error) => connect_error(error),
        EnrollError::Request(_)
        | EnrollError::Name(_)
        | EnrollError::Reserved
        | EnrollError::NoTicket => with(ErrorCode::InvalidArgument, error),
        EnrollError::Issue(reason) => {
            tracing::error!(%reason, "a certificate could not be issued");
            hinted(ErrorCode::Internal, "the certificate could not be issued", backend_log())
        }
        EnrollError::Held(_)
        | EnrollError::KeyKnown
        | EnrollError::NotThisKey
        | EnrollError::OtherKey
        | EnrollError::Network(_)
        | EnrollError::Platform { .. } => with(ErrorCode::PermissionDenied, error),
        EnrollError::Unknown
        | EnrollError::Expired
        | EnrollError::Withdrawn
        | EnrollError::Spent
        | EnrollError::Ticket
        | EnrollError::TooLate
        | EnrollError::Retired => Status::unauthenticated(capital(&error)),
    }
}

/// The status for a device whose connection is rejected.
pub(crate) fn connect_error(error: ConnectError) -> Status {
    match error {
        ConnectError::Store(error) => store(error),
        ConnectError::Unknown | ConnectError::OtherKey | ConnectError::Copied => {
            Status::unauthenticated(capital(&error))
        }
        // The device of this connection is gone; the device that replaced it connects again.
        ConnectError::Overtaken => Status::aborted(capital(&error)),
        ConnectError::Held(_) => with(ErrorCode::PermissionDenied, error),
    }
}

/// The status for a failed change of a device's mode.
pub(crate) fn mode(error: ModeError) -> Status {
    match error {
        ModeError::Store(error) => store(error),
        ModeError::NoReason => {
            hinted(ErrorCode::InvalidArgument, error, "give the reason with --reason")
        }
        ModeError::TooLong => with(ErrorCode::InvalidArgument, error),
        ModeError::Held(_) => with(ErrorCode::PreconditionFailed, error),
    }
}

/// The status for an error of the store when a policy version was looked up or applied.
pub(crate) fn policy(error: StoreError) -> Status {
    match error {
        StoreError::NotFound => hinted(
            ErrorCode::NotFound,
            "there is no such version of the policy",
            Hint::run("list the versions", "orion policy history"),
        ),
        StoreError::Conflict => status_from(
            &super::error(ErrorCode::PreconditionFailed, "another version was applied since")
                .hint(Hint::run("read it", "orion policy show"))
                .hint("apply yours again"),
        ),
        StoreError::Ambiguous
        | StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => store(error),
    }
}

/// The status for a failed decision about a custom tool.
pub(crate) fn custom_tool(error: DecideToolError) -> Status {
    let again = || Hint::run("read the definition", "orion tools pending");
    match error {
        DecideToolError::RiskTooLow { .. } => with(ErrorCode::InvalidArgument, error),
        DecideToolError::Definition(_) => with(ErrorCode::PreconditionFailed, error),
        DecideToolError::Store(StoreError::NotFound) => {
            hinted(ErrorCode::NotFound, "the device has no custom tool of that name", again())
        }
        DecideToolError::Store(StoreError::Conflict) => hinted(
            ErrorCode::PreconditionFailed,
            "the definition has changed since it was shown",
            again(),
        ),
        DecideToolError::Store(error) => store(error),
    }
}
