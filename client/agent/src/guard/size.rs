//! How much policy a device takes. A policy file is at most 1 MiB with 1,000 rules; what is far beyond
//! that is no policy, and compiling it would keep the device busy for a liar.

use orion_wire::DevicePolicy;

/// The most bytes.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The most rules: a file's, and those that people made of answers.
const MAX_RULES: usize = 4_000;
/// The most paths that are lent, and the most that are kept out.
const MAX_PATHS: usize = 4_000;
/// The most paths of all rules together.
const MAX_RULE_PATHS: usize = 20_000;

/// What there is too much of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} {what}, and at most {most} are taken")]
pub struct TooLarge {
    /// Of what.
    pub what: &'static str,
    /// How much there is.
    pub found: usize,
    /// How much there may be.
    pub most: usize,
}

/// Whether the policy is worth reading.
pub(super) fn of_bytes(bytes: &[u8]) -> Result<(), TooLarge> {
    at_most(MAX_BYTES, bytes.len(), "bytes")
}

/// Whether it is worth compiling.
pub(super) fn of_policy(policy: &DevicePolicy) -> Result<(), TooLarge> {
    let DevicePolicy { grants, rules, risk: _, mode: _, timezone: _ } = policy;
    at_most(MAX_PATHS, grants.paths.len(), "paths")?;
    at_most(MAX_PATHS, grants.deny_paths.len(), "denied paths")?;
    at_most(MAX_RULES, rules.len(), "rules")?;
    at_most(MAX_RULE_PATHS, rules.iter().map(|rule| rule.paths.len()).sum(), "paths of rules")
}

fn at_most(most: usize, found: usize, what: &'static str) -> Result<(), TooLarge> {
    if found <= most { Ok(()) } else { Err(TooLarge { what, found, most }) }
}
