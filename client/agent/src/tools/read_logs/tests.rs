//! Log files of a device.

use orion_catalog::tools::read_logs::Returns;
use orion_domain::{Access, ErrorCode};
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "read_logs";

fn read(device: &Device, arguments: Value) -> (Vec<String>, bool) {
    let returns: Returns = serde_json::from_value(device.data(TOOL, arguments)).unwrap();
    assert_eq!(returns.count, returns.lines.len() as u64);
    assert!(returns.lines.iter().all(|line| line.time.is_none() && line.priority.is_none()));
    (returns.lines.into_iter().map(|line| line.text).collect(), returns.truncated)
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

#[test]
fn the_last_lines_of_a_file_are_read() {
    let device = Device::new();
    device.put("files/app.log", "one\r\ntwo\n\nfour");
    let all = read(&device, json!({"path": "app.log"}));
    assert_eq!(all, (owned(&["one", "two", "", "four"]), false));
    let some = read(&device, json!({"path": "app.log", "lines": 2}));
    assert_eq!(some, (owned(&["", "four"]), true));
    let exact = read(&device, json!({"path": "app.log", "lines": 4}));
    assert_eq!((exact.0.len(), exact.1), (4, false));
    let found = read(&device, json!({"path": "app.log", "grep": "(?i)^T|o$"}));
    assert_eq!(found, (owned(&["two"]), false));
    for (content, lines) in
        [("", &[][..]), ("\n", &[""]), ("\n\n", &["", ""]), ("a", &["a"]), ("a\n", &["a"])]
    {
        device.put("files/small.log", content);
        assert_eq!(
            read(&device, json!({"path": "small.log"})),
            (owned(lines), false),
            "{content:?}"
        );
    }
}

#[test]
fn lines_are_found_across_blocks_and_long_ones_are_cut() {
    let device = Device::new();
    // Lines of every length up to more than two blocks.
    let lengths = [0, 1, 4095, 4096, 4097, 65_534, 65_535, 65_536, 65_537, 140_000, 3];
    let line = |length: &usize| {
        let mut line = format!("{length}:");
        line.extend(std::iter::repeat_n('x', *length));
        line
    };
    let lines: Vec<String> = lengths.iter().map(line).collect();
    device.put("files/app.log", lines.join("\n"));
    let (read, truncated) = read(&device, json!({"path": "app.log"}));
    let cut: Vec<String> = lines.iter().map(|it| it.chars().take(4096).collect()).collect();
    assert_eq!((read, truncated), (cut, true));
}

#[test]
fn of_a_large_file_the_end_is_read_and_no_more() {
    let device = Device::new();
    let file = std::fs::File::create(device.at("files/large.log")).unwrap();
    // A file with a hole, which nothing but its end is read of.
    std::os::unix::fs::FileExt::write_all_at(&file, b"\nlast\n", 1 << 40).unwrap();
    let last = read(&device, json!({"path": "large.log", "lines": 1}));
    assert_eq!(last, (owned(&["last"]), true));
    let searched = read(&device, json!({"path": "large.log", "grep": "nowhere"}));
    assert_eq!(searched, (Vec::new(), true));
}

#[test]
fn a_path_is_held_like_that_of_every_file_tool() {
    let device = Device::new();
    device.assert_unchanged(TOOL, "path", &json!({}));
    assert_eq!(device.refused(TOOL, json!({"path": "none.log"})), ErrorCode::FileNotFound);
    assert_eq!(device.refused(TOOL, json!({"path": "a/b.log"})), ErrorCode::DirectoryNotFound);
    assert_eq!(device.refused(TOOL, json!({"path": "."})), ErrorCode::PreconditionFailed);
    device.put("files/app.log", "a\n");
    let wrong = json!({"path": "app.log", "grep": "(a"});
    assert_eq!(device.refused(TOOL, wrong), ErrorCode::InvalidArgument);
    let unread = Device::granting(&[("files", &[Access::Write])]);
    unread.put("files/app.log", "a\n");
    assert_eq!(unread.refused(TOOL, json!({"path": "app.log"})), ErrorCode::PathNotAllowed);
}
