//! Locates the programs under test, beside this test's own executable.

use std::path::PathBuf;

/// Programs that are tested in the place of those that were built beside the tests: of another platform, or of another
/// version.
const OTHERS: [(&str, &str); 2] =
    [("orion-agent", "ORION_TEST_AGENT"), ("orion-server", "ORION_TEST_SERVER")];

/// Returns the path of the program of that name, as it was built last.
///
/// # Panics
/// It was not built.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let other = OTHERS.iter().find(|(program, _)| *program == name);
    if let Some(other) = other.and_then(|(_, variable)| std::env::var_os(variable)) {
        return other.into();
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
