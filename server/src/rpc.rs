//! The gRPC services, one file each. Only this folder and the wire crate use the generated types.

pub mod access;
mod agent;
mod approval;
mod audit;
mod auth;
mod chat;
mod device;
mod enrollment;
mod plan;
mod policy;
pub mod status;
mod tool;

use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_domain::{Caller, DeviceId, Digest};
use orion_wire::v1::{
    LinkRequest, LinkResponse, agent_service_server::AgentServiceServer,
    approval_service_server::ApprovalServiceServer, audit_service_server::AuditServiceServer,
    auth_service_server::AuthServiceServer, chat_service_server::ChatServiceServer,
    device_service_server::DeviceServiceServer, enrollment_service_server::EnrollmentServiceServer,
    plan_service_server::PlanServiceServer, policy_service_server::PolicyServiceServer,
    tool_service_server::ToolServiceServer,
};
use orion_wire::{MAX_MESSAGE_BYTES, status_from};
use tokio_stream::Stream;
use tonic::service::Routes;
use tonic::{Request, Status};

use crate::backend::Backend;
use crate::people::{HeavyRequest, Identity};

/// The implementation of the services: a handle to the backend that they share.
#[derive(Debug, Clone)]
pub(crate) struct Api(pub(crate) Arc<Backend>);

/// Returns the services that devices can call.
#[must_use]
pub fn device_routes(backend: &Arc<Backend>) -> Routes {
    let api = || Api(Arc::clone(backend));
    Routes::new(
        AgentServiceServer::new(agent::Agents::new(Arc::clone(backend)))
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES),
    )
    .add_service(EnrollmentServiceServer::new(api()).max_decoding_message_size(64 * 1024))
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

/// Returns the services that people and programs can call.
///
/// # Errors
/// The descriptors cannot be read.
pub fn people_routes(backend: &Arc<Backend>) -> Result<Routes, tonic_reflection::server::Error> {
    let api = || Api(Arc::clone(backend));
    let reflection = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(orion_wire::v1::DESCRIPTORS)
    };
    let (_, health) = tonic_health::server::health_reporter();
    Ok(Routes::new(ToolServiceServer::new(api()).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(ChatServiceServer::new(api()).max_decoding_message_size(1024 * 1024))
        .add_service(DeviceServiceServer::new(api()).max_decoding_message_size(1024 * 1024))
        .add_service(PolicyServiceServer::new(api()).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(PlanServiceServer::new(api()).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(ApprovalServiceServer::new(api()).max_decoding_message_size(MAX_MESSAGE_BYTES))
        .add_service(AuditServiceServer::new(api()).max_decoding_message_size(64 * 1024))
        .add_service(AuthServiceServer::new(api()).max_decoding_message_size(64 * 1024))
        .add_service(health)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?))
}

impl Api {
    /// Rejects requests that start new work while the backend stops.
    pub(crate) fn not_stopping(&self) -> Result<(), Status> {
        if self.0.tasks.shutdown.is_cancelled() {
            return Err(Status::unavailable(
                "The backend is stopping. Try again in a few seconds.",
            ));
        }
        Ok(())
    }

    /// Reserves a slot for a request that reads or evaluates much.
    fn heavy<T>(&self, request: &Request<T>) -> Result<HeavyRequest, Status> {
        let by = caller(request)?;
        self.0.people.heavy.begin(&by.user).map_err(|error| status_from(&error))
    }
}

/// Returns the caller that the access layer identified.
fn caller<T>(request: &Request<T>) -> Result<Caller, Status> {
    request
        .extensions()
        .get::<Caller>()
        .cloned()
        .ok_or_else(|| Status::unauthenticated("Nobody is signed in."))
}

/// Returns the caller and the token that the access layer identified.
fn identity<T>(request: &Request<T>) -> Result<Identity, Status> {
    let identity = request.extensions().get::<Identity>().cloned();
    identity.ok_or_else(|| Status::unauthenticated("Nobody is signed in."))
}

/// Returns the SHA-256 digest of the request's session or token.
fn made_with<T>(request: &Request<T>) -> Option<Digest> {
    request.extensions().get::<Identity>().map(|identity| identity.token)
}
