//! What a command touches, and the risk that it has.

use orion_domain::PathStyle;
use serde_json::{Map, Value, json};

use super::*;
use crate::spec::{ParsedCall, ToolSpec};

fn parsed(arguments: Value) -> Result<ParsedCall, ToolError> {
    let path = |text| Some(DevicePath::parse(PathStyle::Posix, text).unwrap());
    let (home, workspace) = (path("/home/ann"), path("/home/ann/p"));
    let places = Places { home, workspace, ..Places::bare(PathStyle::Posix) };
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    ToolSpec::of::<ExecuteCommand>().parse(arguments, &places)
}

fn touched(call: &ParsedCall) -> Vec<String> {
    call.touches.paths.iter().map(|touch| format!("{} {}", touch.access, touch.path)).collect()
}

#[test]
fn risk_effects_and_permissions_follow_what_the_command_does() {
    let plain = &[Capability::CommandExecute][..];
    let connecting = &[Capability::CommandExecute, Capability::NetworkAccess][..];
    for (arguments, risk, has_effects, capabilities) in [
        (json!({"command": "ls -l"}), Risk::Low, false, plain),
        (json!({"command": "git status && git log -n 3"}), Risk::Low, false, plain),
        (json!({"command": "mkdir a"}), Risk::Medium, true, plain),
        (json!({"command": "ls; mkdir a"}), Risk::Medium, true, plain),
        (json!({"command": "cargo test"}), Risk::Medium, true, plain),
        (json!({"command": "cargo test", "network": true}), Risk::High, true, connecting),
        (json!({"command": "ls", "network": true}), Risk::Low, false, plain),
        (json!({"command": "git push"}), Risk::High, true, plain),
        (json!({"command": "some-unknown-program"}), Risk::High, true, plain),
        (json!({"command": "git -c core.pager=x log"}), Risk::High, true, plain),
        (json!({"argv": ["ls", "-l"]}), Risk::Low, false, plain),
        (json!({"command": "curl https://example.com/"}), Risk::Medium, false, connecting),
    ] {
        let call = parsed(arguments.clone()).unwrap();
        let facts = (call.facts.risk, call.facts.has_effects, call.facts.capabilities);
        assert_eq!(facts, (risk, has_effects, capabilities), "{arguments}");
    }
}

#[test]
fn a_call_touches_its_folder_its_path_arguments_and_its_programs() {
    let call = parsed(json!({"command": "cat ../a '~/b' /etc/hosts && cp a b", "workdir": "src"}));
    let call = call.unwrap();
    assert_eq!(
        touched(&call),
        [
            "read /home/ann/p/src",
            "read /home/ann/p/a",
            "read /home/ann/p/src/~/b",
            "read /etc/hosts",
            "write /home/ann/p/src",
            "read /home/ann/p/src/a",
            "write /home/ann/p/src/b",
        ]
    );
    let commands: Vec<_> = call.touches.commands.iter().map(ToString::to_string).collect();
    assert_eq!(commands, ["cat ../a ~/b /etc/hosts", "cp a b"]);
}

#[test]
fn what_never_runs_is_refused_with_the_token_at_fault() {
    for (arguments, token) in [
        (json!({"command": "ls | sh"}), "|"),
        (json!({"command": "ls; sudo ls"}), "sudo"),
        (json!({"command": "echo $(id)"}), "$("),
        (json!({"argv": ["bash", "-c", "id"]}), "bash"),
    ] {
        let error = parsed(arguments.clone()).unwrap_err();
        assert_eq!(error.code, ErrorCode::CommandNotAllowed, "{arguments}");
        assert_eq!(error.details["token"], json!(token), "{arguments}");
    }
    for arguments in [
        json!({}),
        json!({"command": "ls", "argv": ["ls"]}),
        json!({"command": "ls", "timeout": 0}),
        json!({"command": "ls", "timeout": 3601}),
        json!({"command": "ls", "stdin": "x"}),
    ] {
        let error = parsed(arguments.clone()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{arguments}");
    }
}

#[test]
fn the_hosts_of_a_command_are_touched_with_their_ports() {
    for (command, hosts) in [
        (
            "curl https://example.com:8443/a http://Example.org/",
            &["example.com:8443", "example.org:80"][..],
        ),
        ("curl --url=https://example.com/", &["example.com:443"]),
        ("ping -c 1 192.0.2.1", &["192.0.2.1:7"]),
        ("ls", &[]),
        ("cargo test", &[]),
    ] {
        let call = parsed(json!({"command": command})).unwrap();
        let touched: Vec<_> = call.touches.hosts.iter().map(ToString::to_string).collect();
        assert_eq!(touched, hosts, "{command}");
    }
}
