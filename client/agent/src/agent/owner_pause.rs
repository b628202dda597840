//! The owner's pause: read before each call, and watched, so that running calls end when it begins.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use orion_domain::CallId;
use orion_wire::v1;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::Agent;
use super::consent::cancelled;
use super::event::Event;
use crate::clock::now_ms;
use crate::pause::{self, Pause, Paused};

/// How often the file is looked at, for the end of running calls. Before a call it is read in any case.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

impl Agent {
    /// Watches the pause until the handle is dropped.
    pub(super) fn watch_the_pause(&self) -> Option<AbortOnDropHandle<()>> {
        // A simulation has no owner, and no time of its own.
        self.settings.source.as_ref()?;
        let (dir, before) = (self.state.dir().to_owned(), self.pause.clone());
        Some(AbortOnDropHandle::new(tokio::spawn(watch(dir, before, self.events.clone()))))
    }

    /// Returns the pause as it is on the disk now.
    pub(super) fn paused(&self) -> Option<Paused> {
        pause::read(self.state.dir(), now_ms())
    }

    /// Applies the pause as it is now: running calls end, unless the owner lets them finish.
    pub(super) fn pause_changed(&mut self) {
        let paused = self.paused();
        if paused == self.pause {
            return;
        }
        match &paused {
            Some(paused) => {
                let running = self.running.len();
                tracing::warn!(running, "every call is refused: {}", paused.sentences());
                if !paused.lets_finish() {
                    self.cancel_calls();
                }
                // What waits for an answer has not begun.
                self.end_all_asked(&paused.refusal(&self.options));
            }
            None => tracing::info!("the pause is over"),
        }
        self.pause = paused;
        self.report();
    }

    /// Cancels a call that runs, or waits for the person at the device.
    pub(super) fn cancel(&mut self, call: CallId) {
        let running = self.running.get(&call).or_else(|| self.given_up.get(&call));
        if let Some(running) = running {
            running.cancelled.store(true, Ordering::Relaxed);
        }
        self.end_asked(call, cancelled());
    }

    /// Cancels every call that runs.
    pub(super) fn cancel_calls(&mut self) {
        for running in self.running.values().chain(self.given_up.values()) {
            running.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// Converts a pause to its wire message.
pub(super) fn to_wire(paused: &Paused) -> v1::OwnerPause {
    match paused {
        Paused::ByOwner(Pause { by, since, until, lets_finish: _ }) => v1::OwnerPause {
            by: by.clone(),
            since: *since,
            until: until.unwrap_or_default(),
            fault: String::new(),
        },
        Paused::Unreadable(why) => v1::OwnerPause { fault: why.clone(), ..Default::default() },
    }
}

/// Posts each change of the pause to the loop, its end by itself included.
async fn watch(dir: PathBuf, mut before: Option<Paused>, events: mpsc::Sender<Event>) {
    loop {
        sleep(CHECK_INTERVAL).await;
        let path = dir.clone();
        let read = tokio::task::spawn_blocking(move || pause::read(&path, now_ms())).await;
        // The task fails only when the program ends.
        let Ok(now) = read else { return };
        if now != before {
            before = now;
            if events.send(Event::Pause).await.is_err() {
                return;
            }
        }
    }
}
