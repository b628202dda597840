//! Errors of models, each with what to do about it.

use std::time::Duration;

/// Why a model gave no answer. No variant contains a key, a whole address or a prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The server cannot be reached.
    #[error(
        "The model server at {host} cannot be reached ({reason}). Check that it runs, and `url` of this model in orion-server.toml."
    )]
    Unreachable {
        /// Host and port.
        host: String,
        /// The network's own reason.
        reason: String,
        /// Whether the request may have arrived.
        is_sent: bool,
    },
    /// The server rejected the request.
    #[error(
        "The model server refused the request (HTTP {status}: {message}). Check `model` and `url` of this model in orion-server.toml, and the server's own log."
    )]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's reason, shortened, without control characters or keys.
        message: String,
    },
    /// The key is missing, wrong or lacks permission.
    #[error(
        "The model server does not accept the key. Check `api_key_file` or `api_key_env` of this model in orion-server.toml."
    )]
    Unauthorized,
    /// The server limits the rate of requests.
    #[error("The model server takes no more requests for the moment. Try again {}.", when(*retry_after))]
    RateLimited {
        /// How long the server asks to wait. None where it does not say.
        retry_after: Option<Duration>,
    },
    /// The server or the model has too much to do.
    #[error("The model is overloaded for the moment. Try again {}, or choose another model.", when(*retry_after))]
    Overloaded {
        /// How long the server asks to wait. None where it does not say.
        retry_after: Option<Duration>,
    },
    /// The conversation does not fit into the model.
    #[error(
        "The conversation is longer than the model can read. Begin a new one, or set `context_tokens` of this model in orion-server.toml to its real size."
    )]
    ContextTooLong,
    /// The answer took too long.
    #[error(
        "The model gave no answer within {} s. Try again, or raise `timeout_seconds` of this model in orion-server.toml.",
        after.as_secs()
    )]
    TimedOut {
        /// The timeout that was exceeded.
        after: Duration,
        /// Whether a part of the answer had come.
        begun: bool,
    },
    /// The answer broke off or is malformed.
    #[error(
        "The model's answer broke off ({reason}). Try again; if it stays, see the model server's log."
    )]
    BrokenStream {
        /// What was wrong with the answer.
        reason: String,
    },
    /// The answer exceeds the configured size.
    #[error(
        "The model's answer is larger than {limit_bytes} bytes. Ask for less, or raise `max_answer_bytes` of this model in orion-server.toml."
    )]
    TooLarge {
        /// The limit, in bytes.
        limit_bytes: usize,
    },
    /// The `[[models]]` section is not valid.
    #[error("[[models]] `{name}`: {reason}")]
    BadConfig {
        /// The model's name.
        name: String,
        /// What is wrong and what would be valid.
        reason: String,
    },
}

impl ModelError {
    /// Returns whether the model could not be asked at all, so that another one can be. Nothing of an answer
    /// has come.
    #[must_use]
    pub const fn is_unavailable(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::TimedOut { begun: false, .. }
            | Self::Refused { status: 500..=599, .. } => true,
            Self::Refused { .. }
            | Self::Unauthorized
            | Self::ContextTooLong
            | Self::TimedOut { .. }
            | Self::BrokenStream { .. }
            | Self::TooLarge { .. }
            | Self::BadConfig { .. } => false,
        }
    }

    /// Returns whether the server surely did not begin with the request, so that no provider counts it.
    #[must_use]
    pub const fn is_uncounted(&self) -> bool {
        match self {
            Self::Unreachable { is_sent, .. } => !*is_sent,
            Self::Refused { status: 400..=499, .. }
            | Self::Unauthorized
            | Self::RateLimited { .. }
            | Self::ContextTooLong
            | Self::BadConfig { .. } => true,
            Self::Refused { .. }
            | Self::Overloaded { .. }
            | Self::TimedOut { .. }
            | Self::BrokenStream { .. }
            | Self::TooLarge { .. } => false,
        }
    }
}

fn when(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(
        || "in a while".to_owned(),
        |wait| format!("in {} s", wait.as_secs_f64().ceil()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_surely_was_not_begun_is_not_counted() {
        let refused = |status| ModelError::Refused { status, message: String::new() };
        let unreachable = |is_sent| ModelError::Unreachable {
            host: "a:1".to_owned(),
            reason: "refused".to_owned(),
            is_sent,
        };
        for error in [
            unreachable(false),
            refused(400),
            ModelError::Unauthorized,
            ModelError::RateLimited { retry_after: None },
            ModelError::ContextTooLong,
        ] {
            assert!(error.is_uncounted(), "{error}");
        }
        for error in [
            unreachable(true),
            refused(200),
            refused(502),
            ModelError::Overloaded { retry_after: None },
            ModelError::TimedOut { after: Duration::from_secs(1), begun: false },
            ModelError::BrokenStream { reason: "x".to_owned() },
            ModelError::TooLarge { limit_bytes: 1 },
        ] {
            assert!(!error.is_uncounted(), "{error}");
        }
    }

    #[test]
    fn each_sentence_says_what_to_do() {
        for (error, end) in [
            (ModelError::RateLimited { retry_after: None }, "Try again in a while."),
            (
                ModelError::RateLimited { retry_after: Some(Duration::from_millis(1500)) },
                "Try again in 2 s.",
            ),
            (
                ModelError::TimedOut { after: Duration::from_secs(120), begun: false },
                "raise `timeout_seconds` of this model in orion-server.toml.",
            ),
        ] {
            assert!(error.to_string().ends_with(end), "{error}");
        }
    }
}
