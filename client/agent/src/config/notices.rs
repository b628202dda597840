//! `[notices]` of the owner's file: what the desktop shows of the agent's work.

use std::path::PathBuf;

use orion_domain::grants::Scope;
use orion_domain::{Access, DevicePath, PathStyle, Risk};
use serde::Deserialize;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NoticeSettings {
    /// Whether a call that waits for the person is announced.
    pub questions: bool,
    /// Calls with effects of this risk or a higher one are announced when they run. None for no call.
    pub ran: Option<Risk>,
    /// Whether other permissions of the backend are announced.
    pub permissions: bool,
    /// The program that shows a notice. None for what the system has: `notify-send`, or toasts of Windows.
    pub program: Option<PathBuf>,
}

impl Default for NoticeSettings {
    fn default() -> Self {
        Self { questions: true, ran: None, permissions: false, program: None }
    }
}

impl NoticeSettings {
    /// Checks the section. The agent starts the program without a sandbox, so no call may change it.
    pub(super) fn check(&self, style: PathStyle, ceiling: &Scope) -> Result<(), String> {
        let Some(program) = &self.program else { return Ok(()) };
        let shown = program.display();
        let path = program.to_str().filter(|_| program.is_absolute());
        let Some(path) = path.and_then(|path| DevicePath::parse(style, path).ok()) else {
            return Err(format!(
                "[notices] program = \"{shown}\" is not absolute; write the whole path of the program"
            ));
        };
        let changes = [Access::Write, Access::Delete, Access::Execute];
        if changes.iter().any(|access| ceiling.covering(&path, *access).is_some()) {
            return Err(format!(
                "[notices] program = \"{shown}\" is in a folder that calls may change; put it outside of [ceiling] paths"
            ));
        }
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use crate::config::Settings;

    #[test]
    fn no_program_is_taken_that_a_call_could_change() {
        let of = |program: &str| {
            let text = format!(
                "[ceiling]\nprofile = \"developer\"\npaths = [\"/srv/work\"]\n\n[notices]\nprogram = \"{program}\"\n"
            );
            Settings::parse(&text, None, &[]).map(|settings| settings.notices.program)
        };
        assert_eq!(of("/usr/bin/notify-send"), Ok(Some("/usr/bin/notify-send".into())));
        let error = of("/srv/work/notify.sh").unwrap_err();
        assert!(error.contains("is in a folder that calls may change"), "{error}");
        assert!(of("notify-send").unwrap_err().contains("is not absolute"));
    }
}
