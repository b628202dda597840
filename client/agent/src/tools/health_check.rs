//! Executes `health_check`: one line for each check in [`CHECKS`].

mod programs;

use orion_catalog::tools::check_network;
use orion_catalog::tools::health_check::{Arguments, Check, Finding, HealthCheck, Returns, Status};
use orion_domain::{ErrorCode, ToolError};

use super::check_disk_space::{Space, space_at, space_of};
use super::check_memory;
use super::{AskingContext, AskingTool, Outcome, PlainTool as _};

const GIB: u64 = 1024 * 1024 * 1024;
const MIB: u64 = 1024 * 1024;
/// Free space of the workspace below which to warn, and to fail, in bytes.
const DISK_LIMITS: (u64, u64) = (5 * GIB, GIB);
/// Free space for journal and trash below which to warn, and to fail, in bytes. The trash takes up to 1 GiB.
const STATE_LIMITS: (u64, u64) = (GIB, 64 * MIB);
/// Available memory below which to warn, and to fail, in MiB.
const MEMORY_LIMITS: (u64, u64) = (512, 128);
/// When 2025 began, in seconds: no clock that is set shows an earlier time.
const EARLIEST_SECOND: i64 = 1_735_689_600;
/// systemd-timesyncd makes this file when it has set the clock from a server.
const CLOCK_IS_SET: &str = "/run/systemd/timesync/synchronized";

/// The result of a check, and a sentence about it.
type Found = Result<(Status, String), ToolError>;

type MakeCheck = fn(&AskingContext<'_>) -> Found;

/// Every check, with the function that makes it.
const CHECKS: &[(Check, MakeCheck)] = &[
    (Check::Disk, disk),
    (Check::Memory, memory),
    (Check::Network, network),
    (Check::Clock, clock),
    (Check::State, state),
    (Check::Git, programs::git),
    (Check::Python, programs::python),
    (Check::Docker, programs::docker),
];

impl AskingTool for HealthCheck {
    fn run(
        arguments: Arguments,
        context: &AskingContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let mut checks = Vec::new();
        for (name, check) in CHECKS.iter().filter(|(name, _)| arguments.checks.contains(name)) {
            context.common.check()?;
            let (status, detail) = match check(context) {
                Ok(found) => found,
                Err(error) if stops(error.code) => return Err(error),
                Err(error) => (Status::Skipped, error.message),
            };
            checks.push(Finding { name: *name, status, detail });
        }
        let overall = checks.iter().map(|finding| finding.status).max().unwrap_or(Status::Skipped);
        let message = match overall {
            Status::Ok => "All is well.",
            Status::Warn => "A person should look at this device.",
            Status::Fail => "This device is not well.",
            Status::Skipped => "Nothing was checked.",
        };
        Ok(Outcome::new(message, Returns { checks, overall }))
    }
}

/// Returns whether an error ends the call. Other errors say why a check was not made.
fn stops(code: ErrorCode) -> bool {
    code == ErrorCode::Cancelled || code == ErrorCode::Timeout
}

/// Returns a status by two limits.
fn by_limits(value: u64, (warn, fail): (u64, u64)) -> Status {
    if value < fail {
        Status::Fail
    } else if value < warn {
        Status::Warn
    } else {
        Status::Ok
    }
}

fn disk(AskingContext { common: context, .. }: &AskingContext<'_>) -> Found {
    let (space, path) = space_at(".", context)?;
    Ok((by_limits(space.free, DISK_LIMITS), free(&path.to_string(), space)))
}

fn free(what: &str, space: Space) -> String {
    let space = space.compared(0);
    format!("{what}: {} of {} GiB are free.", space.free_gb, space.total_gb)
}

fn memory(_: &AskingContext<'_>) -> Found {
    let memory = check_memory::check(0)?;
    let detail =
        format!("{} of {} MiB of memory are available.", memory.available_mb, memory.total_mb);
    Ok((by_limits(memory.available_mb, MEMORY_LIMITS), detail))
}

/// The backend is what the agent needs. A gateway that drops what is sent to it is common.
fn network(AskingContext { common: context, .. }: &AskingContext<'_>) -> Found {
    let outcome = check_network::CheckNetwork::run(check_network::Arguments::default(), context)?;
    let silent: Vec<_> =
        outcome.data.targets.iter().filter(|it| !it.reachable).map(|it| &*it.target).collect();
    let status = match silent.as_slice() {
        [] => Status::Ok,
        silent if silent.contains(&"backend") => Status::Fail,
        _ => Status::Warn,
    };
    let detail = match silent.as_slice() {
        [] => "Gateway, DNS servers and backend answer.".to_owned(),
        silent => format!("No answer from: {}.", silent.join(", ")),
    };
    Ok((status, detail))
}

fn clock(_: &AskingContext<'_>) -> Found {
    let now = jiff::Timestamp::now();
    Ok(clock_at(now.as_second(), std::path::Path::new(CLOCK_IS_SET).exists()))
}

fn clock_at(now: i64, is_set: bool) -> (Status, String) {
    let (status, detail) = if now < EARLIEST_SECOND {
        (Status::Fail, "The clock shows a time before 2025.")
    } else if is_set {
        (Status::Ok, "A time server has set the clock.")
    } else {
        (Status::Skipped, "The device does not tell whether a time server has set the clock.")
    };
    (status, detail.to_owned())
}

fn state(AskingContext { common: context, .. }: &AskingContext<'_>) -> Found {
    let space = space_of(&context.installation.state_dir)?;
    Ok((by_limits(space.free, STATE_LIMITS), free("Journal and trash", space)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{ALL, Device};

    const TOOL: &str = "health_check";

    fn checked(device: &Device, arguments: serde_json::Value) -> Returns {
        serde_json::from_value(device.data(TOOL, arguments)).unwrap()
    }

    #[test]
    fn every_check_is_made_once_and_the_worst_is_the_overall_result() {
        let device = Device::new();
        let all = checked(&device, json!({}));
        let names: Vec<_> = all.checks.iter().map(|finding| finding.name).collect();
        assert_eq!(names, Check::ALL);
        assert_eq!(CHECKS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), Check::ALL);
        // The test's device has no backend.
        let network = &all.checks[2];
        assert_eq!((network.status, all.overall), (Status::Fail, Status::Fail), "{network:?}");
        assert!(network.detail.contains("backend"), "{network:?}");
        let some = checked(&device, json!({"checks": ["memory", "disk", "memory"]}));
        let names: Vec<_> = some.checks.iter().map(|finding| finding.name).collect();
        assert_eq!(names, [Check::Disk, Check::Memory]);
        // The test's device grants no other tool.
        let docker = checked(&device, json!({"checks": ["docker"]}));
        assert_eq!(docker.overall, Status::Skipped);
        assert!(docker.checks[0].detail.contains("not granted"), "{docker:?}");
        let worst = some.checks.iter().map(|finding| finding.status).max();
        assert_eq!(worst, Some(some.overall));
        let none = checked(&device, json!({"checks": []}));
        assert_eq!((none.checks, none.overall), (Vec::new(), Status::Skipped));
        let wrong = device.refused(TOOL, json!({"checks": ["passwords"]}));
        assert_eq!(wrong, ErrorCode::InvalidArgument);
    }

    #[test]
    fn what_may_not_be_read_is_skipped_and_a_late_call_stops() {
        let mut device = Device::granting(&[("files", &ALL[1..])]);
        let disk = checked(&device, json!({"checks": ["disk"]}));
        assert_eq!((disk.checks[0].status, disk.overall), (Status::Skipped, Status::Skipped));
        device.time = std::time::Duration::ZERO;
        assert_eq!(device.refused(TOOL, json!({})), ErrorCode::Timeout);
    }

    #[test]
    fn limits_and_clocks_are_compared() {
        let of = |free| by_limits(free, STATE_LIMITS);
        let expected = [Status::Fail, Status::Warn, Status::Ok];
        assert_eq!([64 * MIB - 1, GIB - 1, GIB].map(of), expected);
        assert_eq!([0, 64 * MIB].map(of), [Status::Fail, Status::Warn]);
        let clock = |now, is_set| clock_at(now, is_set).0;
        assert_eq!(clock(EARLIEST_SECOND - 1, true), Status::Fail);
        assert_eq!(clock(EARLIEST_SECOND, true), Status::Ok);
        assert_eq!(clock(EARLIEST_SECOND, false), Status::Skipped);
    }
}
