//! HTTP as a protocol of requests: an operation is a method and a path, a refusal is a status code with the error as
//! JSON.

use axum::Json;
use axum::http::HeaderValue;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{Method, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use http_body::Frame;
use orion_domain::envelope::sentence;
use orion_domain::{ErrorCode, Hint, ToolError};
use serde_json::json;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Bytes;

use super::address::{OwnAddress, UNKNOWN_NAME};
use super::mcp::challenge;
use super::{downloads, page, with_headers};
use crate::access::{AccessError, Operation};
use crate::people::StreamEnd;
use crate::rpc::access_layer::Protocol;

/// HTTP.
#[derive(Debug)]
pub enum Http {}

impl Protocol for Http {
    fn operation(request: &Request<Body>) -> Option<&'static Operation> {
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        let path = request.uri().path();
        // Whether the backend lives is no secret, and is asked under any name.
        if !is_to_own_name(request) && path != "/healthz" {
            return None;
        }
        // All addresses of the page are one operation, and so are all agents.
        let is_get = *method == Method::GET;
        let path = if is_get && page::serves(path) {
            "/"
        } else if is_get && downloads::serves(path) {
            "/download"
        } else {
            path
        };
        Operation::find(&format!("{method} {path}"))
    }

    fn refused(request: &Request<Body>, error: AccessError) -> Response<Body> {
        let message = sentence(&error.to_string());
        let plain = |code| ToolError::new(code, message);
        let (status, error) = match error {
            AccessError::UnknownOperation if !is_to_own_name(request) => {
                let error = ToolError::new(ErrorCode::PermissionDenied, UNKNOWN_NAME);
                (StatusCode::FORBIDDEN, error)
            }
            AccessError::UnknownOperation => {
                let is_get = request.method() == Method::GET;
                if let Some(page) = page::no_page(request.headers()).filter(|_| is_get) {
                    return with_headers(page.map(Body::new));
                }
                let error =
                    ToolError::new(ErrorCode::NotFound, "Nothing is served at this address.");
                let hint = Hint::run("use the command line", "orion --help");
                (StatusCode::NOT_FOUND, error.hint(hint))
            }
            AccessError::NotSignedIn | AccessError::NoCertificate => {
                (StatusCode::UNAUTHORIZED, plain(ErrorCode::PermissionDenied))
            }
            AccessError::Role(error) | AccessError::Scope(error) => (StatusCode::FORBIDDEN, *error),
            AccessError::Limit(error) => (StatusCode::TOO_MANY_REQUESTS, *error),
            AccessError::UnknownSource => {
                (StatusCode::INTERNAL_SERVER_ERROR, plain(ErrorCode::Internal))
            }
            AccessError::Store(error) => {
                tracing::error!(%error, "the database failed");
                let error = ToolError::new(ErrorCode::Internal, "The database does not respond.");
                (StatusCode::SERVICE_UNAVAILABLE, error.hint("try again in a few seconds"))
            }
        };
        let mut response = refusal(status, &error);
        if status == StatusCode::UNAUTHORIZED {
            let address = request.extensions().get::<OwnAddress>();
            let challenge = challenge(request.uri().path(), address);
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    fn broken_off() -> Response<Body> {
        let error = ToolError::new(ErrorCode::Internal, "The backend failed at this request.");
        refusal(StatusCode::INTERNAL_SERVER_ERROR, &error)
    }

    fn ended(_: StreamEnd) -> Result<Frame<Bytes>, Status> {
        // The status of the response was sent, so nothing but its unfinished body can tell the client.
        Err(Status::aborted("Access to this response ended."))
    }
}

fn is_to_own_name(request: &Request<Body>) -> bool {
    request.extensions().get::<OwnAddress>().is_some()
}

/// Returns the response with an error as JSON.
pub(super) fn answer(status: StatusCode, error: &ToolError) -> axum::response::Response {
    let mut body = json!({ "error": error });
    // Where clients of OpenAI's API look for the kind of an error.
    body["error"]["type"] = json!(match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        _ => "invalid_request_error",
    });
    let mut response = (status, Json(body)).into_response();
    if status == StatusCode::UNAUTHORIZED {
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

fn refusal(status: StatusCode, error: &ToolError) -> Response<Body> {
    with_headers(answer(status, error).map(Body::new))
}
