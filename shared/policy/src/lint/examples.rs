//! Checks that each rule matches the calls of its examples as they say.

use orion_domain::path::PathPattern;
use orion_domain::rule::{Counted, Moment, Quantity, Rule};
use orion_domain::{Caller, DeviceName, DevicePath, Places, Question, Role, Touches, UserName};

use super::{LintedDevice, guess};
use crate::example::{self, Call};
use crate::file::PolicyFile;
use crate::file::rule::RuleEntry;
use crate::finding::{Code, Findings, shown};

/// Checks every example.
pub(super) fn check(policy: &PolicyFile, devices: &[LintedDevice], findings: &mut Findings) {
    for entry in &policy.rules {
        for example in &entry.examples {
            let line = shown(&example.text);
            let hint = "Write `tool name=value … device=NAME`, with user=, role= and at= where they matter.";
            let call = match example::read(&example.text) {
                Ok(call) => call,
                Err(why) => {
                    let message = format!("`{line}` is not a call: {why}.");
                    findings.error(example.at, Code::ExampleUnreadable, message, hint);
                    continue;
                }
            };
            match speaks(policy, entry, &call, devices) {
                Err(why) => {
                    let message = format!("`{line}` is not a call: {why}.");
                    findings.error(example.at, Code::ExampleUnreadable, message, hint);
                }
                Ok(Some(speaks)) if speaks != example.speaks => {
                    let id = &entry.rule.id;
                    let message = if example.speaks {
                        format!("{id} does not match `{line}`, and should.")
                    } else {
                        format!("{id} matches `{line}`, and should not.")
                    };
                    let hint = "Correct the rule or the example.";
                    findings.error(example.at, Code::ExampleFails, message, hint);
                }
                Ok(_) => {}
            }
        }
    }
}

/// Returns whether a rule matches a call; `None` where that depends on labels that are stored with the device, or on where
/// its home folder is. What the example omits is taken from the rule, so that only what the example says can prevent a match.
fn speaks(
    policy: &PolicyFile,
    entry: &RuleEntry,
    call: &Call,
    devices: &[LintedDevice],
) -> Result<Option<bool>, String> {
    let rule = &entry.rule;
    let device = match &call.device {
        Some(name) => devices.iter().find(|device| device.name == *name),
        None => devices.iter().find(|device| policy.selects(entry, &device.name)),
    };
    let places = device.map_or_else(
        || guess(rule.paths.iter().map(String::as_str)),
        |device| device.places.clone(),
    );
    let parsed = call.parse(&places)?;
    let sure = match device.is_some_and(|device| device.has_reported) {
        true => rule.paths.clone(),
        false => sure_paths(rule, &parsed.touches, &places),
    };
    let name: Option<DeviceName> =
        call.device.clone().or_else(|| device.map(|device| device.name.clone()));
    let labels_count =
        name.as_ref().is_some_and(|name| policy.depends_on_stored_labels(entry, name));
    if !labels_count && name.as_ref().is_some_and(|name| !policy.selects(entry, name)) {
        return Ok(Some(false));
    }
    let someone = || "someone".parse::<UserName>().map_err(|error| error.to_string());
    let user = call.user.clone().or_else(|| rule.users.first().cloned());
    let caller = Caller {
        user: user.map_or_else(someone, Ok)?,
        role: call.role.or_else(|| rule.roles.first().copied()).unwrap_or(Role::Operator),
        conversation: None,
    };
    let device = match name {
        Some(name) => name,
        None => "any".parse().map_err(|error| format!("{error}"))?,
    };
    let question = Question {
        tool: parsed.facts,
        touches: Some(&parsed.touches),
        arguments: Some(&parsed.arguments),
        caller: &caller,
        device: &device,
        dry_run: false,
        confirmed: true,
        at: moment(rule, call),
        content: None,
        raises: &[],
        counted: Some(enough(rule)),
    };
    let with = |paths: Vec<String>| {
        let (compiled, _) = Rule { paths, ..rule.clone() }.compile(&places);
        compiled.speaks(0, &question)
    };
    let is_sure = sure.len() == rule.paths.len();
    let speaks = if is_sure || (!sure.is_empty() && with(sure.clone())) {
        Some(with(sure))
    } else {
        // Without its paths a rule matches more, so one that does not match then does not match at any home.
        (!with(Vec::new())).then_some(false)
    };
    Ok(speaks.filter(|speaks| !(labels_count && *speaks)))
}

/// Returns the paths of a rule that match a call the same wherever the home folder is: not a path below it where the call
/// touches one elsewhere, nor the other way round.
fn sure_paths(rule: &Rule, touches: &Touches, places: &Places) -> Vec<String> {
    let is_at_home =
        |path: &DevicePath| places.home.as_ref().is_some_and(|home| home.contains(path));
    let is_sure = |written: &&String| {
        // A path that cannot be read counts in the same way everywhere.
        let Ok(pattern) = PathPattern::parse(places, written) else { return true };
        let Some(root) = pattern.root() else { return true };
        let at_home = is_at_home(root);
        !written.contains("..")
            && touches.paths.iter().all(|touch| is_at_home(&touch.path) == at_home)
    };
    rule.paths.iter().filter(is_sure).cloned().collect()
}

/// Returns counts at which the rule's limits are met.
fn enough(rule: &Rule) -> Counted<'static> {
    if rule.action.tightens() {
        Counted { earlier: &[u32::MAX], quantity: None }
    } else {
        Counted { earlier: &[], quantity: Some(Quantity { entries: Some(0), bytes: Some(0) }) }
    }
}

/// Returns the example's time, on a day of the rule's where it names none; or a time in the rule's
/// hours.
fn moment(rule: &Rule, call: &Call) -> Moment {
    let hours = rule.hours.as_ref();
    let first = hours.and_then(|hours| hours.days.first().copied());
    let at = |weekday, minute| Moment { unix_ms: i64::MIN, weekday, minute };
    match call.at {
        None => at(first.unwrap_or(0), hours.map_or(0, |hours| hours.from)),
        Some((Some(day), minute)) => at(day, minute),
        Some((None, minute)) => {
            let fits = |day: &u8| hours.is_none_or(|hours| hours.hold(at(*day, minute)));
            at((0..7).find(fits).unwrap_or(0), minute)
        }
    }
}
