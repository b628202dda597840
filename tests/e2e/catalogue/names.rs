//! The table of the documentation: what each tool did, under its name and under each alias, from a model's call
//! to a device's disk.

use std::fmt::Write as _;
use std::path::Path;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{HeldModel, eventually};
use serde_json::{Value, json};

use super::*;
use crate::artifacts;

/// The page that has the table.
const PAGE: &str = "../docs/tested-tools.md";

/// Names this variable to write the table to the page.
const WRITE: &str = "ORION_WRITE_TABLE";

/// What one name of a tool did.
struct Row {
    name: &'static str,
    spec: &'static ToolSpec,
    /// Whether a model is offered the tool, and its call by this name reaches it.
    model: bool,
    /// Whether a call succeeds, after an approval where it needs one.
    runs: bool,
    /// Whether a dry run succeeds and changes nothing. None for a tool that changes nothing.
    previews: Option<bool>,
    /// Whether a call is denied where the tool is not granted.
    denied: bool,
    /// Whether an argument that the tool does not have is refused.
    strict: bool,
}

impl Row {
    fn text(&self) -> String {
        let cell = |holds: bool| if holds { "yes" } else { "no" };
        let spec = self.spec;
        let previews = self.previews.map_or("changes nothing", cell);
        let [model, runs, denied, strict] =
            [self.model, self.runs, self.denied, self.strict].map(cell);
        format!(
            "| `{}` | [`{1}`](tools/{1}.md) | {model} | {runs} | {previews} | {denied} | {strict} |",
            self.name, spec.name
        )
    }
}

/// Returns the arguments of the tool's sample, after what the sample needs was done.
async fn prepared(
    world: &World,
    (kiosk, host): (&Device, &Host),
    (name, spec): (&str, &ToolSpec),
) -> Value {
    match spec.name {
        "install_artifact" => {
            drop(std::fs::remove_dir_all(kiosk.state_dir().join("artifacts")));
            let sha256 = host.offer_whole("a.tar.gz");
            let url = host.url("a.tar.gz");
            json!({"name": artifacts::host::NAME, "url": url, "sha256": sha256, "confirm": true})
        }
        "undo_call" => {
            let arguments = json!({"path": "undone.txt", "content": "new"});
            let made = world.admin().call("kiosk", "write_file", arguments).await;
            assert_success(spec, &made);
            json!({"call_id": made.id, "paths": ["undone.txt"]})
        }
        "fetch_webpage" | "http_request" => {
            json!({"url": format!("http://localhost:{}/health", host.port)})
        }
        "schedule_task" => hourly("sum"),
        "cancel_task" => {
            let request = world.admin().call("backend", "schedule_task", hourly("cancelled")).await;
            world.admin().decide(request.approval_id(), true, "").await.unwrap();
            let made = world.admin().ended(&request.id).await.unwrap();
            json!({"task_id": made.data()["task_id"]})
        }
        "get_job" | "cancel_job" => {
            let made =
                world.admin().call("backend", "calculate", json!({"expression": "1+1"})).await;
            json!({"job_id": made.id})
        }
        "run_macro" => {
            let calls = json!([{"tool": "calculate", "arguments": {"expression": "1+1"}}]);
            let arguments = json!({"name": "sum", "calls": calls});
            assert_success(spec, &world.admin().call("backend", "save_macro", arguments).await);
            json!({"name": "sum"})
        }
        "open_app" => {
            kiosk.write_file("ends", "exit 0\n");
            json!({"app": "note", "args": ["ends"]})
        }
        "close_app" => {
            let ready = kiosk.files().join("ready");
            let _ = std::fs::remove_file(&ready);
            let script = format!(": > '{}'\nwhile :; do sleep 1; done\n", ready.display());
            kiosk.write_file("script", script);
            let arguments = json!({"app": "note", "args": ["script"]});
            assert_success(spec, &world.admin().call("kiosk", "open_app", arguments).await);
            eventually("the application runs", async || std::fs::read(&ready).ok()).await;
            json!({"app": "note", "confirm": true, "force": true})
        }
        _ => sample(kiosk, spec, name),
    }
}

/// The arguments of a task that calculates every hour.
fn hourly(name: &str) -> Value {
    let call = json!({"tool": "calculate", "arguments": {"expression": "1+1"}});
    json!({"name": name, "when": "every 1h", "call": call, "confirm": true})
}

/// Lets a model call the tool by this name as a dry run. Returns whether it was offered the tool, and the call.
async fn by_model(
    world: &World,
    model: &mut HeldModel,
    (name, spec): (&str, &ToolSpec),
    arguments: &Value,
) -> (bool, Call) {
    let mut arguments = arguments.clone();
    arguments["device"] = json!(target(spec));
    if spec.has_effects {
        arguments["dry_run"] = json!(true);
    }
    let answering = async {
        let request = model.asked().await;
        let tools = request.body["tools"].as_array().cloned().unwrap_or_default();
        request.call(&[(name, arguments)]).await;
        model.asked().await.answer("Done.").await;
        tools.iter().any(|tool| tool["function"]["name"] == spec.name)
    };
    let (answer, is_offered) = tokio::join!(world.admin().say("Do it."), answering);
    let [call] = &answer.calls[..] else { panic!("{name}: one call: {answer:?}") };
    (is_offered, call.clone())
}

/// Returns whether a call was denied because its tool is not granted.
fn is_denied(call: &Call) -> bool {
    call.end() == (CallState::Denied, Some(ErrorCode::PermissionDenied))
}

async fn row(
    world: &World,
    model: &mut HeldModel,
    (kiosk, host): (&Device, &Host),
    (name, spec): (&'static str, &'static ToolSpec),
) -> Row {
    let admin = world.admin();
    let target = target(spec);
    let arguments = prepared(world, (kiosk, host), (name, spec)).await;
    let mut odd = arguments.clone();
    odd["no_such_argument"] = json!(true);
    let before = kiosk.tree();
    let refused = admin.call(target, name, odd).await;
    let strict = refused.error().code == ErrorCode::InvalidArgument;

    let (is_offered, shown) = by_model(world, model, (name, spec), &arguments).await;
    // A model cannot fetch the content of a file: it is told what the person runs.
    let is_for_people = spec.content.needs_client() && !spec.has_effects;
    if is_for_people {
        assert_eq!(shown.end(), (CallState::Failed, Some(ErrorCode::PreconditionFailed)));
        assert!(shown.error().hints.iter().any(|hint| hint.command.is_some()), "{shown:?}");
    } else {
        assert_success(spec, &shown);
    }
    let envelope = shown.envelope.as_ref();
    let is_it = envelope.is_some_and(|envelope| envelope.meta.tool == spec.name);
    let is_preview = envelope.is_some_and(|envelope| envelope.dry_run);
    let is_unchanged = kiosk.tree() == before;
    assert!(is_unchanged, "a preview of {name}, or a refused call, changed something");

    let mut call = admin.call(target, name, arguments).await;
    if call.state == CallState::AwaitingApproval {
        admin.decide(call.approval_id(), true, "").await.unwrap();
        call = admin.ended(&call.id).await.unwrap();
    }
    assert_success(spec, &call);
    if spec.sample.target != Target::Nothing {
        assert_eq!(kiosk.tree() != before, spec.has_effects, "{name}: {call:?}");
    }
    let denied = spec.runs_on == RunsOn::Device
        && is_denied(&admin.call("bare", name, sample(kiosk, spec, name)).await);
    Row {
        name,
        spec,
        model: is_offered && is_it,
        runs: call.state == CallState::Succeeded,
        previews: spec.has_effects.then_some(is_preview && is_unchanged),
        denied,
        strict,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_tool_does_under_each_of_its_names_what_the_table_says() {
    let mut model = HeldModel::start().await;
    let world = World::configured(&model.section).await;
    let host = Host::start();
    let kiosk = developer(&world, &host).await;
    let grants = json!({"tools": [], "paths": ["{files}"]});
    let _bare = world.device("bare").grant(grants).start().await;
    grant_on_the_backend(&world, &host, &tools_of_the_backend()).await;
    let mut rows = Vec::new();
    for spec in CATALOG {
        for name in std::iter::once(spec.name).chain(spec.aliases.iter().map(|alias| alias.name)) {
            rows.push(row(&world, &mut model, (&kiosk, &host), (name, spec)).await);
        }
    }
    grant_on_the_backend(&world, &host, &[]).await;
    for row in &mut rows {
        if row.spec.runs_on == RunsOn::Backend {
            let arguments = sample(&kiosk, row.spec, row.name);
            let call = world.admin().call("backend", row.name, arguments).await;
            row.denied = is_denied(&call);
        }
    }
    for row in &rows {
        let all = row.model && row.runs && row.previews != Some(false) && row.denied && row.strict;
        assert!(all, "{}", row.text());
    }
    compare(&rows);
}

/// Compares the rows with those of the page, or writes them to it.
fn compare(rows: &[Row]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let mut table = String::new();
    for row in rows {
        writeln!(table, "{}", row.text()).unwrap();
    }
    let begin = page.find("| `").unwrap_or(page.len());
    let end = page[begin..].find("\n\n").map_or(page.len(), |end| begin + end + 1);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, format!("{}{table}{}", &page[..begin], &page[end..])).unwrap();
    } else {
        let help = format!("set {WRITE}=1 for this test to write it");
        assert!(page[begin..end] == table, "docs/tested-tools.md must have ({help}):\n{table}");
    }
}
