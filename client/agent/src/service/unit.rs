//! The unit of systemd: its text, from `deploy/systemd/`, and its file.

use std::fs;
use std::path::{Path, PathBuf};

use super::files::{Placed, place};
use super::{Earlier, Layout, Owner, ServiceError, Systemd};
use crate::owner_file::remove;

const OF_A_PERSON: &str = include_str!("../../../../deploy/systemd/orion-agent.user.service");
const OF_THE_SYSTEM: &str = include_str!("../../../../deploy/systemd/orion-agent.service");
/// The line that says that the program was copied.
const COPIED: &str = "ProgramCopied=yes";

const UNIT_MODE: u32 = 0o644;

/// What the manager of services is to know of the service.
#[derive(Debug)]
pub(super) struct Unit(String);

impl Unit {
    /// Returns the unit of a service that runs this program.
    ///
    /// # Errors
    /// [`ServiceError::BadPath`].
    pub(super) fn new(
        layout: &Layout,
        program: &Path,
        is_copied: bool,
    ) -> Result<Self, ServiceError> {
        text(layout, program, is_copied).map(Self)
    }
}

impl Systemd {
    /// Returns what is known of a service that is installed. None if there is none.
    pub(super) fn earlier(&self, layout: &Layout) -> Result<Option<Earlier>, ServiceError> {
        let text = fs::read_to_string(&layout.unit).ok();
        Ok(text.map(|text| Earlier { has_copied: has_copied(&text) }))
    }

    /// Puts the unit in place.
    pub(super) async fn place(&self, layout: &Layout, unit: &Unit) -> Result<Placed, ServiceError> {
        let placed = place(&layout.unit, UNIT_MODE, &mut unit.0.as_bytes())?;
        if let Err(error) = self.reload().await {
            // The first error is the one to report.
            drop(placed.undo());
            return Err(error.into());
        }
        Ok(placed)
    }

    /// Takes back a unit.
    pub(super) async fn take_back(&self, placed: Placed) -> Result<(), ServiceError> {
        placed.undo()?;
        Ok(self.reload().await?)
    }

    /// Removes the unit. Returns whether there was one.
    pub(super) async fn remove(&self, layout: &Layout) -> Result<bool, ServiceError> {
        let was_there = remove(&layout.unit).map_err(ServiceError::at(&layout.unit))?;
        self.reload().await?;
        Ok(was_there)
    }
}

/// Returns the text of the unit for this program.
fn text(layout: &Layout, program: &Path, is_copied: bool) -> Result<String, ServiceError> {
    let template = match layout.owner {
        Owner::Person => OF_A_PERSON,
        Owner::System => OF_THE_SYSTEM,
    };
    let (state_dir, config) = (quoted(&layout.state_dir)?, quoted(&layout.config)?);
    let line =
        [&*quoted(program)?, "run", "--state-dir", &state_dir, "--config", &config].join(" ");
    let copied = if is_copied { "yes" } else { "no" };
    Ok(template.replace("@EXEC@", &line).replace("@COPIED@", copied))
}

/// Returns whether the unit of this text runs a program that `install` copied.
pub(super) fn has_copied(text: &str) -> bool {
    text.lines().any(|line| line == COPIED)
}

/// Returns a path as one word of a unit's command line.
fn quoted(path: &Path) -> Result<String, ServiceError> {
    let bad = || ServiceError::BadPath { path: PathBuf::from(path) };
    let text = path.to_str().ok_or_else(bad)?;
    // `$` begins a variable in arguments and not in the program, so no escape serves for both.
    if text.chars().any(|c| c.is_control() || c == '$') {
        return Err(bad());
    }
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    Ok(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(owner: Owner, state: &str) -> Layout {
        Layout {
            owner,
            unit: PathBuf::from("/u/orion-agent.service"),
            program: PathBuf::from("/p/orion-agent"),
            state_dir: PathBuf::from(state),
            config: PathBuf::from("/nowhere/agent.toml"),
        }
    }

    #[test]
    fn a_path_is_one_word_and_no_specifier_or_variable_of_the_unit() {
        let unit = |state| text(&layout(Owner::Person, state), Path::new("/p/a b"), true);
        let line = r#"ExecStart="/p/a b" run --state-dir "/s/50%% \"x\" \\y" --config "/nowhere/agent.toml""#;
        let found = unit(r#"/s/50% "x" \y"#).unwrap();
        assert!(found.lines().any(|it| it == line), "{found}");
        assert!(has_copied(&found) && !found.contains('@'), "{found}");
        for bad in ["/s/$HOME", "/s/a\nExecStartPre=/bin/sh", "/s/\u{7f}"] {
            assert!(unit(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_unit_of_the_system_has_an_account_and_no_placeholder() {
        let found = text(&layout(Owner::System, "/s"), Path::new("/usr/bin/orion-agent"), false);
        let found = found.unwrap();
        assert!(found.contains("\nUser=orion-agent\n") && !has_copied(&found), "{found}");
        let open = found.lines().filter(|it| it.contains("=@") && !it.starts_with("System"));
        assert_eq!(open.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
