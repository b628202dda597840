//! A client for models on servers, which parses leniently, in the forms of several providers.
//!
//! [`form`] is the table of forms, each with a file for its answers and one for its requests.
//! [`conversation`] makes a conversation what all of them take, [`draft`] assembles their answers,
//! [`refusal`] says what their errors mean. [`attempt`] repeats a request only until the first byte of an answer.

mod address;
mod anthropic;
mod attempt;
mod calls;
mod chat;
mod conversation;
mod draft;
mod form;
mod gemini;
mod prompt;
mod refusal;
mod responses;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use orion_domain::Secret;
use reqwest::{Client, Response, Url};

use self::attempt::Rejected;
use self::conversation::Conversation;
use self::draft::Draft;
use self::form::{Form, Wishes};
use self::stream::{Decoder, Frame, Unreadable};
use super::{Answer, ModelConfig, ModelError, ProviderState, Request, ToolCalls};
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
pub struct Remote {
    form: Form,
    client: Client,
    url: Url,
    /// Host and port, for messages.
    host: String,
    model: String,
    key: Option<Secret>,
    max_output_tokens: Option<u32>,
    /// Whether this server rejected what it was asked for beside the conversation.
    is_plain: AtomicBool,
    tool_calls: ToolCalls,
    /// Until when this server, which rejected native tools, is not offered them. None while it is.
    text_until: Mutex<Option<Instant>>,
    text_mode_ttl: Duration,
    timeout: Duration,
    idle: Duration,
    backoff: Duration,
    max_answer_bytes: usize,
}

impl Remote {
    /// Creates the client of a validated section.
    ///
    /// # Errors
    /// [`ModelError::BadConfig`] for a URL or a key that cannot be used.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        let form = Form::of(config).ok_or_else(|| config.bad("the planner is on no server"))?;
        let url = address::endpoint(config, form)?;
        let host = match (url.host_str(), url.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => return Err(config.bad("`url` has no host")),
        };
        let key = config.key(|name| std::env::var(name).ok())?;
        if key.is_some() && url.scheme() == "http" && !address::is_loopback(&url) {
            tracing::warn!(
                model = config.name,
                host,
                "the model's key is sent unencrypted; use https in `url`"
            );
        }
        Ok(Self {
            form,
            client: address::client(config, form, &url, key.as_ref())?,
            url,
            host,
            model: config.model.clone().unwrap_or_default(),
            key,
            max_output_tokens: config.max_output_tokens,
            is_plain: AtomicBool::new(false),
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
        let begun = AtomicBool::new(false);
        let whole = async {
            let (response, offered_natively) = self.ask(request).await?;
            let answer = self.read(response, request, &begun, on_text).await?;
            Ok(Answer { offered_natively, ..answer })
        };
        let late =
            || ModelError::TimedOut { after: self.timeout, begun: begun.load(Ordering::Relaxed) };
        tokio::time::timeout(self.timeout, whole).await.unwrap_or_else(|_| Err(late()))
    }

    /// Returns what identifies this model for what it wants back.
    fn origin(&self) -> String {
        format!("{:?} {}", self.form, self.model)
    }

    /// Sends the request. Returns whether it offers tools in the provider's own form, too.
    async fn ask(&self, request: &Request) -> Result<(Response, bool), ModelError> {
        let native = match self.tool_calls {
            ToolCalls::Native => true,
            ToolCalls::Text => false,
            ToolCalls::Auto => !self.is_text_only(),
        };
        if !native {
            return Ok((self.offer(&Conversation::text(request)).await?, false));
        }
        match self.offer(&Conversation::native(request, &self.origin())).await {
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
                Ok((self.offer(&Conversation::text(request)).await?, false))
            }
            Err(rejected) => Err(rejected.error),
        }
    }

    /// Sends a conversation; without the extras from then on where the server does not know them.
    async fn offer(&self, conversation: &Conversation<'_>) -> Result<Response, Rejected> {
        let wishes = |extras| Wishes {
            model: &self.model,
            max_output_tokens: self.max_output_tokens,
            extras,
        };
        if !self.is_plain.load(Ordering::Relaxed) {
            match self.send(&self.form.body(conversation, wishes(true))).await {
                Err(Rejected { no_extras: true, .. }) => {
                    self.is_plain.store(true, Ordering::Relaxed);
                }
                sent => return sent,
            }
        }
        self.send(&self.form.body(conversation, wishes(false))).await
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
        has_begun: &AtomicBool,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, ModelError> {
        let mut decoder = Decoder::new(self.max_answer_bytes.saturating_mul(2) + FRAME_BYTES);
        let mut draft = Draft::new(&request.tools, self.max_answer_bytes);
        let mut begun = false;
        loop {
            let patience = match (draft.finished, begun) {
                (true, _) => END_TIMEOUT.min(self.idle),
                (false, true) => self.idle,
                // A model may think long before its first word.
                (false, false) => self.timeout,
            };
            let frames = match tokio::time::timeout(patience, response.chunk()).await {
                Ok(Ok(Some(bytes))) => {
                    begun = true;
                    has_begun.store(true, Ordering::Relaxed);
                    decoder.push(&bytes)
                }
                Ok(Ok(None)) => {
                    self.take(decoder.finish(), &mut draft, on_text)?;
                    break;
                }
                // Some servers never close the connection after their end marker, and some close it
                // uncleanly.
                Ok(Err(_)) | Err(_) if draft.finished => break,
                Ok(Err(error)) => {
                    return Err(ModelError::BrokenStream { reason: attempt::cause(&error) });
                }
                Err(_) if !begun => {
                    return Err(ModelError::TimedOut { after: self.timeout, begun });
                }
                Err(_) => {
                    return Err(ModelError::BrokenStream {
                        reason: format!("the server said nothing for {} s", patience.as_secs()),
                    });
                }
            };
            if self.take(frames, &mut draft, on_text)? {
                break;
            }
        }
        let state = |items| ProviderState { origin: self.origin(), items };
        draft.finish(self.form.expected(), state, on_text)
    }

    /// Reads frames; returns whether the answer is complete.
    fn take(
        &self,
        frames: Result<Vec<Frame>, Unreadable>,
        draft: &mut Draft,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<bool, ModelError> {
        let frames = match frames {
            Ok(frames) => frames,
            Err(Unreadable::TooLarge) => {
                return Err(ModelError::TooLarge { limit_bytes: self.max_answer_bytes });
            }
            Err(Unreadable::Broken) if draft.finished => return Ok(true),
            Err(Unreadable::Broken) => {
                return Err(ModelError::BrokenStream { reason: "JSON that breaks".to_owned() });
            }
        };
        for frame in frames {
            match frame {
                Frame::Done => {
                    draft.finished = true;
                    return Ok(true);
                }
                Frame::Chunk(value) => {
                    let taken = self.form.take(&value, draft, &mut *on_text);
                    taken.map_err(|error| self.with_context(error))?;
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
            | ModelError::Overloaded { .. }
            | ModelError::ContextTooLong
            | ModelError::TimedOut { .. }
            | ModelError::TooLarge { .. }
            | ModelError::BadConfig { .. } => error,
        }
    }
}
