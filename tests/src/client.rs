//! A client of the public API.

mod services;

use std::net::IpAddr;

use orion_wire::v1;
use orion_wire::v1::send_message_response::Event;
use serde_json::Value;
use tokio_stream::StreamExt as _;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use crate::call::Call;
use crate::eventually::eventually;
use crate::transfer::needs_client;

/// A signed-in client; anonymous where the token is empty.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    bearer: Bearer,
    token: String,
}

/// Adds the token to each request.
#[derive(Debug, Clone)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(header) = &self.0 {
            request.metadata_mut().insert("authorization", header.clone());
        }
        Ok(request)
    }
}

type Signed = InterceptedService<Channel, Bearer>;

/// Every event that followed one message of a person.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The chat's id.
    pub conversation: String,
    /// The whole answer.
    pub text: String,
    /// The ended calls, in order.
    pub calls: Vec<Call>,
    /// The notes to the person.
    pub notes: Vec<String>,
    /// Whether each call was extracted from prose.
    pub recovered: Vec<bool>,
    /// What it used of language models. None where none answered.
    pub usage: Option<v1::Usage>,
    /// The error, where the answer failed.
    pub failure: Option<Status>,
}

impl Client {
    /// Creates a client of the backend at `address`; it connects on the first request.
    #[must_use]
    pub fn new(address: &str, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let bearer = (!token.is_empty()).then(|| format!("Bearer {token}").parse().unwrap());
        Self { channel: endpoint.connect_lazy(), bearer: Bearer(bearer), token: token.to_owned() }
    }

    /// Creates a client at `address` that connects from its own local address.
    ///
    /// # Panics
    /// `address` is invalid.
    #[must_use]
    pub fn from(own: IpAddr, address: &str, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.local_address(Some(own)).connect_lazy();
        Self { channel, ..Self::new(address, token) }
    }

    /// Creates a client of the same person that never reads its answers, on its own connection to
    /// `address`.
    #[must_use]
    pub fn taking_nothing(&self, address: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.initial_stream_window_size(0).connect_lazy();
        Self { channel, ..self.clone() }
    }

    /// Returns a client with another token on the same connection.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        let bearer = (!token.is_empty()).then(|| format!("Bearer {token}").parse().unwrap());
        Self { bearer: Bearer(bearer), token: token.to_owned(), ..self.clone() }
    }

    /// Returns the token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    fn signed(&self) -> Signed {
        InterceptedService::new(self.channel.clone(), self.bearer.clone())
    }

    /// Returns `ToolService`.
    #[must_use]
    pub fn tools(&self) -> v1::tool_service_client::ToolServiceClient<Signed> {
        v1::tool_service_client::ToolServiceClient::new(self.signed())
    }

    /// Returns `DeviceService`.
    #[must_use]
    pub fn devices(&self) -> v1::device_service_client::DeviceServiceClient<Signed> {
        v1::device_service_client::DeviceServiceClient::new(self.signed())
    }

    /// Returns `PolicyService`.
    #[must_use]
    pub fn policy(&self) -> v1::policy_service_client::PolicyServiceClient<Signed> {
        v1::policy_service_client::PolicyServiceClient::new(self.signed())
    }

    /// Returns `ApprovalService`.
    #[must_use]
    pub fn approvals(&self) -> v1::approval_service_client::ApprovalServiceClient<Signed> {
        v1::approval_service_client::ApprovalServiceClient::new(self.signed())
    }

    /// Returns `AccessRequestService`.
    #[must_use]
    pub fn access_requests(
        &self,
    ) -> v1::access_request_service_client::AccessRequestServiceClient<Signed> {
        v1::access_request_service_client::AccessRequestServiceClient::new(self.signed())
    }

    /// Returns `PlanService`.
    #[must_use]
    pub fn plans(&self) -> v1::plan_service_client::PlanServiceClient<Signed> {
        v1::plan_service_client::PlanServiceClient::new(self.signed())
    }

    /// Creates a plan of these steps: device, tool and arguments.
    ///
    /// # Errors
    /// The backend rejects it.
    pub async fn plan(
        &self,
        steps: &[(&str, &str, Value)],
        keep_going: bool,
    ) -> Result<v1::Plan, Status> {
        let step = |(device, tool, arguments): &(&str, &str, Value)| v1::NewPlanStep {
            device: (*device).to_owned(),
            tool: (*tool).to_owned(),
            arguments: arguments.to_string().into_bytes().into(),
        };
        let steps = steps.iter().map(step).collect();
        let request = v1::CreatePlanRequest { steps, keep_going };
        Ok(self.plans().create_plan(request).await?.into_inner().plan.unwrap())
    }

    /// Approves or denies a plan as it was shown.
    ///
    /// # Errors
    /// The decision is not accepted.
    pub async fn decide_plan(
        &self,
        plan: &v1::Plan,
        approve: bool,
        reason: &str,
    ) -> Result<v1::Plan, Status> {
        let request = v1::DecidePlanRequest {
            plan_id: plan.plan_id.clone(),
            hash: plan.hash.clone(),
            approve,
            reason: reason.to_owned(),
            passkey: None,
        };
        Ok(self.plans().decide_plan(request).await?.into_inner().plan.unwrap())
    }

    /// Returns a plan at once, or once it has ended, after at most a minute.
    ///
    /// # Errors
    /// There is no such plan for this person.
    pub async fn plan_of(&self, plan: &v1::Plan, ended: bool) -> Result<v1::Plan, Status> {
        let wait_ms = if ended { 60_000 } else { 0 };
        let mut known_revision = 0;
        loop {
            let plan_id = plan.plan_id.clone();
            let request = v1::GetPlanRequest { plan_id, wait_ms, known_revision };
            let plan = self.plans().get_plan(request).await?.into_inner().plan.unwrap();
            if !ended || plan.ended_at != 0 {
                return Ok(plan);
            }
            assert_ne!(plan.revision, known_revision, "a minute without an end: {plan:?}");
            known_revision = plan.revision;
        }
    }

    /// Returns `AuditService`.
    #[must_use]
    pub fn audit(&self) -> v1::audit_service_client::AuditServiceClient<Signed> {
        v1::audit_service_client::AuditServiceClient::new(self.signed())
    }

    /// Returns `AuthService`.
    #[must_use]
    pub fn auth(&self) -> v1::auth_service_client::AuthServiceClient<Signed> {
        v1::auth_service_client::AuthServiceClient::new(self.signed())
    }

    /// Returns `ChatService`.
    #[must_use]
    pub fn chats(&self) -> v1::chat_service_client::ChatServiceClient<Signed> {
        v1::chat_service_client::ChatServiceClient::new(self.signed())
            .max_encoding_message_size(16 * 1024 * 1024)
    }

    /// Returns `MemoryService`.
    #[must_use]
    pub fn memories(&self) -> v1::memory_service_client::MemoryServiceClient<Signed> {
        v1::memory_service_client::MemoryServiceClient::new(self.signed())
    }

    /// Returns `PasskeyService`.
    #[must_use]
    pub fn passkeys(&self) -> v1::passkey_service_client::PasskeyServiceClient<Signed> {
        v1::passkey_service_client::PasskeyServiceClient::new(self.signed())
    }

    /// Returns `TransferService`.
    #[must_use]
    pub fn transfers(&self) -> v1::transfer_service_client::TransferServiceClient<Signed> {
        v1::transfer_service_client::TransferServiceClient::new(self.signed())
    }

    /// Calls one tool on one device. The content that moves beside a call is read, or `Milk` and a line end.
    ///
    /// # Panics
    /// The backend answers without a call.
    pub async fn call(&self, device: &str, tool: &str, arguments: Value) -> Call {
        if needs_client(tool) {
            return self.moved(device, tool, arguments).await;
        }
        self.ask(request(device, tool, &arguments)).await.unwrap()
    }

    /// Previews one tool on one device.
    ///
    /// # Panics
    /// The backend answers without a call.
    pub async fn dry_run(&self, device: &str, tool: &str, arguments: Value) -> Call {
        let has_preview = orion_catalog::find(tool).is_none_or(|(spec, _)| spec.has_effects);
        if needs_client(tool) && !has_preview {
            return self.moved(device, tool, arguments).await;
        }
        let request = v1::CallToolRequest { dry_run: true, ..request(device, tool, &arguments) };
        self.ask(request).await.unwrap()
    }

    /// Sends a request for a call unchanged.
    ///
    /// # Errors
    /// The backend rejects it.
    pub async fn ask(&self, request: v1::CallToolRequest) -> Result<Call, Status> {
        let response = self.tools().call_tool(request).await?.into_inner();
        Ok(response.call.unwrap().into())
    }

    /// Returns a recorded call once it has ended, or after a minute.
    ///
    /// # Errors
    /// There is no such call for this person.
    pub async fn ended(&self, call_id: &str) -> Result<Call, Status> {
        let request = v1::GetCallRequest { call_id: call_id.to_owned(), wait_ms: 60_000 };
        let response = self.tools().get_call(request).await?.into_inner();
        Ok(response.call.unwrap().into())
    }

    /// Returns a recorded call at once.
    ///
    /// # Errors
    /// As [`Client::ended`].
    pub async fn recorded(&self, call_id: &str) -> Result<Call, Status> {
        let request = v1::GetCallRequest { call_id: call_id.to_owned(), wait_ms: 0 };
        let response = self.tools().get_call(request).await?.into_inner();
        Ok(response.call.unwrap().into())
    }

    /// Approves or denies a request.
    ///
    /// # Errors
    /// The decision is not accepted.
    pub async fn decide(
        &self,
        approval_id: &str,
        approve: bool,
        reason: &str,
    ) -> Result<v1::Approval, Status> {
        let request = v1::DecideApprovalRequest {
            approval_id: approval_id.to_owned(),
            approve,
            reason: reason.to_owned(),
            ..v1::DecideApprovalRequest::default()
        };
        Ok(self.approvals().decide_approval(request).await?.into_inner().approval.unwrap())
    }

    /// Returns a device as the backend describes it.
    ///
    /// # Errors
    /// There is none of that name.
    pub async fn device(&self, device: &str) -> Result<v1::Device, Status> {
        let request = v1::GetDeviceRequest { device: device.to_owned() };
        Ok(self.devices().get_device(request).await?.into_inner().device.unwrap())
    }

    /// Sends a message and collects everything that follows.
    pub async fn say(&self, text: &str) -> Answer {
        let request = v1::SendMessageRequest { text: text.to_owned(), ..Default::default() };
        self.send(request).await
    }

    /// Sends a message in this chat, or in a new one.
    pub async fn say_in(&self, chat: &str, text: &str) -> Answer {
        self.send(v1::SendMessageRequest {
            conversation_id: chat.to_owned(),
            text: text.to_owned(),
            ..Default::default()
        })
        .await
    }

    /// Sends a message, and decides the approval request that follows.
    ///
    /// # Panics
    /// No approval request follows.
    pub async fn asked(
        &self,
        chat: &str,
        text: &str,
        answer: impl AsyncFnOnce(&v1::Approval),
    ) -> Answer {
        let (speaker, chat, text) = (self.clone(), chat.to_owned(), text.to_owned());
        let talking = tokio::spawn(async move { speaker.say_in(&chat, &text).await });
        let card = eventually("a question", async || {
            if talking.is_finished() {
                return Some(None);
            }
            let request = v1::ListApprovalsRequest { all: false };
            let open = self.approvals().list_approvals(request).await.ok()?.into_inner();
            open.approvals.into_iter().next().map(Some)
        })
        .await;
        let Some(card) = card else { panic!("no question: {:?}", talking.await) };
        answer(&card).await;
        talking.await.unwrap()
    }

    /// Sends a message unchanged and collects everything that follows.
    pub async fn send(&self, request: v1::SendMessageRequest) -> Answer {
        let mut answer = Answer::default();
        let mut events = match self.chats().send_message(request).await {
            Ok(events) => events.into_inner(),
            Err(status) => return Answer { failure: Some(status), ..answer },
        };
        let mut deltas = String::new();
        while let Some(event) = events.next().await {
            match event.map(|event| event.event) {
                Ok(Some(Event::Began(began))) => answer.conversation = began.conversation_id,
                Ok(Some(Event::TextDelta(delta))) => deltas.push_str(&delta.text),
                Ok(Some(Event::CallBegan(began))) => answer.recovered.push(began.recovered),
                Ok(Some(Event::CallEnded(ended))) => answer.calls.push(ended.call.unwrap().into()),
                Ok(Some(Event::Note(note))) => answer.notes.push(note.text),
                Ok(Some(Event::Done(done))) => {
                    answer.text = done.text;
                    answer.usage = done.usage;
                }
                Ok(Some(Event::ApprovalNeeded(_)) | None) => {}
                Err(status) => answer.failure = Some(status),
            }
        }
        answer
    }
}

/// Returns an ordinary request for a call.
fn request(device: &str, tool: &str, arguments: &Value) -> v1::CallToolRequest {
    v1::CallToolRequest {
        tool: tool.to_owned(),
        device: device.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    }
}
