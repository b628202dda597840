//! Every error code, with its meaning for the store, the command line and gRPC. One table; a test checks
//! that it is complete.

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

            /// Returns the code as results show it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }

            /// Returns whether the model may retry the call with changed arguments.
            #[must_use]
            pub const fn is_recoverable(self) -> bool {
                match self { $(Self::$variant => $recoverable,)+ }
            }

            /// Returns the state in which a call ends when the backend returns this code. When a device
            /// returns a denial, the call ends as [`CallState::Refused`].
            #[must_use]
            pub const fn final_state(self) -> CallState {
                match self { $(Self::$variant => CallState::$state,)+ }
            }

            /// Returns the state in which a call ends when the target that it was sent to returns this code.
            #[must_use]
            pub const fn reported_state(self) -> CallState {
                match self.final_state() {
                    CallState::Denied | CallState::AwaitingApproval => CallState::Refused,
                    state @ (CallState::Received
                    | CallState::Queued
                    | CallState::Dispatched
                    | CallState::Running
                    | CallState::Succeeded
                    | CallState::Failed
                    | CallState::Refused
                    | CallState::TimedOut
                    | CallState::Cancelled
                    | CallState::Unknown) => state,
                }
            }

            /// Returns the command line's exit code.
            #[must_use]
            pub const fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit,)+ }
            }

            /// Returns the class of gRPC status.
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
    /// The arguments do not match the tool's schema; details list every invalid field.
    InvalidArgument = "INVALID_ARGUMENT", true, Denied, 2, InvalidArgument;
    /// There are several devices and the call names none.
    DeviceRequired = "DEVICE_REQUIRED", true, Denied, 2, InvalidArgument;
    /// No device has that name.
    DeviceNotFound = "DEVICE_NOT_FOUND", true, Denied, 3, NotFound;
    /// The device is not connected.
    DeviceOffline = "DEVICE_OFFLINE", false, Failed, 7, Unavailable;
    /// The owner of the device has paused it.
    DevicePaused = "DEVICE_PAUSED", false, Denied, 7, Unavailable;
    /// A permission, role or tool is not granted, or the operating system refused.
    PermissionDenied = "PERMISSION_DENIED", false, Denied, 5, PermissionDenied;
    /// The path is invalid on that platform.
    InvalidPath = "INVALID_PATH", true, Denied, 2, InvalidArgument;
    /// The path is outside the allowed paths, or this access to it is not granted.
    PathNotAllowed = "PATH_NOT_ALLOWED", false, Denied, 5, PermissionDenied;
    /// The file does not exist.
    FileNotFound = "FILE_NOT_FOUND", true, Failed, 3, NotFound;
    /// The folder, or its parent, does not exist.
    DirectoryNotFound = "DIRECTORY_NOT_FOUND", true, Failed, 3, NotFound;
    /// Neither a file nor a folder exists at the path.
    PathNotFound = "PATH_NOT_FOUND", true, Failed, 3, NotFound;
    /// No account, token, call, approval, plan, chat or policy version has that name or id.
    NotFound = "NOT_FOUND", true, Failed, 3, NotFound;
    /// The target exists already.
    AlreadyExists = "ALREADY_EXISTS", true, Failed, 9, AlreadyExists;
    /// The folder is not empty and `recursive` was not set.
    NotEmpty = "NOT_EMPTY", true, Failed, 9, FailedPrecondition;
    /// The text to replace does not occur exactly once.
    TextNotUnique = "TEXT_NOT_UNIQUE", true, Failed, 9, FailedPrecondition;
    /// The current state differs from what the call assumes.
    PreconditionFailed = "PRECONDITION_FAILED", true, Failed, 9, FailedPrecondition;
    /// The application is not on the device's list.
    AppNotWhitelisted = "APP_NOT_WHITELISTED", false, Denied, 5, PermissionDenied;
    /// The program or one of its arguments is not allowed.
    CommandNotAllowed = "COMMAND_NOT_ALLOWED", false, Denied, 5, PermissionDenied;
    /// The host is not granted, or the address is always blocked.
    UrlForbidden = "URL_FORBIDDEN", false, Denied, 5, PermissionDenied;
    /// The device or the backend is read-only.
    WriteDisabled = "WRITE_DISABLED", false, Denied, 5, PermissionDenied;
    /// `confirm: true` is missing from a dangerous call.
    ConfirmationRequired = "CONFIRMATION_REQUIRED", true, Denied, 6, FailedPrecondition;
    /// The approval request is pending. The call waits; this does not end it.
    ApprovalRequired = "APPROVAL_REQUIRED", true, AwaitingApproval, 6, FailedPrecondition;
    /// A person denied the request; the message has the reason.
    ApprovalRejected = "APPROVAL_REJECTED", false, Denied, 6, PermissionDenied;
    /// Nobody approved or denied the request in time.
    ApprovalExpired = "APPROVAL_EXPIRED", true, Denied, 6, FailedPrecondition;
    /// The tool ran and failed.
    ExecutionFailed = "EXECUTION_FAILED", false, Failed, 1, Aborted;
    /// The deadline passed; no part of the call still runs.
    Timeout = "TIMEOUT", false, TimedOut, 8, DeadlineExceeded;
    /// A person cancelled the call.
    Cancelled = "CANCELLED", false, Cancelled, 130, Cancelled;
    /// The connection or the device failed during the call, and the device has not reported the outcome
    /// yet.
    OutcomeUnknown = "OUTCOME_UNKNOWN", false, Unknown, 8, Unknown;
    /// Not supported on this operating system or device.
    NotSupported = "NOT_SUPPORTED", false, Failed, 1, Unimplemented;
    /// Too many calls in too short a time.
    RateLimited = "RATE_LIMITED", true, Denied, 1, ResourceExhausted;
    /// A size, a count or a queue is at its limit.
    ResourceExhausted = "RESOURCE_EXHAUSTED", true, Failed, 1, ResourceExhausted;
    /// An error inside Orion. It carries a request id, never a path or a database error's text.
    Internal = "INTERNAL", false, Failed, 1, Internal;
}

impl ErrorCode {
    /// Returns whether a device that returns this code denies the call, rather than fails at it.
    #[must_use]
    pub fn is_denial(self) -> bool {
        self.final_state() == CallState::Denied
    }

    /// Returns the code with this text.
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
