//! Clients that nobody here wrote drive a real device through a real backend: OpenAI's, MCP's and an agent
//! framework's, and MCP's official conformance suite. `make test-deps` installs them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_tests::{Device, Launch, PATIENCE, Process, World, eventually, program};
use orion_wire::v1;

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// Returns a program, which `make test-deps` installs.
fn installed(path: &Path) -> &Path {
    assert!(
        path.is_file(),
        "{} is missing: run `make test-deps` first, or `make test`, which does",
        path.display()
    );
    path
}

fn python() -> PathBuf {
    let python = clients().join(".venv/bin/python");
    installed(&python).to_owned()
}

fn node() -> PathBuf {
    installed(&clients().join("node_modules/.package-lock.json"));
    PathBuf::from("node")
}

/// Waits for the end of a program, whose imports alone take long on a busy machine, and returns its exit code.
async fn ended(process: &Process) -> i32 {
    let ended = async {
        while process.is_running() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(4 * PATIENCE, ended).await.unwrap();
    process.exit_code().await
}

/// A world with a device and a token for programs.
struct Ground {
    world: World,
    kiosk: Device,
    token: String,
}

impl Ground {
    async fn new() -> Self {
        let world = World::new().await;
        let kiosk = world.device("kiosk").start().await;
        let request = v1::CreateTokenRequest {
            name: "program".to_owned(),
            scopes: vec![v1::Scope::Chat.into(), v1::Scope::Call.into()],
            ..Default::default()
        };
        let token = world.admin().auth().create_token(request).await.unwrap().into_inner().secret;
        Self { world, kiosk, token }
    }

    fn start(&self, program_path: &Path, arguments: &[&OsStr]) -> Process {
        let url = format!("http://{}", self.world.people_address());
        let orion = program("orion");
        let context = self.world.folder().join("context.toml");
        let environment = [
            ("ORION_URL", OsStr::new(&url)),
            ("PROGRAM_TOKEN", OsStr::new(&self.token)),
            ("ORION", orion.as_os_str()),
            ("ORION_CONTEXT", context.as_os_str()),
        ];
        let name = arguments.first().and_then(|it| Path::new(it).file_name()).unwrap_or_default();
        let log = self.world.folder().join(format!("{}.log", name.to_string_lossy()));
        Process::start(
            program_path,
            &log,
            &Launch { arguments, environment: &environment, ..Launch::default() },
        )
    }

    /// Runs a script to its end.
    async fn run(&self, program: &Path, script: &str) {
        let script = clients().join(script);
        let process = self.start(program, &[script.as_os_str()]);
        assert_eq!(ended(&process).await, 0, "{}:\n{}", script.display(), process.log());
    }

    fn folders(&self) -> Vec<String> {
        self.kiosk.tree().into_keys().collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openais_client_for_python_drives_a_device_by_both_apis() {
    let ground = Ground::new().await;
    ground.run(&python(), "openai_client.py").await;
    assert_eq!(ground.folders(), ["Python1", "Python2", "Python3", "Python4", "Python5"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn openais_client_for_javascript_drives_a_device_by_both_apis() {
    let ground = Ground::new().await;
    ground.run(&node(), "openai_client.mjs").await;
    assert_eq!(ground.folders(), ["Node1", "Node2", "Node3", "Node4", "Node5"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_framework_drives_a_device_by_both_apis_and_by_mcp() {
    let ground = Ground::new().await;
    ground.run(&node(), "ai_sdk.mjs").await;
    assert_eq!(ground.folders(), ["Sdk1", "Sdk1Streamed", "Sdk2", "Sdk2Streamed", "Sdk3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcps_client_for_python_drives_a_device_in_both_revisions() {
    let ground = Ground::new().await;
    ground.kiosk.write_file("old.txt", "x");
    ground.kiosk.write_file("older.txt", "x");
    ground.run(&python(), "mcp_client.py").await;
    assert_eq!(ground.folders(), ["PythonMcp1", "PythonMcp2", "older.txt"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcps_clients_for_typescript_drive_a_device_also_over_standard_input_and_output() {
    let ground = Ground::new().await;
    ground.kiosk.write_file("older.txt", "x");
    ground.run(&node(), "mcp_client.mjs").await;
    assert_eq!(ground.folders(), ["NodeMcp1", "NodeMcp2", "NodeMcp3"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mcps_conformance_suite_finds_nothing_beside_its_own_fixtures() {
    let ground = Ground::new().await;
    let node = node();
    let proxy = clients().join("with_token.mjs");
    let proxy = ground.start(&node, &[proxy.as_os_str()]);
    let url = eventually("the proxy's address", async || {
        assert!(proxy.is_running(), "{}", proxy.log());
        proxy.log().lines().next().map(str::to_owned)
    })
    .await;
    let suite = clients().join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let baseline = clients().join("conformance.yaml");
    let arguments = ["server", "--url", &url, "--suite", "active", "--expected-failures"];
    let arguments: Vec<&OsStr> = std::iter::once(suite.as_os_str())
        .chain(arguments.iter().map(OsStr::new))
        .chain([baseline.as_os_str()])
        .collect();
    let process = ground.start(&node, &arguments);
    assert_eq!(ended(&process).await, 0, "{}", process.log());
}
