//! Runs a test in a network namespace of its own, in which every address leads to this machine and nothing leaves it.

use std::path::Path;
use std::process::Command;

/// Names this variable inside the namespace.
const INSIDE: &str = "ORION_TEST_NAMESPACE";

/// Where a test runs.
#[derive(Debug, PartialEq, Eq)]
pub enum Namespace {
    /// In the namespace: the test goes on.
    Inside,
    /// The test ran in the namespace, and passed. What it printed.
    Passed(String),
    /// There can be no namespace, with the reason.
    Unavailable(String),
}

/// Runs the test of this name again, in a namespace of its own.
///
/// # Panics
/// The test fails there.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
pub fn enter(test: &str) -> Namespace {
    if std::env::var_os(INSIDE).is_some() {
        return Namespace::Inside;
    }
    if !rustix::process::geteuid().is_root() {
        return Namespace::Unavailable("only root makes network namespaces".to_owned());
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--propagation", "private", "--"]);
        command
    };
    match unshare().arg("true").output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Namespace::Unavailable(said);
        }
        Err(error) => return Namespace::Unavailable(format!("unshare: {error}")),
    }
    let again = unshare()
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&again.stdout), String::from_utf8_lossy(&again.stderr));
    assert!(again.status.success() && out.contains("1 passed"), "in the namespace:\n{out}\n{err}");
    Namespace::Passed(out.into_owned())
}

/// Makes every address of both families lead to this machine, and lets names be asked for at this address.
///
/// # Panics
/// The namespace cannot be set up.
#[expect(clippy::disallowed_methods, reason = "tests are about processes")]
pub fn lead_everything_here(folder: &Path, name_server: &str) {
    let run = |words: &[&str]| {
        let output = Command::new(words[0]).args(&words[1..]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
    };
    run(&["ip", "link", "set", "lo", "up"]);
    run(&["ip", "route", "add", "local", "0.0.0.0/0", "dev", "lo"]);
    run(&["ip", "-6", "route", "add", "local", "::/0", "dev", "lo"]);
    let file = folder.join("resolv.conf");
    let text = format!("nameserver {name_server}\noptions timeout:2 attempts:1 ndots:0\n");
    std::fs::write(&file, text).unwrap();
    run(&["mount", "--bind", file.to_str().unwrap(), "/etc/resolv.conf"]);
}
