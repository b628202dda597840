//! The bridge between a program and a backend that answers as a test says.

use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::Full;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, DuplexStream, Lines, duplex};
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::codegen::http::{HeaderMap, Request, Response};

use super::*;

/// How the backend answers a method.
#[derive(Clone, Copy)]
enum Reply {
    /// With this status, type and body.
    Says(u16, &'static str, &'static str),
    /// Not at all.
    Silent,
    /// It cannot be reached.
    Gone,
}

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A backend that answers each method in its way, and counts the requests that were dropped.
#[derive(Clone)]
struct Scripted {
    replies: &'static [(&'static str, Reply)],
    dropped: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    fn new(replies: &'static [(&'static str, Reply)]) -> Self {
        Self { replies, dropped: Arc::default(), seen: Arc::default() }
    }

    /// Notes the headers of a request, and returns its method.
    fn note(&self, headers: &HeaderMap) -> String {
        let text = |name: &str| {
            let value = headers.get(name).and_then(|it| it.to_str().ok());
            value.unwrap_or("-").to_owned()
        };
        let method = text("mcp-method");
        let head = format!("{method} {} {}", text("mcp-name"), text("mcp-protocol-version"));
        self.seen.lock().unwrap().push(head);
        method
    }
}

/// Counts what is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Backend for Scripted {
    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, String> {
        let method = self.note(request.headers());
        let reply = self.replies.iter().find(|(name, _)| *name == method).unwrap().1;
        match reply {
            Reply::Says(status, kind, body) => Ok(Response::builder()
                .status(status)
                .header("content-type", kind)
                .body(Body::new(Full::new(body.into())))
                .unwrap()),
            Reply::Silent => {
                let _counted = Counted(Arc::clone(&self.dropped));
                std::future::pending().await
            }
            Reply::Gone => Err("The backend cannot be reached: refused.".to_owned()),
        }
    }
}

/// A program with its bridge.
struct Program {
    input: DuplexStream,
    output: Lines<BufReader<DuplexStream>>,
    bridge: JoinHandle<Result<(), Failure>>,
}

impl Program {
    fn start(backend: Scripted) -> Self {
        let (input, read) = duplex(1 << 16);
        let (written, output) = duplex(1 << 16);
        let bridge = tokio::spawn(serve(backend, BufReader::new(read), written));
        Self { input, output: BufReader::new(output).lines(), bridge }
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, id: u64, method: &str) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method}).to_string()).await;
    }

    async fn receive(&mut self) -> Value {
        serde_json::from_str(&self.output.next_line().await.unwrap().unwrap()).unwrap()
    }

    /// Returns the id, the code and the text of the next error.
    async fn error(&mut self) -> (Value, i64, String) {
        let mut message = self.receive().await;
        let code = message["error"]["code"].as_i64();
        let text = message["error"]["message"].as_str().map(str::to_owned);
        let (Some(code), Some(text)) = (code, text) else { panic!("{message}") };
        (message["id"].take(), code, text)
    }

    /// Leaves, and returns what is still written.
    async fn leave(self) -> String {
        let Self { input, output, bridge } = self;
        drop(input);
        let mut rest = String::new();
        output.into_inner().read_to_string(&mut rest).await.unwrap();
        bridge.await.unwrap().unwrap();
        rest
    }
}

const GOOD: (&str, Reply) =
    ("ping", Reply::Says(200, JSON, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#));

#[tokio::test(start_paused = true)]
async fn a_line_that_is_no_message_is_an_error_and_the_next_one_is_answered() {
    let mut program = Program::start(Scripted::new(&[GOOD]));
    let long = format!("{{\"id\":1,\"method\":\"{}\"}}", "x".repeat(2 << 20));
    for (line, code, part) in [
        ("{", -32700, "not a JSON message"),
        ("[{\"id\":7,\"method\":\"ping\"}]", -32600, "no batches"),
        ("{\"id\":null,\"method\":\"ping\"}", -32600, "`id`"),
        (&long, -32600, "1 MiB"),
    ] {
        program.say(line).await;
        let (id, found, why) = program.error().await;
        assert!(id.is_null() && found == code && why.contains(part), "{id} {found} {why}");
    }
    program.say("").await;
    program.ask(7, "ping").await;
    assert_eq!(program.receive().await, json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    assert_eq!(program.leave().await, "");
}

#[tokio::test(start_paused = true)]
async fn each_request_is_answered_once_whatever_the_backend_sends() {
    let mut program = Program::start(Scripted::new(&[
        ("cut", Reply::Says(200, EVENTS, "data: {\"method\":\"notifications/progress\"}\n\n")),
        ("cut-line", Reply::Says(200, EVENTS, "data: {\"id\":7,\"result\":{}}")),
        ("other", Reply::Says(200, JSON, r#"{"jsonrpc":"2.0","id":8,"result":{}}"#)),
        ("other-event", Reply::Says(200, EVENTS, "data: {\"id\":8,\"result\":{}}\n\n")),
        ("no-json", Reply::Says(200, EVENTS, "data: Milk\n\n")),
        ("html", Reply::Says(502, "text/html", "<html>")),
        ("refused", Reply::Says(403, JSON, r#"{"error":{"message":"Not you."}}"#)),
        ("signed-out", Reply::Says(401, JSON, r#"{"error":{"message":"?"}}"#)),
        (
            "unread",
            Reply::Says(
                400,
                JSON,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"A header is wrong."}}"#,
            ),
        ),
        ("gone", Reply::Gone),
    ]));
    for (method, code, part) in [
        ("cut", -32000, "too early"),
        ("cut-line", -32000, "too early"),
        ("other", -32000, "another request"),
        ("other-event", -32000, "too early"),
        ("no-json", -32000, "no message"),
        ("html", -32000, "502"),
        ("refused", -32000, "Not you."),
        ("signed-out", -32000, "orion login"),
        ("unread", -32020, "A header is wrong."),
        ("gone", -32000, "cannot be reached"),
    ] {
        program.ask(7, method).await;
        if method == "cut" {
            assert_eq!(program.receive().await["method"], "notifications/progress");
        }
        let (id, found, why) = program.error().await;
        assert!(id == 7 && found == code && why.contains(part), "{method}: {id} {found} {why}");
    }
    // What asks for nothing is answered nothing.
    program.say(r#"{"jsonrpc":"2.0","method":"gone"}"#).await;
    assert_eq!(program.leave().await, "");
}

#[tokio::test(start_paused = true)]
async fn only_so_many_are_under_way_and_one_that_is_cancelled_makes_room() {
    let backend = Scripted::new(&[GOOD, ("waits", Reply::Silent)]);
    let dropped = Arc::clone(&backend.dropped);
    let mut program = Program::start(backend);
    for id in 100..100 + MAX_MESSAGES as u64 {
        program.ask(id, "waits").await;
    }
    for _ in 0..1000 {
        program.ask(7, "ping").await;
        let (id, code, why) = program.error().await;
        assert!(id == 7 && code == FAILED && why.contains("64 messages"), "{id} {code} {why}");
    }
    let cancel = |id: u64| {
        let params = json!({"requestId": id});
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).to_string()
    };
    program.say(&cancel(99)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    program.say(&cancel(100)).await;
    while dropped.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    program.ask(101, "ping").await;
    let (id, code, why) = program.error().await;
    assert!(id.is_null() && code == INVALID && why.contains("101"), "{id} {code} {why}");
    program.ask(7, "ping").await;
    assert_eq!(program.receive().await["id"], 7);
    // What the program leaves behind is cancelled after a while, without an answer.
    let began = tokio::time::Instant::now();
    assert_eq!(program.leave().await, "");
    assert_eq!(began.elapsed(), LAST_ANSWERS_TIMEOUT);
    assert_eq!(dropped.load(Ordering::SeqCst), MAX_MESSAGES);
}

#[tokio::test(start_paused = true)]
async fn what_ended_leaves_nothing_behind_and_an_id_can_be_used_again() {
    let mut program = Program::start(Scripted::new(&[GOOD]));
    for _ in 0..500 {
        program.ask(7, "ping").await;
        assert_eq!(program.receive().await["id"], 7);
    }
    assert_eq!(program.leave().await, "");
}

#[tokio::test(start_paused = true)]
async fn the_bridge_ends_when_nobody_reads_it_whether_the_output_is_closed_or_full() {
    let Program { mut input, output, bridge } = Program::start(Scripted::new(&[GOOD]));
    drop(output);
    input.write_all(b"{\n").await.unwrap();
    bridge.await.unwrap().unwrap();
    drop(input);

    let (mut input, read) = duplex(64);
    let (written, _output) = duplex(16);
    let backend = Scripted::new(&[GOOD]);
    let bridge = tokio::spawn(serve(backend, BufReader::new(read), written));
    input.write_all(b"{\n{\n{\n").await.unwrap();
    drop(input);
    bridge.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_headers_say_what_the_body_says_in_any_letters() {
    const INITIALIZED: &str =
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#;
    let backend = Scripted::new(&[
        ("initialize", Reply::Says(200, JSON, INITIALIZED)),
        ("tools/call", Reply::Gone),
        ("resources/read", Reply::Gone),
        ("tools/list", Reply::Gone),
    ]);
    let seen = Arc::clone(&backend.seen);
    let mut program = Program::start(backend);
    for (id, method, params) in [
        (1, "initialize", json!({"name": "x"})),
        (2, "tools/call", json!({"name": "read_file"})),
        (3, "tools/call", json!({"name": "lees é\n"})),
        (4, "resources/read", json!({"uri": " orion://devices"})),
        (
            5,
            "tools/list",
            json!({"name": "x", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}),
        ),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        program.say(&message.to_string()).await;
        assert_eq!(program.receive().await["id"], id);
    }
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "initialize - -",
            "tools/call read_file 2025-11-25",
            "tools/call =?base64?bGVlcyDDqQo=?= 2025-11-25",
            "resources/read =?base64?IG9yaW9uOi8vZGV2aWNlcw==?= 2025-11-25",
            "tools/list - 2026-07-28",
        ]
    );
    assert_eq!(program.leave().await, "");
}
