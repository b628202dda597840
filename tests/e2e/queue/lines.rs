//! Calls that wait, on the command line.

use orion_tests::World;

use super::made;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_the_command_line_calls_wait_are_listed_shown_and_stopped() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let cli = world.cli();
    let queued = cli.run(&["call", "kiosk", "create_directory", "path=x", "--queue=8h"]).await;
    assert_eq!(queued.code, 7, "{queued:?}");
    let waits = "kiosk is not connected. The call is queued.";
    assert!(queued.stderr.starts_with(waits), "{queued:?}");
    let listed = cli.run(&["calls", "list", "--open", "-o", "json"]).await;
    let id = listed.json()[0]["call_id"].as_str().unwrap().to_owned();
    assert_eq!(listed.json()[0]["state"], "queued");
    let shown = cli.run(&["calls", "show", &id]).await;
    assert!(shown.stdout.contains("queued") && shown.stdout.contains("waits until"), "{shown:?}");
    let stopped = cli.run(&["calls", "cancel", &id]).await;
    assert_eq!(stopped.code, 0, "{stopped:?}");
    let said = "the call is cancelled. Its result says whether it had started";
    assert_eq!(stopped.stderr.trim(), said);
    assert!(stopped.stdout.contains("cancelled this call before it was sent."), "{stopped:?}");
    let watched = cli.run(&["calls", "watch", &id]).await;
    assert_eq!(watched.code, 130, "{watched:?}");

    kiosk.run().await;
    let begun = cli.run(&["call", "kiosk", "create_directory", "path=y", "--background"]).await;
    assert_eq!(begun.code, 0, "{begun:?}");
    let watched = cli.run(&["calls", "watch", begun.stdout.trim()]).await;
    assert_eq!(watched.code, 0, "{watched:?} after {begun:?}");
    assert_eq!(kiosk.tree(), made(&["y"]));
}
