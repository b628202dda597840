//! Checks grants: paths that are invalid on their device, and entries that grant nearly everything.

use orion_catalog::RunsOn;
use orion_domain::path::PathPattern;
use orion_domain::{Access, DeviceName, DevicePath, Places};

use super::{LintContext, LintedDevice};
use crate::file::{DeviceEntry, PolicyFile};
use crate::finding::{Code, Findings, did_you_mean, shown};

/// Checks each device's grants.
pub(super) fn check(
    policy: &PolicyFile,
    environment: &LintContext,
    devices: &[LintedDevice],
    findings: &mut Findings,
) {
    for device in devices {
        let Some(entry) = policy.devices.get(&device.name) else { continue };
        let name = &device.name;
        if let Some(enrolled) = &environment.devices
            && !enrolled.contains_key(name)
        {
            let message = format!("No device {name} is enrolled.");
            let hint = did_you_mean(name.as_str(), enrolled.keys().map(|name| name.as_str()));
            findings.warning(entry.granted.at, Code::UnknownDevice, message, hint);
        }
        wrong_targets(name, entry, findings);
        let granted = policy.granted_paths(entry);
        let places = &device.places;
        // A granted path cannot be relative.
        let anchored = Places { workspace: None, ..places.clone() };
        for grant in granted.paths.iter().flatten() {
            match DevicePath::resolve(&anchored, &grant.value.path) {
                Err(error) => {
                    let message = format!("`{}` on {name}: {error}.", shown(&grant.value.path));
                    findings.error(grant.at, Code::BadPath, message, "");
                }
                Ok(path) => {
                    let changes = grant.value.access.iter().any(|access| *access != Access::Read);
                    if let Some(what) = width(&path, places, changes) {
                        let message =
                            format!("`{}` grants {what} of {name}.", shown(&grant.value.path));
                        let hint = "Name the folders that are needed.";
                        findings.warning(grant.at, Code::TooWide, message, hint);
                    }
                }
            }
        }
        for entry in &granted.deny_paths {
            if let Err(error) = PathPattern::parse(places, &entry.value) {
                let message = format!(
                    "`{}` on {name}: {error}. Until it can be read, every path there is closed.",
                    shown(&entry.value)
                );
                findings.error(entry.at, Code::BadPath, message, "");
            }
        }
    }
}

/// Reports tools that a device lists and the backend runs, or the reverse.
fn wrong_targets(name: &DeviceName, entry: &DeviceEntry, findings: &mut Findings) {
    let is_backend = name.as_str() == DeviceName::BACKEND;
    let here = if is_backend { RunsOn::Backend } else { RunsOn::Device };
    for tool in entry.granted.tools.iter().flatten() {
        if orion_catalog::find(tool).is_none_or(|(spec, _)| spec.runs_on == here) {
            continue;
        }
        let (message, hint) = if is_backend {
            let message =
                format!("{tool} runs on devices, so granting it on backend has no effect.");
            (message, "Grant it on a device.")
        } else {
            let message =
                format!("{tool} runs on the backend, so granting it on {name} has no effect.");
            (message, "Grant it on the device `backend`.")
        };
        findings.warning(entry.granted.at, Code::WrongTarget, message, hint);
    }
}

/// Returns what a folder holds beyond any likely intent, if anything.
pub(super) fn width(path: &DevicePath, places: &Places, changes: bool) -> Option<&'static str> {
    let home = places.home.as_ref();
    if path.components().len() == 0 {
        Some("the whole disk")
    } else if home.is_some_and(|home| path.contains(home) && !home.contains(path)) {
        Some("everybody's home folder")
    } else if changes && home.is_some_and(|home| home.contains(path) && path.contains(home)) {
        Some("the whole home folder, with changes,")
    } else {
        None
    }
}
