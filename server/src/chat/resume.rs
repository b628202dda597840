//! Takes up a conversation: what became of the calls whose results it does not have, because the person left,
//! an approval came later or the backend started again.

use orion_domain::CallId;

use super::error::ChatError;
use super::turn::Turn;
use super::{Said, history, prompt, recall};
use crate::model::{Message, Role};
use crate::pipeline::CallView;
use crate::store::StoreError;

/// Takes the place of the result of a call that still waits.
const WAITING: &str = "This call has not ended: it still waits, for an approval or for its device. Its result is not known here.";

impl Turn<'_> {
    /// Begins the turn with the earlier messages, those that a client gives before, and what the person says now.
    pub(super) async fn take_up(
        &mut self,
        earlier: Vec<Message>,
        given: Vec<Message>,
        said: &Said,
    ) -> Result<(), ChatError> {
        let aliases = self.pipeline.store.aliases(&self.caller.user).await?;
        let system = prompt::system(self.pipeline, &self.caller, self.assistant, &aliases);
        let is_answered =
            |last: &Message| last.role == Role::Assistant && last.tool_calls.is_empty();
        if said.resume && earlier.last().is_none_or(is_answered) {
            return Err(ChatError::NothingToResume);
        }
        let open = unanswered(&earlier);
        self.messages = earlier;
        for (native_id, call) in open {
            self.take_result(native_id, call, said.resume).await?;
        }
        let mut messages = vec![Message::system(system)];
        messages.extend(recall::message(self.pipeline, &self.caller, &said.text).await?);
        messages.append(&mut history::answered(std::mem::take(&mut self.messages)));
        self.messages = messages;
        for message in given {
            self.keep(message).await?;
        }
        if !said.resume {
            self.keep(Message::user(&said.text)).await?;
        }
        Ok(())
    }

    /// Keeps what became of a call. Waits for its end where the turn goes on.
    async fn take_result(
        &mut self,
        native_id: String,
        call: CallId,
        waits: bool,
    ) -> Result<(), ChatError> {
        let mut reply = match self.pipeline.store.call(call).await {
            Ok(row) => CallView::from(row),
            // It was not made.
            Err(StoreError::NotFound) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if waits {
            self.still_authorized().await?;
            reply = self.to_its_end(reply).await?;
        }
        if reply.state.is_closed() {
            self.keep_result(native_id, &reply).await
        } else {
            self.keep(Message::tool(native_id, WAITING)).await
        }
    }
}

/// Returns the calls of the newest message of the model that have no result, with their ids in the store.
fn unanswered(messages: &[Message]) -> Vec<(String, CallId)> {
    let Some(at) = messages.iter().rposition(|it| it.role != Role::Tool) else { return Vec::new() };
    let (Some(message), answers) = (messages.get(at), messages.get(at + 1..).unwrap_or_default())
    else {
        return Vec::new();
    };
    let is_open = |id: &str| answers.iter().all(|it| it.tool_call_id.as_deref() != Some(id));
    let calls = message.tool_calls.iter().zip(&message.made);
    calls.filter(|(call, _)| is_open(&call.id)).map(|(call, id)| (call.id.clone(), *id)).collect()
}
