//! What is kept out of a folder is told by no tool, and nothing hides in what people are shown.

use orion_domain::{ErrorCode, is_hidden};
use orion_tests::{Output, World};
use serde_json::json;

/// Nothing in an output ends a line, turns text round or hides, but for the ends of its own lines.
fn is_clean(output: &Output) {
    for text in [&output.stdout, &output.stderr] {
        let hidden: Vec<char> = text.chars().filter(|c| is_hidden(*c) && *c != '\n').collect();
        assert_eq!(hidden, Vec::<char>::new(), "{text:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_out_of_a_folder_is_told_by_no_tool() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for name in ["notes.txt", ".netrc", ".env.acme", "keys/.ssh/config"] {
        kiosk.write_file(&format!("project/{name}"), "needle");
    }
    for (tool, arguments) in [
        ("list_directory", json!({"path": "project", "recursive": true})),
        ("search_directory", json!({"name": "ssh", "base": "project"})),
        ("search_files", json!({"query": "n", "path": "project"})),
        ("search_text", json!({"pattern": "needle", "path": "project"})),
        ("analyze_disk", json!({"path": "project"})),
        ("copy_path", json!({"source": "project", "destination": "copy"})),
        ("move_path", json!({"source": "project", "destination": "moved"})),
        ("delete_directory", json!({"path": "project", "recursive": true, "confirm": true})),
    ] {
        let told = world.admin().dry_run("kiosk", tool, arguments).await.envelope.unwrap();
        let told = serde_json::to_string(&(&told.message, &told.data, &told.error)).unwrap();
        for name in [".netrc", ".env", ".ssh"] {
            assert!(!told.contains(name), "{tool}: {told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_hides_in_what_the_command_line_shows_of_a_path() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let cli = world.cli();
    for hidden in [
        "\nrisk: low",
        "\u{1b}[2J",
        "\u{7f}",
        "\u{85}",
        "\u{9b}2J",
        "\u{2028}",
        "\u{2029}",
        "\u{202e}gpj",
        "\u{2066}",
        "\u{200b}",
        "\u{feff}",
    ] {
        let name = format!("a{hidden}b.txt");
        kiosk.write_file(&name, "");
        let asked = world
            .admin()
            .call("kiosk", "delete_file", json!({"path": name, "confirm": true}))
            .await;
        let question = asked.approval_id().to_owned();
        for words in [
            &["approvals", "list"][..],
            &["approvals", "show", &question],
            &["calls", "list"],
            &["calls", "show", &asked.id.to_string()],
            &["call", "kiosk", "list_directory", "path=."],
        ] {
            for format in ["table", "wide", "json", "yaml"] {
                let output = cli.run(&[words, &["-o", format]].concat()).await;
                assert_eq!(output.code, 0, "{hidden:?}: {output:?}");
                is_clean(&output);
            }
        }
        let shown = cli.run(&["approvals", "show", &question, "-o", "json"]).await;
        assert_eq!(shown.json()["arguments"]["path"], json!(name));
        let card = cli.run(&["approvals", "show", &question]).await.stdout;
        let touches = card.lines().filter(|line| line.trim_start().starts_with("risk")).count();
        assert_eq!(touches, 1, "{card}");
        world.admin().decide(&question, false, "").await.unwrap();
        std::fs::remove_file(kiosk.files().join(&name)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_whose_host_deceives_is_refused_and_one_in_other_letters_is_shown_as_dns_has_it()
{
    let world = World::new().await;
    let ceiling = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\napps = [\"viewer\"]\n[apps]\nviewer = \"/bin/true\"\n";
    let grants = json!({"profile": "operator", "paths": ["{files}"], "apps": ["viewer"]});
    let kiosk = world.device("kiosk").grant(grants).ceiling(ceiling).start().await;
    let open = async |url: &str| {
        let arguments = json!({"app": "viewer", "args": [url]});
        world.admin().call("kiosk", "open_app", arguments).await
    };
    for url in ["https://p\u{430}ypal.com", "https://exam\u{200b}ple.com", "https://\u{202e}moc.a"]
    {
        let refused = open(url).await;
        assert_eq!(refused.error().code, ErrorCode::UrlForbidden, "{refused:?}");
    }
    let strict = json!({"profile": "strict", "paths": ["{files}"], "apps": ["viewer"]});
    kiosk.grant(&strict).await;
    let asked = open("https://\u{440}\u{430}\u{443}.com/x").await;
    let card = world.cli().run(&["approvals", "show", asked.approval_id()]).await.stdout;
    assert!(card.contains("xn--80a5ak.com"), "{card}");
}
