//! Undo calls are evaluated as what they do, by the device's record of the call that they name.

use orion_domain::Touches;

use super::shown::with_proof_of;
use super::*;
use crate::changes::as_it_acts;
use crate::tools::testing::Device;
use crate::trash::Trash;

/// A guard that allows every change in `files`, with rules.
fn of(device: &Device, rules: Value) -> Guard {
    let grants: Grants =
        serde_json::from_value(json!({"profile": "operator", "paths": [device.text("files")]}))
            .unwrap();
    let trash = Arc::new(Trash::open(&device.at("state")).unwrap());
    let (scope, _) = grants.compile(&device.places);
    let places = device.places.clone();
    let mut guard =
        Guard::new(super::device(), "web-1".parse().unwrap(), places, scope).remembering(trash);
    let rules = serde_json::from_value(rules).unwrap();
    let bytes = DevicePolicy { grants, rules, ..DevicePolicy::default() }.to_bytes();
    guard.update(&DevicePolicy::version_of(&bytes), &bytes).unwrap();
    guard
}

fn undoing(call: &str, paths: &[&str]) -> Dispatched {
    super::call("undo_call", json!({"call_id": call, "paths": paths}))
}

/// Deletes a file, undoes that, undoes the undo, and so on. Returns the calls in order.
fn chain(device: &Device, length: usize) -> Vec<String> {
    device.put("files/old.txt", "old");
    device.call("delete_file", json!({"path": "old.txt", "confirm": true})).unwrap();
    let mut calls = vec![device.last_call()];
    while calls.len() < length {
        device.undo(&["old.txt"]).unwrap();
        calls.push(device.last_call());
    }
    calls
}

#[test]
fn every_second_undoing_of_a_deletion_needs_the_approval_of_a_deletion() {
    let device = Device::new();
    let guard = of(&device, json!([]));
    for (number, call) in chain(&device, 7).iter().enumerate() {
        let undoing = undoing(call, &["old.txt"]);
        let admitted = guard.admit(&undoing, |_| false).map(drop).map_err(|error| error.code);
        let wanted = if number % 2 == 0 { Ok(()) } else { Err(ErrorCode::ApprovalRequired) };
        assert_eq!(admitted, wanted, "undoing call {number}");
        let preview = Dispatched { dry_run: true, ..undoing };
        assert!(guard.admit(&preview, |_| false).is_ok(), "a preview of undoing call {number}");
    }
}

#[test]
fn an_approval_of_an_undoing_that_takes_back_is_none_of_one_that_does_again() {
    let device = Device::new();
    let guard = of(&device, json!([]));
    let calls = chain(&device, 2);
    let redo = undoing(&calls[1], &["old.txt"]);
    let (spec, _) = orion_catalog::find("undo_call").unwrap();
    let as_written = spec.parse(redo.arguments_value.clone(), &device.places).unwrap();
    let trash = Trash::open(&device.at("state")).unwrap();
    let as_it_is = as_it_acts(&trash, as_written.clone()).unwrap();
    assert_eq!(as_it_is.facts.name, "delete_file");
    let with = |touches: &Touches| {
        let until = now_ms() + 60_000;
        let sent = with_proof_of(&guard, redo.clone(), touches, ApprovalBasis::Standing, until);
        guard.admit(&sent, |_| false).map(drop).map_err(|error| error.code)
    };
    assert_eq!(with(&as_written.touches), Err(ErrorCode::ApprovalRequired));
    assert_eq!(with(&as_it_is.touches), Ok(()));
}

#[test]
fn what_a_rule_refuses_is_not_done_again_by_an_undoing() {
    let device = Device::new();
    let calls = chain(&device, 2);
    let code = |rules: Value, call: &str| {
        let admitted = of(&device, rules).admit(&undoing(call, &["old.txt"]), |_| false);
        admitted.map(drop).map_err(|error| error.code)
    };
    let deny = |tool: &str| json!([{"id": "no", "tools": [tool], "action": "deny"}]);
    let refused = Err(ErrorCode::PermissionDenied);
    assert_eq!(code(deny("delete_file"), &calls[0]), Ok(()));
    assert_eq!(code(deny("delete_file"), &calls[1]), refused);
    assert_eq!(code(deny("undo_call"), &calls[0]), refused);
    assert_eq!(code(deny("undo_call"), &calls[1]), refused);
    let free = |tool: &str| json!([{"id": "yes", "tools": [tool], "action": "preapprove"}]);
    assert_eq!(code(free("undo_call"), &calls[1]), Err(ErrorCode::ApprovalRequired));
    assert_eq!(code(free("delete_file"), &calls[1]), Ok(()));
}

#[test]
fn an_undoing_that_was_judged_before_its_call_was_over_is_not_done() {
    let device = Device::new();
    let calls = chain(&device, 2);
    let arguments = json!({"call_id": calls[1], "paths": ["old.txt"]});
    let error = device.unjudged("undo_call", arguments).unwrap_err();
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert_eq!(error.hints[0].text, "undo it again", "{error:?}");
    assert!(device.at("files/old.txt").exists());
}
