//! Calls that are made while something else is done to their device.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use orion_domain::CallState;
use orion_tests::World;
use serde_json::json;

/// Lets calls of `laptop` add a line of their own to this file, one after the other, for as long as the work takes.
/// Returns how each call ended.
pub(crate) async fn calls_beside<T>(
    world: &World,
    path: &str,
    work: impl Future<Output = T>,
) -> (Vec<CallState>, T) {
    let is_done = AtomicBool::new(false);
    let calls = async {
        let mut ends = Vec::new();
        while !is_done.load(Ordering::Acquire) {
            let content = format!("line {}\n", ends.len());
            let more = json!({"path": path, "content": content, "append": true});
            ends.push(world.admin().call("laptop", "write_file", more).await.end().0);
        }
        ends
    };
    let working = async {
        let done = work.await;
        is_done.store(true, Ordering::Release);
        done
    };
    tokio::join!(calls, working)
}

/// What is said of each call is what is in the file: no line is there twice, and none is missing.
pub(crate) fn has_each_line_once(file: &Path, ends: &[CallState]) {
    let text = std::fs::read_to_string(file).unwrap();
    for (number, end) in ends.iter().enumerate() {
        let times = text.lines().filter(|line| *line == format!("line {number}")).count();
        let expected = usize::from(*end == CallState::Succeeded);
        assert_eq!(times, expected, "call {number} ended as {end:?}");
    }
    assert!(!ends.is_empty(), "no call was made beside it");
}
