//! Puts the program and its unit in place, and starts the service. A step that fails takes back those before it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::files::{Placed, place, remove_empty};
use super::interrupted::end_upgrade;
use super::{Layout, Manager, Owner, PlacedUnit, ServiceError, Unit, account};

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
}

/// What was done until a step failed.
#[derive(Debug, Default)]
struct Changes {
    program: Option<Placed>,
    unit: Option<PlacedUnit>,
    has_stopped: bool,
}

/// Installs this program as a service, and starts it. An earlier installation is replaced.
///
/// # Errors
/// [`ServiceError`]; then everything is as it was, but for an account that was made.
pub async fn install(layout: &Layout, manager: &Manager) -> Result<Installed, ServiceError> {
    let current = std::env::current_exe().map_err(ServiceError::at(Path::new("this program")))?;
    let (program, may_copy) = layout.program_of(&current);
    let earlier = manager.earlier(layout)?;
    let is_there = is_same(&program, &current);
    // Where this program is the installed one, the unit knows who put it there.
    let is_copied = may_copy && (!is_there || earlier.as_ref().is_some_and(|it| it.has_copied));
    let unit = Unit::new(layout, &program, is_copied)?;
    let made_account = match layout.owner {
        Owner::Person => false,
        Owner::System => account::prepare(layout).await?,
    };
    let mut changes = Changes::default();
    let put = put_and_start(layout, manager, (&current, &program), &unit, &mut changes);
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
    Ok(Installed { program, is_copied, unit: layout.unit.clone(), made_account })
}

fn is_same(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).ok() == fs::canonicalize(other).ok()
}

async fn put_and_start(
    layout: &Layout,
    manager: &Manager,
    (current, program): (&Path, &Path),
    unit: &Unit,
    changes: &mut Changes,
) -> Result<(), ServiceError> {
    if !is_same(program, current) {
        changes.has_stopped = manager.make_way(layout).await?;
        let mut content = File::open(current).map_err(ServiceError::at(current))?;
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
