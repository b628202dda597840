//! Every accepted shape of a call that is the whole output, and what only looks like one.

use rstest::rstest;
use serde_json::{Value, json};

use super::{CALL, call, extract, made, only, prose, recovered, with_id};
use crate::extract::{ExtractProblem, ExtractedCall, from_native};

#[rstest]
#[case::first_form(CALL, call())]
#[case::pretty_printed(
    "{\n  \"tool\": \"create_directory\",\r\n\t\"device\": \"laptop-123\",\n  \"path\": \"C:/Users/ann/Test\"\n}\n",
    call()
)]
#[case::parameters(
    r#"{"tool":"create_directory","device":"laptop-123","parameters":{"path":"C:/Users/ann/Test"}}"#,
    call()
)]
#[case::device_among_parameters(
    r#"{"tool":"create_directory","parameters":{"device":"laptop-123","path":"C:/Users/ann/Test"}}"#,
    call()
)]
#[case::same_device_twice(
    r#"{"tool":"create_directory","device":"laptop-123","parameters":{"device":"laptop-123","path":"C:/Users/ann/Test"}}"#,
    call()
)]
#[case::parameters_and_flat(
    r#"{"tool":"t","a":1,"parameters":{"b":2}}"#,
    made("t", None, json!({"a": 1, "b": 2}))
)]
#[case::arguments_object(r#"{"tool":"t","arguments":{"a":1}}"#, made("t", None, json!({"a": 1})))]
#[case::args_object(r#"{"tool":"t","args":{"a":1}}"#, made("t", None, json!({"a": 1})))]
#[case::input_object(r#"{"tool":"t","input":{"a":1}}"#, made("t", None, json!({"a": 1})))]
#[case::arguments_text(r#"{"tool":"t","arguments":"{\"a\":1}"}"#, made("t", None, json!({"a": 1})))]
#[case::args_text(r#"{"tool":"t","args":" {\"a\":1}"}"#, made("t", None, json!({"a": 1})))]
#[case::args_of_an_app(
    r#"{"tool":"open_app","device":"d","app":"chrome","args":["https://example.com"]}"#,
    made("open_app", Some("d"), json!({"app": "chrome", "args": ["https://example.com"]}))
)]
#[case::plain_text_args(r#"{"tool":"t","args":"-v"}"#, made("t", None, json!({"args": "-v"})))]
#[case::args_inside_parameters(
    r#"{"tool":"t","parameters":{"args":{"a":1}}}"#,
    made("t", None, json!({"args": {"a": 1}}))
)]
#[case::no_arguments(r#"{"tool":"get_datetime"}"#, made("get_datetime", None, json!({})))]
#[case::null_parameters(r#"{"tool":"get_datetime","parameters":null}"#, made("get_datetime", None, json!({})))]
#[case::null_device(r#"{"tool":"get_datetime","device":null}"#, made("get_datetime", None, json!({})))]
#[case::name_argument(
    r#"{"tool":"search_directory","name":"photos","base":"/srv"}"#,
    made("search_directory", None, json!({"name": "photos", "base": "/srv"}))
)]
#[case::tool_argument(
    r#"{"tool":"get_audit_log","parameters":{"tool":"read_file"}}"#,
    made("get_audit_log", None, json!({"tool": "read_file"}))
)]
#[case::id_argument(r#"{"tool":"t","id":"7"}"#, made("t", None, json!({"id": "7"})))]
#[case::call_id(r#"{"tool":"t","id":"c1","parameters":{"id":"7"}}"#, with_id("c1", made("t", None, json!({"id": "7"}))))]
#[case::name_with_text(
    r#"{"name":"create_directory","arguments":"{\"device\":\"laptop-123\",\"path\":\"C:/Users/ann/Test\"}"}"#,
    call()
)]
#[case::name_with_object(
    r#"{"name":"create_directory","arguments":{"device":"laptop-123","path":"C:/Users/ann/Test"}}"#,
    call()
)]
#[case::arguments_before_name(r#"{"arguments":{"a":1},"name":"t"}"#, made("t", None, json!({"a": 1})))]
#[case::llama(
    r#"{"type": "function", "name": "create_directory", "parameters": {"device": "laptop-123", "path": "C:/Users/ann/Test"}}"#,
    call()
)]
#[case::device_beside_name(r#"{"name":"t","device":"d","arguments":{}}"#, made("t", Some("d"), json!({})))]
#[case::empty_arguments_text(r#"{"name":"t","arguments":""}"#, made("t", None, json!({})))]
#[case::openai_function(
    r#"{"id":"call_9","type":"function","function":{"name":"t","arguments":"{\"a\":1}"}}"#,
    with_id("call_9", made("t", None, json!({"a": 1})))
)]
#[case::openai_function_without_arguments(
    r#"{"type":"function","function":{"name":"get_datetime"}}"#,
    made("get_datetime", None, json!({}))
)]
#[case::openai_responses(
    r#"{"type":"function_call","id":"fc_1","call_id":"call_1","name":"t","arguments":"{\"a\":1}","status":"completed"}"#,
    with_id("call_1", made("t", None, json!({"a": 1})))
)]
#[case::anthropic(
    r#"{"type":"tool_use","id":"toolu_1","name":"t","input":{"a":1}}"#,
    with_id("toolu_1", made("t", None, json!({"a": 1})))
)]
#[case::anthropic_without_input(
    r#"{"type":"tool_use","id":"toolu_1","name":"t"}"#,
    with_id("toolu_1", made("t", None, json!({})))
)]
#[case::openai_message(
    r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"t","arguments":"{}"}}]}"#,
    with_id("c", made("t", None, json!({})))
)]
#[case::ollama_message(
    r#"{"tool_calls":[{"function":{"name":"t","arguments":{"a":1}}}]}"#,
    made("t", None, json!({"a": 1}))
)]
#[case::device_beside_tool_calls(r#"{"device":"d","tool_calls":[{"tool":"t"}]}"#, made("t", Some("d"), json!({})))]
#[case::list_of_one(r#"[{"name":"t","arguments":{"a":1}}]"#, made("t", None, json!({"a": 1})))]
#[case::dry_run(
    r#"{"tool":"t","dry_run":true}"#,
    ExtractedCall { dry_run: true, ..made("t", None, json!({})) }
)]
#[case::dry_run_among_arguments(
    r#"{"name":"t","arguments":"{\"dry_run\":true,\"queue\":false}"}"#,
    ExtractedCall { dry_run: true, queue: Some(false), ..made("t", None, json!({})) }
)]
#[case::queue(r#"{"tool":"t","queue":true}"#, ExtractedCall { queue: Some(true), ..made("t", None, json!({})) })]
#[case::wrapper_tool_call(r#"{"tool_call":{"name":"t","arguments":{}}}"#, recovered(made("t", None, json!({}))))]
#[case::wrapper_function_call(
    r#"{"content":null,"function_call":{"name":"t","arguments":"{}"}}"#,
    recovered(made("t", None, json!({})))
)]
#[case::wrapper_action(
    r#"{"thought":"a folder is needed","action":{"tool":"t","a":1}}"#,
    recovered(made("t", None, json!({"a": 1})))
)]
#[case::dry_run_beside_a_wrapper(
    r#"{"action":{"tool":"t"},"dry_run":true}"#,
    recovered(ExtractedCall { dry_run: true, ..made("t", None, json!({})) })
)]
#[case::escaped_names(r#"{"t\u006fol":"t","a":"\u00e9\n"}"#, made("t", None, json!({"a": "é\n"})))]
fn a_call_that_is_the_whole_output_is_taken(#[case] output: &str, #[case] expected: ExtractedCall) {
    assert_eq!(extract(output), only(vec![expected]));
}

#[rstest]
#[case::nothing("")]
#[case::white_space(" \n\t ")]
#[case::plain("I have made the folder.")]
#[case::name_alone(r#"{"name": "Bob"}"#)]
#[case::name_with_other_things(r#"{"name": "Bob", "age": 7, "tags": ["a"]}"#)]
#[case::name_with_input_text(r#"{"name": "email", "input": "text"}"#)]
#[case::name_with_parameter_list(r#"{"name": "f", "parameters": ["a", "b"]}"#)]
#[case::tool_that_is_no_text(r#"{"tool": null, "answer": "no tool is needed"}"#)]
#[case::empty_tool(r#"{"tool": "", "answer": 4}"#)]
#[case::definition(
    r#"{"name":"t","description":"d","parameters":{"type":"object","properties":{"a":{}}}}"#
)]
#[case::openai_definition(
    r#"{"type":"function","function":{"name":"t","parameters":{"type":"object","properties":{}}}}"#
)]
#[case::unknown_wrapper(r#"{"plan":{"tool":"t"}}"#)]
#[case::two_wrappers_deep(r#"{"action":{"action":{"tool":"t"}}}"#)]
#[case::list_of_lists(r#"[[{"tool":"t"}]]"#)]
#[case::list_of_other_things(r#"[{"a":1},2,"x"]"#)]
#[case::no_tool_calls(r#"{"content":"hello","tool_calls":[]}"#)]
#[case::braces_in_prose("Use {name} and {{value}}, as in f(x) { return [x] }.")]
#[case::links("See [the manual](https://example.com) [1] and [tool: hammer].")]
#[case::placeholder("The form is {tool} with {device}.")]
#[case::javascript("const x = { name: \"bob\", run() {} };")]
#[case::python_dictionary("d = {\"a\": b, 'c': 1}")]
#[case::tag_in_prose("Calls stand in <tool_call> tags.")]
#[case::same_name_twice_elsewhere(r#"{"a":1,"a":2}"#)]
fn prose_stays_prose(#[case] output: &str) {
    assert_eq!(extract(output), prose(output));
}

#[rstest]
#[case::object(r#"{"device":"d","path":"x"}"#, Ok(with_id("c", made("t", Some("d"), json!({"path": "x"})))))]
#[case::nothing("", Ok(with_id("c", made("t", None, json!({})))))]
#[case::null(" null ", Ok(with_id("c", made("t", None, json!({})))))]
#[case::names_of_containers(r#"{"args":{"a":1}}"#, Ok(with_id("c", made("t", None, json!({"args": {"a": 1}})))))]
#[case::list("[1]", Err(ExtractProblem::ArgumentsNotObject { tool: "t".into(), key: "arguments".into() }))]
#[case::encoded_twice(r#""{}""#, Err(ExtractProblem::ArgumentsNotObject { tool: "t".into(), key: "arguments".into() }))]
#[case::same_name_twice(r#"{"a":1,"a":2}"#, Err(ExtractProblem::DuplicateKey { start: 0, key: "a".into() }))]
#[case::dry_run_text(r#"{"dry_run":"yes"}"#, Err(ExtractProblem::NotABool { tool: "t".into(), key: "dry_run".into() }))]
#[case::cut_off(r#"{"path":"#, Err(ExtractProblem::ArgumentsNotJson {
    tool: "t".into(), key: "arguments".into(), at: 7, why: "EOF while parsing a value".into(),
}))]
fn native_calls_have_the_same_shape(
    #[case] arguments: &str,
    #[case] expected: Result<ExtractedCall, ExtractProblem>,
) {
    assert_eq!(from_native(Some("c"), "t", arguments), expected);
}

#[test]
fn a_native_call_needs_a_name_and_a_bounded_size() {
    assert_eq!(from_native(None, " ", "{}"), Err(ExtractProblem::NotACall { start: 0 }));
    let size_bytes = 1024 * 1024 + 1;
    assert_eq!(
        from_native(None, "t", &" ".repeat(size_bytes)),
        Err(ExtractProblem::TooLarge { size_bytes, limit_bytes: 1024 * 1024 })
    );
}

#[rstest]
#[case::plain(json!({"path": "x", "args": ["a"], "id": 1}), json!({"tool": "t", "path": "x", "args": ["a"], "id": 1}))]
#[case::name_with_a_meaning(json!({"tool": "x"}), json!({"tool": "t", "parameters": {"tool": "x"}}))]
#[case::container(json!({"input": {}}), json!({"tool": "t", "parameters": {"input": {}}}))]
fn the_flat_form_says_the_same(#[case] arguments: Value, #[case] expected: Value) {
    let call = made("t", None, arguments);
    assert_eq!(call.flat(), expected);
    assert_eq!(extract(&expected.to_string()), only(vec![call]));
}
