//! Answers in every form that real servers were seen to send.

use orion_domain::extract::{ExtractProblem, from_native};

use super::server::{Reply, serve};
use super::{ask, model, said};
use crate::model::{Answer, ModelError, NativeCall, Usage};

/// Text with letters of several bytes, then a call in fragments, with comments and usage data.
const TRANSCRIPT: &str = ": OPENROUTER PROCESSING\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\"}}]}\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Één 📁\"}}]}\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":null,\"type\":\"function\",\"function\":{\"name\":\"create_directory\",\"arguments\":\"{\\\"pa\"}}]}}]}\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"create_directory\",\"arguments\":\"th\\\":\\\"é\\\"}\"}}]},\"finish_reason\":\"stop\"}]}\r\n\r\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\r\n\r\n\
    data: [DONE]\r\n\r\n";

fn call(id: &str, arguments: &str) -> NativeCall {
    NativeCall {
        id: id.to_owned(),
        name: "create_directory".to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn answer() -> Answer {
    let usage = Some(Usage { input_tokens: 7, output_tokens: 2, ..Usage::default() });
    Answer { native_calls: vec![call("call_1", r#"{"path":"é"}"#)], usage, ..said("Één 📁") }
}

#[tokio::test]
async fn a_stream_is_the_same_wherever_it_is_cut() {
    let bytes = TRANSCRIPT.as_bytes();
    let mut replies: Vec<Reply> = (0..=bytes.len()).map(|cut| Reply::cut(bytes, &[cut])).collect();
    let all: Vec<usize> = (1..bytes.len()).collect();
    replies.push(Reply::cut(bytes, &all));
    let count = replies.len();
    let (address, serving) = serve(replies).await;
    let model = model(&address, "");
    for cut in 0..count {
        assert_eq!(ask(&model).await, Ok(answer()), "cut at {cut}");
    }
    assert_eq!(serving.await.unwrap().asked.len(), count);
}

#[tokio::test]
async fn every_way_to_end_a_stream_is_an_end() {
    let without_done = TRANSCRIPT.replace("data: [DONE]\r\n\r\n", "");
    let last_line_open = TRANSCRIPT.trim_end().to_owned();
    let stays_open = Reply { stays_open: true, ..Reply::stream(TRANSCRIPT) };
    let broken_after = Reply::broken(&without_done);
    let replies = vec![
        Reply::stream(&without_done),
        Reply::stream(&last_line_open),
        stays_open,
        broken_after,
    ];
    let count = replies.len();
    let (address, serving) = serve(replies).await;
    let model = model(&address, "");
    for way in 0..count {
        assert_eq!(ask(&model).await, Ok(answer()), "way {way}");
    }
    serving.await.unwrap();
}

#[tokio::test]
async fn an_answer_in_one_piece_is_an_answer() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"Hi"}],"tool_calls":[{"id":"x","function":{"name":"create_directory","arguments":{"path":"a"}}},{"id":"x","function":{"name":"create_directory","arguments":"{\"path\":\"b\"}"}}]},"finish_reason":"tool_calls"}]}"#;
    let (address, serving) =
        serve(vec![Reply::whole("200 OK", "Content-Type: application/json\r\n", body)]).await;
    let calls = vec![call("x", r#"{"path":"a"}"#), call("call_2", r#"{"path":"b"}"#)];
    assert_eq!(ask(&model(&address, "")).await, Ok(Answer { native_calls: calls, ..said("Hi") }));
    serving.await.unwrap();
}

#[tokio::test]
async fn a_name_that_stands_twice_in_arguments_is_refused_in_either_form() {
    let arguments = r#"{"path":"a","path":"b"}"#;
    let replies: Vec<Reply> = [arguments.to_owned(), serde_json::Value::from(arguments).to_string()]
        .map(|written| {
            let call = format!(r#"{{"function":{{"name":"create_directory","arguments":{written}}}}}"#);
            Reply::stream(&format!(
                "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{call}]}},\"finish_reason\":\"stop\"}}]}}\n\n"
            ))
        })
        .into();
    let (address, serving) = serve(replies).await;
    let model = model(&address, "");
    for form in ["object", "text"] {
        let answer = ask(&model).await.unwrap();
        let call = &answer.native_calls[0];
        let refused = from_native(Some(&call.id), &call.name, &call.arguments);
        let twice = ExtractProblem::DuplicateKey { start: 0, key: "path".to_owned() };
        assert_eq!(refused, Err(twice), "as {form}");
    }
    serving.await.unwrap();
}

#[tokio::test]
async fn a_stream_that_breaks_says_so() {
    let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let error =
        format!("{piece}data: {{\"error\":{{\"message\":\"out\\nof memory sk-abc\"}}}}\n\n");
    let half = format!("{piece}data: {{\"choices\"");
    let (address, serving) = serve(vec![
        Reply::stream(&error),
        Reply::stream(&half),
        Reply::broken(piece),
        Reply::stream("<html>hello</html>"),
        Reply::stream(piece),
    ])
    .await;
    let model = model(&address, "");
    assert_eq!(
        ask(&model).await,
        Err(ModelError::BrokenStream { reason: "out of memory …".to_owned() })
    );
    assert_eq!(
        ask(&model).await,
        Err(ModelError::BrokenStream { reason: "JSON that breaks".to_owned() })
    );
    assert!(matches!(ask(&model).await, Err(ModelError::BrokenStream { .. })));
    let no_completion = ask(&model).await.unwrap_err().to_string();
    assert!(no_completion.contains("no chat completion"), "{no_completion}");
    assert_eq!(ask(&model).await, Ok(Answer { truncated: true, ..said("Hi") }));
    serving.await.unwrap();
}

#[tokio::test]
async fn an_answer_over_the_limit_is_not_held() {
    let piece = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "x".repeat(600)
    );
    let endless = "x".repeat(100_000);
    let (address, serving) = serve(vec![
        Reply::stream(&piece.repeat(2)),
        Reply::stream(&format!("data: {endless}")),
        Reply::stream(&format!("{{\"a\":\"{endless}\"}}")),
    ])
    .await;
    let model = model(&address, "max_answer_bytes = 1024");
    for _ in 0..3 {
        assert_eq!(ask(&model).await, Err(ModelError::TooLarge { limit_bytes: 1024 }));
    }
    serving.await.unwrap();
}
