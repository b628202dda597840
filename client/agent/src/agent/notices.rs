//! Notices on the desktop: that a call waits for the person, runs, or that permissions changed. They name no argument,
//! because every account of the machine can read the command line of the program that shows them. A notice is never
//! a place to allow a call, as it does not show the whole of it.

use std::path::PathBuf;
use std::time::Duration;

use orion_domain::Risk;
use orion_usage::GivenOptions;
use orion_wire::Dispatched;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use super::Agent;
use crate::process::SystemProgram;

/// How many notices may wait. Further ones are counted, and the count is shown later.
const MAX_WAITING: usize = 4;
/// The least time between two notices, so that no backend fills the desktop with them.
const LEAST_INTERVAL: Duration = Duration::from_secs(3);

/// A notice: its title and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    program: Option<PathBuf>,
    title: String,
    text: String,
}

/// The way to the task that shows notices.
#[derive(Debug, Default)]
pub(super) struct Notices {
    sender: Option<mpsc::Sender<Notice>>,
    /// How many were left out since the last one.
    left_out: u64,
}

impl Notices {
    /// Shows a notice soon. Never waits.
    fn show(&mut self, notice: Notice) {
        let Some(sender) = &self.sender else { return };
        let more = self.left_out;
        let title = match more {
            0 => notice.title,
            _ => format!("{} ({more} notices before it were left out)", notice.title),
        };
        match sender.try_send(Notice { title, ..notice }) {
            Ok(()) => self.left_out = 0,
            Err(_) => self.left_out = more + 1,
        }
    }
}

impl Agent {
    /// Shows notices until the handle is dropped.
    pub(super) fn begin_notices(&mut self) -> Option<AbortOnDropHandle<()>> {
        // A simulation has no owner.
        self.settings.source.as_ref()?;
        let (sender, notices) = mpsc::channel(MAX_WAITING);
        self.notices.sender = Some(sender);
        Some(AbortOnDropHandle::new(tokio::spawn(show(notices))))
    }

    /// Returns this agent with the options that commands need in texts for the owner.
    #[must_use]
    pub fn with_options(self, options: GivenOptions) -> Self {
        Self { options, ..self }
    }

    /// Announces that a call waits for the person.
    pub(super) fn notice_question(&mut self, call: &Dispatched) {
        if self.settings.notices.questions {
            let title = format!("{} for {} waits for your answer", call.tool, call.caller.user);
            self.notice(title, "Read it and answer it in a terminal: orion-agent watch");
        }
    }

    /// Announces that a call with effects runs.
    pub(super) fn notice_run(&mut self, call: &Dispatched, risk: Risk) {
        if self.settings.notices.ran.is_some_and(|least| risk >= least) {
            let title = format!("{} for {} runs ({risk} risk)", call.tool, call.caller.user);
            self.notice(title, "See it: orion-agent watch. Stop everything: orion-agent pause");
        }
    }

    /// Announces that the backend's permissions of this device changed.
    pub(super) fn notice_permissions(&mut self) {
        if self.settings.notices.permissions {
            let title = "The permissions of this device have changed".to_owned();
            self.notice(title, "See what is allowed here: orion-agent ceiling show");
        }
    }

    fn notice(&mut self, title: String, text: &str) {
        let text = self.options.add_to(text);
        let program = self.settings.notices.program.clone();
        self.notices.show(Notice { program, title, text });
    }
}

/// Shows one notice after the other, with time between them.
async fn show(mut notices: mpsc::Receiver<Notice>) {
    while let Some(notice) = notices.recv().await {
        let next = Instant::now() + LEAST_INTERVAL;
        show_one(notice).await;
        sleep_until(next).await;
    }
}

async fn show_one(Notice { program, title, text }: Notice) {
    let shown = match program.map(SystemProgram::at).or_else(usual_program) {
        Some(program) => {
            let words = ["--app-name=Orion", "--", &title, &text];
            program.run(&words).await.map(drop).map_err(|error| error.to_string())
        }
        None => show_without_program(title, text).await,
    };
    if let Err(error) = shown {
        tracing::debug!(error, "a notice could not be shown");
    }
}

/// Returns the program that shows notices where the owner names none.
fn usual_program() -> Option<SystemProgram> {
    #[cfg(target_os = "linux")]
    return SystemProgram::find("notify-send");
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(windows)]
async fn show_without_program(title: String, text: String) -> Result<(), String> {
    let show = tokio::task::spawn_blocking(move || crate::toast::show(&title, &text));
    show.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}

#[cfg(not(windows))]
async fn show_without_program(_: String, _: String) -> Result<(), String> {
    Err("no program shows notices here".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_notices_wait_than_fit_and_the_next_one_says_how_many_are_missing() {
        let (sender, mut receiver) = mpsc::channel(MAX_WAITING);
        let mut notices = Notices { sender: Some(sender), left_out: 0 };
        let notice = |title: &str| Notice {
            program: None,
            title: title.to_owned(),
            text: "text".to_owned(),
        };
        for number in 0..10 {
            notices.show(notice(&number.to_string()));
        }
        for number in 0..4 {
            assert_eq!(receiver.try_recv().unwrap().title, number.to_string());
        }
        notices.show(notice("last"));
        let title = receiver.try_recv().unwrap().title;
        assert_eq!(title, "last (6 notices before it were left out)");
        assert!(receiver.try_recv().is_err());
    }
}
