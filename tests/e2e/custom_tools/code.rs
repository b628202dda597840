//! What a custom tool consists of: no call changes it, and what the policy denies is not in it.

use std::path::Path;

use orion_domain::{CallState, ErrorCode};
use orion_tests::World;
use orion_wire::v1;
use serde_json::json;

use super::servers::{ODD_SERVER, approved, device_with};
use super::{announced, approve, define, define_as, kiosk};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_that_calls_may_write_is_not_run_by_a_tool_that_names_it() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let admin = world.admin();
    kiosk.write_file("job.sh", "echo mine\n");
    let job = kiosk.path("job.sh");
    let rest = |script: &str| {
        format!("argv = [\"{script}\"]\nrisk = \"low\"\n[touches]\nread = [\".\"]\n")
    };
    define_as(&kiosk, "run_job", Path::new("/bin/sh"), &rest(&job));
    let first = announced(&world, "run_job", "").await;
    approve(&world, &first, v1::Risk::Low).await;
    let written = json!({"path": "job.sh", "content": "echo replaced\n"});
    assert_eq!(admin.call("kiosk", "write_file", written).await.state, CallState::Succeeded);
    let refused = admin.call("kiosk", "run_job", json!({})).await;
    assert_eq!(refused.end(), (CallState::Refused, Some(ErrorCode::PathNotAllowed)), "{refused:?}");
    assert!(refused.error().message.contains(&job), "{refused:?}");
    assert!(refused.error().hints[0].text.contains("move the file"), "{refused:?}");
    // Where no call may write, the script runs, and needs no other mention.
    kiosk.install("job.sh", "echo mine\n");
    let job = kiosk.config().with_file_name("programs").join("job.sh");
    define_as(&kiosk, "run_job", Path::new("/bin/sh"), &rest(&job.display().to_string()));
    let second = announced(&world, "run_job", &first.digest).await;
    approve(&world, &second, v1::Risk::Low).await;
    let ran = admin.call("kiosk", "run_job", json!({})).await;
    assert_eq!(ran.data()["stdout"], "mine\n", "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_gets_nothing_that_is_denied_in_its_code_and_no_script_that_calls_may_write() {
    let world = World::new().await;
    let home = tempfile::tempdir().unwrap();
    let code = home.path().join("code");
    std::fs::create_dir_all(code.join("lib/.ssh")).unwrap();
    for (name, content) in [
        ("lib/open.js", "open"),
        ("lib/.ssh/id_ed25519", "canary"),
        ("server.pem", "canary"),
        (".env", "canary"),
    ] {
        std::fs::write(code.join(name), content).unwrap();
    }
    let read = "given.text === 'x' ? 'x' : fs.readFileSync(given.text, 'utf8')";
    let server = ODD_SERVER.replace("text: given.text }", &format!("text: {read} }}"));
    std::fs::write(code.join("server.js"), &server).unwrap();
    let entry = format!(
        "[mcp.odd]\ncommand = \"node\"\nargs = [\"{code}/server.js\"]\ncode = [\"{code}\"]\nrisk = \"low\"\n\
         [mcp.own]\ncommand = \"node\"\nargs = [\"{{files}}/server.js\"]\nroots = [\"{{files}}\"]\nrisk = \"low\"\n",
        code = code.display()
    );
    let kiosk = device_with(&world, &entry).await;
    kiosk.write_file("server.js", &server);
    approved(&world, "odd__echo").await;
    let echo = async |name: &str| {
        let text = code.join(name).display().to_string();
        world.admin().call("kiosk", "odd__echo", json!({"text": text})).await
    };
    assert_eq!(echo("lib/open.js").await.data()["stdout"], "open");
    for denied in ["lib/.ssh/id_ed25519", "server.pem", ".env"] {
        let failed = echo(denied).await;
        assert_eq!(failed.state, CallState::Failed, "{denied}: {failed:?}");
        assert!(!format!("{failed:?}").contains("canary"), "{failed:?}");
    }
    let tools = super::listed(&world).await;
    assert!(tools.iter().all(|tool| !tool.name.starts_with("own__")), "{tools:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_starts_programs_is_written_once_a_person_approved_it_also_by_a_link() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    kiosk.write_file("plain.txt", "old");
    kiosk.write_script("run.sh", "#!/bin/sh\n");
    std::fs::create_dir(kiosk.files().join(".git")).unwrap();
    std::os::unix::fs::symlink("run.sh", kiosk.files().join("to_run")).unwrap();
    std::os::unix::fs::symlink(".git", kiosk.files().join("to_git")).unwrap();
    let rest = "argv = [\"{target}\"]\nrisk = \"medium\"\n[arguments.target]\ntype = \"string\"\n\
        required = true\n[touches]\nwrite = [\"{target}\"]\n";
    define(&kiosk, "note", "#!/bin/sh\necho new > \"$1\"\n", rest);
    let tool = announced(&world, "note", "").await;
    approve(&world, &tool, v1::Risk::Medium).await;
    let admin = world.admin();
    let note = async |target: &str| admin.call("kiosk", "note", json!({"target": target})).await;
    assert_eq!(note("plain.txt").await.state, CallState::Succeeded);
    for target in ["run.sh", "to_run"] {
        let asked = note(target).await;
        assert_eq!(asked.state, CallState::AwaitingApproval, "{target}: {asked:?}");
        assert_eq!(kiosk.tree()["run.sh"].as_deref(), Some("#!/bin/sh\n"), "{target}");
    }
    let refused = note("to_git/hook").await;
    assert_eq!(refused.end().1, Some(ErrorCode::PathNotAllowed), "{refused:?}");
    // With a risk at which every call asks, the person reads that it starts programs.
    approve(&world, &tool, v1::Risk::High).await;
    let arguments = json!({"target": "to_git/hook", "confirm": true});
    let asked = admin.call("kiosk", "note", arguments).await;
    let request = v1::GetApprovalRequest {
        approval_id: asked.approval_id().to_owned(),
        ..Default::default()
    };
    let card = admin.approvals().get_approval(request).await.unwrap().into_inner().approval;
    let reasons = card.unwrap().risk_because;
    assert!(reasons.iter().any(|line| line.contains("start programs")), "{reasons:?}");
}
