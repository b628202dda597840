//! Which names share one location.

use std::time::Duration;

use orion_domain::{DevicePath, ErrorCode};

use super::lock_paths;
use crate::coordination::HeldPaths;
use crate::tools::testing::Device;

fn path(device: &Device, name: &str) -> DevicePath {
    orion_catalog::tools::path(&device.places, name).unwrap()
}

/// Returns whether a call that changes `wanted` waits for a call that changes `held`.
fn waits(device: &mut Device, held: &str, wanted: &str) -> bool {
    device.time = Duration::from_secs(60);
    let (held, wanted) = (path(device, held), path(device, wanted));
    let _held: HeldPaths = device.with_context(|context| lock_paths(context, &[&held]).unwrap());
    device.time = Duration::from_millis(1);
    match device.with_context(|context| lock_paths(context, &[&wanted]).map(drop)) {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(error.code, ErrorCode::Timeout);
            true
        }
    }
}

#[cfg(unix)]
#[test]
fn all_names_of_one_place_take_turns_and_others_do_not() {
    let mut device = Device::new();
    device.put("files/real/a/x", "x");
    device.put("files/other", "y");
    device.link("files/folder", "real/a");
    device.link("files/file", "real/a/x");
    std::fs::hard_link(device.at("files/real/a/x"), device.at("files/hard")).unwrap();
    for (held, wanted, expected) in [
        ("real/a/x", "real/a/x", true),
        ("real/a/x", "folder/x", true),
        ("real/a/x", "file", true),
        ("real/a/x", "hard", true),
        ("real/a/x", "real/a/X", true),
        ("real/a", "folder/x", true),
        ("folder/x", "real", true),
        ("folder/new", "real/a/new", true),
        ("new/deep/er", "new", true),
        ("new", "new/deep/er", true),
        ("new/deep", "New/deep", true),
        ("folder", "real/a/x", true),
        ("real/a/x", "other", false),
        ("real/a/x", "real/a/y", false),
        ("real/b", "real/a/x", false),
        ("new/deep", "new/other", false),
    ] {
        assert_eq!(waits(&mut device, held, wanted), expected, "{held} {wanted}");
        assert_eq!(waits(&mut device, wanted, held), expected, "{wanted} {held}");
    }
}
