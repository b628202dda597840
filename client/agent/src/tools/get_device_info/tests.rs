//! `get_device_info` on the machine that runs the tests.

use orion_catalog::tools::get_device_info::Returns;
use orion_domain::{Access, ErrorCode};
use serde_json::json;

use crate::tools::testing::{ALL, Device};

const TOOL: &str = "get_device_info";

#[test]
fn it_tells_the_parts_that_were_asked_for() {
    let device = Device::new();
    let data: Returns = serde_json::from_value(device.data(TOOL, json!({}))).unwrap();
    let system = data.system.clone().unwrap();
    assert!(system.ram_gb > 0.0 && !system.os.is_empty(), "{system:?}");
    assert_eq!(
        data,
        Returns { device_id: "kiosk".into(), system: Some(system), ..Returns::default() }
    );
    let all = json!({"include": ["system", "cpu", "memory", "disk", "network", "processes", "workspace"]});
    let data: Returns = serde_json::from_value(device.dry(TOOL, all).unwrap().data).unwrap();
    let cpu = data.cpu.unwrap();
    assert!(cpu.cores > 0 && (0.0..=100.0).contains(&cpu.used_percent), "{cpu:?}");
    let memory = data.memory.unwrap();
    assert!(memory.total_bytes >= memory.available_bytes && memory.available_bytes > 0);
    let processes = data.processes.unwrap();
    assert!((1..=10).contains(&processes.len()));
    assert!(processes.is_sorted_by(|a, b| a.memory_bytes >= b.memory_bytes));
    for drive in data.disk.unwrap().drives {
        assert!((0.0..=100.0).contains(&drive.percentage_free), "{drive:?}");
    }
    assert!(data.network.is_some());
    let workspace = data.workspace.unwrap();
    assert_eq!((workspace.paths, workspace.writable), (vec![device.text("files")], true));
}

#[test]
fn a_device_that_lends_nothing_to_write_says_so() {
    let device = Device::granting(&[("outside", &[Access::Read]), ("files", &[Access::Read])]);
    let data = device.data(TOOL, json!({"include": ["workspace", "workspace"]}));
    let paths = [device.text("outside"), device.text("files")];
    assert_eq!(
        data,
        json!({"device_id": "kiosk", "workspace": {"paths": paths, "writable": false}})
    );
    let device = Device::granting(&[("files", ALL)]);
    let wrong = json!({"include": ["passwords"]});
    assert_eq!(device.refused(TOOL, wrong), ErrorCode::InvalidArgument);
}
