//! What looks like a call and is not read as one, and the problems reported for it.

use rstest::rstest;
use serde_json::json;

use super::{extract, made, prose, recovered};
use crate::extract::{
    ExtractProblem as P, Extraction, MAX_CALLS, MAX_OUTPUT_BYTES, MAX_PROBLEMS, from_native,
};

#[rstest]
#[case::cut_off(r#"{"tool":"t","path":"C:/Us"#, P::Unfinished { start: 0, at: 25 })]
#[case::cut_off_behind_prose(r#"Ok: {"tool":"t""#, P::Unfinished { start: 4, at: 15 })]
#[case::cut_off_name(r#"{"name":"create_directory","argu"#, P::Unfinished { start: 0, at: 32 })]
#[case::missing_bracket(r#"{"tool":"t","parameters":{"a":1}"#, P::Unfinished { start: 0, at: 32 })]
#[case::missing_bracket_in_fence(
    "```json\n{\"tool\":\"t\"\n```",
    P::Broken { start: 8, at: 20, why: "a comma or the closing bracket is missing here".into() }
)]
#[case::wrong_bracket(
    r#"{"tool":"t"]"#,
    P::Broken { start: 0, at: 11, why: "a comma or the closing bracket is missing here".into() }
)]
#[case::trailing_comma(
    r#"{"tool":"t",}"#,
    P::Broken { start: 0, at: 12, why: "a name in double quotes is missing here".into() }
)]
#[case::trailing_comma_in_list(
    r#"[{"tool":"t"},]"#,
    P::Broken { start: 0, at: 14, why: "a value is missing here".into() }
)]
#[case::comment(
    r#"{"tool":"t", // why"#,
    P::Broken { start: 0, at: 13, why: "a name in double quotes is missing here".into() }
)]
#[case::ellipsis(r#"{"tool": ...}"#, P::Broken { start: 0, at: 9, why: "a value is missing here".into() })]
#[case::python_literal(
    r#"{"tool":"t","confirm":True}"#,
    P::Broken { start: 0, at: 22, why: "a value is missing here".into() }
)]
#[case::single_quotes(
    "{'tool': 't'}",
    P::Broken { start: 0, at: 1, why: "a name in double quotes is missing here".into() }
)]
#[case::single_quotes_name(
    "{'name': 't', 'arguments': {}}",
    P::Broken { start: 0, at: 1, why: "a name in double quotes is missing here".into() }
)]
#[case::raw_line_break(
    "{\"tool\":\"t\",\n\"a\":\"x\ny\"}",
    P::Broken { start: 0, at: 19, why: "control character (\\u0000-\\u001F) found while parsing a string".into() }
)]
#[case::bad_number(r#"{"tool":"t","a":01}"#, P::Broken { start: 0, at: 17, why: "invalid number".into() })]
#[case::bad_escape(r#"{"tool":"t","a":"C:\Users"}"#, P::Broken { start: 0, at: 20, why: "invalid escape".into() })]
#[case::same_name_twice(r#"{"tool":"t","path":"a","path":"b"}"#, P::DuplicateKey { start: 0, key: "path".into() })]
#[case::same_name_twice_escaped(
    r#"{"tool":"a","t\u006fol":"b"}"#,
    P::DuplicateKey { start: 0, key: "tool".into() }
)]
#[case::same_name_twice_inside(
    r#"x {"tool":"t","parameters":{"a":{"b":1,"b":1}}}"#,
    P::DuplicateKey { start: 2, key: "b".into() }
)]
#[case::same_name_twice_in_text(
    r#"{"name":"t","arguments":"{\"a\":1,\"a\":2}"}"#,
    P::DuplicateKey { start: 0, key: "a".into() }
)]
#[case::arguments_prose(r#"{"name":"t","arguments":"path=C:/x"}"#, P::ArgumentsNotJson {
    tool: "t".into(), key: "arguments".into(), at: 0, why: "expected value".into(),
})]
#[case::arguments_list(
    r#"{"tool":"t","parameters":["a"]}"#,
    P::ArgumentsNotObject { tool: "t".into(), key: "parameters".into() }
)]
#[case::two_arguments(
    r#"{"tool":"t","parameters":{"a":1},"input":{"a":2}}"#,
    P::TwoArguments { tool: "t".into(), first: "parameters".into(), second: "input".into() }
)]
#[case::clash(
    r#"{"tool":"t","path":"a","parameters":{"path":"b"}}"#,
    P::GivenTwice { tool: "t".into(), key: "path".into() }
)]
#[case::two_devices(
    r#"{"tool":"t","device":"a","parameters":{"device":"b"}}"#,
    P::GivenTwice { tool: "t".into(), key: "device".into() }
)]
#[case::two_devices_around(
    r#"{"device":"a","action":{"tool":"t","device":"b"}}"#,
    P::GivenTwice { tool: "t".into(), key: "device".into() }
)]
#[case::dry_run_both_ways(
    r#"{"tool":"t","dry_run":true,"parameters":{"dry_run":false}}"#,
    P::GivenTwice { tool: "t".into(), key: "dry_run".into() }
)]
#[case::dry_run_text(r#"{"tool":"t","dry_run":"true"}"#, P::NotABool { tool: "t".into(), key: "dry_run".into() })]
#[case::dry_run_null(r#"{"tool":"t","dry_run":null}"#, P::NotABool { tool: "t".into(), key: "dry_run".into() })]
#[case::queue_number(r#"{"tool":"t","queue":1}"#, P::NotABool { tool: "t".into(), key: "queue".into() })]
#[case::device_list(r#"{"tool":"t","device":["a"]}"#, P::NotText { tool: "t".into(), key: "device".into() })]
#[case::mixed_list(r#"[{"tool":"t"},{"a":1}]"#, P::MixedList { start: 0 })]
#[case::several_wrappers(r#"{"action":{"tool":"a"},"tool_call":{"tool":"b"}}"#, P::SeveralCalls { start: 0 })]
#[case::other_json_in_tag(r#"<tool_call>{"path":"x"}</tool_call>"#, P::NotACall { start: 11 })]
#[case::other_xml_in_tag("<tool_call><call name=t/></tool_call>", P::NotACall { start: 0 })]
#[case::broken_in_tag("<tool_call>{path: 1}</tool_call>", P::Broken {
    start: 11, at: 12, why: "a name in double quotes is missing here".into(),
})]
#[case::other_json_in_tool_calls(r#"{"tool_calls":[{"path":"x"}]}"#, P::NotACall { start: 0 })]
#[case::behind_broken_json(
    r#"{"a": b} {"tool":"t"}"#,
    P::AfterBroken { start: 9, broken_at: 6 }
)]
#[case::behind_a_tag_that_is_not_alone_on_its_line(
    "{\"a\": b\n</think> x {\"tool\":\"t\"}",
    P::AfterBroken { start: 19, broken_at: 6 }
)]
#[case::behind_a_tag_that_ends_a_line(
    "{\"a\": b</think>\n{\"tool\":\"t\"}",
    P::AfterBroken { start: 16, broken_at: 6 }
)]
#[case::behind_a_broken_action(
    r#"{"action": 01} {"tool":"t"}"#,
    P::AfterBroken { start: 15, broken_at: 12 }
)]
fn a_doubtful_call_is_a_problem_and_stays_in_the_text(#[case] output: &str, #[case] expected: P) {
    assert_eq!(extract(output), Extraction { problems: vec![expected], ..prose(output) });
}

#[test]
fn one_bad_call_does_not_take_the_good_ones_with_it() {
    let output = r#"{"tool_calls":[{"tool":"a"},{"tool":"b","dry_run":1},{"tool":"c"}]}"#;
    let expected = Extraction {
        calls: vec![made("a", None, json!({})), made("c", None, json!({}))],
        text: String::new(),
        problems: vec![P::NotABool { tool: "b".into(), key: "dry_run".into() }],
        set_aside: vec![],
    };
    assert_eq!(extract(output), expected);
}

#[test]
fn a_bad_call_stays_in_the_text_behind_a_good_one() {
    let bad = r#"{"tool":"t","dry_run":1}"#;
    let expected = Extraction {
        calls: vec![recovered(made("a", None, json!({})))],
        text: bad.to_owned(),
        problems: vec![P::NotABool { tool: "t".into(), key: "dry_run".into() }],
        set_aside: vec![],
    };
    assert_eq!(extract(&format!(r#"{{"tool":"a"}} {bad}"#)), expected);
}

#[rstest]
#[case::a_name_of_another_type(r#"{"name":"Ann","type":"person"}"#)]
#[case::an_empty_fence("x ```json\n``` y")]
#[case::a_call_in_a_list_that_breaks(r#"["a {"tool":"t"}"#)]
fn what_is_no_call_stays_in_the_text(#[case] output: &str) {
    assert_eq!(extract(output), prose(output));
}

#[test]
fn nothing_is_taken_behind_the_first_broken_call() {
    let output = r#"{"tool":} <tool_call>{"tool":}</tool_call> {"tool":"t"}"#;
    let why = "a value is missing here".to_owned();
    let problems = vec![P::Broken { start: 0, at: 8, why }, P::NotACall { start: 10 }];
    assert_eq!(extract(output), Extraction { problems, ..prose(output) });
}

#[test]
fn nothing_is_taken_or_said_behind_the_last_problem() {
    let bad = format!("<tool_call>{}", "{}".repeat(MAX_PROBLEMS));
    let found = extract(&format!("{bad}{{\"tool\":\"t\"}}<think>"));
    assert_eq!((found.calls, found.problems.len()), (vec![], MAX_PROBLEMS));
}

#[test]
fn depth_is_bounded_in_text_and_in_arguments() {
    let nest = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let call = |levels| format!("{{\"tool\":\"t\",\"a\":{}}}", nest(levels));
    assert_eq!(extract(&call(63)).calls.len(), 1);
    assert_eq!(extract(&call(64)).problems, [P::TooDeep { start: 0, at: 79 }]);
    let text = |levels| {
        json!({"name": "t", "arguments": format!("{{\"a\":{}}}", nest(levels))}).to_string()
    };
    assert_eq!(extract(&text(63)).calls.len(), 1);
    assert_eq!(extract(&text(64)).problems, [P::TooDeep { start: 0, at: 0 }]);
}

#[test]
fn calls_and_problems_are_bounded() {
    let call = "{\"tool\":\"t\"}\n";
    let found = extract(&call.repeat(MAX_CALLS + 9));
    assert_eq!(found.calls.len(), MAX_CALLS);
    assert_eq!(found.problems, [P::TooManyCalls { limit: MAX_CALLS, at: MAX_CALLS * call.len() }]);
    let found = extract(&format!("[{}]", vec!["{\"tool\":\"t\"}"; 5_000].join(",")));
    assert_eq!((found.calls.len(), found.problems.len()), (MAX_CALLS, 1));
    let found = extract(&format!("<tool_call>{}", "{}".repeat(5_000)));
    assert_eq!((found.calls.len(), found.problems.len()), (0, MAX_PROBLEMS));
}

#[test]
fn the_size_is_bounded() {
    let at_the_limit = format!("{{\"tool\":\"t\"}}{}", " ".repeat(MAX_OUTPUT_BYTES - 12));
    assert_eq!(extract(&at_the_limit).calls.len(), 1);
    let problems =
        vec![P::TooLarge { size_bytes: MAX_OUTPUT_BYTES + 1, limit_bytes: MAX_OUTPUT_BYTES }];
    assert_eq!(
        extract(&format!("{at_the_limit} ")),
        Extraction { problems, ..Extraction::default() }
    );
    let at_the_limit = format!("{{}}{}", " ".repeat(MAX_OUTPUT_BYTES - 2));
    assert_eq!(from_native(None, "t", &at_the_limit), Ok(made("t", None, json!({}))));
    let (size_bytes, limit_bytes) = (MAX_OUTPUT_BYTES + 1, MAX_OUTPUT_BYTES);
    let problem = P::TooLarge { size_bytes, limit_bytes };
    assert_eq!(from_native(None, "t", &format!("{at_the_limit} ")), Err(problem));
}

#[test]
fn messages_say_where_why_and_what_to_do() {
    let problem = &extract(r#"Ok {"tool":"t",}"#).problems[0];
    assert_eq!(
        problem.to_string(),
        "the JSON that starts at byte 3 is broken at byte 15: a name in double quotes is missing here; write the \
         call again as strict JSON (double quotes, no trailing commas, no comments, line breaks as \\n)"
    );
    assert_eq!(
        serde_json::to_value(problem).unwrap(),
        json!({"problem": "broken", "start": 3, "at": 15, "why": "a name in double quotes is missing here"})
    );
    assert_eq!(
        P::NotACall { start: 1 }.to_string(),
        "what is at byte 1 is not a call; write {\"tool\": NAME, \"device\": DEVICE, \"parameters\": {…}}"
    );
}
