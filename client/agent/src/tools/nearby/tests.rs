//! Suggestions for what is not there.

use orion_domain::{Access, ErrorCode};
use serde_json::json;

use crate::tools::testing::{ALL, Device};

#[test]
fn a_name_is_found_elsewhere_in_the_same_allowed_path() {
    let device = Device::new();
    for name in ["x/y/z/Plan.txt", "x/plan.txt", "1/2/3/4/plan.txt", "x/.ssh/plan.txt"] {
        device.put(&format!("files/{name}"), "");
    }
    device.folder("files/w/plan.txt");
    let error = device.error("read_file", json!({"path": "a/plan.txt"}));
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    let told = ["w/plan.txt", "x/plan.txt", "x/y/z/Plan.txt"];
    let told = told.map(|name| device.text(&format!("files/{name}")));
    // Those beside the place come first, and are told once.
    assert_eq!(error.suggestions, told);
    device.folder("files/a/b");
    let error = device.error("read_file", json!({"path": "a/b/plan.txt"}));
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestions, told[1..]);
    let error = device.error("list_directory", json!({"path": "a/b/y"}));
    assert_eq!(error.suggestions, [device.text("files/x/y")]);
}

#[test]
fn no_more_than_five_are_told_and_the_nearest_to_the_top_first() {
    let device = Device::new();
    for number in 0..9 {
        device.put(&format!("files/{number}/{number}/plan.txt"), "");
    }
    device.put("files/9/plan.txt", "");
    device.folder("files/deep/er");
    let error = device.error("read_file", json!({"path": "deep/er/plan.txt"}));
    let told = ["9/", "0/0/", "1/1/", "2/2/", "3/3/"];
    assert_eq!(error.suggestions, told.map(|at| device.text(&format!("files/{at}plan.txt"))));
}

#[test]
fn nothing_is_told_of_what_may_not_be_read() {
    let device = Device::granting(&[("files", &[Access::Write]), ("outside", ALL)]);
    device.put("files/x/plan.txt", "");
    device.put("files/a/x", "");
    let error = device.error("delete_directory", json!({"path": device.text("files/a/plan.txt")}));
    assert_eq!(error.suggestions, [""; 0]);
    let error = device.error(
        "write_file",
        json!({"path": device.text("files/no/plan.txt"), "content": "", "create_dirs": false}),
    );
    assert_eq!((error.code, error.suggestions.len()), (ErrorCode::DirectoryNotFound, 0));
}
