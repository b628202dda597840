//! Reports grants that have no effect because the device's owner allows less.

use orion_catalog::{CATALOG, RunsOn};
use orion_domain::evaluate::agent_of;
use orion_domain::grants::Scope;
use orion_domain::services::Service;
use orion_domain::touches::ServiceTouch;
use orion_domain::{Access, DevicePath, Places};

use super::{LintContext, LintedDevice};
use crate::file::PolicyFile;
use crate::finding::{Code, Findings, Position, shown};

/// The most entries that one finding names.
const MAX_NAMED: usize = 5;

/// Checks each device whose ceiling is known.
pub(super) fn check(
    policy: &PolicyFile,
    environment: &LintContext,
    devices: &[LintedDevice],
    findings: &mut Findings,
) {
    for device in devices {
        let Some(entry) = policy.devices.get(&device.name) else { continue };
        let facts = environment.devices.as_ref().and_then(|all| all.get(&device.name)?.as_ref());
        let Some(ceiling) = facts.and_then(|facts| facts.ceiling.as_ref()) else { continue };
        let ceiling = ceiling.compile(&device.places).0;
        tools(device, &ceiling, entry.granted.at, findings);
        lists(device, &ceiling, entry.granted.at, findings);
        let anchored = Places { workspace: None, ..device.places.clone() };
        for grant in policy.granted_paths(entry).paths.iter().flatten() {
            let Ok(root) = DevicePath::resolve(&anchored, &grant.value.path) else { continue };
            // A grant of a folder around an allowed one has an effect there.
            let has_effect = |access: Access| {
                ceiling.covering(&root, access).is_some()
                    || ceiling
                        .allowed
                        .iter()
                        .any(|it| root.contains(&it.root) && it.access.contains(&access))
            };
            let kept: Vec<_> =
                grant.value.access.iter().copied().filter(|access| !has_effect(*access)).collect();
            if !kept.is_empty() {
                let message = format!(
                    "The ceiling of {} does not allow `{}` ({}), so this grant has no effect there.",
                    device.name,
                    shown(&grant.value.path),
                    kept.iter().map(|access| access.as_str()).collect::<Vec<_>>().join(", ")
                );
                // The command replaces what the owner allowed there.
                let granted = &grant.value.access;
                let option = if granted.contains(&Access::Delete) {
                    ""
                } else if granted.contains(&Access::Write) {
                    " --write"
                } else {
                    " --read"
                };
                let hint = if kept == [Access::Execute] {
                    "The device's owner allows it in agent.toml.".to_owned()
                } else {
                    format!(
                        "The device's owner allows it with `{} allow {}{option}`, on the device.",
                        agent_of(device.places.owner_file.as_ref()),
                        shown(&grant.value.path)
                    )
                };
                findings.warning(grant.at, Code::AboveCeiling, message, hint);
            }
        }
    }
}

fn tools(device: &LintedDevice, ceiling: &Scope, at: Position, findings: &mut Findings) {
    let allows = |scope: &Scope, spec: &orion_catalog::ToolSpec| {
        scope.lists_tool(spec.name) && scope.missing_capability(spec.capabilities).is_none()
    };
    let names: Vec<_> = CATALOG
        .iter()
        .filter(|spec| spec.runs_on == RunsOn::Device)
        .filter(|spec| allows(&device.scope, spec) && !allows(ceiling, spec))
        .map(|spec| spec.name)
        .collect();
    report(device, &names, at, findings);
}

/// Checks the lists of applications, programs, services and logs. A ceiling's list of hosts, where it is empty, keeps
/// tools from contacting hosts and applications from nothing, so that a granted host may have an effect.
fn lists(device: &LintedDevice, ceiling: &Scope, at: Position, findings: &mut Findings) {
    let scope = &device.scope;
    let entry = |kind: &str, entry: &dyn std::fmt::Display| {
        format!("the {kind} `{}`", shown(&entry.to_string()))
    };
    let apps = scope.apps.difference(&ceiling.apps).map(|app| entry("app", app));
    let commands = scope.commands.iter().flatten();
    let commands = commands.filter(|it| !ceiling.grants_command(it)).map(|it| entry("command", it));
    let is_read = |service: &Service| ceiling.lists_service(&ServiceTouch::read(service.clone()));
    let services = scope.services.iter().filter(|it| !is_read(&it.service));
    let services = services.map(|it| entry("service", it));
    let logs = scope.logs.iter().filter(|it| !ceiling.lists_log(&it.0)).map(|it| entry("log", it));
    let above: Vec<_> = apps.chain(commands).chain(services).chain(logs).collect();
    report(device, &above, at, findings);
}

/// Reports what the ceiling does not allow, as one finding.
fn report(device: &LintedDevice, above: &[impl AsRef<str>], at: Position, findings: &mut Findings) {
    let named: Vec<_> = above.iter().take(MAX_NAMED).map(AsRef::as_ref).collect();
    let rest = match above.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        rest => format!(" and {rest} more"),
    };
    if named.is_empty() {
        return;
    }
    let message = format!(
        "The ceiling of {} does not allow {}{rest}, so granting this has no effect there.",
        device.name,
        named.join(", ")
    );
    let hint = format!(
        "The device's owner allows it in agent.toml; `orion devices review {}` shows both.",
        device.name
    );
    findings.warning(at, Code::AboveCeiling, message, hint);
}
