//! What a person reads of a call whose path has a link on its way, and of texts that look like markup.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;

use orion_domain::CallState;
use orion_tests::World;
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_card_and_the_result_name_the_place_that_a_link_leads_to() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    fs::create_dir(kiosk.files().join("important")).unwrap();
    fs::write(kiosk.files().join("important/a"), "precious").unwrap();
    symlink("important", kiosk.files().join("cache")).unwrap();
    let real = fs::canonicalize(kiosk.files().join("important/a")).unwrap();
    for (path, is_named) in [("cache/a", true), ("important/a", false)] {
        let delete = json!({"path": path, "confirm": true});
        let asked = world.admin().call("kiosk", "delete_file", delete).await;
        assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
        let card = world.cli().run(&["approvals", "show", asked.approval_id()]).await.stdout;
        let one_line = card.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = format!("{path} leads to {}.", real.display());
        assert_eq!(one_line.contains(&named), is_named, "{card}");
        world.admin().decide(asked.approval_id(), true, "").await.unwrap();
        let done = world.admin().ended(&asked.id).await.unwrap();
        assert_eq!(done.state, CallState::Succeeded, "{done:?}");
        assert_eq!(done.envelope.as_ref().unwrap().message.contains(&named), is_named, "{done:?}");
        fs::write(&real, "precious").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_shows_what_a_file_holds_as_it_is() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let content = "x = 2**10 + 3**2\nprint(`x`)\n- a: 1";
    fs::write(kiosk.files().join("calc.py"), content).unwrap();
    let (code, shown) = world.cli().at_terminal("ask 'read calc.py'").await;
    assert_eq!(code, 0, "{shown}");
    for line in content.lines() {
        assert!(shown.contains(line), "{line} is not in {shown}");
    }
}
