//! The text of the unit, from `deploy/systemd/`.

use std::path::{Path, PathBuf};

use super::{Layout, Owner, ServiceError};

const OF_A_PERSON: &str = include_str!("../../../../deploy/systemd/orion-agent.user.service");
const OF_THE_SYSTEM: &str = include_str!("../../../../deploy/systemd/orion-agent.service");
/// The line that says that the program was copied.
const COPIED: &str = "ProgramCopied=yes";

/// Returns the text of the unit for this program.
///
/// # Errors
/// [`ServiceError::BadPath`].
pub(super) fn text(
    layout: &Layout,
    program: &Path,
    is_copied: bool,
) -> Result<String, ServiceError> {
    let template = match layout.owner {
        Owner::Person => OF_A_PERSON,
        Owner::System => OF_THE_SYSTEM,
    };
    let mut line = vec![quoted(program)?, "run".to_owned(), "--state-dir".to_owned()];
    line.push(quoted(&layout.state_dir)?);
    // A file that is named must be there.
    if layout.config.exists() {
        line.extend(["--config".to_owned(), quoted(&layout.config)?]);
    }
    let copied = if is_copied { "yes" } else { "no" };
    Ok(template.replace("@EXEC@", &line.join(" ")).replace("@COPIED@", copied))
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
        let line = r#"ExecStart="/p/a b" run --state-dir "/s/50%% \"x\" \\y""#;
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
