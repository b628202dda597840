//! Another system is told of questions, and can tell that it was this backend.

use std::io::Write as _;

use orion_domain::{CallState, Role};
use orion_tests::World;
use orion_wire::v1;
use ring::hmac;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const SECRET: &str = "a secret that signs";

/// Takes requests, answers the first with an error, and hands on signature and body of each.
async fn listen(listener: TcpListener, heard: mpsc::Sender<(String, String)>) {
    let mut answers =
        std::iter::once("500 Internal Server Error").chain(std::iter::repeat("204 No Content"));
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut request = Vec::new();
        let whole = loop {
            let mut buffer = [0; 4096];
            let read = stream.read(&mut buffer).await.unwrap();
            request.extend_from_slice(&buffer[..read]);
            let text = String::from_utf8_lossy(&request).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let header = |name: &str| {
                let line = head.lines().find(|l| l.to_ascii_lowercase().starts_with(name))?;
                Some(line.split_once(": ")?.1.to_owned())
            };
            let length: usize = header("content-length").unwrap().parse().unwrap();
            if body.len() >= length {
                break (header("orion-signature").unwrap(), body.to_owned());
            }
        };
        let answer = answers.next().unwrap();
        let text = format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).await.unwrap();
        heard.send(whole).await.unwrap();
    }
}

fn assert_signed(signature: &str, body: &str) {
    let (seconds, hex) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let tag: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::verify(&key, format!("{seconds}.{body}").as_bytes(), &tag).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_system_is_told_of_a_question_and_of_its_end_signed_and_again_after_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).mode(0o600).open(&secret).unwrap();
        writeln!(file, "{SECRET}").unwrap();
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, mut heard) = mpsc::channel(16);
    let listening = tokio::spawn(listen(listener, sender));
    let world = World::configured(&format!(
        "[approvals]\nwebhook_url = \"http://{address}/hook?key=hidden\"\nwebhook_secret_file = \"{}\"\npage_url = \"https://orion.example\"\n",
        secret.display()
    ))
    .await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "12345");
    let arguments = json!({"path": "old", "recursive": true, "confirm": true});
    let asked = world.admin().call(&kiosk.name, "delete_directory", arguments).await;

    // The first try is answered with an error, and it comes again.
    let mut last = Value::Null;
    for _ in 0..2 {
        let (signature, body) = heard.recv().await.unwrap();
        assert_signed(&signature, &body);
        last = serde_json::from_str(&body).unwrap();
        assert_eq!(last["event"], "approval.opened");
    }
    assert_eq!(last["approval_id"], asked.approval_id());
    assert_eq!(last["touches"], json!([format!("delete {}", kiosk.path("old"))]));
    assert_eq!(
        (&last["tool"], &last["device"], &last["risk"], &last["requester"]),
        (&json!("delete_directory"), &json!("kiosk"), &json!("high"), &json!("admin"))
    );
    assert_eq!(last["link"], format!("https://orion.example/approvals/{}", asked.approval_id()));

    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let (signature, body) = heard.recv().await.unwrap();
    assert_signed(&signature, &body);
    let ended: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&ended["event"], &ended["state"]), (&json!("approval.ended"), &json!("approved")));
    assert_eq!(world.admin().ended(&asked.id).await.unwrap().state, CallState::Succeeded);

    // A request for access is reported the same way, and so is its answer.
    let bob = world.person("bob", Role::Operator).await;
    kiosk.grant(&json!({"profile": "operator", "paths": [kiosk.path("mine")]})).await;
    kiosk.write_file("theirs/b.txt", "text");
    let path = kiosk.path("theirs/b.txt");
    let denied = bob.call(&kiosk.name, "read_file", json!({ "path": path })).await;
    let request = v1::RequestAccessRequest { call_id: denied.id.clone(), ..Default::default() };
    let asked = bob.access_requests().request_access(request).await.unwrap().into_inner();
    let asked = asked.request.unwrap();
    let (signature, body) = heard.recv().await.unwrap();
    assert_signed(&signature, &body);
    let opened: Value = serde_json::from_str(&body).unwrap();
    let line = format!("read {path}, with all that it contains");
    let expected = json!({
        "event": "access_request.opened", "state": "open", "request_id": asked.request_id,
        "call_id": denied.id, "tool": "read_file", "device": "kiosk", "requester": "bob",
        "grants": ["the tool read_file", line], "decided_by": null, "granted_until": null,
        "expires_at": asked.expires_at,
    });
    assert_eq!(opened, expected);
    let request_id = asked.request_id;
    let refusal = v1::DecideAccessRequestRequest { request_id, ..Default::default() };
    world.admin().access_requests().decide_access_request(refusal).await.unwrap();
    let (signature, body) = heard.recv().await.unwrap();
    assert_signed(&signature, &body);
    let refused: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&refused["event"], &refused["decided_by"]),
        (&json!("access_request.refused"), &json!("admin"))
    );
    let log = world.server().log();
    assert!(!log.contains(SECRET) && !log.contains("hidden"), "a secret is in the log:\n{log}");
    listening.abort();
}
