//! How each kind of tools is confined.

use orion_catalog::{CATALOG, Execution, RunsOn};
use orion_domain::ErrorCode;

use crate::sandbox::{Confinement, Reach, Sandbox};

/// A sandbox with Landlock.
const LANDLOCK: Sandbox = Sandbox { landlock: Some(6), openat2: true };

#[test]
fn file_tools_are_confined_by_the_kernel_where_it_can_and_others_by_their_own_code() {
    for spec in CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Device) {
        for dry_run in [true, false] {
            let expected = match spec.execution {
                Execution::File => Confinement::Landlock(Reach::of(spec, dry_run)),
                Execution::Plain | Execution::ChildProcess | Execution::DesktopApp => {
                    Confinement::Handles
                }
            };
            assert_eq!(LANDLOCK.confinement(spec, dry_run), Ok(expected), "{}", spec.name);
            let handles = Sandbox::handles().confinement(spec, dry_run);
            assert_eq!(handles, Ok(Confinement::Handles), "{}", spec.name);
        }
    }
    assert_eq!(Confinement::Landlock(Reach::Read).as_str(), "landlock");
    assert_eq!(Confinement::Handles.as_str(), "handles");
}

#[test]
fn a_kind_that_cannot_be_confined_here_is_refused() {
    let mut program = *orion_catalog::find("get_datetime").unwrap().0;
    program.execution = Execution::ChildProcess;
    let elsewhere = CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Backend);
    let refused = elsewhere.map(|spec| (*spec, "runs on the backend"));
    for (spec, why) in refused.chain([(program, "starts programs")]) {
        let error = LANDLOCK.confinement(&spec, false).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotSupported);
        assert!(error.message.contains(why), "{error}");
    }
}
