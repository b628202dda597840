//! What holds for every tool of the catalogue, through the whole stack. A new tool is in these tests with the
//! arguments of its example and its sample.

use orion_catalog::tools::undo_call::UndoCall;
use orion_catalog::{CATALOG, Execution, RunsOn, Target, Tool as _, ToolSpec};
use orion_domain::{CallState, Capability, ErrorCode};
use orion_tests::{Call, Device, World};
use orion_wire::v1;
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use super::services::{DOCKER, SYSTEMCTL};

/// The first line of the files that the calls find.
const FIRST_LINE: &str = "first=line";

/// Returns the tool's sample call on files of its own, which this makes.
fn sample(kiosk: &Device, spec: &ToolSpec) -> Value {
    let at = |name: &str| format!("{}/{name}", spec.name);
    kiosk.write_file(&at("note.ini"), format!("{FIRST_LINE}\nsecond=line\n"));
    kiosk.write_file(&at("folder/entry.txt"), "");
    let path = match spec.sample.target {
        Target::Nothing => String::new(),
        Target::File | Target::Entry => at("note.ini"),
        Target::NewFile => at("new.txt"),
        Target::Folder => at("folder"),
        Target::NewFolder => at("new"),
    };
    let mut arguments = Value::Object(spec.sample_arguments(FIRST_LINE, "entry"));
    if arguments.get("from_device").is_some() {
        arguments["from_device"] = json!("kiosk");
        arguments["from_path"] = json!(at("note.ini"));
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

/// Grants these tools on the backend.
async fn grant_on_the_backend(world: &World, tools: &[&str]) {
    let request = v1::SetDevicePermissionsRequest {
        device: "backend".to_owned(),
        grants: json!({ "tools": tools }).to_string(),
        ..Default::default()
    };
    world.admin().policy().set_device_permissions(request).await.unwrap();
}

/// Returns the names of the backend's own tools.
fn tools_of_the_backend() -> Vec<&'static str> {
    let specs = CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Backend);
    specs.map(|spec| spec.name).collect()
}

/// Returns whether files are all that the sample needs. Others need an application that the owner lists, or an
/// earlier call.
fn needs_only_files(spec: &ToolSpec) -> bool {
    match spec.execution {
        Execution::File => spec.name != UndoCall::NAME,
        Execution::Plain | Execution::ChildProcess => true,
        Execution::DesktopApp => !spec.has_effects,
    }
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
async fn developer(world: &World) -> Device {
    let services = json!(["nginx.service"]);
    let capabilities = json!(Capability::ALL);
    let ceiling = format!(
        "[ceiling]\ncapabilities = {capabilities}\npaths = [\"{{files}}\"]\nservices = {services}\n"
    );
    let grants = json!({"capabilities": capabilities, "paths": ["{files}"], "services": services});
    let kiosk = world.device("kiosk").grant(grants).ceiling(&ceiling).enroll().await;
    // The managers of services do not run here, so programs of their names answer like them.
    #[cfg(target_os = "linux")]
    for (name, script) in [("systemctl", SYSTEMCTL), ("docker", DOCKER)] {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_is_previewed_without_a_change_and_then_does_it() {
    let world = World::new().await;
    let kiosk = developer(&world).await;
    grant_on_the_backend(&world, &tools_of_the_backend()).await;
    for spec in CATALOG {
        let arguments = sample(&kiosk, spec);
        let before = kiosk.tree();
        let preview = world.admin().dry_run(target(spec), spec.name, arguments.clone()).await;
        assert_eq!(kiosk.tree(), before, "a preview of {} changed something", spec.name);
        if !needs_only_files(spec) {
            continue;
        }
        assert_success(spec, &preview);
        let is_preview = preview.envelope.is_some_and(|envelope| envelope.dry_run);
        assert_eq!(is_preview, spec.has_effects, "{}", spec.name);

        let mut call = world.admin().call(target(spec), spec.name, arguments).await;
        if call.state == CallState::AwaitingApproval {
            world.admin().decide(call.approval_id(), true, "").await.unwrap();
            call = world.admin().ended(&call.id).await.unwrap();
        }
        assert_success(spec, &call);
        if spec.sample.target != Target::Nothing {
            assert_eq!(kiosk.tree() != before, spec.has_effects, "{}: {call:?}", spec.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_refuses_an_argument_that_it_does_not_have() {
    let world = World::new().await;
    let kiosk = developer(&world).await;
    grant_on_the_backend(&world, &tools_of_the_backend()).await;
    for spec in CATALOG {
        let mut arguments = sample(&kiosk, spec);
        arguments["no_such_argument"] = json!(true);
        let before = kiosk.tree();
        let refused = world.admin().call(target(spec), spec.name, arguments).await;
        assert_eq!(refused.error().code, ErrorCode::InvalidArgument, "{}: {refused:?}", spec.name);
        assert_eq!(kiosk.tree(), before, "{}", spec.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_that_is_not_granted_is_denied() {
    let world = World::new().await;
    let granted = "get_datetime";
    let grants = json!({"tools": [granted], "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    grant_on_the_backend(&world, &[]).await;
    for spec in CATALOG.iter().filter(|spec| spec.name != granted) {
        let arguments = sample(&kiosk, spec);
        let before = kiosk.tree();
        let denied = world.admin().call(target(spec), spec.name, arguments).await;
        assert_eq!(denied.state, CallState::Denied, "{}: {denied:?}", spec.name);
        assert_eq!(kiosk.tree(), before, "{}", spec.name);
    }
}
