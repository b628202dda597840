//! The limits of the calls that run at once. A call beyond them is refused, not queued: the backend queues.

use std::collections::HashMap;

use orion_catalog::{Execution, ToolSpec};
use orion_domain::{CallId, UserName};

use super::Running;

/// Calls that run at once. Twice the backend's default, because a restarted backend does not count the calls that
/// it sent before.
pub(super) const MAX_IN_FLIGHT: usize = 32;
/// Calls of one kind that run at once, so that no kind keeps out the others.
const MAX_OF_KIND: usize = 28;
/// Calls of one person that run at once, so that nobody keeps out the others.
pub(super) const MAX_OF_CALLER: usize = 24;
/// Calls that missed their deadline and whose threads still run: on a disk that hangs, no tool can check
/// the clock. At this number, no further call on files starts.
pub(super) const MAX_GIVEN_UP: usize = 16;
/// Limit for the arguments of all calls under way together, in bytes.
pub(super) const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// What a call occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A worker process.
    File,
    /// Processes of a program.
    Program,
    /// A thread.
    Plain,
}

impl Kind {
    /// Returns the kind of a tool's calls.
    pub(super) const fn of(spec: &ToolSpec) -> Self {
        match spec.execution {
            Execution::File => Self::File,
            Execution::ChildProcess => Self::Program,
            Execution::Plain | Execution::DesktopApp => Self::Plain,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::File => "on files",
            Self::Program => "of programs",
            Self::Plain => "of this kind",
        }
    }
}

/// A call that wants to start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) kind: Kind,
    pub(super) user: &'a UserName,
    pub(super) on_files: bool,
    pub(super) argument_bytes: usize,
}

/// Returns why a further call cannot start now. `None` if it can.
pub(super) fn no_slot(
    running: &HashMap<CallId, Running>,
    given_up: &HashMap<CallId, Running>,
    wanted: Wanted<'_>,
) -> Option<String> {
    let Wanted { kind, user, on_files, argument_bytes } = wanted;
    if running.len() >= MAX_IN_FLIGHT {
        return Some(format!("Nothing was run: {MAX_IN_FLIGHT} calls run on this device already."));
    }
    if running.values().filter(|running| running.kind == kind).count() >= MAX_OF_KIND {
        let kind = kind.as_str();
        return Some(format!(
            "Nothing was run: {MAX_OF_KIND} calls {kind} run on this device already, and the other places are for other calls."
        ));
    }
    if running.values().filter(|running| running.user == *user).count() >= MAX_OF_CALLER {
        return Some(format!(
            "Nothing was run: {MAX_OF_CALLER} calls of {user} run on this device already, and the other places are for other people."
        ));
    }
    let held: usize =
        running.values().chain(given_up.values()).map(|running| running.argument_bytes).sum();
    if held > 0 && held.saturating_add(argument_bytes) > MAX_ARGUMENT_BYTES {
        return Some(format!(
            "Nothing was run: the arguments of the calls that run already take {held} bytes, and {MAX_ARGUMENT_BYTES} is the most together."
        ));
    }
    (on_files && given_up.len() >= MAX_GIVEN_UP).then(|| {
        format!(
            "Nothing was run: {MAX_GIVEN_UP} calls on files did not stop at their deadline. The device's disk may hang."
        )
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use uuid::Uuid;

    use super::*;

    fn fill(running: &mut HashMap<CallId, Running>, calls: usize, kind: Kind, user: &str) {
        for _ in 0..calls {
            let running_call = Running {
                cancelled: Arc::new(AtomicBool::new(false)),
                about: None,
                argument_bytes: 0,
                kind,
                user: user.parse().unwrap(),
                transfer: None,
            };
            let number = running.len() as u128;
            running.insert(CallId::new(Uuid::from_u128(number)), running_call);
        }
    }

    fn refused(running: &HashMap<CallId, Running>, kind: Kind, user: &str) -> Option<String> {
        let user = user.parse().unwrap();
        let wanted = Wanted { kind, user: &user, on_files: true, argument_bytes: 0 };
        no_slot(running, &HashMap::new(), wanted)
    }

    #[test]
    fn neither_one_person_nor_one_kind_of_calls_takes_all_places() {
        let mut running = HashMap::new();
        fill(&mut running, MAX_OF_CALLER, Kind::File, "ann");
        for kind in [Kind::File, Kind::Program, Kind::Plain] {
            assert!(refused(&running, kind, "ann").unwrap().contains("24 calls of ann"));
            assert_eq!(refused(&running, kind, "bob"), None);
        }
        fill(&mut running, MAX_OF_KIND - MAX_OF_CALLER, Kind::File, "bob");
        assert!(refused(&running, Kind::File, "bob").unwrap().contains("28 calls on files"));
        assert_eq!(refused(&running, Kind::Program, "bob"), None);
        assert_eq!(refused(&running, Kind::Plain, "admin"), None);
        fill(&mut running, MAX_IN_FLIGHT - MAX_OF_KIND, Kind::Plain, "admin");
        assert!(refused(&running, Kind::Plain, "admin").unwrap().contains("32 calls run"));
    }
}
