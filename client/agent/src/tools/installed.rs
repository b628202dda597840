//! Asks a program for its version.

use orion_catalog::installed::{InstalledDaemon, InstalledProgram, version};
use orion_domain::{ErrorCode, ToolError};

use super::service_managers::containers;
use super::{CommandContext, Outcome};
use crate::programs::{Answer, ask};
use crate::sandbox::Network;

/// The longest version that is passed on, in characters.
const MAX_VERSION: usize = 64;

/// Asks the first of some programs that is installed for its version, and compares it.
pub(super) fn program(
    (what, names, arguments): (&str, &[&str], &[&str]),
    min_version: &str,
    context: &CommandContext<'_>,
) -> Result<Outcome<InstalledProgram>, ToolError> {
    let least = version(min_version)?;
    let Some(answer) = first(names, arguments, context, Network::Nothing)? else {
        let data = InstalledProgram { installed: false, version: None, path: None, ok: false };
        return Ok(Outcome::new(format!("{what} is not installed."), data));
    };
    let found = answer.is_ok().then(|| version_in(&answer.stdout)).flatten();
    let Some(found) = found else {
        let path = Some(answer.path);
        let data = InstalledProgram { installed: false, version: None, path, ok: false };
        return Ok(Outcome::new(format!("{what} is there and does not say its version."), data));
    };
    let ok = is_enough(&found, &least);
    let so = if ok { "which is enough" } else { "which is too old" };
    let message = format!("{what} {found} is installed, {so}.");
    let data =
        InstalledProgram { installed: true, version: Some(found), path: Some(answer.path), ok };
    Ok(Outcome::new(message, data))
}

/// Returns the answer of the first program that is there. `None` where there is none.
pub(super) fn first(
    names: &[&str],
    arguments: &[&str],
    context: &CommandContext<'_>,
    network: Network,
) -> Result<Option<Answer>, ToolError> {
    for name in names {
        match ask(context, name, arguments, network) {
            Err(error) if is_missing(&error) => {}
            answered => return answered.map(Some),
        }
    }
    Ok(None)
}

/// Returns whether an error says that a program is not installed.
pub(super) fn is_missing(error: &ToolError) -> bool {
    error.code == ErrorCode::NotSupported && error.details.contains_key("program")
}

/// Asks Docker, or else Podman, for its version and its containers.
pub(super) fn docker(context: &CommandContext<'_>) -> Result<Outcome<InstalledDaemon>, ToolError> {
    let Some((engine, version)) = containers::engine(context)? else {
        return Ok(daemon("Docker", containers::NOT_INSTALLED));
    };
    let containers = containers::count(engine, &[], context)?;
    let running = containers.is_some();
    let data = InstalledDaemon { installed: true, running, version, containers };
    Ok(daemon(engine.title(), data))
}

/// Returns what the tools about daemons return, with a sentence.
pub(super) fn daemon(what: &str, data: InstalledDaemon) -> Outcome<InstalledDaemon> {
    let message = match (data.installed, data.running, data.containers) {
        (false, _, _) => format!("{what} is not installed."),
        (true, false, _) => format!("{what} is installed, and its daemon does not answer."),
        (true, true, Some(1)) => format!("{what} is running, with 1 container."),
        (true, true, count) => {
            format!("{what} is running, with {} containers.", count.unwrap_or_default())
        }
    };
    Outcome::new(message, data)
}

/// Returns the first version in a text: `git version 2.43.0` has `2.43.0`.
fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let mut words = line.split_whitespace();
    let word = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
    Some(word.chars().take_while(|c| is_plain(*c)).take(MAX_VERSION).collect())
}

/// Returns whether a version is at least another one, number by number.
fn is_enough(found: &str, least: &[u32]) -> bool {
    let digits = |part: &str| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().unwrap_or_default()
    };
    let mut numbers: Vec<u32> = found.split('.').map(digits).collect();
    numbers.resize(numbers.len().max(least.len()), 0);
    numbers.as_slice() >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_and_compared_number_by_number() {
        for (text, expected) in [
            ("git version 2.43.0\n", Some("2.43.0")),
            ("git version 2.39.3 (Apple Git-146)\n", Some("2.39.3")),
            ("Python 3.12.3\n", Some("3.12.3")),
            ("Python 3.13.0rc1+\n", Some("3.13.0rc1+")),
            ("\n", None),
            ("no version", None),
        ] {
            assert_eq!(version_in(text).as_deref(), expected, "{text}");
        }
        for (found, least, expected) in [
            ("3.9", "3.9", true),
            ("3.9.1", "3.9", true),
            ("3.10.0", "3.9", true),
            ("3.8.18", "3.9", false),
            ("3", "3.0.0", true),
            ("2.43.0.windows.1", "2.43.1", false),
        ] {
            assert_eq!(is_enough(found, &version(least).unwrap()), expected, "{found} {least}");
        }
        for wrong in ["", "3.", "x", "-1", "3 9", "99999999999"] {
            assert_eq!(version(wrong).unwrap_err().code, ErrorCode::InvalidArgument, "{wrong}");
        }
    }
}
