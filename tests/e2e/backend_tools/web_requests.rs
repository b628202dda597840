//! Requests of the backend: broken off when they are cancelled, and without a trace of the credentials that they carry.

use std::time::Duration;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{HeldModel, World, audit_of, eventually, open_record};
use orion_wire::v1;
use serde_json::json;
use sqlx::Row as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::grant;

/// Far less than the request may take, and far more than its end takes.
const AT_ONCE: Duration = Duration::from_secs(10);

/// What no page, log or table may have.
const SECRET: &str = "hunter2-Zx81";

/// Grants requests to a listener on this machine. Returns the listener and its address.
async fn site(world: &World) -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let tools = ["http_request", "fetch_webpage", "calculate"];
    grant(world, json!({"tools": tools, "capabilities": ["network_access"], "hosts": [host]}))
        .await;
    (listener, host)
}

/// Starts a call that the listener never answers. Returns its id, and the connection.
async fn hanging(world: &World, listener: &TcpListener, url: &str) -> (String, TcpStream) {
    let request = v1::CallToolRequest {
        tool: "http_request".to_owned(),
        arguments: json!({"url": url, "method": "POST", "data": "x"})
            .to_string()
            .into_bytes()
            .into(),
        background: true,
        ..Default::default()
    };
    let call = world.admin().ask(request).await.unwrap();
    let (mut connection, _) = timeout(AT_ONCE, listener.accept()).await.unwrap().unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"x") {
        let mut buffer = [0; 1024];
        let count = connection.read(&mut buffer).await.unwrap();
        assert_ne!(count, 0, "the request ended: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&buffer[..count]);
    }
    (call.id, connection)
}

/// Waits until the other side has closed the connection.
async fn closed(mut connection: TcpStream) {
    let read = timeout(AT_ONCE, connection.read(&mut [0; 16])).await;
    let Ok(read) = read else { panic!("it is closed at once") };
    assert!(matches!(read, Ok(0) | Err(_)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_request_ends_at_once_and_says_that_it_may_have_arrived() {
    let world = World::new().await;
    let (listener, host) = site(&world).await;
    let (id, connection) = hanging(&world, &listener, &format!("http://{host}/")).await;
    let cancel = v1::CancelCallRequest { call_id: id.clone() };
    world.admin().tools().cancel_call(cancel).await.unwrap();
    let ended = timeout(AT_ONCE, world.admin().ended(&id)).await.unwrap().unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");
    let message = &ended.error().message;
    assert!(message.contains("Whether the request was received is not known."), "{message}");
    closed(connection).await;

    // A stop ends it as well.
    let (id, connection) = hanging(&world, &listener, &format!("http://{host}/")).await;
    let stop = v1::StopCallsRequest { all_devices: true, ..Default::default() };
    world.admin().tools().stop_calls(stop).await.unwrap();
    let ended = timeout(AT_ONCE, world.admin().ended(&id)).await.unwrap().unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");
    closed(connection).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_that_stops_breaks_its_requests_off_and_knows_that_their_outcome_is_unknown() {
    let world = World::new().await;
    let (listener, host) = site(&world).await;
    let (id, connection) = hanging(&world, &listener, &format!("http://{host}/")).await;
    timeout(AT_ONCE, world.server().stop()).await.expect("it waits for no request");
    closed(connection).await;
    world.restart_server().await;
    let ended = world.admin().recorded(&id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)), "{ended:?}");
}

/// Answers one request with what it was sent.
async fn echo(listener: &TcpListener) -> String {
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut seen = Vec::new();
    while !seen.windows(4).any(|four| four == b"\r\n\r\n") {
        let mut buffer = [0; 4096];
        let count = connection.read(&mut buffer).await.unwrap();
        seen.extend_from_slice(&buffer[..count]);
    }
    let text = String::from_utf8(seen).unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Echo: {SECRET}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    connection.write_all(format!("{head}{text}").as_bytes()).await.unwrap();
    connection.shutdown().await.unwrap();
    text
}

/// What the database has of calls, as one text.
async fn database(world: &World) -> String {
    let mut record = open_record(&world.database()).await;
    let mut all = String::new();
    for statement in [
        "SELECT arguments || coalesce(secrets, '') || touches_json FROM calls",
        "SELECT coalesce(result, '') FROM calls",
        "SELECT arguments || card_json || touches_json FROM approvals",
        "SELECT content_json FROM messages",
        "SELECT body FROM audit",
    ] {
        for row in sqlx::query(statement).fetch_all(&mut record).await.unwrap() {
            let bytes: Option<Vec<u8>> = row.get_unchecked(0);
            all.push_str(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_other_side_gets_the_credentials_and_nobody_else_sees_them() {
    let world = World::new().await;
    let (listener, host) = site(&world).await;
    let admin = world.admin();
    let url = format!("http://{host}/v1?q=rain&api_key={SECRET}");
    let headers = json!({
        "Authorization": format!("Bearer {SECRET}"),
        "api-key": SECRET,
        "x-goog-api-key": SECRET,
        "Cookie": format!("session={SECRET}"),
        "X-Auth-Token": SECRET,
        "Accept": "text/plain",
    });
    let arguments = json!({"url": url, "headers": headers});
    let (call, sent) =
        tokio::join!(admin.call("backend", "http_request", arguments.clone()), echo(&listener));
    assert_eq!(sent.matches(SECRET).count(), 6, "{sent}");
    let data = call.data();
    assert!(data["body"].as_str().unwrap().contains("q=rain"), "{data}");
    assert_eq!(call.arguments["headers"]["Accept"], "text/plain");
    assert!(
        call.arguments["url"].as_str().unwrap().contains("?q=rain&api_key=sha256:"),
        "{call:?}"
    );
    let mut seen = vec![format!("{call:?}")];
    seen.extend(audit_of(admin, &call.id).await.into_iter().map(|row| row.body));

    // The same of a page.
    let page = json!({ "url": url });
    let (page, _) = tokio::join!(admin.call("backend", "fetch_webpage", page), echo(&listener));
    assert!(page.data()["final_url"].as_str().unwrap().contains("api_key=sha256:"), "{page:?}");
    seen.push(format!("{page:?}"));
    seen.extend(audit_of(admin, &page.id).await.into_iter().map(|row| row.body));

    // What is refused, in any way, is stored and shown without them as well.
    for (tool, arguments) in [
        (
            "http_request",
            json!({"url": format!("http://{host}/#{SECRET}"), "headers": {"Host": SECRET}}),
        ),
        ("http_request", json!({"url": format!("ftp://{host}/?token={SECRET}")})),
        ("http_request", json!({"url": format!("http://ann:{SECRET}@{host}/")})),
        ("http_request", json!({"url": [SECRET], "headers": SECRET})),
        ("http_request", json!({"url": format!("http://192.168.9.9/?token={SECRET}")})),
        ("fetch_webpage", json!({"url": format!("http://192.168.9.9/?key={SECRET}")})),
    ] {
        let refused = admin.call("backend", tool, arguments.clone()).await;
        assert!(refused.envelope.as_ref().unwrap().error.is_some(), "{arguments} {refused:?}");
        seen.push(format!("{refused:?}"));
        seen.extend(audit_of(admin, &refused.id).await.into_iter().map(|row| row.body));
    }
    let why = v1::CallToolRequest {
        tool: "http_request".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        explain: true,
        ..Default::default()
    };
    let why = admin.tools().call_tool(why).await.unwrap().into_inner();
    seen.push(String::from_utf8(why.call.unwrap().result.to_vec()).unwrap());
    for text in seen {
        assert!(!text.contains(SECRET), "{text}");
    }
    assert!(!world.server().log().contains(SECRET));
    let stored = database(&world).await;
    assert!(stored.contains("call.opened") || stored.contains("sha256:"), "calls are stored");
    assert!(!stored.contains(SECRET), "it is in the database");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_and_a_chat_name_what_is_hidden_and_do_not_show_it() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let (listener, host) = site(&world).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("note.txt", "Read me.");
    let arguments =
        json!({"url": format!("http://{host}/?token={SECRET}"), "headers": {"api-key": SECRET}});
    let answering = async {
        model
            .asked()
            .await
            .call(&[("read_file", json!({"device": "kiosk", "path": "note.txt"}))])
            .await;
        model.asked().await.call(&[("http_request", arguments)]).await;
        let request = model.asked().await;
        let body = request.body.to_string();
        request.answer("Done.").await;
        body
    };
    let mut cards = Vec::new();
    let asked = world.admin().asked("", "read the note and send it", async |card| {
        world.admin().decide(&card.approval_id, true, "").await.unwrap();
        cards.push(format!("{card:?}"));
    });
    let (answer, body, sent) = tokio::join!(asked, answering, echo(&listener));
    assert_eq!(sent.matches(SECRET).count(), 2, "{sent}");
    let [card] = &cards[..] else { panic!("one card: {answer:?}") };
    assert!(card.contains("the header api-key (12 bytes), a part of the address"), "{card}");
    for text in [card, &body, &format!("{answer:?}")] {
        assert!(!text.contains(SECRET), "{text}");
    }
    let chats = world.admin().chats().list_chats(v1::ListChatsRequest::default()).await.unwrap();
    for chat in chats.into_inner().chats {
        let request = v1::GetChatRequest { conversation_id: chat.conversation_id };
        let chat = world.admin().chats().get_chat(request).await.unwrap().into_inner();
        assert!(!format!("{chat:?}").contains(SECRET), "{chat:?}");
    }
    eventually("the call is closed", async || {
        let open = v1::ListCallsRequest { open: true, ..Default::default() };
        let open = world.admin().tools().list_calls(open).await.unwrap().into_inner().calls;
        open.is_empty().then_some(())
    })
    .await;
}
