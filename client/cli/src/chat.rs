//! A conversation: one message of a person at a time, and everything that follows from it, shown as it
//! arrives. The model's text is untrusted data; calls, approval requests and notes are shown beside it.

mod lines;
mod markdown;
mod question;
mod slash;
mod speech;
mod typed;
mod usage;

use std::pin::pin;
use std::time::Duration;

use orion_domain::{Envelope, Hint};
use orion_wire::v1;
use orion_wire::v1::send_message_response::Event;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

pub(crate) use lines::{Aside, converse, said, shown};
pub(crate) use usage::UsageView;

use speech::Speech;

use crate::app::App;
use crate::call_result::{CallResult, can_be_undone};
use crate::client::Client;
use crate::failure::{Failure, exit_code_of};
use crate::follow::LiveCall;
use crate::output::{DIM, Output};
use crate::show::short_arguments;
use crate::terminal::{self, Spinner};
use crate::text;

/// The timeout for cancelling a call after Ctrl-C.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);
/// The exit code where the built-in planner did nothing: it did not understand the message, or it asks.
const NOT_UNDERSTOOD: u8 = 2;

/// What happens when a call needs approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// The person at the terminal decides.
    Ask,
    /// Every request is approved.
    Yes,
    /// The request is left to other people, and the answer ends.
    Leave,
}

impl Consent {
    /// Returns what the command line and the terminal allow.
    pub(crate) fn of(app: &App<'_>) -> Self {
        match () {
            () if app.yes => Self::Yes,
            () if terminal::is_interactive() => Self::Ask,
            () => Self::Leave,
        }
    }
}

/// An open conversation.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    out: &'a Output,
    client: &'a Client,
    consent: Consent,
    timeout: Option<Duration>,
    conversation: String,
    model: String,
    assistant: String,
    /// The device that each message is about; empty for none.
    device: String,
    /// The turn of the newest answer; empty before one.
    last_turn: String,
    /// The newest call.
    last_call: Option<v1::Call>,
    /// Whether the planner asks something, or did not understand.
    is_open_question: bool,
}

/// What a conversation is begun or continued with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Choice {
    /// The conversation's id. None begins a new one.
    pub(crate) conversation: Option<String>,
    /// The model. None for the one that the chat had, or the first.
    pub(crate) model: Option<String>,
    /// The assistant. None for the one that the chat had.
    pub(crate) assistant: Option<String>,
}

/// The answer to one message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ChatAnswer {
    /// The conversation's id, to continue with.
    pub(crate) conversation_id: String,
    /// This message with all that followed from it, to undo it.
    pub(crate) turn_id: String,
    /// The model that answered.
    pub(crate) model: String,
    /// The model's text.
    pub(crate) text: String,
    /// The envelopes of the model's calls, in order.
    pub(crate) calls: Vec<Value>,
    /// The backend's notes.
    pub(crate) notes: Vec<String>,
    /// What it used of language models. None where none answered.
    pub(crate) usage: Option<UsageView>,
    /// The last call's exit code; 2 where nothing was done because the planner did not understand or
    /// asks, 0 where there was no call.
    pub(crate) exit_code: u8,
}

impl<'a> Session<'a> {
    /// Starts a conversation, or continues one.
    pub(crate) fn new(app: &App<'a>, client: &'a Client, choice: Choice) -> Self {
        Self {
            out: app.out,
            client,
            consent: Consent::of(app),
            timeout: app.timeout,
            conversation: choice.conversation.unwrap_or_default(),
            model: choice.model.unwrap_or_default(),
            assistant: choice.assistant.unwrap_or_default(),
            device: String::new(),
            last_turn: String::new(),
            last_call: None,
            is_open_question: false,
        }
    }

    /// Starts a new conversation.
    pub(crate) fn reset(&mut self) {
        self.conversation.clear();
    }

    /// Sends a message and shows the events that follow. Ctrl-C stops the answer and its calls.
    ///
    /// # Errors
    /// The backend fails, nobody approves, or the person stops it.
    pub(crate) async fn say(&mut self, text: &str) -> Result<ChatAnswer, Failure> {
        let text = match self.device.as_str() {
            "" => text.to_owned(),
            device => format!("{text} on {device}"),
        };
        let request = v1::SendMessageRequest {
            conversation_id: self.conversation.clone(),
            text,
            model: self.model.clone(),
            assistant: self.assistant.clone(),
            resume: false,
        };
        self.exchange(request).await
    }

    /// Goes on with the newest turn, which ended before its answer.
    ///
    /// # Errors
    /// As [`Session::say`].
    pub(crate) async fn go_on(&mut self) -> Result<ChatAnswer, Failure> {
        let request = v1::SendMessageRequest {
            conversation_id: self.conversation.clone(),
            text: String::new(),
            model: self.model.clone(),
            assistant: self.assistant.clone(),
            resume: true,
        };
        self.exchange(request).await
    }

    async fn exchange(&mut self, request: v1::SendMessageRequest) -> Result<ChatAnswer, Failure> {
        let (out, client) = (self.out, self.client);
        let limit = self.timeout;
        let mut open = Vec::new();
        let mut speech = Speech::new(out);
        let end = {
            let follow = pin!(self.follow(request, &mut open, &mut speech));
            let limit = async {
                match limit {
                    Some(limit) => tokio::time::sleep(limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                end = follow => end,
                _ = tokio::signal::ctrl_c() => Err(Failure::Interrupted),
                () = limit => Err(Failure::TimedOut(
                    "the answer took longer than --timeout allows, and was stopped".to_owned(),
                )),
            }
        };
        if end.is_err() {
            speech.end_line()?;
        }
        let cause = end.as_ref().map_err(Failure::cause);
        if matches!(cause, Err(Failure::Interrupted | Failure::TimedOut(_))) {
            for call_id in open {
                let request = v1::CancelCallRequest { call_id };
                // The call may have ended by now; then there is nothing to cancel.
                let _ =
                    tokio::time::timeout(CANCEL_TIMEOUT, client.tools().cancel_call(request)).await;
            }
        }
        end
    }

    async fn follow(
        &mut self,
        request: v1::SendMessageRequest,
        open: &mut Vec<String>,
        speech: &mut Speech<'a>,
    ) -> Result<ChatAnswer, Failure> {
        let out = self.out;
        let mut waiting = Some(Spinner::on(out, "…"));
        let (mut live, mut running) = (None, Vec::<v1::CallBegan>::new());
        let mut events = self.client.chat().send_message(request).await?.into_inner();
        let mut answer = ChatAnswer::default();
        while let Some(v1::SendMessageResponse { event }) = events.message().await? {
            // Events of a newer backend are ignored.
            let Some(event) = event else { continue };
            if matches!(event, Event::CallEnded(_) | Event::ApprovalNeeded(_))
                && let Some(live) = live.take()
            {
                LiveCall::end(live).await;
            }
            waiting = None;
            match event {
                Event::Began(began) => {
                    let v1::Began { conversation_id, model, turn_id, is_language_model } = began;
                    speech.is_markdown(is_language_model);
                    self.conversation.clone_from(&conversation_id);
                    answer.conversation_id = conversation_id;
                    answer.model = model;
                    self.last_turn.clone_from(&turn_id);
                    answer.turn_id = turn_id;
                    waiting = Some(Spinner::on(out, "…"));
                }
                Event::TextDelta(delta) => speech.say(&delta.text)?,
                Event::CallBegan(call) => {
                    speech.end_line()?;
                    let line = call_line(&call);
                    let spinner = Spinner::on(out, &line);
                    live = LiveCall::announced(self.client, &call, &spinner);
                    running.push(call.clone());
                    waiting = Some(spinner);
                    if out.verbose {
                        out.detail(&line);
                    }
                    open.push(call.call_id);
                }
                Event::ApprovalNeeded(approval) => {
                    speech.end_line()?;
                    let call_id = approval.call_id.clone();
                    self.decide(approval).await?;
                    let spinner = Spinner::on(out, "…");
                    // Several calls can run at the same time.
                    let call = running.iter().find(|it| it.call_id == call_id);
                    live = call.and_then(|it| LiveCall::announced(self.client, it, &spinner));
                    waiting = Some(spinner);
                }
                Event::CallEnded(v1::CallEnded { call }) => {
                    let Some(call) = call else { continue };
                    open.retain(|id| *id != call.call_id);
                    running.retain(|it| it.call_id != call.call_id);
                    speech.end_line()?;
                    let line = ended_line(&call);
                    self.last_call = Some(call.clone());
                    let result = CallResult::of(call)?;
                    out.note(&format!("{line} {}", result.in_short()));
                    answer.exit_code = result.exit_code();
                    answer.calls.push(serde_json::from_slice(&result.bytes).unwrap_or_default());
                    waiting = Some(Spinner::on(out, "…"));
                }
                Event::Note(v1::Note { text }) => {
                    speech.end_line()?;
                    out.note(&format!("{DIM}{}{DIM:#}", text::plain(&text)));
                    answer.notes.push(text);
                }
                Event::Done(v1::Done { text, tools_used, not_understood, usage }) => {
                    if !speech.printed {
                        speech.say(&text)?;
                    }
                    speech.end_line()?;
                    answer.text = text;
                    answer.usage = usage.map(UsageView::from);
                    if let (Some(usage), true) = (&answer.usage, out.verbose) {
                        out.detail(&usage.line());
                    }
                    if answer.calls.iter().filter(|call| is_undoable(call)).count() > 1 {
                        let turn = text::one_line(&answer.turn_id, 80);
                        out.next(&format!("{DIM}undo all of it:{DIM:#} orion undo {turn}"));
                    }
                    if let (Some(last), true) = (tools_used.last(), answer.calls.is_empty()) {
                        answer.exit_code = exit_code_of(&last.code);
                    }
                    let lacks_device =
                        tools_used.last().is_some_and(|last| last.code == "DEVICE_REQUIRED");
                    self.is_open_question = not_understood || lacks_device;
                    if not_understood && answer.exit_code == 0 {
                        answer.exit_code = NOT_UNDERSTOOD;
                    }
                    return Ok(answer);
                }
            }
        }
        drop(waiting);
        Err(Failure::Failed("the answer broke off".to_owned())
            .hint(Hint::run("see what was done until then", "orion audit list")))
    }

    /// Says how the planner's question is answered: another message alone begins another chat.
    pub(crate) fn say_how_to_go_on(&self) {
        if self.is_open_question && self.out.is_for_people() {
            let chat = text::short_id(&self.conversation);
            self.out.next(&format!("{DIM}go on:{DIM:#} orion ask TEXT --conversation {chat}"));
        }
    }

    /// Says how the last call is taken back, if it can be: a message alone has no next one that could say "undo that".
    pub(crate) fn say_how_to_undo(&self) {
        if let Some(Ok(last)) = self.last_call.clone().map(CallResult::of) {
            last.say_how_to_undo(self.out);
        }
    }
}

/// Returns whether the call of an envelope can be undone.
fn is_undoable(envelope: &Value) -> bool {
    Envelope::deserialize(envelope).is_ok_and(|envelope| can_be_undone(&envelope))
}

fn call_line(call: &v1::CallBegan) -> String {
    let recovered = match (call.quoted, call.recovered) {
        (true, _) => " (copied from untrusted content)",
        (false, true) => " (found in prose)",
        (false, false) => "",
    };
    // A model may omit the device where there is only one.
    let device = match call.device.as_str() {
        "" => String::new(),
        device => format!("{} · ", text::one_line(device, 64)),
    };
    format!(
        "{device}{} {}{recovered}",
        text::one_line(&call.tool, 64),
        short_arguments(&call.tool, &call.arguments)
    )
}

fn ended_line(call: &v1::Call) -> String {
    format!(
        "{DIM}{} ·{DIM:#} {} {}",
        text::one_line(&call.device, 64),
        text::one_line(&call.tool, 64),
        short_arguments(&call.tool, &call.arguments)
    )
}
