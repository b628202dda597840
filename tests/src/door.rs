//! A listener of the backend's own kind, with capacity for all tests and benchmarks.

use std::sync::Arc;

use orion_server::listen::Door;
use orion_server::listen::connections::ConnectionLimits;
use orion_server::listen::http::HttpLimits;
use orion_wire::LINK_WINDOW;
use rustls::ServerConfig;
use tokio::net::TcpListener;

/// Creates a listener that accepts as many connections as the machine allows.
#[must_use]
pub fn door(listener: TcpListener, tls: Option<Arc<ServerConfig>>) -> Door {
    const MANY: usize = 100_000;
    let limits = ConnectionLimits { anonymous: MANY, ..ConnectionLimits::new(MANY, MANY) };
    let http = HttpLimits {
        http1: false,
        streams: 4096,
        stream_window: LINK_WINDOW,
        connection_window: 2 * LINK_WINDOW,
    };
    Door { listener, tls, limits, http }
}
