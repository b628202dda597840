//! The command line against a real backend: data on standard output, words on standard error, and an
//! exit code that says what became of it.

use std::ffi::OsStr;
use std::path::Path;

use orion_domain::{CallState, Role};
use orion_tests::{Cli, Launch, Process, Tree, World, eventually, program};
use orion_wire::v1;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_outside_exits_with_5_and_says_what_is_allowed() {
    let world = World::new().await;
    let _device = world.device("demo-device").start().await;
    let words = ["call", "demo-device", "read_file", "path=/etc/passwd", "-o", "json"];
    let refused = world.cli().run(&words).await;
    assert_eq!(refused.code, 5);
    insta::assert_snapshot!(world.seen().in_text(&refused.shown()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_end_has_its_exit_code() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("full/a.txt", "");
    let bob = world.person("bob", Role::Viewer).await;
    let (cli, viewer) = (world.cli(), world.cli_of("bob", &bob));
    let stranger = world.cli_of("nobody", &world.admin().with_token("orion_wrong"));
    let table: [(&Cli, i32, &[&str]); 12] = [
        (&cli, 0, &["call", "kiosk", "create_directory", "path=x"]),
        (&cli, 0, &["call", "kiosk", "create_directory", "path=y", "--dry-run"]),
        (&cli, 2, &["call", "kiosk", "create_directory", "path=x", "colour=red"]),
        (&cli, 2, &["call"]),
        (&cli, 3, &["call", "kiosk", "no_such_tool"]),
        (&cli, 3, &["call", "nowhere", "get_datetime"]),
        (&cli, 3, &["call", "kiosk", "read_file", "path=missing.txt"]),
        (&cli, 6, &["call", "kiosk", "delete_directory", "path=full"]),
        (&cli, 9, &["call", "kiosk", "create_directory", "path=full/a.txt"]),
        (&viewer, 5, &["call", "kiosk", "create_directory", "path=z"]),
        (&viewer, 5, &["audit", "verify"]),
        (&stranger, 4, &["devices", "list"]),
    ];
    for (cli, code, words) in table {
        let output = cli.run(words).await;
        assert_eq!(output.code, code, "{words:?}: {output:?}");
        assert!(!output.stderr.is_empty(), "{words:?} says nothing: {output:?}");
    }
    kiosk.stop().await;
    let offline = cli.run(&["call", "kiosk", "get_datetime", "-o", "json"]).await;
    assert_eq!(
        (offline.code, offline.json()["error"]["code"].clone()),
        (7, json!("DEVICE_OFFLINE"))
    );
    let names: Vec<_> = kiosk.tree().into_keys().collect();
    assert_eq!(names, ["full", "full/a.txt", "x"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backend_that_is_not_there_is_named() {
    let world = World::new().await;
    world.server().stop().await;
    let output = world.cli().run(&["devices", "list"]).await;
    assert_eq!(output.code, 1);
    let said = output.stderr.replace(&world.people_address(), "[address]");
    insta::assert_snapshot!(world.seen().in_text(&said));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_is_the_answer_of_its_idempotency_key_and_says_so() {
    const BEFORE: &str = " This is the answer to the first call under this idempotency key. Give another key to run the call again.";
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let request = |key: &str| v1::CallToolRequest {
        tool: "read_file".to_owned(),
        device: "kiosk".to_owned(),
        arguments: br#"{"path":"/etc/passwd"}"#.to_vec().into(),
        idempotency_key: key.to_owned(),
        ..Default::default()
    };
    let first = world.admin().ask(request("one")).await.unwrap();
    assert_eq!(first.state, CallState::Denied, "{first:?}");
    let second = world.admin().ask(request("one")).await.unwrap();
    assert_eq!((&second.id, second.end()), (&first.id, first.end()));
    assert_eq!(second.error().message, format!("{}{BEFORE}", first.error().message));
    let anew = world.admin().ask(request("another")).await.unwrap();
    assert_ne!(anew.id, first.id);
    assert_eq!(anew.error().message, first.error().message);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_idempotency_key_is_the_same_call() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let words = [
        "call",
        "kiosk",
        "write_file",
        "path=log",
        "content=once",
        "append=true",
        "--idempotency-key",
        "order-66",
        "-o",
        "json",
    ];
    let first = world.cli().run(&words).await;
    assert_eq!(first.code, 0, "{first:?}");
    let second = world.cli().run(&words).await;
    assert_eq!(second.json(), first.json());
    assert_eq!(kiosk.tree(), Tree::from([("log".to_owned(), Some("once".to_owned()))]));

    // Also when both come at once, and not for somebody else.
    let at_once = [
        "call",
        "kiosk",
        "write_file",
        "path=other",
        "content=once",
        "append=true",
        "--idempotency-key",
        "order-67",
        "-o",
        "json",
    ];
    let cli = world.cli();
    let (left, right) = tokio::join!(cli.run(&at_once), cli.run(&at_once));
    assert!(left.code == 0 || right.code == 0, "{left:?} {right:?}");
    assert_eq!(kiosk.tree()["other"], Some("once".to_owned()));
    let ann = world.person("ann", Role::Operator).await;
    let hers = world.cli_of("ann", &ann).run(&words).await;
    assert_eq!(hers.code, 0, "{hers:?}");
    assert_eq!(kiosk.tree()["log"], Some("onceonce".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_come_as_words_as_json_or_from_a_file() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    std::fs::write(world.folder().join("letter.txt"), "Dear = \"you\"\n").unwrap();
    let made = cli.run(&["call", "kiosk", "write_file", "path=a", "content=@letter.txt"]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let made =
        cli.run(&["call", "kiosk", "write_file", "--json", r#"{"path":"b","content":"{}"}"#]).await;
    assert_eq!(made.code, 0, "{made:?}");
    let read = cli.run(&["call", "kiosk", "read_file", "path=a", "limit=1", "-o", "json"]).await;
    assert_eq!(read.json()["data"]["content"], "Dear = \"you\"\n");
    assert_eq!(kiosk.tree()["b"], Some("{}".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn why_shows_each_layer_and_records_nothing() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "");
    let cli = world.cli();
    // How many rows are signed changes by itself.
    let record = |whole: &orion_tests::Output| {
        let parts: Vec<_> = whole.stdout.trim().split(", ").map(str::to_owned).collect();
        [parts[0].clone(), parts[2].clone()]
    };
    let before = cli.run(&["audit", "verify"]).await;
    let mut shown = String::new();
    for words in [
        &["why", "kiosk", "create_directory", "path=x"][..],
        &["why", "kiosk", "read_file", "path=/etc/passwd"],
        &["why", "kiosk", "delete_directory", "path=old", "recursive=true", "confirm=true"],
    ] {
        let why = cli.run(&[words, &["--no-device"]].concat()).await;
        shown.push_str(&format!("$ orion {}\n{}\n", words.join(" "), why.shown()));
    }
    insta::assert_snapshot!(world.seen().in_text(&shown));
    assert_eq!(record(&cli.run(&["audit", "verify"]).await), record(&before));
    assert_eq!(kiosk.tree().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_there_is_can_be_listed_and_shown() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").grant(json!({"tools": ["get_datetime"]})).start().await;
    let cli = world.cli();
    let mut shown = String::new();
    for words in [
        &["tools", "list", "--device", "kiosk"][..],
        &["tools", "show", "create_directory"],
        &["approvals", "list"],
        &["devices", "permissions", "get", "kiosk"],
    ] {
        let output = cli.run(words).await;
        shown.push_str(&format!("$ orion {}\n{}\n", words.join(" "), output.shown()));
    }
    insta::assert_snapshot!(world.seen().in_text(&shown));
    let all = cli.run(&["tools", "list"]).await;
    let listed: Vec<Vec<_>> = all
        .stdout
        .lines()
        .map(|line| line.split_whitespace().take(3).map(str::to_owned).collect())
        .collect();
    let tools = orion_catalog::CATALOG.iter();
    let tools = tools.map(|spec| [spec.name, spec.category.as_str(), spec.risk.as_str()]);
    let expected: Vec<_> = [["NAME", "CATEGORY", "RISK"]].into_iter().chain(tools).collect();
    assert_eq!(listed, expected, "{}", all.stdout);
    let openai = cli.run(&["tools", "list", "--format", "openai"]).await;
    assert_eq!(openai.code, 0, "{openai:?}");
    let devices = cli.run(&["devices", "list", "-o", "json"]).await;
    assert!(devices.stdout.contains("\"kiosk\""), "{devices:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_misspelled_device_is_answered_with_near_names() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    for words in [
        &["devices", "approve", "kisok"][..],
        &["devices", "show", "kisok"],
        &["devices", "quarantine", "kisok"],
        &["devices", "revoke", "kisok", "--yes"],
        &["devices", "permissions", "get", "kisok"],
        &["call", "kisok", "get_datetime"],
    ] {
        let refused = cli.run(words).await;
        assert_eq!(refused.code, 3, "{words:?}: {refused:?}");
        assert!(refused.stderr.contains("did you mean kiosk?"), "{words:?}: {refused:?}");
    }
    let json = cli.run(&["devices", "approve", "kisok", "-o", "json"]).await;
    assert!(json.stderr.contains("\"kiosk\""), "{json:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn permissions_are_read_changed_and_refused_where_they_make_no_sense() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    let narrow = json!({"tools": ["get_datetime"]}).to_string();
    std::fs::write(world.folder().join("narrow.json"), narrow).unwrap();
    let set = ["devices", "permissions", "set", "kiosk", "@narrow.json"];
    let narrowed = cli.run(&set).await;
    assert_eq!(narrowed.code, 0, "{narrowed:?}");
    kiosk.ready().await;
    let denied = cli.run(&["call", "kiosk", "list_directory"]).await;
    assert_eq!(denied.code, 5, "{denied:?}");
    let add = ["devices", "permissions", "add", "kiosk", "--tool", "list_directory"];
    let added = cli.run(&add).await;
    assert_eq!(added.code, 0, "{added:?}");
    assert!(added.stderr.starts_with("tools + list_directory\n"), "{added:?}");
    let again = cli.run(&add).await;
    assert_eq!(again.stderr, "these entries are there already; nothing changed\n", "{again:?}");
    kiosk.ready().await;
    let refused = cli.run(&["call", "kiosk", "list_directory", "path=/srv/none"]).await;
    let command = "orion devices permissions add kiosk --path /srv/none --access read)";
    assert!(refused.stderr.contains(command), "{refused:?}");
    let remove = ["devices", "permissions", "remove", "kiosk", "--tool", "list_directory"];
    let removed = cli.run(&remove).await;
    assert!(removed.stderr.starts_with("tools - list_directory\n"), "{removed:?}");
    let missing = cli.run(&remove).await;
    assert_eq!(missing.code, 3, "{missing:?}");
    assert!(
        missing.stderr.contains("have no tool list_directory: it has get_datetime"),
        "{missing:?}"
    );
    std::fs::write(world.folder().join("wrong.json"), r#"{"toolz":["get_datetime"]}"#).unwrap();
    let wrong = cli.run(&["devices", "permissions", "set", "kiosk", "@wrong.json"]).await;
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.stderr.contains("toolz"), "{wrong:?}");

    // A path alone lets no tool run, which is said with the command that the denial names, too.
    assert_eq!(cli.run(&["devices", "permissions", "set", "kiosk", "{}"]).await.code, 0);
    let files = kiosk.files().display().to_string();
    let add = ["devices", "permissions", "add", "kiosk", "--access", "read,write", "--path"];
    let alone = cli.run(&[&add[..], &[&files]].concat()).await;
    let next = "orion devices permissions add kiosk --profile operator";
    assert!(alone.code == 0 && alone.stderr.contains(next), "{alone:?}");
    kiosk.ready().await;
    let make = ["call", "kiosk", "create_directory", "path=Made"];
    let denied = cli.run(&make).await;
    assert!(denied.code == 5 && denied.stderr.contains(next), "{denied:?}");
    let given = cli.run(&next.split(' ').skip(1).collect::<Vec<_>>()).await;
    assert!(given.code == 0 && !given.stderr.contains("has no tool"), "{given:?}");
    kiosk.ready().await;
    let made = cli.run(&make).await;
    assert_eq!(made.code, 0, "{made:?}");
    // Without its profile, a list of tools could allow more.
    let taken = ["devices", "permissions", "remove", "kiosk", "--profile", "operator"];
    assert_eq!(cli.run(&taken).await.code, 9);
    assert_eq!(cli.run(&set).await.code, 0);
    let over = cli.run(&next.split(' ').skip(1).collect::<Vec<_>>()).await;
    assert!(over.code == 9 && over.stderr.contains("say more than a profile"), "{over:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_for_completion_are_made_without_a_backend() {
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::new(&folder.path().join("none.toml"), folder.path());
    for shell in ["bash", "zsh", "fish"] {
        let output = cli.run(&["completion", shell]).await;
        assert_eq!(output.code, 0, "{shell}: {output:?}");
        assert!(output.stdout.contains("orion"), "{shell}: {output:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_longer_than_the_terminal_is_shown_in_the_pager() {
    let world = World::new().await;
    let at_a_terminal = async |words: &str, name: &str| {
        let paged = world.folder().join(name);
        let pager = format!("cat > '{}'", paged.display());
        let context = world.folder().join("context.toml");
        let orion = program("orion");
        let run = format!("stty cols 80 rows 24; exec '{}' {words}", orion.display());
        let arguments = ["--quiet", "--return", "--command", &run, "/dev/null"].map(OsStr::new);
        let environment =
            [("ORION_PAGER", OsStr::new(&pager)), ("ORION_CONTEXT", context.as_os_str())];
        let launch =
            Launch { arguments: &arguments, environment: &environment, ..Launch::default() };
        let log = world.folder().join(format!("{name}.log"));
        let orion = Process::start(Path::new("script"), &log, &launch);
        let ended = eventually("it ends", async || orion.ended()).await;
        assert!(ended.success(), "{}", orion.log());
        (std::fs::read_to_string(paged).ok(), orion.log())
    };
    let (paged, terminal) = at_a_terminal("tools list", "long").await;
    assert!(paged.is_some_and(|text| text.contains("write_file")), "{terminal}");
    assert!(!terminal.contains("write_file"), "{terminal}");
    let (paged, terminal) = at_a_terminal("users list", "short").await;
    assert_eq!(paged, None);
    assert!(terminal.contains("admin"), "{terminal}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backend_and_agent_write_their_manual_pages() {
    let folder = tempfile::tempdir().unwrap();
    for (name, page) in [("orion-server", "restore"), ("orion-agent", "enroll")] {
        let pages = folder.path().join(name);
        let log = folder.path().join(format!("{name}.log"));
        let arguments = [OsStr::new("man"), pages.as_os_str()];
        let launch = Launch { arguments: &arguments, ..Launch::default() };
        let written = Process::start(&program(name), &log, &launch);
        eventually("the pages are written", async || written.ended()).await;
        let page = pages.join(format!("{name}-{page}.1"));
        assert!(page.is_file(), "{}: {}", page.display(), written.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_extracted_from_what_models_write() {
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::new(&folder.path().join("none.toml"), folder.path());
    let call = r#"{"tool":"create_directory","device":"laptop-123","path":"C:/Users/ann/Test"}"#;
    let mut shown = String::new();
    for text in [
        format!("Sure! {call} done"),
        format!("```json\n{call}\n```"),
        format!("{call}\n{{\"tool\":\"get_datetime\"}}"),
        r#"{"name":"create_directory","arguments":"{\"path\":\"a}b\\\"{\"}"}"#.to_owned(),
        r#"{"tool":"write_file","parameters":{"path":"a","content":"{\"tool\":\"x\"}"}}"#
            .to_owned(),
        r#"Well {"tool":"create_directory","path":"a" and then"#.to_owned(),
        r#"{"tool":"create_directory","path":"a","path":"b"}"#.to_owned(),
        "There is nothing to do.".to_owned(),
        String::new(),
    ] {
        let output = cli.run_with(&["extract"], text.as_bytes()).await;
        shown.push_str(&format!("$ orion extract <<< {text}\n{}\n", output.shown()));
    }
    insta::assert_snapshot!(shown);
}
