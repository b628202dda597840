//! How each kind of tools is confined.

use orion_catalog::{CATALOG, Execution, RunsOn};
use orion_domain::ErrorCode;

use crate::sandbox::{Confinement, Reach, Sandbox};

/// A sandbox with Landlock.
const LANDLOCK: Sandbox = Sandbox { landlock: Some(6), openat2: true };

#[test]
fn file_tools_and_programs_are_confined_by_the_kernel_and_without_it_no_program_starts() {
    for spec in CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Device) {
        for dry_run in [true, false] {
            let expected = match spec.execution {
                Execution::File if spec.content.is_beside() => {
                    Confinement::Thread(Reach::of(spec, dry_run))
                }
                Execution::File => Confinement::Landlock(Reach::of(spec, dry_run)),
                Execution::ChildProcess => Confinement::Program,
                Execution::Plain | Execution::DesktopApp => Confinement::Handles,
            };
            assert_eq!(LANDLOCK.confinement(spec, dry_run), Ok(expected), "{}", spec.name);
            let handles = Sandbox::handles().confinement(spec, dry_run).map_err(|it| it.code);
            let without = match spec.execution {
                Execution::ChildProcess => Err(ErrorCode::NotSupported),
                Execution::File if spec.content.is_beside() => Ok(Confinement::Handles),
                Execution::File => Ok(Confinement::Worker),
                Execution::Plain | Execution::DesktopApp => Ok(Confinement::Handles),
            };
            assert_eq!(handles, without, "{}", spec.name);
        }
    }
    assert_eq!(Confinement::Landlock(Reach::Read).as_str(), "landlock");
    assert_eq!(Confinement::Handles.as_str(), "handles");
    assert_eq!(Confinement::Worker.as_str(), "handles");
}

#[test]
fn a_kind_that_cannot_be_confined_here_is_refused() {
    let mut program = *orion_catalog::find("get_datetime").unwrap().0;
    program.execution = Execution::ChildProcess;
    let elsewhere = CATALOG.iter().filter(|spec| spec.runs_on == RunsOn::Backend);
    let refused = elsewhere.map(|spec| (LANDLOCK, *spec, "runs on the backend"));
    let handles = (Sandbox::handles(), program, "starts programs");
    for (sandbox, spec, why) in refused.chain([handles]) {
        let error = sandbox.confinement(&spec, false).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotSupported);
        assert!(error.message.contains(why), "{error}");
    }
}
