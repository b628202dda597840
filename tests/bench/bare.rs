//! The baseline: tonic and nothing else. A unary call is put on the stream of a device by name, and
//! its answer is matched by id. The same messages, listeners and TLS as the backend, no checks, no
//! policy, no record.

use std::pin::Pin;
use std::sync::Arc;

use dashmap::DashMap;
use orion_mtls::{CertificateAuthority, ServerCertificate, device_listener};
use orion_server::listen::Peer;
use orion_tests::door;
use orion_wire::v1;
use orion_wire::v1::agent_service_server::{AgentService, AgentServiceServer};
use orion_wire::v1::tool_service_server::{ToolService, ToolServiceServer};
use orion_wire::v1::{link_request, link_response};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::{Request, Response, Status, Streaming};

/// Where the two doors are.
pub(crate) struct Bare {
    pub(crate) people: String,
    pub(crate) devices: String,
}

#[derive(Clone, Default)]
struct Router {
    devices: Arc<DashMap<String, mpsc::Sender<Result<v1::LinkResponse, Status>>>>,
    waiting: Arc<DashMap<String, oneshot::Sender<v1::CallResult>>>,
}

#[tonic::async_trait]
impl AgentService for Router {
    type LinkStream = Pin<Box<dyn Stream<Item = Result<v1::LinkResponse, Status>> + Send>>;

    async fn link(
        &self,
        request: Request<Streaming<v1::LinkRequest>>,
    ) -> Result<Response<Self::LinkStream>, Status> {
        let device = request
            .extensions()
            .get::<Peer>()
            .and_then(|peer| peer.device.as_ref().map(|device| device.device_id.clone()))
            .ok_or_else(|| Status::unauthenticated("no certificate"))?;
        let mut incoming = request.into_inner();
        let (sender, outgoing) = mpsc::channel(128);
        let welcome = link_response::Message::Welcome(v1::Welcome::default());
        sender.try_send(Ok(v1::LinkResponse { message: Some(welcome) })).ok();
        self.devices.insert(device, sender);
        let waiting = Arc::clone(&self.waiting);
        tokio::spawn(async move {
            while let Ok(Some(message)) = incoming.message().await {
                if let Some(link_request::Message::CallResult(result)) = message.message
                    && let Some((_, waiting)) = waiting.remove(&result.call_id)
                {
                    let _ = waiting.send(result);
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(outgoing))))
    }

    async fn renew_certificate(
        &self,
        _: Request<v1::RenewCertificateRequest>,
    ) -> Result<Response<v1::RenewCertificateResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }
}

#[tonic::async_trait]
impl ToolService for Router {
    type WatchCallStream =
        Pin<Box<dyn Stream<Item = Result<v1::WatchCallResponse, Status>> + Send>>;

    async fn watch_call(
        &self,
        _: Request<v1::WatchCallRequest>,
    ) -> Result<Response<Self::WatchCallStream>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn list_calls(
        &self,
        _: Request<v1::ListCallsRequest>,
    ) -> Result<Response<v1::ListCallsResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn list_tools(
        &self,
        _: Request<v1::ListToolsRequest>,
    ) -> Result<Response<v1::ListToolsResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn call_tool(
        &self,
        request: Request<v1::CallToolRequest>,
    ) -> Result<Response<v1::CallToolResponse>, Status> {
        let request = request.into_inner();
        let call_id = uuid::Uuid::now_v7().to_string();
        let sender = self
            .devices
            .get(&request.device)
            .map(|sender| sender.clone())
            .ok_or_else(|| Status::not_found("no such device"))?;
        let (answer, answered) = oneshot::channel();
        self.waiting.insert(call_id.clone(), answer);
        let dispatch = v1::Dispatch {
            call_id: call_id.clone(),
            tool: request.tool,
            arguments: request.arguments,
            ..v1::Dispatch::default()
        };
        let message = Some(link_response::Message::Dispatch(dispatch));
        let sent = sender.send(Ok(v1::LinkResponse { message })).await;
        sent.map_err(|_| Status::unavailable("gone"))?;
        let result = answered.await.map_err(|_| Status::unavailable("gone"))?;
        let call =
            v1::Call { call_id, result: result.result, state: result.state, ..v1::Call::default() };
        Ok(Response::new(v1::CallToolResponse { call: Some(call), evidence: Vec::new() }))
    }

    async fn get_call(
        &self,
        _: Request<v1::GetCallRequest>,
    ) -> Result<Response<v1::GetCallResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn list_custom_tools(
        &self,
        _: Request<v1::ListCustomToolsRequest>,
    ) -> Result<Response<v1::ListCustomToolsResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn decide_custom_tool(
        &self,
        _: Request<v1::DecideCustomToolRequest>,
    ) -> Result<Response<v1::DecideCustomToolResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn reveal_call(
        &self,
        _: Request<v1::RevealCallRequest>,
    ) -> Result<Response<v1::RevealCallResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn cancel_call(
        &self,
        _: Request<v1::CancelCallRequest>,
    ) -> Result<Response<v1::CancelCallResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn stop_calls(
        &self,
        _: Request<v1::StopCallsRequest>,
    ) -> Result<Response<v1::StopCallsResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn resume_calls(
        &self,
        _: Request<v1::ResumeCallsRequest>,
    ) -> Result<Response<v1::ResumeCallsResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn list_aliases(
        &self,
        _: Request<v1::ListAliasesRequest>,
    ) -> Result<Response<v1::ListAliasesResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn set_alias(
        &self,
        _: Request<v1::SetAliasRequest>,
    ) -> Result<Response<v1::SetAliasResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn remove_alias(
        &self,
        _: Request<v1::RemoveAliasRequest>,
    ) -> Result<Response<v1::RemoveAliasResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }

    async fn list_stops(
        &self,
        _: Request<v1::ListStopsRequest>,
    ) -> Result<Response<v1::ListStopsResponse>, Status> {
        Err(Status::unimplemented("the baseline only routes"))
    }
}

/// Starts the baseline with this authority, its door for devices at this address.
pub(crate) async fn start(
    authority: &CertificateAuthority,
    now: i64,
    devices: &str,
) -> anyhow::Result<Bare> {
    let router = Router::default();
    let shutdown = CancellationToken::new();
    let (people, devices) =
        (TcpListener::bind("127.0.0.1:0").await?, TcpListener::bind(devices).await?);
    let bare = Bare {
        people: people.local_addr()?.to_string(),
        devices: devices.local_addr()?.to_string(),
    };
    let issued = authority.issue_server(&[], std::time::Duration::from_secs(3600), now)?;
    let tls = device_listener(
        &[authority.cert_pem()],
        Arc::new(ServerCertificate::new(&issued)?),
        Arc::new(|_: &str| false),
    )?;
    let agents = Routes::new(AgentServiceServer::new(router.clone()));
    tokio::spawn(door(devices, Some(tls)).serve(agents, shutdown.clone()));
    let tools = Routes::new(ToolServiceServer::new(router));
    tokio::spawn(door(people, None).serve(tools, shutdown));
    Ok(bare)
}
