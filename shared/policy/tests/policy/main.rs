//! The policy file from outside: what is taken, what is told, and what comes of it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test ends where something is not as it should be"
)]

mod compile;
mod decisions;
mod diff;
mod grammar;
mod lint;
mod story;

use orion_policy::{Finding, LintContext, PolicyFile, Severity, check};

/// Every finding of a text, with everything looked at.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    check(text, "policy.yaml", &LintContext::default()).1
}

/// The findings by place and code, such as `3:5 unknown-key`; `!` before errors.
pub(crate) fn codes(text: &str) -> Vec<String> {
    findings(text).iter().map(code).collect()
}

pub(crate) fn code(finding: &Finding) -> String {
    let Finding { severity, line, column, code, .. } = finding;
    let sign = if *severity == Severity::Error { "!" } else { "" };
    format!("{line}:{column} {sign}{}", code.as_str())
}

/// A file in which nothing is an error.
pub(crate) fn valid(text: &str) -> PolicyFile {
    let (policy, findings) = check(text, "policy.yaml", &LintContext::default());
    policy.unwrap_or_else(|| {
        let told: Vec<_> = findings.iter().map(ToString::to_string).collect();
        panic!("{}", told.join("\n"))
    })
}
