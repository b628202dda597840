//! What the port of people serves beside gRPC: over both versions of HTTP, with the limits of every connection.

use std::time::Duration;

use orion_domain::CallState;
use orion_tests::World;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tonic::body::Body;
use tonic::codegen::http::{Request, StatusCode};
use tonic::transport::Endpoint;
use tower::{Service as _, ServiceExt as _};

/// How long any answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A response over HTTP/1.1.
#[derive(Debug)]
struct Answer {
    head: String,
    body: String,
}

impl Answer {
    fn status(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    fn error(&self) -> Value {
        serde_json::from_str::<Value>(&self.body).unwrap()["error"].clone()
    }
}

async fn connect(world: &World) -> TcpStream {
    TcpStream::connect(world.people_address()).await.unwrap()
}

/// Reads one response. `None` where the connection ended before it.
async fn read(stream: &mut TcpStream, has_body: bool) -> Option<Answer> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().ok()?);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |it| it.parse().unwrap()) * usize::from(has_body)];
    timeout(PATIENCE, stream.read_exact(&mut body)).await.unwrap().ok()?;
    Some(Answer { head, body: String::from_utf8(body).unwrap() })
}

async fn ask(stream: &mut TcpStream, method: &str, path: &str, headers: &str) -> Option<Answer> {
    ask_as(stream, "localhost", method, path, headers).await
}

/// Asks under this name of the backend.
async fn ask_as(
    stream: &mut TcpStream,
    host: &str,
    method: &str,
    path: &str,
    headers: &str,
) -> Option<Answer> {
    let request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    read(stream, method != "HEAD").await
}

/// Returns how long the backend keeps a connection on which these bytes arrive, one piece a second.
async fn kept(world: &World, pieces: &[&str]) -> Duration {
    let (mut stream, began) = (connect(world).await, Instant::now());
    let mut rest = Vec::new();
    for piece in pieces {
        stream.write_all(piece.as_bytes()).await.ok();
        if timeout(Duration::from_secs(1), stream.read_to_end(&mut rest)).await.is_ok() {
            return began.elapsed();
        }
    }
    timeout(4 * PATIENCE, stream.read_to_end(&mut rest)).await.unwrap().ok();
    began.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_is_answered_over_both_versions_of_http() {
    let world = World::new().await;
    let mut stream = connect(&world).await;
    // One connection, several requests, the last one in two pieces.
    for method in ["GET", "HEAD", "GET"] {
        let answer = ask(&mut stream, method, "/healthz", "").await.unwrap();
        assert_eq!(answer.status(), "200", "{answer:?}");
        assert_eq!(answer.body, if method == "GET" { "ok\n" } else { "" });
        assert!(answer.head.contains("x-content-type-options: nosniff"), "{answer:?}");
        assert!(answer.head.contains("cache-control: no-store"), "{answer:?}");
    }
    stream.write_all(b"GET /heal").await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    stream.write_all(b"thz HTTP/1.1\r\nhost: orion\r\n\r\n").await.unwrap();
    assert_eq!(read(&mut stream, true).await.unwrap().status(), "200");

    let address = format!("http://{}", world.people_address());
    let mut channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
    let request = Request::get("/healthz").body(Body::empty()).unwrap();
    let answer = channel.ready().await.unwrap().call(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.headers().get("grpc-status").is_none());

    // Without the content type of gRPC there is no RPC over HTTP/2 either.
    let request = Request::post("/orion.v1.AuthService/WhoAmI");
    let request = request.header("authorization", format!("Bearer {}", world.admin().token()));
    let request = request.body(Body::empty()).unwrap();
    let answer = channel.ready().await.unwrap().call(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_served_is_a_json_error_and_no_rpc_is_reached_without_grpc() {
    let world = World::new().await;
    let bearer = format!("authorization: Bearer {}\r\n", world.admin().token());
    let who = "/orion.v1.AuthService/WhoAmI";
    let no_grpc = format!("{bearer}content-type: application/grpc\r\ncontent-length: 0\r\n");
    let requests = [
        ("GET", "/healthz/", ""),
        ("GET", "/../healthz", ""),
        ("GET", "/healthz?x=1&y=%00", ""),
        ("POST", "/healthz", "content-length: 0\r\n"),
        ("POST", who, &no_grpc),
        ("GET", who, &bearer),
    ];
    for (method, path, headers) in requests {
        let answer = ask(&mut connect(&world).await, method, path, headers).await.unwrap();
        let expected = if path.starts_with("/healthz?") { "200" } else { "404" };
        assert_eq!(answer.status(), expected, "{method} {path}: {answer:?}");
        if expected == "404" {
            let error = answer.error();
            assert_eq!(error["code"], "NOT_FOUND", "{error}");
            assert_eq!(error["message"], "Nothing is served at this address.");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_name_that_anybody_could_point_here_nothing_is_served() {
    let world = World::new().await;
    let bearer = format!("authorization: Bearer {}\r\n", world.admin().token());
    let page = |host: &str, kind: &str| {
        format!(
            "{bearer}x-orion-page: 1\r\norigin: http://{host}\r\ncontent-type: {kind}\r\ncontent-length: 0\r\n"
        )
    };
    for (method, path, kind) in [
        ("GET", "/", "text/plain"),
        ("GET", "/v1/models", "application/json"),
        ("POST", "/v1/chat/completions", "application/json"),
        ("POST", "/page/sign-in", "application/json"),
        ("POST", "/orion.v1.AuthService/WhoAmI", "application/grpc-web+proto"),
        ("POST", "/mcp", "application/json"),
        ("GET", "/.well-known/oauth-protected-resource", "application/json"),
    ] {
        for host in ["orion.evil.example", "127.0.0.1.evil.example", "a@127.0.0.1"] {
            let headers = page(host, kind);
            let mut stream = connect(&world).await;
            let answer = ask_as(&mut stream, host, method, path, &headers).await.unwrap();
            assert_eq!(answer.status(), "403", "{host} {path}: {answer:?}");
            let message = answer.error()["message"].to_string();
            assert!(message.contains("`names` of [people]"), "{host} {path}: {message}");
        }
        for host in ["LOCALHOST", "localhost:1", "[::1]"] {
            let headers = page(host, kind);
            let mut stream = connect(&world).await;
            let answer = ask_as(&mut stream, host, method, path, &headers).await.unwrap();
            assert_ne!(answer.status(), "403", "{host} {path}");
        }
    }
    let alive = ask_as(&mut connect(&world).await, "balancer.example", "GET", "/healthz", "").await;
    assert_eq!(alive.unwrap().status(), "200");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_large_or_none_is_refused() {
    let world = World::new().await;
    let large = format!("x-large: {}\r\n", "a".repeat(64 * 1024));
    let many: String = (0..200).map(|n| format!("x-{n}: 1\r\n")).collect();
    for headers in [large, many] {
        let answer = ask(&mut connect(&world).await, "GET", "/healthz", &headers).await;
        // The connection may be reset while the rest of the large request is on its way.
        let is_refused = answer.as_ref().map_or(headers.len() > 16_384, |it| it.status() == "431");
        assert!(is_refused, "{answer:?}");
    }
    for garbage in ["\0\0\0\0\r\n\r\n", "GET\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r!"] {
        let world = World::new().await;
        let mut stream = connect(&world).await;
        stream.write_all(garbage.as_bytes()).await.unwrap();
        let answer = read(&mut stream, true).await;
        assert_eq!(answer.unwrap().status(), "400", "{garbage:?}");
        // Its address is slowed, at the latest a moment after the answer, when the connection is closed.
        let asked = async || {
            let began = Instant::now();
            let mut stream = connect(&world).await;
            assert_eq!(ask(&mut stream, "GET", "/healthz", "").await.unwrap().status(), "200");
            began.elapsed()
        };
        let is_slow = |elapsed: Duration| elapsed >= Duration::from_millis(250);
        let mut tries = 0;
        while !is_slow(asked().await) {
            tries += 1;
            assert!(tries < 100, "{garbage:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let next = asked().await;
        assert!(is_slow(next), "{garbage:?}: {next:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_disconnects_in_the_middle_is_not_slowed() {
    let world = World::new().await;
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let mut stream = connect(&world).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost:").await.unwrap();
        drop(stream);
        tokio::time::sleep(Duration::from_millis(50)).await;
        let began = Instant::now();
        let mut stream = connect(&world).await;
        assert_eq!(ask(&mut stream, "GET", "/healthz", "").await.unwrap().status(), "200");
        fastest = fastest.min(began.elapsed());
    }
    assert!(fastest < Duration::from_millis(250), "{fastest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_no_whole_request_is_not_waited_for() {
    let world = World::new().await;
    let dripping = ["GET /healthz HTTP/1.1\r\n"].into_iter().chain(["x-a: 1\r\n"; 60]);
    let dripping: Vec<_> = dripping.collect();
    let (half, dripped, silent) = tokio::join!(
        kept(&world, &["GET /heal"]),
        kept(&world, &dripping),
        kept(&world, &["GET /healthz HTTP/1.1\r\nhost: orion\r\n\r\n"]),
    );
    for (what, kept) in [("half a line", half), ("a header a second", dripped)] {
        assert!(kept < Duration::from_secs(15), "{what} was kept for {kept:?}");
    }
    // A connection that has asked once may rest, and then is closed as well.
    assert!(
        (Duration::from_secs(20)..Duration::from_secs(60)).contains(&silent),
        "a connection without a further request was kept for {silent:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_for_what_is_not_served_without_end_loses_its_connection_alone() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let (mut stream, mut answered) = (connect(&world).await, 0);
    while ask(&mut stream, "GET", "/wp-login.php", "").await.is_some() {
        answered += 1;
        assert!(answered < 5_000, "nothing bounds refused requests");
    }
    assert!(answered >= 900, "only {answered} requests were answered");
    let call = world.admin().call(&kiosk.name, "get_datetime", json!({})).await;
    assert_eq!(call.state, CallState::Succeeded, "{call:?}");
}
