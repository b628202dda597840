//! Puts the program and its unit in place, and starts the service. A step that fails takes back those before it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::files::{Placed, place, remove_empty};
use super::{Layout, Owner, ServiceError, Systemd, account, unit};

pub(super) const PROGRAM_MODE: u32 = 0o755;
const UNIT_MODE: u32 = 0o644;

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

/// Installs this program as a service, and starts it. An earlier installation is replaced.
///
/// # Errors
/// [`ServiceError`]; then everything is as it was, but for an account that was made.
pub async fn install(layout: &Layout, systemd: &Systemd) -> Result<Installed, ServiceError> {
    let current = std::env::current_exe().map_err(ServiceError::at(Path::new("this program")))?;
    let (program, may_copy) = layout.program_of(&current);
    let earlier = fs::read_to_string(&layout.unit).unwrap_or_default();
    let is_there = fs::canonicalize(&program).ok() == fs::canonicalize(&current).ok();
    // Where this program is the installed one, the unit knows who put it there.
    let is_copied = may_copy && (!is_there || unit::has_copied(&earlier));
    let text = unit::text(layout, &program, is_copied)?;
    let made_account = match layout.owner {
        Owner::Person => false,
        Owner::System => {
            let (account, is_new) = account::find_or_create(&layout.state_dir).await?;
            account::give(&layout.state_dir, account)?;
            account::keep_for_root(&layout.config)?;
            is_new
        }
    };
    let mut placed = Vec::new();
    if let Err(error) =
        put_and_start(layout, systemd, (&current, &program), &text, &mut placed).await
    {
        take_back(layout, systemd, placed, earlier.is_empty()).await;
        return Err(error);
    }
    placed.into_iter().for_each(Placed::keep);
    Ok(Installed { program, is_copied, unit: layout.unit.clone(), made_account })
}

async fn put_and_start(
    layout: &Layout,
    systemd: &Systemd,
    (current, program): (&Path, &Path),
    text: &str,
    placed: &mut Vec<Placed>,
) -> Result<(), ServiceError> {
    if fs::canonicalize(program).ok() != fs::canonicalize(current).ok() {
        let mut content = File::open(current).map_err(ServiceError::at(current))?;
        placed.push(place(program, PROGRAM_MODE, &mut content)?);
    }
    placed.push(place(&layout.unit, UNIT_MODE, &mut text.as_bytes())?);
    systemd.reload().await?;
    Ok(systemd.start().await?)
}

/// Takes back what was put in place. What fails here is not reported: the first error is.
async fn take_back(layout: &Layout, systemd: &Systemd, placed: Vec<Placed>, is_first: bool) {
    let has_placed = !placed.is_empty();
    if has_placed && is_first {
        drop(systemd.stop().await);
    }
    placed.into_iter().rev().for_each(|placed| drop(placed.undo()));
    if has_placed {
        drop(systemd.reload().await);
        if !is_first {
            drop(systemd.start().await);
        }
    }
    if let (Owner::Person, Some(base)) = (layout.owner, directories::BaseDirs::new()) {
        for file in [&layout.program, &layout.unit] {
            file.parent().into_iter().for_each(|folder| remove_empty(folder, base.home_dir()));
        }
    }
}
