//! `search_text` on real files.

use std::io::{Seek, SeekFrom, Write};

use orion_domain::ErrorCode;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "search_text";

fn lines(device: &Device, data: &Value) -> Vec<(String, u64, String)> {
    let root = device.text("files/");
    let one = |it: &Value| {
        let text = |name: &str| it[name].as_str().unwrap().to_owned();
        (text("path").replace(&root, ""), it["line"].as_u64().unwrap(), text("text"))
    };
    data["matches"].as_array().unwrap().iter().map(one).collect()
}

fn found(device: &Device, arguments: Value) -> Vec<(String, u64, String)> {
    lines(device, &device.data(TOOL, arguments))
}

fn line(path: &str, number: u64, text: &str) -> (String, u64, String) {
    (path.to_owned(), number, text.to_owned())
}

#[test]
fn it_finds_lines_by_path_and_number() {
    let device = Device::new();
    device.put("files/b.rs", "fn main() {\n}\r\n// fn main\r\n");
    device.put("files/a/x.rs", "nothing\nfn main");
    device.put("files/a.txt", "fn main\n");
    device.put("files/a/.env", "fn main\n");
    let arguments = json!({"pattern": "fn main"});
    let data = device.data(TOOL, arguments.clone());
    let all = [
        line("a/x.rs", 2, "fn main"),
        line("a.txt", 1, "fn main"),
        line("b.rs", 1, "fn main() {"),
        line("b.rs", 3, "// fn main"),
    ];
    assert_eq!(lines(&device, &data), all);
    assert_eq!((&data["count"], &data["truncated"]), (&json!(4), &json!(false)));
    assert_eq!((&data["files_searched"], &data["files_skipped"]), (&json!(3), &json!(0)));
    let some = |more: Value| {
        let mut arguments = arguments.clone();
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        found(&device, arguments)
    };
    assert_eq!(some(json!({"glob": "*.txt"})), all[1..2]);
    assert_eq!(some(json!({"glob": "a/*"})), all[..1]);
    assert_eq!(some(json!({"path": "a"})), all[..1]);
    assert_eq!(some(json!({"path": "b.rs"})), all[2..]);
    assert_eq!(some(json!({"path": "b.rs", "glob": "*.txt"})), all[..0]);
    assert_eq!(some(json!({"pattern": "^FN MAIN$"})), all[..0]);
    assert_eq!(some(json!({"pattern": "(?i)^// FN MAIN$"})), all[3..]);
    device.dry(TOOL, arguments).unwrap();
}

#[test]
fn the_first_lines_in_order_are_told_however_many_there_are() {
    let device = Device::new();
    for number in 0..300 {
        device.put(&format!("files/{:02}/{number:03}", number % 7), "yes\nno\nyes\n");
    }
    let all = found(&device, json!({"pattern": "yes", "max_results": 5000}));
    assert_eq!(all.len(), 600);
    assert!(all.is_sorted());
    for most in [1, 2, 33, 599] {
        let arguments = json!({"pattern": "yes", "max_results": most});
        let outcome = device.call(TOOL, arguments.clone()).unwrap();
        assert!(outcome.truncated, "{most}");
        assert_eq!(lines(&device, &outcome.data), all[..most], "{most}");
        assert_eq!(outcome.data["files_searched"], json!(most.div_ceil(2)), "{most}");
        assert_eq!(device.data(TOOL, arguments), outcome.data, "{most}");
    }
    let whole = device.call(TOOL, json!({"pattern": "yes", "max_results": 600})).unwrap();
    assert!(!whole.truncated);
}

#[test]
fn what_is_no_text_is_passed_over() {
    let device = Device::new();
    device.put("files/binary", b"needle\n\0needle\n");
    let late = format!("needle {}\n", "x".repeat(90)).repeat(4000);
    device.put("files/late", late + "\0");
    let utf16: Vec<u8> =
        "\u{feff}x\nneedle é\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    device.put("files/utf16", utf16);
    device.put("files/utf8", "\u{feff}needle\n");
    device.put("files/odd", b"needle \xff\n");
    let all = [
        line("odd", 1, "needle \u{fffd}"),
        line("utf16", 2, "needle é"),
        line("utf8", 1, "needle"),
    ];
    let data = device.data(TOOL, json!({"pattern": "^needle", "max_results": 5000}));
    assert_eq!(lines(&device, &data), all);
    assert_eq!((&data["files_searched"], &data["files_skipped"]), (&json!(3), &json!(0)));
}

#[test]
fn long_lines_are_cut_and_endless_ones_are_skipped() {
    let device = Device::new();
    device.put("files/long", format!("needle {}", "é".repeat(1000)));
    device.put("files/endless", format!("needle\n{}", "x".repeat(5_000_000)));
    let data = device.data(TOOL, json!({"pattern": "needle"}));
    let found = lines(&device, &data);
    assert_eq!(found[0], line("endless", 1, "needle"));
    assert_eq!(found[1].2.chars().count(), 500);
    assert_eq!((&data["files_searched"], &data["files_skipped"]), (&json!(1), &json!(1)));
}

#[test]
fn a_result_keeps_within_a_message() {
    let device = Device::new();
    let text = format!("{}\n", "\u{1}".repeat(500)).repeat(100);
    for number in 0..50 {
        device.put(&format!("files/{number}"), &text);
    }
    let outcome = device.call(TOOL, json!({"pattern": ".", "max_results": 5000})).unwrap();
    let bytes = serde_json::to_vec(&outcome.data).unwrap().len();
    let most = crate::call::MAX_RESULT_BYTES;
    assert!(outcome.truncated && bytes < most && bytes > most / 2, "{bytes}");
}

#[test]
fn a_huge_sparse_file_does_not_hold_it_up() {
    let device = Device::new();
    device.put("files/huge", "needle\n");
    let mut file = std::fs::OpenOptions::new().write(true).open(device.at("files/huge")).unwrap();
    file.set_len(100 << 30).unwrap();
    file.seek(SeekFrom::End(-7)).unwrap();
    file.write_all(b"needle\n").unwrap();
    device.put("files/text", "needle\n");
    assert_eq!(found(&device, json!({"pattern": "needle"})), [line("text", 1, "needle")]);
    std::fs::remove_file(device.at("files/huge")).unwrap();
}

#[test]
fn a_file_that_grows_is_searched_as_far_as_it_went() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let device = Device::new();
    device.put("files/log", "needle\n");
    let mut log = std::fs::OpenOptions::new().append(true).open(device.at("files/log")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let more = "more\n".repeat(10_000);
            while !done.load(Ordering::Relaxed) && log.metadata().unwrap().len() < 10_000_000 {
                log.write_all(more.as_bytes()).unwrap();
            }
        });
        for _ in 0..5 {
            let first = [line("log", 1, "needle")];
            assert_eq!(found(&device, json!({"pattern": "needle"})), first);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn bad_arguments_are_told() {
    let device = Device::new();
    for arguments in [
        json!({}),
        json!({"pattern": ""}),
        json!({"pattern": "("}),
        json!({"pattern": "a\\nb"}),
        json!({"pattern": "a", "glob": "["}),
        json!({"pattern": "a", "max_results": 0}),
        json!({"pattern": "a", "max_results": 5001}),
    ] {
        assert_eq!(
            device.refused(TOOL, arguments.clone()),
            ErrorCode::InvalidArgument,
            "{arguments}"
        );
    }
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/notes/today.md", "");
    let error = device.error(TOOL, json!({"pattern": "x", "path": "today.md"}));
    assert_eq!(error.code, ErrorCode::PathNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes/today.md")]);
}

#[test]
fn it_stops_at_the_deadline_in_the_middle_of_a_file() {
    let mut device = Device::new();
    device.time = std::time::Duration::from_millis(50);
    // An expression without optimisations, on much text that nearly matches.
    device.put("files/text", format!("{}\n", "ab".repeat(40)).repeat(400_000));
    let error = device.call(TOOL, json!({"pattern": "(a|b|ab)*[^ab]\\w{20}c"})).unwrap_err();
    assert_eq!(error.code, ErrorCode::Timeout);
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({"pattern": "x"}));
}

#[cfg(unix)]
#[test]
fn special_files_and_links_are_never_opened() {
    let device = Device::new();
    let pipe = device.at("files/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(device.at("files/socket")).unwrap();
    device.link("files/zero", "/dev/zero");
    device.link("files/out", device.at("outside"));
    device.link("files/loop", ".");
    device.put("files/a", "secret\n");
    assert_eq!(found(&device, json!({"pattern": "."})), [line("a", 1, "secret")]);
    for (name, code) in [("pipe", ErrorCode::NotSupported), ("zero", ErrorCode::PathNotAllowed)] {
        assert_eq!(device.refused(TOOL, json!({"pattern": ".", "path": name})), code, "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_and_a_folder_that_turn_into_links_and_back_never_lead_out() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};

    let device = Device::new();
    device.put("files/d/secret.txt", "harmless\n");
    device.put("files/f", "harmless\n");
    device.link("files/leaving", "../outside");
    device.link("files/leaf", "../outside/secret.txt");
    let pairs = [("d", "leaving"), ("f", "leaf")]
        .map(|(one, other)| (device.at("files").join(one), device.at("files").join(other)));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for (one, other) in &pairs {
                    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        let mut results = Vec::new();
        for _ in 0..300 {
            results.push(device.call(TOOL, json!({"pattern": "."})).map(|outcome| outcome.data));
            results.push(device.call("search_files", json!({"query": "*"})).map(|it| it.data));
            results.push(device.call("analyze_disk", json!({})).map(|it| it.data));
        }
        done.store(true, Ordering::Relaxed);
        for result in results {
            let result = result.unwrap();
            assert!(!result.to_string().contains("\"secret\""), "{result}");
            if result["total_bytes"].is_u64() {
                assert!(result["total_bytes"].as_u64().unwrap() <= 18, "{result}");
            }
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_finds_what_a_plain_reading_finds(
        files in proptest::collection::btree_map("[abc]{1,3}(/[abc]{1,2}){0,2}\\.t", "[xyz\\n ]{0,60}", 0..30),
        most in 1_u32..40,
    ) {
        let device = Device::new();
        for (name, text) in &files {
            device.put(&format!("files/{name}"), text);
        }
        let mut all = Vec::new();
        for (name, text) in &files {
            for (index, text) in text.lines().enumerate().filter(|(_, text)| text.contains("xy")) {
                all.push((name.clone(), index as u64 + 1, text.to_owned()));
            }
        }
        all.sort_by_key(|(name, number, _)| {
            (name.split('/').map(ToOwned::to_owned).collect::<Vec<_>>(), *number)
        });
        let outcome = device.call(TOOL, json!({"pattern": "xy", "max_results": most})).unwrap();
        prop_assert_eq!(outcome.truncated, all.len() > most as usize);
        all.truncate(most as usize);
        prop_assert_eq!(lines(&device, &outcome.data), all);
    }
}

#[test]
fn an_expression_that_takes_long_for_each_byte_skips_long_lines_and_says_so() {
    let device = Device::new();
    device.put("files/long", "ab".repeat(3 * 512 * 1024));
    device.put("files/short", format!("{}x\n", "a".repeat(30)));
    let begun = std::time::Instant::now();
    let outcome = device.call(TOOL, json!({"pattern": "a[ab]{20000}[xyz]"})).unwrap();
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
    let counts = ["files_searched", "files_skipped", "files_with_long_lines"];
    assert_eq!(counts.map(|name| outcome.data[name].clone()), [json!(1), json!(1), json!(1)]);
    assert!(outcome.message.contains("1 file was left at one"), "{}", outcome.message);
    let plain = device.data(TOOL, json!({"pattern": "a[ab]{20}[xyz]"}));
    assert_eq!(plain["count"], json!(1));
}
