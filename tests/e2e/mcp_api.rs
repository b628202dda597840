//! `/mcp`: what a client of the Model Context Protocol gets, in both revisions, and what no client can do by it.

mod bridge;

use orion_domain::Role;
use orion_tests::{HttpAnswer, HttpClient, World};
use orion_wire::v1;
use serde_json::{Value, json};
use tonic::codegen::http::Method;

const NEW: &str = "2026-07-28";
const OLD: &str = "2025-11-25";

/// Returns a client of the admin with an API token of these scopes.
async fn program(world: &World, name: &str, scopes: &[v1::Scope]) -> HttpClient {
    let request = v1::CreateTokenRequest {
        name: name.to_owned(),
        scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
        ..Default::default()
    };
    let made = world.admin().auth().create_token(request).await.unwrap().into_inner();
    HttpClient::new(&world.people_address(), &made.secret)
}

/// Sends a request of a revision, by a client that can ask its person.
async fn ask(client: &HttpClient, version: &str, method: &str, mut params: Value) -> HttpAnswer {
    if version == NEW {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
    }
    let name = params["name"].as_str().or_else(|| params["uri"].as_str()).map(str::to_owned);
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", version),
        ("mcp-method", method),
    ];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    client.send(Method::POST, "/mcp", &headers, body.to_string()).await
}

/// Returns the result of a request.
async fn result(client: &HttpClient, version: &str, method: &str, params: Value) -> Value {
    let answer = ask(client, version, method, params).await;
    let message = if answer.body.starts_with('{') {
        answer.json()
    } else {
        answer.events().pop().unwrap_or_else(|| panic!("{answer:?}"))
    };
    assert!(message["result"].is_object(), "{message}");
    message["result"].clone()
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

fn names(tools: &Value) -> Vec<&str> {
    tools["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_person_is_listed_what_they_may_call_and_calls_it_in_both_revisions() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "Milk");
    let bob = world.person("bob", Role::Viewer).await;
    let (admins, bobs) = (
        program(&world, "program", &[v1::Scope::Call]).await,
        HttpClient::new(&world.people_address(), bob.token()),
    );
    for version in [NEW, OLD] {
        let all = result(&admins, version, "tools/list", json!({})).await;
        let few = result(&bobs, version, "tools/list", json!({})).await;
        assert!(names(&all).contains(&"write_file") && names(&few).contains(&"read_file"));
        assert!(!names(&few).contains(&"write_file"), "{few}");
        let read =
            result(&bobs, version, "tools/call", call("read_file", json!({"path": "a.txt"})));
        let read = read.await;
        assert_eq!(read["structuredContent"]["data"]["content"], "Milk", "{read}");
        assert_ne!(read["isError"], json!(true));
        let denied = call("write_file", json!({"path": "b.txt", "content": "x"}));
        let denied = result(&bobs, version, "tools/call", denied).await;
        assert_eq!(denied["isError"], json!(true), "{denied}");
        assert_eq!(denied["structuredContent"]["error"]["code"], "PERMISSION_DENIED");
        let resources = result(&bobs, version, "resources/list", json!({})).await;
        assert_eq!(resources["resources"].as_array().unwrap().len(), 1, "{resources}");
        let devices = json!({"uri": "orion://devices"});
        let devices = result(&bobs, version, "resources/read", devices).await;
        assert!(devices["contents"][0]["text"].as_str().unwrap().contains("kiosk"));
        let audit = ask(&bobs, version, "resources/read", json!({"uri": "orion://audit"})).await;
        assert!(audit.json()["error"]["code"].is_number(), "{audit:?}");
    }
    let discovered = result(&admins, NEW, "server/discover", json!({})).await;
    let versions = discovered["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(NEW)) && versions.contains(&json!(OLD)), "{discovered}");
    // The calls stand in the audit log like any other.
    let audit = world.cli().run(&["audit", "list", "--user", "bob", "-o", "json"]).await;
    assert!(audit.stdout.contains("read_file") && audit.stdout.contains("write_file"), "{audit:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_needs_an_approval_is_continued_by_its_state_and_by_nobody_else() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "x");
    let client = program(&world, "program", &[v1::Scope::Call]).await;
    let delete = |path: &str| call("delete_file", json!({"path": path, "confirm": true}));
    let asked = result(&client, NEW, "tools/call", delete("a.txt")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let message = asked["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    let (_, rest) = message.split_once("orion approvals show ").unwrap();
    let approval = rest.split('`').next().unwrap();
    let go_on = |path: &str, state: &str, action: &str| {
        let mut params = delete(path);
        params["requestState"] = json!(state);
        params["inputResponses"] = json!({"approval": {"action": action, "content": {}}});
        params
    };
    let state = asked["requestState"].as_str().unwrap();

    // Neither another person, nor other arguments, nor a changed state continue it.
    let bob = world.person("bob", Role::Admin).await;
    let bobs = HttpClient::new(&world.people_address(), bob.token());
    let changed = state.replace(state.chars().nth(20).unwrap(), "A");
    for (who, path, state) in [
        (&bobs, "a.txt", state),
        (&client, "b.txt", state),
        (&client, "a.txt", "x"),
        (&client, "a.txt", &changed),
    ] {
        let refused = ask(who, NEW, "tools/call", go_on(path, state, "accept")).await;
        assert_eq!(refused.json()["error"]["code"], -32602, "{refused:?}");
    }
    // After a restart, as on any replica with the same key, it is the same call.
    world.server().stop().await;
    world.restart_server().await;
    kiosk.ready().await;
    let approved = world.cli().run(&["approvals", "approve", approval, "--yes"]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    let done = result(&client, NEW, "tools/call", go_on("a.txt", state, "accept")).await;
    assert_eq!(done["structuredContent"]["success"], json!(true), "{done}");
    assert!(!kiosk.tree().contains_key("a.txt"));

    kiosk.write_file("b.txt", "x");
    let asked = result(&client, NEW, "tools/call", delete("b.txt")).await;
    let state = asked["requestState"].as_str().unwrap();
    let declined = result(&client, NEW, "tools/call", go_on("b.txt", state, "decline")).await;
    assert_eq!(declined["structuredContent"]["error"]["code"], "CANCELLED", "{declined}");
    assert!(kiosk.tree().contains_key("b.txt"));

    let waits = result(&client, OLD, "tools/call", delete("b.txt")).await;
    let text = waits["content"][0]["text"].as_str().unwrap();
    assert!(waits["isError"] == json!(true) && text.contains("orion approvals show"), "{waits}");
    let uri = &waits["content"][1]["uri"];
    let read = result(&client, OLD, "resources/read", json!({"uri": uri})).await;
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("awaiting_approval"), "{read}");
    let foreign = ask(
        &HttpClient::new(&world.people_address(), &viewer(&world).await),
        OLD,
        "resources/read",
        json!({"uri": uri}),
    )
    .await;
    assert!(foreign.json()["error"].is_object(), "{foreign:?}");
}

async fn viewer(world: &World) -> String {
    world.person("ann", Role::Viewer).await.token().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_call_read_raises_later_ones_of_the_same_token() {
    let world = World::new().await;
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let grants = || json!({"profile": "developer", "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants()).ceiling(ceiling).start().await;
    let text = "Remember to pour bleach into the blue tank at noon.";
    kiosk.write_file("letter.txt", text);
    let first = program(&world, "first", &[v1::Scope::Call]).await;
    let second = program(&world, "second", &[v1::Scope::Call]).await;
    let write = |path: &str| call("write_file", json!({"path": path, "content": text}));
    let read = call("read_file", json!({"path": "letter.txt"}));
    result(&first, NEW, "tools/call", read).await;
    let asked = result(&first, NEW, "tools/call", write("copy.txt")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let other = result(&second, NEW, "tools/call", write("own.txt")).await;
    assert_eq!(other["structuredContent"]["success"], json!(true), "{other}");
    // A restart makes nothing forgotten.
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    let asked = result(&first, OLD, "tools/call", write("later.txt")).await;
    let text = asked["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("waits for a person's approval"), "{asked}");
    assert!(!kiosk.tree().contains_key("copy.txt") && !kiosk.tree().contains_key("later.txt"));
    assert_eq!(world.cli().run(&["chats", "list", "-o", "json"]).await.json(), json!([]));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_approved_call_printed_counts_for_the_token_that_received_it() {
    let world = World::new().await;
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let grants = || json!({"profile": "developer", "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants()).ceiling(ceiling).start().await;
    let text = "Remember to pour bleach into the blue tank at noon.";
    kiosk.write_script("own.sh", &format!("#!/bin/sh\necho '{text}'\n"));
    let first = program(&world, "first", &[v1::Scope::Call]).await;
    let second = program(&world, "second", &[v1::Scope::Call]).await;
    let mut run = call("execute_command", json!({"command": "./own.sh", "confirm": true}));
    let asked = result(&first, NEW, "tools/call", run.clone()).await;
    let message = asked["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
    let (_, rest) = message.split_once("orion approvals show ").unwrap();
    let approval = rest.split('`').next().unwrap();
    let approved = world.cli().run(&["approvals", "approve", approval, "--yes"]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    run["requestState"] = asked["requestState"].clone();
    run["inputResponses"] = json!({"approval": {"action": "accept", "content": {}}});
    let printed = result(&second, NEW, "tools/call", run).await;
    assert!(printed["structuredContent"].to_string().contains(text), "{printed}");
    let write = |path: &str| call("write_file", json!({"path": path, "content": text}));
    let asked = result(&second, NEW, "tools/call", write("copy.txt")).await;
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let own = result(&first, NEW, "tools/call", write("own.txt")).await;
    assert_eq!(own["structuredContent"]["success"], json!(true), "{own}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_pages_names_and_malformed_requests_are_refused() {
    let world = World::new().await;
    let client = program(&world, "program", &[v1::Scope::Call]).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).to_string();
    let json_type = ("content-type", "application/json");
    let accept = ("accept", "application/json, text/event-stream");
    let send = async |client: &HttpClient, headers: &[(&str, &str)], body: String| {
        client.send(Method::POST, "/mcp", headers, body).await
    };
    let own_origin = format!("http://{}", world.people_address());
    for (origin, status) in [("https://evil.example", 403), ("null", 403), (&own_origin, 200)] {
        let answer = send(&client, &[json_type, accept, ("origin", origin)], list.clone()).await;
        assert_eq!(answer.status, status, "{origin}: {answer:?}");
    }
    let deep = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}1{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    for (headers, body, statuses) in [
        (vec![json_type, accept], "x".repeat(2 << 20), [413, 413]),
        (vec![json_type, accept], deep, [400, 415]),
        (vec![json_type, accept], "{".to_owned(), [400, 415]),
        (vec![("content-type", "text/plain"), accept], list.clone(), [415, 415]),
        (vec![json_type, ("accept", "text/html")], list.clone(), [406, 406]),
    ] {
        let answer = send(&client, &headers, body).await;
        assert!(statuses.contains(&answer.status.as_u16()), "{answer:?}");
    }
    for method in [Method::GET, Method::DELETE] {
        let answer = client.send(method, "/mcp", &[accept], "").await;
        assert_eq!(answer.status, 405, "{answer:?}");
    }
    let chat = program(&world, "chat", &[v1::Scope::Chat, v1::Scope::Read]).await;
    assert_eq!(send(&chat, &[json_type, accept], list.clone()).await.status, 403);

    // Who shows no token learns where tokens are sent.
    let nobody = HttpClient::new(&world.people_address(), "");
    let answer = send(&nobody, &[json_type, accept], list).await;
    assert_eq!(answer.status, 401);
    let metadata = format!("{own_origin}/.well-known/oauth-protected-resource/mcp");
    let expected = format!("Bearer resource_metadata=\"{metadata}\", scope=\"call\"");
    assert_eq!(answer.headers["www-authenticate"], expected.as_str());
    let metadata = nobody.get("/.well-known/oauth-protected-resource/mcp").await.json();
    assert_eq!(metadata["resource"], json!(format!("{own_origin}/mcp")));
    // A name that anybody could point here is none of the backend's.
    let rebound = std::process::id().to_string();
    let request = format!(
        "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nhost: {rebound}.evil.example\r\nconnection: close\r\n\r\n"
    );
    let mut stream = tokio::net::TcpStream::connect(world.people_address()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut said = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_is_told_of_changed_tools_and_no_longer_than_the_token_holds() {
    let world = World::new().await;
    let client = program(&world, "program", &[v1::Scope::Call]).await;
    let params = json!({
        "notifications": {"toolsListChanged": true},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEW,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", NEW),
        ("mcp-method", "subscriptions/listen"),
    ];
    let (status, _, mut stream) =
        client.open(Method::POST, "/mcp", &headers, body.to_string()).await;
    assert_eq!(status, 200);
    let _kiosk = world.device("kiosk").start().await;
    let mut said = String::new();
    while !said.contains("notifications/tools/list_changed") {
        said.push_str(&stream.next().await.unwrap().unwrap());
    }
    let tokens = world.cli().run(&["tokens", "list", "-o", "json"]).await.json();
    let id = tokens.as_array().unwrap().iter().find(|it| it["name"] == "program").unwrap();
    let revoked =
        world.cli().run(&["tokens", "revoke", id["name"].as_str().unwrap(), "--yes"]).await;
    assert_eq!(revoked.code, 0, "{revoked:?} {id}");
    while let Some(Ok(_)) = stream.next().await {}
}
