//! `orion plan`: the transcript in the documents is what people see.

use orion_domain::Role;
use orion_tests::World;

use super::names;

const FILE: &str = "\
steps:
  - devices: [kiosk, laptop-123]
    tool: delete_file
    arguments: { path: old.txt, confirm: true }
  - device: kiosk
    tool: create_directory
    arguments: { path: new }
  - device: kiosk
    tool: write_file
    arguments: { path: new/note.txt, content: \"Moved here.\" }
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_on_the_command_line_is_what_the_documents_show() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let laptop = world.device("laptop-123").start().await;
    for device in [&kiosk, &laptop] {
        device.write_file("old.txt", "12345");
    }
    std::fs::write(world.folder().join("tidy.yaml"), FILE).unwrap();
    let cli = world.cli();

    let mut transcript = String::new();
    let mut shown = |words: &[&str], output: &orion_tests::Output| {
        let files = [("kiosk", &kiosk), ("laptop-123", &laptop)];
        let mut text = format!("$ orion {}\n{}{}\n", words.join(" "), output.stdout, output.stderr);
        for (name, device) in files {
            let folder = device.files().display().to_string();
            text = text.replace(&folder, &format!("/srv/{name}"));
        }
        transcript.push_str(&world.seen().in_text(&text));
    };

    let waits = ["plan", "run", "tidy.yaml"];
    let waiting = cli.run(&waits).await;
    assert_eq!(waiting.code, 6, "{waiting:?}");
    assert_eq!([names(&kiosk), names(&laptop)], [["old.txt"], ["old.txt"]]);
    shown(&waits, &waiting);

    let listed = cli.run(&["plan", "list", "-o", "json"]).await.json();
    let id = listed[0]["plan_id"].as_str().unwrap().to_owned();
    laptop.write_file("old.txt", "not as it was");
    let approve = ["plan", "approve", &id, "--wait"];
    let drifted = cli.run(&approve).await;
    assert_eq!(drifted.code, 9, "{drifted:?}");
    shown(&approve, &drifted);
    assert_eq!(names(&kiosk), Vec::<String>::new());

    let again = ["plan", "call", "kiosk,laptop-123", "create_directory", "path=new", "--yes"];
    let done = cli.run(&again).await;
    assert_eq!(done.code, 0, "{done:?}");
    shown(&again, &done);
    assert_eq!([names(&kiosk), names(&laptop)], [vec!["new"], vec!["new", "old.txt"]]);

    let transcript = transcript.trim_end();
    insta::assert_snapshot!("transcript", transcript);
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/plans.md"));
    assert!(
        page.unwrap().contains(transcript),
        "docs/plans.md shows another transcript than this snapshot"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_read_plans_and_exit_codes_say_how_they_ended() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let (cli, ann) = (world.cli(), world.person("ann", Role::Operator).await);
    let of_ann = world.cli_of("ann", &ann);

    let refused = of_ann
        .run_with(
            &["plan", "run", "-", "-o", "json"],
            br#"{"steps": [{"device": "kiosk", "tool": "read_file", "arguments": {"path": "/etc/passwd"}}]}"#,
        )
        .await;
    assert_eq!(refused.code, 5, "{refused:?}");
    let nonsense = of_ann.run_with(&["plan", "run", "-"], b"steps: 3").await;
    assert_eq!(nonsense.code, 2, "{nonsense:?}");

    let words =
        ["plan", "call", "kiosk", "delete_file", "path=a.txt", "confirm=true", "-o", "json"];
    let waiting = of_ann.run(&words).await;
    assert_eq!(waiting.code, 6, "{waiting:?}");
    let plan = waiting.json();
    let id = plan["plan_id"].as_str().unwrap();
    assert!(waiting.stderr.contains(&format!("orion plan approve {id}")), "{waiting:?}");
    let other = cli.run(&["plan", "approve", id, "--hash", &"0".repeat(64)]).await;
    assert_eq!(other.code, 9, "{other:?}");
    let shown = cli.run(&["plan", "show", id, "-o", "json"]).await.json();
    assert_eq!(shown, plan);

    let denied = cli.run(&["plan", "deny", id, "--reason", "Not today", "-o", "json"]).await;
    assert_eq!((denied.code, &denied.json()["state"]), (0, &"denied".into()), "{denied:?}");
    let hash = plan["hash"].as_str().unwrap();
    let late = cli.run(&["plan", "approve", id, "--hash", hash]).await;
    assert_eq!(late.code, 9, "{late:?}");
    let all = cli.run(&["plan", "list", "--all"]).await;
    assert!(all.stdout.contains("denied"), "{all:?}");

    let words = ["plan", "call", "kiosk", "delete_file", "path=a.txt", "confirm=true", "--yes"];
    let done = of_ann.run(&[&words[..], &["-o", "json"]].concat()).await;
    assert_eq!((done.code, &done.json()["state"]), (0, &"succeeded".into()), "{done:?}");
    assert!(kiosk.tree().is_empty());
}
