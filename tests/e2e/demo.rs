//! `orion demo`: one command from nothing to a folder on a device, and nothing left behind.

use std::ffi::OsStr;
use std::path::Path;

use orion_tests::{Aimock, Cli, Launch, Output, Process, Tree, eventually, program, tree};
use serde_json::json;
use tempfile::TempDir;

/// A folder for a demo, and the command line in it.
fn folder() -> (TempDir, Cli) {
    let folder = tempfile::Builder::new().prefix("orion-demo-").tempdir().unwrap();
    let cli = Cli::new(&folder.path().join("d/context.toml"), folder.path());
    (folder, cli)
}

async fn say(cli: &Cli, words: &[&str]) -> Output {
    let mut all = vec!["demo", "--dir", "d", "--yes"];
    all.extend(words);
    cli.run(&all).await
}

fn serve(folder: &Path) -> Process {
    let arguments = ["demo", "--dir", "d", "--serve"].map(OsStr::new);
    let launch = Launch { arguments: &arguments, keeps_stdin: true, ..Launch::default() };
    Process::start(&program("orion"), &folder.join("demo.log"), &launch)
}

async fn ready(demo: &Process) {
    eventually("the line `ready`", async || {
        assert!(demo.is_running(), "{}", demo.log());
        demo.log().lines().any(|line| line == "ready").then_some(())
    })
    .await;
}

/// The processes that have this folder in their command line.
fn processes(folder: &Path) -> Vec<String> {
    let wanted = folder.display().to_string();
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(&wanted))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_message_makes_a_folder_and_everything_ends() {
    let (folder, cli) = folder();
    let demo = say(&cli, &["--say", "Maak een folder Test"]).await;
    assert_eq!(demo.code, 0, "{demo:?}");
    let files = folder.path().join("d/files");
    assert_eq!(tree(&files), Tree::from([("Test".to_owned(), None)]));
    assert_eq!(processes(folder.path()), Vec::<String>::new());
    let verified = cli.run(&["audit", "verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    assert!(verified.stdout.starts_with("Audit log intact: "), "{verified:?}");

    // What was made there is found again.
    let again = say(
        &cli,
        &["--say", "Maak een folder Tweede", "--say", "verwijder de map Test met alles erin"],
    )
    .await;
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(tree(&files), Tree::from([("Tweede".to_owned(), None)]));
    // The exit code is the last call's.
    let denied = say(&cli, &["--say", "read /etc/passwd"]).await;
    assert_eq!(denied.code, 5, "{denied:?}");
    let verified = cli.run(&["audit", "verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_takes_calls_until_it_is_asked_to_end() {
    let (folder, cli) = folder();
    let demo = serve(folder.path());
    ready(&demo).await;
    let made = cli.run(&["call", "demo-device", "create_directory", "path=Test"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let refused =
        cli.run(&["call", "demo-device", "read_file", "path=/etc/passwd", "-o", "json"]).await;
    assert_eq!((refused.code, &refused.json()["error"]["code"]), (5, &json!("PATH_NOT_ALLOWED")));

    // The owner's command changes the file of this device, as it is written.
    let hints = refused.json()["error"]["hints"].clone();
    let owner = hints.as_array().unwrap().iter().find(|hint| hint["who"] == "owner").unwrap();
    let command = owner["command"].as_str().unwrap();
    let agent = program("orion-agent").display().to_string();
    let command = command.replacen("orion-agent", &agent, 1);
    let launch = Launch { arguments: &["-c", &command].map(OsStr::new), ..Launch::default() };
    let allowed = Process::start(Path::new("/bin/sh"), &folder.path().join("owner.log"), &launch);
    assert_eq!(allowed.exit_code().await, 0, "{command}: {}", allowed.log());
    let owners = std::fs::read_to_string(folder.path().join("d/agent/agent.toml")).unwrap();
    assert!(owners.contains("\"/etc\""), "{owners}");

    // Who opens the folder around opens neither the admin's session nor the backend's data.
    let around = folder.path().join("d").canonicalize().unwrap().display().to_string();
    std::fs::write(format!("{around}/todo.txt"), "milk").unwrap();
    let grant = ["--path", &around, "--access", "read"];
    let line = [&["devices", "permissions", "add", "demo-device"], &grant[..]].concat();
    assert_eq!(cli.run(&line).await.code, 0);
    let words = ["--config", &format!("{around}/agent/agent.toml"), "allow", &around, "--read"];
    let words = words.map(OsStr::new);
    let launch = Launch { arguments: &words, ..Launch::default() };
    let owner = Process::start(&program("orion-agent"), &folder.path().join("owner.log"), &launch);
    assert_eq!(owner.exit_code().await, 0, "{}", owner.log());
    let read = async |name: &str| {
        let path = format!("path={around}/{name}");
        cli.run(&["call", "demo-device", "read_file", &path]).await
    };
    eventually("the folder around", async || (read("todo.txt").await.code == 0).then_some(()))
        .await;
    for own in ["context.toml", "server/orion-server.toml", "agent/agent.toml", "server/orion.db"] {
        let closed = read(own).await;
        assert_eq!(closed.code, 5, "{own}: {closed:?}");
    }

    let second = say(&cli, &["--say", "Maak een folder Twee"]).await;
    assert_eq!(second.code, 9, "{second:?}");
    demo.stop().await;
    assert_eq!(processes(folder.path()), Vec::<String>::new());
    assert_eq!(tree(&folder.path().join("d/files")), Tree::from([("Test".to_owned(), None)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_demo_that_is_killed_takes_its_programs_with_it_and_can_be_run_again() {
    let (folder, cli) = folder();
    let demo = serve(folder.path());
    ready(&demo).await;
    assert!(processes(folder.path()).len() >= 2, "{:?}", processes(folder.path()));
    demo.kill9().await;
    eventually("the end of its programs", async || {
        processes(folder.path()).is_empty().then_some(())
    })
    .await;

    let again = say(&cli, &["--say", "Maak een folder Test"]).await;
    assert_eq!(again.code, 0, "{again:?}");
    assert_eq!(cli.run(&["audit", "verify"]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quarantined_device_stays_the_same_over_a_restart_and_is_let_in_again() {
    let (folder, cli) = folder();
    let demo = serve(folder.path());
    ready(&demo).await;
    let made = cli.run(&["call", "demo-device", "create_directory", "path=Test", "-o", "json"]);
    let made = made.await.json()["meta"]["call_id"].as_str().unwrap().to_owned();
    let held = cli.run(&["devices", "quarantine", "demo-device"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    // Nobody needs to name the only device to hear what is the matter with it.
    let refused = cli.run(&["call", "list_directory", "path=."]).await;
    assert_eq!(refused.code, 5, "{refused:?}");
    assert!(
        refused.stderr.contains("demo-device is quarantined and takes no calls"),
        "{refused:?}"
    );
    demo.stop().await;

    let demo = serve(folder.path());
    eventually("what the second start says", async || {
        demo.log().contains("demo-device is in quarantine and takes no calls").then_some(())
    })
    .await;
    let approved = cli.run(&["devices", "approve", "demo-device", "--yes"]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    // What it did before can still be taken back.
    eventually("the device is back", async || {
        (cli.run(&["undo", &made]).await.code == 0).then_some(())
    })
    .await;
    assert_eq!(tree(&folder.path().join("d/files")), Tree::default());
    demo.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_terminal_the_chat_reads_lines() {
    let (folder, cli) = folder();
    let chat =
        cli.run_with(&["demo", "--dir", "d"], b"Maak een folder Test\nhoe laat is het\n").await;
    assert_eq!(chat.code, 0, "{chat:?}");
    assert_eq!(tree(&folder.path().join("d/files")), Tree::from([("Test".to_owned(), None)]));
    assert_eq!(processes(folder.path()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_language_model_that_was_given_once_answers_from_then_on() {
    let (folder, cli) = folder();
    let fixtures = json!({"fixtures": [
        {"match": {"userMessage": "hello"}, "response": {"content": "Hello from the model."}},
    ]});
    let aimock = Aimock::start(folder.path(), &fixtures).await;
    let url = format!("{}/v1", aimock.url);
    let refused =
        say(&cli, &["--model-url", "localhost:1", "--model", "m", "--say", "hello"]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("http://127.0.0.1:11434/v1"), "{refused:?}");
    let first = say(&cli, &["--model-url", &url, "--model", "test-model", "--say", "hello"]).await;
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.stdout.contains("Hello from the model."), "{first:?}");
    let again = say(&cli, &["--say", "hello"]).await;
    assert!(again.stdout.contains("Hello from the model."), "{again:?}");
    let planned = say(&cli, &["--model", "planner", "--say", "Make a folder Test"]).await;
    assert_eq!(planned.code, 0, "{planned:?}");
    assert_eq!(tree(&folder.path().join("d/files")), Tree::from([("Test".to_owned(), None)]));
}
