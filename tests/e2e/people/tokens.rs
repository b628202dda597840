//! API tokens: shown once, good for what they say and no longer, and never a person.

use orion_domain::{CallState, Role};
use orion_tests::{Client, World, eventually};
use orion_wire::v1;
use serde_json::json;
use tokio_stream::StreamExt as _;
use tonic::Code;

use super::{PASSWORD, audited, fine, token, who};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_shown_once_and_kept_as_a_hash() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let admin = world.cli();
    let create = ["tokens", "create", "--name", "ci", "--scope", "read,call", "--expires", "30d"];
    let made = fine(admin.run(&create).await);
    let secret = made.stdout.trim().to_owned();
    assert!(secret.starts_with("orion_") && secret.len() > 40, "{made:?}");
    assert!(!made.stderr.contains(&secret), "{made:?}");
    let program = world.admin().with_token(&secret);
    let call = program.call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None));

    let listed = fine(admin.run(&["tokens", "list", "-o", "json"]).await);
    let [row] = listed.json().as_array().unwrap()[..].to_vec().try_into().unwrap();
    assert_eq!((&row["name"], &row["scopes"]), (&json!("ci"), &json!(["read", "call"])));
    let days =
        (row["expires_at"].as_i64().unwrap() - row["created_at"].as_i64().unwrap()) / 86_400_000;
    assert_eq!(days, 30);
    eventually("its use on record", async || {
        let listed = admin.run(&["tokens", "list", "-o", "json"]).await;
        (listed.json()[0]["last_used_at"].as_i64()? > 0).then_some(())
    })
    .await;
    let twice = admin.run(&create).await;
    assert_eq!(twice.code, 9, "{twice:?}");
    for bad in [["--scope", "everything"], ["--expires", "366d"]] {
        let words = [&["tokens", "create", "--name", "bad", "--scope", "read"][..], &bad].concat();
        assert_eq!(admin.run(&words).await.code, 2, "{words:?}");
    }

    let id = row["token_id"].as_str().unwrap();
    fine(admin.run(&["tokens", "revoke", &id[..6]]).await);
    assert_eq!(who(&program).await, Err(Code::Unauthenticated));
    assert_eq!(admin.run(&["tokens", "revoke", "ci"]).await.code, 3);
    assert_eq!(audited(&world, "token.revoked").await[0]["token"], id);

    world.server().stop().await;
    for (file, text) in orion_tests::tree(&world.data_dir()) {
        assert!(!text.unwrap_or_default().contains(&secret), "the secret is in {file}");
    }
    let database = std::fs::read(world.database()).unwrap();
    let stands = database.windows(secret.len()).any(|bytes| bytes == secret.as_bytes());
    assert!(!stands, "the secret is in the record");
    assert!(!world.server().log().contains(&secret));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_over_is_good_for_nothing_and_its_streams_end() {
    let world = World::new().await;
    let request = v1::CreateTokenRequest {
        name: "short".to_owned(),
        scopes: vec![v1::Scope::Read.into()],
        valid_seconds: 5,
        user: String::new(),
    };
    let made = world.admin().auth().create_token(request).await.unwrap().into_inner();
    let program = world.admin().with_token(&made.secret);
    let watching = program.approvals().watch_approvals(v1::WatchApprovalsRequest {}).await;
    let ended = watching.unwrap().into_inner().next().await.unwrap().unwrap_err();
    assert_eq!(ended.code(), Code::Unauthenticated);
    assert!(orion_tests::now_ms() >= made.token.unwrap().expires_at);
    assert_eq!(who(&program).await, Err(Code::Unauthenticated));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_makes_a_token_of_more_than_its_person_or_from_a_token() {
    let world = World::new().await;
    let bob = world.person("bob", Role::Operator).await;
    let create = |scope: v1::Scope, user: &str| v1::CreateTokenRequest {
        name: "x".to_owned(),
        scopes: vec![scope.into()],
        user: user.to_owned(),
        ..Default::default()
    };
    let refused = async |client: &Client, request| {
        client.auth().create_token(request).await.unwrap_err().code()
    };
    assert_eq!(refused(&bob, create(v1::Scope::Admin, "")).await, Code::PermissionDenied);
    assert_eq!(refused(&bob, create(v1::Scope::Read, "admin")).await, Code::PermissionDenied);
    let for_bob = create(v1::Scope::Admin, "bob");
    assert_eq!(refused(world.admin(), for_bob).await, Code::PermissionDenied);
    assert_eq!(refused(world.admin(), create(v1::Scope::Read, "eve")).await, Code::NotFound);
    let nothing = v1::CreateTokenRequest { scopes: Vec::new(), ..create(v1::Scope::Read, "") };
    assert_eq!(refused(world.admin(), nothing).await, Code::InvalidArgument);
    let longest = v1::CreateTokenRequest { valid_seconds: u64::MAX, ..create(v1::Scope::Read, "") };
    assert_eq!(refused(world.admin(), longest).await, Code::InvalidArgument);

    let all = [v1::Scope::Read, v1::Scope::Call, v1::Scope::Chat, v1::Scope::Admin];
    let program = token(world.admin(), "all", &all).await;
    assert_eq!(refused(&program, create(v1::Scope::Read, "")).await, Code::PermissionDenied);
    let with_password = v1::CreateUserRequest {
        user: "eve".to_owned(),
        role: "admin".to_owned(),
        password: PASSWORD.to_owned(),
    };
    let bare = v1::CreateUserRequest { password: String::new(), ..with_password.clone() };
    let let_in = program.auth().create_user(with_password).await.unwrap_err();
    assert_eq!(let_in.code(), Code::PermissionDenied);
    program.auth().create_user(bare).await.unwrap();

    // Everybody looks after their own, and an admin after everybody's.
    let own = token(&bob, "bobs", &[v1::Scope::Read]).await;
    let list =
        |user: &str, all| v1::ListTokensRequest { user: user.to_owned(), all, sessions: true };
    let listed = own.auth().list_tokens(list("", false)).await.unwrap().into_inner().tokens;
    assert!(listed.iter().all(|token| token.user == "bob") && listed.len() == 2, "{listed:?}");
    for theirs in [list("admin", false), list("", true)] {
        let refused = bob.auth().list_tokens(theirs).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied);
    }
    let revoke =
        |user: &str| v1::RevokeTokenRequest { token: "all".to_owned(), user: user.to_owned() };
    assert_eq!(bob.auth().revoke_token(revoke("")).await.unwrap_err().code(), Code::NotFound);
    let theirs = bob.auth().revoke_token(revoke("admin")).await.unwrap_err();
    assert_eq!(theirs.code(), Code::PermissionDenied);
    world
        .admin()
        .auth()
        .revoke_token(v1::RevokeTokenRequest { token: "bobs".to_owned(), user: "bob".to_owned() })
        .await
        .unwrap();
    assert_eq!(who(&own).await, Err(Code::Unauthenticated));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_token_approves_nothing_whatever_it_holds() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "");
    let all = [v1::Scope::Read, v1::Scope::Call, v1::Scope::Chat, v1::Scope::Admin];
    let program = token(world.admin(), "all", &all).await;
    let arguments = json!({"path": "old", "recursive": true, "confirm": true});
    let asked = program.call("kiosk", "delete_directory", arguments).await;
    assert_eq!(asked.state, CallState::AwaitingApproval);
    let refused = program.decide(asked.approval_id(), true, "").await.unwrap_err();
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert!(refused.message().contains("API token"), "{refused:?}");
    assert_eq!(world.admin().recorded(&asked.id).await.unwrap().state, CallState::AwaitingApproval);
    assert!(kiosk.files().join("old/a.txt").exists());
    let row = &audited(&world, "access.refused").await[0];
    assert_eq!(
        (&row["rpc"], &row["why"], &row["user"]),
        (&json!("/orion.v1.ApprovalService/DecideApproval"), &json!("scope"), &json!("admin"))
    );
    world.admin().decide(asked.approval_id(), false, "").await.unwrap();
}
