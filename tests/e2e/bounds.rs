//! What the worst calls can take of a device: a slot until their deadline and little longer, and little
//! memory, however many of them there are.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use orion_catalog::find;
use orion_tests::{Deceived, LyingServer, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

const CONFIG: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
const MIB: u64 = 1024 * 1024;
/// As many calls as one person has at a time.
const SLOTS: usize = 24;
/// By how much the agent may grow. It holds the results that its workers send at the same time.
const MAX_GROWN: u64 = 64 * MIB;

/// Files with which each tool has as much to do as it can.
fn prepare(files: &Path) {
    let put = |name: &str, text: String| std::fs::write(files.join(name), text).unwrap();
    put("same", "a".repeat(2_000_000));
    put("one_line", "ab".repeat(3 * 512 * 1024));
    put("lines", "\n".repeat(15_000_000) + "x");
    put("few_lines", "\n".repeat(1_000_000));
    put("list.yaml", format!("[{}0]", "0,".repeat(120_000)));
    put("list.json", format!("[{}0]", "0,".repeat(500_000)));
    put("maps.json", format!("[{}0]", "{\"\":0},".repeat(9_000)));
    put("maps.yaml", format!("[{}0]", "{a: 0},".repeat(9_000)));
    put("table.toml", (0..29_000).map(|number| format!("a{number}=0\n")).collect());
}

/// The worst call of each kind.
fn worst(device: &Deceived, number: usize) -> (&'static str, Value, bool) {
    let path = |name: &str| device.path(name);
    match number % 10 {
        0 => (
            "search_text",
            json!({"path": device.files(), "pattern": "a[ab]{20000}[xyz]", "glob": "*", "max_results": 200}),
            false,
        ),
        1 => {
            let almost = format!("{}b", "a".repeat(499_999));
            ("edit_file", json!({"path": path("same"), "old_text": almost, "new_text": "x"}), false)
        }
        2 => {
            let all = "a".repeat(500_000);
            ("edit_file", json!({"path": path("same"), "old_text": all, "new_text": "x"}), false)
        }
        3 => ("edit_file", json!({"path": path("lines"), "old_text": "x", "new_text": "y"}), true),
        4 => (
            "write_file",
            json!({"path": path("few_lines"), "content": "a\n".repeat(500_000), "append": false, "create_dirs": true}),
            true,
        ),
        5 => ("read_config", json!({"path": path("list.yaml")}), false),
        6 => ("read_config", json!({"path": path("list.json")}), false),
        7 => ("read_config", json!({"path": path("maps.json")}), false),
        8 => ("read_config", json!({"path": path("maps.yaml")}), false),
        _ => {
            let changes = json!([{"line": 1, "old": "a0=0", "new": "a0=1"}]);
            (
                "modify_config",
                json!({"path": path("table.toml"), "changes": changes, "confirm": false}),
                true,
            )
        }
    }
}

/// Has the device run the worst calls, five times as many as it has slots. By how many bytes it grew at most.
async fn run_the_worst_calls() -> u64 {
    let server = LyingServer::start().await;
    let device = Deceived::start_with(&server, CONFIG, prepare).await;
    let mut link = server.link().await;
    link.grant(json!({"profile": "developer", "paths": [device.files()]})).await;
    let honest = link.order("create_directory", &json!({"path": device.path("first")}));
    assert_eq!(link.dispatch(honest).await.0, "succeeded");
    let idle = device.agent().usage();
    let orders: Vec<_> = (0..5 * SLOTS)
        .map(|number| {
            let (tool, arguments, dry_run) = worst(&device, number);
            let order = link.any_order(find(tool).unwrap().0, &arguments, dry_run);
            (tool, v1::Dispatch { time_left_ms: 5_000, ..order })
        })
        .collect();
    let begun = Instant::now();
    let mut ends: BTreeMap<(&str, String), u64> = BTreeMap::new();
    link.run_all(orders, SLOTS, |tool, result| {
        *ends.entry((tool, result.code)).or_default() += 1;
    })
    .await;
    let took = begun.elapsed();
    // Five times all slots, each for its deadline and two seconds at most.
    assert!(took < 5 * Duration::from_secs(7) + Duration::from_secs(5), "{took:?} {ends:?}");
    assert_eq!(ends.values().sum::<u64>(), 5 * SLOTS as u64);
    let held_up = ends.keys().filter(|(_, code)| code == "OUTCOME_UNKNOWN").count();
    assert_eq!(held_up, 0, "{ends:?}");
    // Each kind was done or refused for what it is, and did not only wait until its deadline.
    for tool in ["search_text", "edit_file", "write_file", "read_config", "modify_config"] {
        let done = ends.keys().any(|(name, code)| *name == tool && code != "TIMEOUT");
        assert!(done, "{tool} never came to its turn: {ends:?}");
    }
    let honest = link.order("create_directory", &json!({"path": device.path("last")}));
    assert_eq!(link.dispatch(honest).await.0, "succeeded");
    device.agent().usage().peak.saturating_sub(idle.resident)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_worst_calls_take_no_slot_for_long_nor_memory_without_end() {
    let grown = run_the_worst_calls().await;
    println!("the worst calls in all slots: {} MiB above idle", grown / MIB);
    assert!(grown < MAX_GROWN, "{} MiB above idle", grown / MIB);
}

/// Returns the processes that a process started.
pub(crate) fn children_of(parent: i32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn is_computing(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('R'))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_search_is_gone_within_two_seconds_of_its_deadline() {
    let server = LyingServer::start().await;
    let one_line = |files: &Path| {
        std::fs::write(files.join("one_line"), "ab".repeat(3 * 512 * 1024)).unwrap();
    };
    let device = Deceived::start_with(&server, CONFIG, one_line).await;
    let mut link = server.link().await;
    link.grant(json!({"profile": "developer", "paths": [device.files()]})).await;
    let honest = link.order("list_directory", &json!({"path": device.files()}));
    assert_eq!(link.dispatch(honest).await.0, "succeeded");
    let idle = device.agent().usage();
    let arguments = json!({"path": device.files(), "pattern": "a[ab]{20000}[xyz]", "glob": "*"});
    let orders: Vec<_> = (0..SLOTS)
        .map(|_| {
            let order = link.order("search_text", &arguments);
            ("search_text", v1::Dispatch { time_left_ms: 2_000, ..order })
        })
        .collect();
    let begun = Instant::now();
    let mut ends = Vec::new();
    link.run_all(orders, SLOTS, |_, result| ends.push(result.code)).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?} {ends:?}");
    let is_true = |code: &String| code.is_empty() || code == "TIMEOUT";
    assert!(ends.len() == SLOTS && ends.iter().all(is_true), "{ends:?}");
    // Four without a call and one that no call had yet, once the others have ended.
    let agent = device.agent().pid().as_raw_pid();
    eventually("too many workers are kept", async || (children_of(agent).len() <= 5).then_some(()))
        .await;
    for _ in 0..10 {
        let children = children_of(agent);
        let computing: Vec<_> = children.iter().filter(|pid| is_computing(pid)).collect();
        assert!(computing.is_empty(), "{computing:?} go on");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let honest = link.order("list_directory", &json!({"path": device.files()}));
    assert_eq!(link.dispatch(honest).await.0, "succeeded");
    let grown = device.agent().usage().peak.saturating_sub(idle.resident);
    assert!(grown < MAX_GROWN, "{} MiB above idle", grown / MIB);
}
