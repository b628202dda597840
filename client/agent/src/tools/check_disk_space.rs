//! Executes `check_disk_space`.

use std::path::Path;

use cap_std::fs::Dir;
use orion_catalog::tools::check_disk_space::{Arguments, CheckDiskSpace, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::{Context, FileContext, FileTool, Outcome, nearby};
use crate::roots::Wanted;

const GIB: u64 = 1024 * 1024 * 1024;

impl FileTool for CheckDiskSpace {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let (space, path) = space_at(&arguments.path, context)?;
        let data = space.compared(arguments.min_free_gb);
        let so = if data.ok { "enough" } else { "not enough" };
        let message = format!("{path}: {} of {} GiB are free: {so}.", data.free_gb, data.total_gb);
        Ok(Outcome::new(message, data))
    }
}

/// The space of one file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Space {
    /// All space.
    pub(super) total: u64,
    /// What the agent's account could still write.
    pub(super) free: u64,
}

impl Space {
    /// Returns the space that the operating system reports. `None` for a file system without space.
    #[cfg(unix)]
    fn of(known: &rustix::fs::StatVfs) -> Option<Self> {
        let bytes = |blocks: u64| blocks.saturating_mul(known.f_frsize);
        Some(Self { total: bytes(known.f_blocks), free: bytes(known.f_bavail) })
            .filter(|space| space.total > 0)
    }

    /// Compares the free space with a minimum in GiB.
    pub(super) fn compared(self, min_free_gb: u64) -> Returns {
        let ok = self.free >= min_free_gb.saturating_mul(GIB);
        Returns { total_gb: gib(self.total), free_gb: gib(self.free), ok }
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes are shown to one decimal")]
fn gib(bytes: u64) -> f64 {
    // Rounded down, so that a size below the minimum is not shown as the minimum.
    (bytes as f64 / GIB as f64 * 10.0).floor() / 10.0
}

/// Returns the space of the file system that a granted path is on.
pub(super) fn space_at(
    text: &str,
    context: &Context<'_>,
) -> Result<(Space, DevicePath), ToolError> {
    let located = context.locate(text, Access::Read)?;
    if !located.is_folder() && (located.found.is_none() || located.name().is_none()) {
        let missing = Wanted::Path.missing(&located.asked);
        return Err(nearby::suggest(missing, &located, context));
    }
    let space = of_folder(&located.dir, &located.real).ok_or_else(not_reported)?;
    Ok((space, located.asked))
}

/// Returns the space of the file system of one of the agent's own folders.
pub(super) fn space_of(folder: &Path) -> Result<Space, ToolError> {
    #[cfg(unix)]
    let space = rustix::fs::statvfs(folder).ok().and_then(|known| Space::of(&known));
    #[cfg(not(unix))]
    let space = of_path(folder);
    space.ok_or_else(not_reported)
}

fn not_reported() -> ToolError {
    let message = "The operating system does not report the space of this file system.";
    ToolError::new(ErrorCode::NotSupported, message)
}

/// Returns the space of the file system of an open folder. `None` if it is not reported.
#[cfg(unix)]
fn of_folder(dir: &Dir, _: &DevicePath) -> Option<Space> {
    rustix::fs::fstatvfs(dir).ok().and_then(|known| Space::of(&known))
}

#[cfg(not(unix))]
fn of_folder(_: &Dir, real: &DevicePath) -> Option<Space> {
    of_path(Path::new(&real.to_string()))
}

/// Returns the space of the disk with the longest mount point above the folder.
#[cfg(not(unix))]
fn of_path(folder: &Path) -> Option<Space> {
    let disks = sysinfo::Disks::new_with_refreshed_list().ok()?;
    let holds = |disk: &&sysinfo::Disk| folder.starts_with(disk.mount_point());
    let disk =
        disks.iter().filter(holds).max_by_key(|disk| disk.mount_point().as_os_str().len())?;
    Some(Space { total: disk.total_space(), free: disk.available_space() })
        .filter(|space| space.total > 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::{ALL, Device};

    const TOOL: &str = "check_disk_space";

    #[test]
    fn free_space_is_compared_with_the_minimum() {
        let device = Device::new();
        device.put("files/note.txt", "");
        for (arguments, ok) in [
            (json!({"min_free_gb": 0}), true),
            (json!({"path": "note.txt", "min_free_gb": 0}), true),
            (json!({"min_free_gb": u64::MAX}), false),
        ] {
            let data: Returns = serde_json::from_value(device.data(TOOL, arguments)).unwrap();
            assert!(data.ok == ok && data.total_gb >= data.free_gb, "{data:?}");
            assert!(data.total_gb > 0.0, "{data:?}");
        }
        device.dry(TOOL, json!({})).unwrap();
        let space = Space { total: 10 * GIB, free: 5 * GIB - 1 };
        assert_eq!(space.compared(5), Returns { total_gb: 10.0, free_gb: 4.9, ok: false });
        let space = Space { free: 5 * GIB, ..space };
        assert_eq!(space.compared(5), Returns { total_gb: 10.0, free_gb: 5.0, ok: true });
    }

    #[test]
    fn it_refuses_what_every_file_tool_refuses() {
        let device = Device::new();
        device.assert_unchanged(TOOL, "path", &json!({"path": "."}));
        let missing = device.refused(TOOL, json!({"path": "none/none"}));
        assert_eq!(missing, ErrorCode::PathNotFound);
        let wrong = device.refused(TOOL, json!({"min_free_gb": -1}));
        assert_eq!(wrong, ErrorCode::InvalidArgument);
        let writes = Device::granting(&[("files", &ALL[1..])]);
        assert_eq!(writes.refused(TOOL, json!({})), ErrorCode::PathNotAllowed);
    }
}
