//! A destination that lies about what it has.

use std::time::Duration;

use orion_domain::{CallState, Envelope, ErrorCode, Meta, ToolError};
use orion_tests::{LyingAgent, World};
use orion_wire::v1;
use orion_wire::v1::link_request::Message;
use orion_wire::v1::{move_content_request, move_content_response};
use serde_json::json;
use tokio::time::timeout;

use super::{PART, bytes};

/// How long nothing more may come.
const QUIET: Duration = Duration::from_secs(2);

/// Opens a stream for a call and answers everything with this count of bytes. Returns how many parts with content came
/// until the backend fell silent.
async fn parts(agent: &LyingAgent, call: &str, received: u64) -> usize {
    let (answers, mut requests) = agent.open_content(call).await.unwrap();
    let mut count = 0;
    while let Ok(Ok(Some(request))) = timeout(QUIET, requests.message()).await {
        if let Some(move_content_response::Message::Part(part)) = &request.message {
            count += usize::from(!part.content.is_empty());
        }
        assert!(count < 100, "the source is read without an end");
        let message = move_content_request::Message::Received(v1::ContentReceived { received });
        let answer = v1::MoveContentRequest { number: request.number, message: Some(message) };
        answers.send(answer).await.unwrap();
    }
    count
}

fn failed(call_id: &str) -> Message {
    let meta = Meta { call_id: call_id.to_owned(), ..Meta::default() };
    let error = ToolError::new(ErrorCode::ExecutionFailed, "It failed.");
    Message::CallResult(v1::CallResult {
        call_id: call_id.to_owned(),
        state: v1::CallState::Failed.into(),
        code: ErrorCode::ExecutionFailed.as_str().to_owned(),
        result: serde_json::to_vec(&Envelope::failure(error, false, meta)).unwrap().into(),
        duration_us: 1,
        ..v1::CallResult::default()
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_destination_has_no_part_of_its_source_read_twice() {
    let world = World::new().await;
    let laptop = world.device("laptop").start().await;
    laptop.write_file("report.bin", bytes(4 * PART));
    let liar = world.device("liar").enroll().await;
    let mut agent = LyingAgent::connect(&liar, &world.device_address(), 1).await.unwrap();
    liar.ready().await;
    let admin = world.admin();
    let mut readings = 0;
    // It has nothing whatever it gets, and it has more than there is.
    for (received, most) in [(0, 1), (u64::MAX, 0)] {
        let arguments = json!({"from_device": "laptop", "from_path": "report.bin", "path": "copy"});
        let call = admin.begin("liar", "transfer_file", &arguments).await.unwrap();
        let order = agent.order().await;
        assert_eq!(order.call_id, call.id);
        // Another stream of the same call, and a call that does not end after its failure, change nothing.
        let first = parts(&agent, &call.id, received).await;
        assert_eq!(first, most);
        for _ in 0..3 {
            assert_eq!(parts(&agent, &call.id, received).await, 0);
        }
        readings += 1;
        let request = v1::ListCallsRequest { device: "laptop".to_owned(), ..Default::default() };
        let calls = admin.tools().list_calls(request).await.unwrap().into_inner().calls;
        assert_eq!(calls.len(), readings, "{calls:?}");
        agent.say(failed(&call.id)).await;
        assert_eq!(admin.ended(&call.id).await.unwrap().state, CallState::Failed);
    }
}
