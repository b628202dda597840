//! The output of a response: its items, and the events by which they are streamed. A call is an item of the type
//! `mcp_call`, for it is the server that runs it.

use orion_domain::CallState;
use serde_json::{Map, Value, json};

use super::input;
use crate::clock::now_ms;
use crate::http::openai::turn::{CallOf, SoFar, Step};

/// The output so far.
#[derive(Debug)]
pub(super) struct Output {
    items: Vec<Value>,
    /// Whether the last item is a message that still grows.
    is_open: bool,
    events: Vec<Value>,
    sequence: u64,
    created_at: i64,
    /// Parameters that the response repeats.
    instructions: Value,
    previous: Value,
    /// The most bytes of a result.
    limit: usize,
}

impl Output {
    pub(super) fn new(parameters: &Map<String, Value>, limit: usize) -> Self {
        let of = |name: &str| parameters.get(name).cloned().unwrap_or(Value::Null);
        Self {
            items: Vec::new(),
            is_open: false,
            events: Vec::new(),
            sequence: 0,
            created_at: now_ms() / 1000,
            instructions: of("instructions"),
            previous: of("previous_response_id"),
            limit,
        }
    }

    /// Takes the events that were not sent yet.
    pub(super) fn events(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.events)
    }

    /// Adds a step.
    pub(super) fn take(&mut self, step: &Step, so_far: &SoFar) {
        match step {
            Step::Began => {
                let begun = self.response(so_far, "in_progress");
                self.event("response.created", json!({"response": begun}));
                self.event("response.in_progress", json!({"response": begun}));
            }
            Step::Text(text) => self.text(text),
            Step::Waits(call, text) => {
                self.close();
                self.text(text);
                self.close();
                if let Some((_, item)) = self.find(&call.to_string()) {
                    item["status"] = json!("incomplete");
                }
            }
            Step::CallBegan(call) => self.begin_call(call),
            Step::CallEnded(call) => self.end_call(call),
            Step::Done => {
                self.close();
                let done = self.response(so_far, "completed");
                self.event("response.completed", json!({"response": done}));
            }
            Step::Failed(error) => {
                self.close();
                let mut failed = self.response(so_far, "failed");
                failed["error"] = json!({"code": error.code, "message": error.body()["message"]});
                self.event("response.failed", json!({"response": failed}));
            }
        }
    }

    /// Returns the response.
    pub(super) fn response(&self, so_far: &SoFar, status: &str) -> Value {
        json!({
            "id": input::id(so_far.conversation, so_far.turn),
            "object": "response",
            "created_at": self.created_at,
            "completed_at": (status == "completed").then(|| now_ms() / 1000),
            "status": status,
            "error": null,
            "incomplete_details": null,
            "instructions": self.instructions,
            "metadata": so_far.metadata(),
            "model": so_far.model,
            "output": self.items,
            "parallel_tool_calls": true,
            "previous_response_id": self.previous,
            "store": true,
            "temperature": null,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "truncation": "auto",
            "usage": so_far.usage_of_response(),
            "orion": so_far.of_orion(),
        })
    }

    fn event(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        fields["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        self.events.push(fields);
    }

    fn text(&mut self, delta: &str) {
        if !self.is_open {
            let index = self.items.len();
            let id = format!("msg_{index}");
            let item = json!({
                "id": id, "type": "message", "status": "in_progress", "role": "assistant",
                "content": [],
            });
            self.event("response.output_item.added", json!({"output_index": index, "item": item}));
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            let added = json!({
                "item_id": id, "output_index": index, "content_index": 0, "part": part,
            });
            self.event("response.content_part.added", added);
            let mut item = item;
            item["content"] = json!([part]);
            self.items.push(item);
            self.is_open = true;
        }
        let index = self.items.len() - 1;
        let Some(item) = self.items.last_mut() else { return };
        let text = format!("{}{delta}", item["content"][0]["text"].as_str().unwrap_or_default());
        item["content"][0]["text"] = json!(text);
        let fields = json!({
            "item_id": item["id"], "output_index": index, "content_index": 0, "delta": delta,
            "logprobs": [],
        });
        self.event("response.output_text.delta", fields);
    }

    /// Closes a message that still grows.
    pub(super) fn close(&mut self) {
        if !std::mem::take(&mut self.is_open) {
            return;
        }
        let index = self.items.len() - 1;
        let Some(item) = self.items.last_mut() else { return };
        item["status"] = json!("completed");
        let item = item.clone();
        let (id, part) = (&item["id"], &item["content"][0]);
        let place = json!({"item_id": id, "output_index": index, "content_index": 0});
        let mut text = place.clone();
        (text["text"], text["logprobs"]) = (part["text"].clone(), json!([]));
        self.event("response.output_text.done", text);
        let mut done = place;
        done["part"] = part.clone();
        self.event("response.content_part.done", done);
        self.event("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn begin_call(&mut self, call: &CallOf) {
        self.close();
        let index = self.items.len();
        let id = item_id(&call.id.to_string());
        let item = json!({
            "id": id, "type": "mcp_call", "server_label": "orion", "name": call.tool,
            "arguments": call.arguments, "output": null, "error": null, "status": "in_progress",
            "approval_request_id": null,
        });
        self.event("response.output_item.added", json!({"output_index": index, "item": item}));
        let place = json!({"item_id": id, "output_index": index});
        self.event("response.mcp_call.in_progress", place.clone());
        let mut arguments = place;
        arguments["arguments"] = json!(call.arguments);
        self.event("response.mcp_call_arguments.done", arguments);
        self.items.push(item);
    }

    fn end_call(&mut self, call: &CallOf) {
        self.close();
        let succeeded = call.state == CallState::Succeeded;
        let id = call.id.to_string();
        // An approver may have changed the call into another.
        if self.find(&id).is_none() {
            self.begin_call(call);
        }
        let limit = self.limit;
        let Some((index, item)) = self.find(&id) else { return };
        item["output"] = json!(call.result.as_deref().map(|it| cut(it, limit)));
        item["error"] = json!(call.error);
        item["status"] = json!(if succeeded { "completed" } else { "failed" });
        let item = item.clone();
        let kind =
            if succeeded { "response.mcp_call.completed" } else { "response.mcp_call.failed" };
        self.event(kind, json!({"item_id": item["id"], "output_index": index}));
        self.event("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    /// Returns the item of a call with its index.
    fn find(&mut self, call: &str) -> Option<(usize, &mut Value)> {
        let id = item_id(call);
        self.items.iter_mut().enumerate().rev().find(|(_, item)| item["id"] == id.as_str())
    }
}

fn item_id(call: &str) -> String {
    format!("mcp_{}", call.replace('-', ""))
}

/// Returns the beginning of a result, as a model gets it.
fn cut(result: &str, limit: usize) -> &str {
    result.get(..result.floor_char_boundary(limit)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
