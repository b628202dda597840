//! Everything that a backend can send to be allowed more than the owner leaves, and to wear a device
//! out. The ceiling holds through all of it, and the device goes on to serve.

use orion_domain::evaluate::Mode;
use orion_domain::rule::{Rule, RuleAction};
use orion_tests::Link;
use orion_wire::v1::link_response::Message;
use orion_wire::{DevicePolicy, v1};
use serde_json::{Value, json};

use super::{MODEST, deceive, refused};

fn policy(grants: Value) -> DevicePolicy {
    DevicePolicy { grants: serde_json::from_value(grants).unwrap(), ..DevicePolicy::default() }
}

fn everything() -> DevicePolicy {
    policy(json!({
        "profile": "developer", "paths": ["/", "/etc", "/root", "/proc", "/sys"], "apps": ["sh"],
    }))
}

async fn outside(link: &mut Link) -> (String, String) {
    let order = link.order("read_file", &json!({"path": "/etc/passwd"}));
    link.dispatch(order).await
}

async fn delete(link: &mut Link, path: &str) -> (String, String) {
    let arguments = json!({"path": path, "recursive": true, "confirm": true});
    let order = link.order("delete_directory", &arguments);
    link.dispatch(order).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_mode_and_no_wider_grant_lifts_the_ceiling() {
    let ceiling = "[ceiling]\ntools = [\"read_file\"]\npaths = [\"{files}\"]\n";
    let (_server, device, mut link) = deceive(ceiling).await;
    for until in [i64::MAX, 0, i64::MIN] {
        let granted = DevicePolicy { mode: Mode::Dangerous { until }, ..everything() };
        assert_eq!(link.policy(granted.to_bytes()).await.error, "");
        assert_eq!(outside(&mut link).await, refused("PATH_NOT_ALLOWED"));
        for (tool, arguments) in [
            ("create_directory", json!({"path": device.path("x")})),
            ("open_app", json!({"app": "sh"})),
            ("get_datetime", json!({})),
        ] {
            let order = link.order(tool, &arguments);
            let admin = v1::Dispatch { role: "admin".to_owned(), ..order };
            assert_eq!(link.dispatch(admin).await, refused("PERMISSION_DENIED"), "{tool}");
        }
    }
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pre_approval_is_enough_inside_the_ceiling_and_opens_nothing_outside_it() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let spare = Rule {
        tools: vec!["delete_directory".to_owned()],
        ignore_provenance: true,
        ..Rule::new("spare", RuleAction::Preapprove)
    };
    let granted = DevicePolicy { rules: vec![spare], ..everything() };
    assert_eq!(link.policy(granted.to_bytes()).await.error, "");
    std::fs::create_dir(device.files().join("old")).unwrap();
    assert_eq!(delete(&mut link, &device.path("old")).await.0, "succeeded");
    for path in ["/srv", "/etc", "/", &device.path("")] {
        assert_eq!(delete(&mut link, path).await, refused("PATH_NOT_ALLOWED"), "{path}");
    }
    assert!(device.tree().is_empty());

    // An owner who wants to be asked is asked, whatever rule there is.
    let strict = MODEST.replace("operator", "strict");
    let (_server, device, mut link) = deceive(&strict).await;
    assert_eq!(link.policy(granted.to_bytes()).await.error, "");
    std::fs::create_dir(device.files().join("old")).unwrap();
    assert_eq!(delete(&mut link, &device.path("old")).await, refused("APPROVAL_REQUIRED"));
    assert!(device.files().join("old").is_dir());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_that_says_what_this_agent_does_not_know_is_not_taken() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let wide = json!({"profile": "developer", "paths": ["/", "/etc"]});
    let rule = |more: Value| {
        let mut rule = serde_json::to_value(Rule::new("r", RuleAction::Preapprove)).unwrap();
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"grants": wide, "rules": [rule]})
    };
    for policy in [
        json!({"grants": wide, "ceiling": wide}),
        json!({"grants": {"ceiling": wide}}),
        json!({"grants": wide, "scope": wide}),
        json!({"grants": wide, "risk": {"high": "allow"}}),
        json!({"grants": wide, "risk": {"critical": "allow"}}),
        json!({"grants": wide, "mode": "ceiling"}),
        json!({"grants": {"paths": [{"path": "/", "access": ["everything"]}]}}),
        rule(json!({"ceiling": wide})),
        rule(json!({"action": "lift"})),
    ] {
        let ack = link.policy(policy.to_string().into_bytes()).await;
        assert_ne!(ack.error, "", "{policy} was taken");
        assert_eq!(outside(&mut link).await, refused("PATH_NOT_ALLOWED"));
    }
    // Looser risks than Orion's own cannot be said: high asks all the same.
    let loose = json!({"grants": wide, "risk": {"low": "allow", "medium": "allow"}});
    assert_eq!(link.policy(loose.to_string().into_bytes()).await.error, "");
    assert_eq!(delete(&mut link, &device.path("x")).await, refused("APPROVAL_REQUIRED"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_is_not_the_bytes_own_is_not_taken_and_an_older_policy_is() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let narrow = policy(json!({"profile": "reader", "paths": [device.files()]})).to_bytes();
    let wide = everything().to_bytes();
    assert_eq!(link.policy(narrow.clone()).await.error, "");
    let arguments = json!({"path": device.path("x")});
    let order = link.order("create_directory", &arguments);
    assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"));
    for version in ["", "0000000000000000", &DevicePolicy::version_of(&narrow)] {
        let (version, policy) = (version.to_owned(), wide.clone().into());
        link.send(Message::PolicyUpdate(v1::PolicyUpdate { version, policy })).await;
        let order = link.order("create_directory", &arguments);
        assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"));
    }
    // Going back to an older policy is what an admin may do; the ceiling is not part of it.
    for (bytes, expected) in [(wide, "succeeded"), (narrow, "refused")] {
        assert_eq!(link.policy(bytes).await.error, "");
        let order = link.order("create_directory", &arguments);
        assert_eq!(link.dispatch(order).await.0, expected);
        assert_eq!(outside(&mut link).await, refused("PATH_NOT_ALLOWED"));
    }
}

/// A number out of `/proc/<pid>/status`.
fn of_process(pid: i32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn huge_policies_and_floods_of_them_wear_nothing_out() {
    const FLOOD: u32 = 3_000;
    let (server, device, mut link) = deceive(MODEST).await;
    let many: Vec<_> = (0..20_000).map(|n| format!("/srv/{n}")).collect();
    for (grants, why) in [
        (json!({"paths": many}), "4000 are taken"),
        (json!({"deny_paths": many}), "4000 are taken"),
        (json!({"apps": ["x".repeat(3 << 20)]}), "bytes"),
    ] {
        let ack = link.policy(policy(grants).to_bytes()).await;
        assert!(ack.error.contains(why), "{}", ack.error);
    }
    let pid = device.agent().pid().as_raw_nonzero().get();
    let before = of_process(pid, "VmRSS:");
    for number in 0..FLOOD {
        let paths: Vec<_> = (0..20).map(|n| device.path(&format!("{number}/{n}"))).collect();
        let granted = policy(json!({"profile": "operator", "paths": paths})).to_bytes();
        let version = DevicePolicy::version_of(&granted);
        let update = v1::PolicyUpdate { version, policy: granted.into() };
        link.send(Message::PolicyUpdate(update)).await;
        if number % 16 == 15 {
            for _ in 0..16 {
                link.receive().await.unwrap();
            }
        }
    }
    assert_eq!(outside(&mut link).await, refused("PATH_NOT_ALLOWED"));
    let (after, threads) = (of_process(pid, "VmRSS:"), of_process(pid, "Threads:"));
    println!("{FLOOD} policies: {before} kB before, {after} kB after, {threads} threads");
    assert!(after < before + 64 * 1024, "{before} kB before, {after} kB after");
    assert!(threads < 40, "{threads} threads");

    // More than one message may hold ends the connection and nothing else.
    let granted = policy(json!({"apps": ["x".repeat(5 << 20)]})).to_bytes();
    let update =
        v1::PolicyUpdate { version: DevicePolicy::version_of(&granted), policy: granted.into() };
    link.send(Message::PolicyUpdate(update)).await;
    let mut link = server.link().await;
    assert_eq!(outside(&mut link).await, refused("PATH_NOT_ALLOWED"));
}
