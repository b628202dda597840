//! Plans "undo that": a call that undoes the last call of this chat that changed something.
//!
//! Only the last change is undone. Where it cannot be undone, or is not visible, or where a call after it did
//! not succeed, the planner says so; it undoes an earlier one only where that one is asked for.

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
    /// The result of the last change, or its call, is not visible in this chat.
    Unseen,
    /// The last call that was to change something did not succeed: the change is an earlier one.
    Earlier(Box<Earlier>),
    /// An earlier change is meant, and the last one stands.
    NotLast,
}

/// A change before a call that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// The tool of the call that did not succeed.
    pub(crate) failed: &'static str,
    /// The tool of the change.
    pub(crate) tool: &'static str,
    pub(crate) paths: Vec<String>,
    pub(crate) device: String,
    pub(crate) call_id: String,
}

/// Returns the call that undoes the change that is meant.
pub(crate) fn of(
    conversation: &[Message<'_>],
    which: Which,
    device: Option<&str>,
    dry_run: bool,
) -> Result<PlannedCall, Impossible> {
    let mut failed = None;
    for (at, message) in conversation.iter().enumerate().rev() {
        let Some((call, envelope)) = answered(conversation.get(..at).unwrap_or_default(), message)
        else {
            continue;
        };
        let Some((spec, alias)) = find(&call.tool).filter(|(spec, _)| spec.has_effects) else {
            continue;
        };
        let Ok(mut arguments) = serde_json::from_str::<Map<String, Value>>(&call.arguments) else {
            continue;
        };
        let facts = ResultFacts::read(envelope);
        let is_preview = facts.dry_run() || arguments.get("dry_run") == Some(&Value::Bool(true));
        let place = facts.text("/meta/device");
        let is_elsewhere = device.is_some_and(|wanted| !place.is_empty() && wanted != place);
        match facts.at("/success") {
            _ if is_preview => continue,
            Some(Value::Bool(true))
                if facts.at("/data").is_some_and(|data| changed_nothing(spec.name, data)) =>
            {
                continue;
            }
            Some(Value::Bool(true)) => {}
            Some(_) => {
                // An undo that did not succeed was of the same change, which a person may undo again.
                if !is_elsewhere && spec.name != "undo_call" && failed.is_none() {
                    failed = Some(spec.name);
                }
                continue;
            }
            None => return Err(Impossible::Unseen),
        }
        if is_elsewhere {
            continue;
        }
        if !spec.undo {
            return Err(Impossible::Tool(spec.name));
        }
        spec.adapt_arguments(alias, &mut arguments);
        let (call_id, paths) = (facts.text("/meta/call_id"), paths_of(spec.name, &arguments));
        if call_id.is_empty() || place.is_empty() || paths.is_empty() {
            return Err(Impossible::Unseen);
        }
        if which == Which::BeforeFailed {
            if failed.is_none() {
                return Err(Impossible::NotLast);
            }
        } else if let Some(failed) = failed {
            let (device, call_id) = (place.to_owned(), call_id.to_owned());
            let earlier = Earlier { failed, tool: spec.name, paths, device, call_id };
            return Err(Impossible::Earlier(Box::new(earlier)));
        }
        return Ok(calls::undo(call_id, &paths, place, dry_run));
    }
    Err(Impossible::Nothing)
}

/// What the calls of a chat changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes<'a> {
    /// The results of the newest calls that changed something, in their order.
    pub(crate) told: Vec<&'a str>,
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
            if found.told.len() == most {
                found.is_cut = true;
                break;
            }
            found.told.push(envelope);
        }
    }
    found.told.reverse();
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

    fn said(messages: &[Message<'_>]) -> Result<String, Impossible> {
        of(messages, Which::Last, None, false).map(|call| call.to_string())
    }

    #[test]
    fn the_last_change_is_taken_back_with_its_own_paths() {
        let mut chat = [wrote("a"), wrote("b")].concat();
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
        chat.extend([
            made("move_path", &json!({"source": "a", "destination": "b"})),
            ended("f", true, &json!({})),
        ]);
        assert_eq!(
            of(&chat, Which::Last, None, true).unwrap().to_string(),
            r#"{"tool":"undo_call","device":"kiosk","call_id":"f","paths":["a","b"],"dry_run":true}"#
        );
    }

    #[test]
    fn after_a_call_that_did_not_succeed_the_earlier_change_is_only_named() {
        let mut chat = wrote("a").to_vec();
        chat.extend([made("delete_file", &json!({"path": "b"})), ended("b", false, &json!({}))]);
        chat.extend([made("read_file", &json!({"path": "a"})), ended("c", true, &json!({}))]);
        let earlier = Earlier {
            failed: "delete_file",
            tool: "write_file",
            paths: vec!["a.txt".to_owned()],
            device: "kiosk".to_owned(),
            call_id: "a".to_owned(),
        };
        assert_eq!(said(&chat), Err(Impossible::Earlier(Box::new(earlier))));
        assert_eq!(of(&chat, Which::Last, Some("laptop"), false), Err(Impossible::Nothing));
        let before = |chat: &[Message<'_>]| of(chat, Which::BeforeFailed, None, false);
        assert!(before(&chat).unwrap().to_string().contains(r#""call_id":"a""#));
        // A change after it is undone as any other.
        chat.extend(wrote("d"));
        assert!(said(&chat).unwrap().contains(r#""call_id":"d""#));
        assert_eq!(before(&chat), Err(Impossible::NotLast));
    }

    #[test]
    fn only_what_changed_something_is_told_and_the_rest_is_counted() {
        let mut chat = [wrote("a"), wrote("b")].concat();
        chat.extend([made("read_file", &json!({"path": "a"})), ended("c", true, &json!({}))]);
        let preview = json!({"path": "a", "content": "x", "dry_run": true});
        chat.extend([made("write_file", &preview), ended("d", true, &json!({"dry_run": true}))]);
        let there = json!({"data": {"created": false}});
        chat.extend([made("create_directory", &json!({"path": "x"})), ended("e", true, &there)]);
        chat.extend([made("delete_file", &json!({"path": "z"})), ended("f", false, &json!({}))]);
        let all = changes(&chat, None, 2);
        assert_eq!((all.told.len(), all.is_cut, all.others), (2, false, 1));
        assert!(
            all.told[0].contains(r#""call_id":"a""#) && all.told[1].contains(r#""call_id":"b""#)
        );
        let newest = changes(&chat, Some("kiosk"), 1);
        assert!(newest.told[0].contains(r#""call_id":"b""#) && newest.is_cut);
        assert_eq!(changes(&chat, Some("laptop"), 2), Changes::default());
    }

    #[test]
    fn a_device_that_is_named_is_the_one_that_is_meant() {
        let elsewhere = json!({"meta": {"call_id": "b", "device": "laptop"}});
        let arguments = json!({"path": "b"});
        let mut chat = wrote("a").to_vec();
        chat.extend([made("create_directory", &arguments), ended("b", true, &elsewhere)]);
        let on = |device| of(&chat, Which::Last, Some(device), false).map(|call| call.to_string());
        assert!(on("kiosk").unwrap().contains(r#""call_id":"a""#));
        assert!(on("laptop").unwrap().contains(r#""call_id":"b""#));
        assert_eq!(on("tablet"), Err(Impossible::Nothing));
    }

    #[test]
    fn what_cannot_be_taken_back_hides_nothing_before_it() {
        assert_eq!(said(&[]), Err(Impossible::Nothing));
        let mut chat = wrote("a").to_vec();
        chat.extend([made("undo_call", &json!({"call_id": "a"})), ended("b", true, &json!({}))]);
        assert_eq!(said(&chat), Err(Impossible::Tool("undo_call")));

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
