//! People over time: accounts that come, change and go, their sessions and their tokens.

mod scopes;
mod tokens;

use orion_domain::{CallState, Role};
use orion_tests::{Cli, Client, Output, World};
use orion_wire::v1;
use serde_json::{Value, json};
use tokio_stream::StreamExt as _;
use tonic::Code;

/// A password that nobody guesses.
const PASSWORD: &str = "correct horse battery";

/// A command line that is not signed in.
fn stranger(world: &World, context: &str) -> Cli {
    let path = world.folder().join(context);
    let text = format!("backend = \"http://{}\"\n", world.people_address());
    std::fs::write(&path, text).unwrap();
    Cli::new(&path, world.folder())
}

async fn sign_in(cli: &Cli, user: &str, password: &str) -> Output {
    cli.run_with(&["login", "--user", user, "--password-stdin"], password.as_bytes()).await
}

fn fine(output: Output) -> Output {
    assert_eq!(output.code, 0, "{output:?}");
    output
}

/// An account with [`PASSWORD`], and its session.
async fn person(world: &World, name: &str, role: &str) -> Client {
    let request = v1::CreateUserRequest {
        user: name.to_owned(),
        role: role.to_owned(),
        password: PASSWORD.to_owned(),
    };
    world.admin().auth().create_user(request).await.unwrap();
    session(world, name).await
}

async fn session(world: &World, name: &str) -> Client {
    let request = v1::LoginRequest { user: name.to_owned(), password: PASSWORD.to_owned() };
    let answer = world.admin().with_token("").auth().login(request).await.unwrap().into_inner();
    world.admin().with_token(&answer.token)
}

async fn token(by: &Client, name: &str, scopes: &[v1::Scope]) -> Client {
    let request = v1::CreateTokenRequest {
        name: name.to_owned(),
        scopes: scopes.iter().map(|scope| (*scope).into()).collect(),
        ..Default::default()
    };
    let made = by.auth().create_token(request).await.unwrap().into_inner();
    by.with_token(&made.secret)
}

async fn set_role(world: &World, user: &str, role: &str) {
    let request = v1::SetUserRoleRequest { user: user.to_owned(), role: role.to_owned() };
    world.admin().auth().set_user_role(request).await.unwrap();
}

async fn disable(world: &World, user: &str) {
    let request = v1::DisableUserRequest { user: user.to_owned() };
    world.admin().auth().disable_user(request).await.unwrap();
}

async fn who(client: &Client) -> Result<String, Code> {
    let answer = client.auth().who_am_i(v1::WhoAmIRequest {}).await;
    answer.map(|answer| answer.into_inner().role).map_err(|status| status.code())
}

/// Kind and body of the audit's newest rows, oldest first.
async fn audit(world: &World) -> Vec<(String, Value)> {
    let request = v1::ListAuditRequest { limit: 200, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    rows.into_iter().rev().map(|row| (row.kind, serde_json::from_str(&row.body).unwrap())).collect()
}

async fn audited(world: &World, kind: &str) -> Vec<Value> {
    let rows = audit(world).await.into_iter();
    rows.filter(|(found, _)| found == kind).map(|(_, body)| body).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_is_made_signs_in_works_and_is_closed() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let (admin, bob) = (world.cli(), stranger(&world, "bob.toml"));
    let create = ["users", "create", "bob", "--role", "operator", "--password-stdin"];
    let made = fine(admin.run_with(&create, b"correct horse battery\n").await);
    assert!(made.stderr.contains("bob is operator"), "{made:?}");
    assert_eq!(sign_in(&bob, "bob", "correct horse batterz").await.code, 4);
    fine(sign_in(&bob, "bob", PASSWORD).await);
    fine(bob.run(&["call", "kiosk", "create_directory", "path=x"]).await);
    assert_eq!(bob.run(&["users", "list"]).await.code, 5);
    assert_eq!(
        bob.run(&["users", "create", "eve", "--role", "admin", "--no-password"]).await.code,
        5
    );

    let listed = fine(admin.run(&["users", "list", "-o", "json"]).await).json();
    let seen =
        |row: &Value| (row["user"].clone(), row["role"].clone(), row["has_password"].clone());
    let rows: Vec<_> = listed.as_array().unwrap().iter().map(seen).collect();
    assert_eq!(
        rows,
        [
            (json!("admin"), json!("admin"), json!(false)),
            (json!("bob"), json!("operator"), json!(true)),
        ]
    );
    assert_eq!(listed[1]["sessions"], 1);

    fine(admin.run(&["users", "role", "bob", "viewer"]).await);
    assert_eq!(bob.run(&["call", "kiosk", "create_directory", "path=y"]).await.code, 5);
    fine(admin.run(&["users", "disable", "bob"]).await);
    assert_eq!(bob.run(&["devices", "list"]).await.code, 4);
    let refused = sign_in(&bob, "bob", PASSWORD).await;
    assert_eq!(refused.code, 4, "{refused:?}");
    let wrong = sign_in(&bob, "bob", "another password").await;
    assert_eq!(
        refused.stderr, wrong.stderr,
        "nothing tells a disabled account from a wrong password"
    );
    fine(admin.run(&["users", "enable", "bob"]).await);
    assert_eq!(bob.run(&["devices", "list"]).await.code, 4, "an old session came back to life");
    fine(sign_in(&bob, "bob", PASSWORD).await);

    let again = admin.run_with(&create, b"correct horse battery\n").await;
    assert_eq!(again.code, 9, "{again:?}");
    let kinds: Vec<_> = audit(&world).await.into_iter().map(|(kind, _)| kind).collect();
    let about: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("user.")).collect();
    assert_eq!(
        about,
        ["user.created", "user.created", "user.role_changed", "user.disabled", "user.enabled"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_admin_stays() {
    let world = World::new().await;
    let create = ["users", "create", "ann", "--role", "admin", "--no-password"];
    for before in [&[][..], &create] {
        if !before.is_empty() {
            // Nobody signs in as this one.
            fine(world.cli().run(before).await);
        }
        for words in [&["users", "disable", "admin"][..], &["users", "role", "admin", "viewer"]] {
            let refused = world.cli().run(words).await;
            assert_eq!(refused.code, 9, "{refused:?}");
            assert!(refused.stderr.contains("last enabled admin"), "{refused:?}");
        }
    }
    let password = ["users", "password", "ann", "--password-stdin"];
    fine(world.cli().run_with(&password, b"correct horse battery\n").await);
    fine(world.cli().run(&["users", "role", "admin", "viewer"]).await);
    assert_eq!(world.cli().run(&["users", "list"]).await.code, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_counts_at_once_for_whoever_is_signed_in() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let bob = person(&world, "bob", "operator").await;
    let program = token(&bob, "ci", &[v1::Scope::Read, v1::Scope::Call]).await;
    let watch = async |client: &Client| {
        client.approvals().watch_approvals(v1::WatchApprovalsRequest {}).await.unwrap().into_inner()
    };
    let (mut by_bob, mut by_program) = (watch(&bob).await, watch(&program).await);
    let mut by_admin = watch(world.admin()).await;
    for client in [&bob, &program] {
        assert_eq!(who(client).await, Ok("operator".to_owned()));
    }

    set_role(&world, "bob", "viewer").await;
    for client in [&bob, &program] {
        assert_eq!(who(client).await, Ok("viewer".to_owned()));
        let refused = client.approvals().watch_approvals(v1::WatchApprovalsRequest {}).await;
        assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
        let call = client.call("kiosk", "create_directory", json!({"path": "x"})).await;
        assert_eq!(call.state, CallState::Denied);
    }
    for stream in [&mut by_bob, &mut by_program] {
        assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::Aborted);
        assert!(stream.next().await.is_none());
    }

    set_role(&world, "bob", "operator").await;
    let (mut by_bob, mut by_program) = (watch(&bob).await, watch(&program).await);
    disable(&world, "bob").await;
    for stream in [&mut by_bob, &mut by_program] {
        assert_eq!(stream.next().await.unwrap().unwrap_err().code(), Code::Unauthenticated);
    }
    for client in [&bob, &program] {
        assert_eq!(who(client).await, Err(Code::Unauthenticated));
    }
    // Nobody else's stream has ended.
    tokio::select! {
        biased;
        ended = by_admin.next() => panic!("the admin's stream ended: {ended:?}"),
        role = who(world.admin()) => assert_eq!(role, Ok("admin".to_owned())),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_refusal_says_to_type_is_for_the_context_that_was_named() {
    let world = World::new().await;
    let _bob = stranger(&world, "bob.toml");
    let path = world.folder().join("bob.toml").display().to_string();
    let refused = world.cli().run(&["--context", &path, "devices", "list"]).await;
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.stderr.contains(&format!("orion --context {path} login")), "{refused:?}");
    // What the environment names is named for further commands too.
    let refused = stranger(&world, "bob.toml").run(&["devices", "list"]).await;
    assert!(refused.stderr.contains("sign in: `orion login`"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_out_ends_the_session_here_or_everywhere() {
    let world = World::new().await;
    person(&world, "bob", "viewer").await;
    let (one, other) = (stranger(&world, "one.toml"), stranger(&world, "other.toml"));
    for cli in [&one, &other] {
        fine(sign_in(cli, "bob", PASSWORD).await);
    }
    let listed = fine(one.run(&["tokens", "list", "--sessions", "-o", "json"]).await).json();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    let kept = std::fs::read_to_string(world.folder().join("one.toml")).unwrap();
    fine(one.run(&["logout"]).await);
    assert!(!std::fs::read_to_string(world.folder().join("one.toml")).unwrap().contains("token"));
    assert_eq!(one.run(&["devices", "list"]).await.code, 4);
    std::fs::write(world.folder().join("one.toml"), kept).unwrap();
    assert_eq!(one.run(&["devices", "list"]).await.code, 4, "the session outlived its end");
    fine(one.run(&["logout"]).await);
    fine(other.run(&["devices", "list"]).await);
    let all = fine(other.run(&["logout", "--all"]).await);
    assert!(all.stderr.contains("signed out of 2 sessions"), "{all:?}");
    assert_eq!(other.run(&["devices", "list"]).await.code, 4);
    // What the demo is reached by is not thrown away by accident.
    assert_eq!(world.cli().run(&["logout"]).await.code, 2);
    fine(world.cli().run(&["devices", "list"]).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_changed_with_the_old_one_and_ends_the_other_sessions() {
    let world = World::new().await;
    let elsewhere = person(&world, "bob", "viewer").await;
    let program = token(&elsewhere, "ci", &[v1::Scope::Read]).await;
    let bob = stranger(&world, "bob.toml");
    fine(sign_in(&bob, "bob", PASSWORD).await);
    let write = |name: &str, text: &str| std::fs::write(world.folder().join(name), text).unwrap();
    write("old.txt", PASSWORD);
    write("wrong.txt", "correct horse batterz");
    write("new.txt", "staple horse battery\n");
    let change = |old: &'static str, new: &'static str| {
        ["users", "password", "--old-password", old, "--password", new]
    };
    assert_eq!(bob.run(&change("@wrong.txt", "@new.txt")).await.code, 5);
    write("short.txt", "short");
    assert_eq!(bob.run(&change("@old.txt", "@short.txt")).await.code, 2);
    assert_eq!(who(&elsewhere).await, Ok("viewer".to_owned()));
    fine(bob.run(&change("@old.txt", "@new.txt")).await);
    assert_eq!(who(&elsewhere).await, Err(Code::Unauthenticated));
    assert_eq!(who(&program).await, Ok("viewer".to_owned()));
    fine(bob.run(&["devices", "list"]).await);
    assert_eq!(sign_in(&stranger(&world, "x.toml"), "bob", PASSWORD).await.code, 4);

    // An admin needs no old password, and leaves no session.
    write("given.txt", "given by the admin");
    let theirs = bob.run(&["users", "password", "admin", "--password", "@given.txt"]).await;
    assert_eq!(theirs.code, 5, "{theirs:?}");
    fine(world.cli().run(&["users", "password", "bob", "--password", "@given.txt"]).await);
    assert_eq!(bob.run(&["devices", "list"]).await.code, 4);
    fine(sign_in(&bob, "bob", "given by the admin").await);
    // One's own first password needs none before it, and ends no session.
    let wrong = ["users", "password", "--old-password", "@old.txt", "--password", "@given.txt"];
    assert_eq!(world.cli().run(&wrong).await.code, 2);
    fine(world.cli().run(&["users", "password", "--password", "@given.txt"]).await);
    assert_eq!(world.cli().run(&["users", "password", "--password", "@new.txt"]).await.code, 5);
    let set: Vec<_> = audited(&world, "user.password_set").await;
    assert_eq!(
        set,
        [
            json!({"user": "bob", "by": "bob", "ended": 1}),
            json!({"user": "bob", "by": "admin", "ended": 1}),
            json!({"user": "admin", "by": "admin", "ended": 0}),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_requests_are_in_the_audit_and_a_flood_does_not_fill_it() {
    let world = World::new().await;
    let bob = world.person("bob", Role::Viewer).await;
    let nobody = world.admin().with_token("orion_wrong");
    for _ in 0..20 {
        let request = v1::VerifyAuditRequest::default();
        assert_eq!(
            bob.audit().verify_audit(request).await.unwrap_err().code(),
            Code::PermissionDenied
        );
        assert_eq!(who(&nobody).await, Err(Code::Unauthenticated));
    }
    let row = |rpc: &str, why: &str, user: Option<&str>, count: u32| {
        let mut row = json!({"rpc": rpc, "why": why, "from": "127.0.0.1", "count": count});
        if let Some(user) = user {
            row["user"] = json!(user);
        }
        row
    };
    let (verify, who_am_i) = ("/orion.v1.AuditService/VerifyAudit", "/orion.v1.AuthService/WhoAmI");
    let first = [row(verify, "role", Some("bob"), 1), row(who_am_i, "not_signed_in", None, 1)];
    assert_eq!(audited(&world, "access.refused").await, first);

    world.server().stop().await;
    world.restart_server().await;
    let mut rows = audited(&world, "access.refused").await.split_off(2);
    rows.sort_by_key(|row| row["rpc"].to_string());
    let rest = [row(verify, "role", Some("bob"), 19), row(who_am_i, "not_signed_in", None, 19)];
    assert_eq!(rows, rest);
}
