//! What nobody should send and somebody will: a clear error, no panic, nothing lost.

use std::net::TcpListener;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Cli, Device, World};
use orion_wire::v1;
use serde_json::json;

/// A megabyte that is almost something.
fn garbage(size: usize) -> String {
    r#"{"tool":"create_directory","path":"x{[[\"\\u00"#.chars().cycle().take(size).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_megabyte_of_garbage_as_a_message_is_refused_and_the_chat_goes_on() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let refused = world.admin().say(&garbage(1_000_000)).await;
    let status = refused.failure.unwrap();
    assert_eq!(
        (status.code(), status.message()),
        (tonic::Code::InvalidArgument, "A message has 1 to 262144 bytes.")
    );
    let more = world.admin().say(&garbage(5_000_000)).await;
    assert!(more.failure.is_some(), "five megabytes were taken");
    let most = world.admin().say(&garbage(262_144)).await;
    assert!(most.failure.is_none() && most.calls.is_empty(), "{most:?}");
    let good = world.admin().say("Maak een folder Test").await;
    assert_eq!(good.calls.len(), 1, "{good:?}");
    assert_eq!(kiosk.tree().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_megabyte_of_garbage_holds_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::new(&folder.path().join("none.toml"), folder.path());
    for size in [1_000_000, 3_000_000] {
        let output = cli.run_with(&["extract"], garbage(size).as_bytes()).await;
        assert!(matches!(output.code, 1..=3), "{output:?}");
        assert_eq!(output.stdout, "");
        assert!(!output.stderr.is_empty() && output.stderr.len() < 20_000, "{output:?}");
    }
    let binary = cli.run_with(&["extract"], &[0xff, 0xfe, 0x00, 0x80]).await;
    assert!(matches!(binary.code, 1..=3), "{binary:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_of_three_megabytes_are_refused_or_written_and_never_lost() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for size in [100_000, 900_000, 3_000_000, 3_900_000] {
        let content = "x".repeat(size);
        let request = v1::CallToolRequest {
            tool: "write_file".to_owned(),
            device: "kiosk".to_owned(),
            arguments: json!({"path": "big", "content": content}).to_string().into_bytes().into(),
            ..Default::default()
        };
        match world.admin().ask(request).await {
            Ok(call) => {
                assert_eq!(call.end(), (CallState::Succeeded, None), "{size} bytes");
                assert_eq!(kiosk.tree()["big"].as_ref().map(String::len), Some(size));
            }
            Err(status) => {
                assert_eq!(status.code(), tonic::Code::InvalidArgument, "{size} bytes");
                assert!(size > 1_000_000, "{size} bytes: {status:?}");
            }
        }
        let alive = world.admin().call("kiosk", "get_datetime", json!({})).await;
        assert_eq!(alive.end(), (CallState::Succeeded, None), "after {size} bytes");
    }
}

/// Runs a backend that should not start, and gives what it said.
async fn backend_that_does_not_start(config: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (file, data_dir) = (folder.path().join("orion-server.toml"), folder.path().join("data"));
    std::fs::write(&file, config).unwrap();
    let cli = Cli::new(&folder.path().join("none.toml"), folder.path());
    let (file, data_dir) = (file.display().to_string(), data_dir.display().to_string());
    let words = ["run", "--config", &file, "--data-dir", &data_dir];
    let output = cli.program("orion-server", &words, b"").await;
    assert_eq!(output.code, 1, "{output:?}");
    output.stderr.replace(&folder.path().display().to_string(), "[folder]")
}

/// The sentence in a log line, without its time and level.
fn sentence(log: &str) -> String {
    let plain = log.split("ERROR").nth(1).unwrap_or(log);
    plain.split_once(": ").map_or(plain, |(_, said)| said).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_with_an_unknown_key_names_the_nearest() {
    let said = backend_that_does_not_start("[people]\nlistem = \"127.0.0.1:0\"\n").await;
    insta::assert_snapshot!(sentence(&said));
    let said = backend_that_does_not_start("[calls]\ntimeout_seconds = \"soon\"\n").await;
    assert!(said.contains("timeout_seconds"), "{said}");
    let said = backend_that_does_not_start("[people]\nlisten = \"0.0.0.0:0\"\n").await;
    assert!(said.contains("needs TLS"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owners_file_with_an_unknown_key_names_the_nearest() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    for (wrong, nearest) in [
        ("[ceiling]\nprofile = \"operator\"\npathz = []\n", "`paths`"),
        ("[ceiling]\ntools = [\"creat_directory\"]\n", "`create_directory`"),
        ("[timeout]\ncall = 3\n", "`timeouts`"),
    ] {
        std::fs::write(kiosk.config(), wrong).unwrap();
        let agent = kiosk.agent_command(&["run"]);
        assert_eq!(agent.exit_code().await, 1);
        assert!(agent.log().contains(nearest), "{}", agent.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for section in ["people", "devices"] {
        let other = if section == "people" { "devices" } else { "people" };
        let config =
            format!("[{section}]\nlisten = \"{address}\"\n[{other}]\nlisten = \"127.0.0.1:0\"\n");
        let said = backend_that_does_not_start(&config).await;
        let expected = format!("[{section}] listen = \"{address}\": the port cannot be opened");
        assert!(said.contains(&expected), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_backend_in_the_same_folder_is_refused_and_the_first_goes_on() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let config = world.folder().join("second.toml");
    std::fs::write(
        &config,
        "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"127.0.0.1:0\"\n",
    )
    .unwrap();
    let (config, data_dir) = (config.display().to_string(), world.data_dir().display().to_string());
    let words = ["run", "--config", &config, "--data-dir", &data_dir];
    let second = world.cli().program("orion-server", &words, b"").await;
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("a backend is running with"), "{second:?}");
    let call = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None));

    let again = kiosk.agent_command(&["run"]);
    assert_eq!(again.exit_code().await, 1);
    let call = world.admin().call("kiosk", "create_directory", json!({"path": "y"})).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{}", again.log());
}

/// A small file system over the folder that a device lends, for as long as this lives.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    /// None where this user may not mount.
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    fn over(device: &Device) -> Option<Self> {
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
            .arg(device.files())
            .output()
            .ok()?;
        mounted.status.success().then(|| Self(device.files()))
    }
}

impl Drop for SmallDisk {
    #[expect(clippy::disallowed_methods, reason = "tests are about processes")]
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_called_one_and_what_was_there_stays() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let Some(_disk) = SmallDisk::over(&kiosk) else {
        eprintln!("skipped: this user may not mount a small disk");
        return;
    };
    kiosk.write_file("kept.txt", "kept");
    kiosk.run().await;
    let before = kiosk.tree();
    for path in ["kept.txt", "new.txt"] {
        let arguments = json!({"path": path, "content": "x".repeat(300_000)});
        let call = world.admin().call("kiosk", "write_file", arguments).await;
        assert_eq!(call.end(), (CallState::Failed, Some(ErrorCode::ResourceExhausted)), "{call:?}");
        assert!(call.error().message.contains("full"), "{call:?}");
        assert_eq!(kiosk.tree(), before);
    }
    let small = json!({"path": "kept.txt", "content": "new"});
    let call = world.admin().call("kiosk", "write_file", small).await;
    assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    kiosk.stop().await;
}
