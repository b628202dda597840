//! What ends a turn of a chat: the person leaves, is signed out, or may do something else by now. From
//! that moment on nothing more is asked of the model and no further call is made.

use orion_domain::Role;
use orion_tests::{Client, Device, HeldModel, World, eventually, open_record};
use orion_wire::v1;
use serde_json::json;
use sqlx::Connection as _;
use tonic::{Code, Streaming};

async fn world() -> (World, Device, HeldModel) {
    let model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let kiosk = world.device("kiosk").start().await;
    (world, kiosk, model)
}

type Events = Streaming<v1::SendMessageResponse>;

/// Says something without listening yet.
async fn speak(client: &Client, text: &str) -> Events {
    let request = v1::SendMessageRequest { text: text.to_owned(), ..Default::default() };
    client.chats().send_message(request).await.unwrap().into_inner()
}

/// Every call there is, oldest first: its path and its state.
async fn calls(world: &World) -> Vec<(String, v1::CallState)> {
    let mut tools = world.admin().tools();
    let listed = tools.list_calls(v1::ListCallsRequest::default()).await.unwrap().into_inner();
    let mut calls = Vec::new();
    for v1::Call { call_id, .. } in listed.calls.into_iter().rev() {
        let request = v1::GetCallRequest { call_id, wait_ms: 0 };
        let call = tools.get_call(request).await.unwrap().into_inner().call.unwrap();
        let arguments: serde_json::Value = serde_json::from_slice(&call.arguments).unwrap();
        calls.push((arguments["path"].as_str().unwrap().to_owned(), call.state()));
    }
    calls
}

/// Talks with the model as somebody else, and sees that nobody but them asked it in between.
async fn nobody_else_asks(world: &World, model: &mut HeldModel) {
    let admin = world.admin().clone();
    let talking = tokio::spawn(async move { admin.say("Are you there?").await });
    let asked = model.asked().await;
    assert_eq!(asked.said(), "Are you there?", "{:?}", asked.body);
    asked.answer("Yes.").await;
    assert_eq!(talking.await.unwrap().text, "Yes.");
}

/// How a turn ends for its person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Leaves,
    SignsOut,
    IsDemoted,
    IsDisabled,
    TokenIsRevoked,
}

const ENDINGS: [Ending; 5] = [
    Ending::Leaves,
    Ending::SignsOut,
    Ending::IsDemoted,
    Ending::IsDisabled,
    Ending::TokenIsRevoked,
];

/// Somebody who may chat and call: with a session, or with a token where that is to be revoked.
async fn person(world: &World, name: &str, ending: Ending) -> Client {
    let session = world.person(name, Role::Operator).await;
    if ending != Ending::TokenIsRevoked {
        return session;
    }
    let request = v1::CreateTokenRequest {
        name: "ci".to_owned(),
        scopes: vec![v1::Scope::Chat.into(), v1::Scope::Call.into()],
        ..Default::default()
    };
    let made = session.auth().create_token(request).await.unwrap().into_inner();
    session.with_token(&made.secret)
}

async fn end(
    world: &World,
    name: &str,
    person: &Client,
    ending: Ending,
    events: &mut Option<Events>,
) {
    let (mut admin, user) = (world.admin().auth(), name.to_owned());
    match ending {
        Ending::Leaves => *events = None,
        Ending::SignsOut => {
            person.auth().logout(v1::LogoutRequest { all: false }).await.unwrap();
        }
        Ending::IsDemoted => {
            let request = v1::SetUserRoleRequest { user, role: "viewer".to_owned() };
            admin.set_user_role(request).await.unwrap();
        }
        Ending::IsDisabled => {
            admin.disable_user(v1::DisableUserRequest { user }).await.unwrap();
        }
        Ending::TokenIsRevoked => {
            let request = v1::RevokeTokenRequest { token: "ci".to_owned(), user };
            admin.revoke_token(request).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_ends_in_the_middle_of_the_models_answer_whatever_ends_it() {
    let (world, _kiosk, mut model) = world().await;
    for (number, ending) in (0..).zip(ENDINGS) {
        let name = format!("ann-{number}");
        let ann = person(&world, &name, ending).await;
        let mut events = Some(speak(&ann, "Make it").await);
        let mut asked = model.asked().await;
        asked.begin("I will make ").await;
        end(&world, &name, &ann, ending, &mut events).await;
        asked.dropped().await;
    }
    nobody_else_asks(&world, &mut model).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_answers_late_makes_no_call_for_somebody_who_is_gone() {
    let (world, kiosk, mut model) = world().await;
    for (number, ending) in (0..).zip(ENDINGS) {
        let name = format!("ann-{number}");
        let ann = person(&world, &name, ending).await;
        let mut events = Some(speak(&ann, "Make it").await);
        let asked = model.asked().await;
        end(&world, &name, &ann, ending, &mut events).await;
        match ending {
            // The backend knows it once the closed stream has arrived; then it waits for no answer.
            Ending::Leaves => asked.dropped().await,
            Ending::SignsOut | Ending::IsDemoted | Ending::IsDisabled | Ending::TokenIsRevoked => {
                asked.call(&[("create_directory", json!({"path": name}))]).await;
            }
        }
        nobody_else_asks(&world, &mut model).await;
    }
    assert_eq!(calls(&world).await, []);
    assert!(kiosk.tree().is_empty());
}

/// The turn of somebody who takes nothing of their answer, so that their stream stays as it is whatever
/// happens, at a moment at which the first of its two calls is on its way.
async fn between_two_calls(
    world: &World,
    kiosk: &Device,
    model: &mut HeldModel,
) -> (Client, Events) {
    let ann = world.person("ann", Role::Operator).await;
    let events = speak(&ann.taking_nothing(&world.people_address()), "Make two").await;
    kiosk.agent().freeze();
    let make = |path: &str| ("create_directory", json!({"device": "kiosk", "path": path}));
    model.asked().await.call(&[make("first"), make("second")]).await;
    eventually("the first call", async || {
        calls(world).await.contains(&("first".to_owned(), v1::CallState::Dispatched)).then_some(())
    })
    .await;
    (ann, events)
}

/// The call that was under way is done and is the only one.
async fn only_the_first_is_done(world: &World, kiosk: &Device, model: &mut HeldModel) {
    kiosk.agent().thaw();
    eventually("the end of the first call", async || {
        calls(world).await.contains(&("first".to_owned(), v1::CallState::Succeeded)).then_some(())
    })
    .await;
    nobody_else_asks(world, model).await;
    assert_eq!(calls(world).await, [("first".to_owned(), v1::CallState::Succeeded)]);
    assert_eq!(kiosk.tree().into_keys().collect::<Vec<_>>(), ["first"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_call_under_way_is_the_last_of_somebody_who_is_signed_out_and_keeps_the_stream_open() {
    let (world, kiosk, mut model) = world().await;
    let (ann, _events) = between_two_calls(&world, &kiosk, &mut model).await;
    ann.auth().logout(v1::LogoutRequest { all: false }).await.unwrap();
    only_the_first_is_done(&world, &kiosk, &mut model).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_that_changes_behind_the_backend_counts_before_the_next_call() {
    let (world, kiosk, mut model) = world().await;
    let (_ann, _events) = between_two_calls(&world, &kiosk, &mut model).await;
    let mut store = open_record(&world.database()).await;
    let demote = "UPDATE users SET role = 'viewer' WHERE name = 'ann'";
    sqlx::query(demote).execute(&mut store).await.unwrap();
    store.close().await.unwrap();
    only_the_first_is_done(&world, &kiosk, &mut model).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_cut_off_is_told_why_and_nobody_else_is_cut_off() {
    let (world, _kiosk, mut model) = world().await;
    let admin = world.admin().clone();
    let other = tokio::spawn(async move { admin.say("Wait").await });
    let others = model.asked().await;
    for (name, ending, code) in [
        ("ann", Ending::IsDemoted, Code::Aborted),
        ("bob", Ending::IsDisabled, Code::Unauthenticated),
    ] {
        let person = person(&world, name, ending).await;
        let speaker = person.clone();
        let talking = tokio::spawn(async move { speaker.say("Make it").await });
        let asked = model.asked().await;
        end(&world, name, &person, ending, &mut None).await;
        let failure = talking.await.unwrap().failure.unwrap();
        assert_eq!(failure.code(), code, "{failure:?}");
        asked.dropped().await;
    }
    others.answer("Still here.").await;
    assert_eq!(other.await.unwrap().text, "Still here.");
}
