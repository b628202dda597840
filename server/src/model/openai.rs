//! A client for servers compatible with OpenAI's chat completions, which parses leniently.
//!
//! [`attempt`] repeats a request only until the first byte of an answer; the other modules parse the answer.

mod accumulate;
mod attempt;
mod calls;
mod prompt;
mod request;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use orion_domain::Secret;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};

use self::accumulate::Accumulator;
use self::attempt::Rejected;
use self::stream::{Decoder, Frame, Unreadable};
use super::{Answer, ModelConfig, ModelError, Request, ToolCalls};
pub use prompt::text_prompt;

/// How long a stream that has begun may be silent.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long tools are described in the prompt to a server that rejected native tools. Then native tools are
/// tried again: the server may run another model by then.
const TEXT_MODE_TTL: Duration = Duration::from_mins(10);
/// How long to wait for the end of a stream whose server sent its end marker.
const END_TIMEOUT: Duration = Duration::from_secs(5);
/// Delay before the first repetition; the second waits twice as long.
const BACKOFF: Duration = Duration::from_millis(250);
/// How many bytes one event of a stream may have beyond the answer itself.
const FRAME_BYTES: usize = 64 * 1024;

/// A model on a server.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    url: Url,
    /// Host and port, for messages.
    host: String,
    model: String,
    key: Option<Secret>,
    tool_calls: ToolCalls,
    /// Until when this server, which rejected native tools, is not offered them. None while it is.
    text_until: Mutex<Option<Instant>>,
    text_mode_ttl: Duration,
    timeout: Duration,
    idle: Duration,
    backoff: Duration,
    max_answer_bytes: usize,
}

impl OpenAi {
    /// Creates the client of a validated section.
    ///
    /// # Errors
    /// [`ModelError::BadConfig`] for a URL or a key that cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let url = endpoint(config)?;
        let host = match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => return Err(config.bad("`url` has no host")),
        };
        let key = config.key(|name| std::env::var(name).ok())?;
        if key.is_some() && url.scheme() == "http" && !is_loopback(&url) {
            tracing::warn!(
                model = config.name,
                host,
                "the model's key is sent unencrypted; use https in `url`"
            );
        }
        Ok(Self {
            client: client(config, &url, key.as_ref())?,
            url,
            host,
            model: config.model.clone().unwrap_or_default(),
            key,
            tool_calls: config.tool_calls,
            text_until: Mutex::default(),
            text_mode_ttl: TEXT_MODE_TTL,
            timeout: config.timeout(),
            idle: IDLE_TIMEOUT,
            backoff: BACKOFF,
            max_answer_bytes: config.max_answer_bytes,
        })
    }

    /// Sends a request to the model; see [`super::Model::complete`].
    ///
    /// # Errors
    /// See [`super::Model::complete`].
    pub async fn complete(
        &self,
        request: &Request,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, ModelError> {
        let whole = async {
            let (response, offered_natively) = self.ask(request).await?;
            let answer = self.read(response, request, on_text).await?;
            Ok(Answer { offered_natively, ..answer })
        };
        tokio::time::timeout(self.timeout, whole)
            .await
            .unwrap_or(Err(ModelError::TimedOut { after: self.timeout }))
    }

    /// Sends the request. Returns whether it offers tools in the provider's own form, too.
    async fn ask(&self, request: &Request) -> Result<(Response, bool), ModelError> {
        let native = match self.tool_calls {
            ToolCalls::Native => true,
            ToolCalls::Text => false,
            ToolCalls::Auto => !self.is_text_only(),
        };
        if !native {
            return Ok((self.send(&request::text(&self.model, request)).await?, false));
        }
        match self.send(&request::native(&self.model, request)).await {
            Ok(response) => Ok((response, !request.tools.is_empty())),
            Err(Rejected { no_tools: true, .. })
                if self.tool_calls == ToolCalls::Auto && !request.tools.is_empty() =>
            {
                *self.text_until.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Instant::now() + self.text_mode_ttl);
                tracing::warn!(
                    host = self.host,
                    model = self.model,
                    for_seconds = self.text_mode_ttl.as_secs(),
                    "the model server refuses native tools; tools are described in the prompt instead"
                );
                Ok((self.send(&request::text(&self.model, request)).await?, false))
            }
            Err(rejected) => Err(rejected.error),
        }
    }

    /// Returns whether the server rejected native tools recently.
    fn is_text_only(&self) -> bool {
        let until = *self.text_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    async fn read(
        &self,
        mut response: Response,
        request: &Request,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, ModelError> {
        let mut decoder = Decoder::new(self.max_answer_bytes.saturating_mul(2) + FRAME_BYTES);
        let mut accumulator = Accumulator::new(&request.tools, self.max_answer_bytes);
        let mut begun = false;
        loop {
            let patience = match (accumulator.finished(), begun) {
                (true, _) => END_TIMEOUT.min(self.idle),
                (false, true) => self.idle,
                // A model may think long before its first word.
                (false, false) => self.timeout,
            };
            let frames = match tokio::time::timeout(patience, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    begun = true;
                    decoder.push(&bytes)
                }
                Ok(Ok(None)) => {
                    self.take(decoder.finish(), &mut accumulator, on_text)?;
                    break;
                }
                // Some servers never close the connection after their end marker, and some close it
                // uncleanly.
                Ok(Err(_)) | Err(_) if accumulator.finished() => break,
                Ok(Err(error)) => {
                    return Err(ModelError::BrokenStream { reason: attempt::cause(&error) });
                }
                Err(_) if !begun => return Err(ModelError::TimedOut { after: self.timeout }),
                Err(_) => {
                    return Err(ModelError::BrokenStream {
                        reason: format!("the server said nothing for {} s", patience.as_secs()),
                    });
                }
            };
            if self.take(frames, &mut accumulator, on_text)? {
                break;
            }
        }
        accumulator.finish(on_text)
    }

    /// Reads frames; returns whether the answer is complete.
    fn take(
        &self,
        frames: Result<Vec<Frame>, Unreadable>,
        accumulator: &mut Accumulator,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<bool, ModelError> {
        let frames = match frames {
            Ok(frames) => frames,
            Err(Unreadable::TooLarge) => {
                return Err(ModelError::TooLarge { limit_bytes: self.max_answer_bytes });
            }
            Err(Unreadable::Broken) if accumulator.finished() => return Ok(true),
            Err(Unreadable::Broken) => {
                return Err(ModelError::BrokenStream { reason: "JSON that breaks".to_owned() });
            }
        };
        for frame in frames {
            match frame {
                Frame::Done => {
                    accumulator.done();
                    return Ok(true);
                }
                Frame::Chunk(value) => {
                    accumulator.take(&value, on_text).map_err(|error| self.with_context(error))?;
                }
            }
        }
        Ok(false)
    }

    /// Returns the error with the server's text made safe.
    fn with_context(&self, error: ModelError) -> ModelError {
        let safe = |text: &str| attempt::safe(text, self.key.as_ref());
        match error {
            ModelError::Refused { status, message } => {
                ModelError::Refused { status, message: safe(&message) }
            }
            ModelError::BrokenStream { reason } => {
                ModelError::BrokenStream { reason: safe(&reason) }
            }
            ModelError::Unreachable { .. }
            | ModelError::Unauthorized
            | ModelError::RateLimited { .. }
            | ModelError::TimedOut { .. }
            | ModelError::TooLarge { .. }
            | ModelError::BadConfig { .. } => error,
        }
    }
}

fn endpoint(config: &ModelConfig) -> Result<Url, ModelError> {
    const PATH: &str = "/chat/completions";
    let mut url = Url::parse(config.url.as_deref().unwrap_or_default())
        .map_err(|error| config.bad(format!("`url` is no address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(config.bad("`url` must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(config.bad("`url` must not hold a key; use `api_key_file` or `api_key_env`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(config.bad("`url` must end with its path, without `?` and `#`"));
    }
    let path = url.path().trim_end_matches('/');
    let path = format!("{}{PATH}", path.strip_suffix(PATH).unwrap_or(path));
    url.set_path(&path);
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn client(config: &ModelConfig, url: &Url, key: Option<&Secret>) -> Result<Client, ModelError> {
    // The client panics without a provider. A provider that the program installed before is kept.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(key) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
            .map_err(|_| config.bad("the key holds characters that no header can hold"))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    let mut builder = Client::builder()
        .user_agent(concat!("orion/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(Duration::from_secs(30));
    if url.scheme() == "http" {
        // Plain HTTP needs no certificates, so a machine without any must not fail here.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        config.bad(format!(
            "the system's root certificates cannot be used ({}); install the package ca-certificates",
            attempt::cause(&error)
        ))
    })
}
