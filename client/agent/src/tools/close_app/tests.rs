//! `close_app` with copies of the shell, which the tests open.

use std::sync::atomic::Ordering;
use std::time::Duration;

use orion_domain::ErrorCode;
use serde_json::json;

use crate::tools::testing::{Device, alone};

const TOOL: &str = "close_app";

fn device() -> Device {
    let mut device = Device::new();
    device.bind_shells(&[("note", "note"), ("other", "other")]);
    device
}

#[test]
fn it_ends_the_processes_of_the_application_and_no_others() {
    let _alone = alone();
    let device = device();
    let [one, two] = [(); 2].map(|()| device.open_waiting("note", ""));
    let other = device.open_waiting("other", "");
    let mut expected = vec![one.0, two.0];
    expected.sort_unstable();
    let sorted = |data: &serde_json::Value| {
        let mut pids: Vec<u32> = serde_json::from_value(data["closed"].clone()).unwrap();
        pids.sort_unstable();
        pids
    };
    let preview = device.dry(TOOL, json!({"app": "note"})).unwrap();
    assert_eq!(
        (sorted(&preview.data), preview.message.as_str()),
        (expected.clone(), "Would close 2 processes of note.")
    );
    assert!(one.runs() && two.runs(), "a preview ended something");
    let closed = device.call(TOOL, json!({"app": "note", "confirm": true})).unwrap();
    assert_eq!(
        (sorted(&closed.data), closed.message.as_str()),
        (expected, "Closed 2 processes of note.")
    );
    one.wait_for_end();
    two.wait_for_end();
    assert!(other.runs(), "another application was ended");
    let again = device.call(TOOL, json!({"app": "note", "confirm": true})).unwrap();
    assert_eq!(again.data, json!({"app": "note", "closed": []}));
    assert_eq!(again.message, "note does not run.");
}

#[test]
fn one_that_does_not_end_is_ended_only_with_force() {
    let _alone = alone();
    let device = device();
    let stubborn = device.open_waiting("note", "trap '' TERM");
    let error = device.call(TOOL, json!({"app": "note", "confirm": true})).unwrap_err();
    assert_eq!(error.code, ErrorCode::ExecutionFailed);
    assert_eq!(error.details["remaining"], json!([stubborn.0]));
    assert!(stubborn.runs());
    let closed = device.data(TOOL, json!({"app": "note", "confirm": true, "force": true}));
    assert_eq!(closed["closed"], json!([stubborn.0]));
    stubborn.wait_for_end();
}

#[test]
fn a_cancelled_or_late_call_waits_no_longer() {
    let _alone = alone();
    let mut device = device();
    let stubborn = device.open_waiting("note", "trap '' TERM");
    device.time = Duration::from_millis(300);
    let late = device.call(TOOL, json!({"app": "note", "confirm": true})).unwrap_err();
    assert_eq!(late.code, ErrorCode::Timeout);
    device.cancelled.store(true, Ordering::Relaxed);
    let stopped = device.call(TOOL, json!({"app": "note", "confirm": true, "force": true}));
    assert_eq!(stopped.unwrap_err().code, ErrorCode::Cancelled);
    assert!(stubborn.runs());
}

#[test]
fn what_is_not_confirmed_or_not_listed_is_refused() {
    let device = device();
    let refused = |arguments| device.refused(TOOL, arguments);
    assert_eq!(refused(json!({"app": "note"})), ErrorCode::ConfirmationRequired);
    for app in ["bash", "/bin/sh", ""] {
        let code = refused(json!({"app": app, "confirm": true}));
        assert_eq!(code, ErrorCode::AppNotWhitelisted, "{app}");
    }
    let code = refused(json!({"app": "note", "confirm": true, "pid": 1}));
    assert_eq!(code, ErrorCode::InvalidArgument);
}
