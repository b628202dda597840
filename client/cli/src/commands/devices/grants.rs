//! Grants as people give them, and as they are sent.

use orion_domain::grants::Grants;
use orion_policy::{LintContext, Severity};

use crate::failure::Failure;
use crate::input;

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
