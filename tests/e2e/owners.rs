//! What a device's owner types: the line of an invitation, and what opens and closes folders.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, World, eventually};
use serde_json::json;

/// Returns a machine that is no device and has no `agent.toml`, and the path of its folder.
async fn without_a_config(world: &World) -> (Device, String) {
    let (kiosk, _) = world.device("kiosk").invite().await;
    std::fs::remove_file(kiosk.config()).unwrap();
    let files = kiosk.files().display().to_string();
    (kiosk, files)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_line_of_an_invitation_enrols_a_device_whose_first_call_works() {
    let world = World::new().await;
    let (kiosk, files) = without_a_config(&world).await;
    let invite = ["devices", "invite", "--name", "laptop", "--preapproved", "--path", &files];
    let invited = world.cli().run(&[&invite[..], &["-o", "json"]].concat()).await.json();
    let line = invited["command"].as_str().unwrap();
    assert!(line.ends_with(&format!(" --allow-path {files}")), "{line}");
    let words: Vec<_> = line.split(' ').skip(1).collect();

    // A try that fails leaves nothing behind that would hinder the next one.
    let failed = kiosk.agent_command(&["enroll", "orion1.x", "--allow-path", &files]);
    assert_eq!(failed.exit_code().await, 4, "{}", failed.log());
    assert!(!kiosk.config().exists());
    let enrolled = kiosk.agent_command(&words);
    assert_eq!(enrolled.exit_code().await, 0, "{}", enrolled.log());
    let _agent = kiosk.launch();
    let write = json!({"path": kiosk.path("a.txt"), "content": "one"});
    eventually("the first call", async || {
        let call = world.admin().call("laptop", "write_file", write.clone()).await;
        (call.end() == (CallState::Succeeded, None)).then_some(())
    })
    .await;
    assert_eq!(std::fs::read_to_string(kiosk.path("a.txt")).unwrap(), "one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_first_line_allows_is_written_once_it_is_approved_and_no_later_line_changes_it() {
    let world = World::new().await;
    let (kiosk, files) = without_a_config(&world).await;
    let token = async |name: &str| {
        let invite = ["devices", "invite", "--name", name, "-o", "json"];
        let invited = world.cli().run(&invite).await.json();
        invited["token"].as_str().unwrap().to_owned()
    };
    let enroll = async |words: &[&str]| {
        let ran = kiosk.agent_command(&[&["enroll"], words].concat());
        (ran.exit_code().await, ran.log())
    };
    let approve = async |name: &str| {
        let approved = world.cli().run(&["devices", "approve", name, "--yes"]).await;
        assert_eq!(approved.code, 0, "{approved:?}");
    };

    let first = token("first").await;
    let strict = ["--profile", "strict", "--allow-path", &files, "--no-wait"];
    for words in [&[&*first][..], &[]] {
        let options = if words.is_empty() { &["--no-wait"][..] } else { &strict };
        let pending = enroll(&[words, options].concat()).await;
        assert!(pending.0 != 0 && pending.1.contains("waits for approval"), "{pending:?}");
        assert!(!kiosk.config().exists(), "a try that ends in no device leaves nothing");
    }
    approve("first").await;
    let enrolled = enroll(&[]).await;
    assert_eq!(enrolled.0, 0, "{enrolled:?}");
    let written = std::fs::read_to_string(kiosk.config()).unwrap();
    assert!(written.contains("profile = \"strict\"") && written.contains(&files), "{written}");

    // It becomes another device: the owner's file is no part of that, whether the line is pasted once or again.
    let second = token("second").await;
    let line = [&*second, "--force", "--allow-path", &files, "--no-wait"];
    let pending = enroll(&line).await;
    assert!(pending.0 != 0 && pending.1.contains("waits for approval"), "{pending:?}");
    approve("second").await;
    let enrolled = enroll(&line).await;
    assert!(enrolled.0 == 0 && enrolled.1.contains("it is kept as it is"), "{enrolled:?}");
    let spent = enroll(&line).await;
    assert_ne!(spent.0, 0, "{spent:?}");
    assert_eq!(std::fs::read_to_string(kiosk.config()).unwrap(), written);

    // A file that cannot be read is named before the token is used.
    std::fs::write(kiosk.config(), "[ceiling").unwrap();
    let third = token("third").await;
    let refused = enroll(&[&third, "--force", "--no-wait"]).await;
    assert!(refused.0 != 0 && refused.1.contains("agent.toml"), "{refused:?}");
    std::fs::write(kiosk.config(), &written).unwrap();
    let pending = enroll(&[&third, "--force", "--no-wait"]).await;
    assert!(pending.1.contains("third waits for approval"), "{pending:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_opens_and_closes_a_folder_and_the_agent_follows() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let outside = kiosk.files().with_file_name("more");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a.txt"), "one").unwrap();
    let folder = outside.display().to_string();
    kiosk.grant(&json!({"profile": "operator", "paths": [folder]})).await;
    let until = async |what: &str, tool: &str, arguments: serde_json::Value, end| {
        eventually(what, async || {
            let call = world.admin().call("kiosk", tool, arguments.clone()).await;
            (call.end() == end).then_some(())
        })
        .await;
    };
    let read = json!({"path": format!("{folder}/a.txt")});
    let write = json!({"path": format!("{folder}/a.txt"), "content": "two"});
    let denied = (CallState::Denied, Some(ErrorCode::PathNotAllowed));
    let done = (CallState::Succeeded, None);
    let agent = async |words: &[&str]| {
        let ran = kiosk.agent_command(words);
        assert_eq!(ran.exit_code().await, 0, "{}", ran.log());
        ran.log()
    };
    until("a closed folder", "read_file", read.clone(), denied).await;
    // A single file would open nothing, so that its folder is named.
    let (code, said) = kiosk.agent_says(&["allow", &format!("{folder}/a.txt"), "--read"]).await;
    assert!(
        code == 1
            && said.contains("orion-agent --state-dir ")
            && said.contains(&format!(" allow {folder} --read`")),
        "{code}: {said}"
    );
    let said = agent(&["allow", &folder, "--read"]).await;
    assert!(said.contains("may be read here"), "{said}");
    until("reading", "read_file", read.clone(), done).await;
    until("no writing", "write_file", write.clone(), denied).await;
    agent(&["allow", &folder]).await;
    until("writing", "write_file", write, done).await;
    let said = agent(&["allow", &format!("{folder}/a.txt")]).await;
    assert!(said.contains("a.txt may be read, written and deleted here already"), "{said}");
    assert!(agent(&["ceiling", "check"]).await.contains("is well"));
    agent(&["deny", &folder]).await;
    until("a folder that is closed again", "read_file", read, denied).await;
    let said = agent(&["allow", &format!("{folder}/later")]).await;
    assert!(said.contains("later is not there yet"), "{said}");
    let said = agent(&["deny", &folder]).await;
    assert!(said.contains("nothing has changed"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_is_told_of_a_mistyped_name_and_where_relative_paths_begin_now() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let files = kiosk.files().display().to_string();
    kiosk.write_file("private/diary.txt", "mine");
    let other = kiosk.files().with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    let other = other.display().to_string();

    let (code, said) = kiosk.agent_says(&["deny", &format!("{files}/privat")]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("privat is not there, so nothing that is there now is closed"), "{said}");
    assert!(said.contains(&format!("deny {files}/private`")), "{said}");
    assert!(said.contains(&format!("deny {files}/privat --undo`")), "{said}");
    let (_, checked) = kiosk.agent_says(&["ceiling", "check"]).await;
    assert!(checked.contains("there is `private`"), "{checked}");
    let (_, shown) = kiosk.agent_says(&["ceiling", "show"]).await;
    assert!(shown.contains("/privat (nothing is there)"), "{shown}");
    let (_, said) = kiosk.agent_says(&["deny", &format!("{files}/private")]).await;
    assert!(!said.contains("is not there"), "{said}");

    // What the owner denied is no fault of what they allow around it, and how wide that is they are told at once.
    let (_, said) = kiosk.agent_says(&["allow", &files]).await;
    assert!(said.contains("may be read, written and deleted here already"), "{said}");
    let denied = format!("What you denied in it stays closed: {files}/privat, {files}/private.");
    assert!(said.contains(&denied), "{said}");
    assert!(!said.contains("warning"), "{said}");
    let (_, said) = kiosk.agent_says(&["allow", "/", "--read"]).await;
    assert!(said.contains("warning: `/` grants the whole disk."), "{said}");
    assert!(said.contains("What is in / may be read here"), "{said}");
    kiosk.agent_says(&["deny", "/"]).await;
    kiosk.agent_says(&["deny", "/", "--undo"]).await;

    // The first path is where relative paths begin, so that closing it moves them.
    let (_, said) = kiosk.agent_says(&["allow", &other]).await;
    assert!(!said.contains("Relative paths"), "{said}");
    let (_, said) = kiosk.agent_says(&["deny", &files]).await;
    let begin = format!("Relative paths of calls begin in {other} now, and no longer in {files}");
    assert!(said.contains(&begin), "{said}");
    let (_, said) = kiosk.agent_says(&["allow", &files]).await;
    assert!(!said.contains("Relative paths"), "they stay where they began: {said}");
    let (_, said) = kiosk.agent_says(&["deny", &other]).await;
    assert!(said.contains(&format!("begin in {files} now")), "{said}");
    let (_, said) = kiosk.agent_says(&["deny", &files]).await;
    assert!(said.contains("No path is left in the file"), "{said}");

    // Where the file is gone nothing is allowed, and no denial makes a new one.
    let file = kiosk.config();
    std::fs::remove_file(&file).unwrap();
    let (code, said) = kiosk.agent_says(&["deny", &files]).await;
    assert!(code == 1 && said.contains("is missing, so nothing is allowed here"), "{code}: {said}");
    assert!(!file.exists());
    let (_, said) = kiosk.agent_says(&["allow", &files]).await;
    assert!(said.contains("was missing; a new one was made, with the profile operator"), "{said}");
}
