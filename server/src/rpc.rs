//! The gRPC services: one file each, and beside it a file for each of its RPCs. Only this folder and the wire
//! crate use the generated types.

pub mod access_layer;
mod access_request;
mod agent;
mod approval;
mod audit;
mod auth;
mod chat;
mod content;
mod device;
mod enrollment;
mod insight;
mod macros;
mod memory;
mod passkey;
mod plan;
mod policy;
mod schedule;
mod signed;
mod status;
mod to_its_end;
mod tool;
mod transfer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_domain::DeviceId;
use orion_wire::MAX_MESSAGE_BYTES;
use orion_wire::v1::{
    LinkRequest, LinkResponse, access_request_service_server::AccessRequestServiceServer,
    agent_service_server::AgentServiceServer, approval_service_server::ApprovalServiceServer,
    audit_service_server::AuditServiceServer, auth_service_server::AuthServiceServer,
    chat_service_server::ChatServiceServer, content_service_server::ContentServiceServer,
    device_service_server::DeviceServiceServer, enrollment_service_server::EnrollmentServiceServer,
    insight_service_server::InsightServiceServer, macro_service_server::MacroServiceServer,
    memory_service_server::MemoryServiceServer, passkey_service_server::PasskeyServiceServer,
    plan_service_server::PlanServiceServer, policy_service_server::PolicyServiceServer,
    schedule_service_server::ScheduleServiceServer, tool_service_server::ToolServiceServer,
    transfer_service_server::TransferServiceServer,
};
use tokio_stream::Stream;
use tonic::service::Routes;
use tonic::{Response, Status};

use self::access_request::AccessRequestApi;
use self::approval::ApprovalApi;
use self::audit::AuditApi;
use self::auth::AuthApi;
use self::chat::ChatApi;
use self::content::ContentApi;
use self::device::DeviceApi;
use self::enrollment::EnrollmentApi;
use self::insight::InsightApi;
use self::macros::MacroApi;
use self::memory::MemoryApi;
use self::passkey::PasskeyApi;
use self::plan::PlanApi;
use self::policy::PolicyApi;
use self::schedule::ScheduleApi;
use self::tool::ToolApi;
use self::transfer::TransferApi;
use crate::backend::Backend;

/// The largest message with a part of a file: the part, and what surrounds it.
const MAX_PART_MESSAGE_BYTES: usize = orion_catalog::MAX_PART_BYTES + 4096;

/// What an RPC returns.
type RpcResult<T> = Result<Response<T>, Status>;

/// Returns the services that devices can call.
#[must_use]
pub fn device_routes(backend: &Arc<Backend>) -> Routes {
    let enrollment = EnrollmentApi { enrollment: backend.enrollment.clone() };
    Routes::new(
        AgentServiceServer::new(agent::Agents::new(Arc::clone(backend)))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES),
    )
    .add_service(
        ContentServiceServer::new(ContentApi { backend: Arc::clone(backend) })
            .max_decoding_message_size(MAX_PART_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_PART_MESSAGE_BYTES),
    )
    .add_service(EnrollmentServiceServer::new(enrollment).max_decoding_message_size(64 * 1024))
}

/// Runs a device's stream without a network, for simulations: `incoming` holds the device's messages, the
/// returned stream the backend's.
///
/// # Errors
/// The backend rejects the device.
#[doc(hidden)]
pub async fn link(
    backend: &Arc<Backend>,
    device: DeviceId,
    incoming: impl Stream<Item = Result<LinkRequest, Status>> + Send + Unpin + 'static,
) -> Result<impl Stream<Item = Result<LinkResponse, Status>> + Send + Unpin, Status> {
    let shared = (Arc::clone(backend), Arc::default());
    let over = Box::pin(async {
        tokio::time::sleep(Duration::from_hours(24)).await;
        "its certificate has ended"
    });
    let connection =
        agent::Connection { since: Instant::now(), serial: String::new(), issuer: None, over };
    agent::talk(shared, device, connection, incoming).await
}

/// Returns the services that people and programs can call. `has_page` is whether this program contains the page.
///
/// # Errors
/// The descriptors cannot be read.
pub fn people_routes(
    backend: &Arc<Backend>,
    has_page: bool,
) -> Result<Routes, tonic_reflection::server::Error> {
    let Backend { store, fleet, devices, enrollment, pipeline, notary, tasks, .. } = &**backend;
    let (people, heavy) = (&backend.people, &backend.people.heavy);
    let tool = ToolApi { pipeline: Arc::clone(pipeline) };
    let transfer = TransferApi { pipeline: Arc::clone(pipeline) };
    let chat = ChatApi { chat: Arc::clone(&backend.chat) };
    let device = DeviceApi {
        devices: devices.clone(),
        downloads: Arc::clone(&backend.downloads),
        enrollment: enrollment.clone(),
        heavy: heavy.clone(),
    };
    let policy = PolicyApi {
        devices: devices.clone(),
        pipeline: Arc::clone(pipeline),
        heavy: heavy.clone(),
    };
    let insight = InsightApi { store: store.clone() };
    let schedule = ScheduleApi { store: store.clone() };
    let macros = MacroApi { store: store.clone() };
    let memory = MemoryApi { store: store.clone() };
    let passkeys = || Arc::clone(&backend.passkeys);
    let plan = PlanApi { pipeline: Arc::clone(pipeline), passkeys: passkeys() };
    let access_request = AccessRequestApi { pipeline: Arc::clone(pipeline) };
    let approval = ApprovalApi { pipeline: Arc::clone(pipeline), passkeys: passkeys() };
    let passkey = PasskeyApi {
        pipeline: Arc::clone(pipeline),
        people: Arc::clone(people),
        passkeys: passkeys(),
    };
    let audit = AuditApi {
        store: store.clone(),
        notary: Arc::clone(notary),
        fleet: Arc::clone(fleet),
        heavy: heavy.clone(),
        tasks: tasks.clone(),
        last_check: audit::LastCheck::default(),
    };
    let auth = AuthApi {
        store: store.clone(),
        devices: devices.clone(),
        people: Arc::clone(people),
        first_admin: Arc::clone(&backend.first_admin),
        has_page,
    };
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(orion_wire::v1::DESCRIPTORS)
    };
    let (_, health) = tonic_health::server::health_reporter();
    Ok(Routes::new(ToolServiceServer::new(tool).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(
            TransferServiceServer::new(transfer).max_decoding_message_size(MAX_PART_MESSAGE_BYTES),
        )
        .add_service(ChatServiceServer::new(chat).max_decoding_message_size(1024 * 1024))
        .add_service(DeviceServiceServer::new(device).max_decoding_message_size(1024 * 1024))
        .add_service(PolicyServiceServer::new(policy).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(PlanServiceServer::new(plan).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(
            ApprovalServiceServer::new(approval).max_decoding_message_size(MAX_MESSAGE_BYTES),
        )
        .add_service(
            AccessRequestServiceServer::new(access_request).max_decoding_message_size(64 * 1024),
        )
        .add_service(AuditServiceServer::new(audit).max_decoding_message_size(64 * 1024))
        .add_service(InsightServiceServer::new(insight).max_decoding_message_size(64 * 1024))
        .add_service(ScheduleServiceServer::new(schedule).max_decoding_message_size(64 * 1024))
        .add_service(MacroServiceServer::new(macros).max_decoding_message_size(64 * 1024))
        .add_service(MemoryServiceServer::new(memory).max_decoding_message_size(64 * 1024))
        .add_service(PasskeyServiceServer::new(passkey).max_decoding_message_size(64 * 1024))
        .add_service(AuthServiceServer::new(auth).max_decoding_message_size(64 * 1024))
        .add_service(health)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?))
}
