//! Laws: total on every input, linear work, and every written call is read back.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Map, Value};

use super::{only, recovered};
use crate::extract::{
    ExtractedCall, MAX_CALLS, MAX_OUTPUT_BYTES, MAX_PROBLEMS, examined, extract, from_native,
    occurrences,
};

/// The maximum reads of one byte in the worst known input.
const LOOKS_PER_BYTE: usize = 4;

#[rstest]
#[case("{")]
#[case("[")]
#[case("{\"a\":")]
#[case("{\"a\":[")]
#[case("{\"tool\":")]
#[case("{\"")]
#[case("{\"a{")]
#[case("{ ")]
#[case("{\"a\" ")]
#[case("{\\\"")]
#[case("{\"\\\"{")]
#[case("[1,")]
#[case("[[1],")]
#[case("{\"a\":\"{\",\":\"")]
#[case("[{},")]
#[case("[{\"a\":1},")]
#[case("{\"a\":1}")]
#[case("{\"tool\":1}")]
#[case("{'tool'")]
#[case("{x:")]
#[case("```")]
#[case("```a\n")]
#[case("```a\n[")]
#[case("```a\n{\"")]
#[case("````a```")]
#[case("```a[1,\"")]
#[case("<tool_call>")]
#[case("<tool_call>{")]
#[case("<tool_call></tool_call>")]
#[case("<think>")]
#[case("<think></think> ")]
#[case("</think>")]
#[case("{\"a\":b </think>")]
#[case("{\"tool\":\"t\"} ")]
#[case("tru")]
#[case("[a")]
#[case("\\")]
#[case("é{\"")]
#[case("<function=")]
#[case("<function=a><parameter=b>")]
#[case("<invoke name=\"")]
#[case("<|tool_call_begin|>")]
#[case("<|tool_call>call:a{b:<escape>")]
#[case("<｜tool▁call▁begin｜>")]
#[case("[f(")]
#[case("[f(a=\"")]
#[case("[f(a='[f(a=\"")]
#[case("f(")]
#[case("<|channel|>analysis<|message|>x")]
#[case("<|start|>")]
#[case("[TOOL_CALLS]a")]
#[case("functools[")]
#[case("```tool_code\nf(")]
#[case("<!--")]
#[case("<tool_response>")]
#[case("> ")]
#[case("\n> a")]
#[case("<|im_start|>assistant")]
#[case("x {\"tool\":\"t\"} not ")]
#[case("“{\"tool\":\"t\"}” ")]
#[case("`{\"tool\":\"t\"}` ")]
fn garbage_is_looked_at_a_few_times(#[case] unit: &str) {
    check(unit, 64 * 1024, LOOKS_PER_BYTE);
}

#[rstest]
#[case("{")]
#[case("{\"a\":")]
fn a_megabyte_of_garbage_is_looked_at_a_few_times(#[case] unit: &str) {
    check(unit, MAX_OUTPUT_BYTES, LOOKS_PER_BYTE);
}

#[test]
fn behind_a_doubtful_name_a_bounded_length_is_looked_at() {
    check("{name:", 64 * 1024, 32);
}

#[rstest]
#[case::each_byte_of_prose_once("prose", 5)]
#[case::a_value_and_its_bracket_again(r#"{"tool":"t"}"#, 1 + 12)]
#[case::a_broken_value_up_to_its_break(r#"{"a": b}"#, 1 + 6 + 2)]
#[case::a_brace_in_prose(" {x} ", 1 + (1 + 1) + 3)]
#[case::reasoning("a<think>b</think>c", 1 + (1 + 16) + 1)]
#[case::a_fence_of_code("```py\nx\n```", 1 + 6)]
#[case::a_fence_of_one_value("```py\n[1]\n```", 1 + 3 + 1 + (1 + 3) + 1 + 1)]
#[case::a_fence_of_a_broken_value("```py\n[1,x]\n```", 1 + 3 + 10)]
fn what_is_looked_at_is_counted(#[case] output: &str, #[case] examined: usize) {
    assert_eq!(super::super::examined(output), examined);
}

#[test]
fn ten_megabytes_of_garbage_are_looked_at_a_few_times() {
    let units = [
        "{\"a\":[",
        "<function=",
        "[f(a='",
        "<|start|>",
        "> x\n",
        "prose, ",
        "```",
        "<think></think> ",
        "“",
        "{\"tool\":",
    ];
    for unit in units {
        let garbage = unit.repeat(MAX_OUTPUT_BYTES / unit.len());
        assert!(examined(&garbage) <= LOOKS_PER_BYTE * garbage.len(), "{unit}");
        assert!(extract(&garbage).calls.len() <= MAX_CALLS);
    }
    // More than one answer may hold is not looked at.
    let found = extract(&"{\"tool\":".repeat(10 * MAX_OUTPUT_BYTES / 8));
    assert_eq!((found.calls.len(), found.text.len(), found.problems.len()), (0, 0, 1));
}

/// Extracts `size_bytes` of the repeated unit, alone and inside one more bracket.
fn check(unit: &str, size_bytes: usize, looks_per_byte: usize) {
    let garbage = unit.repeat(size_bytes / unit.len());
    for output in [format!("[{}", &garbage[unit.len()..]), garbage] {
        let examined = super::super::examined(&output);
        assert!(
            examined <= looks_per_byte * output.len(),
            "{examined} looks at {} bytes",
            output.len()
        );
        let found = extract(&output);
        assert!(found.calls.len() <= MAX_CALLS && found.problems.len() <= MAX_PROBLEMS);
    }
}

/// Text made of the pieces that the extractor distinguishes, in every order.
fn soup() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        ":",
        ",",
        " ",
        "\n",
        "'",
        "`",
        "```",
        "```json\n",
        "```py\n",
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "\"tool\"",
        "\"name\"",
        "\"arguments\"",
        "\"parameters\"",
        "\"device\"",
        "\"dry_run\"",
        "\"t\"",
        "\"{}\"",
        "{\"tool\":\"t\"}",
        "{\"name\":\"t\",\"arguments\":\"{}\"}",
        "\"tool_calls\"",
        "<function=t>",
        "<parameter=a>",
        "</parameter>",
        "</function>",
        "<arg_key>a</arg_key>",
        "<arg_value>",
        "</arg_value>",
        "<|tool_call_begin|>functions.t:0<|tool_call_argument_begin|>",
        "<|tool_call_end|>",
        "<｜tool▁call▁begin｜>t<｜tool▁sep｜>",
        "<｜tool▁call▁end｜>",
        "[TOOL_CALLS]",
        "t[ARGS]",
        "[t(a=",
        "t(a=1)",
        ")]",
        "<|channel|>commentary to=functions.t<|message|>",
        "<|channel|>analysis<|message|>",
        "<|call|>",
        "<|tool_call>call:t{a:",
        "<|\"|>",
        "<tool_call|>",
        "<!--",
        "-->",
        "\n> ",
        " not ",
        "functools",
        "<|im_start|>user",
        "\"action\"",
        "\"id\"",
        "true",
        "null",
        "1e9",
        "-",
        "é",
        "“",
        "\u{0}",
        "prose",
    ]);
    prop::collection::vec(pieces, 0..60).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        soup().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn any_call() -> impl Strategy<Value = ExtractedCall> {
    let names = prop_oneof![
        "[a-z_]{1,8}",
        prop::sample::select(vec![
            "tool",
            "name",
            "parameters",
            "arguments",
            "args",
            "input",
            "id",
            "type",
            "function",
            "action"
        ])
        .prop_map(str::to_owned),
    ];
    let arguments = prop::collection::btree_map(names, value(), 0..5);
    (
        "[a-z_]{1,12}",
        prop::option::of("\\PC{0,12}"),
        any::<bool>(),
        any::<Option<bool>>(),
        arguments,
    )
        .prop_map(|(tool, device, dry_run, queue, mut arguments)| {
            for own in ["device", "dry_run", "queue"] {
                arguments.remove(own);
            }
            let arguments = arguments.into_iter().collect();
            ExtractedCall {
                tool,
                device,
                dry_run,
                queue,
                arguments,
                untyped: false,
                recovered: false,
                id: None,
            }
        })
}

/// The native form of a call's arguments.
fn native_arguments(call: &ExtractedCall) -> String {
    let mut arguments = call.arguments.clone();
    arguments.extend(call.device.clone().map(|device| ("device".to_owned(), Value::from(device))));
    arguments.extend(call.dry_run.then(|| ("dry_run".to_owned(), Value::from(true))));
    arguments.extend(call.queue.map(|queue| ("queue".to_owned(), Value::from(queue))));
    Value::Object(arguments).to_string()
}

proptest! {
    #[test]
    fn any_text_has_an_answer(output in any::<String>()) {
        let _ = extract(&output);
        let _ = from_native(None, "t", &output);
        let _ = occurrences(&output);
    }

    #[test]
    fn any_soup_has_an_answer_that_repeats(output in soup()) {
        let found = extract(&output);
        prop_assert!(found.calls.len() <= MAX_CALLS && found.problems.len() <= MAX_PROBLEMS);
        prop_assert!(found.text.len() <= output.len());
        prop_assert!(examined(&output) <= 8 * output.len() + 1024);
        for call in found.calls {
            let expected = ExtractedCall { untyped: false, recovered: false, id: None, ..call };
            prop_assert_eq!(extract(&expected.flat().to_string()), only(vec![expected]));
        }
    }

    #[test]
    fn a_call_reads_as_it_was_written(call in any_call()) {
        prop_assert_eq!(extract(&call.flat().to_string()), only(vec![call.clone()]));
        prop_assert_eq!(from_native(None, &call.tool, &native_arguments(&call)), Ok(call.clone()));
        let text = serde_json::json!({"name": call.tool, "arguments": native_arguments(&call)});
        prop_assert_eq!(extract(&text.to_string()), only(vec![call]));
    }

    #[test]
    fn prose_around_a_call_gives_exactly_that_call(
        call in any_call(),
        before in "[x-zX-Z .,!?\n]{0,20}\\PC?[x-z]",
        after in "[x-z][x-zX-Z .,!\n]{0,20}",
    ) {
        // Quotation, comments and lists mean something before a call, and so do words: these letters spell none.
        prop_assume!(!before.contains(|it: char| "{[<`\"'“„«>#/-*;•()".contains(it)));
        let found = extract(&format!("{before} {} {after}", call.flat()));
        let text = format!("{} {}", before.trim_start(), after.trim_end());
        prop_assert_eq!((found.calls, found.text, found.problems), (vec![recovered(call)], text, vec![]));
    }

    #[test]
    fn a_call_cut_off_anywhere_is_never_a_call(call in any_call(), cut in any::<prop::sample::Index>()) {
        let whole = call.flat().to_string();
        let cut = whole.floor_char_boundary(cut.index(whole.len()));
        prop_assert_eq!(extract(&whole[..cut]).calls, vec![]);
    }
}
