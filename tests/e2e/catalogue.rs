//! What holds for every tool of the catalogue, through the whole stack. A new tool is in these tests with the
//! arguments of its example and its sample.

mod names;

use orion_catalog::{CATALOG, RunsOn, Target, ToolSpec};
use orion_domain::{CallState, Capability};
use orion_tests::{Call, Device, World};
use orion_wire::v1;
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use super::artifacts::host::Host;
#[cfg(target_os = "linux")]
use super::logs::JOURNALCTL;
#[cfg(target_os = "linux")]
use super::services::{DOCKER, SYSTEMCTL};

/// The first line of the files that the calls find.
const FIRST_LINE: &str = "first=line";

/// The file that [`arguments_at`] names, and its content.
pub(super) const NOTE: (&str, &str) = ("note.ini", "first=line\nsecond=line\n");
/// Another one, in the folder that it names.
pub(super) const ENTRY: &str = "folder/entry.txt";

/// Returns the tool's sample call on files in a folder of its own, which this makes.
fn sample(kiosk: &Device, spec: &ToolSpec, folder: &str) -> Value {
    kiosk.write_file(&format!("{folder}/{}", NOTE.0), NOTE.1);
    kiosk.write_file(&format!("{folder}/{ENTRY}"), "");
    arguments_at(spec, "kiosk", folder)
}

/// Returns the arguments of the tool's sample call on a device, with paths in a folder of its own.
pub(super) fn arguments_at(spec: &ToolSpec, device: &str, folder: &str) -> Value {
    let at = |name: &str| format!("{folder}/{name}");
    let path = match spec.sample.target {
        Target::Nothing => String::new(),
        Target::File | Target::Entry => at(NOTE.0),
        Target::NewFile => at("new.txt"),
        Target::Folder => at("folder"),
        Target::NewFolder => at("new"),
    };
    let mut arguments = Value::Object(spec.sample_arguments(FIRST_LINE, "entry"));
    if arguments.get("from_device").is_some() {
        arguments["from_device"] = json!(device);
        arguments["from_path"] = json!(at(NOTE.0));
    }
    // Without a target the tool acts in the workspace.
    let paths =
        if spec.sample.target == Target::Nothing { Vec::new() } else { spec.path_arguments() };
    for name in paths {
        let path = if name == "destination" { at("copy.ini") } else { path.clone() };
        let is_list = arguments[&name].is_array();
        arguments[&name] = if is_list { json!([path]) } else { json!(path) };
    }
    arguments
}

/// Returns the target that runs the tool.
fn target(spec: &ToolSpec) -> &'static str {
    match spec.runs_on {
        RunsOn::Device => "kiosk",
        RunsOn::Backend => "backend",
    }
}

/// Grants these tools on the backend, with everything that they need.
async fn grant_on_the_backend(world: &World, host: &Host, tools: &[&str]) {
    let hosts = [format!("localhost:{}", host.port)];
    let grants = json!({"tools": tools, "capabilities": Capability::ALL, "hosts": hosts});
    let request = v1::SetDevicePermissionsRequest {
        device: "backend".to_owned(),
        grants: grants.to_string(),
        ..Default::default()
    };
    world.admin().policy().set_device_permissions(request).await.unwrap();
}

/// Returns the names of the backend's own tools.
fn tools_of_the_backend() -> Vec<&'static str> {
    let specs = CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Backend);
    specs.map(|spec| spec.name).collect()
}

fn assert_success(spec: &ToolSpec, call: &Call) {
    assert_eq!(
        call.end(),
        (CallState::Succeeded, None),
        "shared/catalog/src/tools/{}.rs: a call with `EXAMPLE` and `SAMPLE` failed: {call:?}",
        spec.name
    );
}

/// Returns a device on which every tool is granted.
async fn developer(world: &World, host: &Host) -> Device {
    let services = json!(["nginx.service", "docker.service"]);
    let capabilities = json!(Capability::ALL);
    let hosts = json!([format!("localhost:{}", host.port)]);
    let program = world.folder().join("note");
    std::fs::copy(std::fs::canonicalize("/bin/sh").unwrap(), &program).unwrap();
    let ceiling = format!(
        "[ceiling]\ncapabilities = {capabilities}\npaths = [\"{{files}}\"]\nservices = {services}\n\
         logs = {services}\nhosts = {hosts}\napps = [\"note\"]\n[apps]\nnote = \"{}\"\n\
         [artifacts]\nhttp_on_loopback = true\n",
        program.display()
    );
    let grants = json!({
        "capabilities": capabilities, "paths": ["{files}"], "services": services,
        "logs": services, "apps": ["note"], "hosts": hosts,
    });
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
    // The managers of services do not run here, so programs of their names answer like them.
    #[cfg(target_os = "linux")]
    for (name, script) in [("systemctl", SYSTEMCTL), ("docker", DOCKER), ("journalctl", JOURNALCTL)]
    {
        kiosk.install(name, script);
    }
    // What makes a folder a repository for git.
    kiosk.write_file(".git/HEAD", "ref: refs/heads/main\n");
    kiosk.write_file(".git/objects/info/packs", "");
    kiosk.write_file(".git/refs/heads/README", "");
    kiosk.write_file("Makefile", "all:\ntest:\nlint:\n");
    #[cfg(target_os = "linux")]
    crate::dev_tools::install_rust(&kiosk);
    kiosk.run().await;
    kiosk
}
