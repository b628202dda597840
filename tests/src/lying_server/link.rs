//! The connection of one device to a misbehaving backend.

use orion_catalog::find;
use orion_domain::{
    ApprovalBasis, ApprovalId, CallBinding, CallId, CanonicalArguments, DeviceId, Envelope, Risk,
    RiskRaise,
};
use orion_wire::v1::{link_request, link_response};
use orion_wire::{DeviceFacts, DevicePolicy, PROTOCOL, call_state_from, v1};
use serde_json::Value;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};
use uuid::Uuid;

use crate::eventually::PATIENCE;

/// A connected device that receives any messages that a test sends.
#[derive(Debug)]
pub struct Link {
    /// The device's hello.
    pub hello: v1::Hello,
    /// The device's id.
    pub device: DeviceId,
    pub(super) policy_version: String,
    to_device: mpsc::Sender<Result<v1::LinkResponse, Status>>,
    from_device: Streaming<v1::LinkRequest>,
}

impl Link {
    pub(super) fn new(
        hello: v1::Hello,
        device: DeviceId,
        to_device: mpsc::Sender<Result<v1::LinkResponse, Status>>,
        from_device: Streaming<v1::LinkRequest>,
    ) -> Self {
        Self { hello, device, policy_version: String::new(), to_device, from_device }
    }

    /// Sends the handshake of a backend.
    pub(super) async fn welcome(&mut self) {
        self.send(link_response::Message::Welcome(v1::Welcome {
            protocol_major: PROTOCOL.major,
            protocol_minor: PROTOCOL.minor,
            server_version: "0.0.0".to_owned(),
            device_name: "kiosk".to_owned(),
            device_id: self.device.to_string(),
            reconnect_ms: 50,
            audit: None,
        }))
        .await;
    }

    /// Sends any message.
    ///
    /// # Panics
    /// The device has disconnected.
    pub async fn send(&mut self, message: link_response::Message) {
        let message = v1::LinkResponse { message: Some(message) };
        self.to_device.send(Ok(message)).await.expect("the device listens");
    }

    /// Returns the next message of the device; `None` once it has disconnected.
    ///
    /// # Panics
    /// It neither sends anything nor disconnects.
    pub async fn receive(&mut self) -> Option<link_request::Message> {
        let received = tokio::time::timeout(PATIENCE, self.from_device.message()).await;
        received
            .expect("the device says something")
            .ok()
            .flatten()
            .and_then(|received| received.message)
    }

    /// Sends these grants, and returns the device's acknowledgement.
    pub async fn grant(&mut self, grants: Value) -> v1::PolicyAck {
        let grants = serde_json::from_value(grants).unwrap();
        let bytes = DevicePolicy { grants, ..DevicePolicy::default() }.to_bytes();
        self.policy(bytes).await
    }

    /// Sends a policy unchanged, and returns the device's acknowledgement.
    ///
    /// # Panics
    /// The device sends something else, or nothing.
    pub async fn policy(&mut self, policy: Vec<u8>) -> v1::PolicyAck {
        self.policy_version = DevicePolicy::version_of(&policy);
        let version = self.policy_version.clone();
        self.send(link_response::Message::PolicyUpdate(v1::PolicyUpdate {
            version,
            policy: policy.into(),
        }))
        .await;
        loop {
            match self.receive().await {
                Some(link_request::Message::PolicyAck(ack)) => return ack,
                // Results that were not acknowledged before the connection was lost, and what waits or runs.
                Some(
                    link_request::Message::CallResult(_)
                    | link_request::Message::CallProgress(_)
                    | link_request::Message::CallStarted(_),
                ) => {}
                other => panic!("instead of an acknowledgement: {other:?}"),
            }
        }
    }

    /// Returns a call that is valid in everything that the backend decides, on behalf of ann.
    ///
    /// # Panics
    /// There is no such tool, or its arguments do not match.
    #[must_use]
    pub fn order(&self, tool: &str, arguments: &Value) -> v1::Dispatch {
        let (spec, _) = find(tool).unwrap();
        let facts = DeviceFacts::try_from(self.hello.facts.clone().unwrap()).unwrap();
        let object = arguments.as_object().unwrap().clone();
        let parsed = spec.parse(object, &facts.places).unwrap();
        v1::Dispatch {
            call_id: Uuid::now_v7().to_string(),
            tool: tool.to_owned(),
            arguments: parsed.arguments.as_bytes().to_vec().into(),
            dry_run: false,
            time_left_ms: 30_000,
            risk: orion_wire::risk(spec.risk).into(),
            policy_version: self.policy_version.clone(),
            user: "ann".to_owned(),
            role: "operator".to_owned(),
            conversation_id: String::new(),
            approval: None,
            traceparent: String::new(),
            device_id: self.device.to_string(),
            observe: false,
            observed: Vec::new().into(),
            definition: Vec::new().into(),
        }
    }

    /// Returns an approval of exactly this call, as an honest backend would send it.
    ///
    /// # Panics
    /// The call is invalid.
    #[must_use]
    pub fn approval_of(&self, order: &v1::Dispatch) -> v1::ApprovalProof {
        self.approval_with(order, &[])
    }

    /// Returns the same for a call whose risk was raised for these reasons.
    ///
    /// # Panics
    /// The call is invalid.
    #[must_use]
    pub fn approval_with(&self, order: &v1::Dispatch, raises: &[RiskRaise]) -> v1::ApprovalProof {
        let facts = DeviceFacts::try_from(self.hello.facts.clone().unwrap()).unwrap();
        let (spec, _) = find(&order.tool).unwrap();
        let value: Value = serde_json::from_slice(&order.arguments).unwrap();
        let parsed = spec.parse(value.as_object().unwrap().clone(), &facts.places).unwrap();
        let caller = orion_domain::Caller {
            user: order.user.parse().unwrap(),
            role: order.role.parse().unwrap(),
            conversation: None,
        };
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let expires_at = i64::try_from(now.as_millis()).unwrap() + 15 * 60 * 1000;
        let binding = CallBinding {
            call: order.call_id.parse::<CallId>().unwrap(),
            device: order.device_id.parse().unwrap(),
            tool: &order.tool,
            arguments: &CanonicalArguments::from_value(&value),
            caller: &caller,
            touches: &parsed.touches,
            basis: ApprovalBasis::Standing,
            observed: &[],
            policy_version: &order.policy_version,
            raises,
            expires_at,
        };
        v1::ApprovalProof {
            approval_id: ApprovalId::new(Uuid::now_v7()).to_string(),
            binding: binding.digest().as_bytes().to_vec().into(),
            approved_by: "ann".to_owned(),
            expires_at,
            raises: raises.iter().map(|raise| orion_wire::risk_raise(*raise).into()).collect(),
            basis: v1::ApprovalBasis::Standing.into(),
        }
    }

    /// Sends a call and returns the device's answer: the name of its state, and the code.
    pub async fn dispatch(&mut self, order: v1::Dispatch) -> (String, String) {
        let call_id = order.call_id.clone();
        self.send(link_response::Message::Dispatch(order)).await;
        let (state, code, _) = self.answer_to(&call_id).await;
        (state, code)
    }

    /// Waits for the answer to a call: the name of its state, its code and its envelope.
    ///
    /// # Panics
    /// There is no answer.
    pub async fn answer_to(&mut self, call_id: &str) -> (String, String, Option<Envelope>) {
        loop {
            match self.receive().await {
                Some(link_request::Message::CallResult(result)) if result.call_id == call_id => {
                    let state = call_state_from(result.state).unwrap().to_string();
                    let envelope = serde_json::from_slice(&result.result).ok();
                    return (state, result.code, envelope);
                }
                Some(_) => {}
                None => panic!("the device left instead of answering {call_id}"),
            }
        }
    }

    /// Converts a risk to the wire.
    #[must_use]
    pub fn risk(risk: Risk) -> i32 {
        orion_wire::risk(risk).into()
    }
}
