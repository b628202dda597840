//! The row of a plan: as it is created and as it is stored.

use orion_domain::{
    CallId, Caller, DeviceId, DeviceName, Digest, ErrorCode, Observation, PlanId, Risk, UserName,
};
use serde::{Deserialize, Serialize};

use super::state::{PlanState, StepState};
use crate::store::approvals::{ApprovalRow, NewApproval};
use crate::store::calls::NewCall;
use crate::store::columns::{digest, error_code_option, json, parsed, parsed_option, risk_option};
use crate::store::db::{DecodeError, FromRow, Row};

/// What a step's preview observed and earlier steps change. It is compared before those steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierChanges {
    /// The first step that changes some of it.
    pub before: u32,
    /// What the preview observed.
    pub seen: Vec<Observation>,
}

/// A step of a new plan. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// The call that the step makes.
    pub call: CallId,
    /// The device.
    pub device: (DeviceId, DeviceName),
    /// The tool's name.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// The step's risk.
    pub risk: Risk,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// The decision.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The version of the policy that was evaluated.
    pub policy_version: String,
    /// The dry run's envelope, JSON. None if there is none or it is too large to store.
    pub preview: Option<Vec<u8>>,
    /// What is compared right before it runs.
    pub observed: Vec<Observation>,
    /// What is compared before an earlier step. None if no earlier step changes it.
    pub earlier: Option<EarlierChanges>,
    /// The last earlier step that changes what this one touches. None if no step does.
    pub after: Option<u32>,
    /// The call and the approval request. None if nobody is asked.
    pub asked: Option<Box<(NewCall, NewApproval)>>,
}

/// A new plan. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPlan {
    /// Its id.
    pub id: PlanId,
    /// Who makes the plan.
    pub caller: Caller,
    /// The hash that an approval is bound to.
    pub hash: Digest,
    /// Whether it continues after a failed step.
    pub keep_going: bool,
    /// When it was created.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
    /// The steps in order.
    pub steps: Vec<NewStep>,
}

/// A stored step. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Its number, from 1.
    pub number: u32,
    /// The call that the step makes.
    pub call: CallId,
    /// The device.
    pub device: (DeviceId, DeviceName),
    /// The tool's name.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// The step's risk.
    pub risk: Risk,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// The decision.
    pub decision: String,
    /// The rule that decided.
    pub rule: String,
    /// The version of the policy that was evaluated.
    pub policy_version: String,
    /// The dry run's envelope, JSON. None if there is none or it was too large to store.
    pub preview: Option<Vec<u8>>,
    /// What is compared right before it runs.
    pub observed: Vec<Observation>,
    /// What is compared before an earlier step. None if no earlier step changes it.
    pub earlier: Option<EarlierChanges>,
    /// The last earlier step that changes what this one touches. None if no step does.
    pub after: Option<u32>,
    /// Its state.
    pub state: StepState,
    /// The stable code. None unless it ended without success.
    pub code: Option<ErrorCode>,
    /// How it ended, in a sentence. Empty until then.
    pub message: String,
    /// When it started. None until then.
    pub began_at: Option<i64>,
    /// When it ended. None until then.
    pub ended_at: Option<i64>,
}

/// A stored plan. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRow {
    /// Its id.
    pub id: PlanId,
    /// Its state.
    pub state: PlanState,
    /// Who made the plan, with the role at that time.
    pub caller: Caller,
    /// The hash that an approval is bound to.
    pub hash: Digest,
    /// Whether it continues after a failed step.
    pub keep_going: bool,
    /// When it was created.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
    /// Who cast the deciding vote. None until the decision.
    pub decided_by: Option<UserName>,
    /// When it was decided. None until then.
    pub decided_at: Option<i64>,
    /// The deciding person's reason. None until the decision.
    pub reason: Option<String>,
    /// Who stopped it while it ran. None if nobody did.
    pub stopped_by: Option<UserName>,
    /// When it ended. None until then.
    pub ended_at: Option<i64>,
    /// Increases with every change.
    pub revision: u32,
    /// The number of its steps.
    pub step_count: u32,
    /// The steps in order. Empty in a list of plans.
    pub steps: Vec<StepRow>,
    /// The approval requests of its steps. Empty in a list of plans.
    pub questions: Vec<ApprovalRow>,
}

impl PlanRow {
    /// Returns the approval request of a step.
    #[must_use]
    pub fn question(&self, step: &StepRow) -> Option<&ApprovalRow> {
        self.questions.iter().find(|question| question.call == step.call)
    }
}

impl FromRow for PlanRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            state: parsed(row, "state")?,
            caller: Caller {
                user: parsed(row, "requester")?,
                role: parsed(row, "role")?,
                conversation: None,
            },
            hash: digest(row, "hash")?,
            keep_going: row.get("keep_going")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            decided_by: parsed_option(row, "decided_by")?,
            decided_at: row.get("decided_at")?,
            reason: row.get("reason")?,
            stopped_by: parsed_option(row, "stopped_by")?,
            ended_at: row.get("ended_at")?,
            revision: row.get("revision")?,
            step_count: row.get("step_count")?,
            steps: Vec::new(),
            questions: Vec::new(),
        })
    }
}

impl FromRow for StepRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            number: row.get("number")?,
            call: parsed(row, "call_id")?,
            device: (parsed(row, "device_id")?, parsed(row, "device_name")?),
            tool: row.get("tool")?,
            arguments: row.get("arguments")?,
            risk: risk_option(row, "risk")?
                .ok_or_else(|| DecodeError::new("risk", "is missing"))?,
            touches: json(row, "touches_json")?,
            decision: row.get("decision")?,
            rule: row.get("rule")?,
            policy_version: row.get("policy_version")?,
            preview: row.get("preview")?,
            observed: json(row, "observed_json")?,
            earlier: json(row, "earlier_json")?,
            after: row.get("after_number")?,
            state: parsed(row, "state")?,
            code: error_code_option(row, "code")?,
            message: row.get("message")?,
            began_at: row.get("began_at")?,
            ended_at: row.get("ended_at")?,
        })
    }
}
