//! `analyze_disk` on a real folder.

use serde_json::{Value, json};

use crate::tools::testing::{ALL, Device};

const TOOL: &str = "analyze_disk";

fn large(device: &Device, items: &Value) -> Vec<(String, u64)> {
    let root = device.text("files/");
    let one = |it: &Value| {
        let path = it["path"].as_str().unwrap().replace(&root, "");
        (path, it["size_bytes"].as_u64().unwrap())
    };
    items.as_array().unwrap().iter().map(one).collect()
}

fn item(name: &str, size: u64) -> (String, u64) {
    (name.to_owned(), size)
}

#[test]
fn folders_hold_what_is_below_them() {
    let device = Device::new();
    for (name, size) in [("a/x", 30), ("a/b/y", 500), ("a/b/c/z", 20), ("d/w", 100), ("top", 7)] {
        device.put(&format!("files/{name}"), vec![0; size]);
    }
    device.folder("files/e");
    let outcome = device.call(TOOL, json!({"threshold_mb": 0})).unwrap();
    let data = outcome.data;
    let folders =
        [item("a", 550), item("a/b", 520), item("d", 100), item("a/b/c", 20), item("e", 0)];
    assert_eq!(large(&device, &data["directories"]), folders);
    let files = [
        item("a/b/y", 500),
        item("d/w", 100),
        item("a/x", 30),
        item("a/b/c/z", 20),
        item("top", 7),
    ];
    assert_eq!(large(&device, &data["files"]), files);
    assert_eq!(data["total_bytes"], json!(657));
    assert_eq!((data["entries"].clone(), data["truncated"].clone()), (json!(10), json!(false)));
    device.dry(TOOL, json!({})).unwrap();
}

#[test]
fn what_is_smaller_than_the_threshold_is_counted_and_not_told() {
    let device = Device::new();
    device.put("files/a/small", vec![0; 1000]);
    device.put("files/b/large", "");
    let file = std::fs::OpenOptions::new().write(true).open(device.at("files/b/large")).unwrap();
    file.set_len(3 * 1024 * 1024).unwrap();
    let data = device.data(TOOL, json!({"threshold_mb": 3}));
    assert_eq!(large(&device, &data["directories"]), [item("b", 3 * 1024 * 1024)]);
    assert_eq!(large(&device, &data["files"]), [item("b/large", 3 * 1024 * 1024)]);
    assert_eq!(data["total_bytes"], json!(3 * 1024 * 1024 + 1000));
    let none = device.data(TOOL, json!({"threshold_mb": u64::MAX}));
    assert_eq!((&none["directories"], &none["files"]), (&json!([]), &json!([])));
}

#[test]
fn twenty_are_told_the_largest_first_and_then_by_path() {
    let device = Device::new();
    for number in 0..300 {
        device.put(&format!("files/{number:03}/f"), vec![0; 1000 + number / 100]);
    }
    let data = device.data(TOOL, json!({"threshold_mb": 0}));
    let files: Vec<_> = (200..220).map(|number| item(&format!("{number}/f"), 1002)).collect();
    assert_eq!(large(&device, &data["files"]), files);
    let folders: Vec<_> = (200..220).map(|number| item(&number.to_string(), 1002)).collect();
    assert_eq!(large(&device, &data["directories"]), folders);
    assert_eq!(data["total_bytes"], json!(300_300));
}

#[test]
fn what_is_kept_out_is_not_counted() {
    let device = Device::new();
    for name in [".ssh/id", ".env", "a/.env", ".orion-trash/x"] {
        device.put(&format!("files/{name}"), vec![0; 100]);
    }
    let data = device.data(TOOL, json!({"threshold_mb": 0}));
    assert_eq!((&data["total_bytes"], &data["entries"]), (&json!(0), &json!(1)));
    assert_eq!(large(&device, &data["directories"]), [item("a", 0)]);
}

#[test]
fn it_stays_inside() {
    let device = Device::granting(&[("files", ALL)]);
    device.assert_unchanged(TOOL, "path", &json!({}));
}

#[cfg(unix)]
#[test]
fn links_and_special_files_take_no_room() {
    let device = Device::new();
    device.put("files/a", vec![0; 50]);
    device.link("files/out", device.at("outside"));
    device.link("files/loop", ".");
    let pipe = device.at("files/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    let data = device.data(TOOL, json!({"threshold_mb": 0}));
    assert_eq!((&data["total_bytes"], &data["entries"]), (&json!(50), &json!(1)));
}
