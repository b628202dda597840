//! Limits on the size of a policy. A policy file is at most 1 MiB with 1,000 rules. Anything far larger
//! comes from a lying backend, and compiling it would only keep the device busy.

use orion_wire::DevicePolicy;

/// The most bytes.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The most rules: those of the file, and those that people made from approvals.
const MAX_RULES: usize = 4_000;
/// The most granted paths, and the most denied paths.
const MAX_PATHS: usize = 4_000;
/// The most grants that people got on request.
const MAX_TEMPORARY: usize = 1_000;
/// The most conditions on arguments of all rules together.
const MAX_ARGUMENTS: usize = 1_000;
/// The most paths of all rules together.
const MAX_RULE_PATHS: usize = 20_000;

/// The limit that a policy exceeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} {what}, and at most {most} are taken")]
pub struct TooLarge {
    /// What is limited, in the plural.
    pub what: &'static str,
    /// The number in the policy.
    pub found: usize,
    /// The largest allowed number.
    pub most: usize,
}

/// Checks the size before the policy is parsed.
pub(super) fn of_bytes(bytes: &[u8]) -> Result<(), TooLarge> {
    at_most(MAX_BYTES, bytes.len(), "bytes")
}

/// Checks the numbers of entries before the policy is compiled.
pub(super) fn of_policy(policy: &DevicePolicy) -> Result<(), TooLarge> {
    let DevicePolicy { grants, temporary, rules, risk: _, mode: _, timezone: _ } = policy;
    at_most(MAX_PATHS, grants.paths.len(), "paths")?;
    at_most(MAX_PATHS, grants.deny_paths.len(), "denied paths")?;
    at_most(MAX_TEMPORARY, temporary.len(), "temporary grants")?;
    at_most(MAX_PATHS, temporary.iter().map(|it| it.paths.len()).sum(), "temporary paths")?;
    at_most(MAX_RULES, rules.len(), "rules")?;
    let arguments = rules.iter().map(|rule| rule.arguments.len()).sum();
    at_most(MAX_ARGUMENTS, arguments, "conditions on arguments")?;
    at_most(MAX_RULE_PATHS, rules.iter().map(|rule| rule.paths.len()).sum(), "paths of rules")
}

fn at_most(most: usize, found: usize, what: &'static str) -> Result<(), TooLarge> {
    if found <= most { Ok(()) } else { Err(TooLarge { what, found, most }) }
}
