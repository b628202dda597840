//! `orion why` for ten denials: the transcript in the documents is what people see.

use orion_domain::Role;
use orion_tests::{Device, World};
use serde_json::json;

use super::{applied, write};

/// What holds while the ten calls are explained.
const POLICY: &str = "\
version: 1
devices:
  laptop-123:
    tools: [read_file, write_file, list_directory, create_directory, delete_directory, open_app]
    paths:
      - { path: \"{files}\", access: [read, write, delete] }
      - { path: \"{files}-shared\", access: [read] }
    deny_paths: [\"{files}/private\"]
    apps: [code]
    labels: { env: prod }
rules:
  - id: no-deletes-in-production
    tools: [delete_directory]
    devices: \"label:env=prod\"
    paths: [\"{files}/live/**\"]
    action: deny
    because: \"A release replaces live files; nobody deletes them.\"
";

const CEILING: &str = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_denials_each_with_the_deciding_line_and_the_smallest_change() {
    let world = World::new().await;
    let laptop = world.device("laptop-123").grant(json!({})).ceiling(CEILING).start().await;
    for folder in ["live/site", "old"] {
        std::fs::create_dir_all(laptop.files().join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("/usr/share", laptop.files().join("link")).unwrap();
    applied(&world, &write(&world, "policy.yaml", &laptop, POLICY)).await;
    laptop.ready().await;
    world.person("vera", Role::Viewer).await;

    let path = |name: &str| format!("path={}", laptop.path(name));
    let (note, photo) =
        (path("note.txt"), format!("path={}-shared/a.txt", laptop.files().display()));
    let (live, old) = (path("live/site"), path("old"));
    let (private, key) = (path("private/plan.txt"), path(".ssh/id_ed25519"));
    let link = path("link/doc");
    let denials: [&[&str]; 10] = [
        &["laptop-123", "write_file", &note, "content=x", "--as", "vera"],
        &["laptop-123", "get_device_info"],
        &["laptop-123", "read_file", "path=/var/log/syslog"],
        &["laptop-123", "read_file", &private],
        &["laptop-123", "read_file", &key],
        &["laptop-123", "open_app", "app=notepad"],
        &["laptop-123", "read_file", &photo],
        &["laptop-123", "delete_directory", &live, "recursive=true", "confirm=true"],
        &["laptop-123", "delete_directory", &old, "recursive=true"],
        &["laptop-123", "list_directory", &link],
    ];
    let mut transcript = String::new();
    for denial in denials {
        let output = world.cli().run(&[&["why"], denial].concat()).await;
        assert_eq!(output.code, 0, "{output:?}");
        let shown = format!("$ orion why {}\n{}\n", denial.join(" "), output.stdout);
        transcript.push_str(&told(&world, &laptop, &shown));
    }
    // The page shows a device whose owner's file is in its usual place.
    let transcript = transcript.replace(" --config /home/ann/agent.toml", "");
    let transcript = transcript.trim_end();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/policy.md"));
    insta::assert_snapshot!("ten_denials", transcript);
    assert!(
        page.unwrap().contains(transcript),
        "docs/policy.md shows another transcript than this snapshot"
    );
}

/// The text with folders as they are on somebody's laptop.
fn told(world: &World, laptop: &Device, text: &str) -> String {
    let files = laptop.files().display().to_string();
    let around = laptop.files().parent().unwrap().display().to_string();
    let text = text.replace(&files, "/home/ann/Projects").replace(&around, "/home/ann");
    world.seen().in_text(&text)
}
