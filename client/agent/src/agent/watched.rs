//! What happens now, for those who watch at the device.

use std::path::PathBuf;
use std::time::Duration;

use orion_domain::{CallId, ErrorCode, Touches};
use orion_wire::Dispatched;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::Agent;
use super::event::Event;
use crate::activity::{self, Step, Subject as Shown};
use crate::clock::now_ms;
use crate::journal::Ended;
use crate::report::Subject;

/// How often the agent looks whether somebody watches, and writes what happened for them.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

impl Agent {
    /// Looks whether somebody watches until the handle is dropped.
    pub(super) fn watch_the_watchers(&self) -> Option<AbortOnDropHandle<()>> {
        // A simulation has no owner, and no time of its own.
        self.settings.source.as_ref()?;
        let dir = self.state.dir().to_owned();
        Some(AbortOnDropHandle::new(tokio::spawn(watch(dir, self.events.clone()))))
    }

    /// Writes what happened for those who watch.
    pub(super) fn write_activity(&self) {
        activity::write(self.state.dir(), &self.activity.snapshot(self.running.len()));
    }

    /// Notes what happened to a call.
    pub(super) fn happened(&mut self, step: Step, call: &Dispatched, touches: Option<&Touches>) {
        let user = call.caller.user.as_str();
        let (tool, dry_run) = (&*call.tool, call.dry_run);
        let shown = Shown { call: call.call, tool, dry_run, user, touches };
        self.activity.add(step, shown, ("", ""), now_ms());
    }

    /// Notes that a call was refused.
    pub(super) fn refused(&mut self, subject: &Subject, code: ErrorCode) {
        let (tool, dry_run) = (&*subject.tool, subject.dry_run);
        let shown = Shown { call: subject.call, tool, dry_run, user: "", touches: None };
        self.activity.add(Step::Refused, shown, ("refused", code.as_str()), now_ms());
    }

    /// Notes how a call ended.
    pub(super) fn ended(&mut self, call: CallId, ended: &Ended) {
        let tool = self.journal.tool(call).unwrap_or_default().to_owned();
        let dry_run = self.activity.is_preview(call);
        let shown = Shown { call, tool: &tool, dry_run, user: "", touches: None };
        self.activity.add(Step::Ended, shown, (ended.state.as_str(), &ended.code), now_ms());
    }
}

/// Posts an event again and again while somebody watches.
async fn watch(dir: PathBuf, events: mpsc::Sender<Event>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        let path = dir.clone();
        let watched = tokio::task::spawn_blocking(move || activity::is_watched(&path)).await;
        // The task fails only when the program ends.
        let Ok(is_watched) = watched else { return };
        if is_watched && events.send(Event::Watched).await.is_err() {
            return;
        }
    }
}
