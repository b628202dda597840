//! Puts the program and its unit in place, and starts the service. A step that fails takes back those before it.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::files::{Placed, is_trusted_program, place, remove_empty};
use super::interrupted::end_upgrade;
use super::release::{current as this_version, installed_version};
use super::{Earlier, Layout, Manager, Owner, PlacedUnit, ServiceError, Unit, account};
use crate::config::UpgradeSettings;

pub(super) const PROGRAM_MODE: u32 = 0o755;

/// What was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// The program that the service runs.
    pub program: PathBuf,
    /// Whether this program was copied there.
    pub is_copied: bool,
    /// The unit.
    pub unit: PathBuf,
    /// Whether an account was made for the service.
    pub made_account: bool,
    /// Why the program that was there stays, as sentences. None where this one is installed.
    pub kept: Option<String>,
}

/// What was done until a step failed.
#[derive(Debug, Default)]
struct Changes {
    program: Option<Placed>,
    unit: Option<PlacedUnit>,
    has_stopped: bool,
}

/// Installs this program as a service, and starts it. An earlier installation is replaced, but for a program that
/// stays, with which the service is then set up.
///
/// # Errors
/// [`ServiceError`]; then everything is as it was, but for an account that was made.
pub async fn install(
    layout: &Layout,
    manager: &Manager,
    settings: &UpgradeSettings,
) -> Result<Installed, ServiceError> {
    let current = std::env::current_exe().map_err(ServiceError::at(Path::new("this program")))?;
    let (program, may_copy) = layout.program_of(&current);
    let earlier = manager.earlier(layout)?;
    let is_there = is_same(&program, &current);
    // Where this program is the installed one, the unit knows who put it there.
    let is_copied = may_copy && (!is_there || earlier.as_ref().is_some_and(|it| it.has_copied));
    let kept = match earlier {
        Some(Earlier { has_copied: true }) if may_copy && !is_there => {
            kept(&program, settings).await
        }
        Some(_) | None => None,
    };
    let source = if kept.is_some() { &program } else { &current };
    let unit = Unit::new(layout, &program, is_copied)?;
    let made_account = match layout.owner {
        Owner::Person => false,
        Owner::System => account::prepare(layout).await?,
    };
    let mut changes = Changes::default();
    let put = put_and_start(layout, manager, (source, &program), &unit, &mut changes);
    if let Err(error) = put.await {
        take_back(layout, manager, &unit, changes, earlier.is_none()).await;
        return Err(error);
    }
    if let Some(placed) = changes.program {
        placed.keep();
        // An upgrade that was cut off is over.
        end_upgrade(&program)?;
    }
    changes.unit.into_iter().for_each(PlacedUnit::keep);
    let is_copied = is_copied && kept.is_none();
    Ok(Installed { program, is_copied, unit: layout.unit.clone(), made_account, kept })
}

/// Returns why the installed program stays: it is newer, or the owner forbids upgrades. One that others could have
/// replaced is not run for its version.
async fn kept(program: &Path, settings: &UpgradeSettings) -> Option<String> {
    let installed =
        if is_trusted_program(program) { installed_version(program).await? } else { return None };
    let this = this_version();
    let why = match installed.cmp_precedence(&this) {
        Ordering::Greater => format!("which is newer than {this}"),
        Ordering::Less if !settings.allow => {
            "and agent.toml forbids upgrades ([upgrade] allow = false)".to_owned()
        }
        Ordering::Less | Ordering::Equal => return None,
    };
    Some(format!(
        "Version {installed} of the agent is installed, {why}: it stays. To get {this}, uninstall the agent first."
    ))
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).ok() == fs::canonicalize(other).ok()
}

async fn put_and_start(
    layout: &Layout,
    manager: &Manager,
    (source, program): (&Path, &Path),
    unit: &Unit,
    changes: &mut Changes,
) -> Result<(), ServiceError> {
    if !is_same(program, source) {
        changes.has_stopped = manager.make_way(layout).await?;
        let mut content = File::open(source).map_err(ServiceError::at(source))?;
        changes.program = Some(place(program, PROGRAM_MODE, &mut content)?);
    }
    changes.unit = Some(manager.place(layout, unit).await?);
    manager.start(layout, unit).await
}

/// Takes back what was put in place. What fails here is not reported: the first error is.
async fn take_back(
    layout: &Layout,
    manager: &Manager,
    unit: &Unit,
    changes: Changes,
    is_first: bool,
) {
    let Changes { program, unit: placed_unit, has_stopped } = changes;
    let has_changed = program.is_some() || placed_unit.is_some() || has_stopped;
    if has_changed && is_first {
        drop(manager.stop(layout).await);
    }
    if let Some(placed) = placed_unit {
        drop(manager.take_back(placed).await);
    }
    if let Some(placed) = program {
        drop(manager.make_way(layout).await);
        drop(placed.undo());
    }
    if has_changed && !is_first {
        drop(manager.start(layout, unit).await);
    }
    if let (Owner::Person, Some(base)) = (layout.owner, directories::BaseDirs::new()) {
        for file in [&layout.program, &layout.unit] {
            file.parent().into_iter().for_each(|folder| remove_empty(folder, base.home_dir()));
        }
    }
}
