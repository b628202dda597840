//! What the grammar cannot see: what a policy says that can never hold, holds for too much, or is not
//! what it says of itself.

mod case;
mod examples;
mod grants;
mod reach;
mod shadow;

use std::collections::BTreeMap;
use std::rc::Rc;

use orion_domain::grants::Scope;
use orion_domain::{DeviceName, DevicePath, PathStyle, Places};

use crate::file::PolicyFile;
use crate::file::rule::RuleEntry;
use crate::finding::{Finding, Findings};

/// What is known around a policy file. What is not known is not held against it.
#[derive(Debug, Clone, Default)]
pub struct LintContext {
    /// The devices that are enrolled, each with what it has told of itself.
    pub devices: Option<BTreeMap<DeviceName, Option<Facts>>>,
    /// The time, Unix milliseconds. Without it no rule is held to have expired.
    pub now_ms: Option<i64>,
}

/// What a device has told of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// How it writes paths, and where they begin.
    pub places: Places,
    /// Whether names that differ in case alone are one name there, as is usual on Windows and macOS.
    pub folds_case: bool,
}

/// The devices of each rule, by their positions among the grounds. Rules with the same selectors share
/// them, for rules and devices are many and selections are few.
type Members = Vec<Rc<[usize]>>;

/// A device of the file as the linter sees it.
#[derive(Debug)]
pub(crate) struct LintedDevice {
    name: DeviceName,
    places: Places,
    /// Whether case tells names apart there, as far as that is known.
    folds_case: Option<bool>,
    scope: Scope,
}

impl PolicyFile {
    /// Looks at the file as a whole, ordered by line.
    #[must_use]
    pub fn lint(&self, environment: &LintContext) -> Vec<Finding> {
        let mut findings = Findings::of(&self.name);
        let grounds: Vec<LintedDevice> = self
            .devices
            .iter()
            .map(|(name, entry)| {
                let grants = self.grants(entry);
                let told = environment.devices.as_ref().and_then(|all| all.get(name)?.clone());
                let (places, folds_case) = match told {
                    Some(Facts { places, folds_case }) => (places, Some(folds_case)),
                    None => {
                        let written = grants.paths.iter().map(|path| path.path.as_str());
                        let denied = grants.deny_paths.iter().map(String::as_str);
                        let places = guess(written.chain(denied));
                        let is_windows = places.style == PathStyle::Windows;
                        (places, is_windows.then_some(true))
                    }
                };
                let scope = grants.compile(&places).0;
                LintedDevice { name: name.clone(), places, folds_case, scope }
            })
            .collect();
        grants::check(self, environment, &grounds, &mut findings);
        let members = self.members(&grounds);
        reach::check(self, environment, &grounds, &members, &mut findings);
        shadow::check(self, &grounds, &members, &mut findings);
        case::check(self, &grounds, &members, &mut findings);
        examples::check(self, &grounds, &mut findings);
        findings.into_sorted()
    }

    fn members(&self, grounds: &[LintedDevice]) -> Members {
        let mut known: BTreeMap<Vec<String>, Rc<[usize]>> = BTreeMap::new();
        let of = |entry: &RuleEntry| {
            let named = entry.devices.iter().map(|selector| selector.value.to_string());
            let select = || {
                let all = grounds.iter().enumerate();
                all.filter(|(_, ground)| self.selects(entry, &ground.name))
                    .map(|(index, _)| index)
                    .collect()
            };
            Rc::clone(known.entry(named.collect()).or_insert_with(select))
        };
        self.rules.iter().map(of).collect()
    }
}

/// Places that fit these paths, for a device that has not told its own.
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
    Places { style, workspace: home.clone(), home }
}
