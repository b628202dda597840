//! Limits on the size of one file. Each rule is compared with every other, and each path is parsed once
//! for each device that it applies to: a file far larger than people write would keep the backend busy.

use super::PolicyFile;
use super::granted_paths::GrantedPaths;
use super::rule::RuleEntry;
use crate::finding::{Code, Findings, Position};

/// The maximum number of devices.
const MAX_DEVICES: usize = 5_000;
/// The maximum number of paths, and of denied paths, of a profile or a device.
const MAX_PATHS: usize = 1_000;
/// The maximum number of both for all devices together.
const MAX_GRANTED: usize = 100_000;
/// The maximum length of each list of a rule.
const MAX_LIST: usize = 200;
/// The maximum number of entries in all lists of all rules together.
const MAX_LISTED: usize = 20_000;
/// The maximum number of paths of all rules together.
const MAX_RULE_PATHS: usize = 5_000;
/// The maximum number of conditions on arguments of all rules together. Each may look through a whole text.
const MAX_ARGUMENTS: usize = 200;
/// The maximum number of examples of all rules together.
const MAX_EXAMPLES: usize = 2_000;
/// The maximum number of rule paths, each counted once for each device.
const MAX_PRODUCT: usize = 2_000_000;

/// Reports each exceeded limit.
pub(super) fn check(policy: &PolicyFile, file: Position, findings: &mut Findings) {
    let PolicyFile { profiles, devices, rules, .. } = policy;
    let mut at_most = |most: usize, found: usize, what: &str, at: Position| {
        if found > most {
            let message = format!("There are {found} {what}, and {most} at most.");
            let hint = "Name folders instead of files, profiles and labels instead of devices.";
            findings.error(at, Code::TooLarge, message, hint);
        }
    };
    at_most(MAX_DEVICES, devices.len(), "devices", file);
    for granted in profiles.values().chain(devices.values().map(|device| &device.granted)) {
        let GrantedPaths { at, paths, deny_paths, .. } = granted;
        at_most(MAX_PATHS, paths.as_ref().map_or(0, Vec::len), "paths here", *at);
        at_most(MAX_PATHS, deny_paths.len(), "denied paths here", *at);
    }
    let count = |granted: &GrantedPaths| {
        granted.paths.as_ref().map_or(0, Vec::len) + granted.deny_paths.len()
    };
    let profile = |granted: &GrantedPaths| profiles.get(&granted.profile.as_ref()?.value);
    let all = devices.values().map(|it| count(&it.granted) + profile(&it.granted).map_or(0, count));
    at_most(MAX_GRANTED, all.sum(), "paths for all devices together", file);

    let mut listed = 0;
    for RuleEntry { at, rule, devices, paths_at: _, examples } in rules {
        for (list, what) in [
            (rule.tools.len(), "tools in this rule"),
            (rule.users.len(), "users in this rule"),
            (rule.roles.len(), "roles in this rule"),
            (rule.paths.len(), "paths in this rule"),
            (rule.arguments.len(), "arguments in this rule"),
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
    let arguments = rules.iter().map(|entry| entry.rule.arguments.len()).sum();
    at_most(MAX_ARGUMENTS, arguments, "arguments in all rules together", file);
    let product = paths.saturating_mul(devices.len());
    at_most(MAX_PRODUCT, product, "paths of rules times devices", file);
    let examples = rules.iter().map(|entry| entry.examples.len()).sum();
    at_most(MAX_EXAMPLES, examples, "examples in all rules together", file);
}
