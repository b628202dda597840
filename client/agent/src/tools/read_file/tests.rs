//! `read_file` on real files.

use std::io::{Seek, SeekFrom, Write};

use orion_domain::ErrorCode;
use serde_json::json;

use crate::tools::testing::Device;

const TOOL: &str = "read_file";

#[test]
fn it_reads_by_lines() {
    let device = Device::new();
    device.put("files/a.txt", "one\ntwo\nthree\nfour");
    let read = |offset: u64, limit: u64| {
        let data = device.data(TOOL, json!({"path": "a.txt", "offset": offset, "limit": limit}));
        let get = |name: &str| data[name].clone();
        (get("content"), get("lines"), get("total_lines"), get("truncated"))
    };
    let expected = |content: &str, lines: u64, truncated: bool| {
        (json!(content), json!(lines), json!(4), json!(truncated))
    };
    assert_eq!(read(0, 200), expected("one\ntwo\nthree\nfour", 4, false));
    assert_eq!(read(0, 2), expected("one\ntwo\n", 2, true));
    assert_eq!(read(1, 2), expected("two\nthree\n", 2, true));
    assert_eq!(read(3, 1), expected("four", 1, false));
    assert_eq!(read(4, 1), expected("", 0, false));
    assert_eq!(read(u64::MAX, 1), expected("", 0, false));
    device.put("files/empty", "");
    let empty = device.data(TOOL, json!({"path": "empty"}));
    assert_eq!(
        empty,
        json!({
            "path": device.text("files/empty"), "content": "", "size_bytes": 0, "lines": 0,
            "total_lines": 0, "truncated": false, "encoding": "utf-8", "replaced": false,
        })
    );
    device.dry(TOOL, json!({"path": "a.txt"})).unwrap();
}

#[test]
fn lines_that_span_reads_count_once() {
    let device = Device::new();
    let line = format!("{}\n", "x".repeat(100_000));
    device.put("files/long", line.repeat(3));
    let data = device.data(TOOL, json!({"path": "long", "offset": 1, "limit": 1}));
    assert_eq!((&data["lines"], &data["total_lines"]), (&json!(1), &json!(3)));
    assert_eq!(data["content"], json!(line));
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_told() {
    let device = Device::new();
    device.put("files/a", b"ab\xff\xfecd\n");
    let data = device.data(TOOL, json!({"path": "a"}));
    assert_eq!(data["content"], json!("ab\u{fffd}\u{fffd}cd\n"));
    assert_eq!(data["replaced"], json!(true));
    let data = device.data(TOOL, json!({"path": "a", "encoding": "base64"}));
    assert_eq!(data["content"], json!("YWL//mNkCg=="));
}

#[test]
fn content_is_bounded_and_cut_between_characters() {
    let device = Device::new();
    device.put("files/wide", "é".repeat(1_000_000));
    let outcome = device.call(TOOL, json!({"path": "wide"})).unwrap();
    let content = outcome.data["content"].as_str().unwrap();
    assert!(outcome.truncated && content.len() <= 1024 * 1024);
    assert!(content.chars().all(|it| it == 'é'), "{}", outcome.data["replaced"]);
    device.put("files/nul", vec![0; 4_000_000]);
    let outcome = device.call(TOOL, json!({"path": "nul"})).unwrap();
    assert!(outcome.data.to_string().len() <= 1024 * 1024 + 1024);
}

#[test]
fn a_huge_sparse_file_is_read_in_part() {
    let device = Device::new();
    device.put("files/huge", "first\n");
    let mut file = std::fs::OpenOptions::new().write(true).open(device.at("files/huge")).unwrap();
    file.set_len(100 << 30).unwrap();
    file.seek(SeekFrom::End(-4)).unwrap();
    file.write_all(b"last").unwrap();
    let first = device.call(TOOL, json!({"path": "huge", "limit": 1})).unwrap();
    assert_eq!(first.data["content"], json!("first\n"));
    assert_eq!(first.data["total_lines"], json!(null));
    assert!(first.truncated);
    let code = device.call(TOOL, json!({"path": "huge", "offset": 9})).unwrap_err().code;
    assert_eq!(code, ErrorCode::ResourceExhausted);
    let blocks = (100_u64 << 30) / 4096;
    let last = json!({"path": "huge", "encoding": "base64", "offset": blocks - 1, "limit": 1});
    let last = device.call(TOOL, last).unwrap();
    assert!(last.data["content"].as_str().unwrap().ends_with("bGFzdA=="));
    assert_eq!((last.data["lines"].clone(), last.truncated), (json!(1), false));
    std::fs::remove_file(device.at("files/huge")).unwrap();
}

#[test]
fn a_file_that_grows_is_read_in_part() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let device = Device::new();
    device.put("files/log", "first\n");
    let mut log = std::fs::OpenOptions::new().append(true).open(device.at("files/log")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let more = "more\n".repeat(10_000);
            while !done.load(Ordering::Relaxed) && log.metadata().unwrap().len() < 10_000_000 {
                log.write_all(more.as_bytes()).unwrap();
            }
        });
        for encoding in ["utf-8", "base64"].repeat(3) {
            let arguments = json!({"path": "log", "limit": 1, "encoding": encoding});
            let data = device.call(TOOL, arguments).unwrap().data;
            let content = data["content"].as_str().unwrap();
            assert!(content == "first\n" || content.starts_with("Zmlyc3QK"), "{content:.20}");
            assert!(content.len() <= 4096 * 4 / 3 + 4);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn base64_counts_blocks() {
    let device = Device::new();
    device.put("files/a.bin", vec![7; 4096 * 300 + 1]);
    let read = |offset: u64, limit: u64| {
        let arguments =
            json!({"path": "a.bin", "encoding": "base64", "offset": offset, "limit": limit});
        let data = device.data(TOOL, arguments);
        (
            data["lines"].as_u64().unwrap(),
            data["truncated"].as_bool().unwrap(),
            data["total_lines"].as_u64().unwrap(),
        )
    };
    assert_eq!(read(0, 1), (1, true, 301));
    assert_eq!(read(0, 100_000), (192, true, 301));
    assert_eq!(read(300, 5), (1, false, 301));
    assert_eq!(read(u64::MAX, 5), (0, false, 301));
}

#[test]
fn what_is_not_there_is_told_with_what_is_near() {
    let device = Device::new();
    device.put("files/notes/today.md", "");
    device.put("files/notes/.env", "");
    let error = device.error(TOOL, json!({"path": "notes/todya.md"}));
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestions(), [device.text("files/notes/today.md")]);
    let error = device.error(TOOL, json!({"path": "nots/today.md"}));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    assert_eq!(
        error.suggestions(),
        [device.text("files/notes/today.md"), device.text("files/notes")]
    );
    assert_eq!(device.refused(TOOL, json!({"path": "notes"})), ErrorCode::PreconditionFailed);
    let below = json!({"path": "notes/today.md/x"});
    assert_eq!(device.refused(TOOL, below), ErrorCode::PreconditionFailed);
    for limit in [0, 100_001] {
        let arguments = json!({"path": "notes/today.md", "limit": limit});
        assert_eq!(device.refused(TOOL, arguments), ErrorCode::InvalidArgument);
    }
}

#[test]
fn it_stays_inside() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({}));
}

#[cfg(unix)]
#[test]
fn special_files_are_never_opened() {
    let device = Device::new();
    let pipe = device.at("files/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(device.at("files/socket")).unwrap();
    device.link("files/zero", "/dev/zero");
    device.link("files/to-pipe", "pipe");
    for (name, code) in [
        ("pipe", ErrorCode::NotSupported),
        ("socket", ErrorCode::NotSupported),
        ("to-pipe", ErrorCode::NotSupported),
        ("zero", ErrorCode::PathNotAllowed),
    ] {
        assert_eq!(device.call(TOOL, json!({"path": name})).unwrap_err().code, code, "{name}");
        let write = json!({"path": name, "content": "x"});
        assert_eq!(device.call("write_file", write).unwrap_err().code, code, "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_turns_into_a_link_and_back_never_leads_out() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let device = Device::new();
    device.put("files/d/secret.txt", "harmless");
    device.link("files/leaving", "../outside");
    let (one, other) = (device.at("files/d"), device.at("files/leaving"));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for _ in 0..300 {
            let read = device.call(TOOL, json!({"path": "d/secret.txt"}));
            let text = read.map(|outcome| outcome.data["content"].clone());
            let code = text.as_ref().map_err(|error| error.code);
            // A folder that turns at each of forty looks counts as a loop of links.
            let is_refused = matches!(
                code,
                Err(ErrorCode::PathNotAllowed
                    | ErrorCode::FileNotFound
                    | ErrorCode::PreconditionFailed)
            );
            let is_inside = code.is_ok_and(|content| *content == json!("harmless"));
            if !is_refused && !is_inside {
                done.store(true, Ordering::Relaxed);
                panic!("{text:?}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn the_summary_counts_lines_from_one() {
    let range = |units, total, before| {
        let content = String::new();
        super::Part { content, units, total, truncated: false, replaced: false }
            .range("line", before)
    };
    assert_eq!(range(1, Some(1), 0), "line 1 of 1");
    assert_eq!(range(3, Some(9), 2), "lines 3 to 5 of 9");
    assert_eq!(range(200, None, 0), "lines 1 to 200");
    assert_eq!(range(0, Some(4), 4), "no lines");
}
