//! What stands in answers beside their text: the tokens that were used, and no secrets.

use std::collections::HashMap;

use orion_tests::{HttpAnswer, Reply, ScriptedModel, World};
use orion_wire::v1;
use serde_json::{Value, json};

use super::{CHAT, RESPONSES, program, said, streamed};

/// A model's answer with these fields of a message and this usage.
fn reply(delta: &Value, usage: &Value) -> Reply {
    let choices = json!([{"index": 0, "delta": delta, "finish_reason": "stop"}]);
    let event = json!({"choices": choices});
    let used = json!({"choices": [], "usage": usage});
    Reply::stream(format!("data: {event}\n\ndata: {used}\n\ndata: [DONE]\n\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn usage_is_the_sum_of_all_rounds_and_null_where_a_provider_reports_none() {
    let function = json!({"name": "get_datetime", "arguments": "{\"device\":\"kiosk\"}"});
    let call =
        json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function}]});
    let tokens = |prompt: u64, completion: u64, cached: u64| {
        json!({
            "prompt_tokens": prompt, "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        })
    };
    let rounds =
        [reply(&call, &tokens(10, 3, 2)), reply(&json!({"content": "Noon."}), &tokens(20, 4, 5))];
    let scripts = HashMap::from([("reports".to_owned(), [&rounds[..]; 4].concat())]);
    let silent = reply(&json!({"content": "Noon."}), &Value::Null);
    let model = ScriptedModel::start(scripts, silent).await;
    let section = |name: &str| {
        let url = model.url(name);
        format!(
            "[[models]]\nname = \"{name}\"\nkind = \"openai\"\nurl = \"{url}\"\nmodel = \"m\"\n"
        )
    };
    let world = World::configured(&(section("reports") + &section("silent"))).await;
    let _kiosk = world.device("kiosk").start().await;
    let client = program(&world, &[v1::Scope::Chat]).await;
    let of_chat = json!({
        "prompt_tokens": 30, "completion_tokens": 7, "total_tokens": 37,
        "prompt_tokens_details": {"cached_tokens": 7},
    });
    let of_response = json!({
        "input_tokens": 30, "input_tokens_details": {"cached_tokens": 7},
        "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 37,
    });

    let whole = client.post(CHAT, &said("what time is it?")).await.json();
    assert_eq!(whole["usage"], of_chat, "{whole}");
    let mut asked = streamed(said("what time is it?"));
    asked["stream_options"] = json!({"include_usage": true});
    let chunks = client.post(CHAT, &asked).await.events();
    let (last, before) = chunks.split_last().unwrap();
    assert_eq!((&last["choices"], &last["usage"]), (&json!([]), &of_chat), "{last}");
    assert!(before.len() > 2 && before.iter().all(|it| it.get("usage") == Some(&Value::Null)));
    let response = client.post(RESPONSES, &json!({"input": "what time is it?"})).await.json();
    assert_eq!(response["usage"], of_response, "{response}");
    let asked = streamed(json!({"input": "what time is it?"}));
    let events = client.post(RESPONSES, &asked).await.events();
    assert_eq!(events.last().unwrap()["response"]["usage"], of_response, "{events:?}");

    // No figures are made up where a provider or the planner has none, and none are sent unasked.
    for model in ["silent", "planner"] {
        let mut asked = said("hello");
        asked["model"] = json!(model);
        let whole = client.post(CHAT, &asked).await.json();
        assert_eq!(whole.get("usage"), Some(&Value::Null), "{whole}");
        let chunks = client.post(CHAT, &streamed(asked)).await.events();
        assert!(chunks.iter().all(|it| it.get("usage").is_none()), "{chunks:?}");
        let response = client.post(RESPONSES, &json!({"input": "hello", "model": model})).await;
        assert_eq!(response.json().get("usage"), Some(&Value::Null), "{response:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_in_results_and_arguments_are_hidden_in_every_form_of_an_answer() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let key = format!("{}{}", "AKIA", "ABCDEFGH234567IJ");
    kiosk.write_file("keys.txt", format!("The key is {key} today."));
    let client = program(&world, &[v1::Scope::Chat]).await;
    let read = "read keys.txt";
    let write = format!("write \"{key}\" to copy.txt");
    let is_hidden = |answer: &HttpAnswer| {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.body.contains(&key), "{answer:?}");
        assert!(answer.body.contains("[secret: aws access key, id "), "{answer:?}");
    };
    is_hidden(&client.post(CHAT, &said(read)).await);
    is_hidden(&client.post(CHAT, &streamed(said(read))).await);
    for text in [read, &write] {
        is_hidden(&client.post(RESPONSES, &json!({"input": text})).await);
        is_hidden(&client.post(RESPONSES, &streamed(json!({"input": text}))).await);
    }
    // The device has the text itself.
    let copied = std::fs::read_to_string(kiosk.files().join("copy.txt")).unwrap();
    assert_eq!(copied.trim(), key);
}
