//! Fragments as real servers were seen to send them.

use serde_json::json;

use super::*;

/// Each element is the `tool_calls` of one delta.
fn read(deltas: &[Value]) -> Vec<(String, String, String)> {
    let mut calls = Calls::new(vec!["list_directory".to_owned(), "read_file".to_owned()]);
    for delta in deltas {
        let list = delta.as_array().unwrap();
        for (place, element) in (0..).zip(list) {
            calls.push(Fragment::from_value(element), (list.len() > 1).then_some(place));
        }
    }
    calls.finish().into_iter().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

fn one(id: &str) -> Vec<(String, String, String)> {
    vec![call(id, "read_file", r#"{"path":"a"}"#)]
}

#[test]
fn one_call_is_one_call_however_it_comes() {
    for (deltas, id) in [
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":""}}], [{"index":0,"function":{"arguments":"{\"pa"}}], [{"index":0,"function":{"arguments":"th\":\"a\"}"}}]]),
            "x",
        ),
        // No index, and the id only at first.
        (
            json!([[{"id":"x","function":{"name":"read_file"}}], [{"function":{"arguments":"{\"path\":"}}], [{"function":{"arguments":"\"a\"}"}}]]),
            "x",
        ),
        // The name and the id in each fragment.
        (
            json!([[{"id":"x","function":{"name":"read_file","arguments":"{\"path\":"}}], [{"id":"x","function":{"name":"read_file","arguments":"\"a\"}"}}], [{"id":"x","function":{"name":"read_file","arguments":""}}]]),
            "x",
        ),
        // The name in each fragment and no id at all, and once more at the end.
        (
            json!([[{"id":null,"function":{"name":"read_file","arguments":"{\"path\":"}}], [{"id":"","function":{"name":"read_file","arguments":"\"a\"}"}}], [{"function":{"name":"read_file","arguments":null}}]]),
            "call_1",
        ),
        // The name in pieces.
        (
            json!([[{"index":0,"function":{"name":"read_"}}], [{"index":0,"function":{"name":"file","arguments":"{\"path\":\"a\"}"}}]]),
            "call_1",
        ),
        // An object for arguments, a number for an id, an index as text.
        (
            json!([[{"index":"0","id":7,"function":{"name":"read_file","arguments":{"path":"a"}}}]]),
            "7",
        ),
        // An empty object first.
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":{}}}], [{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}]]),
            "x",
        ),
        // Everything repeated at the end.
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]]),
            "x",
        ),
        // A new id in each fragment, but no name.
        (
            json!([[{"id":"x","function":{"name":"read_file","arguments":"{\"path\":"}}], [{"id":"y","function":{"arguments":"\"a\"}"}}]]),
            "x",
        ),
        // The id after the name; no `function` around.
        (
            json!([[{"index":0,"name":"read_file"}], [{"index":0,"id":"x","arguments":"{\"path\":\"a\"}"}]]),
            "x",
        ),
    ] {
        assert_eq!(read(deltas.as_array().unwrap()), one(id), "{deltas}");
    }
}

#[test]
fn two_calls_are_two_calls_however_they_come() {
    let (first, second) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
    for (deltas, ids, name) in [
        // Fragments of two calls alternate.
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\""}}], [{"index":1,"id":"y","function":{"name":"read_file","arguments":"{\"pa"}}], [{"index":0,"function":{"arguments":":\"a\"}"}}, {"index":1,"function":{"arguments":"th\":\"b\"}"}}]]),
            ["x", "y"],
            "read_file",
        ),
        // One id for both.
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}, {"index":1,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}]]),
            ["x", "call_2"],
            "read_file",
        ),
        // One index for both.
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"index":0,"id":"y","function":{"name":"read_file","arguments":"{\"path\":"}}], [{"index":0,"function":{"arguments":"\"b\"}"}}]]),
            ["x", "y"],
            "read_file",
        ),
        // Neither index nor id, the same tool.
        (
            json!([[{"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}]]),
            ["call_1", "call_2"],
            "read_file",
        ),
        (
            json!([[{"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"function":{"name":"read_file"}}], [{"function":{"arguments":"{\"path\":\"b\"}"}}]]),
            ["call_1", "call_2"],
            "read_file",
        ),
        // The same in one list, and a different tool.
        (
            json!([[{"function":{"name":"read_file","arguments":{"path":"a"}}}, {"function":{"name":"list_directory","arguments":{"path":"b"}}}]]),
            ["call_1", "call_2"],
            "list_directory",
        ),
        // One id and one index for two whole calls.
        (
            json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}]]),
            ["x", "call_2"],
            "read_file",
        ),
    ] {
        assert_eq!(
            read(deltas.as_array().unwrap()),
            [call(ids[0], "read_file", first), call(ids[1], name, second)],
            "{deltas}"
        );
    }
}

#[test]
fn an_id_made_here_is_not_one_that_the_server_gave() {
    let deltas = json!([[{"index":0,"id":"call_2","function":{"name":"read_file","arguments":"{}"}}, {"index":1,"function":{"name":"read_file","arguments":"{}"}}]]);
    assert_eq!(
        read(deltas.as_array().unwrap()),
        [call("call_2", "read_file", "{}"), call("call_3", "read_file", "{}")]
    );
}

#[test]
fn what_is_no_json_stays_for_the_pipeline_to_refuse() {
    let deltas = json!([[{"index":0,"function":{"name":"read_file","arguments":"{\"path\":\"a\"} and more"}}]]);
    assert_eq!(
        read(deltas.as_array().unwrap()),
        [call("call_1", "read_file", "{\"path\":\"a\"} and more")]
    );
    assert_eq!(
        read(&[json!([{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}])]),
        [call("call_1", "", "{\"path\":\"a\"}")]
    );
}
