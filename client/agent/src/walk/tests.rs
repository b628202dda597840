//! No tool that walks a folder reveals a denied entry in it, at any depth.

use orion_domain::ErrorCode;
use rstest::rstest;
use serde_json::{Value, json};

use crate::tools::testing::Device;

/// Returns a folder with a file to find, and beside it entries denied by default and by an entry.
fn denied_device(kept_out_in: &str) -> Device {
    let device = Device::new();
    device.put("files/project/notes.txt", "needle");
    device.put(&format!("files/project/{kept_out_in}.netrc"), "needle");
    device.put(&format!("files/project/{kept_out_in}.ssh/config"), "needle");
    device
}

#[rstest]
#[case("list_directory", json!({"path": "project"}))]
#[case("list_directory", json!({"path": "project", "recursive": true}))]
#[case("search_directory", json!({"name": "ssh", "base": "project"}))]
#[case("search_files", json!({"query": "*", "path": "project"}))]
#[case("search_text", json!({"pattern": "needle", "path": "project"}))]
#[case("analyze_disk", json!({"path": "project"}))]
fn what_lists_tells_neither_its_name_nor_that_it_is_there(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[values("", "deep/")] kept_out_in: &str,
) {
    let device = denied_device(kept_out_in);
    let data = device.data(tool, arguments.clone());
    for name in [".netrc", ".ssh"] {
        std::fs::rename(
            device.at(&format!("files/project/{kept_out_in}{name}")),
            device.at(&format!("outside/{name}")),
        )
        .unwrap();
    }
    let without = device.data(tool, arguments);
    let timeless = |data: &Value| data.to_string().replace(|c: char| c.is_ascii_digit(), "");
    assert!(!data.to_string().contains("netrc") && !data.to_string().contains(".ssh"), "{data}");
    for counted in ["count", "total_bytes", "entries"] {
        assert!(data[counted].is_array() || data[counted] == without[counted], "{data}");
    }
    // A folder's modification time appears in digits.
    assert_eq!(timeless(&data), timeless(&without));
}

#[rstest]
#[case("delete_directory", json!({"path": "project", "recursive": true, "confirm": true}))]
#[case("copy_path", json!({"source": "project", "destination": "copy"}))]
#[case("move_path", json!({"source": "project", "destination": "moved"}))]
fn what_takes_a_folder_whole_says_only_that_it_stays(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[values("", "deep/")] kept_out_in: &str,
) {
    let device = denied_device(kept_out_in);
    let error = device.error(tool, arguments);
    assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error}");
    let said = serde_json::to_string(&(error.message, error.details, error.hints)).unwrap();
    for name in ["netrc", "ssh", "deep"] {
        assert!(!said.contains(name), "{said}");
    }
}
