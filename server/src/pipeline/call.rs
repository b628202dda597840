//! A call on its way through the pipeline: who made it, where it came from, and what is stored of it.

use orion_catalog::find;
use orion_domain::{
    CallId, CallRequest, CallState, Caller, CanonicalArguments, Digest, Observation, PlanId,
    RiskRaise, Touches,
};
use serde_json::Value;

use super::preview::PreviewResult;
use super::result::DeviceReport;
use crate::clock::{new_uuid, now_ms};
use crate::store::{ApprovalRow, CallRow, Label, Provenance, StepRow, StoreError};

/// Where a call came from.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// A person or a program made it.
    Direct,
    /// A model made it in a chat.
    Chat,
    /// It is a step of a plan.
    PlanStep {
        /// The plan.
        plan: PlanId,
        /// The step as the approvers saw it. None while the plan is made, and for a step with an approval of
        /// its own.
        shown: Option<Box<StepRow>>,
    },
    /// An approver wrote it in place of another call.
    Change {
        /// The approver, in the chat of the other call.
        author: Caller,
    },
    /// The backend made it, to preview another call.
    Preview {
        /// The plan of the other call. None for a call of its own.
        plan: Option<PlanId>,
        /// Whether the device reports what it observes of the paths.
        observe: bool,
    },
}

/// What is stored of a call.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Nothing.
    New,
    /// It waits for its device, is approved, or was sent and did not arrive.
    Stored(Box<StoredCall>),
}

/// A stored call that runs on.
#[derive(Debug, Clone)]
pub struct StoredCall {
    /// Its row, as it was last read.
    pub row: CallRow,
    /// The approval of this call. None if it needed none so far.
    pub approval: Option<ApprovalRow>,
}

/// A preview with the paths and apps that it is for.
#[derive(Debug, Clone)]
pub struct Previewed {
    /// What the device reported.
    pub result: PreviewResult,
    /// What the previewed call touches.
    pub touches: Touches,
    /// The report of the device, which is not stored yet. None if it is.
    pub report: Option<DeviceReport>,
}

/// A call with the identity that it keeps, and what became known of it.
#[derive(Debug, Clone)]
pub struct CallContext {
    /// The id of the call.
    pub id: CallId,
    /// The person that the call is made for.
    pub caller: Caller,
    /// The requested call.
    pub request: CallRequest,
    /// Unix milliseconds.
    pub created_at: i64,
    /// The untrusted content that may have influenced the call.
    pub provenance: Provenance,
    /// Where the call came from.
    pub origin: Origin,
    /// What is stored of it.
    pub stage: Stage,
    /// The preview of the call. None until the device was asked for one.
    pub preview: Option<Previewed>,
    /// What was observed when the call was approved. It must be unchanged when the call runs.
    pub observed: Vec<Observation>,
    /// Why the risk is higher than the tool's, as the device reported.
    pub raises: Vec<RiskRaise>,
    /// How many earlier calls each rule counts, if the call is counted among them already. None if they are
    /// to be counted.
    pub earlier: Option<Vec<u32>>,
    /// Whether the requester continues at once and reads the result later.
    pub background: bool,
    /// The ended call that this one replaces, because its device reported a higher risk. None otherwise.
    pub replaces: Option<CallId>,
    /// SHA-256 of the link or token of the request. None if the request did not come over the network.
    pub token: Option<Digest>,
}

impl CallContext {
    /// Returns the context of a request, with a new id. A tool without effects has no preview: a dry run of
    /// it is evaluated, counted and stored like any call.
    #[must_use]
    pub fn new(caller: Caller, mut request: CallRequest) -> Self {
        request.dry_run &= find(&request.tool).is_none_or(|(spec, _)| spec.has_effects);
        Self {
            id: CallId::new(new_uuid()),
            caller,
            request,
            created_at: now_ms(),
            provenance: Provenance::default(),
            origin: Origin::Direct,
            stage: Stage::New,
            preview: None,
            observed: Vec::new(),
            raises: Vec::new(),
            earlier: None,
            background: false,
            replaces: None,
            token: None,
        }
    }

    /// Returns the context of a stored call that has not been sent, with its approval if it has one.
    ///
    /// # Errors
    /// The stored arguments cannot be read.
    pub fn stored(row: CallRow, approval: Option<ApprovalRow>) -> Result<Self, StoreError> {
        let Ok(Value::Object(arguments)) = serde_json::from_slice(&row.arguments) else {
            return Err(StoreError::Corrupt);
        };
        let request = CallRequest {
            tool: row.tool.clone(),
            device: row.device.as_ref().map(|(id, _)| id.to_string()),
            arguments,
            dry_run: row.dry_run,
            idempotency_key: row.idempotency_key.clone(),
            timeout_ms: u64::try_from(row.deadline_at - row.created_at).ok(),
            recovered: row.recovered,
            ..CallRequest::default()
        };
        let (provenance, observed) = match &approval {
            Some(approval) => (approval.card.strangers.clone(), approval.observed.clone()),
            None => (provenance_of(&row), Vec::new()),
        };
        let origin = row.plan.map_or(Origin::Direct, |plan| Origin::PlanStep { plan, shown: None });
        Ok(Self {
            id: row.id,
            created_at: row.created_at,
            provenance,
            origin,
            observed,
            token: row.token,
            ..Self::new(row.caller.clone(), request)
        }
        .at(row, approval))
    }

    /// Returns the same call in this stage.
    #[must_use]
    pub fn at(self, row: CallRow, approval: Option<ApprovalRow>) -> Self {
        Self { stage: Stage::Stored(Box::new(StoredCall { row, approval })), ..self }
    }

    /// Returns the stored call. None if nothing is stored.
    #[must_use]
    pub fn stored_call(&self) -> Option<&StoredCall> {
        match &self.stage {
            Stage::New => None,
            Stage::Stored(stored) => Some(stored),
        }
    }

    /// Returns the approval of this call. None if it has none.
    #[must_use]
    pub fn approval(&self) -> Option<&ApprovalRow> {
        self.stored_call()?.approval.as_ref()
    }

    /// Returns whether the call waits for its device and has no approval.
    #[must_use]
    pub fn is_queued(&self) -> bool {
        self.stored_call()
            .is_some_and(|it| it.row.state == CallState::Queued && it.approval.is_none())
    }

    /// Returns whether the call was sent before.
    #[must_use]
    pub fn was_sent(&self) -> bool {
        self.stored_call().is_some_and(|it| it.row.state == CallState::Dispatched)
    }

    /// Returns whether the backend makes the call for itself, to preview another call.
    #[must_use]
    pub const fn is_preview(&self) -> bool {
        matches!(self.origin, Origin::Preview { .. })
    }

    /// Returns whether the device reports what it observes of the paths.
    #[must_use]
    pub const fn observes(&self) -> bool {
        matches!(self.origin, Origin::Preview { observe: true, .. })
    }

    /// Returns the plan that the call belongs to. None for a call of its own.
    #[must_use]
    pub const fn plan(&self) -> Option<PlanId> {
        match &self.origin {
            Origin::PlanStep { plan, .. } => Some(*plan),
            Origin::Preview { plan, .. } => *plan,
            Origin::Direct | Origin::Chat | Origin::Change { .. } => None,
        }
    }

    /// Returns the arguments in the form that is stored.
    #[must_use]
    pub fn canonical(&self) -> CanonicalArguments {
        CanonicalArguments::from_value(&Value::Object(self.request.arguments.clone()))
    }
}

/// Returns the provenance of a call, as far as its row has it.
fn provenance_of(row: &CallRow) -> Provenance {
    let label = Label {
        call: row.id,
        tool: row.tool.clone(),
        device: row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default(),
        place: String::new(),
    };
    let content = if row.tainted { vec![label] } else { Vec::new() };
    Provenance { content, occurs: Vec::new(), quoted: row.quoted }
}
