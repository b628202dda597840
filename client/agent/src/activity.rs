//! What happens on the device now, for `orion-agent watch`. The agent keeps the newest events in memory, and writes them
//! into the state folder only while somebody watches. Nothing else depends on them.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use orion_domain::{CallId, Digest, Touches, strip_hidden};
use orion_mtls::secret_file;
use serde::{Deserialize, Serialize};

use crate::consent::plain;
use crate::owner_file;
use crate::state::names::{ACTIVITY, ACTIVITY_NEW, WATCHED};

/// How long after that somebody counts as watching.
const WATCHED_FOR: Duration = Duration::from_secs(5);
/// How many events are kept.
const MAX_EVENTS: usize = 256;
/// The most paths of a call that are shown.
const MAX_PATHS: usize = 3;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What happened to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// It waits for the person at the device.
    Asked,
    /// It runs.
    Started,
    /// It ended.
    Ended,
    /// It was refused, and nothing of it ran.
    Refused,
}

/// One event. Every text is one line without hidden characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Happening {
    /// Counts up within one run of the agent, from 1.
    pub number: u64,
    /// Unix milliseconds.
    pub at: i64,
    /// What happened.
    pub step: Step,
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Whether the call is a preview, which changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The person that the call is made for; empty where the call could not be read.
    pub user: String,
    /// What it touches, in short; empty once it ended.
    pub touches: String,
    /// How it ended; empty before.
    pub state: String,
    /// The error code; empty on success.
    pub code: String,
}

/// What the agent writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Differs for each run of the agent.
    pub run: String,
    /// How many calls run.
    pub running: usize,
    /// The newest events, oldest first.
    pub events: Vec<Happening>,
}

/// The newest events of one run of the agent.
#[derive(Debug)]
pub(crate) struct Activity {
    run: String,
    last: u64,
    events: VecDeque<Happening>,
}

impl Default for Activity {
    fn default() -> Self {
        let run = Digest::of(&rand::random::<[u8; 16]>()).to_string();
        Self { run, last: 0, events: VecDeque::new() }
    }
}

/// A call, as an event shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) call: CallId,
    pub(crate) tool: &'a str,
    pub(crate) dry_run: bool,
    pub(crate) user: &'a str,
    pub(crate) touches: Option<&'a Touches>,
}

impl Activity {
    /// Adds an event. `end` is the state and the code of a call that ended.
    pub(crate) fn add(&mut self, step: Step, subject: Subject<'_>, end: (&str, &str), at: i64) {
        let Subject { call, tool, dry_run, user, touches } = subject;
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.last += 1;
        self.events.push_back(Happening {
            number: self.last,
            at,
            step,
            call_id: call.to_string(),
            tool: strip_hidden(tool, 64),
            dry_run,
            user: strip_hidden(user, 64),
            touches: touches.map(in_short).unwrap_or_default(),
            state: end.0.to_owned(),
            code: strip_hidden(end.1, 64),
        });
    }

    /// Returns whether a call that began, and is still kept, is a preview.
    pub(crate) fn is_preview(&self, call: CallId) -> bool {
        let call = call.to_string();
        self.events.iter().rev().any(|event| event.call_id == call && event.dry_run)
    }

    pub(crate) fn snapshot(&self, running: usize) -> Snapshot {
        Snapshot { run: self.run.clone(), running, events: self.events.iter().cloned().collect() }
    }
}

fn in_short(touches: &Touches) -> String {
    let named =
        touches.paths.iter().map(|touch| format!("{} {}", touch.access.as_str(), touch.path));
    let programs = touches.commands.iter().map(|command| format!("run {command}"));
    let apps = touches.apps.iter().map(|app| format!("open {app}"));
    let all: Vec<String> = programs.chain(named).chain(apps).collect();
    let more = match all.len().saturating_sub(MAX_PATHS) {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    let shown: Vec<_> = all
        .iter()
        .take(MAX_PATHS)
        .map(|it| plain(it).chars().take(200).collect::<String>())
        .collect();
    format!("{}{more}", shown.join(", "))
}

/// Says that somebody watches, for some seconds.
///
/// # Errors
/// The folder cannot be written by this account.
pub fn watch(state_dir: &Path) -> io::Result<()> {
    owner_file::replace(state_dir, WATCHED, &[])
}

/// Returns whether somebody watches.
pub(crate) fn is_watched(state_dir: &Path) -> bool {
    let touched = fs::metadata(state_dir.join(WATCHED)).and_then(|it| it.modified());
    touched.is_ok_and(|at| at.elapsed().is_ok_and(|since| since < WATCHED_FOR))
}

/// Writes what happens for those who watch. A failure is not an error.
pub(crate) fn write(state_dir: &Path, snapshot: &Snapshot) {
    // Nobody misses it after a power failure, so that the loop of the agent waits for no sync.
    let temporary = state_dir.join(ACTIVITY_NEW);
    let written = serde_json::to_vec(snapshot).map_err(io::Error::other).and_then(|json| {
        let mut options = secret_file::private();
        options.write(true).create(true).truncate(true).open(&temporary)?.write_all(&json)?;
        fs::rename(&temporary, state_dir.join(ACTIVITY))
    });
    if let Err(error) = written {
        tracing::debug!(%error, "what happens could not be written for those who watch");
    }
}

/// Reads what the agent wrote last. None if there is nothing readable.
#[must_use]
pub fn read(state_dir: &Path) -> Option<Snapshot> {
    let bytes = owner_file::read(&state_dir.join(ACTIVITY), MAX_BYTES).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_newest_events_are_kept_and_read_back() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_watched(dir.path()));
        watch(dir.path()).unwrap();
        assert!(is_watched(dir.path()));
        let mut activity = Activity::default();
        let call = CallId::new(Uuid::from_u128(7));
        let tool = "read\u{1b}_file";
        let subject = Subject { call, tool, dry_run: true, user: "ann", touches: None };
        for _ in 0..300 {
            activity.add(Step::Ended, subject, ("succeeded", ""), 5);
        }
        let snapshot = activity.snapshot(2);
        write(dir.path(), &snapshot);
        assert_eq!(read(dir.path()), Some(snapshot.clone()));
        assert_eq!((snapshot.running, snapshot.events.len()), (2, MAX_EVENTS));
        let last = snapshot.events.last().unwrap();
        assert_eq!((last.number, last.tool.as_str()), (300, "read_file"));
        assert!(activity.is_preview(call));
        assert!(!activity.is_preview(CallId::new(Uuid::from_u128(8))));
    }
}
