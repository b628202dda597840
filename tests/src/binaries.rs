//! Locates the programs under test, beside this test's own executable.

use std::path::PathBuf;

/// Names another agent than the one that was built beside the tests: that of another platform.
const OTHER_AGENT: &str = "ORION_TEST_AGENT";

/// Returns the path of the program of that name, as it was built last.
///
/// # Panics
/// It was not built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    if let Some(agent) = std::env::var_os(OTHER_AGENT).filter(|_| name == "orion-agent") {
        return agent.into();
    }
    // target/<profile>/deps/<test>: the programs are one folder up.
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().nth(2).unwrap();
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build --bins` first, or `make test`, which does",
        path.display()
    );
    path
}
