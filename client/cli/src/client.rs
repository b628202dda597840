//! The connection to the backend: one channel, the token on every request, a timeout on every wait.

use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use orion_domain::Hint;
use orion_wire::MAX_MESSAGE_BYTES;
use orion_wire::v1::access_request_service_client::AccessRequestServiceClient;
use orion_wire::v1::approval_service_client::ApprovalServiceClient;
use orion_wire::v1::audit_service_client::AuditServiceClient;
use orion_wire::v1::auth_service_client::AuthServiceClient;
use orion_wire::v1::chat_service_client::ChatServiceClient;
use orion_wire::v1::device_service_client::DeviceServiceClient;
use orion_wire::v1::insight_service_client::InsightServiceClient;
use orion_wire::v1::macro_service_client::MacroServiceClient;
use orion_wire::v1::memory_service_client::MemoryServiceClient;
use orion_wire::v1::passkey_service_client::PasskeyServiceClient;
use orion_wire::v1::plan_service_client::PlanServiceClient;
use orion_wire::v1::policy_service_client::PolicyServiceClient;
use orion_wire::v1::schedule_service_client::ScheduleServiceClient;
use orion_wire::v1::tool_service_client::ToolServiceClient;
use orion_wire::v1::transfer_service_client::TransferServiceClient;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::codegen::http;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Response, Status};

use crate::context::Context;
use crate::failure::Failure;
use crate::input;

/// The timeout of opening a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of keep-alive checks on an idle connection.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// The maximum size of an answer, in bytes: a card and the call that replaced its call.
const MAX_ANSWER_BYTES: usize = 2 * MAX_MESSAGE_BYTES;

/// A channel that sends the person's token.
pub(crate) type Authorized = InterceptedService<Channel, Bearer>;

/// Adds the token to a request.
#[derive(Debug, Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

/// The connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    channel: Channel,
    bearer: Bearer,
    /// The timeout of an ordinary request.
    limit: Duration,
}

macro_rules! services {
    ($($(#[$doc:meta])* $name:ident = $client:ident;)+) => {
        impl Client {
            $($(#[$doc])* pub(crate) fn $name(&self) -> $client<Authorized> {
                $client::with_interceptor(self.channel.clone(), self.bearer.clone())
                    .max_decoding_message_size(MAX_ANSWER_BYTES)
            })+
        }
    };
}

services! {
    /// Accounts and sessions.
    auth = AuthServiceClient;
    /// Chats.
    chat = ChatServiceClient;
    /// Tools and calls.
    tools = ToolServiceClient;
    /// The fleet.
    devices = DeviceServiceClient;
    /// Policies and grants.
    policy = PolicyServiceClient;
    /// Approval requests.
    approvals = ApprovalServiceClient;
    /// Requests for access.
    access_requests = AccessRequestServiceClient;
    /// Plans.
    plans = PlanServiceClient;
    /// The use of tools.
    insights = InsightServiceClient;
    /// Calls at times to come.
    schedules = ScheduleServiceClient;
    /// Calls that are made in order by one name.
    macros = MacroServiceClient;
    /// What the person keeps for later chats.
    memories = MemoryServiceClient;
    /// The person's passkeys.
    passkeys = PasskeyServiceClient;
    /// The content of files.
    transfers = TransferServiceClient;
    /// The audit log.
    audit = AuditServiceClient;
}

impl Client {
    /// Connects to the context's backend.
    ///
    /// # Errors
    /// The address is invalid, or nothing answers there.
    pub(crate) async fn connect(context: &Context, limit: Duration) -> Result<Self, Failure> {
        let backend = &context.backend;
        let mut endpoint = endpoint(backend)?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_INTERVAL)
            .tcp_nodelay(true);
        if endpoint.uri().scheme_str() == Some("https") {
            let mut tls = ClientTlsConfig::new().with_enabled_roots();
            if let Some(path) = &context.file.ca_file {
                let pem = input::file(path)?;
                if !pem.contains("-----BEGIN CERTIFICATE-----") {
                    let message = format!("{} has no certificate in PEM", path.display());
                    return Err(Failure::Failed(message)
                        .hint("name the authority's certificate, whose text begins with -----BEGIN CERTIFICATE-----"));
                }
                tls = tls.ca_certificate(Certificate::from_pem(pem));
            }
            endpoint = endpoint.tls_config(tls).map_err(|error| {
                Failure::Failed(format!("TLS cannot be set up: {}", innermost(&error)))
                    .hint("name another file with --ca when you sign in")
            })?;
        }
        let bearer = match &context.token {
            None => None,
            Some(token) => {
                let mut value: MetadataValue<Ascii> =
                    format!("Bearer {}", token.expose()).parse().map_err(|_| {
                        Failure::SignIn("the token has characters that no token has".to_owned())
                            .hint(Hint::run("sign in", "orion login"))
                    })?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let channel = endpoint.connect().await;
        let channel = channel
            .map_err(|error| Failure::unreachable(backend, context.demo_folder(), &error))?;
        Ok(Self { channel, bearer: Bearer(bearer), limit })
    }

    /// Sends a request that is no RPC, with the token.
    ///
    /// # Errors
    /// The backend cannot be reached; says why.
    pub(crate) async fn http(
        &self,
        mut request: http::Request<Body>,
    ) -> Result<http::Response<Body>, String> {
        if let Some(token) = &self.bearer.0 {
            let mut value = http::HeaderValue::from_bytes(token.as_bytes())
                .map_err(|_| "The token has characters that no token has.".to_owned())?;
            value.set_sensitive(true);
            request.headers_mut().insert("authorization", value);
        }
        let mut channel = self.channel.clone();
        let unreachable = |error: tonic::transport::Error| {
            format!("The backend cannot be reached: {}.", innermost(&error))
        };
        std::future::poll_fn(|context| GrpcService::<Body>::poll_ready(&mut channel, context))
            .await
            .map_err(unreachable)?;
        GrpcService::call(&mut channel, request).await.map_err(unreachable)
    }

    /// Waits for an answer for at most the ordinary timeout.
    ///
    /// # Errors
    /// The backend's error, or the timeout.
    pub(crate) async fn ask<T>(
        &self,
        question: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, Failure> {
        within(self.limit, question).await
    }
}

/// Waits for an answer for at most the given time.
///
/// # Errors
/// The backend's error, or the timeout.
pub(crate) async fn within<T>(
    limit: Duration,
    question: impl Future<Output = Result<Response<T>, Status>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(limit, question).await {
        Ok(answer) => Ok(answer?.into_inner()),
        Err(_) => {
            let waited = limit.as_secs_f32();
            let message = format!("the backend did not answer within {waited} s");
            Err(Failure::TimedOut(message).hint("allow more time with --timeout"))
        }
    }
}

/// Plain HTTP is limited to this machine: a token must not travel where others can read it.
fn endpoint(backend: &str) -> Result<Endpoint, Failure> {
    let bad = |why: &str| {
        Failure::Usage(format!("`{backend}` {why}"))
            .hint("write an address like http://127.0.0.1:7080 or https://orion.example:7080")
    };
    let endpoint = Endpoint::from_shared(backend.to_owned()).map_err(|_| bad("is no address"))?;
    let host = endpoint.uri().host().ok_or_else(|| bad("names no host"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    match endpoint.uri().scheme_str() {
        Some("https") => Ok(endpoint),
        Some("http") if is_here => Ok(endpoint),
        Some("http") => {
            let message = format!(
                "`{backend}` is on another machine, and http:// would send the token unencrypted"
            );
            Err(Failure::Usage(message)
                .hint("write the address with https://, and give that backend a certificate"))
        }
        Some(_) | None => Err(bad("is neither http nor https")),
    }
}

/// Returns the innermost cause, which names the problem.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("http://127.0.0.1:7080", true)]
    #[case("http://[::1]:7080", true)]
    #[case("http://localhost:7080", true)]
    #[case("https://orion.example", true)]
    #[case("http://orion.example", false)]
    #[case("http://127.0.0.1.evil.example", false)]
    #[case("ftp://127.0.0.1", false)]
    #[case("127.0.0.1:7080", false)]
    #[case("", false)]
    fn a_token_travels_unencrypted_only_on_this_machine(#[case] backend: &str, #[case] good: bool) {
        assert_eq!(endpoint(backend).is_ok(), good, "{backend}");
    }
}
