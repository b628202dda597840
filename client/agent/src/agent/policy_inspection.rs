//! Finds policy entries that do not match this device: folders behind links, names that differ in case,
//! applications that are not installed. The findings are reported with the acknowledgement, so that the
//! policy's author sees them.
//!
//! Reports paths only inside folders that the owner allows for reading: the sender of a policy learns
//! nothing else about the disk.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use orion_domain::path::{PathPattern, covers};
use orion_domain::{Access, DevicePath, ErrorCode, Places};
use orion_wire::{DevicePolicy, v1};

use crate::config::Settings;
use crate::config::configured_path::{ConfiguredPath, Kind, other_case};
use crate::execute::Toolbox;

/// The most findings that are reported.
const MAX_FINDINGS: usize = 64;
/// The most paths that are looked up.
const MAX_PATHS: usize = 2_000;
/// The longest text that is reported, in characters.
const MAX_TEXT: usize = 300;

/// A policy, and the settings and applications to compare it with.
pub(super) struct PolicyInspection {
    pub(super) policy: DevicePolicy,
    pub(super) settings: Settings,
    pub(super) toolbox: Arc<Toolbox>,
}

/// Returns what does not match this device. Reads the disk, which may take a while.
pub(super) fn inspect(inspection: &PolicyInspection) -> Vec<v1::PolicyFinding> {
    let PolicyInspection { policy, settings, toolbox } = inspection;
    let mut found = Vec::new();
    let allowed = OwnerPath::of(settings);
    let mut seen = BTreeSet::new();
    for (entry, path, allows) in named(policy, &settings.places) {
        if seen.len() < MAX_PATHS && seen.insert((entry, allows)) {
            found.extend(allowed.inspect_path(entry, &path, allows));
        }
    }
    for app in &policy.grants.apps {
        if let Err(error) = toolbox.apps.get(app)
            && error.code == ErrorCode::NotSupported
        {
            found.push(finding("app", app, String::new()));
        }
    }
    found.truncate(MAX_FINDINGS);
    found
}

fn finding(kind: &str, entry: &str, found: String) -> v1::PolicyFinding {
    let short = |text: &str| text.chars().take(MAX_TEXT).collect();
    v1::PolicyFinding { kind: kind.to_owned(), entry: short(entry), found: short(&found) }
}

/// Returns every path that a policy names, as written, and whether its entry allows. An allowing entry
/// matches only as written; a denying entry matches in either case.
fn named<'a>(
    policy: &'a DevicePolicy,
    places: &'a Places,
) -> impl Iterator<Item = (&'a str, DevicePath, bool)> {
    let anchored = Places { workspace: None, ..places.clone() };
    let granted = policy.grants.paths.iter().filter_map(move |grant| {
        let path = DevicePath::resolve(&anchored, &grant.path).ok()?;
        Some((grant.path.as_str(), path, true))
    });
    let pattern = |text: &'a str, allows: bool| {
        let pattern = PathPattern::parse(places, text).ok()?;
        Some((text, pattern.root()?.clone(), allows))
    };
    let denied = policy.grants.deny_paths.iter().filter_map(move |text| pattern(text, false));
    let rules = policy.rules.iter().flat_map(move |rule| {
        let allows = !rule.action.tightens();
        rule.paths.iter().filter_map(move |text| pattern(text, allows))
    });
    granted.chain(denied).chain(rules)
}

/// The folders that the owner allows for reading, each by its name and by its real path.
struct OwnerPath<'a> {
    settings: &'a Settings,
    roots: Vec<(&'a DevicePath, DevicePath)>,
}

impl<'a> OwnerPath<'a> {
    fn of(settings: &'a Settings) -> Self {
        let allowed = settings.scope.allowed.iter();
        let read = allowed.filter(|allowed| allowed.access.contains(&Access::Read));
        let roots =
            read.map(|allowed| (&allowed.root, ConfiguredPath::of(&allowed.root).real)).collect();
        Self { settings, roots }
    }

    fn keeps_out(&self, path: &DevicePath) -> bool {
        self.settings.scope.deny_all_paths
            || self.settings.scope.denying(path).is_some()
            || self.settings.private.iter().any(|private| private.may_contain(path))
    }

    fn inspect_path(
        &self,
        entry: &str,
        path: &DevicePath,
        allows: bool,
    ) -> Option<v1::PolicyFinding> {
        let (root, real_root) = self.roots.iter().find(|(root, _)| covers(root, path))?;
        if self.keeps_out(path) {
            return None;
        }
        let below = path.relative_to(root)?;
        // Links that the owner's own file goes through are not reported.
        let expected =
            below.into_iter().try_fold(real_root.clone(), |to, name| to.join(name).ok())?;
        let place = ConfiguredPath::of(path);
        if place.real.to_string() != expected.to_string() {
            let is_case = place.real.may_contain(&expected) && expected.may_contain(&place.real);
            if is_case {
                return allows.then(|| finding("case", entry, place.real.to_string()));
            }
            let inside = self.roots.iter().any(|(_, root)| covers(root, &place.real));
            let may_report = inside && !self.keeps_out(&place.real);
            let leads = if may_report { place.real.to_string() } else { String::new() };
            return Some(finding("link", entry, leads));
        }
        if !allows || place.kind != Kind::Missing || path == *root {
            return None;
        }
        let near = other_case(&PathBuf::from(path.to_string()))?;
        let near = path.parent()?.join(&near).ok()?;
        (!self.keeps_out(&near)).then(|| finding("case", entry, near.to_string()))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use orion_domain::rule::RuleAction;
    use orion_domain::{Grants, Rule};
    use serde_json::json;

    use super::*;
    use crate::apps::Apps;
    use crate::call::Installation;
    use crate::sandbox::Sandbox;
    use crate::trash::Trash;

    /// Returns the findings as `kind entry → found`, without the test's folder.
    fn reported(folder: &Path, grants: serde_json::Value, rules: Vec<Rule>) -> Vec<String> {
        let at = folder.to_str().unwrap();
        let ceiling = format!(
            "[ceiling]\nprofile = \"operator\"\npaths = [\"{at}/granted\", \"{at}/also\", {{ path = \"{at}/blind\", access = [\"write\"] }}]\ndeny_paths = [\"{at}/granted/kept\"]\napps = [\"explorer\", \"editor\", \"chrome\"]\n[apps]\neditor = \"{at}/no/editor\"\n"
        );
        let private = [folder.join("granted/state")];
        let settings = Settings::parse(&ceiling, Some(folder), &private).unwrap();
        let apps = Apps::discover(["explorer"], &settings.apps).0;
        let toolbox = Toolbox {
            places: settings.places.clone(),
            apps,
            programs: crate::programs::Programs::default(),
            trash: Arc::new(Trash::open(folder).unwrap()),
            device_id: String::new(),
            sandbox: Sandbox::detect(),
            installation: Installation::default(),
            #[cfg(target_os = "linux")]
            workers: Arc::default(),
        };
        let text = grants.to_string().replace("AT", at);
        let grants: Grants = serde_json::from_str(&text).unwrap();
        let policy = DevicePolicy { grants, rules, ..DevicePolicy::default() };
        let found = inspect(&PolicyInspection { policy, settings, toolbox: Arc::new(toolbox) });
        let words = |it: v1::PolicyFinding| format!("{} {} → {}", it.kind, it.entry, it.found);
        found.into_iter().map(|it| words(it).replace(at, "")).collect()
    }

    fn folders() -> tempfile::TempDir {
        let temp = tempfile::tempdir().unwrap();
        for name in [
            "granted/real",
            "granted/work",
            "granted/kept",
            "granted/state",
            "also",
            "out",
            "blind/b",
        ] {
            fs::create_dir_all(temp.path().join(name)).unwrap();
        }
        let link = |name: &str, to: &str| {
            symlink(temp.path().join(to), temp.path().join("granted").join(name)).unwrap();
        };
        link("inside", "granted/real");
        link("beside", "also");
        link("outside", "out");
        link("secret", "granted/kept");
        temp
    }

    fn rule(action: RuleAction, paths: &[String]) -> Rule {
        Rule { paths: paths.to_vec(), ..Rule::new("r", action) }
    }

    #[test]
    fn what_is_behind_a_link_or_written_otherwise_or_not_installed_is_told() {
        let temp = folders();
        let at = temp.path().to_str().unwrap();
        let grants = json!({
            "paths": ["AT/granted", "AT/granted/real", "AT/granted/inside/x", "AT/granted/beside", "AT/granted/outside", "AT/granted/secret", "AT/granted/Work", "AT/granted/new"],
            "deny_paths": ["AT/granted/WORK", "AT/granted/inside/*.key"],
            "apps": ["explorer", "editor", "other"],
        });
        let rules = vec![
            rule(
                RuleAction::Ask,
                &[format!("{at}/granted/beside/**"), format!("{at}/granted/Real")],
            ),
            rule(RuleAction::Preapprove, &[format!("{at}/granted/REAL")]),
        ];
        let mut expected = vec![
            "link /granted/inside/x → /granted/real/x",
            "link /granted/beside → /also",
            "link /granted/outside → ",
            "link /granted/secret → ",
            "case /granted/Work → /granted/work",
            "link /granted/inside/*.key → /granted/real",
            "link /granted/beside/** → /also",
            "case /granted/REAL → /granted/real",
            "app editor → ",
        ];
        let found = reported(temp.path(), grants, rules);
        let explorer = "app explorer → ".to_owned();
        if found.contains(&explorer) {
            expected.push("app explorer → ");
        }
        let mut found: Vec<&str> = found.iter().map(String::as_str).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn nothing_is_told_of_what_the_owner_does_not_lend_for_reading() {
        let temp = folders();
        symlink(temp.path().join("out"), temp.path().join("away")).unwrap();
        symlink(temp.path().join("out"), temp.path().join("blind/link")).unwrap();
        symlink(temp.path().join("out"), temp.path().join("granted/kept/link")).unwrap();
        symlink(temp.path().join("out"), temp.path().join("granted/state/link")).unwrap();
        let grants = json!({
            "paths": ["AT/away", "AT/Out", "AT/blind/link", "AT/blind/B", "AT/granted/kept/link", "AT/granted/state/link", "AT/granted/State"],
            "apps": ["not-the-owners"],
        });
        assert_eq!(reported(temp.path(), grants, Vec::new()), [""; 0]);
    }

    #[test]
    fn a_folder_that_the_owner_lends_behind_a_link_is_as_it_is_named() {
        let temp = folders();
        fs::rename(temp.path().join("granted"), temp.path().join("elsewhere")).unwrap();
        symlink(temp.path().join("elsewhere"), temp.path().join("granted")).unwrap();
        let grants = json!({"paths": ["AT/granted", "AT/granted/work", "AT/granted/beside"]});
        let found = reported(temp.path(), grants, Vec::new());
        assert_eq!(found, ["link /granted/beside → /also"]);
    }

    #[test]
    fn no_more_is_told_than_has_room() {
        let temp = folders();
        let paths: Vec<_> = (0..100).map(|n| format!("AT/granted/inside/{n}")).collect();
        assert_eq!(reported(temp.path(), json!({"paths": paths}), Vec::new()).len(), MAX_FINDINGS);
    }
}
