//! The ways to misbehave, and how each ends.

mod calls;
mod streams;

use orion_tests::{Reply, Then};
use serde_json::{Value, json};

/// One way to misbehave.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// The lines of its section that say its kind.
    pub(super) kind: &'static str,
    /// What it sends to one request after another; then it says that it is done.
    pub(super) replies: Vec<Reply>,
    pub(super) end: End,
}

/// How an answer ends.
#[derive(Debug)]
pub(super) enum End {
    /// With an error that holds this text.
    Error(&'static str),
    /// With exactly this text and without a call.
    Text(&'static str),
    /// With calls that end so: `ok` or the code of an error.
    Calls(Vec<&'static str>),
    /// With a note that holds this text, after so many calls.
    Note(&'static str, usize),
}

const CHAT: &str = "kind = \"openai\"";
const RESPONSES: &str = "kind = \"openai\"\napi = \"responses\"";
const ANTHROPIC: &str = "kind = \"anthropic\"";
const GEMINI: &str = "kind = \"gemini\"";

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn delta(delta: Value) -> String {
    event(&json!({"choices": [{"delta": delta}]}))
}

/// A whole answer in words.
pub(super) fn text(words: &str) -> String {
    delta(json!({ "content": words })) + END
}

const END: &str =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A fragment of a call, at an index and with an id where they are given.
fn part(index: Option<u64>, id: Option<&str>, name: &str, arguments: &str) -> Value {
    let mut part = json!({"type": "function", "function": {"arguments": arguments}});
    if !name.is_empty() {
        part["function"]["name"] = name.into();
    }
    if let Some(index) = index {
        part["index"] = index.into();
    }
    if let Some(id) = id {
        part["id"] = id.into();
    }
    part
}

/// A whole answer with one call.
fn call(name: &str, arguments: &Value) -> String {
    calls(&[part(Some(0), Some("c"), name, &arguments.to_string())])
}

fn calls(parts: &[Value]) -> String {
    parts.iter().map(|part| delta(json!({ "tool_calls": [part] }))).collect::<String>() + END
}

fn raw(head: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::raw(format!(
        "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

fn case(name: &'static str, body: impl AsRef<[u8]>, end: End) -> Case {
    sends(name, vec![Reply::stream(body)], end)
}

const fn sends(name: &'static str, replies: Vec<Reply>, end: End) -> Case {
    Case { name, kind: CHAT, replies, end }
}

fn of(kind: &'static str, case: Case) -> Case {
    Case { kind, ..case }
}

pub(super) fn cases() -> Vec<Case> {
    let mut all = calls::cases();
    all.extend(streams::cases());
    all.extend(servers_that_are_wrong());
    all.extend(other_forms());
    all
}

fn servers_that_are_wrong() -> Vec<Case> {
    let silent = Reply { then: Then::Silent, ..Reply::default() };
    let silent_later =
        Reply { then: Then::Silent, ..Reply::stream(delta(json!({"content": "I am "}))) };
    let three = |reply: &Reply| vec![reply.clone(); 3];
    // A gzip member of a few bytes, which stands for a large one: no coding is accepted, so none is decoded.
    let packed = [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: gzip\r\n\r\n".to_vec(),
        vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
        vec![0; 1000],
    ];
    let headers = "X-Long: ".to_owned() + &"x".repeat(2_000_000);
    vec![
        sends("silent", vec![silent], End::Error("within 3 s")),
        sends("silent_after_words", vec![silent_later], End::Error("within 3 s")),
        sends("hangs_up", three(&Reply::raw("")), End::Error("cannot be reached")),
        sends(
            "no_http",
            three(&Reply::raw("SSH-2.0-OpenSSH_9.2\r\n")),
            End::Error("cannot be reached"),
        ),
        sends(
            "headers_of_megabytes",
            three(&Reply::raw(format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n"))),
            End::Error("cannot be reached"),
        ),
        sends(
            "a_web_page",
            vec![raw("200 OK\r\nContent-Type: text/html", "<html>Sign in</html>")],
            End::Error("no chat completion"),
        ),
        sends(
            "error_as_success",
            vec![raw(
                "200 OK\r\nContent-Type: application/json",
                "{\"error\":{\"message\":\"no such model\"}}",
            )],
            End::Error("no such model"),
        ),
        sends(
            "redirects",
            vec![raw("302 Found\r\nLocation: http://127.0.0.1:1/", "")],
            End::Error("not followed"),
        ),
        sends(
            "no_content",
            vec![Reply::raw("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")],
            End::Error("broke off"),
        ),
        sends(
            "always_fails",
            three(&raw("500 Internal Server Error", "{}")),
            End::Error("HTTP 500"),
        ),
        sends(
            "wait_for_a_year",
            vec![raw("429 Too Many Requests\r\nRetry-After: 31536000", "")],
            End::Error("no more requests"),
        ),
        sends("overloaded", three(&raw("529 Overloaded", "{}")), End::Error("overloaded")),
        sends(
            "too_long",
            vec![raw(
                "400 Bad Request",
                "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"maximum context length\"}}",
            )],
            End::Error("longer than the model can read"),
        ),
        sends(
            "wrong_key",
            vec![raw("401 Unauthorized", "{}")],
            End::Error("does not accept the key"),
        ),
        sends("packed", vec![Reply::raw(packed.concat())], End::Error("broke off")),
    ]
}

/// The like in the other forms.
fn other_forms() -> Vec<Case> {
    let anthropic = |events: &[Value]| events.iter().map(event).collect::<String>();
    let used = |index: u64, id: &str| json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": id, "name": "get_datetime", "input": {}}});
    let stop = json!({"type": "message_stop"});
    let parts = |parts: Value| {
        event(&json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}))
    };
    let item = |index: u64, arguments: &str| json!({"type": "response.output_item.done", "output_index": index, "item": {"type": "function_call", "call_id": "c", "name": "get_datetime", "arguments": arguments}});
    let done = json!({"type": "response.completed", "response": {"output": []}});
    let anthropic_done = anthropic(&[
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Done."}}),
        stop.clone(),
    ]);
    let gemini_done = parts(json!([{"text": "Done."}]));
    let responses_done =
        anthropic(&[json!({"type": "response.output_text.delta", "delta": "Done."}), done.clone()]);
    let then = |first: String, last: &str| vec![Reply::stream(first), Reply::stream(last)];
    vec![
        of(
            ANTHROPIC,
            sends(
                "anthropic_same_id",
                then(anthropic(&[used(0, "t"), used(1, "t"), stop.clone()]), &anthropic_done),
                End::Calls(vec!["ok", "ok"]),
            ),
        ),
        of(
            ANTHROPIC,
            case(
                "anthropic_overloaded_inside",
                anthropic(&[
                    json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
                ]),
                End::Error("overloaded"),
            ),
        ),
        of(
            ANTHROPIC,
            case(
                "anthropic_half_a_call",
                anthropic(&[
                    used(0, "t"),
                    json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"a"}}),
                ]),
                End::Error("in the middle"),
            ),
        ),
        of(ANTHROPIC, case("anthropic_speaks_openai", text("Hi"), End::Error("no message"))),
        of(
            GEMINI,
            sends(
                "gemini_calls_without_ids",
                then(
                    parts(
                        json!([{"functionCall": {"name": "get_datetime"}}, {"functionCall": {"name": "get_datetime", "args": null}}]),
                    ),
                    &gemini_done,
                ),
                End::Calls(vec!["ok", "ok"]),
            ),
        ),
        of(
            GEMINI,
            sends(
                "gemini_arguments_as_text",
                then(
                    parts(json!([{"functionCall": {"name": "read_file", "args": "all"}}])),
                    &gemini_done,
                ),
                End::Note("could not be read", 0),
            ),
        ),
        of(
            GEMINI,
            case(
                "gemini_blocks",
                event(&json!({"promptFeedback": {"blockReason": "OTHER"}})),
                End::Note("refused to go on", 0),
            ),
        ),
        of(
            RESPONSES,
            sends(
                "responses_same_id",
                then(anthropic(&[item(0, "{}"), item(1, "{}"), done]), &responses_done),
                End::Calls(vec!["ok", "ok"]),
            ),
        ),
        of(
            RESPONSES,
            case(
                "responses_fails",
                anthropic(&[
                    json!({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "gpu on fire"}, "output": []}}),
                ]),
                End::Error("gpu on fire"),
            ),
        ),
    ]
}
