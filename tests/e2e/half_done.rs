//! Clients that hang up in the middle: what they asked for is done as a whole, with everything that
//! follows from it, or not at all.

use std::time::Duration;

use orion_domain::{CallState, Role};
use orion_tests::{Client, World, eventually};
use orion_wire::v1;
use rand::RngExt as _;
use serde_json::json;
use tonic::Code;

/// How often each is tried. A commit takes about a millisecond, so some clients leave in the middle of it.
const TRIES: usize = 60;

/// Asks for something and leaves at some moment in the next milliseconds.
async fn hang_up<T>(asking: impl Future<Output = T>) {
    let patience = Duration::from_micros(rand::rng().random_range(200..6_000));
    let _ = tokio::time::timeout(patience, asking).await;
}

async fn token(world: &World, of: &str, name: &str) -> Client {
    let request = v1::CreateTokenRequest {
        name: name.to_owned(),
        scopes: vec![v1::Scope::Read.into(), v1::Scope::Call.into()],
        user: of.to_owned(),
        ..Default::default()
    };
    let made = world.admin().auth().create_token(request).await.unwrap().into_inner();
    world.admin().with_token(&made.secret)
}

async fn tokens_of(world: &World, user: &str) -> Vec<String> {
    let request = v1::ListTokensRequest { user: user.to_owned(), ..Default::default() };
    let listed = world.admin().auth().list_tokens(request).await.unwrap().into_inner().tokens;
    listed.into_iter().map(|token| token.name).collect()
}

async fn is_let_in(client: &Client) -> bool {
    match client.auth().who_am_i(v1::WhoAmIRequest {}).await {
        Ok(_) => true,
        Err(status) if status.code() == Code::Unauthenticated => false,
        Err(status) => panic!("{status:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_revoked_in_the_store_lets_nobody_in_whoever_hung_up() {
    let world = World::new().await;
    world.person("bob", Role::Operator).await;
    let mut revoked = 0;
    for number in 0..TRIES {
        let name = format!("t{number}");
        let program = token(&world, "bob", &name).await;
        assert!(is_let_in(&program).await);
        let request = v1::RevokeTokenRequest { token: name.clone(), user: "bob".to_owned() };
        // A connection of its own, as of a command that was stopped.
        let admin = Client::new(&world.people_address(), world.admin().token());
        hang_up(async { admin.auth().revoke_token(request).await }).await;
        drop(admin);
        // Where the store says so, it counts at once: nothing that was remembered outlives it.
        if !tokens_of(&world, "bob").await.contains(&name) {
            revoked += 1;
            // Sooner than a token that was looked up is forgotten, which takes five seconds.
            let ended = async {
                while is_let_in(&program).await {
                    tokio::task::yield_now().await;
                }
            };
            let ended = tokio::time::timeout(Duration::from_secs(3), ended).await;
            assert!(ended.is_ok(), "{name} is revoked in the store and lets in");
        } else {
            let request = v1::RevokeTokenRequest { token: name, user: "bob".to_owned() };
            // It may be revoked by now.
            let _ = world.admin().auth().revoke_token(request).await;
            assert!(!is_let_in(&program).await);
        }
    }
    assert!(revoked > 0, "no client hung up late enough");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_has_neither_an_open_question_without_a_call_nor_a_call_without_one() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for number in 0..TRIES {
        kiosk.write_file(&format!("{number}/x.txt"), "");
        let arguments = json!({"path": number.to_string(), "recursive": true, "confirm": true});
        let asked = world.admin().call("kiosk", "delete_directory", arguments).await;
        let request = v1::CancelCallRequest { call_id: asked.id.clone() };
        let admin = Client::new(&world.people_address(), world.admin().token());
        hang_up(async { admin.tools().cancel_call(request).await }).await;
        drop(admin);
        eventually("a call that is asked about or has ended", async || {
            let request = v1::GetApprovalRequest {
                approval_id: asked.approval_id().to_owned(),
                ..Default::default()
            };
            let question = world.admin().approvals().get_approval(request).await.unwrap();
            let is_open =
                question.into_inner().approval.unwrap().state() == v1::ApprovalState::Open;
            let call = world.admin().recorded(&asked.id).await.unwrap();
            let waits = call.state == CallState::AwaitingApproval;
            (is_open == waits).then_some(())
        })
        .await;
    }
    assert_eq!(kiosk.tree().len(), 2 * TRIES);
}
