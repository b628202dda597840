//! The attack list of Windows' paths as calls to the running agent: nothing outside the allowed folder is shown or
//! touched.

use orion_domain::CallState;
use orion_tests::{World, tree};
use serde_json::json;

use super::laptop::{FILES, Laptop};
use crate::escapes::{list_of, say};

/// What a file outside says, which no result may contain.
const SECRET: &str = "the-secret-of-another-folder";
/// Every so many lines are tried, unless all are asked for.
const STEP: usize = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_line_of_the_list_leads_out_of_the_allowed_folder() {
    let Some(lines) = list_of("escapes-windows.txt") else { return };
    let world = World::new().await;
    let Some(laptop) = Laptop::new(&world).await else { return };
    std::fs::write(laptop.on_drive("Users/ann/secret.txt"), SECRET).unwrap();
    std::fs::write(laptop.on_drive("secret.txt"), SECRET).unwrap();
    std::fs::write(laptop.file("inside.txt"), "inside").unwrap();
    let outside = || {
        let mut all = tree(&laptop.on_drive(""));
        all.retain(|path, _| {
            !path.starts_with("Users/ann/files") && !path.starts_with("orion/state")
        });
        all
    };
    let before = outside();
    let step = if std::env::var("ORION_ESCAPES").is_ok_and(|it| it == "all") { 1 } else { STEP };
    let (mut tried, mut refused) = (0, 0);
    for line in lines.iter().step_by(step) {
        let line = line.replace("{FILE}", "secret.txt");
        for path in [line.clone(), format!("{FILES}/{line}")] {
            let read = laptop.call("read_file", json!({"path": path})).await;
            assert!(!format!("{read:?}").contains(SECRET), "{path}: {read:?}");
            let write = json!({"path": path, "content": "overwritten"});
            let written = laptop.call("write_file", write).await;
            tried += 2;
            refused += usize::from(read.state != CallState::Succeeded);
            refused += usize::from(written.state != CallState::Succeeded);
        }
    }
    let after = outside();
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|it| before.get(*it) != after.get(*it)).collect();
    assert_eq!(changed, Vec::<&String>::new(), "changed outside");
    say(&format!("windows: {tried} calls of the list, {refused} refused, 0 outside"));
    assert!(tried > 0);
}
