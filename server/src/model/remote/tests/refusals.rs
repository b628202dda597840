//! Servers that reject, wait, or send nothing.

use std::time::Duration;

use serde_json::Value;

use super::server::{Reply, serve};
use super::{ask, asked, model, said};
use crate::model::remote::Remote;
use crate::model::{ModelConfig, ModelError};

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn refuse(status: &str, body: &str) -> Reply {
    Reply::whole(status, "Content-Type: application/json\r\n", body)
}

#[tokio::test]
async fn a_server_that_takes_no_tools_is_told_of_them_in_words_from_then_on() {
    let no = r#"{"error":{"message":"registry/m does not support tools"}}"#;
    let (address, serving) =
        serve(vec![refuse("400 Bad Request", no), Reply::stream(HELLO), Reply::stream(HELLO)])
            .await;
    let model = model(&address, "");
    // Then text is searched for calls.
    assert_eq!(asked(&model).await, Ok((said("Hi"), false)));
    assert_eq!(asked(&model).await, Ok((said("Hi"), false)));
    let asked = serving.await.unwrap().asked;
    let native: Vec<bool> = asked.iter().map(|(_, body)| body.get("tools").is_some()).collect();
    assert_eq!(native, [true, false, false]);
    for (_, body) in asked.iter().skip(1) {
        let system = body.pointer("/messages/0/content").and_then(Value::as_str).unwrap();
        assert!(system.contains("create_directory: Makes a folder."), "{system}");
    }
}

#[tokio::test]
async fn a_server_that_failed_or_refuses_a_message_is_offered_tools_again() {
    let failed = r#"{"error":{"message":"the tool parser does not support this"}}"#;
    let message = r#"{"error":{"message":"messages with role 'tool' must follow a preceding message with 'tool_calls'"}}"#;
    let failing = || refuse("500 Internal Server Error", failed);
    let replies = vec![
        failing(),
        failing(),
        failing(),
        refuse("400 Bad Request", message),
        Reply::stream(HELLO),
    ];
    let (address, serving) = serve(replies).await;
    let model = model(&address, "");
    for status in [500, 400] {
        let error = ask(&model).await.unwrap_err();
        assert!(
            matches!(error, ModelError::Refused { status: said, .. } if said == status),
            "{error}"
        );
    }
    assert_eq!(asked(&model).await, Ok((said("Hi"), true)));
    let asked = serving.await.unwrap().asked;
    assert!(asked.iter().all(|(_, body)| body.get("tools").is_some()));
}

#[tokio::test]
async fn a_server_that_refused_tools_is_offered_them_again_after_a_while() {
    let no = r#"{"detail":[{"loc":["body","tools"],"msg":"Extra inputs are not permitted"}]}"#;
    let (address, serving) = serve(vec![
        refuse("422 Unprocessable Entity", no),
        Reply::stream(HELLO),
        Reply::stream(HELLO),
    ])
    .await;
    let model = Remote { text_mode_ttl: Duration::ZERO, ..model(&address, "") };
    assert_eq!(ask(&model).await, Ok(said("Hi")));
    assert_eq!(ask(&model).await, Ok(said("Hi")));
    let asked = serving.await.unwrap().asked;
    let native: Vec<bool> = asked.iter().map(|(_, body)| body.get("tools").is_some()).collect();
    assert_eq!(native, [true, false, true]);
}

#[test]
fn what_well_known_servers_say_of_tools_that_they_do_not_take_is_understood() {
    use crate::model::remote::attempt::refuses_tools;
    for (status, text) in [
        (400, "registry.ollama.ai/library/gemma does not support tools"),
        (
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
        ),
        (400, "tools param requires --jinja flag"),
        (404, "No endpoints found that support tool use."),
        (400, "Unsupported parameter: 'tools' is not supported with this model."),
        (400, "deepseek-reasoner does not support Function Calling"),
    ] {
        let status = reqwest::StatusCode::from_u16(status).unwrap();
        assert!(refuses_tools(status, text), "{text}");
        assert!(!refuses_tools(reqwest::StatusCode::INTERNAL_SERVER_ERROR, text), "{text}");
    }
    for text in [
        "no such model",
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    ] {
        assert!(!refuses_tools(reqwest::StatusCode::BAD_REQUEST, text), "{text}");
    }
}

#[tokio::test]
async fn only_auto_falls_back_and_only_for_tools() {
    let no_tools = r#"{"error":{"message":"no tools here"}}"#;
    let no_model = r#"{"error":{"message":"no such model"}}"#;
    for (more, body, message) in
        [("tool_calls = \"native\"", no_tools, "no tools here"), ("", no_model, "no such model")]
    {
        let (address, serving) = serve(vec![refuse("404 Not Found", body)]).await;
        assert_eq!(
            ask(&model(&address, more)).await,
            Err(ModelError::Refused { status: 404, message: message.to_owned() })
        );
        serving.await.unwrap();
    }
    let (address, serving) = serve(vec![Reply::stream(HELLO)]).await;
    assert_eq!(asked(&model(&address, "tool_calls = \"text\"")).await, Ok((said("Hi"), false)));
    assert_eq!(serving.await.unwrap().asked[0].1.get("tools"), None);
}

#[tokio::test]
async fn a_server_in_trouble_is_asked_at_most_three_times() {
    let busy = || refuse("503 Service Unavailable", "busy");
    let limited = || Reply::whole("429 Too Many Requests", "Retry-After: 0\r\n", "");
    let (address, serving) = serve(vec![busy(), limited(), Reply::stream(HELLO)]).await;
    assert_eq!(ask(&model(&address, "")).await, Ok(said("Hi")));
    serving.await.unwrap();

    let (address, serving) = serve(vec![busy(), busy(), busy(), Reply::stream(HELLO)]).await;
    let error = ask(&model(&address, "")).await;
    assert_eq!(error, Err(ModelError::Overloaded { retry_after: None }));
    serving.abort();
}

#[tokio::test]
async fn a_long_wait_is_for_people_and_a_wrong_key_is_not_tried_twice() {
    let wait = Reply::whole("429 Too Many Requests", "Retry-After: 11\r\n", "");
    let (address, serving) = serve(vec![wait, refuse("401 Unauthorized", "{}")]).await;
    let model = model(&address, "");
    assert_eq!(
        ask(&model).await,
        Err(ModelError::RateLimited { retry_after: Some(Duration::from_secs(11)) })
    );
    assert_eq!(ask(&model).await, Err(ModelError::Unauthorized));
    assert_eq!(serving.await.unwrap().asked.len(), 2);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_is_tried_again() {
    let nothing = Reply { pieces: Vec::new(), stays_open: false };
    let (address, serving) = serve(vec![nothing, Reply::stream(HELLO)]).await;
    assert_eq!(ask(&model(&address, "")).await, Ok(said("Hi")));
    serving.await.unwrap();
}

#[tokio::test]
async fn a_redirect_is_refused_and_the_key_stays_here() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    std::fs::write(&path, "hunter2\n").unwrap();
    let (address, serving) = serve(vec![
        Reply::whole("307 Temporary Redirect", "Location: http://127.0.0.1:1/\r\n", ""),
        refuse("400 Bad Request", r#"{"error":{"message":"bad key hunter2"}}"#),
    ])
    .await;
    let model = model(&address, &format!("api_key_file = {:?}", path.display().to_string()));
    let error = ask(&model).await.unwrap_err().to_string();
    assert!(error.contains("307") && error.contains("not followed"), "{error}");
    assert_eq!(
        ask(&model).await,
        Err(ModelError::Refused { status: 400, message: "bad key …".to_owned() })
    );
    assert!(!format!("{model:?}").contains("hunter2"));
    let asked = serving.await.unwrap().asked;
    let head = &asked[0].0;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer hunter2\r\n"), "{head}");
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_names_the_host_only() {
    let (address, serving) = serve(Vec::new()).await;
    serving.await.unwrap();
    let error = ask(&model(&address, "")).await.unwrap_err();
    let ModelError::Unreachable { host, .. } = &error else { panic!("{error}") };
    assert_eq!(*host, address);
    assert!(!error.to_string().contains("/v1"), "{error}");
}

#[tokio::test]
async fn silence_has_an_end_before_and_within_an_answer() {
    let silent = || Reply { stays_open: true, ..Reply::stream("") };
    let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
    let stuck = Reply { stays_open: true, ..Reply::stream(piece) };
    let (address, serving) = serve(vec![silent(), stuck]).await;
    let brief = Duration::from_millis(500);
    let before = Remote { timeout: brief, ..model(&address, "") };
    assert_eq!(ask(&before).await, Err(ModelError::TimedOut { after: brief, begun: false }));
    let within = Remote { idle: brief, ..model(&address, "") };
    assert!(matches!(ask(&within).await, Err(ModelError::BrokenStream { .. })));
    serving.await.unwrap();
}

#[test]
fn an_address_that_cannot_be_used_is_refused_with_the_reason() {
    for (url, part) in [
        ("localhost:11434/v1", "must begin with http"),
        ("ftp://localhost/v1", "must begin with http"),
        ("http://ann:secret@localhost/v1", "must not hold a key"),
        ("http://localhost/v1?key=secret", "must end with its path"),
        ("http://", "is no address"),
    ] {
        let config = ModelConfig {
            kind: crate::model::ModelKind::Openai,
            url: Some(url.to_owned()),
            model: Some("m".to_owned()),
            ..ModelConfig::planner()
        };
        let error = Remote::new(&config).unwrap_err().to_string();
        assert!(error.contains(part) && !error.contains("secret"), "{error}");
    }
}
