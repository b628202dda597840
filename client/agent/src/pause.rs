//! The owner's pause. While its file is in the state folder, no call of the backend runs on this device, whether or
//! not an agent runs. Only commands at the device write or remove the file: no message of a backend does, and no
//! tool reaches the folder.

use std::io;
use std::path::Path;

use orion_domain::{Actor, ErrorCode, Hint, ToolError, strip_hidden};
use orion_usage::GivenOptions;
use serde::{Deserialize, Serialize};

use crate::clock::shown;
use crate::owner_file;
use crate::state::names::PAUSE;

/// The largest file, in bytes.
const MAX_BYTES: u64 = 4096;
/// The longest name of an account, in characters.
const MAX_NAME: usize = 64;

/// A pause, as its file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// The account that paused the device.
    pub by: String,
    /// When, Unix milliseconds.
    pub since: i64,
    /// When the pause ends by itself, Unix milliseconds. None for never.
    pub until: Option<i64>,
    /// Whether calls that ran then may finish.
    pub lets_finish: bool,
}

/// Why no call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paused {
    /// The owner paused the device.
    ByOwner(Pause),
    /// There is a file, and it cannot be read, for this reason. The device counts as paused.
    Unreadable(String),
}

impl Paused {
    /// Returns whether calls that run already may finish.
    #[must_use]
    pub const fn lets_finish(&self) -> bool {
        match self {
            Self::ByOwner(pause) => pause.lets_finish,
            Self::Unreadable(_) => false,
        }
    }

    /// Returns since when, Unix milliseconds. 0 if that is not known.
    #[must_use]
    pub const fn since(&self) -> i64 {
        match self {
            Self::ByOwner(pause) => pause.since,
            Self::Unreadable(_) => 0,
        }
    }

    /// Returns who paused the device, since when, and how it goes on, as sentences.
    #[must_use]
    pub fn sentences(&self) -> String {
        match self {
            Self::ByOwner(Pause { by, since, until, .. }) => {
                let end = until.map_or_else(String::new, |until| {
                    format!(" The pause ends by itself at {}.", shown(until))
                });
                format!("{by} paused this device at {}.{end}", shown(*since))
            }
            Self::Unreadable(why) => {
                format!("This device counts as paused, because {PAUSE} cannot be read: {why}.")
            }
        }
    }

    /// Returns the error for a call. The command in it has the options that name this agent.
    #[must_use]
    pub fn refusal(&self, options: &GivenOptions) -> ToolError {
        let message = format!("Nothing was run. {}", self.sentences());
        let resume = options.add_to("orion-agent resume");
        let error = ToolError::new(ErrorCode::DevicePaused, message)
            .hint(Hint::run("end the pause at the device", resume).by(Actor::Owner));
        match self {
            Self::ByOwner(Pause { by, since, until, .. }) => {
                let error = error.with("paused_by", by.as_str()).with("paused_at", *since);
                until.map_or(error.clone(), |until| error.with("paused_until", until))
            }
            Self::Unreadable(_) => error,
        }
    }
}

/// Returns the pause of the device with this state folder. A file that cannot be read pauses the device too.
#[must_use]
pub fn read(dir: &Path, now_ms: i64) -> Option<Paused> {
    match parse(&dir.join(PAUSE)) {
        Ok(pause) if pause.until.is_some_and(|until| until <= now_ms) => None,
        Ok(pause) => Some(Paused::ByOwner(pause)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => Some(Paused::Unreadable(error.to_string())),
    }
}

fn parse(path: &Path) -> io::Result<Pause> {
    let pause: Pause = serde_json::from_slice(&owner_file::read(path, MAX_BYTES)?)?;
    Ok(Pause { by: strip_hidden(&pause.by, MAX_NAME), ..pause })
}

/// Pauses the device with this state folder. The file is on the disk when this returns.
///
/// # Errors
/// The folder does not exist, or cannot be written by this account.
pub fn write(dir: &Path, pause: &Pause) -> io::Result<()> {
    owner_file::replace(dir, PAUSE, &serde_json::to_vec(pause)?)
}

/// Ends the pause. Returns whether there was a file.
///
/// # Errors
/// The file cannot be removed by this account.
pub fn remove(dir: &Path) -> io::Result<bool> {
    owner_file::remove(&dir.join(PAUSE))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn pause() -> Pause {
        Pause { by: "ann".to_owned(), since: 1_700_000_000_000, until: None, lets_finish: false }
    }

    #[test]
    fn a_pause_is_read_as_it_was_written_until_it_ends() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path(), 0), None);
        write(dir.path(), &pause()).unwrap();
        assert_eq!(read(dir.path(), i64::MAX), Some(Paused::ByOwner(pause())));
        let short = Pause { until: Some(1_700_000_060_000), ..pause() };
        write(dir.path(), &short).unwrap();
        assert_eq!(read(dir.path(), 1_700_000_059_999), Some(Paused::ByOwner(short)));
        assert_eq!(read(dir.path(), 1_700_000_060_000), None);
        assert!(remove(dir.path()).unwrap());
        assert!(!remove(dir.path()).unwrap());
        assert_eq!(read(dir.path(), 0), None);
    }

    #[test]
    fn whatever_is_no_pause_at_its_place_pauses_the_device() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(PAUSE);
        let is_unreadable = || matches!(read(dir.path(), 0), Some(Paused::Unreadable(_)));
        for text in ["", "{}", "{\"by\":\"ann\"}", "paused", &"x".repeat(5000)] {
            fs::write(&path, text).unwrap();
            assert!(is_unreadable(), "{text:?}");
        }
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(is_unreadable());
        fs::remove_dir(&path).unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", &path).unwrap();
            assert!(is_unreadable());
        }
    }

    #[test]
    fn the_refusal_says_who_since_when_and_how_it_goes_on() {
        let paused = Paused::ByOwner(Pause { until: Some(1_700_003_600_000), ..pause() });
        let error = paused.refusal(&GivenOptions::none());
        assert_eq!(error.code, ErrorCode::DevicePaused);
        assert_eq!(
            error.message,
            "Nothing was run. ann paused this device at 2023-11-14 22:13:20 UTC. The pause ends by itself at 2023-11-14 23:13:20 UTC."
        );
        assert_eq!(error.hints[0].command.as_deref(), Some("orion-agent resume"));
        assert_eq!(error.hints[0].who, Actor::Owner);
        assert_eq!(error.details["paused_by"], "ann");
    }
}
