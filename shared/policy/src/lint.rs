//! Lints a policy file beyond its grammar: rules that never match or match too much, and entries that
//! contradict their own examples.

mod case;
mod ceiling;
mod examples;
mod grants;
mod passkeys;
mod reach;
mod shadow;

use std::collections::BTreeMap;
use std::rc::Rc;

use orion_domain::grants::Scope;
use orion_domain::{DeviceName, DevicePath, Grants, PathStyle, Places, Role};

use crate::file::PolicyFile;
use crate::file::rule::RuleEntry;
use crate::finding::{Finding, Findings};
use crate::labels::Labels;

/// What is known about time and devices. Checks that need an unknown fact are skipped.
#[derive(Debug, Clone, Default)]
pub struct LintContext {
    /// The enrolled devices, each with the facts that it reported. `None` where the fleet is unknown.
    pub devices: Option<BTreeMap<DeviceName, Option<Facts>>>,
    /// The labels that are stored with devices and with enrolment tokens.
    pub labels: Vec<Labels>,
    /// Unix milliseconds. `None` means that no rule is reported as expired.
    pub now_ms: Option<i64>,
    /// The roles of the people who have a passkey, one for each person. `None` where that is unknown.
    pub passkeys: Option<Vec<Role>>,
}

/// The facts that a device reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The device's path style, workspace and home.
    pub places: Places,
    /// Whether names that differ only in case are one name there, as is usual on Windows and macOS.
    pub folds_case: bool,
    /// The ceiling of the device's owner. `None` where it is not compared.
    pub ceiling: Option<Grants>,
}

/// The devices of each rule, by their positions in the list of devices. Rules with the same selectors
/// share them: rules and devices are many and selections are few.
type Members = Vec<Rc<[usize]>>;

/// A device of the file as the linter sees it.
#[derive(Debug)]
pub(crate) struct LintedDevice {
    name: DeviceName,
    places: Places,
    /// Whether the device has reported its places, so that they are not guessed.
    has_reported: bool,
    /// Whether case is ignored there. `None` where that is unknown.
    folds_case: Option<bool>,
    scope: Scope,
}

impl PolicyFile {
    /// Lints the file; the findings are ordered by line.
    #[must_use]
    pub fn lint(&self, environment: &LintContext) -> Vec<Finding> {
        let mut findings = Findings::of(&self.name);
        let devices: Vec<LintedDevice> = self
            .devices
            .iter()
            .map(|(name, entry)| {
                let grants = self.grants(entry);
                let reported = environment.devices.as_ref().and_then(|all| all.get(name)?.clone());
                let has_reported = reported.is_some();
                let (places, folds_case) = match reported {
                    Some(Facts { places, folds_case, .. }) => (places, Some(folds_case)),
                    None => {
                        let written = grants.paths.iter().map(|path| path.path.as_str());
                        let denied = grants.deny_paths.iter().map(String::as_str);
                        let places = guess(written.chain(denied));
                        let is_windows = places.style == PathStyle::Windows;
                        (places, is_windows.then_some(true))
                    }
                };
                let scope = grants.compile(&places).0;
                LintedDevice { name: name.clone(), places, has_reported, folds_case, scope }
            })
            .collect();
        grants::check(self, environment, &devices, &mut findings);
        ceiling::check(self, environment, &devices, &mut findings);
        let members = self.members(&devices);
        reach::check(self, environment, &devices, &members, &mut findings);
        shadow::check(self, &devices, &members, &mut findings);
        case::check(self, &devices, &members, &mut findings);
        passkeys::check(self, environment, &mut findings);
        examples::check(self, &devices, &mut findings);
        findings.into_sorted()
    }

    fn members(&self, devices: &[LintedDevice]) -> Members {
        let mut known: BTreeMap<Vec<String>, Rc<[usize]>> = BTreeMap::new();
        let of = |entry: &RuleEntry| {
            let named = entry.devices.iter().map(|selector| selector.value.to_string());
            let select = || {
                let all = devices.iter().enumerate();
                all.filter(|(_, device)| self.selects(entry, &device.name))
                    .map(|(index, _)| index)
                    .collect()
            };
            Rc::clone(known.entry(named.collect()).or_insert_with(select))
        };
        self.rules.iter().map(of).collect()
    }
}

/// Guesses places from these paths, for a device that has not reported its own.
pub(crate) fn guess<'a>(mut written: impl Iterator<Item = &'a str>) -> Places {
    let is_windows = |path: &str| {
        let mut characters = path.chars();
        let letter = characters.next().is_some_and(|first| first.is_ascii_alphabetic());
        (letter && characters.next() == Some(':'))
            || path.contains('\\')
            || path.to_ascii_lowercase().starts_with("%userprofile%")
    };
    let (style, home) = if written.any(is_windows) {
        (PathStyle::Windows, "C:/Users/owner")
    } else {
        (PathStyle::Posix, "/home/owner")
    };
    let home = DevicePath::parse(style, home).ok();
    Places { workspace: home.clone(), home, ..Places::bare(style) }
}
