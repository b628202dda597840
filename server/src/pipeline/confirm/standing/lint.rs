//! Checks a rule of an approval with the policy linter, as if an admin had written it.

use orion_domain::{DeviceName, PathStyle, Places, Rule};
use orion_policy::{Code, Facts, LintContext, Severity};
use serde_json::json;

use crate::clock::now_ms;

/// Returns what the policy linter rejects in a rule, as if an admin had written it for the device. None if
/// it accepts the rule.
pub(super) fn lint(rule: &Rule, device: &DeviceName, places: Places) -> Option<String> {
    /// The line of the rule in the text below; errors of earlier lines do not count.
    const LINE: u32 = 5;
    let grants = json!({"tools": rule.tools, "paths": rule.paths});
    let written = json!({
        "id": rule.id, "devices": [device], "tools": rule.tools, "users": rule.users,
        "paths": rule.paths, "because": rule.because, "action": "allow",
    });
    let text = format!("version: 1\ndevices:\n  \"{device}\": {grants}\nrules:\n  - {written}\n");
    let folds_case = places.style == PathStyle::Windows;
    let devices =
        Some([(device.clone(), Some(Facts { places, folds_case, ceiling: None }))].into());
    let (_, findings) = orion_policy::check(
        &text,
        "",
        &LintContext { devices, now_ms: Some(now_ms()), ..LintContext::default() },
    );
    let mut findings = findings.into_iter().filter(|finding| finding.line >= LINE);
    let refused = findings
        .find(|finding| finding.severity == Severity::Error || finding.code == Code::TooWide)?;
    Some(format!("{} {}", refused.message, refused.hint).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::rule::RuleAction;

    #[test]
    fn a_rule_of_an_answer_is_one_that_an_admin_could_have_written() {
        let places = Places::parse(PathStyle::Posix, Some("/home/ann"), Some("/home/ann")).unwrap();
        let lint = |tool: &str, path: &str| {
            let rule = Rule {
                tools: vec![tool.to_owned()],
                users: vec!["ann".parse().unwrap()],
                paths: vec![path.to_owned()],
                ..Rule::new("approval-1", RuleAction::Preapprove)
            };
            lint(&rule, &"kiosk".parse().unwrap(), places.clone())
        };
        for path in ["/home/ann/old", "/srv/files/a \"quoted\" name", "/home/ann/ä: #b"] {
            assert_eq!(lint("delete_directory", path), None, "{path}");
        }
        for path in ["/home/ann", "/home"] {
            let found = lint("delete_directory", path).unwrap();
            assert!(found.contains("home folder"), "{found}");
        }
        assert!(lint("no_such_tool", "/home/ann/old").is_some());
    }
}
