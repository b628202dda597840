//! The scan as its tools use it, compared with a plain walk of the same folders.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tools::testing::Device;

/// Returns every file below a folder by its names from the start, in order.
fn files(root: &Path) -> BTreeSet<Vec<String>> {
    let mut files = BTreeSet::new();
    let mut folders = vec![(root.to_owned(), Vec::new())];
    while let Some((folder, names)) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let mut names = names.clone();
            names.push(entry.file_name().into_string().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push((entry.path(), names));
            } else if kind.is_file() {
                files.insert(names);
            }
        }
    }
    files
}

fn paths(device: &Device, data: &Value, list: &str) -> Vec<String> {
    let root = device.text("files/");
    let list = data[list].as_array().unwrap();
    list.iter().map(|it| it["path"].as_str().unwrap().replace(&root, "")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_file_is_found_in_the_order_of_its_names(
        tree in proptest::collection::btree_set("[ab.]?[ab]{1,2}(/[ab-]{1,2}){0,4}\\.[tu]", 0..60),
        most in 1_usize..50,
    ) {
        let device = Device::new();
        for name in &tree {
            device.put(&format!("files/{name}"), "");
        }
        let mut all: Vec<_> = files(&device.at("files"))
            .into_iter()
            .map(|names| names.join("/"))
            .filter(|name| name.ends_with(".t"))
            .collect();
        let outcome =
            device.call("search_files", json!({"query": "*.t", "max_results": most})).unwrap();
        prop_assert_eq!(outcome.truncated, all.len() > most);
        all.truncate(most);
        prop_assert_eq!(paths(&device, &outcome.data, "results"), all);
    }
}

/// One tree for all tests with many files, because creating it takes most of the time.
#[test]
fn two_hundred_thousand_entries_are_gone_through_in_order() {
    const FOLDERS: usize = 2_000;
    const FILES: usize = 200_000 - FOLDERS;
    // Links take less disk space than files, but a file can have at most 65,000.
    const LINKS: usize = 50_000;
    let device = Device::new();
    device.folder("files/many");
    let many = device.at("files/many");
    for number in 0..FOLDERS {
        std::fs::create_dir(many.join(format!("d{number:06}"))).unwrap();
    }
    for number in 0..FILES {
        let one = device.at(&format!("one{}", number / LINKS));
        if number % LINKS == 0 {
            std::fs::write(&one, "needle\n").unwrap();
        }
        let name = many.join(format!("f{:06}.txt", (number * 7919) % FILES));
        if std::fs::hard_link(&one, &name).is_err() {
            std::fs::write(&name, "needle\n").unwrap();
        }
    }
    let list = device.call("list_directory", json!({"path": "many", "max_results": 3})).unwrap();
    assert!(list.truncated);
    assert_eq!(
        paths(&device, &list.data, "entries"),
        ["many/d000000", "many/d000001", "many/d000002"]
    );
    let found = device.call("search_files", json!({"query": "*.txt", "max_results": 2})).unwrap();
    assert!(found.truncated);
    assert_eq!(paths(&device, &found.data, "results"), ["many/f000000.txt", "many/f000001.txt"]);
    let ten = device.call("search_files", json!({"query": "f00001?.txt"})).unwrap();
    assert_eq!((&ten.data["count"], ten.truncated), (&json!(10), false));
    let folder = device.data("search_directory", json!({"name": "d00019"}));
    assert_eq!(folder["count"], json!(5));
    let disk = device.call("analyze_disk", json!({})).unwrap();
    assert_eq!(disk.data["entries"], json!(200_001));
    assert_eq!((&disk.data["total_bytes"], disk.truncated), (&json!(FILES * 7), false));
    let text = json!({"pattern": "needle", "path": "many", "max_results": 100});
    let text = device.call("search_text", text).unwrap();
    assert_eq!(text.data["matches"][99]["path"], json!(device.text("files/many/f000099.txt")));
    assert!(text.truncated && device.progress.get() > 0);
    let missing = device.call("read_file", json!({"path": "many/f0.txt"})).unwrap_err();
    assert_eq!(missing.code, orion_domain::ErrorCode::FileNotFound);
}

#[test]
fn a_tree_that_is_too_deep_is_cut_and_told() {
    let device = Device::new();
    device.put(&format!("files/{}in.txt", "d/".repeat(63)), "x");
    device.put(&format!("files/{}out.txt", "d/".repeat(64)), "x");
    for (tool, arguments, found) in [
        ("search_files", json!({"query": "*.txt"}), "count"),
        ("search_text", json!({"pattern": "x"}), "count"),
        ("analyze_disk", json!({}), "total_bytes"),
    ] {
        let outcome = device.call(tool, arguments).unwrap();
        assert!(outcome.truncated, "{tool}");
        assert_eq!(outcome.data[found], json!(1), "{tool}");
    }
}

#[test]
fn a_scan_stops_at_the_deadline_and_for_a_person() {
    let mut device = Device::new();
    for number in 0..300 {
        device.put(&format!("files/{number}/a"), "x");
    }
    device.time = Duration::ZERO;
    for (tool, arguments) in [
        ("search_files", json!({"query": "*"})),
        ("search_directory", json!({"name": "a"})),
        ("search_text", json!({"pattern": "x"})),
        ("analyze_disk", json!({})),
    ] {
        let code = device.refused(tool, arguments);
        assert_eq!(code, orion_domain::ErrorCode::Timeout, "{tool}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_no_text_is_passed_over() {
    use std::os::unix::ffi::OsStrExt;
    let device = Device::new();
    device.put("files/a.txt", "x");
    let odd = device.at("files").join(std::ffi::OsStr::from_bytes(b"\xff.txt"));
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("b.txt"), "x").unwrap();
    for (tool, arguments) in
        [("search_files", json!({"query": "*.txt"})), ("search_text", json!({"pattern": "x"}))]
    {
        assert_eq!(device.data(tool, arguments)["count"], json!(1), "{tool}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn few_handles_are_open_at_a_time() {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    let device = Device::new();
    for number in 0..5000 {
        device.put(&format!("files/{}/{}/{number}/a", number % 10, number % 100), "x");
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let (done, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    let before = open();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(open(), Ordering::Relaxed);
            }
        });
        for _ in 0..5 {
            device.data("search_files", json!({"query": "*", "max_results": 10_000}));
            device.data("search_text", json!({"pattern": "x", "max_results": 5000}));
        }
        done.store(true, Ordering::Relaxed);
    });
    // Other tests in the same process have handles open as well.
    assert!(most.into_inner() < before + 300);
}
