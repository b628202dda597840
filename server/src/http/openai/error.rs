//! Errors in the form of OpenAI's API.

use axum::Json;
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use orion_domain::envelope::sentence;
use serde_json::{Value, json};

use crate::chat::ChatError;
use crate::people::StreamEnd;
use crate::secret_values;
use crate::store::StoreError;

/// Tells OpenAI's clients not to send a request again by themselves: its calls may have run.
const NO_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A refused or failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    pub(super) code: &'static str,
    /// The parameter that is wrong. Empty where none is.
    pub(super) param: String,
    pub(super) message: String,
}

impl ApiError {
    /// A request with an invalid value.
    pub(super) fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            code: "invalid_value",
            param: param.into(),
            message: message.into(),
        }
    }

    /// A request for what Orion does not do.
    pub(super) fn unsupported(param: &str, message: &str) -> Self {
        Self { code: "unsupported_parameter", ..Self::invalid(param, message) }
    }

    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, param: String::new(), message: message.into() }
    }

    /// Returns the error as clients read it.
    pub(super) fn body(&self) -> Value {
        let kind = match self.status {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let param = (!self.param.is_empty()).then_some(&self.param);
        // What a provider answers may repeat the key that it refuses.
        let hidden = secret_values::hidden(&self.message);
        let message = hidden.as_ref().unwrap_or(&self.message);
        json!({"message": message, "type": kind, "param": param, "code": self.code})
    }
}

impl From<ChatError> for ApiError {
    fn from(error: ChatError) -> Self {
        let message = sentence(&error.to_string());
        match error {
            ChatError::NoModel(_) => Self {
                param: "model".to_owned(),
                ..Self::new(
                    StatusCode::NOT_FOUND,
                    "model_not_found",
                    format!("{message} `GET /v1/models` lists the models."),
                )
            },
            ChatError::NoAssistant(_) => {
                Self::new(StatusCode::NOT_FOUND, "assistant_not_found", message)
            }
            ChatError::NothingToResume => {
                Self::new(StatusCode::CONFLICT, "nothing_to_resume", message)
            }
            ChatError::Spent { .. } => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "insufficient_quota", message)
            }
            ChatError::NoConversation => {
                Self::new(StatusCode::NOT_FOUND, "conversation_not_found", message)
            }
            ChatError::Model(_) => Self::new(StatusCode::BAD_GATEWAY, "model_failed", message),
            ChatError::Store(error) => error.into(),
            ChatError::Left => {
                let message = "The backend is stopping. Try again in a few seconds.";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", message)
            }
            ChatError::Ended(StreamEnd::SignedOut) => Self::new(
                StatusCode::UNAUTHORIZED,
                "invalid_api_key",
                "The token is no longer valid, so this answer ends here.",
            ),
            ChatError::Ended(StreamEnd::RoleChanged) => Self::new(
                StatusCode::FORBIDDEN,
                "role_changed",
                "What you may do has changed, so this answer ends here. Ask again.",
            ),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        if error != StoreError::NotFound {
            tracing::error!(%error, "the database failed");
        }
        let message = "The database does not respond. Try again in a few seconds.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({"error": self.body()}))).into_response();
        response.headers_mut().insert(NO_RETRY, HeaderValue::from_static("false"));
        response
    }
}
