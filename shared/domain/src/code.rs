//! Every way a call can end badly, and what each means to the record, to the command line and to
//! gRPC. One table; a test holds it complete.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::state::CallState;

/// The classes of the gRPC status codes that Orion uses, without depending on gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the gRPC status codes")]
pub enum StatusClass {
    Cancelled,
    Unknown,
    InvalidArgument,
    DeadlineExceeded,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
    FailedPrecondition,
    Aborted,
    Unimplemented,
    Internal,
    Unavailable,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal, $recoverable:literal, $state:ident, $exit:literal, $status:ident;)+) => {
        /// A stable code; never renamed once released.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The code as it stands in results.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Whether the model may try the call again, changed.
            #[must_use]
            pub const fn is_recoverable(self) -> bool {
                match self { $(Self::$variant => $recoverable,)+ }
            }

            /// The state in which a call ends with this code when the backend gives it; a device
            /// that gives a denial ends the call as [`CallState::Refused`].
            #[must_use]
            pub const fn final_state(self) -> CallState {
                match self { $(Self::$variant => CallState::$state,)+ }
            }

            /// The command line's exit code.
            #[must_use]
            pub const fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)+ }
            }

            /// The class of gRPC status.
            #[must_use]
            pub const fn status(self) -> StatusClass {
                match self { $(Self::$variant => StatusClass::$status,)+ }
            }
        }
    };
}

codes! {
    /// No such tool; the nearest names are suggested.
    ToolNotFound = "TOOL_NOT_FOUND", true, Denied, 3, NotFound;
    /// The arguments do not fit the tool's schema; details list every field at fault.
    InvalidArgument = "INVALID_ARGUMENT", true, Denied, 2, InvalidArgument;
    /// Several devices and none named.
    DeviceRequired = "DEVICE_REQUIRED", true, Denied, 2, InvalidArgument;
    /// No device of that name.
    DeviceNotFound = "DEVICE_NOT_FOUND", true, Denied, 3, NotFound;
    /// The device is not connected.
    DeviceOffline = "DEVICE_OFFLINE", false, Failed, 7, Unavailable;
    /// Capability, role or tool not granted, or the operating system refused.
    PermissionDenied = "PERMISSION_DENIED", false, Denied, 5, PermissionDenied;
    /// A path that cannot be one on that platform.
    InvalidPath = "INVALID_PATH", true, Denied, 2, InvalidArgument;
    /// Outside the allowed paths, or not for that access.
    PathNotAllowed = "PATH_NOT_ALLOWED", false, Denied, 5, PermissionDenied;
    /// The file is not there.
    FileNotFound = "FILE_NOT_FOUND", true, Failed, 3, NotFound;
    /// The folder, or the one above, is not there.
    DirectoryNotFound = "DIRECTORY_NOT_FOUND", true, Failed, 3, NotFound;
    /// Neither file nor folder is there.
    PathNotFound = "PATH_NOT_FOUND", true, Failed, 3, NotFound;
    /// Nothing has that name or id: no account, token, call, approval, plan, chat or version of the
    /// policy.
    NotFound = "NOT_FOUND", true, Failed, 3, NotFound;
    /// Something is there already.
    AlreadyExists = "ALREADY_EXISTS", true, Failed, 9, AlreadyExists;
    /// The folder has entries and `recursive` was not asked for.
    NotEmpty = "NOT_EMPTY", true, Failed, 9, FailedPrecondition;
    /// The text to replace occurs not once.
    TextNotUnique = "TEXT_NOT_UNIQUE", true, Failed, 9, FailedPrecondition;
    /// The state is not what the call assumes.
    PreconditionFailed = "PRECONDITION_FAILED", true, Failed, 9, FailedPrecondition;
    /// The application is not on the device's list.
    AppNotWhitelisted = "APP_NOT_WHITELISTED", false, Denied, 5, PermissionDenied;
    /// The program or one of its arguments is not allowed.
    CommandNotAllowed = "COMMAND_NOT_ALLOWED", false, Denied, 5, PermissionDenied;
    /// The host is not granted, or the address is one that must never be reached.
    UrlForbidden = "URL_FORBIDDEN", false, Denied, 5, PermissionDenied;
    /// The device or the backend is read-only.
    WriteDisabled = "WRITE_DISABLED", false, Denied, 5, PermissionDenied;
    /// `confirm: true` is missing from a dangerous call.
    ConfirmationRequired = "CONFIRMATION_REQUIRED", true, Denied, 6, FailedPrecondition;
    /// A person has been asked and has not answered yet. The call waits; this is not its end.
    ApprovalRequired = "APPROVAL_REQUIRED", true, AwaitingApproval, 6, FailedPrecondition;
    /// A person said no; the reason is in the message.
    ApprovalRejected = "APPROVAL_REJECTED", false, Denied, 6, PermissionDenied;
    /// Nobody answered in time.
    ApprovalExpired = "APPROVAL_EXPIRED", true, Denied, 6, FailedPrecondition;
    /// The tool ran and failed.
    ExecutionFailed = "EXECUTION_FAILED", false, Failed, 1, Aborted;
    /// The deadline passed; nothing of the call still runs.
    Timeout = "TIMEOUT", false, TimedOut, 8, DeadlineExceeded;
    /// A person stopped it.
    Cancelled = "CANCELLED", false, Cancelled, 130, Cancelled;
    /// The link or the device died in the middle, and the device has not yet said what happened.
    OutcomeUnknown = "OUTCOME_UNKNOWN", false, Unknown, 8, Unknown;
    /// Not on this operating system or device.
    NotSupported = "NOT_SUPPORTED", false, Failed, 1, Unimplemented;
    /// Too many calls in too short a time.
    RateLimited = "RATE_LIMITED", true, Denied, 1, ResourceExhausted;
    /// A size, a count or a queue is at its limit.
    ResourceExhausted = "RESOURCE_EXHAUSTED", true, Failed, 1, ResourceExhausted;
    /// Ours. Carries a request id, never a path or a database's text.
    Internal = "INTERNAL", false, Failed, 1, Internal;
}

impl ErrorCode {
    /// Whether a device that gives this code says that it would not, rather than that it could not.
    #[must_use]
    pub fn is_denial(self) -> bool {
        self.final_state() == CallState::Denied
    }

    /// The code with this text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_whole_row() {
        for &code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_text(code.as_str()), Some(code));
            assert_eq!(code.to_string(), code.as_str());
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert_ne!(code.exit_code(), 0, "{code} would look like success");
            let waits = code == ErrorCode::ApprovalRequired;
            assert_eq!(code.final_state().is_closed(), !waits, "{code}");
        }
    }

    #[test]
    fn only_denials_exit_with_five() {
        for &code in ErrorCode::ALL {
            if code.exit_code() == 5 {
                assert!(code.is_denial() && !code.is_recoverable(), "{code}");
            }
        }
    }

    #[test]
    fn what_ran_out_or_broke_is_no_denial() {
        use ErrorCode::{ApprovalRequired, Cancelled, ExecutionFailed, FileNotFound, Timeout};
        for code in [ApprovalRequired, Cancelled, ExecutionFailed, FileNotFound, Timeout] {
            assert!(!code.is_denial(), "{code}");
        }
    }
}
