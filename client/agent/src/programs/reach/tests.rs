//! Which rights a program gets on which folders.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use super::*;
use crate::tools::testing::{ALL, Device};

/// Returns the rights that a program gets on what is at a path itself.
fn rights_on(reached: &Reached, path: &Path) -> Vec<Rights> {
    let wanted = std::fs::metadata(path).unwrap();
    let is_it = |handle: &OwnedFd| {
        let found = rustix::fs::fstat(handle).unwrap();
        (found.st_dev, found.st_ino) == (wanted.dev(), wanted.ino())
    };
    let granted = reached.granted.iter().filter(|(handle, _)| is_it(handle));
    granted.map(|(_, rights)| *rights).collect()
}

fn reached(
    device: &Device,
    paths: &[(&str, Access)],
    how: Use,
    risk: &RiskGate,
) -> Result<Reached, ToolError> {
    let path = |name: &str| orion_catalog::tools::path(&device.places, &device.text(name)).unwrap();
    let paths: Vec<_> = paths.iter().map(|(name, access)| (path(name), *access)).collect();
    device.with_context(|context| {
        reach(&Programs::default(), &context.common, risk, (&path("files"), &paths), how)
    })
}

#[test]
fn a_folder_that_is_only_read_gets_no_other_right_whatever_the_program_does() {
    let device = Device::granting(&[("files", ALL), ("kept", &[Access::Read])]);
    device.folder("kept");
    for how in [Use::Read, Use::Change, Use::Code] {
        let reached = reached(&device, &[("kept", Access::Read)], how, &RiskGate::default());
        let reached = reached.unwrap();
        assert_eq!(rights_on(&reached, &device.at("kept")), [Rights::Read], "{how:?}");
        assert_eq!(rights_on(&reached, &device.at("files")), [how.rights(true)], "{how:?}");
    }
    let kept = reached(&device, &[("kept", Access::Write)], Use::Code, &RiskGate::default());
    assert_eq!(kept.unwrap_err().code, ErrorCode::PathNotAllowed);
}

#[test]
fn without_a_grant_to_delete_a_program_deletes_nothing() {
    let device = Device::granting(&[("files", &[Access::Read, Access::Write])]);
    for (how, rights) in [
        (Use::Change, Rights::Write),
        (Use::Code, Rights::WriteAndExecute),
        (Use::Read, Rights::Read),
    ] {
        let reached = reached(&device, &[], how, &RiskGate::default()).unwrap();
        assert_eq!(rights_on(&reached, &device.at("files")), [rights]);
    }
}

#[test]
fn what_is_denied_at_any_depth_is_kept_from_a_program_that_reads_and_shown_for_one_that_writes() {
    let device = Device::new();
    device.put("files/a/b/.env", "SECRET=1");
    device.put("files/a/b/open.txt", "open");
    device.put("files/a/other/open.txt", "open");
    let reading = reached(&device, &[], Use::Read, &RiskGate::default()).unwrap();
    for (name, rights) in [
        ("files", &[Rights::List][..]),
        ("files/a", &[Rights::List]),
        ("files/a/b", &[Rights::List]),
        ("files/a/b/open.txt", &[Rights::Read]),
        ("files/a/other", &[Rights::Read]),
        ("files/a/b/.env", &[]),
    ] {
        assert_eq!(rights_on(&reading, &device.at(name)), rights, "{name}");
    }
    for how in [Use::Change, Use::Code] {
        let error = reached(&device, &[], how, &RiskGate::default()).unwrap_err();
        assert_eq!(error.code, ErrorCode::ApprovalRequired);
        assert!(error.message.contains(".env"), "{error}");
    }
    // What others wrote into a project's packages stops no build.
    std::fs::remove_file(device.at("files/a/b/.env")).unwrap();
    device.put("files/node_modules/x/.env", "EXAMPLE=1");
    assert!(reached(&device, &[], Use::Code, &RiskGate::default()).is_ok());
    let error = reached(&device, &[], Use::Change, &RiskGate::default()).unwrap_err();
    assert_eq!(error.code, ErrorCode::ApprovalRequired);
}

#[test]
fn what_is_denied_in_code_is_kept_from_the_program_at_any_depth() {
    let device = Device::new();
    device.put("lib/a/open.js", "open");
    device.put("lib/a/b/keys/.env", "SECRET=1");
    device.put("lib/a/.ssh/id_rsa", "SECRET");
    let reached = |name: &str| {
        let real = std::fs::canonicalize(device.at(name)).unwrap();
        let handle = crate::programs::handle(&real).unwrap();
        let real = orion_catalog::tools::path(&device.places, real.to_str().unwrap()).unwrap();
        let folder = orion_catalog::tools::path(&device.places, ".").unwrap();
        device.with_context(|context| {
            let (programs, risk) = (Programs::default(), RiskGate::default());
            let code = vec![Code { handle, real }];
            reach_declared(&programs, context.roots, &risk, (&folder, &[]), code)
        })
    };
    let found = reached("lib").unwrap();
    for (name, rights) in [
        ("lib", &[Rights::List][..]),
        ("lib/a", &[Rights::List]),
        ("lib/a/open.js", &[Rights::Execute]),
        ("lib/a/b", &[Rights::List]),
        ("lib/a/b/keys", &[Rights::List]),
        ("lib/a/b/keys/.env", &[]),
        ("lib/a/.ssh", &[]),
    ] {
        assert_eq!(rights_on(&found, &device.at(name)), rights, "{name}");
    }
    assert_eq!(
        rights_on(&reached("lib/a/open.js").unwrap(), &device.at("lib/a/open.js")),
        [Rights::Execute]
    );
    // Code of which a part would be missing is not given at all.
    for number in 0..300 {
        device.put(&format!("lib/more/{number}.js"), "more");
    }
    device.put("lib/more/.env", "SECRET=1");
    let error = reached("lib").unwrap_err();
    assert_eq!(error.code, ErrorCode::ResourceExhausted);
    assert!(error.message.contains("which is denied"), "{error}");
    std::fs::remove_dir_all(device.at("lib/a")).unwrap();
    std::fs::remove_file(device.at("lib/more/.env")).unwrap();
    assert_eq!(rights_on(&reached("lib").unwrap(), &device.at("lib")), [Rights::Execute]);
}

#[test]
fn a_declared_path_that_starts_programs_raises_the_risk_also_by_a_link() {
    use std::os::unix::fs::PermissionsExt as _;
    let device = Device::new();
    device.put("files/plain.txt", "1");
    device.put("files/run.sh", "1");
    std::fs::set_permissions(device.at("files/run.sh"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    device.put("files/repo/HEAD", "ref: refs/heads/main");
    device.put("files/repo/config", "1");
    device.link("files/to_plain", "plain.txt");
    device.link("files/to_run", "run.sh");
    device.link("files/to_repo", "repo");
    let written = |name: &str, access: Access| {
        let path = |name: &str| {
            orion_catalog::tools::path(&device.places, &device.text(&format!("files/{name}")))
        };
        let paths = [(path(name).unwrap(), access)];
        device.with_context(|context| {
            let (programs, risk) = (Programs::default(), RiskGate::default());
            let folder = path("repo").unwrap();
            reach_declared(&programs, context.roots, &risk, (&folder, &paths), Vec::new())
                .map(drop)
                .map_err(|error| error.code)
        })
    };
    let asks = Err(ErrorCode::ApprovalRequired);
    for (name, expected) in [
        ("plain.txt", Ok(())),
        ("to_plain", Ok(())),
        ("new.txt", Ok(())),
        ("run.sh", asks),
        ("to_run", asks),
        ("repo/config", asks),
        ("to_repo/config", asks),
    ] {
        assert_eq!(written(name, Access::Write), expected, "{name}");
        assert_eq!(written(name, Access::Delete), expected, "{name}");
        assert_eq!(written(name, Access::Read), Ok(()), "{name}");
    }
}
