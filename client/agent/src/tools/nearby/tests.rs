//! Suggestions for missing paths.

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
    let expected = ["w/plan.txt", "x/plan.txt", "x/y/z/Plan.txt"];
    let expected = expected.map(|name| device.text(&format!("files/{name}")));
    // Neighbours come first, and appear once.
    assert_eq!(error.suggestions(), expected);
    device.folder("files/a/b");
    let error = device.error("read_file", json!({"path": "a/b/plan.txt"}));
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert_eq!(error.suggestions(), &expected[1..]);
    let error = device.error("list_directory", json!({"path": "a/b/y"}));
    assert_eq!(error.suggestions(), [device.text("files/x/y")]);
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
    let expected = ["9/", "0/0/", "1/1/", "2/2/", "3/3/"];
    assert_eq!(error.suggestions(), expected.map(|at| device.text(&format!("files/{at}plan.txt"))));
}

#[test]
fn nothing_is_told_of_what_may_not_be_read() {
    let device = Device::granting(&[("files", &[Access::Write]), ("outside", ALL)]);
    device.put("files/x/plan.txt", "");
    device.put("files/a/x", "");
    let error = device.error("delete_directory", json!({"path": device.text("files/a/plan.txt")}));
    assert_eq!(error.suggestions(), [""; 0]);
    let error = device.error(
        "write_file",
        json!({"path": device.text("files/no/plan.txt"), "content": "", "create_dirs": false}),
    );
    assert_eq!((error.code, error.suggestions().len()), (ErrorCode::DirectoryNotFound, 0));
}

#[test]
fn names_with_nothing_but_their_extension_in_common_are_not_alike() {
    for (wanted, name) in [("x.txt", "a.txt"), ("milk.txt", "bread.txt"), ("a", "b")] {
        assert!(super::likeness(wanted, name) < super::ALIKE, "{wanted} {name}");
    }
    for (wanted, name) in
        [("nots.txt", "notes.txt"), ("notes.md", "notes.txt"), (".bashr", ".bashrc")]
    {
        assert!(super::likeness(wanted, name) >= super::ALIKE, "{wanted} {name}");
    }
}
