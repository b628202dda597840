//! The policy file: the grants of each device and the rules across devices, as an admin writes them.
//!
//! [`check`] parses a file and reports every problem with its place and a hint. It returns a
//! [`PolicyFile`] only if no finding is an error. [`PolicyFile::compile`] converts the file to the
//! evaluator's input for one device. Nothing here evaluates a call: the domain does.
//! # Grammar
//!
//! YAML 1.2, one document of at most 1 MiB, without anchors, aliases and tags. Top level: `version: 1`,
//! `timezone`, `risk`, `profiles`, `devices`, `rules`.
//!
//! A device begins with its `profile`, one of the file's own or a built-in one; an own profile may begin
//! with a built-in one. Each list that a device sets replaces its profile's; `deny_paths` alone add up.
//! Labels are written with the device, or stored with it where the file writes none; `group:x` in a rule is short
//! for `label:group=x`.
//!
//! A rule without `devices`, or with `devices: all`, applies to every device, named in the file or not.
//! `action: allow` pre-approves, unless `require_approval: true` makes it ask.

mod compile;
mod diff;
mod example;
mod file;
mod finding;
mod labels;
mod lint;
mod name;
mod read;
mod time;
mod yaml;

pub use compile::CompiledDevice;
pub use diff::{
    Change, ChangeKind, diff, diff_grants, diff_labels, diff_risks, diff_rules, rule_summary,
};
pub use file::PolicyFile;
pub use file::rule::Selector;
pub use finding::{Code, Finding, Severity};
pub use labels::{LabelChange, LabelError, Labels, MAX_LABELS};
pub use lint::{Facts, LintContext};

/// Parses and lints a policy file. The file is returned only if no finding is an error.
///
/// A policy that was accepted before is loaded with [`PolicyFile::parse`]: nothing that changes with time or with the fleet
/// makes it invalid then.
#[must_use]
pub fn check(
    text: &str,
    file_name: &str,
    environment: &LintContext,
) -> (Option<PolicyFile>, Vec<Finding>) {
    let (policy, mut findings) = PolicyFile::parse(text, file_name);
    let Some(policy) = policy else { return (None, findings) };
    findings.extend(policy.lint(environment));
    findings.sort_by_key(|finding| (finding.line, finding.column));
    let is_valid = findings.iter().all(|finding| finding.severity != Severity::Error);
    (is_valid.then_some(policy), findings)
}
