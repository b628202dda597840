//! The worlds of the examples, each with its own backend, devices and people.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use orion_domain::Role;
use orion_tests::{Device, Launch, Process, World, eventually, program};
use serde_json::json;

use super::ground::Ground;
use super::run_all;

/// A second model, and an assistant, by the names that the examples use.
const CHATS: &str = "[[models]]\nname = \"planner\"\nkind = \"planner\"\n\
    [[models]]\nname = \"qwen\"\nkind = \"planner\"\n\
    [[assistants]]\nname = \"gardener\"\nprompt = \"You look after the disks.\"\n";
const DEVELOPER: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";

/// The folders of a world, with its admin signed in.
fn ground(world: &World) -> Ground {
    let mut ground = Ground::new(world.folder());
    ground.context = std::fs::read_to_string(world.folder().join("context.toml")).unwrap();
    ground.data = Some(world.data_dir());
    ground.set("DATA", world.data_dir().display());
    ground.set("BACKEND", format!("http://{}", world.people_address()));
    ground.set("PORT_FOR_DEVICES", world.device_address());
    ground
}

/// Starts a device of which its operators may use the files.
async fn device(world: &World, ground: &mut Ground, name: &str, variable: &str) -> Device {
    let device = world.device(name).start().await;
    ground.device(name, variable, &device.files());
    device
}

pub(super) async fn calls() {
    let world = World::new().await;
    let mut ground = ground(&world);
    for (name, variable) in [("laptop-123", "LAPTOP"), ("kiosk", "KIOSK"), ("server-1", "SERVER")] {
        device(&world, &mut ground, name, variable).await;
    }
    world.person("bob", Role::Operator).await;
    run_all("calls", &ground).await;
}

pub(super) async fn chats() {
    let world = World::configured(CHATS).await;
    let mut ground = ground(&world);
    device(&world, &mut ground, "laptop-123", "LAPTOP").await;
    run_all("chats", &ground).await;
}

pub(super) async fn decisions() {
    let world = World::new().await;
    let mut ground = ground(&world);
    let laptop = device(&world, &mut ground, "laptop-123", "LAPTOP").await;
    ground.set("AGENT_OF_LAPTOP", laptop.state_dir().display());
    let web = device(&world, &mut ground, "web-1", "WEB").await;
    ground.set("AGENT_OF_WEB", web.state_dir().display());
    web.grant(&json!({"profile": "operator", "paths": ["{files}/public"]})).await;
    world.person("bob", Role::Operator).await;
    run_all("decisions", &ground).await;
}

pub(super) async fn fleet() {
    let world = World::new().await;
    let mut ground = ground(&world);
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    let laptop = world.device("laptop-123").grant(grants).ceiling(DEVELOPER).start().await;
    ground.device("laptop-123", "LAPTOP", &laptop.files());
    define_backup(&laptop);
    eventually("backup_photos announced", async || {
        let pending = world.cli().run(&["tools", "pending"]).await;
        pending.stdout.contains("backup_photos").then_some(())
    })
    .await;
    run_all("fleet", &ground).await;
}

/// Writes the manifest that the documents show, of a program that does nothing.
fn define_backup(device: &Device) {
    device.install("backup-photos", "#!/bin/sh\necho \"copied from $2\"\n");
    let folder = device.config().with_file_name("tools.d");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    let program = device.config().with_file_name("programs").join("backup-photos");
    let text = format!(
        "name = \"backup_photos\"\ndescription = \"Copies new photos of a folder to the backup disk.\"\n\
         program = \"{}\"\nrisk = \"medium\"\n\
         argv = [\"--from\", \"{{source}}\", {{ when = \"label\", argv = [\"--label\", \"{{label}}\"] }}]\n\
         [arguments.source]\ntype = \"string\"\nrequired = true\n[arguments.label]\ntype = \"string\"\n\
         [touches]\nread = [\"{{source}}\"]\n",
        program.display()
    );
    std::fs::write(folder.join("backup_photos.toml"), text).unwrap();
}

pub(super) async fn people() {
    let world = World::new().await;
    run_all("people", &ground(&world)).await;
}

pub(super) async fn signing_in() {
    let folder = tempfile::Builder::new().prefix("orion-").tempdir().unwrap();
    let backend =
        Backend::start(folder.path(), "tls = \"own\"\nnames = [\"orion.example\"]\n").await;
    let mut ground = Ground::new(folder.path());
    ground.set("ORION_BACKEND", &backend.url);
    ground.set("ORION_CA", folder.path().join("data/people-ca.pem").display());
    ground.set("DATA", folder.path().join("data").display());
    ground.data = Some(folder.path().join("data"));
    run_all("signing_in", &ground).await;
    backend.process.stop().await;
}

pub(super) async fn programs() {
    let world = World::new().await;
    let mut ground = ground(&world);
    let folder = world.folder().join("second");
    std::fs::create_dir(&folder).unwrap();
    let listen = "[people]\nlisten = \"127.0.0.1:0\"\n[devices]\nlisten = \"127.0.0.1:0\"\n";
    std::fs::write(folder.join("orion-server.toml"), listen).unwrap();
    ground.set("ORION_SERVER_CONFIG", folder.join("orion-server.toml").display());
    run_all("programs", &ground).await;
}

pub(super) async fn demo() {
    let folder = tempfile::Builder::new().prefix("orion-").tempdir().unwrap();
    let mut ground = Ground::new(folder.path());
    let arguments = ["demo", "--serve", "--dir", "ground/scratch/orion-demo"].map(OsStr::new);
    let launch = Launch { arguments: &arguments, keeps_stdin: true, ..Launch::default() };
    let demo = Process::start(&program("orion"), &folder.path().join("demo.log"), &launch);
    eventually("the line `ready`", async || {
        assert!(demo.is_running(), "{}", demo.log());
        demo.log().lines().any(|line| line == "ready").then_some(())
    })
    .await;
    let place = ground.scratch().join("orion-demo");
    ground.device("demo-device", "FILES", &place.join("files"));
    ground.set("DEMO", place.display());
    ground.data = Some(place.join("server"));
    run_all("demo", &ground).await;
    demo.stop().await;
}

/// A backend of its own, for people who sign in.
struct Backend {
    process: Process,
    url: String,
}

impl Backend {
    async fn start(folder: &Path, people: &str) -> Self {
        let (config, data) = (folder.join("orion-server.toml"), folder.join("data"));
        let text = format!(
            "[people]\nlisten = \"127.0.0.1:0\"\n{people}[devices]\nlisten = \"127.0.0.1:0\"\n"
        );
        std::fs::write(&config, text).unwrap();
        let [run, with, at] = ["run", "--config", "--data-dir"].map(OsStr::new);
        let arguments = [run, with, config.as_os_str(), at, data.as_os_str()];
        let launch = Launch { arguments: &arguments, ..Launch::default() };
        let log = folder.join("server.log");
        let process = Process::start(&program("orion-server"), &log, &launch);
        let known: toml::Table = eventually("the backend's addresses", async || {
            assert!(process.is_running(), "the backend did not start:\n{}", process.log());
            std::fs::read_to_string(data.join("addresses.toml")).ok()?.parse().ok()
        })
        .await;
        let port = known["people"].as_str().unwrap().rsplit(':').next().unwrap();
        Self { process, url: format!("https://localhost:{port}") }
    }
}
