//! A dispatched call, and the policy that the device evaluates it with.

use std::time::Duration;

use orion_domain::evaluate::{Mode, RiskDefaults};
use orion_domain::observation::MAX_OBSERVED;
use orion_domain::{
    ApprovalBasis, ApprovalId, CallId, Caller, CanonicalArguments, DeviceId, Digest, Grants,
    Observation, Risk, RiskRaise, Rule, TemporaryGrant,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::{risk_from, risk_raise_from};
use crate::error::WireError;
use crate::v1;

/// The policy for one device as it is sent: the backend's grants, and the rules for the device. It never
/// contains a ceiling: the device reads its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePolicy {
    /// What the backend grants.
    pub grants: Grants,
    /// What admins granted single people on request, until a moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub temporary: Vec<TemporaryGrant>,
    /// Rules across devices.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What each risk requires by default.
    #[serde(default)]
    pub risk: RiskDefaults,
    /// How strictly the grants are enforced.
    #[serde(default)]
    pub mode: Mode,
    /// The IANA name of the time zone for the hours of rules; UTC when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub timezone: String,
}

impl DevicePolicy {
    /// Returns the bytes that are sent and acknowledged by their digest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain structs of strings always serialise; an empty result would deny everything.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Returns the version of these bytes.
    #[must_use]
    pub fn version_of(bytes: &[u8]) -> String {
        Digest::of(bytes).to_string().split_at(16).0.to_owned()
    }
}

/// A dispatched call as a device receives it, converted to domain types.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatched {
    /// The call's id.
    pub call: CallId,
    /// The device that runs the call.
    pub device: DeviceId,
    /// The tool's name.
    pub tool: String,
    /// The arguments as validated, in canonical form.
    pub arguments: CanonicalArguments,
    /// The arguments as a value.
    pub arguments_value: serde_json::Map<String, Value>,
    /// Whether the call requests only a preview.
    pub dry_run: bool,
    /// The time left until the deadline.
    pub time_left: Duration,
    /// The risk that the backend evaluated with. The device may only raise its own.
    pub risk: Risk,
    /// The version of the policy that the backend evaluated with.
    pub policy_version: String,
    /// The person that the call is made for.
    pub caller: Caller,
    /// The approval. `None` where none was required.
    pub approval: Option<Approval>,
    /// Whether the device reports observations of the paths.
    pub observe: bool,
    /// What the preview observed, to compare before the call runs; empty where nothing is compared.
    pub observed: Vec<Observation>,
    /// The definition of the custom tool that the backend means. `None` for a tool of the catalogue.
    pub definition: Option<Digest>,
}

/// The maximum size of a list of observations, in bytes of JSON.
pub const MAX_OBSERVED_BYTES: usize = 1024 * 1024;

/// Serialises observations for sending; an empty list becomes no bytes.
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
    if observed.len() > MAX_OBSERVED { Err(field) } else { Ok(observed) }
}

/// An approval as a device receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The approval's id.
    pub id: ApprovalId,
    /// The digest of the approved call.
    pub binding: Digest,
    /// The approver's name.
    pub approved_by: String,
    /// Unix milliseconds. The approval is invalid from this moment on.
    pub expires_at: i64,
    /// Why the risk is higher than the tool's, as the approver was shown.
    pub raises: Vec<RiskRaise>,
    /// What the approver was shown.
    pub basis: ApprovalBasis,
}

/// Converts what the approver was shown to the wire.
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
            definition,
        } = message;
        let field = |field| WireError::Field { field };
        let Ok(Value::Object(object)) = serde_json::from_slice(&arguments) else {
            return Err(WireError::NotAnObject { field: "arguments" });
        };
        let value = Value::Object(object);
        let canonical = CanonicalArguments::from_value(&value);
        // Bytes that are not canonical are not the bytes that were validated and hashed.
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
            definition: match definition.len() {
                0 => None,
                _ => Some(Digest::from_slice(&definition).ok_or(field("definition"))?),
            },
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
