//! What an admin granted on request: for one person, one tool and one path, on the disk too.

use orion_domain::grants::PathGrant;
use orion_domain::{Access, TemporaryGrant};

use super::*;
use crate::roots::Roots;
use crate::tools::testing::{Device, Outcome};

fn granted(device: &Device, tool: &str, path: &str, access: Access) -> DevicePolicy {
    let mut grant = TemporaryGrant::new(
        "r1".to_owned(),
        "ann".parse().unwrap(),
        tool.to_owned(),
        now_ms() + 60_000,
    );
    grant.paths.push(PathGrant { path: device.text(path), access: [access].into() });
    let grants = grants(&[&device.text("files/mine")]);
    DevicePolicy { grants, temporary: vec![grant], ..DevicePolicy::default() }
}

/// Admits the call and runs it in the folders of its policy.
fn run(
    device: &mut Device,
    policy: &DevicePolicy,
    (tool, arguments): (&str, Value),
    user: &str,
) -> Result<Outcome, ToolError> {
    let guard = guard_with(&grants(&[&device.text("files")]), policy);
    let mut asked = call(tool, arguments.clone());
    asked.caller.user = user.parse().unwrap();
    let admitted = guard.admit(&asked, |_| false).map_err(|error| *error)?;
    let policy = admitted.widened.as_deref().unwrap_or(guard.policy());
    let roots = Roots::open(policy.ceiling.as_ref().unwrap(), &policy.grants, &[]);
    device.roots = roots.of_call(admitted.verdict);
    device.call(tool, arguments)
}

fn device() -> Device {
    let device = Device::new();
    for name in ["mine/a.txt", "theirs/b.txt", "theirs/c.txt", "theirs/in/d.txt"] {
        device.put(&format!("files/{name}"), "text");
    }
    device.link("files/theirs/link.txt", "c.txt");
    device.link("files/theirs/in/out.txt", "../c.txt");
    device
}

fn read(device: &Device, path: &str) -> (&'static str, Value) {
    ("read_file", json!({"path": device.text(path)}))
}

#[test]
fn one_file_is_read_by_the_one_person_and_nothing_beside_it() {
    let mut device = device();
    let policy = granted(&device, "read_file", "files/theirs/b.txt", Access::Read);
    let (wanted, beside) =
        (read(&device, "files/theirs/b.txt"), read(&device, "files/theirs/c.txt"));
    assert!(run(&mut device, &policy, wanted.clone(), "ann").is_ok());
    for (call, user) in [(wanted, "bob"), (beside, "ann")] {
        let error = run(&mut device, &policy, call, user).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error:?}");
    }
    let list = ("list_directory", json!({"path": device.text("files/theirs")}));
    assert_eq!(run(&mut device, &policy, list, "ann").unwrap_err().code, ErrorCode::PathNotAllowed);
    let own = read(&device, "files/mine/a.txt");
    assert!(run(&mut device, &policy, own, "ann").is_ok());
}

#[test]
fn no_link_leads_from_what_was_granted_to_something_else() {
    let mut device = device();
    let link = granted(&device, "read_file", "files/theirs/link.txt", Access::Read);
    let call = read(&device, "files/theirs/link.txt");
    assert_eq!(run(&mut device, &link, call, "ann").unwrap_err().code, ErrorCode::PathNotAllowed);
    let folder = granted(&device, "read_file", "files/theirs/in", Access::Read);
    let inside = read(&device, "files/theirs/in/d.txt");
    assert!(run(&mut device, &folder, inside, "ann").is_ok());
    let call = read(&device, "files/theirs/in/out.txt");
    assert_eq!(run(&mut device, &folder, call, "ann").unwrap_err().code, ErrorCode::PathNotAllowed);
}

#[test]
fn a_missing_name_is_not_answered_with_its_neighbours() {
    let mut device = device();
    let policy = granted(&device, "read_file", "files/theirs/x.txt", Access::Read);
    let call = read(&device, "files/theirs/x.txt");
    let error = run(&mut device, &policy, call, "ann").unwrap_err();
    assert_eq!(error.code, ErrorCode::FileNotFound);
    assert!(!format!("{error:?}").contains("c.txt"), "{error:?}");
}

#[test]
fn a_new_file_is_written_and_a_folder_deleted_alone() {
    let mut device = device();
    let policy = granted(&device, "write_file", "files/theirs/new.txt", Access::Write);
    let write = |device: &Device, name: &str| {
        let path = device.text(&format!("files/theirs/{name}"));
        ("write_file", json!({"path": path, "content": "new"}))
    };
    let (new, beside) = (write(&device, "new.txt"), write(&device, "b.txt"));
    assert!(run(&mut device, &policy, new, "ann").is_ok());
    assert_eq!(std::fs::read_to_string(device.at("files/theirs/new.txt")).unwrap(), "new");
    assert!(run(&mut device, &policy, beside, "ann").is_err());
    assert_eq!(std::fs::read_to_string(device.at("files/theirs/b.txt")).unwrap(), "text");
}

#[test]
fn the_ceiling_and_the_end_hold_on_the_device() {
    let device = device();
    let mut policy = granted(&device, "read_file", "files/theirs/b.txt", Access::Read);
    let (tool, arguments) = read(&device, "files/theirs/b.txt");
    let narrow = guard_with(&grants(&[&device.text("files/mine")]), &policy);
    assert_eq!(code(&narrow, &call(tool, arguments.clone())), ErrorCode::PathNotAllowed);
    policy.temporary[0].expires_at = now_ms() - 1;
    let late = guard_with(&grants(&[&device.text("files")]), &policy);
    assert_eq!(code(&late, &call(tool, arguments)), ErrorCode::PathNotAllowed);
}
