//! launchd, by its own program: the manager of one person's jobs, or of the system's.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::files::{Placed, place};
use super::job::{Target, has_copied, property_list};
use super::{Earlier, Layout, Owner, ServiceError};
use crate::owner_file::remove;
use crate::process::{SystemProgram, SystemProgramError};

/// What `launchctl print` says of a service that is not loaded.
const NOT_LOADED: &str = "Could not find service";
/// launchd takes no property list that others may write.
const PROPERTY_LIST_MODE: u32 = 0o644;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The manager of services.
#[cfg_attr(not(target_os = "macos"), expect(unreachable_pub, reason = "there, it is tested alone"))]
#[derive(Debug, Clone)]
pub struct Launchd {
    program: SystemProgram,
    target: Target,
    /// How long a job may take until it is unloaded. launchd ends it before.
    unload_timeout: Duration,
}

/// What the manager of services is to know of the service: its property list.
#[derive(Debug)]
pub(super) struct Job(String);

impl Job {
    /// Returns the job of a service that runs this program.
    ///
    /// # Errors
    /// [`ServiceError::BadPath`].
    pub(super) fn new(
        layout: &Layout,
        program: &Path,
        is_copied: bool,
    ) -> Result<Self, ServiceError> {
        property_list(layout, program, is_copied).map(Self)
    }
}

impl Launchd {
    /// Finds it.
    ///
    /// # Errors
    /// [`ServiceError::Program`].
    #[cfg(target_os = "macos")]
    pub fn find(owner: Owner) -> Result<Self, ServiceError> {
        let program = SystemProgram::find("launchctl").ok_or(ServiceError::NoLaunchd)?;
        Ok(Self::by(program, owner))
    }

    /// The manager that this program speaks to.
    fn by(program: SystemProgram, owner: Owner) -> Self {
        let target = Target::of(owner, rustix::process::geteuid().as_raw());
        Self { program, target, unload_timeout: Duration::from_secs(30) }
    }

    /// Returns what is known of a service that is installed. None if there is none.
    pub(super) fn earlier(&self, layout: &Layout) -> Result<Option<Earlier>, ServiceError> {
        let text = fs::read_to_string(&layout.unit).ok();
        Ok(text.map(|text| Earlier { has_copied: has_copied(&text) }))
    }

    /// Puts the property list in place. launchd reads it when the service is started.
    pub(super) async fn place(&self, layout: &Layout, job: &Job) -> Result<Placed, ServiceError> {
        place(&layout.unit, PROPERTY_LIST_MODE, &mut job.0.as_bytes())
    }

    /// Takes back a property list.
    pub(super) async fn take_back(&self, placed: Placed) -> Result<(), ServiceError> {
        placed.undo()
    }

    /// Removes the property list. Returns whether there was one.
    pub(super) async fn remove(&self, layout: &Layout) -> Result<bool, ServiceError> {
        remove(&layout.unit).map_err(ServiceError::at(&layout.unit))
    }

    /// Starts the service, also where it runs. From then on launchd starts it with its owner.
    pub(super) async fn start(&self, layout: &Layout, _: &Job) -> Result<(), ServiceError> {
        self.restart(layout).await
    }

    /// Lets its program be replaced, which it may be while it runs. Returns whether it was stopped for that.
    #[cfg(target_os = "macos")]
    pub(super) async fn make_way(&self, _: &Layout) -> Result<bool, ServiceError> {
        Ok(false)
    }

    /// Starts the service, also where it runs.
    pub(super) async fn restart(&self, layout: &Layout) -> Result<(), ServiceError> {
        self.stop(layout).await?;
        self.ask(&self.target.bootstrap(&layout.unit)).await?;
        Ok(self.ask(&self.target.kickstart()).await?)
    }

    /// Stops the service, if it is loaded. It starts again with its owner for as long as its property list is there.
    pub(super) async fn stop(&self, _: &Layout) -> Result<(), ServiceError> {
        // It fails where the service is not loaded, and also while the service ends: what counts is what is loaded then.
        let asked = self.ask(&self.target.bootout()).await;
        let until = Instant::now() + self.unload_timeout;
        while self.is_loaded().await? {
            if Instant::now() >= until {
                asked?;
                return Err(ServiceError::NotUnloaded);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    async fn is_loaded(&self) -> Result<bool, ServiceError> {
        match self.ask(&self.target.print()).await {
            Ok(()) => Ok(true),
            Err(SystemProgramError::Failed { said, .. }) if said.contains(NOT_LOADED) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn ask(&self, words: &[String]) -> Result<(), SystemProgramError> {
        self.program.run(words).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::*;

    /// A program that answers as `launchctl` does: `loaded` says what is loaded, and `asked` gets each line of words.
    const LAUNCHCTL: &str = r#"#!/bin/sh
folder=$(dirname "$0")
echo "$*" >> "$folder/asked"
case $1 in
    bootstrap) test ! -e "$folder/loaded" && test -f "$3" && touch "$folder/loaded" ;;
    bootout) test -e "$folder/loaded" && { test -e "$folder/stubborn" || rm "$folder/loaded"; } ;;
    kickstart | print) test -e "$folder/loaded" ;;
esac || { echo "Could not find service" >&2; exit 113; }
"#;

    struct Mac {
        folder: tempfile::TempDir,
        launchd: Launchd,
        layout: Layout,
    }

    impl Mac {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let program = folder.path().join("launchctl");
            fs::write(&program, LAUNCHCTL).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            let layout = Layout {
                owner: Owner::Person,
                unit: folder.path().join("LaunchAgents/orion-agent.plist"),
                program: folder.path().join("bin/orion-agent"),
                state_dir: folder.path().join("state"),
                config: folder.path().join("agent.toml"),
            };
            let launchd = Launchd::by(SystemProgram::at(program), Owner::Person);
            Self { folder, launchd, layout }
        }

        /// Returns the first words of what was asked since the last time.
        fn asked(&self) -> Vec<String> {
            let path = self.folder.path().join("asked");
            let asked = fs::read_to_string(&path).unwrap_or_default();
            drop(fs::remove_file(path));
            asked.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
        }

        fn has(&self, name: &str) -> bool {
            self.folder.path().join(name).exists()
        }

        fn job(&self) -> Job {
            Job::new(&self.layout, &self.layout.program, true).unwrap()
        }
    }

    #[tokio::test]
    async fn a_job_is_loaded_loaded_again_and_removed_without_a_trace() {
        let mac = Mac::new();
        let Mac { launchd, layout, .. } = &mac;
        assert_eq!(launchd.earlier(layout).unwrap(), None);
        let job = mac.job();
        launchd.place(layout, &job).await.unwrap().keep();
        launchd.start(layout, &job).await.unwrap();
        assert_eq!(mac.asked(), ["bootout", "print", "bootstrap", "kickstart"]);
        assert!(mac.has("loaded"));
        let mode = fs::metadata(&layout.unit).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, PROPERTY_LIST_MODE);
        assert_eq!(launchd.earlier(layout).unwrap(), Some(Earlier { has_copied: true }));

        launchd.start(layout, &job).await.unwrap();
        assert_eq!(mac.asked(), ["bootout", "print", "bootstrap", "kickstart"]);
        launchd.stop(layout).await.unwrap();
        assert!(!mac.has("loaded"));
        assert!(launchd.remove(layout).await.unwrap());
        assert!(!launchd.remove(layout).await.unwrap());
        assert_eq!(launchd.earlier(layout).unwrap(), None);
        assert_eq!(fs::read_dir(layout.unit.parent().unwrap()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_property_list_that_is_taken_back_leaves_the_one_before() {
        let mac = Mac::new();
        let Mac { launchd, layout, .. } = &mac;
        launchd.place(layout, &mac.job()).await.unwrap().keep();
        let before = fs::read(&layout.unit).unwrap();
        let other = Job::new(layout, &PathBuf::from("/other"), false).unwrap();
        let placed = launchd.place(layout, &other).await.unwrap();
        launchd.take_back(placed).await.unwrap();
        assert_eq!(fs::read(&layout.unit).unwrap(), before);
    }

    #[tokio::test]
    async fn a_job_that_stays_loaded_is_no_stopped_one() {
        let mac = Mac::new();
        fs::write(mac.folder.path().join("loaded"), "").unwrap();
        fs::write(mac.folder.path().join("stubborn"), "").unwrap();
        let launchd = Launchd { unload_timeout: Duration::from_millis(300), ..mac.launchd.clone() };
        let error = launchd.stop(&mac.layout).await.unwrap_err();
        assert!(matches!(error, ServiceError::NotUnloaded), "{error}");
        // Nor is one that cannot be asked about.
        let gone = SystemProgram::at(mac.folder.path().join("gone"));
        let error = Launchd::by(gone, Owner::Person).stop(&mac.layout).await.unwrap_err();
        assert!(matches!(error, ServiceError::Program(_)), "{error}");
    }

    #[tokio::test]
    async fn what_launchd_does_not_take_is_an_error() {
        let mac = Mac::new();
        let error = mac.launchd.start(&mac.layout, &mac.job()).await.unwrap_err();
        assert!(error.to_string().contains("Could not find service"), "{error}");
    }
}
