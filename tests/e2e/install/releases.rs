//! What the port of people serves to machines that are no devices yet: the script, and the agents of the manifest.

use orion_domain::Digest;
use orion_tests::World;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::invite;
use super::person::serve;

/// Gets what is at a path, with its head.
async fn get(world: &World, path: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(world.people_address()).await.unwrap();
    let host = world.people_address();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let at = answer.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    (String::from_utf8(answer[..at].to_vec()).unwrap(), answer[at + 4..].to_vec())
}

/// A program of a platform, of this size.
pub(super) fn program(machine: u8, size: usize) -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(size, b'x');
    bytes[18] = machine;
    bytes[19] = 0;
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_of_the_manifest_is_served_and_no_other_file() {
    let world = World::new().await;
    let (head, _) = get(&world, "/download/linux-x86_64/orion-agent").await;
    assert!(head.starts_with("HTTP/1.1 404"), "{head}");
    let bytes = program(62, 300_001);
    let file = world.folder().join("program");
    std::fs::write(&file, &bytes).unwrap();
    serve(&world, &file).await;
    let sha256 = Digest::of(&bytes);
    let (head, body) = get(&world, "/download/linux-x86_64/orion-agent").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-length: 300001"), "{head}");
    assert_eq!(Digest::of(&body), sha256);
    let (_, body) = get(&world, "/download/linux-x86_64/orion-agent.sha256").await;
    assert_eq!(String::from_utf8(body).unwrap(), format!("{sha256}  orion-agent\n"));
    let (_, script) = get(&world, "/install.sh").await;
    let script = String::from_utf8(script).unwrap();
    assert!(script.contains(&format!("\nlinux-x86_64 {sha256} 300001\n")), "{script}");
    for path in [
        "/download/linux-aarch64/orion-agent",
        "/download/linux-x86_64/orion-agent.minisig",
        "/download/linux-x86_64/",
        "/download/linux-x86_64/manifest.toml",
        "/download/../install.sh",
        "/download/../releases/manifest.toml",
        "/download/linux-x86_64/../../orion.db",
        "/download/%2e%2e/orion-agent",
        "/download/linux-x86_64%2f..%2f..%2forion.db/orion-agent",
        &format!("/download/{sha256}/orion-agent"),
        &format!("/download/{sha256}"),
    ] {
        let (head, _) = get(&world, path).await;
        assert!(head.starts_with("HTTP/1.1 404"), "{path}: {head}");
    }
    // A file that is another one by now is not served as if it were the agent.
    let path = world.data_dir().join("releases").join(sha256.to_string());
    std::fs::write(path, "short").unwrap();
    let (head, _) = get(&world, "/download/linux-x86_64/orion-agent").await;
    assert!(head.starts_with("HTTP/1.1 500"), "{head}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_many_agents_are_sent_to_one_address_at_once_and_a_place_is_free_again_after_it() {
    let world = World::new().await;
    let file = world.folder().join("program");
    std::fs::write(&file, program(62, 32 * 1024 * 1024)).unwrap();
    serve(&world, &file).await;
    let path = "/download/linux-x86_64/orion-agent";
    let host = world.people_address();
    let mut waiting = Vec::new();
    for _ in 0..8 {
        // They read the first bytes and no more.
        let mut stream = TcpStream::connect(&host).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        waiting.push(stream);
    }
    let (head, _) = get(&world, path).await;
    assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 10"), "{head}");
    let (head, _) = get(&world, "/install.sh").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    drop(waiting);
    orion_tests::eventually("a free place", async || {
        get(&world, path).await.0.starts_with("HTTP/1.1 200").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_line_for_powershell_is_there_where_an_agent_for_windows_is() {
    let world = World::new().await;
    let file = world.folder().join("program");
    let invited = async || invite(&world, &["--path", "C:/it's"]).await;
    std::fs::write(&file, program(62, 1000)).unwrap();
    serve(&world, &file).await;
    let linux = invited().await;
    assert!(linux["install_with_curl"].is_string(), "{linux}");
    assert_eq!(linux["install_with_powershell"], serde_json::Value::Null);

    let mut windows = b"MZ".to_vec();
    windows.resize(1001, 0);
    windows[60] = 128;
    windows[128..134].copy_from_slice(b"PE\0\0\x64\x86");
    std::fs::write(&file, &windows).unwrap();
    serve(&world, &file).await;
    let (head, script) = get(&world, "/install.ps1").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/plain"), "{head}");
    let text = String::from_utf8(script.clone()).unwrap();
    assert!(text.contains(&format!("$sha256 = '{}'\n", Digest::of(&windows))), "{text}");
    let both = invited().await;
    let line = both["install_with_powershell"].as_str().unwrap();
    let (compared, run) = line.split_once("{ & ([ScriptBlock]::Create($s))").unwrap();
    assert!(compared.ends_with(&format!("-eq '{}') ", Digest::of(&script))), "{line}");
    let token = both["token"].as_str().unwrap();
    assert!(run.starts_with(&format!(" {token} --allow-path 'C:/it''s' }}")), "{line}");
    let shown = world.cli().run(&["devices", "invite"]).await;
    assert!(shown.stdout.contains("/install.ps1"), "{shown:?}");
}
