//! A denied person asks for access in one step, and an admin grants exactly that, until a moment.

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Client, Device, Output, World, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

fn fine(output: Output) -> Output {
    assert_eq!(output.code, 0, "{output:?}");
    output
}

/// A device that grants `mine` alone, with a file in `theirs`.
async fn kiosk(world: &World) -> Device {
    let kiosk = world.device("kiosk").start().await;
    let paths = [kiosk.path("mine")];
    for name in ["mine/a.txt", "theirs/b.txt", "theirs/c.txt"] {
        kiosk.write_file(name, "text");
    }
    kiosk.grant(&json!({"profile": "operator", "paths": paths})).await;
    kiosk
}

async fn read(person: &Client, kiosk: &Device, name: &str) -> orion_tests::Call {
    person.call("kiosk", "read_file", json!({"path": kiosk.path(name)})).await
}

async fn request(
    person: &Client,
    call: &str,
    seconds: u64,
) -> Result<v1::AccessRequest, tonic::Status> {
    let request =
        v1::RequestAccessRequest { call_id: call.to_owned(), reason: String::new(), seconds };
    let answer = person.access_requests().request_access(request).await?;
    Ok(answer.into_inner().request.unwrap())
}

async fn grant(
    admin: &Client,
    request: &v1::AccessRequest,
    seconds: u64,
) -> Result<v1::AccessRequest, tonic::Status> {
    let request = v1::DecideAccessRequestRequest {
        request_id: request.request_id.clone(),
        grant: true,
        digest: request.digest.clone(),
        seconds,
        reason: String::new(),
    };
    let answer = admin.access_requests().decide_access_request(request).await?;
    Ok(answer.into_inner().request.unwrap())
}

async fn shown(person: &Client, id: &str) -> Result<v1::GetAccessRequestResponse, tonic::Status> {
    let request = v1::GetAccessRequestRequest { request_id: id.to_owned() };
    Ok(person.access_requests().get_access_request(request).await?.into_inner())
}

const OUTSIDE: (CallState, Option<ErrorCode>) =
    (CallState::Denied, Some(ErrorCode::PathNotAllowed));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_offers_the_request_and_a_grant_lets_that_call_run_and_ends() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let bob = world.person("bob", Role::Operator).await;
    let cli = world.cli_of("bob", &bob);
    let path = kiosk.path("theirs/b.txt");
    let argument = format!("path={path}");
    let denied = cli.run(&["call", "kiosk", "read_file", &argument]).await;
    assert_eq!(denied.code, 5, "{denied:?}");
    let offered = denied.stderr.split("`orion request ").nth(1).unwrap();
    let call = offered.split('`').next().unwrap().to_owned();

    // The command that the denial shows is the whole step.
    let words = ["request", &call, "--reason", "The site is down", "--for", "1h", "-o", "json"];
    let asked = fine(cli.run(&words).await).json();
    assert_eq!(asked["state"], "open");
    let line = format!("read {path}, with all that it contains");
    assert_eq!(asked["grants"], json!(["the tool read_file", line]));
    let id = asked["request_id"].as_str().unwrap().to_owned();
    let again = cli.run(&["request", &call]).await;
    assert!(again.stderr.contains("You have asked for the same"), "{again:?}");

    let admin = world.cli();
    let listed = fine(admin.run(&["requests", "list"]).await);
    assert!(listed.stdout.contains("open") && listed.stdout.contains("bob"), "{listed:?}");
    let own = cli.run(&["requests", "grant", &id, "--yes"]).await;
    assert_eq!(own.code, 5, "an operator grants nothing: {own:?}");
    fine(
        admin
            .run(&["requests", "grant", &id, "--for", "30s", "--reason", "For today", "--yes"])
            .await,
    );
    kiosk.ready().await;

    let shown = fine(cli.run(&["requests", "show", &id]).await);
    assert!(shown.stdout.contains("granted") && shown.stdout.contains("For today"), "{shown:?}");
    let allowed = cli.run(&["call", "kiosk", "read_file", &argument]).await;
    assert_eq!((allowed.code, allowed.stdout.contains("text")), (0, true), "{allowed:?}");
    // Nothing else was granted: another file, another tool, another person.
    assert_eq!(read(&bob, &kiosk, "theirs/c.txt").await.end(), OUTSIDE);
    let write = json!({"path": path, "content": "x"});
    assert_eq!(bob.call("kiosk", "write_file", write).await.end(), OUTSIDE);
    assert_eq!(read(world.admin(), &kiosk, "theirs/b.txt").await.end(), OUTSIDE);
    let why = fine(cli.run(&["why", "kiosk", "read_file", &argument]).await);
    assert!(why.stdout.contains(&format!("grants: allowed (request {id})")), "{why:?}");

    // A restart neither forgets the grant nor its end.
    world.server().stop().await;
    world.restart_server().await;
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/b.txt").await.state, CallState::Succeeded);
    eventually("the grant ends", async || {
        (read(&bob, &kiosk, "theirs/b.txt").await.end() == OUTSIDE).then_some(())
    })
    .await;
    eventually("the request says so", async || {
        let list = cli.run(&["requests", "list", "--all", "-o", "json"]).await.json();
        (list[0]["state"] == "ended").then_some(())
    })
    .await;
    // The end is recorded by a job, within a second or two.
    let kinds = eventually("the end in the audit log", async || {
        let audit =
            v1::ListAuditRequest { limit: 100, call_id: call.clone(), ..Default::default() };
        let rows = world.admin().audit().list_audit(audit).await.unwrap().into_inner().rows;
        let kinds: Vec<_> = rows.into_iter().rev().map(|row| row.kind).collect();
        kinds.iter().any(|kind| kind == "access.ended").then_some(kinds)
    })
    .await;
    let expected =
        ["call.opened", "call.closed", "access.requested", "access.granted", "access.ended"];
    assert_eq!(kinds, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_by_device_and_tool_finds_out_by_a_dry_run_and_changes_nothing() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let bob = world.person("bob", Role::Operator).await;
    let cli = world.cli_of("bob", &bob);
    let path = format!("path={}", kiosk.path("theirs/new.txt"));
    let asked =
        fine(cli.run(&["request", "kiosk", "write_file", &path, "content=x", "-o", "json"]).await);
    let id = asked.json()["request_id"].as_str().unwrap().to_owned();
    fine(world.cli().run(&["requests", "grant", &id, "--yes"]).await);
    kiosk.ready().await;
    assert!(!kiosk.files().join("theirs/new.txt").exists());
    fine(cli.run(&["call", "kiosk", "write_file", &path, "content=x"]).await);
    assert!(kiosk.files().join("theirs/new.txt").exists());
    let inside = format!("path={}", kiosk.path("mine/a.txt"));
    let needless = cli.run(&["request", "kiosk", "read_file", &inside]).await;
    assert_eq!(needless.code, 9, "{needless:?}");
    assert!(needless.stderr.contains("nothing to ask for"), "{needless:?}");
    // An admin ends it before its time, at once.
    fine(world.cli().run(&["requests", "end", &id]).await);
    kiosk.ready().await;
    let ended = cli.run(&["call", "kiosk", "write_file", &path, "content=y"]).await;
    assert_eq!(ended.code, 5, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_grant_lifts_is_not_asked_for_in_vain() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let bob = world.person("bob", Role::Operator).await;
    // The owner's ceiling does not have it.
    let call = bob.call("kiosk", "read_file", json!({"path": "/srv/elsewhere.txt"})).await;
    assert_eq!(call.end(), OUTSIDE);
    let offered = call.error().hints.iter().any(|hint| hint.to_string().contains("orion request"));
    assert!(!offered, "{:?}", call.error().hints);
    let refused = request(&bob, &call.id, 0).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    let hints = orion_wire::tool_error_from(&refused).unwrap().hints;
    assert!(hints.iter().any(|hint| hint.text.contains("the ceiling of kiosk")), "{hints:?}");

    // A rule that comes in between is said to the admin, and the grant refused.
    let call = read(&bob, &kiosk, "theirs/b.txt").await;
    let asked = request(&bob, &call.id, 0).await.unwrap();
    assert!(shown(world.admin(), &asked.request_id).await.unwrap().obstacle.is_empty());
    let text = "version: 1\nrules:\n  - { id: not-theirs, tools: [read_file], action: deny, paths: [\"**/theirs/**\"] }\n";
    let policy =
        v1::ApplyPolicyRequest { text: text.to_owned(), expected_version: -1, note: String::new() };
    assert!(world.admin().policy().apply_policy(policy).await.unwrap().into_inner().is_applied);
    kiosk.ready().await;
    let obstacle = shown(world.admin(), &asked.request_id).await.unwrap().obstacle;
    let obstacle: Value = serde_json::from_slice(&obstacle).unwrap();
    assert!(obstacle["hints"][0]["text"].as_str().unwrap().contains("not-theirs"), "{obstacle}");
    let vain = grant(world.admin(), &asked, 60).await.unwrap_err();
    assert_eq!(vain.code(), tonic::Code::PermissionDenied, "{vain:?}");
    assert_eq!(read(&bob, &kiosk, "theirs/b.txt").await.state, CallState::Denied);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_asks_for_another_grants_themselves_or_grants_what_was_not_shown() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let (admin, bob) = (world.admin(), world.person("bob", Role::Operator).await);
    let ann = world.person("ann", Role::Admin).await;
    let call = read(&bob, &kiosk, "theirs/b.txt").await;
    for other in [admin, &ann] {
        let refused = request(other, &call.id, 0).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::NotFound, "{refused:?}");
    }
    let ran = read(&bob, &kiosk, "mine/a.txt").await;
    let refused = request(&bob, &ran.id, 0).await.unwrap_err();
    assert!(refused.message().contains("was not denied"), "{refused:?}");
    for seconds in [31 * 24 * 3600, u64::MAX] {
        let refused = request(&bob, &call.id, seconds).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused:?}");
    }

    let own = read(&ann, &kiosk, "theirs/c.txt").await;
    let own = request(&ann, &own.id, 0).await.unwrap();
    let refused = grant(&ann, &own, 60).await.unwrap_err();
    assert!(refused.message().contains("another admin"), "{refused:?}");
    assert!(shown(&bob, &own.request_id).await.is_err(), "another's request is not seen");

    let asked = request(&bob, &call.id, 0).await.unwrap();
    let other = v1::AccessRequest { digest: own.digest.clone(), ..asked.clone() };
    let refused = grant(admin, &other, 60).await.unwrap_err();
    assert!(refused.message().contains("something else than what was shown"), "{refused:?}");
    let refused = grant(&bob, &asked, 60).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");
    grant(admin, &asked, 3600).await.unwrap();
    let twice = grant(admin, &asked, 3600).await.unwrap_err();
    assert!(twice.message().contains("granted already"), "{twice:?}");
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/b.txt").await.state, CallState::Succeeded);

    // What somebody granted who is no admin any more counts no more.
    let asked = read(&bob, &kiosk, "theirs/c.txt").await;
    let asked = request(&bob, &asked.id, 0).await.unwrap();
    grant(&ann, &asked, 3600).await.unwrap();
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/c.txt").await.state, CallState::Succeeded);
    let role = v1::SetUserRoleRequest { user: "ann".to_owned(), role: "operator".to_owned() };
    admin.auth().set_user_role(role).await.unwrap();
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/c.txt").await.end(), OUTSIDE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_granted_does_not_return_with_an_account_that_was_disabled() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let (admin, bob) = (world.admin(), world.person("bob", Role::Operator).await);
    let ann = world.person("ann", Role::Admin).await;
    let call = read(&bob, &kiosk, "theirs/b.txt").await;
    let asked = request(&bob, &call.id, 0).await.unwrap();
    grant(&ann, &asked, 3600).await.unwrap();
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/b.txt").await.state, CallState::Succeeded);

    let user = || "ann".to_owned();
    admin.auth().disable_user(v1::DisableUserRequest { user: user() }).await.unwrap();
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/b.txt").await.end(), OUTSIDE);
    admin.auth().enable_user(v1::EnableUserRequest { user: user() }).await.unwrap();
    kiosk.ready().await;
    assert_eq!(read(&bob, &kiosk, "theirs/b.txt").await.end(), OUTSIDE);
    let ended = shown(&bob, &asked.request_id).await.unwrap().request.unwrap();
    assert_eq!(ended.state(), v1::AccessRequestState::Ended);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_requests_are_bounded_and_show_nothing_hidden() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let bob = world.person("bob", Role::Operator).await;
    for number in 0..10 {
        let name = format!("theirs/{number}\n\u{1b}[2J\u{202e}.txt");
        let call = read(&bob, &kiosk, &name).await;
        let asked = request(&bob, &call.id, 0).await.unwrap();
        let hidden = asked.grants.iter().any(|line| line.chars().any(orion_domain::is_hidden));
        assert!(!hidden, "{:?}", asked.grants);
    }
    let call = read(&bob, &kiosk, "theirs/b.txt").await;
    let refused = request(&bob, &call.id, 0).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted, "{refused:?}");
    let cli = world.cli_of("bob", &bob);
    let list = fine(cli.run(&["requests", "list", "-o", "json"]).await).json();
    assert_eq!(list.as_array().unwrap().len(), 10);
    let id = list[0]["request_id"].as_str().unwrap();
    fine(cli.run(&["requests", "end", id]).await);
    request(&bob, &call.id, 0).await.unwrap();
    let refused = world.cli().run(&["requests", "refuse", id, "--reason", "No"]).await;
    assert_eq!(refused.code, 9, "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_no_paths_by_request() {
    let world = World::new().await;
    let grants = json!({"profile": "developer", "paths": ["{files}/mine"]});
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let kiosk = world.device("kiosk").grant(grants).ceiling(ceiling).start().await;
    kiosk.write_file("mine/a.txt", "own");
    kiosk.write_file("theirs/b.txt", "text");
    let bob = world.person("bob", Role::Operator).await;
    let command = json!({"command": format!("cat {}", kiosk.path("theirs/b.txt"))});
    let call = bob.call("kiosk", "execute_command", command).await;
    assert_eq!(call.end(), OUTSIDE);
    let offered = call.error().hints.iter().any(|hint| hint.to_string().contains("orion request"));
    assert!(!offered, "{:?}", call.error().hints);
    let refused = request(&bob, &call.id, 0).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    let hints = orion_wire::tool_error_from(&refused).unwrap().hints;
    assert!(hints.iter().any(|hint| hint.text.contains("to the paths of the device")), "{hints:?}");
    // A tool that only reads the file may be asked for.
    let call = read(&bob, &kiosk, "theirs/b.txt").await;
    assert_eq!(request(&bob, &call.id, 0).await.unwrap().tool, "read_file");
}
