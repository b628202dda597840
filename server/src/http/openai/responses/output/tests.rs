//! Tests of the events of a response.

use orion_domain::CallId;
use uuid::Uuid;

use super::*;

fn call(state: CallState, result: Option<&str>) -> CallOf {
    CallOf {
        id: CallId::new(Uuid::from_u128(7)),
        tool: "read_file".to_owned(),
        arguments: "{}".to_owned(),
        result: result.map(str::to_owned),
        error: None,
        state,
    }
}

#[test]
fn each_item_is_added_filled_and_done_and_events_are_numbered() {
    let (mut output, so_far) = (Output::new(&Map::new(), 5), SoFar::default());
    for step in [
        Step::Began,
        Step::Text("I ".to_owned()),
        Step::Text("look.".to_owned()),
        Step::CallBegan(call(CallState::Received, None)),
        Step::CallEnded(call(CallState::Succeeded, Some("a long result"))),
        Step::Text("Done.".to_owned()),
        Step::Done,
    ] {
        output.take(&step, &so_far);
    }
    let events = output.events();
    let kinds: Vec<_> = events.iter().map(|it| it["type"].as_str().unwrap()).collect();
    let of_message = |deltas: usize| {
        ["response.output_item.added", "response.content_part.added"]
            .into_iter()
            .chain(vec!["response.output_text.delta"; deltas])
            .chain([
                "response.output_text.done",
                "response.content_part.done",
                "response.output_item.done",
            ])
    };
    let of_call = [
        "response.output_item.added",
        "response.mcp_call.in_progress",
        "response.mcp_call_arguments.done",
        "response.mcp_call.completed",
        "response.output_item.done",
    ];
    let expected: Vec<_> = ["response.created", "response.in_progress"]
        .into_iter()
        .chain(of_message(2))
        .chain(of_call)
        .chain(of_message(1))
        .chain(["response.completed"])
        .collect();
    assert_eq!(kinds, expected);
    let numbers: Vec<_> = events.iter().map(|it| it["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let done = &events.last().unwrap()["response"]["output"];
    assert_eq!(done[0]["content"][0]["text"], "I look.");
    assert_eq!(done[1]["output"], "a lon");
    assert_eq!(done[2]["content"][0]["text"], "Done.");
}
