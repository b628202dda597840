//! `check_ports` with listeners of the test.

use std::net::TcpListener;
use std::sync::atomic::Ordering;

use orion_domain::ErrorCode;
use serde_json::json;

use super::*;
use crate::tools::testing::Device;

const TOOL: &str = "check_ports";

#[test]
fn on_the_device_itself_a_listener_is_found_with_its_process() {
    let device = Device::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().port();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for host in ["localhost", "127.0.0.1", "LOCALHOST"] {
        let data = device.data(TOOL, json!({"host": host, "ports": [open, closed, open]}));
        let data: Returns = serde_json::from_value(data).unwrap();
        let listening: Vec<_> = data.ports.iter().map(|it| (it.port, it.listening)).collect();
        assert_eq!(listening, [(open, true), (closed, false), (open, true)], "{host}");
        assert_eq!(data.ports[1].process, None);
        #[cfg(target_os = "linux")]
        {
            let own = std::fs::read_to_string("/proc/self/comm").unwrap();
            assert_eq!(data.ports[0].process.as_deref(), Some(own.trim_end()), "{host}");
        }
    }
    let device_default = device.dry(TOOL, json!({})).unwrap();
    assert_eq!(device_default.data["ports"].as_array().unwrap().len(), 3);
}

#[test]
fn without_the_kernels_tables_and_on_other_hosts_the_ports_are_contacted() {
    let device = Device::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap().port();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let addresses = [open, closed].map(|port| Address::new("127.0.0.1", port).unwrap());
    let ports = device.with_context(|context| contacted(&addresses, context).unwrap());
    let listening: Vec<_> = ports.iter().map(|it| (it.listening, it.process.clone())).collect();
    assert_eq!(listening, [(true, None), (false, None)]);
}

#[test]
fn wrong_arguments_are_refused_and_a_cancelled_call_stops() {
    let device = Device::new();
    for arguments in [
        json!({"ports": []}),
        json!({"ports": [0]}),
        json!({"ports": [65_536]}),
        json!({"ports": vec![80; 33]}),
        json!({"host": "nas.example/x"}),
    ] {
        let code = device.refused(TOOL, arguments.clone());
        assert_eq!(code, ErrorCode::InvalidArgument, "{arguments}");
    }
    // The name leads to the device itself, which a granted name may not.
    let code = device.refused(TOOL, json!({"host": "127.1", "ports": [80]}));
    assert_eq!(code, ErrorCode::UrlForbidden);
    device.cancelled.store(true, Ordering::Relaxed);
    assert_eq!(device.refused(TOOL, json!({})), ErrorCode::Cancelled);
}
