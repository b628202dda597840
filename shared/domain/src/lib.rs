//! The rules of Orion as values: who may do what, where, and the life cycle of a call.
//!
//! Nothing in this crate does I/O, reads a clock or draws randomness. The backend and the device run the
//! same [`evaluate()`] over the same types, so their decisions can be compared.
//!
//! Read [`evaluate`](mod@evaluate) first: everything else is its input or its output.

pub mod approval;
pub mod audit;
pub mod call;
pub mod caller;
pub mod capability;
pub mod code;
pub mod digest;
pub mod enrollment_code;
pub mod envelope;
pub mod evaluate;
pub mod extract;
pub mod failure_text;
pub mod grants;
pub mod hint;
pub mod hosts;
pub mod id;
pub mod json;
#[cfg(any(test, fuzzing))]
pub mod laws;
pub mod look_alike;
pub mod observation;
pub mod path;
pub mod permit;
pub mod plan;
pub mod question;
pub mod raise;
pub mod risk;
pub mod rule;
pub mod secret;
pub mod services;
pub mod state;
pub mod temporary;
pub mod touches;
pub mod undo;
pub mod visible;

pub use approval::{ApprovalBasis, Approved, CallBinding};
pub use call::{CallRequest, CanonicalArguments};
pub use caller::{Caller, Role};
pub use capability::Capability;
pub use code::ErrorCode;
pub use digest::{Digest, Hasher};
pub use enrollment_code::EnrollmentCode;
pub use envelope::{Envelope, Meta, ToolError};
pub use evaluate::{Decision, Evaluation, Policy, evaluate};
pub use failure_text::{FailureText, without_system_number};
pub use grants::{Grants, Profile};
pub use hint::{Actor, Hint};
pub use id::{
    AccessRequestId, ApprovalId, CallId, ConversationId, DeviceId, DeviceName, PlanId, TurnId,
    UserName,
};
pub use observation::Observation;
pub use path::{DevicePath, PathStyle, Places, Projects};
pub use permit::Permit;
pub use plan::{PlanBinding, StepBinding};
pub use question::{CalledTool, Question, ToolFacts};
pub use raise::{ContentRaise, RiskRaise};
pub use risk::Risk;
pub use rule::Rule;
pub use secret::Secret;
pub use state::CallState;
pub use temporary::TemporaryGrant;
pub use touches::{Access, Touches};
pub use undo::Undo;
pub use visible::{is_hidden, strip_hidden, visible};
