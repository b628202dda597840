//! A call on its way to a device, and the policy that the device judges it by.

use std::time::Duration;

use orion_domain::evaluate::{Mode, RiskDefaults};
use orion_domain::observation::MOST_OBSERVED;
use orion_domain::{
    ApprovalBasis, ApprovalId, CallId, Caller, CanonicalArguments, DeviceId, Digest, Grants,
    Observation, Risk, RiskRaise, Rule,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{risk_from, risk_raise_from};
use crate::error::WireError;
use crate::v1;

/// The policy for one device as it is sent: what the backend lends, and the rules that hold there.
/// A ceiling is not in it, and could not be: the device reads its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePolicy {
    /// What the backend lends.
    pub grants: Grants,
    /// Rules across devices.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What each risk asks for by itself.
    #[serde(default)]
    pub risk: RiskDefaults,
    /// How strictly the grants are held.
    #[serde(default)]
    pub mode: Mode,
    /// The time zone in which the hours of rules are meant, by its IANA name; UTC when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timezone: String,
}

impl DevicePolicy {
    /// The bytes that are sent and acknowledged by their digest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain structs of strings always serialise; nothing would be a policy that denies all.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The version of these bytes.
    #[must_use]
    pub fn version_of(bytes: &[u8]) -> String {
        Digest::of(bytes).to_string().split_at(16).0.to_owned()
    }
}

/// A call as a device receives it, taken into types.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatched {
    /// The call.
    pub call: CallId,
    /// The device it is for.
    pub device: DeviceId,
    /// The tool.
    pub tool: String,
    /// Its arguments, as they were validated.
    pub arguments: CanonicalArguments,
    /// The same as a value.
    pub arguments_value: serde_json::Map<String, Value>,
    /// Whether only a preview is wanted.
    pub dry_run: bool,
    /// How long is left.
    pub time_left: Duration,
    /// The risk that the backend judged by. The device only ever raises its own.
    pub risk: Risk,
    /// The policy that the backend judged by.
    pub policy_version: String,
    /// For whom.
    pub caller: Caller,
    /// A person's yes, where there was a question.
    pub approval: Option<Approval>,
    /// Whether what is seen of the paths is to be told.
    pub observe: bool,
    /// What the preview saw, which must still be so; nothing where there is nothing to compare.
    pub observed: Vec<Observation>,
}

/// The largest list of what was seen, in bytes of JSON.
pub const MAX_OBSERVED_BYTES: usize = 1024 * 1024;

/// What was seen, as it is sent; nothing for an empty list.
#[must_use]
pub fn observed_bytes(observed: &[Observation]) -> Vec<u8> {
    // Structs of text and numbers always serialise.
    if observed.is_empty() { Vec::new() } else { serde_json::to_vec(observed).unwrap_or_default() }
}

fn observed_from(bytes: &[u8]) -> Result<Vec<Observation>, WireError> {
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    if bytes.len() > MAX_OBSERVED_BYTES {
        return Err(WireError::TooLarge { field: "observed", limit: MAX_OBSERVED_BYTES });
    }
    let field = WireError::Field { field: "observed" };
    let observed: Vec<_> = serde_json::from_slice(bytes).map_err(|_| field.clone())?;
    if observed.len() > MOST_OBSERVED { Err(field) } else { Ok(observed) }
}

/// A person's yes, as a device receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Which.
    pub id: ApprovalId,
    /// The call it is bound to.
    pub binding: Digest,
    /// Who said it.
    pub approved_by: String,
    /// From when on it is good no longer, Unix milliseconds.
    pub expires_at: i64,
    /// Why the risk is higher than the tool's, as the person was shown.
    pub raises: Vec<RiskRaise>,
    /// What whoever said it was shown.
    pub basis: ApprovalBasis,
}

/// What whoever approved was shown, on the wire.
#[must_use]
pub const fn approval_basis(basis: ApprovalBasis) -> v1::ApprovalBasis {
    match basis {
        ApprovalBasis::Preview => v1::ApprovalBasis::Preview,
        ApprovalBasis::Plan => v1::ApprovalBasis::Plan,
        ApprovalBasis::Standing => v1::ApprovalBasis::Standing,
    }
}

fn approval_basis_from(value: i32) -> Result<ApprovalBasis, WireError> {
    match v1::ApprovalBasis::try_from(value) {
        Ok(v1::ApprovalBasis::Preview) => Ok(ApprovalBasis::Preview),
        Ok(v1::ApprovalBasis::Plan) => Ok(ApprovalBasis::Plan),
        Ok(v1::ApprovalBasis::Standing) => Ok(ApprovalBasis::Standing),
        Ok(v1::ApprovalBasis::Unspecified) | Err(_) => {
            Err(WireError::Field { field: "approval.basis" })
        }
    }
}

impl TryFrom<v1::Dispatch> for Dispatched {
    type Error = WireError;

    fn try_from(message: v1::Dispatch) -> Result<Self, WireError> {
        let v1::Dispatch {
            call_id,
            tool,
            arguments,
            dry_run,
            time_left_ms,
            risk,
            policy_version,
            user,
            role,
            conversation_id,
            approval,
            traceparent: _,
            device_id,
            observe,
            observed,
        } = message;
        let field = |field| WireError::Field { field };
        let Ok(Value::Object(object)) = serde_json::from_slice(&arguments) else {
            return Err(WireError::NotAnObject { field: "arguments" });
        };
        let value = Value::Object(object);
        let canonical = CanonicalArguments::from_value(&value);
        // Bytes that are not the canonical ones were not the ones that were validated and hashed.
        if canonical.as_bytes() != &arguments[..] {
            return Err(field("arguments"));
        }
        let Value::Object(arguments_value) = value else { return Err(field("arguments")) };
        let conversation = if conversation_id.is_empty() {
            None
        } else {
            Some(conversation_id.parse().map_err(|_| field("conversation_id"))?)
        };
        Ok(Self {
            call: call_id.parse().map_err(|_| field("call_id"))?,
            device: device_id.parse().map_err(|_| field("device_id"))?,
            tool,
            arguments: canonical,
            arguments_value,
            dry_run,
            time_left: Duration::from_millis(time_left_ms),
            risk: risk_from(risk)?,
            policy_version,
            caller: Caller {
                user: user.parse().map_err(|_| field("user"))?,
                role: role.parse().map_err(|_| field("role"))?,
                conversation,
            },
            approval: approval.map(Approval::try_from).transpose()?,
            observe,
            observed: observed_from(&observed)?,
        })
    }
}

impl TryFrom<v1::ApprovalProof> for Approval {
    type Error = WireError;

    fn try_from(proof: v1::ApprovalProof) -> Result<Self, WireError> {
        let v1::ApprovalProof { approval_id, binding, approved_by, expires_at, raises, basis } =
            proof;
        let raises = raises.into_iter().map(risk_raise_from).collect::<Result<_, _>>()?;
        Ok(Self {
            id: approval_id
                .parse()
                .map_err(|_| WireError::Field { field: "approval.approval_id" })?,
            binding: Digest::from_slice(&binding)
                .ok_or(WireError::Field { field: "approval.binding" })?,
            approved_by,
            expires_at,
            raises,
            basis: approval_basis_from(basis)?,
        })
    }
}
