//! The policy file: what each device lends and which rules hold across devices, as an admin writes it.
//!
//! [`check`] reads a file, tells everything that is wrong with it, each with its place and what to do
//! instead, and gives a [`PolicyFile`] only when nothing is. [`PolicyFile::compile`] makes of it what
//! the evaluator takes for one device. Nothing here decides a call: that is the domain's.
//!
//! # Grammar
//!
//! YAML 1.2, one document of at most 1 MiB, without anchors, aliases and tags. Top level: `version: 1`,
//! `timezone`, `risk`, `profiles`, `devices`, `rules`.
//!
//! A device begins with its `profile`, one of the file's own or a built-in one; an own profile may begin
//! with a built-in one. Each list that a device sets replaces its profile's; `deny_paths` alone add up.
//! Labels stand with the device, and `group:x` in a rule is short for `label:group=x`.
//!
//! A rule without `devices`, or with `devices: all`, holds on every device, named in the file or not.
//! `action: allow` pre-approves, unless `require_approval: true` makes it ask.

mod compile;
mod diff;
mod example;
mod file;
mod finding;
mod lint;
mod read;
mod time;
mod yaml;

pub use compile::CompiledDevice;
pub use diff::{Change, ChangeKind, diff, diff_grants};
pub use file::PolicyFile;
pub use finding::{Code, Finding, Severity};
pub use lint::{Facts, LintContext};

/// Reads a policy file and looks at it as a whole. The file is given only when no finding is an error.
///
/// Where a policy that was accepted before is loaded again, pass [`Surroundings::default`]: then
/// nothing that changes with time or with the fleet makes it invalid.
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
