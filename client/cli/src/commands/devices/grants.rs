//! Grants as people give them, and as they are sent.

use orion_domain::Hint;
use orion_domain::grants::Grants;
use orion_policy::{LintContext, Severity};

use crate::app::App;
use crate::failure::Failure;
use crate::input;
use crate::text;

/// Reads grants, JSON or YAML, from a file or standard input. A JSON object may be given as itself.
///
/// # Errors
/// They cannot be read, or are invalid.
pub(crate) fn read_grants(given: &str) -> Result<Grants, Failure> {
    let is_object = given.trim_start().starts_with('{');
    let text = if is_object { given.to_owned() } else { input::document(given)? };
    // JSON is YAML.
    serde_yaml_ng::from_str(&text).map_err(|error| {
        let shown = if is_object { "the text" } else { given.trim_start_matches('@') };
        let (what, hint) = explained(&text).unwrap_or_else(|| (error.to_string(), None));
        let failure = Failure::Usage(format!("{shown} is not grants: {what}"));
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure.hint("see docs/permissions.md for what grants are made of"),
        }
    })
}

/// Returns what the policy's own checks say of grants, and what to do: they know names, and not only types.
fn explained(text: &str) -> Option<(String, Option<String>)> {
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    let file = format!("version: 1\ndevices:\n  device:\n{indented}");
    let (_, findings) = orion_policy::check(&file, "grants", &LintContext::default());
    let finding = findings.into_iter().find(|it| it.severity == Severity::Error)?;
    let message = finding.message.trim_end_matches('.').to_owned();
    let at = finding.line.saturating_sub(3);
    let hint = Some(finding.hint).filter(|hint| !hint.is_empty());
    Some((format!("line {at}: {message}"), hint))
}

/// Serialises grants for sending.
///
/// # Errors
/// They cannot be expressed in JSON.
pub(crate) fn to_json(grants: &Grants) -> Result<String, Failure> {
    serde_json::to_string(grants)
        .map_err(|error| Failure::Failed(format!("the grants cannot be sent: {error}")))
}

/// Says that every call on a device is denied whose grants name no tool, and how that is changed.
pub(crate) fn note_no_tool(app: &App<'_>, device: &str, grants: &Grants) {
    let Grants { profile, tools, capabilities, paths, .. } = grants;
    if profile.is_some() || tools.is_some() || capabilities.is_some() {
        return;
    }
    let device = text::one_line(device, 80);
    let path = if paths.is_empty() { " --path PATH --access read,write" } else { "" };
    app.out.step(&Hint::run(
        format!("{device} has no tool yet, so that every call on it is denied: give it a profile once it is enrolled"),
        format!("orion devices permissions add {device} --profile operator{path}"),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_given_as_themselves_or_as_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("grants.yaml");
        std::fs::write(&file, "profile: reader\n").unwrap();
        let read = read_grants(r#" {"profile": "reader"}"#).unwrap();
        assert_eq!(read_grants(&file.display().to_string()).unwrap(), read);
        assert_eq!(read_grants(&format!("@{}", file.display())).unwrap(), read);
        assert_eq!(read_grants("{\"profile\"").unwrap_err().exit_code(), 2);
        assert_eq!(read_grants("/nonexistent").unwrap_err().exit_code(), 3);
    }
}
