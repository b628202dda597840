//! Plans "undo that": the calls that undo what the last request of this chat changed, the last of it first.
//!
//! Where that cannot be undone, or is not visible, or where it is taken back already or a call after it did not succeed,
//! the planner says so; it undoes an earlier change only where that one is asked for.

use std::collections::HashSet;

use orion_catalog::find;
use orion_catalog::tools::undo_call::{changed_nothing, paths_of};
use serde_json::{Map, Value};

use crate::calls;
use crate::conversation::{Call, Message};
use crate::plan::{PlannedCall, Which};
use crate::results::ResultFacts;

/// Why nothing can be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Impossible {
    /// Nothing was changed in this chat, or on that device.
    Nothing,
    /// The last change was by this tool, which cannot be undone.
    Tool(&'static str),
    /// The request of the last change used this tool as well, which cannot be undone.
    Beside(&'static str),
    /// The result of the last change, or its call, is not visible in this chat.
    Unseen,
    /// The last call that was to change something did not succeed or was taken back: the change is an earlier one.
    Earlier(Box<Earlier>),
    /// An earlier change is meant, and the last one stands.
    NotLast,
}

/// A change that is not the last thing that was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// The tool of a call after it that did not succeed. None where a change after it was taken back.
    pub(crate) failed: Option<&'static str>,
    /// What was changed, the last of it first: `write_file on kiosk (a.txt)`.
    pub(crate) changes: Vec<String>,
}

/// A change that can be undone.
struct Change {
    tool: &'static str,
    call_id: String,
    paths: Vec<String>,
    device: String,
}

/// What came after the change that is looked for.
#[derive(Default)]
struct Since {
    failed: Option<&'static str>,
    taken_back: HashSet<String>,
}

/// Returns the calls that undo the change that is meant: all that one request changed, the last of it first.
pub(crate) fn of(
    conversation: &[Message<'_>],
    which: Which,
    device: Option<&str>,
    dry_run: bool,
) -> Result<Vec<PlannedCall>, Impossible> {
    let mut since = Since::default();
    let mut changes: Vec<Change> = Vec::new();
    let mut is_last = true;
    for (at, message) in conversation.iter().enumerate().rev() {
        if message.request().is_some() && !changes.is_empty() {
            break;
        }
        let before = conversation.get(..at).unwrap_or_default();
        if let Some((call, envelope)) = answered(before, message) {
            let is_found = !changes.is_empty();
            changes.extend(change(call, envelope, device, &mut since, is_found)?);
            if !is_found {
                is_last = since.failed.is_none() && since.taken_back.is_empty();
            }
        }
    }
    if changes.is_empty() {
        return Err(Impossible::Nothing);
    }
    match which {
        Which::Last if !is_last => {
            let changes = changes.iter().map(|Change { tool, device, paths, .. }| {
                format!("{tool} on {device} ({})", paths.join(", "))
            });
            let earlier = Earlier { failed: since.failed, changes: changes.collect() };
            Err(Impossible::Earlier(Box::new(earlier)))
        }
        Which::Before if is_last => Err(Impossible::NotLast),
        Which::Last | Which::Before => Ok(changes
            .iter()
            .map(|it| calls::undo(&it.call_id, &it.paths, &it.device, dry_run))
            .collect()),
    }
}

/// Returns what a call changed and what is not taken back. `is_found` says that a later call of the same request changed
/// something.
fn change(
    call: &Call<'_>,
    envelope: &str,
    device: Option<&str>,
    since: &mut Since,
    is_found: bool,
) -> Result<Option<Change>, Impossible> {
    let Some((spec, alias)) = find(&call.tool).filter(|(spec, _)| spec.has_effects) else {
        return Ok(None);
    };
    let Ok(mut arguments) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else {
        return Ok(None);
    };
    let facts = ResultFacts::read(envelope);
    let is_preview = facts.dry_run() || arguments.get("dry_run") == Some(&Value::Bool(true));
    let place = facts.text("/meta/device");
    let is_elsewhere = device.is_some_and(|wanted| !place.is_empty() && wanted != place);
    let did_nothing = |data: &Value| changed_nothing(spec.name, data);
    match facts.at("/success") {
        _ if is_preview => return Ok(None),
        Some(Value::Bool(true)) if facts.at("/data").is_some_and(did_nothing) => return Ok(None),
        Some(Value::Bool(true)) => {}
        Some(_) => {
            // An undo that did not succeed was of the same change, which a person may undo again.
            let is_own = !is_elsewhere && spec.name != "undo_call" && !is_found;
            if is_own && since.failed.is_none() {
                since.failed = Some(spec.name);
            }
            return Ok(None);
        }
        None => return Err(Impossible::Unseen),
    }
    if is_elsewhere {
        return Ok(None);
    }
    let call_id = facts.text("/meta/call_id");
    // An undo that was taken back itself is none: what it took back stands again.
    if since.taken_back.contains(call_id) {
        return Ok(None);
    }
    if spec.name == "undo_call" {
        let undone = arguments.get("call_id").and_then(Value::as_str);
        since.taken_back.extend(undone.map(str::to_owned));
        return Ok(None);
    }
    match (spec.undo, is_found) {
        (true, _) => {}
        (false, false) => return Err(Impossible::Tool(spec.name)),
        (false, true) => return Err(Impossible::Beside(spec.name)),
    }
    spec.adapt_arguments(alias, &mut arguments);
    let paths = paths_of(spec.name, &arguments);
    if call_id.is_empty() || place.is_empty() || paths.is_empty() {
        return Err(Impossible::Unseen);
    }
    let (call_id, device) = (call_id.to_owned(), place.to_owned());
    Ok(Some(Change { tool: spec.name, call_id, paths, device }))
}

/// What the calls of a chat changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes<'a> {
    /// The results of the newest calls that changed something, in their order.
    pub(crate) results: Vec<&'a str>,
    /// Whether there are more of them.
    pub(crate) is_cut: bool,
    /// How many calls that could have changed something did not succeed, or are not seen to the end.
    pub(crate) others: usize,
}

/// Returns what was changed, on one device where one is named, at most so many changes.
pub(crate) fn changes<'a>(
    conversation: &'a [Message<'_>],
    device: Option<&str>,
    most: usize,
) -> Changes<'a> {
    let mut found = Changes::default();
    for (at, message) in conversation.iter().enumerate().rev() {
        let before = conversation.get(..at).unwrap_or_default();
        let Some((call, envelope)) = answered(before, message) else { continue };
        let Some((spec, _)) = find(&call.tool).filter(|(spec, _)| spec.has_effects) else {
            continue;
        };
        let facts = ResultFacts::read(envelope);
        let place = facts.text("/meta/device");
        let is_elsewhere = device.is_some_and(|wanted| !place.is_empty() && wanted != place);
        let is_same = |data| changed_nothing(spec.name, data);
        if is_elsewhere || facts.dry_run() {
            continue;
        }
        if !facts.succeeded() {
            found.others += 1;
        } else if !facts.at("/data").is_some_and(is_same) {
            if found.results.len() == most {
                found.is_cut = true;
                break;
            }
            found.results.push(envelope);
        }
    }
    found.results.reverse();
    found
}

/// Returns the call that a message is the result of, with its envelope.
fn answered<'a>(
    before: &'a [Message<'_>],
    result: &'a Message<'_>,
) -> Option<(&'a Call<'a>, &'a str)> {
    let Message::Result { call_id: Some(id), envelope } = result else { return None };
    // Ids repeat in a long chat, so the nearest call applies.
    let call = before.iter().rev().flat_map(|it| it.calls().iter()).find(|call| call.id == *id)?;
    Some((call, envelope.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(tool: &str, arguments: &Value) -> Message<'static> {
        Message::of_call(tool, arguments)
    }

    fn ended(id: &str, success: bool, more: &Value) -> Message<'static> {
        let mut envelope = json!({"success": success, "message": "…", "data": {}, "error": null, "dry_run": false,
            "meta": {"call_id": id, "device": "kiosk"}});
        envelope.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Message::of_result(envelope.to_string())
    }

    fn wrote(id: &str) -> [Message<'static>; 2] {
        let arguments = json!({"device": "kiosk", "path": format!("{id}.txt"), "content": "x"});
        [made("file_write", &arguments), ended(id, true, &json!({}))]
    }

    fn asked() -> [Message<'static>; 2] {
        let none = Message::Answer { text: "Done.".into(), calls: Vec::new() };
        [none, Message::of_person("and another")]
    }

    fn lines(calls: &[PlannedCall]) -> String {
        calls.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    fn said(messages: &[Message<'_>]) -> Result<String, Impossible> {
        of(messages, Which::Last, None, false).map(|calls| lines(&calls))
    }

    #[test]
    fn the_last_change_is_taken_back_with_its_own_paths() {
        let mut chat = [wrote("a"), asked(), wrote("b")].concat();
        let of_b = r#"{"tool":"undo_call","device":"kiosk","call_id":"b","paths":["b.txt"]}"#;
        assert_eq!(said(&chat).as_deref(), Ok(of_b));
        // Calls that only read and previews changed nothing.
        chat.extend([made("read_file", &json!({"path": "a"})), ended("c", true, &json!({}))]);
        let preview = json!({"path": "a", "content": "x", "dry_run": true});
        chat.extend([made("write_file", &preview), ended("d", true, &json!({"dry_run": true}))]);
        let there = json!({"data": {"created": false}});
        chat.extend([made("create_directory", &json!({"path": "x"})), ended("g", true, &there)]);
        chat.extend([made("undo_call", &json!({"call_id": "b"})), ended("e", false, &json!({}))]);
        assert_eq!(said(&chat).as_deref(), Ok(of_b));
        chat.extend(asked());
        chat.extend([
            made("move_path", &json!({"source": "a", "destination": "b"})),
            ended("f", true, &json!({})),
        ]);
        assert_eq!(
            lines(&of(&chat, Which::Last, None, true).unwrap()),
            r#"{"tool":"undo_call","device":"kiosk","call_id":"f","paths":["a","b"],"dry_run":true}"#
        );
    }

    #[test]
    fn after_a_call_that_did_not_succeed_the_earlier_change_is_only_named() {
        let mut chat = wrote("a").to_vec();
        chat.extend([made("delete_file", &json!({"path": "b"})), ended("b", false, &json!({}))]);
        chat.extend([made("read_file", &json!({"path": "a"})), ended("c", true, &json!({}))]);
        let earlier = Earlier {
            failed: Some("delete_file"),
            changes: vec!["write_file on kiosk (a.txt)".to_owned()],
        };
        assert_eq!(said(&chat), Err(Impossible::Earlier(Box::new(earlier))));
        assert_eq!(of(&chat, Which::Last, Some("laptop"), false), Err(Impossible::Nothing));
        let before = |chat: &[Message<'_>]| of(chat, Which::Before, None, false);
        assert!(lines(&before(&chat).unwrap()).contains(r#""call_id":"a""#));
        // A change after it is undone as any other.
        chat.extend(asked());
        chat.extend(wrote("d"));
        assert!(said(&chat).unwrap().contains(r#""call_id":"d""#));
        assert_eq!(before(&chat), Err(Impossible::NotLast));
    }

    #[test]
    fn all_that_a_request_changed_is_taken_back_the_last_of_it_first() {
        let mut chat = [wrote("a").as_slice(), &asked(), &wrote("b"), &wrote("c")].concat();
        let undone = said(&chat).unwrap();
        let ids: Vec<_> = undone.lines().map(|line| line.contains(r#""call_id":"c""#)).collect();
        assert_eq!(ids, [true, false], "{undone}");
        // What is taken back already is not meant any more, and the change before it only where it is asked for.
        chat.extend(asked());
        for (nth, id) in ["c", "b"].into_iter().enumerate() {
            chat.extend([
                made("undo_call", &json!({"device": "kiosk", "call_id": id, "paths": [id]})),
                ended(&format!("u{nth}"), true, &json!({})),
            ]);
        }
        let Err(Impossible::Earlier(earlier)) = said(&chat) else { panic!() };
        let of_a = vec!["write_file on kiosk (a.txt)".to_owned()];
        assert_eq!((earlier.failed, earlier.changes), (None, of_a));
        let before = lines(&of(&chat, Which::Before, None, false).unwrap());
        assert!(before.contains(r#""call_id":"a""#) && before.lines().count() == 1, "{before}");
    }

    #[test]
    fn what_was_done_again_stands_and_what_cannot_be_undone_holds_its_whole_request() {
        let mut chat = [wrote("a").as_slice(), &asked(), &wrote("b"), &asked()].concat();
        for (id, of) in [("u1", "b"), ("u2", "u1")] {
            chat.extend([
                made("undo_call", &json!({"device": "kiosk", "call_id": of, "paths": ["b.txt"]})),
                ended(id, true, &json!({})),
            ]);
        }
        let before = lines(&of(&chat, Which::Before, None, false).unwrap());
        assert!(before.contains(r#""call_id":"b""#), "{before}");

        let mut chat =
            vec![made("close_app", &json!({"app": "code"})), ended("k", true, &json!({}))];
        chat.extend(wrote("c"));
        assert_eq!(said(&chat), Err(Impossible::Beside("close_app")));
    }

    #[test]
    fn only_what_changed_something_is_returned_and_the_rest_is_counted() {
        let mut chat = [wrote("a"), wrote("b")].concat();
        chat.extend([made("read_file", &json!({"path": "a"})), ended("c", true, &json!({}))]);
        let preview = json!({"path": "a", "content": "x", "dry_run": true});
        chat.extend([made("write_file", &preview), ended("d", true, &json!({"dry_run": true}))]);
        let there = json!({"data": {"created": false}});
        chat.extend([made("create_directory", &json!({"path": "x"})), ended("e", true, &there)]);
        chat.extend([made("delete_file", &json!({"path": "z"})), ended("f", false, &json!({}))]);
        let all = changes(&chat, None, 2);
        assert_eq!((all.results.len(), all.is_cut, all.others), (2, false, 1));
        assert!(
            all.results[0].contains(r#""call_id":"a""#)
                && all.results[1].contains(r#""call_id":"b""#)
        );
        let newest = changes(&chat, Some("kiosk"), 1);
        assert!(newest.results[0].contains(r#""call_id":"b""#) && newest.is_cut);
        assert_eq!(changes(&chat, Some("laptop"), 2), Changes::default());
    }

    #[test]
    fn a_device_that_is_named_is_the_one_that_is_meant() {
        let elsewhere = json!({"meta": {"call_id": "b", "device": "laptop"}});
        let arguments = json!({"path": "b"});
        let mut chat = wrote("a").to_vec();
        chat.extend([made("create_directory", &arguments), ended("b", true, &elsewhere)]);
        let on = |device| of(&chat, Which::Last, Some(device), false).map(|calls| lines(&calls));
        assert!(on("kiosk").unwrap().contains(r#""call_id":"a""#));
        assert!(on("laptop").unwrap().contains(r#""call_id":"b""#));
        assert_eq!(on("tablet"), Err(Impossible::Nothing));
    }

    #[test]
    fn what_cannot_be_taken_back_hides_nothing_before_it() {
        assert_eq!(said(&[]), Err(Impossible::Nothing));
        let mut chat = wrote("a").to_vec();
        chat.extend([made("undo_call", &json!({"call_id": "a"})), ended("b", true, &json!({}))]);
        assert_eq!(said(&chat), Err(Impossible::Nothing));

        let mut cut = wrote("a").to_vec();
        let whole = ended("b", true, &json!({"data": {"diff": "x".repeat(400)}}));
        let whole = whole.envelope().unwrap();
        cut.push(made("edit_file", &json!({"path": "a"})));
        cut.push(Message::of_result(format!("{}\n[cut: …]", &whole[..100])));
        assert_eq!(said(&cut), Err(Impossible::Unseen));
        let mut left = wrote("a").to_vec();
        left.push(made("delete_file", &json!({"path": "a"})));
        left.push(Message::of_result("The person left before this call had ended."));
        assert_eq!(said(&left), Err(Impossible::Unseen));
    }
}
