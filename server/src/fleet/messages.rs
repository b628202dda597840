//! What the backend tells a device, and what a device reports of a call.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{
    ApprovalBasis, ApprovalId, CallId, CallState, Caller, CanonicalArguments, DeviceId, Digest,
    ErrorCode, Observation, Risk, RiskRaise,
};

use super::custom_tools::RefusedDefinition;
use crate::store::Witness;

/// A message to a device.
#[derive(Debug)]
pub enum ToDevice {
    /// Run this call, in the time that is left.
    Dispatch(Arc<Dispatch>, Duration),
    /// Cancel this call.
    Cancel(CallId),
    /// Report the state of these calls, which were sent on an earlier stream.
    Query(Vec<CallId>),
    /// The result of this call is stored, with this state.
    Ack(CallId, CallState),
    /// The active policy.
    Policy {
        /// The policy's version.
        version: String,
        /// The policy's encoded form.
        bytes: Arc<Vec<u8>>,
    },
    /// These custom tools of the device are not taken.
    ToolsRefused(Vec<RefusedDefinition>),
    /// Calls are evaluated against the ceiling of this number from now on.
    CeilingAck(u64),
    /// Disconnect, and reconnect after about this time.
    Drain {
        /// The average delay.
        reconnect: Duration,
    },
}

/// One call, as a device is asked to run it.
#[derive(Debug)]
pub struct Dispatch {
    /// The call's id.
    pub call: CallId,
    /// The device that runs it.
    pub device: DeviceId,
    /// The tool's name.
    pub tool: &'static str,
    /// The validated arguments.
    pub arguments: CanonicalArguments,
    /// Whether to return only a preview.
    pub dry_run: bool,
    /// The call's risk.
    pub risk: Risk,
    /// The version of the policy that the call was evaluated against.
    pub policy_version: String,
    /// The person who made the call.
    pub caller: Caller,
    /// The approval. None where the call needed none.
    pub approval: Option<ApprovalProof>,
    /// Whether the device reports its observations of the paths.
    pub observe: bool,
    /// What the preview observed; the device must find the same.
    pub observed: Vec<Observation>,
    /// SHA-256 of the definition that the call runs. None for a tool of the catalogue.
    pub definition: Option<Digest>,
}

/// Proof of the approval of exactly one call.
#[derive(Debug, Clone)]
pub struct ApprovalProof {
    /// The approval request's id.
    pub id: ApprovalId,
    /// Digest of the call that the approval is bound to.
    pub binding: Digest,
    /// Who approved.
    pub approved_by: String,
    /// When the approval expires, in Unix milliseconds.
    pub expires_at: i64,
    /// Why the risk is higher than the tool's, as the approver saw it.
    pub raises: Vec<RiskRaise>,
    /// What the approver was shown.
    pub basis: ApprovalBasis,
}

/// A call's result, as its device reports it.
#[derive(Debug, Clone)]
pub struct DeviceResult {
    /// The call's id.
    pub call: CallId,
    /// The call's final state.
    pub state: CallState,
    /// The stable error code. None on success.
    pub code: Option<ErrorCode>,
    /// The result envelope, in JSON, passed on unchanged.
    pub result: Vec<u8>,
    /// How long the device worked, in microseconds.
    pub duration_us: u64,
    /// The head of the device's own chain after the call. None where it does not report one.
    pub witness: Option<Witness>,
}

/// A piece of what the programs of a running call print.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputPiece {
    /// The position of its first byte in all output of the call.
    pub offset: u64,
    /// The bytes.
    pub data: Vec<u8>,
}

/// The pause of a device by its owner, as the device reports it. Only the device ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerPause {
    /// The account that paused the device; empty where it is not known.
    pub by: String,
    /// When, Unix milliseconds; 0 where it is not known.
    pub since: i64,
    /// When the pause ends by itself, Unix milliseconds; 0 for never.
    pub until: i64,
    /// Why the device counts as paused although nobody is known to have paused it; empty otherwise.
    pub fault: String,
}

/// The progress of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallProgress {
    /// How many units are done.
    pub done: u64,
    /// How many units there are; 0 where unknown.
    pub total: u64,
    /// A description of the current step.
    pub note: String,
}
