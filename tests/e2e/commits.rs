//! How many commits of the backend's database one piece of work takes.

use orion_domain::CallState;
use orion_tests::{World, commits};
use serde_json::json;

/// Returns the fewest commits of three repetitions. Once a minute something else is committed as well, but not every
/// time.
async fn fewest(world: &World, mut work: impl AsyncFnMut()) -> usize {
    let mut fewest = usize::MAX;
    for _ in 0..3 {
        let before = commits(&world.database());
        work().await;
        fewest = fewest.min(commits(&world.database()) - before);
    }
    fewest
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowed_read_takes_one_commit() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let fewest = fewest(&world, async || {
        let call = world.admin().call(&kiosk.name, "get_datetime", json!({})).await;
        assert_eq!(call.end(), (CallState::Succeeded, None), "{call:?}");
    });
    assert_eq!(fewest.await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asked_call_takes_five_commits_at_most() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let fewest = fewest(&world, async || {
        kiosk.write_file("old/a.txt", "12345");
        let arguments = json!({"path": "old", "recursive": true, "confirm": true});
        let asked = world.admin().call(&kiosk.name, "delete_directory", arguments).await;
        world.admin().decide(asked.approval_id(), true, "").await.unwrap();
        let done = world.admin().ended(&asked.id).await.unwrap();
        assert_eq!(done.end(), (CallState::Succeeded, None), "{done:?}");
    });
    // The opening of the preview; its end with the approval request; the vote; the dispatch; the end. A preview that
    // is answered within 20 ms is opened and ended by one commit.
    let fewest = fewest.await;
    assert!((4..=5).contains(&fewest), "{fewest} commits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_round_with_one_read_takes_seven_commits_at_most() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "");
    let chat = world.admin().say_in("", "list my files").await.conversation;
    let fewest = fewest(&world, async || {
        let answer = world.admin().say_in(&chat, "list my files").await;
        assert_eq!(answer.calls[0].end(), (CallState::Succeeded, None), "{answer:?}");
    });
    // The person's message, the model's call, the call, its result with its label, the answer.
    let fewest = fewest.await;
    assert!((5..=7).contains(&fewest), "{fewest} commits");
}
