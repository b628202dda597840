//! The policy file from outside: what is accepted, what is reported, and the compiled result.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod ceiling;
mod compile;
mod decisions;
mod diff;
mod grammar;
mod labels;
mod lint;
mod story;

use orion_policy::{Finding, LintContext, PolicyFile, Severity, check};

/// Returns every finding of a text, with all checks enabled.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    check(text, "policy.yaml", &LintContext::default()).1
}

/// Returns the findings by place and code, such as `3:5 unknown-key`; `!` before errors.
pub(crate) fn codes(text: &str) -> Vec<String> {
    findings(text).iter().map(code).collect()
}

pub(crate) fn code(finding: &Finding) -> String {
    let Finding { severity, line, column, code, .. } = finding;
    let sign = if *severity == Severity::Error { "!" } else { "" };
    format!("{line}:{column} {sign}{}", code.as_str())
}

/// Parses a file without errors.
pub(crate) fn valid(text: &str) -> PolicyFile {
    let (policy, findings) = check(text, "policy.yaml", &LintContext::default());
    policy.unwrap_or_else(|| {
        let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}
