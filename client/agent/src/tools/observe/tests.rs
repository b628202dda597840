//! What is seen is the same as long as nothing changes, and a change is told by path.

use orion_domain::{Access, Touches};

use super::*;
use crate::tools::testing::{ALL, Device};

fn touching(device: &Device, paths: &[(&str, Access)]) -> Touches {
    paths.iter().fold(Touches::nothing(), |touches, (name, access)| {
        touches.and_path(DevicePath::resolve(&device.places, &device.text(name)).unwrap(), *access)
    })
}

fn see(device: &Device, touches: &Touches) -> Vec<Observation> {
    device.with_context(|context| observe(touches, true, context)).unwrap()
}

fn drift(device: &Device, touches: &Touches, before: &[Observation]) -> Option<String> {
    let expected = Expected { touches, before, deep: true };
    let error = device.with_context(|context| compare(&expected, context)).err()?;
    assert_eq!(error.code, ErrorCode::PreconditionFailed);
    assert_eq!(error.details["reason"], "drift");
    let path = error.details["attempted_path"].as_str().unwrap().to_owned();
    let changed = error.details["changed"].as_str().unwrap();
    Some(format!("{}: {changed}", path.replace(&device.text("files"), "")))
}

#[test]
fn what_changes_is_told_with_its_path_and_what_does_not_is_not() {
    let device = Device::new();
    device.put("files/a.txt", "12345");
    device.put("files/folder/x/b.txt", "12");
    let touches = touching(
        &device,
        &[
            ("files/a.txt", Access::Write),
            ("files/folder", Access::Delete),
            ("files/none.txt", Access::Write),
        ],
    );
    let before = see(&device, &touches);
    let kinds: Vec<_> = before.iter().map(|it| (it.kind, it.bytes)).collect();
    assert_eq!(kinds, [(Kind::File, 5), (Kind::Folder, 2), (Kind::Nothing, 0)]);
    assert_eq!(before[0].digest, Some(Digest::of(b"12345")));
    assert_eq!(drift(&device, &touches, &before), None);

    device.put("files/a.txt", "12345");
    assert_eq!(drift(&device, &touches, &before), None, "the same content again is no drift");
    device.put("files/a.txt", "54321");
    let told = drift(&device, &touches, &before);
    assert_eq!(told.unwrap(), "/a.txt: its content has changed, at the same size");
    assert_eq!(drift(&device, &touches, &before[1..]), None, "only what is compared can drift");
    device.put("files/a.txt", "12345");

    device.put("files/folder/x/c.txt", "");
    let told = drift(&device, &touches, &before);
    assert_eq!(told.unwrap(), "/folder: what is in it has changed, at the same size");
    std::fs::remove_file(device.at("files/folder/x/c.txt")).unwrap();
    assert_eq!(drift(&device, &touches, &before), None);

    device.put("files/none.txt", "");
    let told = drift(&device, &touches, &before);
    assert_eq!(told.unwrap(), "/none.txt: it was nothing and is a file");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_elsewhere_has_drifted_whatever_it_leads_to() {
    let device = Device::new();
    device.put("files/one/a.txt", "same");
    device.put("files/two/a.txt", "same");
    device.link("files/way", "one");
    let write = touching(&device, &[("files/way/a.txt", Access::Write)]);
    let delete = touching(&device, &[("files/way", Access::Delete)]);
    let (written, deleted) = (see(&device, &write), see(&device, &delete));
    assert_eq!(deleted[0].kind, Kind::Link);
    std::fs::remove_file(device.at("files/way")).unwrap();
    device.link("files/way", "two");
    assert!(drift(&device, &write, &written).unwrap().contains("leads to"));
    assert_eq!(drift(&device, &delete, &deleted).unwrap(), "/way: it leads elsewhere");
}

#[test]
fn nothing_outside_is_seen_and_nothing_is_hashed_that_may_not_be_read() {
    let device = Device::lending(&[("files", &[Access::Write, Access::Delete])]);
    device.put("files/a.txt", "secret");
    device.put("files/folder/a.txt", "secret");
    let touches =
        touching(&device, &[("files/a.txt", Access::Write), ("files/folder", Access::Delete)]);
    let seen = see(&device, &touches);
    assert!(seen.iter().all(|it| it.digest.is_none()), "{seen:?}");

    let device = Device::lending(&[("files", ALL)]);
    let outside = touching(&device, &[("outside/secret.txt", Access::Read)]);
    let error = device.with_context(|context| observe(&outside, true, context)).unwrap_err();
    assert_eq!(error.code, ErrorCode::PathNotAllowed);
}

#[test]
fn what_the_call_does_not_touch_cannot_be_compared() {
    let device = Device::new();
    device.put("files/a.txt", "1");
    device.put("files/b.txt", "1");
    let a = touching(&device, &[("files/a.txt", Access::Write)]);
    let b = touching(&device, &[("files/b.txt", Access::Write)]);
    let seen = see(&device, &b);
    let expected = Expected { touches: &a, before: &seen, deep: true };
    let error = device.with_context(|context| compare(&expected, context)).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_compared_by_what_may_be_seen_and_a_folder_not_at_all() {
    let device = Device::lending(&[("files", &[Access::Write, Access::Delete])]);
    device.link("files/way", "one");
    device.folder("files/folder");
    let link = touching(&device, &[("files/way", Access::Delete)]);
    let folder = touching(&device, &[("files/folder", Access::Delete)]);
    let (before, of_folder) = (see(&device, &link), see(&device, &folder));
    assert_ne!(before[0].digest, Some(Digest::of(b"one")));
    assert_eq!(drift(&device, &link, &before), None);
    std::fs::remove_file(device.at("files/way")).unwrap();
    device.link("files/way", "two");
    assert_eq!(drift(&device, &link, &before).unwrap(), "/way: it leads elsewhere");
    assert_eq!(of_folder[0].digest, None, "nothing of it can be compared");
}

#[test]
fn a_folder_that_holds_more_than_is_looked_at_has_no_digest() {
    let device = Device::new();
    device.folder("files/deep/a");
    let touches = touching(&device, &[("files/deep", Access::Delete)]);
    assert!(see(&device, &touches)[0].digest.is_some());
    device.folder(&format!("files/deep/{}", vec!["a"; 70].join("/")));
    device.put("files/deep/b.txt", "12345");
    let seen = see(&device, &touches);
    assert_eq!((seen[0].digest, seen[0].bytes), (None, 0));
}
