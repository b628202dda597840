//! The tool up to the start of a program. That a program runs, and how it ends, is tested with the real agent.

use orion_domain::{CallId, ErrorCode, RiskRaise};
use serde_json::json;
use uuid::Uuid;

use crate::tools::testing::Device;

#[test]
fn a_preview_says_which_program_would_run_and_why_it_has_its_risk() {
    let device = Device::new();
    let outcome = device.dry("execute_command", json!({"command": "ls -l && mkdir a"})).unwrap();
    let programs = outcome.data["programs"].as_array().unwrap();
    assert_eq!(programs.len(), 2);
    assert!(programs[0]["program"].as_str().unwrap().starts_with('/'), "{programs:?}");
    assert_eq!((&programs[0]["risk"], &programs[1]["risk"]), (&json!("low"), &json!("medium")));
    assert!(programs[1]["reason"].as_str().unwrap().contains("writes files"));
    assert_eq!(outcome.data["exit_code"], json!(null));
}

#[test]
fn what_is_not_there_and_what_is_not_granted_is_refused_before_anything_runs() {
    let device = Device::new();
    for (command, code) in [
        ("there-is-no-such-program", ErrorCode::NotSupported),
        ("mkdir a; there-is-no-such-program", ErrorCode::NotSupported),
        ("cat ../outside/secret.txt", ErrorCode::PathNotAllowed),
        ("mkdir a && touch ../outside/b", ErrorCode::PathNotAllowed),
        ("ls | sh", ErrorCode::CommandNotAllowed),
    ] {
        let arguments = json!({"command": command, "confirm": true});
        assert_eq!(device.refused("execute_command", arguments), code, "{command}");
    }
    device.link("files/out", device.at("outside"));
    for command in ["cat out/secret.txt", "ls out"] {
        let arguments = json!({"command": command});
        assert_eq!(device.refused("execute_command", arguments), ErrorCode::PathNotAllowed);
    }
    let elsewhere = json!({"command": "ls", "workdir": device.at("outside")});
    assert_eq!(device.refused("execute_command", elsewhere), ErrorCode::PathNotAllowed);
}

#[test]
fn a_program_that_changes_files_beside_denied_ones_needs_approval_and_one_that_reads_does_not() {
    let mut device = Device::new();
    device.approved.clear();
    std::fs::write(device.at("files/.env"), "SECRET=1").unwrap();
    std::fs::create_dir(device.at("files/src")).unwrap();
    let preview = |arguments| device.dry("execute_command", arguments).map(|it| it.data);
    assert!(preview(json!({"command": "ls"})).is_ok());
    let error = device.call("execute_command", json!({"command": "mkdir a"})).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
    assert_eq!(error.details["raises"], json!([RiskRaise::ReachesDenied.as_str()]));
    assert!(!device.at("files/a").exists());
    std::fs::remove_file(device.at("files/.env")).unwrap();

    // Neither does one beside a file that another call writes just now. Other files may not have its name.
    let staged = device.at(&format!("files/src/.orion-{}.tmp", CallId::new(Uuid::from_u128(7))));
    std::fs::write(&staged, "half").unwrap();
    let call = || device.call("execute_command", json!({"command": "mkdir a"})).unwrap_err();
    // Nothing here runs programs, so that it fails when it starts.
    assert_ne!(call().code, ErrorCode::ApprovalRequired);
    std::fs::rename(&staged, device.at("files/src/.orion-own.tmp")).unwrap();
    assert_eq!(call().details["raises"], json!([RiskRaise::ReachesDenied.as_str()]));
}
