//! What clients of `/mcp` learn of its address: pages of other sites are refused, and clients without a token learn how
//! to get one.

use axum::Json;
use axum::extract::{Extension, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use serde_json::json;

use crate::http::address::OwnAddress;

/// Refuses requests of pages of other sites.
pub(super) async fn own_pages_only(request: Request, next: Next) -> Response {
    let address = request.extensions().get::<OwnAddress>();
    if address.is_some_and(|address| address.admits(request.headers())) {
        return next.run(request).await;
    }
    let message = "This request comes from a page of another site (its `Origin`), which may not use this backend.";
    let error = json!({"error": {"code": "PERMISSION_DENIED", "message": message}});
    (StatusCode::FORBIDDEN, Json(error)).into_response()
}

/// `GET /.well-known/oauth-protected-resource`: where tokens are sent. Tokens come from `orion tokens create`; there
/// is no authorization server to name.
pub(super) async fn metadata(Extension(address): Extension<OwnAddress>) -> Response {
    let metadata = json!({
        "resource": format!("{}/mcp", address.as_str()),
        "resource_name": "Orion",
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["call", "read"],
    });
    let mut response = Json(metadata).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the challenge to a request for this path without a token.
pub(in crate::http) fn challenge(path: &str, address: Option<&OwnAddress>) -> HeaderValue {
    let bare = HeaderValue::from_static("Bearer");
    let Some(address) = address.filter(|_| path == "/mcp") else { return bare };
    let challenge = format!(
        "Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/mcp\", scope=\"call\"",
        address.as_str()
    );
    HeaderValue::from_str(&challenge).unwrap_or(bare)
}
