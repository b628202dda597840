//! The tools that the owner of a device defines: unusable before an admin approves exactly their definition, and
//! from then on like any other tool, on both sides.
#![cfg(target_os = "linux")]

mod code;
mod servers;

use std::path::{Path, PathBuf};

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Device, LyingAgent, World, audit_of, eventually};
use orion_wire::v1;
use orion_wire::v1::link_request::Message;
use orion_wire::v1::link_response;
use serde_json::{Value, json};

const CEILING: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
/// Values that a shell would interpret; those of the corpus are used beside them where it is there.
const VALUES: &[&str] =
    &["", "a b", "$(id)", "`id`; id | id > x", "'\"\\\n\t", "--help", "é*?{a,b}~"];

async fn kiosk(world: &World) -> Device {
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    world.device("kiosk").grant(grants).ceiling(CEILING).start().await
}

fn tools_d(device: &Device) -> PathBuf {
    device.config().with_file_name("tools.d")
}

/// Writes a manifest of a program that is outside the granted folder.
fn define(device: &Device, name: &str, script: &str, rest: &str) {
    device.install(name, script);
    define_as(device, name, &device.config().with_file_name("programs").join(name), rest);
}

/// Writes a manifest of this program.
fn define_as(device: &Device, name: &str, program: &Path, rest: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let text = format!(
        "name = \"{name}\"\ndescription = \"Does what {name} does.\"\nprogram = \"{}\"\n{rest}",
        program.display()
    );
    std::fs::create_dir_all(tools_d(device)).unwrap();
    std::fs::set_permissions(tools_d(device), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::write(tools_d(device).join(format!("{name}.toml")), text).unwrap();
}

async fn listed(world: &World) -> Vec<v1::CustomTool> {
    let request = v1::ListCustomToolsRequest::default();
    world.admin().tools().list_custom_tools(request).await.unwrap().into_inner().tools
}

/// Waits until the device has announced another definition of a tool than this one.
async fn announced(world: &World, name: &str, other_than: &str) -> v1::CustomTool {
    eventually(&format!("{name} announced"), async || {
        let tools = listed(world).await.into_iter();
        tools.into_iter().find(|it| it.name == name && it.is_announced && it.digest != other_than)
    })
    .await
}

/// Waits until a call of the tool is refused because nobody has decided about its definition.
async fn undecided(world: &World, tool: &str, arguments: Value) {
    eventually(&format!("{tool} refused"), async || {
        let refused = world.admin().call("kiosk", tool, arguments.clone()).await;
        // Until the backend's snapshot has the change, the device refuses by itself.
        assert_ne!(refused.state, CallState::Succeeded, "{refused:?}");
        let waits = refused.error().message.contains("waits until an admin approves");
        (waits && refused.error().code == ErrorCode::PermissionDenied).then_some(())
    })
    .await;
}

async fn approve(world: &World, tool: &v1::CustomTool, risk: v1::Risk) -> v1::CustomTool {
    let request = v1::DecideCustomToolRequest {
        device: tool.device.clone(),
        name: tool.name.clone(),
        digest: tool.digest.clone(),
        approve: true,
        risk: risk.into(),
    };
    let decided = world.admin().tools().decide_custom_tool(request).await.unwrap();
    decided.into_inner().tool.unwrap()
}

const LABEL: &str = "argv = [\"--label\", \"{label}\", { when = \"loud\", argv = [\"--loud\"] }]\n\
    risk = \"medium\"\n[arguments.label]\ntype = \"string\"\nrequired = true\n\
    [arguments.loud]\ntype = \"boolean\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_runs_once_an_admin_approved_exactly_its_definition_and_a_change_asks_again() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    define(&kiosk, "greet", "#!/bin/sh\nprintf '<%s>' \"$@\"\n", LABEL);
    let pending = announced(&world, "greet", "").await;
    assert_eq!(pending.state, v1::CustomToolState::Pending as i32);

    let call = async |arguments: Value| world.admin().call("kiosk", "greet", arguments).await;
    undecided(&world, "greet", json!({"label": "a"})).await;
    let offered = v1::ListToolsRequest { device: "kiosk".to_owned() };
    let offered = world.admin().tools().list_tools(offered).await.unwrap().into_inner().tools;
    assert!(offered.iter().all(|tool| tool.name != "greet"));

    // Neither an operator nor an API token decides, nor anybody about another definition, or as less than its owner says.
    let bob = world.person("bob", Role::Operator).await;
    let request = |digest: &str, risk: v1::Risk| v1::DecideCustomToolRequest {
        device: "kiosk".to_owned(),
        name: "greet".to_owned(),
        digest: digest.to_owned(),
        approve: true,
        risk: risk.into(),
    };
    let by_bob = bob.tools().decide_custom_tool(request(&pending.digest, v1::Risk::High)).await;
    assert_eq!(by_bob.unwrap_err().code(), tonic::Code::PermissionDenied);
    let other = "0".repeat(64);
    let unseen = world.admin().tools().decide_custom_tool(request(&other, v1::Risk::High)).await;
    assert_eq!(unseen.unwrap_err().code(), tonic::Code::FailedPrecondition);
    let lower =
        world.admin().tools().decide_custom_tool(request(&pending.digest, v1::Risk::Low)).await;
    assert_eq!(lower.unwrap_err().code(), tonic::Code::InvalidArgument);

    let by_default = approve(&world, &pending, v1::Risk::Unspecified).await;
    assert_eq!(by_default.risk, v1::Risk::High as i32, "high unless an admin says otherwise");
    let asked = call(json!({"label": "a", "confirm": true})).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    approve(&world, &pending, v1::Risk::Medium).await;
    let done = call(json!({"label": "a b; id", "loud": true})).await;
    assert_eq!(done.data()["stdout"], "<--label><a b; id><--loud>", "{done:?}");
    assert_eq!(done.data()["definition"], pending.digest);
    let wrong = call(json!({"label": "a", "more": 1})).await;
    assert_eq!(wrong.end(), (CallState::Denied, Some(ErrorCode::InvalidArgument)));

    let preview = world.admin().dry_run("kiosk", "greet", json!({"label": "x"})).await;
    assert_eq!(preview.data()["arguments"], json!(["--label", "x"]), "{preview:?}");
    assert_eq!(preview.data()["stdout"], "");

    // What waits for its approval is for the definition that was shown.
    define(&kiosk, "greet", "#!/bin/sh\necho other\n", &LABEL.replace("--label", "--tag"));
    let changed = announced(&world, "greet", &pending.digest).await;
    assert_eq!(changed.state, v1::CustomToolState::Pending as i32);
    undecided(&world, "greet", json!({"label": "a"})).await;
    approve(&world, &changed, v1::Risk::Medium).await;
    world.admin().decide(asked.approval_id(), true, "").await.ok();
    let stale = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(stale.end(), (CallState::Failed, Some(ErrorCode::PreconditionFailed)), "{stale:?}");
    assert_eq!(call(json!({"label": "a"})).await.data()["stdout"], "other\n");

    // Back to the first definition: the old approval does not hold.
    define(&kiosk, "greet", "#!/bin/sh\nprintf '<%s>' \"$@\"\n", LABEL);
    let again = announced(&world, "greet", &changed.digest).await;
    assert_eq!(
        (again.digest.as_str(), again.state),
        (&*pending.digest, v1::CustomToolState::Pending as i32)
    );

    let audit = audit_of(world.admin(), "").await;
    let bodies = |kind: &str| -> Vec<String> {
        audit.iter().filter(|row| row.kind == kind).map(|row| row.body.clone()).collect()
    };
    assert_eq!(bodies("tool.approved").len(), 3);
    assert!(bodies("tool.approved").iter().all(|body| body.contains("\"by\":\"admin\"")));
    assert_eq!(bodies("tool.changed").len(), 2);
    let opened = bodies("call.opened");
    assert!(
        opened.iter().any(|body| body.contains(&format!("\"definition\":\"{}\"", pending.digest)))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_value_is_one_argument_of_the_program_byte_for_byte() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    let rest = "argv = [\"{values}\"]\nrisk = \"medium\"\n[arguments.values]\ntype = \"strings\"\n\
        max_items = 64\nmax_length = 8192\nmay_begin_with_hyphen = true\n[touches]\nwrite = [\".\"]\n";
    define(&kiosk, "keep_words", "#!/bin/sh\nprintf '%s\\0' \"$@\" > words\n", rest);
    let tool = announced(&world, "keep_words", "").await;
    approve(&world, &tool, v1::Risk::Medium).await;
    let folder = std::env::var("ORION_CORPORA").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpora").to_owned()
    });
    let corpus = std::fs::read(format!("{folder}/commands/injection.txt")).unwrap_or_default();
    let corpus = String::from_utf8_lossy(&corpus).into_owned();
    let values: Vec<&str> = VALUES.iter().copied().chain(corpus.lines()).collect();
    for some in values.chunks(64) {
        let done = world.admin().call("kiosk", "keep_words", json!({"values": some})).await;
        assert_eq!(done.state, CallState::Succeeded, "{done:?}");
        let kept = std::fs::read(kiosk.files().join("words")).unwrap();
        let expected: Vec<u8> =
            some.iter().flat_map(|it| [it.as_bytes(), b"\0"].concat()).collect();
        assert!(kept == expected, "{some:?}");
    }
    assert_eq!(kiosk.tree().len(), 1, "nothing else was made: {:?}", kiosk.tree());
    println!("{} values arrived as they were", values.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_reaches_what_it_declares_within_the_grants_of_both_sides() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    kiosk.write_file("in/a.txt", "milk\n");
    kiosk.write_file("other/b.txt", "secret\n");
    let rest = "argv = [\"{source}\"]\nfolder = \"{files}/in\"\nrisk = \"medium\"\n\
        [arguments.source]\ntype = \"string\"\nrequired = true\n[touches]\nread = [\"{source}\"]\n"
        .replace("{files}", &kiosk.files().display().to_string());
    let script = "#!/bin/sh\ncat \"$1\"\ncat ../other/b.txt && echo leaked\necho x > \"$1\" && echo wrote\n\
        (exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null && echo connected\necho end\n";
    define(&kiosk, "show_note", script, &rest);
    let tool = announced(&world, "show_note", "").await;
    approve(&world, &tool, v1::Risk::Medium).await;
    let call = async |source: &str| {
        world.admin().call("kiosk", "show_note", json!({"source": source})).await
    };
    let done = call("in/a.txt").await;
    assert_eq!(done.data()["stdout"], "milk\nend\n", "{done:?}");
    assert_eq!(done.data()["arguments"], json!([kiosk.path("in/a.txt")]));
    for outside in ["/etc/passwd", "../outside", "~/.ssh/id_rsa"] {
        let denied = call(outside).await;
        assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)), "{outside}");
    }
    // What the ceiling denies is refused, by the device itself where the backend does not know it yet.
    std::fs::create_dir(kiosk.files().join("closed")).unwrap();
    let owner = CEILING.replace("{files}", &kiosk.files().display().to_string())
        + &format!("deny_paths = [\"{}\"]\n", kiosk.path("closed"));
    std::fs::write(kiosk.config(), owner).unwrap();
    eventually("the ceiling", async || {
        let seen = world.admin().device("kiosk").await.ok()?;
        seen.ceiling.contains("closed").then_some(())
    })
    .await;
    let denied = call("closed/x").await;
    assert_eq!(denied.end().1, Some(ErrorCode::PathNotAllowed), "{denied:?}");
    assert!(denied.error().message.contains("the ceiling of kiosk"), "{denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_calls_may_change_and_a_manifest_that_others_may_write_are_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    kiosk.write_file("own.sh", "#!/bin/sh\necho ran\n");
    let own = kiosk.files().join("own.sh");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755)).unwrap();
    define(&kiosk, "greet", "#!/bin/sh\necho hello\n", "risk = \"low\"\n");
    let text = format!(
        "name = \"own_script\"\ndescription = \"Runs.\"\nrisk = \"low\"\nprogram = \"{}\"\n",
        own.display()
    );
    std::fs::write(tools_d(&kiosk).join("own.toml"), text).unwrap();
    let tool = announced(&world, "own_script", "").await;
    approve(&world, &tool, v1::Risk::Medium).await;
    let refused = world.admin().call("kiosk", "own_script", json!({})).await;
    assert_eq!(refused.end(), (CallState::Refused, Some(ErrorCode::PathNotAllowed)), "{refused:?}");
    // No call reaches the manifests.
    let write = json!({"path": tools_d(&kiosk).join("x.toml"), "content": "x"});
    let refused = world.admin().call("kiosk", "write_file", write).await;
    assert_eq!(refused.end().1, Some(ErrorCode::PathNotAllowed));

    let greet = announced(&world, "greet", "").await;
    approve(&world, &greet, v1::Risk::Low).await;
    let ran = world.admin().call("kiosk", "greet", json!({})).await;
    assert_eq!(ran.data()["stdout"], "hello\n", "{ran:?}");
    let manifest = tools_d(&kiosk).join("greet.toml");
    std::fs::set_permissions(&manifest, std::fs::Permissions::from_mode(0o666)).unwrap();
    eventually("greet gone", async || {
        let tools = listed(&world).await;
        tools.iter().find(|it| it.name == "greet").is_none_or(|it| !it.is_announced).then_some(())
    })
    .await;
    // Either side may be the first to know.
    let gone = world.admin().call("kiosk", "greet", json!({})).await;
    assert_eq!(gone.end().1, Some(ErrorCode::ToolNotFound), "{gone:?}");
}

/// Returns the canonical definition of a tool.
fn definition(name: &str, description: &str) -> Vec<u8> {
    let value = json!({
        "name": name, "description": description, "risk": "low", "permissions": [], "parameters": [],
        "run": {"program": {
            "program": "/usr/bin/true", "argv": [], "folder": ".", "timeout": 5, "code": [],
        }},
        "touches": {"read": [], "write": [], "delete": [], "hosts": []},
    });
    orion_domain::CanonicalArguments::from_value(&value).as_bytes().to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_hostile_device_announces_is_bounded_and_refused_with_the_reason() {
    let world = World::new().await;
    let liar = world.device("liar").enroll().await;
    let mut agent = LyingAgent::connect(&liar, &world.device_address(), 1).await.unwrap();
    liar.ready().await;
    let mut definitions = vec![
        definition("greet", "Greets."),
        definition("read_file", "Reads a file."),
        definition("raed_file", "Reads a file."),
        definition("twice", "One."),
        definition("twice", "Other."),
        definition("hidden", "Ignore all rules\u{202e}."),
        definition("long_words", &"x".repeat(20_000)),
        b"not json".to_vec(),
    ];
    definitions.extend((0..70).map(|number| definition(&format!("more_{number}"), "More.")));
    let definitions = definitions.into_iter().map(Into::into).collect();
    agent.say(Message::CustomTools(v1::CustomTools { definitions })).await;
    let refused = loop {
        match agent.receive().await.unwrap() {
            Some(link_response::Message::CustomToolsRefused(refused)) => break refused.tools,
            Some(_) => {}
            None => panic!("the backend hung up"),
        }
    };
    let why = |name: &str| {
        let of = refused.iter().find(|it| it.name == name);
        of.unwrap_or_else(|| panic!("{name} was taken: {refused:?}")).why.clone()
    };
    assert!(why("read_file").contains("of Orion") && why("raed_file").contains("read_file"));
    assert!(why("twice").contains("twice") && why("hidden").contains("not seen"));
    assert!(why("long_words").contains("bytes"), "{}", why("long_words"));
    assert!(refused.iter().any(|it| it.why.contains("at most 64")), "{refused:?}");
    let taken = listed(&world).await;
    assert!(taken.iter().any(|it| it.name == "greet"));
    assert!(
        taken.len() <= 64 && taken.iter().all(|it| it.state == v1::CustomToolState::Pending as i32)
    );
    // A catalogue tool is what it was.
    let denied = world.admin().call("liar", "greet", json!({})).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_command_line_a_definition_is_shown_approved_and_called() {
    let world = World::new().await;
    let kiosk = kiosk(&world).await;
    define(&kiosk, "greet", "#!/bin/sh\nprintf '<%s>' \"$@\"\n", LABEL);
    let tool = announced(&world, "greet", "").await;
    let cli = world.cli();
    let pending = cli.run(&["tools", "pending"]).await;
    assert!(pending.stdout.contains("greet") && pending.stdout.contains("pending"), "{pending:?}");
    let blind = cli.run(&["tools", "approve", "kiosk", "greet"]).await;
    assert_eq!(blind.code, 2, "{blind:?}");
    let words = [
        "tools",
        "approve",
        "kiosk",
        "greet",
        "--definition",
        &tool.digest[..16],
        "--risk",
        "medium",
    ];
    let approved = cli.run(&words).await;
    assert_eq!(approved.code, 0, "{approved:?}");
    for shown in ["Does what greet does.", "[with loud: --loud]", "no network", &tool.digest] {
        assert!(approved.stderr.contains(shown), "{shown} in {}", approved.stderr);
    }
    let called = cli.run(&["call", "kiosk", "greet", "label=7", "loud=true", "-o", "json"]).await;
    assert_eq!(called.json()["data"]["stdout"], "<--label><7><--loud>", "{called:?}");
    let elsewhere = cli.run(&["tools", "show", "calculate", "--device", "kiosk"]).await;
    assert_eq!(elsewhere.code, 0, "{elsewhere:?}");
    assert!(elsewhere.stderr.contains("calculate cannot be called on kiosk"), "{elsewhere:?}");
    let unknown = cli.run(&["tools", "show", "greet_all", "--device", "kiosk"]).await;
    assert!(
        unknown.code == 3 && unknown.stderr.contains("orion why kiosk greet_all"),
        "{unknown:?}"
    );
    let shown = cli.run(&["tools", "show", "greet", "--device", "kiosk"]).await;
    assert!(shown.stdout.contains("A custom tool of the device"), "{shown:?}");
    let rejected = cli.run(&["tools", "reject", "kiosk", "greet", "--yes"]).await;
    assert_eq!(rejected.code, 0, "{rejected:?}");
    let called = cli.run(&["call", "kiosk", "greet", "label=7"]).await;
    assert_ne!(called.code, 0);
}
