//! Limits of what models are used for: they hold for requests at the same time, and for people who leave.

use std::collections::HashMap;

use futures_util::future::join_all;
use orion_tests::{Answer, HeldModel, Reply, ScriptedModel, World};
use orion_wire::v1;
use serde_json::{Value, json};

/// The longest answer of a model here, in tokens.
const LONGEST: u64 = 1000;

/// The lines of a model without tools, whose answers are at most so long.
fn config(section: &str, limits: &str) -> String {
    format!("{section}max_output_tokens = {LONGEST}\n[chat]\ntools_enabled = false\n{limits}")
}

fn talk(world: &World) -> tokio::task::JoinHandle<Answer> {
    let admin = world.admin().clone();
    tokio::spawn(async move { admin.say_in("", "hello").await })
}

/// Returns what the newest turn of a chat used.
async fn used(world: &World, chat: &str) -> Value {
    let shown = world.cli().run(&["chats", "show", chat, "-o", "json"]).await.json();
    let turns = shown.as_array().unwrap();
    turns
        .iter()
        .rev()
        .map(|row| &row["usage"])
        .find(|it| !it.is_null())
        .cloned()
        .unwrap_or_default()
}

/// Leaves in the middle of an answer. Returns the chat.
async fn leave(world: &World, held: &mut HeldModel) -> String {
    let request = v1::SendMessageRequest { text: "hello".to_owned(), ..Default::default() };
    let mut events = world.admin().chats().send_message(request).await.unwrap().into_inner();
    let began = events.message().await.unwrap().unwrap().event.unwrap();
    let v1::send_message_response::Event::Began(began) = began else { panic!("{began:?}") };
    let asked = held.asked().await;
    drop(events);
    asked.dropped().await;
    began.conversation_id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_longest_answer_is_reserved_and_kept_where_the_person_leaves() {
    let mut held = HeldModel::start().await;
    let world = World::configured(&config(&held.section, "")).await;
    let talking = talk(&world);
    let asked = held.asked().await;
    assert_eq!(asked.body["max_tokens"], LONGEST, "{}", asked.body);
    asked.answer("Hello.").await;
    let first = talking.await.unwrap().usage.unwrap();
    assert!(first.estimated && first.input_tokens > 1, "nothing was reported: {first:?}");
    let (input, answered) = (first.input_tokens, first.input_tokens + first.output_tokens);

    // There is room for one request beside another that was answered, and for no second one.
    let limit = answered + 2 * (input + LONGEST) - 1;
    let limits = format!("[spending]\ntokens_per_person_per_day = {limit}\n");
    world.restart_configured(&config(&held.section, &limits)).await;
    let many: Vec<_> = (0..6).map(|_| talk(&world)).collect();
    let asked = held.asked().await;
    orion_tests::eventually("the refusals", async || {
        let ended = many.iter().filter(|talking| talking.is_finished()).count();
        (ended == many.len() - 1).then_some(())
    })
    .await;
    asked.answer("Hello.").await;
    let answers = join_all(many).await;
    let (fine, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().map(Result::unwrap).partition(|answer| answer.failure.is_none());
    assert_eq!((fine.len(), refused.len()), (1, 5));
    for answer in refused {
        let said = answer.failure.unwrap();
        let expected = format!(
            "Your last 24 hours has a limit of {limit} tokens for models: {} are used or reserved, and this request may need {}",
            answered + input + LONGEST,
            input + LONGEST
        );
        assert!(said.message().contains(&expected), "{said:?}");
    }

    // The answer gave its reservation back but for what it used; one that is left keeps all of it.
    let chat = leave(&world, &mut held).await;
    let kept = used(&world, &chat).await;
    assert_eq!(
        (&kept["input_tokens"], &kept["output_tokens"], &kept["estimated"]),
        (&json!(input), &json!(LONGEST), &json!(true)),
        "{kept}"
    );
    let refused = talk(&world).await.unwrap().failure.unwrap();
    assert!(refused.message().contains(&format!("limit of {limit} tokens")), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_failing_server_may_have_counted_stays_and_what_it_refused_does_not() {
    let status = |line: &str| {
        let body = r#"{"error":{"message":"no"}}"#;
        let head =
            format!("HTTP/1.1 {line}\r\nConnection: close\r\nContent-Length: {}", body.len());
        vec![Reply::raw(format!("{head}\r\n\r\n{body}")); 3]
    };
    let broken =
        Reply::stream("data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"cho");
    let usage = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";
    let scripts = HashMap::from([
        ("refuses".to_owned(), status("400 Bad Request")),
        ("limits".to_owned(), status("429 Too Many Requests")),
        ("fails".to_owned(), status("500 Internal Server Error")),
        ("hangs up".replace(' ', "-"), vec![Reply::raw(""); 3]),
        ("breaks".to_owned(), vec![broken]),
        ("reports".to_owned(), vec![Reply::stream(usage)]),
    ]);
    let names: Vec<String> = scripts.keys().cloned().collect();
    let model = ScriptedModel::start(scripts, Reply::raw("")).await;
    let section = |name: &str, url: &str| {
        format!(
            "[[models]]\nname = \"{name}\"\nkind = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\nmax_output_tokens = {LONGEST}\n"
        )
    };
    let mut sections: String = names.iter().map(|name| section(name, &model.url(name))).collect();
    sections += &section("gone", "http://127.0.0.1:1/v1");
    let limits = "[spending]\ntokens_per_day = 100000\n";
    let world =
        World::configured(&format!("{sections}[chat]\ntools_enabled = false\n{limits}")).await;
    for (name, output, estimated) in [
        ("refuses", 0, false),
        ("limits", 0, false),
        ("gone", 0, false),
        ("fails", LONGEST, true),
        ("hangs-up", LONGEST, true),
        ("breaks", LONGEST, true),
        ("reports", 3, false),
    ] {
        let request = v1::SendMessageRequest {
            text: "hello".to_owned(),
            model: name.to_owned(),
            ..Default::default()
        };
        let answer = world.admin().send(request).await;
        assert_eq!(answer.failure.is_none(), name == "reports", "{name}: {answer:?}");
        let kept = used(&world, &answer.conversation).await;
        assert_eq!(
            (&kept["output_tokens"], &kept["estimated"]),
            (&json!(output), &json!(estimated)),
            "{name}: {kept}"
        );
    }
}
