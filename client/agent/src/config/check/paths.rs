//! Checks the paths of a ceiling against this device's disk.

use std::path::{Path, PathBuf};

use orion_domain::grants::PathGrant;
use orion_domain::path::PathPattern;
use orion_domain::{Access, DevicePath, Grants, Places};
use toml::de::DeTable;

use super::{CheckedDevice, Entry, Findings, list, shown};
use crate::config::configured_path::{ConfiguredPath, Kind, ignores_case, near_name, other_case};

/// A valid path of the ceiling.
struct CheckedPath<'a> {
    at: usize,
    text: &'a str,
    path: DevicePath,
    reads_only: bool,
}

/// Checks every path.
pub(super) fn check(ceiling: &DeTable<'_>, device: &CheckedDevice, findings: &mut Findings<'_>) {
    let entries = list(ceiling, &["paths", "allowed_paths"]);
    let mut allowed = Vec::new();
    for entry in &entries {
        allowed.extend(read(entry, device, findings));
    }
    for one in &allowed {
        exists(one, &allowed, device, findings);
        too_wide(one, device, findings);
    }
    twice(&allowed, findings);
    let workspace = allowed.first().map(|allowed| allowed.path.clone());
    let places = Places { workspace, ..device.places.clone() };
    for entry in list(ceiling, &["deny_paths"]) {
        denied(&entry, &allowed, &places, findings);
    }
}

fn read<'a>(
    entry: &Entry<'a>,
    device: &CheckedDevice,
    findings: &mut Findings<'_>,
) -> Option<CheckedPath<'a>> {
    let text = entry.text("path")?;
    let access = entry.under("access").map(|access| access.items());
    if access.as_ref().is_some_and(Vec::is_empty) {
        let hint = "Name read, write or delete, or leave the path out.";
        findings.error(
            entry.at,
            "grants-nothing",
            format!("`{}` grants nothing.", shown(text)),
            hint,
        );
    }
    if text.contains(['*', '?']) {
        let message = format!("`{}` has wildcards, and what is granted is a folder.", shown(text));
        let hint = "A path grants everything beneath it; leave the `/**` out.";
        findings.error(entry.at, "bad-path", message, hint);
        return None;
    }
    let reads_only =
        access.is_some_and(|access| access.iter().all(|access| access.text("") == Some("read")));
    match DevicePath::resolve(&device.places, text) {
        Ok(path) => Some(CheckedPath { at: entry.at, text, path, reads_only }),
        Err(error) => {
            findings.error(entry.at, "bad-path", format!("`{}`: {error}.", shown(text)), "");
            None
        }
    }
}

/// Checks what is at the path, and whether it can be allowed.
fn exists(
    allowed: &CheckedPath<'_>,
    all: &[CheckedPath<'_>],
    device: &CheckedDevice,
    findings: &mut Findings<'_>,
) {
    let CheckedPath { at, text, path, .. } = allowed;
    let (at, text) = (*at, shown(text));
    let place = ConfiguredPath::of(path);
    let nothing = Grants::default().compile(&device.places).0;
    let own = device.own.iter().filter_map(|own| own.to_str());
    let own: Vec<_> =
        own.filter_map(|own| DevicePath::parse(device.places.style, own).ok()).collect();
    let is_own = |path: &DevicePath| own.iter().any(|own| own.contains(path));
    let is_denied = |path: &DevicePath| nothing.denying(path).is_some();
    // A file that starts programs is denied for changes alone.
    let is_closed = |path: &DevicePath| nothing.denies_changes(path);
    let kept_out = |path: &DevicePath| is_denied(path) || is_own(path);
    // A file that is denied by default is opened by its own name, in a folder that is allowed.
    let names_itself =
        place.kind == Kind::File && is_closed(path) && !is_own(path) && opens_itself(path, device);
    let others = || all.iter().filter(|it| it.at != at);
    let lies_in_another = || others().any(|it| reaches(it, allowed, &device.places));
    // Such a file is reached from a folder that is allowed, also where all else in that folder stays denied.
    let holds_another =
        || others().any(|it| path.contains(&it.path) && opens_itself(&it.path, device));
    if kept_out(path) || (names_itself && !place.is_link) {
        let hint = match () {
            () if names_itself && !place.is_link => {
                if lies_in_another() {
                    return;
                }
                "Allow the folder that it lies in as well."
            }
            () if place.kind == Kind::Folder && !place.is_link && !is_own(path) => {
                if holds_another() {
                    return;
                }
                "Name each file in it that is needed as well, or another folder."
            }
            () if place.kind == Kind::Missing => {
                "Nothing is there yet; name a file that is there, or another folder."
            }
            () => "Name another folder.",
        };
        let denied = if kept_out(path) { "denied" } else { "denied for changes" };
        let message =
            format!("`{text}` is {denied} on every device by default, so it grants nothing.");
        findings.error(at, "kept-out", message, hint);
        return;
    }
    if place.is_link && kept_out(&place.real) {
        let message = format!(
            "`{text}` is {} behind a link, which is denied by default: it grants nothing.",
            place.real
        );
        findings.error(at, "link", message, "Name the folder that is meant, without links.");
    } else if place.is_link {
        let message = format!("`{text}` is {} behind a link: that is what is granted.", place.real);
        let hint = format!(
            "Who may change the link would change what is granted; write `{}`.",
            place.real
        );
        findings.warn(at, "link", message, hint);
    }
    match place.kind {
        Kind::Folder => {}
        Kind::File if names_itself => {}
        Kind::File => {
            let message = format!("`{text}` is no folder, so it grants nothing.");
            findings.error(at, "not-a-folder", message, "Name the folder that it lies in.");
        }
        Kind::Missing => {
            let near = other_case(&PathBuf::from(path.to_string()));
            let hint = near.map_or_else(
                || "Make it, or correct the path.".to_owned(),
                |near| format!("There is `{near}`, which differs in case."),
            );
            findings.warn(at, "missing", format!("There is nothing at `{text}` yet."), hint);
        }
        Kind::Hidden => {
            let message = format!("`{text}` cannot be looked at by this account.");
            findings.warn(at, "unreadable", message, "");
        }
    }
}

/// Returns whether a file is reached from another entry, which is allowed for the same accesses.
fn reaches(other: &CheckedPath<'_>, file: &CheckedPath<'_>, places: &Places) -> bool {
    let access = |it: &CheckedPath<'_>| if it.reads_only { Access::Read } else { Access::Write };
    let entry =
        PathGrant { path: other.path.to_string(), access: [Access::Read, access(other)].into() };
    let (scope, _) = Grants { paths: vec![entry], ..Grants::default() }.compile(places);
    scope.covering(&file.path, access(file)).is_some()
}

/// Returns whether a file that is denied by default is opened by an entry that names it.
fn opens_itself(path: &DevicePath, device: &CheckedDevice) -> bool {
    let entry = PathGrant { path: path.to_string(), access: [Access::Read].into() };
    let (scope, _) = Grants { paths: vec![entry], ..Grants::default() }.compile(&device.places);
    scope.denying(path).is_none()
}

fn too_wide(allowed: &CheckedPath<'_>, device: &CheckedDevice, findings: &mut Findings<'_>) {
    let CheckedPath { at, text, path, reads_only } = allowed;
    let home = device.places.home.as_ref();
    let what = if path.components().len() == 0 {
        "the whole disk"
    } else if home.is_some_and(|home| path.contains(home) && !home.contains(path)) {
        "everybody's home folder"
    } else if !reads_only && home.is_some_and(|home| home.contains(path) && path.contains(home)) {
        "the whole home folder, and not only for reading"
    } else {
        return;
    };
    let message = format!("`{}` grants {what}.", shown(text));
    findings.warn(*at, "too-wide", message, "Name the folders that are needed.");
}

/// Finds entries that mean the same folder, also if they are written differently.
fn twice(allowed: &[CheckedPath<'_>], findings: &mut Findings<'_>) {
    for (index, one) in allowed.iter().enumerate() {
        let written = one.path.to_string();
        let same = allowed.iter().take(index).find(|other| {
            let before = other.path.to_string();
            before == written
                || (before.to_lowercase() == written.to_lowercase()
                    && ignores_case(Path::new(&written)))
        });
        if let Some(other) = same {
            let differs = if other.path.to_string() == written {
                "is there twice"
            } else {
                "is the same folder: this place does not tell case apart"
            };
            let message = format!("`{}` {differs}.", shown(one.text));
            let hint = format!("Leave `{}` alone.", shown(other.text));
            findings.warn(one.at, "twice", message, hint);
        }
    }
}

fn denied(
    entry: &Entry<'_>,
    allowed: &[CheckedPath<'_>],
    places: &Places,
    findings: &mut Findings<'_>,
) {
    let Some(text) = entry.text("") else { return };
    match PathPattern::parse(places, text) {
        Err(error) => {
            let message =
                format!("`{}`: {error}. Until it can be read, every path is closed.", shown(text));
            findings.error(entry.at, "bad-path", message, "");
        }
        Ok(pattern) => {
            let is_closed = |allowed: &&CheckedPath<'_>| {
                pattern.denies(&allowed.path)
                    || pattern.denies(&ConfiguredPath::of(&allowed.path).real)
            };
            for allowed in allowed.iter().filter(is_closed) {
                let message = format!(
                    "`{}` is denied by `{}` in deny_paths, so it grants nothing.",
                    shown(allowed.text),
                    shown(text)
                );
                findings.warn(allowed.at, "kept-out", message, "Take one of the two out.");
            }
            let Some(root) = pattern.root() else { return };
            let place = ConfiguredPath::of(root);
            let near = || near_name(&PathBuf::from(root.to_string()));
            if place.kind == Kind::Missing
                && !text.contains(['*', '?'])
                && let Some(near) = near()
            {
                let message =
                    format!("There is nothing at `{}`; there is `{}`.", shown(text), shown(&near));
                findings.warn(entry.at, "missing", message, "Correct it, or remove it.");
            }
            let real = place.real;
            let meets = |allowed: &CheckedPath<'_>| {
                let place = ConfiguredPath::of(&allowed.path).real;
                [root, &real].into_iter().any(|root| {
                    [&allowed.path, &place]
                        .into_iter()
                        .any(|it| it.contains(root) || root.contains(it))
                })
            };
            if !allowed.iter().any(meets) {
                let message = format!("`{}` keeps out what no path grants.", shown(text));
                findings.warn(entry.at, "never-matches", message, "Remove it, or correct it.");
            }
        }
    }
}
