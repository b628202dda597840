//! A call on its way through the pipeline: who made it, where it came from, and what is stored of it.

mod origin;
mod stored;

use orion_catalog::find;
use orion_domain::{
    CallId, CallRequest, Caller, CanonicalArguments, Digest, Observation, RiskRaise, Touches,
    TurnId,
};
use serde_json::Value;

use super::preview::PreviewResult;
use super::result::DeviceReport;
use crate::clock::{new_uuid, now_ms};
use crate::store::{Parent, Provenance};

pub use origin::Origin;
pub use stored::{Stage, StoredCall};

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

/// The earlier calls that each rule of one policy counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierCalls {
    /// The version of the policy whose rules counted. Under another version they count again.
    pub policy_version: String,
    /// How many calls each rule counts.
    pub counts: Vec<u32>,
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
    /// The earlier calls, if this call is counted among them already. None if they are to be counted.
    pub earlier: Option<EarlierCalls>,
    /// Whether the request was authenticated a moment ago. Otherwise the person is looked at again.
    pub is_fresh: bool,
    /// Whether the requester continues at once and reads the result later.
    pub background: bool,
    /// Whether the requester's client moves the content of the call beside it.
    pub moves_content: bool,
    /// The turn of a chat that the call is made in. None outside a chat.
    pub turn: Option<TurnId>,
    /// The caller's own name for the call. None if it was made by the name of its tool.
    pub alias: Option<String>,
    /// The ended call that this one replaces, because its device reported a higher risk. None otherwise.
    pub replaces: Option<CallId>,
    /// What made the call in the place of its person. None for a call that was requested.
    pub parent: Option<Parent>,
    /// SHA-256 of the session or token of the request. None if the request did not come over the network.
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
            is_fresh: true,
            background: false,
            moves_content: false,
            turn: None,
            alias: None,
            replaces: None,
            parent: None,
            token: None,
        }
    }

    /// Returns the preview, if it is for what the call touches now.
    #[must_use]
    pub fn preview_of(&self, touches: &Touches) -> Option<&PreviewResult> {
        self.preview.as_ref().filter(|it| it.touches == *touches).map(|it| &it.result)
    }

    /// Returns the arguments in the form that is stored.
    #[must_use]
    pub fn canonical(&self) -> CanonicalArguments {
        CanonicalArguments::from_value(&Value::Object(self.request.arguments.clone()))
    }
}
