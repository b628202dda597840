//! What counts as code of a custom tool, and what calls could change of it.

use orion_domain::Access::{Read, Write};

use super::*;
use crate::call::RiskGate;
use crate::tools::testing::{ALL, Device};

const PROGRAM: &str = "#!/bin/sh\n";

/// A device that grants `files`, with a program beside it.
fn device() -> Device {
    use std::os::unix::fs::PermissionsExt as _;
    let device = Device::granting(&[("files", ALL), ("kept", &[Read])]);
    device.put("tools/run", PROGRAM);
    device.folder("kept");
    fs::set_permissions(device.at("tools/run"), fs::Permissions::from_mode(0o755)).unwrap();
    device
}

/// Returns why a program with these arguments is not started.
fn refusal(device: &Device, code: &[&str], fixed: &[&str], data: &[&str]) -> Option<ToolError> {
    let path = |name: &str| orion_catalog::tools::path(&device.places, &device.text(name)).unwrap();
    let text = |name: &&str| match name.split_once('@') {
        Some((before, name)) => format!("{before}{}", device.text(name)),
        None => (*name).to_owned(),
    };
    let (code, fixed): (Vec<String>, Vec<String>) =
        (code.iter().map(text).collect(), fixed.iter().map(text).collect());
    let data: Vec<DevicePath> = data.iter().map(|name| path(name)).collect();
    let wanted = Wanted {
        program: &device.text("tools/run"),
        arguments: &fixed,
        folder: &path("files"),
        paths: &[(path("files"), Write)],
        code: &code,
        fixed: &fixed.iter().map(String::as_str).collect::<Vec<_>>(),
        data: &data,
        environment: &[],
        connects: false,
    };
    let found = device.with_context(|context| {
        let risk = RiskGate::default();
        wanted.find(&Programs::default(), context.roots, &risk, &device.places)
    });
    found.err()
}

#[test]
fn a_file_that_a_fixed_argument_names_is_code_that_no_call_may_change() {
    let device = device();
    device.put("files/x.py", "print(1)");
    device.put("tools/y.py", "print(1)");
    device.link("tools/linked.py", device.at("files/x.py"));
    device.link("files/moving.py", device.at("tools/y.py"));
    device.link("tools/by_moving.py", device.at("files/moving.py"));
    for (fixed, names) in [
        (["-u", "@files/x.py"], "files/x.py"),
        (["-u", "x.py"], "files/x.py"),
        (["-u", "../files/./x.py"], "files/x.py"),
        (["-u", "--script=x.py"], "files/x.py"),
        (["-u", "-r@files/x.py"], "files/x.py"),
        (["-u", "--script=@files/x.py"], "files/x.py"),
        (["-u", "file://@files/x.py"], "files/x.py"),
        (["-u", "~/x.py"], "files/x.py"),
        (["-u", "@tools/linked.py"], "files/x.py"),
        // It leads to a file that no call may change, by a link that calls may replace.
        (["-u", "@files/moving.py"], "tools/y.py"),
        (["-u", "@tools/by_moving.py"], "tools/y.py"),
    ] {
        let error = refusal(&device, &[], &fixed, &[]).unwrap_or_else(|| panic!("{fixed:?}"));
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{error:?}");
        assert!(error.message.contains(&device.text(names)), "{fixed:?}: {}", error.message);
        assert!(error.hints.iter().any(|hint| hint.text.contains("under write")), "{error:?}");
    }
    for fixed in [
        ["-u", "@tools/y.py"],
        ["-u", "@tools/missing.py"],
        ["-u", "@files"],
        ["-u", ""],
        ["-u", "/dev/null"],
        ["-u", "/etc/passwd"],
    ] {
        assert_eq!(refusal(&device, &[], &fixed, &[]), None, "{fixed:?}");
    }
    // What the definition says that it changes is no code.
    assert_eq!(refusal(&device, &[], &["-u", "x.py"], &["files/x.py"]), None);
    assert!(refusal(&device, &[], &["-u", "x.py"], &["files"]).is_some());
}

#[test]
fn a_link_that_calls_may_replace_leads_to_no_program_and_to_no_code() {
    let device = device();
    device.put("tools/lib/a.js", "1");
    device.link("files/lib", device.at("tools/lib"));
    device.link("tools/by_files", device.at("files/lib"));
    for code in ["@files/lib", "@tools/by_files", "@tools/by_files/a.js"] {
        let error = refusal(&device, &[code], &[], &[]).unwrap_or_else(|| panic!("{code}"));
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{code}");
    }
    assert_eq!(refusal(&device, &["@tools/lib", "@tools/lib/a.js"], &[], &[]), None);
    let gone = refusal(&device, &["@tools/none"], &[], &[]).unwrap();
    assert_eq!(gone.code, ErrorCode::PathNotFound);

    device.link("files/run", device.at("tools/run"));
    device.link("tools/run_by_files", device.at("files/run"));
    device.with_context(|context| {
        let folder = orion_catalog::tools::path(&device.places, ".").unwrap();
        for (name, is_safe) in
            [("tools/run", true), ("files/run", false), ("tools/run_by_files", false)]
        {
            let found = program(&Programs::default(), &device.text(name), &folder, context.roots);
            assert_eq!(found.is_ok(), is_safe, "{name}");
        }
    });
}

#[test]
fn links_that_lead_around_are_no_code() {
    let device = device();
    device.link("tools/one", "two");
    device.link("tools/two", "one");
    assert!(steps(&device.at("tools/one")).is_err());
    let gone = refusal(&device, &["@tools/one"], &[], &[]).unwrap();
    assert_eq!(gone.code, ErrorCode::PathNotFound);
}
