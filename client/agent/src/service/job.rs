//! The job of launchd on macOS: where its parts are, its property list, and the words for `launchctl`.

use std::path::{Path, PathBuf};

use super::{Layout, Owner, ServiceError};

/// The name of the job, and of its file.
const LABEL: &str = "orion-agent";
const PROGRAM: &str = "orion-agent";
/// The account of the system's job. Accounts of jobs begin with `_` on macOS.
pub(super) const ACCOUNT: &str = "_orion-agent";
/// The folder of the system's job, with everything but its property list.
const SYSTEM_FOLDER: &str = "/Library/Orion";
const OF_A_PERSON: &str = include_str!("../../../../deploy/launchd/orion-agent.user.plist");
const OF_THE_SYSTEM: &str = include_str!("../../../../deploy/launchd/orion-agent.plist");
/// The line that says that the program was copied.
const COPIED: &str = "<!-- ProgramCopied=yes -->";

/// Returns the owner's file and the state folder of the system's job.
pub(super) fn system_locations() -> (PathBuf, PathBuf) {
    let folder = Path::new(SYSTEM_FOLDER);
    (folder.join("agent.toml"), folder.join("agent"))
}

/// Returns the property list and the program. `home` is that of the person.
pub(super) fn places(owner: Owner, home: &Path) -> (PathBuf, PathBuf) {
    let (jobs, programs) = match owner {
        Owner::Person => (home.join("Library/LaunchAgents"), home.join(".local/bin")),
        Owner::System => (PathBuf::from("/Library/LaunchDaemons"), PathBuf::from(SYSTEM_FOLDER)),
    };
    (jobs.join(format!("{LABEL}.plist")), programs.join(PROGRAM))
}

/// What `launchctl` calls a job and the domain that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    domain: String,
}

impl Target {
    /// Returns the target of this owner's job. `uid` is the number of the person's account.
    pub(super) fn of(owner: Owner, uid: u32) -> Self {
        let domain = match owner {
            Owner::Person => format!("gui/{uid}"),
            Owner::System => "system".to_owned(),
        };
        Self { domain }
    }

    /// The words that load the job, which starts it.
    pub(super) fn bootstrap(&self, property_list: &Path) -> Vec<String> {
        let file = property_list.to_string_lossy().into_owned();
        vec!["bootstrap".to_owned(), self.domain.clone(), file]
    }

    /// The words that start a loaded job which does not run.
    pub(super) fn kickstart(&self) -> Vec<String> {
        vec!["kickstart".to_owned(), self.job()]
    }

    /// The words that stop the job and unload it.
    pub(super) fn bootout(&self) -> Vec<String> {
        vec!["bootout".to_owned(), self.job()]
    }

    /// The words that fail where the job is not loaded.
    pub(super) fn print(&self) -> Vec<String> {
        vec!["print".to_owned(), self.job()]
    }

    fn job(&self) -> String {
        format!("{}/{LABEL}", self.domain)
    }
}

/// Returns the property list of a job that runs this program.
///
/// # Errors
/// [`ServiceError::BadPath`].
pub(super) fn property_list(
    layout: &Layout,
    program: &Path,
    is_copied: bool,
) -> Result<String, ServiceError> {
    let template = match layout.owner {
        Owner::Person => OF_A_PERSON,
        Owner::System => OF_THE_SYSTEM,
    };
    let program = escaped(program)?;
    let (state_dir, config) = (escaped(&layout.state_dir)?, escaped(&layout.config)?);
    let words = [&*program, "run", "--state-dir", &state_dir, "--config", &config];
    let lines = words.iter().map(|word| format!("\t\t<string>{word}</string>\n"));
    let copied = if is_copied { "yes" } else { "no" };
    // Paths come last, so that nothing in them is replaced.
    Ok(template.replace("@COPIED@", copied).replace("@WORDS@", &lines.collect::<String>()))
}

/// Returns whether the job of this property list runs a program that `install` copied.
pub(super) fn has_copied(property_list: &str) -> bool {
    property_list.lines().any(|line| line == COPIED)
}

/// Returns a path as text of XML.
fn escaped(path: &Path) -> Result<String, ServiceError> {
    let bad = || ServiceError::BadPath { path: path.to_owned() };
    let text = path.to_str().ok_or_else(bad)?;
    // XML has no control characters, and these two beyond them.
    if text.chars().any(|c| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')) {
        return Err(bad());
    }
    Ok(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(owner: Owner, state: &str) -> Layout {
        let (unit, program) = places(owner, Path::new("/Users/ann"));
        let config = PathBuf::from("/nowhere/agent.toml");
        Layout { owner, unit, program, state_dir: PathBuf::from(state), config }
    }

    #[test]
    fn the_job_of_a_person_lies_in_the_home_and_that_of_the_system_in_a_folder_of_its_own() {
        let places = |owner| {
            let Layout { unit, program, .. } = layout(owner, "/s");
            (unit.display().to_string(), program.display().to_string())
        };
        let expected = |unit: &str, program: &str| (unit.to_owned(), program.to_owned());
        assert_eq!(
            places(Owner::Person),
            expected(
                "/Users/ann/Library/LaunchAgents/orion-agent.plist",
                "/Users/ann/.local/bin/orion-agent"
            )
        );
        assert_eq!(
            places(Owner::System),
            expected("/Library/LaunchDaemons/orion-agent.plist", "/Library/Orion/orion-agent")
        );
        let (config, state) = system_locations();
        assert_eq!(config, Path::new("/Library/Orion/agent.toml"));
        assert_eq!(state, Path::new("/Library/Orion/agent"));
    }

    /// Returns the text between two tags that follow a key, for keys with one value.
    fn value<'a>(text: &'a str, key: &str) -> &'a str {
        let (_, after) = text.split_once(&format!("<key>{key}</key>\n\t<")).unwrap();
        after.lines().next().unwrap()
    }

    #[test]
    fn a_job_starts_at_once_and_again_and_keeps_no_output() {
        for owner in [Owner::Person, Owner::System] {
            let layout = layout(owner, "/s");
            let text = property_list(&layout, &layout.program, true).unwrap();
            let found = ["Label", "RunAtLoad", "KeepAlive", "ThrottleInterval", "Umask"];
            assert_eq!(
                found.map(|key| value(&text, key)),
                [
                    "string>orion-agent</string>",
                    "true/>",
                    "true/>",
                    "integer>10</integer>",
                    "integer>63</integer>"
                ]
            );
            assert!(!text.contains('@') && !text.contains("StandardOut"), "{text}");
            assert!(!text.contains("StandardError") && !text.contains("EnvironmentVar"), "{text}");
        }
    }

    #[test]
    fn the_job_of_the_system_has_an_account_of_its_own_and_that_of_a_person_none() {
        let text = |owner| {
            let layout = layout(owner, "/s");
            property_list(&layout, &layout.program, false).unwrap()
        };
        assert_eq!(value(&text(Owner::System), "UserName"), format!("string>{ACCOUNT}</string>"));
        assert!(!text(Owner::Person).contains("UserName"));
        assert_eq!(value(&text(Owner::Person), "AbandonProcessGroup"), "true/>");
    }

    #[test]
    fn a_path_is_one_word_whatever_it_contains() {
        let of = |state| property_list(&layout(Owner::Person, state), Path::new("/p/a b"), true);
        let found = of("/s/</string><string>--config & \"x\"").unwrap();
        let word = "\t\t<string>/s/&lt;/string&gt;&lt;string&gt;--config &amp; \"x\"</string>";
        assert!(found.lines().any(|line| line == word), "{found}");
        assert_eq!(found.matches("\t\t<string>").count(), 6, "{found}");
        for bad in ["/s/a\nb", "/s/\u{0}", "/s/\u{7f}", "/s/\u{85}", "/s/\u{ffff}"] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_path_can_say_that_the_program_was_copied() {
        let layout = layout(Owner::Person, "/s/<!-- ProgramCopied=yes -->");
        let text = |is_copied| property_list(&layout, Path::new("/p"), is_copied).unwrap();
        assert!(has_copied(&text(true)) && !has_copied(&text(false)));
    }

    #[test]
    fn launchctl_gets_the_domain_of_the_owner() {
        let words = |owner| {
            let target = Target::of(owner, 501);
            let all = [
                target.bootstrap(Path::new("/j/orion-agent.plist")),
                target.kickstart(),
                target.bootout(),
                target.print(),
            ];
            all.map(|words| words.join(" "))
        };
        assert_eq!(
            words(Owner::Person),
            [
                "bootstrap gui/501 /j/orion-agent.plist",
                "kickstart gui/501/orion-agent",
                "bootout gui/501/orion-agent",
                "print gui/501/orion-agent",
            ]
        );
        assert_eq!(
            words(Owner::System),
            [
                "bootstrap system /j/orion-agent.plist",
                "kickstart system/orion-agent",
                "bootout system/orion-agent",
                "print system/orion-agent",
            ]
        );
    }
}
