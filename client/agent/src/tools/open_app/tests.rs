//! `open_app` with a program that the test wrote.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use orion_domain::ErrorCode;
use serde_json::json;

use crate::apps::Apps;
use crate::tools::testing::{Device, alone};

const TOOL: &str = "open_app";

/// Returns a device with the app `note`, which writes its arguments beside itself.
fn device() -> Device {
    let mut device = Device::new();
    let script = "#!/bin/sh\nfor it; do echo \"$it\"; done > \"$0.tmp\"\necho \"in $PWD, secret ${ORION_TEST_SECRET-none}\" >> \"$0.tmp\"\nmv \"$0.tmp\" \"$0.told\"\n";
    device.put("outside/note", script);
    let path = device.at("outside/note");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let explicit = BTreeMap::from([("note".to_owned(), path)]);
    let (apps, bad) = Apps::discover(["note", "chrome", "nonesuch"], &explicit);
    assert_eq!(bad, []);
    device.apps = apps;
    device
}

fn output(device: &Device) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        if let Ok(text) = std::fs::read_to_string(device.at("outside/note.told")) {
            return text;
        }
        std::thread::yield_now();
    }
    panic!("the application did not run");
}

#[test]
fn it_starts_the_bound_program_with_what_it_may_open() {
    let _alone = alone();
    let device = device();
    device.put("files/real/a b.txt", "");
    device.link("files/link", "real");
    let arguments =
        json!({"app": "note", "args": ["link/a b.txt", "https://example.com/?q=$(id)"]});
    let preview = device.dry(TOOL, arguments.clone()).unwrap();
    let executable = std::fs::canonicalize(device.at("outside/note")).unwrap();
    assert_eq!(preview.data, json!({"pid": null, "app": "note", "executable": executable}));
    let outcome = device.call(TOOL, arguments).unwrap();
    assert!(outcome.data["pid"].as_u64().unwrap() > 1);
    let expected = format!(
        "{}\nhttps://example.com/?q=$(id)\nin {}, secret none\n",
        device.text("files/real/a b.txt"),
        device.text("files")
    );
    assert_eq!(output(&device), expected);
}

#[test]
fn only_listed_applications_are_opened() {
    let _alone = alone();
    let device = device();
    let error = device.error(TOOL, json!({"app": "bash"}));
    assert_eq!(error.code, ErrorCode::AppNotWhitelisted);
    assert!(error.details["allowed_apps"].as_array().unwrap().contains(&json!("note")));
    let error = device.error(TOOL, json!({"app": "nonesuch"}));
    assert_eq!(error.code, ErrorCode::NotSupported);
    assert_eq!(device.refused(TOOL, json!({"app": "/bin/sh"})), ErrorCode::AppNotWhitelisted);
}

#[test]
fn arguments_that_are_not_for_opening_are_refused() {
    let _alone = alone();
    let device = device();
    device.link("files/out", "../outside");
    let many = vec!["https://example.com"; 17];
    for (args, code) in [
        (json!(["--exec=sh"]), ErrorCode::InvalidArgument),
        (json!(["file:///etc/passwd"]), ErrorCode::UrlForbidden),
        (json!(["javascript:alert(1)"]), ErrorCode::UrlForbidden),
        (json!(["https://example.com/\n"]), ErrorCode::InvalidArgument),
        (json!([format!("https://{}", "x".repeat(3000))]), ErrorCode::InvalidArgument),
        (json!(["/etc/passwd"]), ErrorCode::PathNotAllowed),
        (json!(["out/secret.txt"]), ErrorCode::PathNotAllowed),
        (json!(["missing.txt"]), ErrorCode::PathNotFound),
        (json!(many), ErrorCode::InvalidArgument),
    ] {
        let code_of = device.refused(TOOL, json!({"app": "note", "args": args}));
        assert_eq!(code_of, code, "{args}");
    }
}

#[test]
fn a_program_that_has_gone_is_told() {
    let _alone = alone();
    let device = device();
    std::fs::remove_file(device.at("outside/note")).unwrap();
    let outcome = device.call(TOOL, json!({"app": "note"}));
    assert_eq!(outcome.unwrap_err().code, ErrorCode::NotSupported);
}

#[cfg(target_os = "linux")]
#[test]
fn an_ended_application_leaves_no_zombie() {
    let _alone = alone();
    let device = device();
    let outcome = device.call(TOOL, json!({"app": "note"})).unwrap();
    let pid = outcome.data["pid"].as_u64().unwrap();
    output(&device);
    let until = Instant::now() + Duration::from_secs(60);
    while std::path::Path::new(&format!("/proc/{pid}")).exists() {
        assert!(Instant::now() < until, "process {pid} is still there");
        std::thread::yield_now();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_application_has_nothing_open_of_the_agents() {
    let _alone = alone();
    let mut device = Device::new();
    let script = "#!/bin/sh\nls -l /proc/$$/fd > \"$0.tmp\"\nmv \"$0.tmp\" \"$0.told\"\n";
    device.put("outside/note", script);
    device.put("outside/inherited", "");
    let path = device.at("outside/note");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    let (apps, _) = Apps::discover([], &BTreeMap::from([("note".to_owned(), path)]));
    device.apps = apps;
    // The agent may have been started with such a descriptor.
    let held = std::fs::File::open(device.at("outside/inherited")).unwrap();
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).unwrap();
    device.call(TOOL, json!({"app": "note"})).unwrap();
    let output = output(&device);
    assert!(output.contains("/dev/null") && !output.contains("inherited"), "{output}");
}
