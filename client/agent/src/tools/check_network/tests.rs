//! `check_network` with listeners of the test.

use std::net::TcpListener;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::*;
use crate::tools::testing::Device;

const TOOL: &str = "check_network";

fn reached(device: &Device, targets: Value) -> Vec<Reached> {
    let data = device.data(TOOL, json!({"targets": targets}));
    serde_json::from_value::<Returns>(data).unwrap().targets
}

#[test]
fn a_target_that_accepts_is_reachable_and_one_that_refuses_is_not() {
    let mut device = Device::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().to_string();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let targets = reached(&device, json!([open, closed, "nowhere.invalid:80"]));
    let short: Vec<_> = targets
        .iter()
        .map(|it| (it.target.as_str(), it.reachable, it.latency_ms.is_some()))
        .collect();
    assert_eq!(
        short,
        [(open.as_str(), true, true), (&closed, false, true), ("nowhere.invalid:80", false, false)]
    );
    assert!(targets[2].detail.contains("not known"), "{targets:?}");
    device.installation.backend = vec![closed, open];
    let backend = reached(&device, json!(["backend"]));
    assert!(backend[0].reachable, "any of the backend's addresses: {backend:?}");
    device.installation.backend.clear();
    assert!(!reached(&device, json!(["backend"]))[0].reachable);
    let own = device.dry(TOOL, json!({})).unwrap().data;
    let names: Vec<_> = own["targets"].as_array().unwrap().iter().map(|it| &it["target"]).collect();
    assert_eq!(names, ["gateway", "dns", "backend"]);
}

#[test]
fn wrong_targets_are_refused_and_a_cancelled_call_stops() {
    let device = Device::new();
    for targets in [json!([]), json!(["nas"]), json!(["http://nas:80"]), json!(vec!["dns"; 17])] {
        let code = device.refused(TOOL, json!({"targets": targets}));
        assert_eq!(code, ErrorCode::InvalidArgument, "{targets}");
    }
    let code = device.refused(TOOL, json!({"targets": ["127.1:80"]}));
    assert_eq!(code, ErrorCode::UrlForbidden, "the name leads to the device itself");
    device.cancelled.store(true, Ordering::Relaxed);
    assert_eq!(device.refused(TOOL, json!({})), ErrorCode::Cancelled);
}
