//! `modify_config` on real files.

use orion_domain::{Access, ErrorCode};
use rstest::rstest;
use serde_json::{Value, json};

use crate::tools::testing::Device;

const TOOL: &str = "modify_config";

fn modify(path: &str, changes: &Value) -> Value {
    json!({"path": path, "changes": changes, "confirm": true})
}

fn set(line: u64, old: &str, new: &str) -> Value {
    json!([{"line": line, "old": old, "new": new}])
}

fn read(device: &Device, name: &str) -> String {
    std::fs::read_to_string(device.at(&format!("files/{name}"))).unwrap()
}

#[test]
fn it_changes_lines_and_keeps_what_was_before() {
    let device = Device::new();
    device.put("files/a.toml", "# ports\nport = 80 # http\n\n[x]\na = 1\n");
    let changes = set(2, "port = 80 # http", "port = 8080 # http");
    let path = device.text("files/a.toml");
    let diff = format!(
        "--- {path}\n+++ {path}\n@@ -1,5 +1,5 @@\n # ports\n-port = 80 # http\n+port = 8080 # http\n \n [x]\n a = 1\n"
    );
    let dry = device.dry(TOOL, modify("a.toml", &changes)).unwrap().data;
    assert_eq!(dry, json!({"path": path, "format": "toml", "diff": diff, "backup_path": null}));
    let mut data = device.data(TOOL, modify("a.toml", &changes));
    let backup = data["backup_path"].take();
    assert_eq!(data, dry);
    assert_eq!(read(&device, "a.toml"), "# ports\nport = 8080 # http\n\n[x]\na = 1\n");
    let kept = std::fs::read_to_string(backup.as_str().unwrap()).unwrap();
    assert_eq!(kept, "# ports\nport = 80 # http\n\n[x]\na = 1\n");
    assert_eq!(device.litter(), Vec::<String>::new());
    device.undo(&[&path]).unwrap();
    assert_eq!(read(&device, "a.toml"), kept);
}

#[rstest]
#[case("a.toml", "# one\n\na = 1   # two\n\n[b] # three\nc = [1,2]  # four\n", 3, "a = 2")]
#[case("a.yaml", "# one\n\na:   1 # two\nb:\n    - x # three\n\n# four\n", 3, "a: 2")]
#[case("a.json", "{\n\n   \"a\" :1,\n\t\"b\": [ ]\n}\n\n", 3, "\"a\": 2,")]
#[case("a.ini", "; one\n[s]\n a = 1 ; two\n\n# three\n[t]\nb:2", 3, "a = 2")]
#[case("example.env", "# one\nexport B='x # y'\nA=1 # two\n\nC=\"z\"\n", 3, "A=2")]
#[case("notes.txt", "one\r\ntwo\r\nthree\r\n\r\nfour", 3, "3")]
fn every_byte_outside_the_line_stays(
    #[case] name: &str,
    #[case] text: &str,
    #[case] line: usize,
    #[case] new: &str,
) {
    let device = Device::new();
    for (mark, text) in [("", text.to_owned()), ("\u{feff}", text.to_owned()), ("", crlf(text))] {
        let text = format!("{mark}{text}");
        device.put(&format!("files/{name}"), &text);
        let lines: Vec<_> = text.split_inclusive('\n').collect();
        let end = if lines[line - 1].ends_with("\r\n") { "\r\n" } else { "\n" };
        let old = lines[line - 1].strip_suffix(end).unwrap();
        device.call(TOOL, modify(name, &set(line as u64, old, new))).unwrap();
        let mut expected: Vec<String> = lines.iter().map(ToString::to_string).collect();
        expected[line - 1] = format!("{new}{end}");
        assert_eq!(read(&device, name), expected.concat());
    }
}

fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

#[test]
fn a_result_that_cannot_be_read_is_refused() {
    let device = Device::new();
    device.put("files/a.toml", "a = 1\n");
    let error = device.error(TOOL, modify("a.toml", &set(1, "a = 1", "a = = 1")));
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert!(error.details["problem"].as_str().unwrap().starts_with("Line 1, column 5: "));
    device.put("files/b.json", "{?\n?}\n");
    let note = "It could not be read as its format before, and cannot after.";
    let outcome = device.call(TOOL, modify("b.json", &set(1, "{?", "{"))).unwrap();
    assert!(outcome.message.ends_with(note), "{}", outcome.message);
    let outcome = device.call(TOOL, modify("b.json", &set(2, "?}", "}"))).unwrap();
    assert!(!outcome.message.contains(note), "{}", outcome.message);
}

#[test]
fn the_message_says_how_many_lines_stand_in_the_place_of_how_many() {
    let device = Device::new();
    device.put("files/a.ini", "a=1\nb=2\nc=3\n");
    for (changes, message) in [
        (json!([{"line": 1, "old": "a=1", "new": "a=2"}]), "Changed PATH at 1 line."),
        (
            json!([{"line": 1, "old": "a=2", "new": "a=3\nevil=1\nd=4"}, {"line": 3, "old": "c=3", "new": null}]),
            "Put 3 lines in the place of 2 lines of PATH.",
        ),
        (json!([{"line": 2, "old": "evil=1", "new": null}]), "Took 1 line out of PATH."),
    ] {
        let outcome = device.call(TOOL, modify("a.ini", &changes)).unwrap();
        let path = outcome.data["path"].as_str().unwrap();
        assert_eq!(outcome.message.replace(path, "PATH"), message);
    }
}

#[test]
fn all_changes_are_made_or_none() {
    let device = Device::new();
    device.put("files/a.ini", "a=1\nb=2\n");
    let changes =
        json!([{"line": 1, "old": "a=1", "new": "a=2"}, {"line": 2, "old": "b=1", "new": null}]);
    let error = device.error(TOOL, modify("a.ini", &changes));
    assert_eq!(
        (error.code, &error.details["found"]),
        (ErrorCode::PreconditionFailed, &json!("b=2"))
    );
    for changes in [json!([]), json!(vec![json!({"line": 1, "old": "a=1", "new": null}); 101])] {
        assert_eq!(device.refused(TOOL, modify("a.ini", &changes)), ErrorCode::InvalidArgument);
    }
    let forgotten = json!([{"line": 1, "old": "a=1"}]);
    assert_eq!(device.refused(TOOL, modify("a.ini", &forgotten)), ErrorCode::InvalidArgument);
    let unsure = json!({"path": "a.ini", "changes": set(1, "a=1", "a=2")});
    assert_eq!(device.refused(TOOL, unsure), ErrorCode::ConfirmationRequired);
    let large = set(1, "a=1", &"x".repeat(1024 * 1024));
    assert_eq!(device.refused(TOOL, modify("a.ini", &large)), ErrorCode::ResourceExhausted);
    let same = device.call(TOOL, modify("a.ini", &set(1, "a=1", "a=1"))).unwrap();
    assert_eq!((&same.data["diff"], &same.data["backup_path"]), (&json!(""), &json!(null)));
}

#[test]
fn what_is_no_text_and_what_is_not_there_stays() {
    let device = Device::new();
    device.put("files/a.ini", b"a=\xff\n");
    let changes = set(1, "a", "b");
    assert_eq!(device.refused(TOOL, modify("a.ini", &changes)), ErrorCode::PreconditionFailed);
    assert_eq!(device.refused(TOOL, modify("none.ini", &changes)), ErrorCode::FileNotFound);
    assert_eq!(device.refused(TOOL, modify(".", &changes)), ErrorCode::PreconditionFailed);
}

#[test]
fn it_stays_inside() {
    let more = json!({"changes": set(1, "a", "b"), "confirm": true});
    Device::new().assert_unchanged(TOOL, "path", &more);
    let device = Device::granting(&[("files", &[Access::Read])]);
    device.put("files/a.ini", "a\n");
    assert_eq!(device.refused(TOOL, modify("a.ini", &set(1, "a", "b"))), ErrorCode::PathNotAllowed);
}

#[cfg(unix)]
#[test]
fn mode_stays_and_other_names_are_refused() {
    use std::os::unix::fs::PermissionsExt;

    let device = Device::new();
    device.put("files/a.ini", "a=1\n");
    let secret = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(device.at("files/a.ini"), secret).unwrap();
    device.link("files/link.ini", "a.ini");
    device.call(TOOL, modify("link.ini", &set(1, "a=1", "a=2"))).unwrap();
    assert_eq!(read(&device, "a.ini"), "a=2\n");
    let mode = std::fs::metadata(device.at("files/a.ini")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(std::fs::symlink_metadata(device.at("files/link.ini")).unwrap().is_symlink());
    std::fs::hard_link(device.at("outside/secret.txt"), device.at("files/twin")).unwrap();
    let error = device.error(TOOL, modify("twin", &set(1, "secret", "x")));
    assert_eq!(error.details["rule"], json!("device: hard links"));
}
