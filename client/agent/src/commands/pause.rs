//! `orion-agent pause` and `resume`: the owner stops all work of the backend here, and lets it go on.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use clap::Args;
use jiff::SignedDuration;
use orion_agent::clock::{now_ms, shown};
use orion_agent::pause::{self, Paused};
use orion_agent::run::NotEnrolled;
use orion_agent::state::{Identity, Pending, State, Status};

use super::{Places, print};

/// The longest pause that ends by itself.
const MAX_TIME: SignedDuration = SignedDuration::from_hours(24 * 365);
/// How long to wait for a running agent to end its calls.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often its status is read.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A pause to begin.
#[derive(Debug, Args)]
pub(super) struct PauseCommand {
    /// End the pause by itself after this time, such as 30m or 2h.
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    time: Option<SignedDuration>,
    /// Let calls that run already finish.
    #[arg(long)]
    let_finish: bool,
}

/// Parses a time such as `90s`, `30m` or `1h 30m`.
fn time(text: &str) -> Result<SignedDuration, String> {
    let time: SignedDuration = text
        .parse()
        .map_err(|_| format!("`{text}` is no time; write it like 30m, 2h or 1h 30m"))?;
    if time < SignedDuration::from_secs(1) || time > MAX_TIME {
        return Err("a pause takes between one second and one year".to_owned());
    }
    Ok(time)
}

pub(super) fn pause(places: &Places, arguments: &PauseCommand) -> anyhow::Result<()> {
    let dir = &places.state_dir;
    if !has_device(dir) {
        return Err(no_device(dir, "nothing is paused"));
    }
    let since = now_ms();
    let time = arguments.time.map(|time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    let pause = pause::Pause {
        by: account(),
        since,
        until: time.map(|time| since.saturating_add(time)),
        lets_finish: arguments.let_finish,
    };
    pause::write(dir, &pause).with_context(|| {
        format!("{} cannot be written; run this as the account of the agent", dir.display())
    })?;
    let until = pause.until.map_or_else(
        || "until you run `orion-agent resume`".to_owned(),
        |until| format!("until {}, or `orion-agent resume`", shown(until)),
    );
    let paused = format!("Paused: every call is refused on this device {until}.");
    print(&places.options.add_to(&paused))?;
    if !is_running(dir) {
        return print("No agent runs here now. One that starts refuses every call too.");
    }
    print(&ended(dir, &pause)?)
}

pub(super) fn resume(places: &Places) -> anyhow::Result<()> {
    let dir = &places.state_dir;
    let is_over = pause::read(dir, now_ms()).is_none();
    let had_file = pause::remove(dir).with_context(|| {
        format!(
            "the pause in {} cannot be removed; run this as the account of the agent",
            dir.display()
        )
    })?;
    match had_file {
        true if is_over => print("The pause has ended by itself; calls run on this device."),
        true => print("Resumed: calls run again on this device."),
        false if !has_device(dir) => Err(no_device(dir, "nothing is resumed")),
        false => print("This device was not paused."),
    }
}

/// Returns whether a device is enrolled in this folder, or waits for its approval.
fn has_device(dir: &Path) -> bool {
    let is_none = matches!((Identity::read(dir), Pending::read(dir)), (Ok(None), Ok(None)));
    dir.is_dir() && !is_none
}

fn no_device(dir: &Path, what: &str) -> anyhow::Error {
    anyhow::Error::new(NotEnrolled).context(format!(
        "{what}: no device is enrolled in {}; name the state folder of the one that is meant with --state-dir",
        dir.display()
    ))
}

/// Returns the line of `orion-agent status`. None if the device is not paused.
pub(super) fn line(dir: &Path) -> Option<String> {
    pause::read(dir, now_ms()).as_ref().map(Paused::sentences)
}

/// Waits until the running agent has applied the pause, and its calls have ended.
fn ended(dir: &Path, pause: &pause::Pause) -> anyhow::Result<String> {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = Status::read(dir).unwrap_or_default();
        let is_applied = status.paused_at == Some(pause.since);
        if is_applied && status.running_calls == 0 {
            return Ok("The running agent has applied it. No call runs.".to_owned());
        }
        if is_applied && pause.lets_finish {
            let count = status.running_calls;
            let calls = if count == 1 { "call runs" } else { "calls run" };
            return Ok(format!("The running agent has applied it. {count} {calls} to the end."));
        }
        if Instant::now() >= until {
            return Err(anyhow!(
                "no further call starts, but the running agent has not ended its calls yet; `orion-agent status` shows when it has, and stopping the agent ends them"
            ));
        }
        sleep(CHECK_INTERVAL);
    }
}

/// Returns whether an agent runs with this state folder.
pub(super) fn is_running(dir: &Path) -> bool {
    matches!(State::is_used(dir), Ok(true))
}

/// Returns whether no agent runs with this state folder, as far as this account can tell.
pub(super) fn is_idle(dir: &Path) -> bool {
    matches!(State::is_used(dir), Ok(false))
}

/// Returns the name of the account at the keyboard, as far as it is known.
pub(super) fn account() -> String {
    let named = |name: &str| std::env::var(name).ok().filter(|name| !name.is_empty());
    let names = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"];
    names.into_iter().find_map(named).unwrap_or_else(|| "The owner".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_written_as_people_write_it_and_bounded() {
        assert_eq!(time("1h"), Ok(SignedDuration::from_hours(1)));
        assert_eq!(time("1h 30m"), Ok(SignedDuration::from_mins(90)));
        assert_eq!(time("90s"), Ok(SignedDuration::from_secs(90)));
        for text in ["", "soon", "-1h", "0s", "9000d"] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
