//! How much one file may say. Each rule is compared with each other one, and each path is read once for
//! each device that it is for: a file far beyond what people write would keep the backend busy.

use super::PolicyFile;
use super::granted_paths::GrantedPaths;
use super::rule::RuleEntry;
use crate::finding::{Code, Findings, Position};

/// The most devices.
const MAX_DEVICES: usize = 5_000;
/// The most paths of a profile or a device, and the most that are kept out.
const MAX_PATHS: usize = 1_000;
/// The most of both for all devices together.
const MAX_LENT: usize = 100_000;
/// The most of each list of a rule.
const MAX_LIST: usize = 200;
/// The most in all lists of all rules together.
const MAX_LISTED: usize = 20_000;
/// The most paths of all rules together.
const MAX_RULE_PATHS: usize = 5_000;
/// The most examples of all rules together.
const MAX_EXAMPLES: usize = 2_000;
/// The most paths of rules, each counted once for each device.
const MAX_PRODUCT: usize = 2_000_000;

/// Tells what there is too much of.
pub(super) fn check(policy: &PolicyFile, file: Position, findings: &mut Findings) {
    let PolicyFile { name: _, timezone: _, risk: _, profiles, devices, rules } = policy;
    let mut at_most = |most: usize, found: usize, what: &str, at: Position| {
        if found > most {
            let message = format!("There are {found} {what}, and {most} at most.");
            let hint = "Name folders instead of files, profiles and labels instead of devices.";
            findings.error(at, Code::TooLarge, message, hint);
        }
    };
    at_most(MAX_DEVICES, devices.len(), "devices", file);
    for lent in profiles.values().chain(devices.values().map(|device| &device.lent)) {
        let GrantedPaths { at, paths, deny_paths, .. } = lent;
        at_most(MAX_PATHS, paths.as_ref().map_or(0, Vec::len), "paths here", *at);
        at_most(MAX_PATHS, deny_paths.len(), "denied paths here", *at);
    }
    let lent =
        |lent: &GrantedPaths| lent.paths.as_ref().map_or(0, Vec::len) + lent.deny_paths.len();
    let profile = |lent: &GrantedPaths| profiles.get(&lent.profile.as_ref()?.value);
    let all = devices.values().map(|it| lent(&it.lent) + profile(&it.lent).map_or(0, lent));
    at_most(MAX_LENT, all.sum(), "paths for all devices together", file);

    let mut listed = 0;
    for RuleEntry { at, rule, devices, paths_at: _, examples } in rules {
        for (list, what) in [
            (rule.tools.len(), "tools in this rule"),
            (rule.users.len(), "users in this rule"),
            (rule.roles.len(), "roles in this rule"),
            (rule.paths.len(), "paths in this rule"),
            (devices.len(), "devices in this rule"),
            (examples.len(), "examples in this rule"),
        ] {
            listed += list;
            at_most(MAX_LIST, list, what, *at);
        }
    }
    at_most(MAX_LISTED, listed, "names in the lists of all rules together", file);
    let paths = rules.iter().map(|entry| entry.rule.paths.len()).sum();
    at_most(MAX_RULE_PATHS, paths, "paths in all rules together", file);
    let product = paths.saturating_mul(devices.len());
    at_most(MAX_PRODUCT, product, "paths of rules times devices", file);
    let examples = rules.iter().map(|entry| entry.examples.len()).sum();
    at_most(MAX_EXAMPLES, examples, "examples in all rules together", file);
}
