//! Reads a request: who sent it, and its JSON within the limits.

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use super::error::ApiError;
use crate::people::Identity;

/// Maximum size of a request, in bytes.
const MAX_REQUEST_BYTES: usize = 1024 * 1024;

/// Returns the person whom the access layer identified, and the request's body.
pub(super) async fn read<T: DeserializeOwned>(request: Request) -> Result<(Identity, T), ApiError> {
    let (mut parts, body) = request.into_parts();
    let identity = parts.extensions.remove::<Identity>().ok_or_else(|| {
        ApiError::new(StatusCode::UNAUTHORIZED, "invalid_api_key", "Nobody is signed in.")
    })?;
    let content_type = parts.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
    if !essence.trim().eq_ignore_ascii_case("application/json") {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "The body must be JSON. Send it with `content-type: application/json`.",
        ));
    }
    let body = to_bytes(body, MAX_REQUEST_BYTES).await.map_err(|_| {
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "request_too_large",
            format!(
                "The body is larger than {} KiB, or did not come in time. Send fewer or shorter messages.",
                MAX_REQUEST_BYTES >> 10
            ),
        )
    })?;
    let message = serde_json::from_slice(&body).map_err(|error| ApiError {
        code: "invalid_json",
        ..ApiError::invalid("", format!("The body is not valid: {error}."))
    })?;
    Ok((identity, message))
}
