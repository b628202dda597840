//! A person at the public API.

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

/// A person who has signed in, or nobody where the token is empty.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    bearer: Bearer,
    token: String,
}

/// Puts the token into each request.
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

/// Everything that came back on one message of a person.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Which chat it was.
    pub conversation: String,
    /// The whole answer.
    pub text: String,
    /// The calls that ended, in order.
    pub calls: Vec<Call>,
    /// What the person was told besides.
    pub notes: Vec<String>,
    /// Whether each call was picked out of prose.
    pub recovered: Vec<bool>,
    /// Where the answer broke off instead of ending.
    pub failure: Option<Status>,
}

impl Client {
    /// Talks to the backend at `address`, from the first request on.
    #[must_use]
    pub fn new(address: &str, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let bearer = (!token.is_empty()).then(|| format!("Bearer {token}").parse().unwrap());
        Self { channel: endpoint.connect_lazy(), bearer: Bearer(bearer), token: token.to_owned() }
    }

    /// Somebody with a token, at `address` from an address of their own.
    ///
    /// # Panics
    /// `address` is none.
    #[must_use]
    pub fn from(own: IpAddr, address: &str, token: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.local_address(Some(own)).connect_lazy();
        Self { channel, ..Self::new(address, token) }
    }

    /// The same person on a connection of their own at `address`, who never takes anything of an answer.
    #[must_use]
    pub fn taking_nothing(&self, address: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.initial_stream_window_size(0).connect_lazy();
        Self { channel, ..self.clone() }
    }

    /// The same connection for somebody else.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        let bearer = (!token.is_empty()).then(|| format!("Bearer {token}").parse().unwrap());
        Self { bearer: Bearer(bearer), token: token.to_owned(), ..self.clone() }
    }

    /// The token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    fn signed(&self) -> Signed {
        InterceptedService::new(self.channel.clone(), self.bearer.clone())
    }

    /// `ToolService`.
    #[must_use]
    pub fn tools(&self) -> v1::tool_service_client::ToolServiceClient<Signed> {
        v1::tool_service_client::ToolServiceClient::new(self.signed())
    }

    /// `DeviceService`.
    #[must_use]
    pub fn devices(&self) -> v1::device_service_client::DeviceServiceClient<Signed> {
        v1::device_service_client::DeviceServiceClient::new(self.signed())
    }

    /// `PolicyService`.
    #[must_use]
    pub fn policy(&self) -> v1::policy_service_client::PolicyServiceClient<Signed> {
        v1::policy_service_client::PolicyServiceClient::new(self.signed())
    }

    /// `ApprovalService`.
    #[must_use]
    pub fn approvals(&self) -> v1::approval_service_client::ApprovalServiceClient<Signed> {
        v1::approval_service_client::ApprovalServiceClient::new(self.signed())
    }

    /// `PlanService`.
    #[must_use]
    pub fn plans(&self) -> v1::plan_service_client::PlanServiceClient<Signed> {
        v1::plan_service_client::PlanServiceClient::new(self.signed())
    }

    /// Makes a plan of these steps: device, tool and arguments.
    ///
    /// # Errors
    /// The backend refuses it.
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

    /// Answers a plan as it was shown.
    ///
    /// # Errors
    /// The answer does not count.
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
        };
        Ok(self.plans().decide_plan(request).await?.into_inner().plan.unwrap())
    }

    /// A plan as it stands, or once it has ended: after a minute at most.
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

    /// `AuditService`.
    #[must_use]
    pub fn audit(&self) -> v1::audit_service_client::AuditServiceClient<Signed> {
        v1::audit_service_client::AuditServiceClient::new(self.signed())
    }

    /// `AuthService`.
    #[must_use]
    pub fn auth(&self) -> v1::auth_service_client::AuthServiceClient<Signed> {
        v1::auth_service_client::AuthServiceClient::new(self.signed())
    }

    /// `ChatService`.
    #[must_use]
    pub fn chats(&self) -> v1::chat_service_client::ChatServiceClient<Signed> {
        v1::chat_service_client::ChatServiceClient::new(self.signed())
            .max_encoding_message_size(16 * 1024 * 1024)
    }

    /// One tool on one device.
    ///
    /// # Panics
    /// The backend answers without a call.
    pub async fn call(&self, device: &str, tool: &str, arguments: Value) -> Call {
        self.ask(request(device, tool, &arguments)).await.unwrap()
    }

    /// What one tool would do on one device.
    ///
    /// # Panics
    /// The backend answers without a call.
    pub async fn dry_run(&self, device: &str, tool: &str, arguments: Value) -> Call {
        let request = v1::CallToolRequest { dry_run: true, ..request(device, tool, &arguments) };
        self.ask(request).await.unwrap()
    }

    /// A request for a call, as it stands.
    ///
    /// # Errors
    /// The backend did not take it as a call.
    pub async fn ask(&self, request: v1::CallToolRequest) -> Result<Call, Status> {
        let response = self.tools().call_tool(request).await?.into_inner();
        Ok(response.call.unwrap().into())
    }

    /// A call as it is recorded, at its end or after a minute.
    ///
    /// # Errors
    /// There is no such call for this person.
    pub async fn ended(&self, call_id: &str) -> Result<Call, Status> {
        let request = v1::GetCallRequest { call_id: call_id.to_owned(), wait_ms: 60_000 };
        let response = self.tools().get_call(request).await?.into_inner();
        Ok(response.call.unwrap().into())
    }

    /// A call as it is recorded at this moment.
    ///
    /// # Errors
    /// As [`Client::ended`].
    pub async fn recorded(&self, call_id: &str) -> Result<Call, Status> {
        let request = v1::GetCallRequest { call_id: call_id.to_owned(), wait_ms: 0 };
        let response = self.tools().get_call(request).await?.into_inner();
        Ok(response.call.unwrap().into())
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The answer does not count.
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
            more: None,
        };
        let response = self.approvals().decide_approval(request).await?.into_inner();
        Ok(response.approval.unwrap())
    }

    /// A device as the backend knows it.
    ///
    /// # Errors
    /// There is none of that name.
    pub async fn device(&self, device: &str) -> Result<v1::Device, Status> {
        let request = v1::GetDeviceRequest { device: device.to_owned() };
        Ok(self.devices().get_device(request).await?.into_inner().device.unwrap())
    }

    /// Says something and hears everything that follows.
    pub async fn say(&self, text: &str) -> Answer {
        let request = v1::SendMessageRequest { text: text.to_owned(), ..Default::default() };
        self.send(request).await
    }

    /// Says something in this chat, or in a new one.
    pub async fn say_in(&self, chat: &str, text: &str) -> Answer {
        self.send(v1::SendMessageRequest {
            conversation_id: chat.to_owned(),
            text: text.to_owned(),
            ..Default::default()
        })
        .await
    }

    /// The same, and has the question that comes of it answered.
    ///
    /// # Panics
    /// No question comes of it.
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

    /// Sends a message as it stands and hears everything that follows.
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
                Ok(Some(Event::Done(done))) => answer.text = done.text,
                Ok(Some(Event::ApprovalNeeded(_)) | None) => {}
                Err(status) => answer.failure = Some(status),
            }
        }
        answer
    }
}

/// A request for a call with nothing unusual about it.
fn request(device: &str, tool: &str, arguments: &Value) -> v1::CallToolRequest {
    v1::CallToolRequest {
        tool: tool.to_owned(),
        device: device.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    }
}
