//! `/mcp`: Orion's tools for clients of the Model Context Protocol, over streamable HTTP. Each request stands alone,
//! with its token: there is no session that another replica would have to know.

mod address;
mod call;
mod resources;
mod result;
mod server;
mod session;
mod state;
mod tools;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

pub(super) use self::address::challenge;
use self::server::Server;
use crate::backend::Backend;

/// Maximum size of a request, in bytes.
const MAX_REQUEST_BYTES: usize = 1024 * 1024;
/// How often a comment is sent while nothing else is, so that nobody takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Returns the routes of `/mcp`.
pub(super) fn routes(backend: &Arc<Backend>) -> Router {
    let server = Server::new(backend);
    // Which hosts are allowed depends on the form of the name, so Orion checks both before.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(Some(KEEP_ALIVE))
        .with_cancellation_token(backend.tasks.closing.clone())
        .with_max_request_body_bytes(MAX_REQUEST_BYTES)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    Router::new()
        .route_service("/mcp", service)
        .route("/.well-known/oauth-protected-resource", get(address::metadata))
        .route("/.well-known/oauth-protected-resource/mcp", get(address::metadata))
        .layer(axum::middleware::from_fn(address::own_pages_only))
}
