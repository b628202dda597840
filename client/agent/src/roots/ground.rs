//! The part of a granted folder that a program gets. A program reaches everything below the handle that it is
//! given, so that handle must not lead to what is denied.

use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, ToolError};

use super::{Located, Roots, Wanted, io_failure};

/// A folder that a program gets.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The folder's real path.
    pub(crate) real: DevicePath,
    /// The folder.
    pub(crate) dir: Dir,
    /// The names in the folder that are denied. Empty where the program gets the whole folder.
    pub(crate) denied: Vec<String>,
}

impl Roots {
    /// Returns the widest folder around a located one that has nothing denied directly in it, within the
    /// granted folder, so that a program finds the whole project around it. Where there is none, the folder
    /// itself, with the names in it that are denied.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn ground(&self, located: &Located) -> Result<Ground, ToolError> {
        let names = located.real.relative_to(&located.root).unwrap_or_default();
        let mut real = located.root.clone();
        for depth in 0..names.len() {
            // The root of the file system holds what nobody named.
            if real.components().len() > 0 {
                let dir = located.root_dir.open_dir(below(&names, depth));
                if let Ok(dir) = dir
                    && self.denied_in(&dir, &real)?.is_empty()
                {
                    return Ok(Ground { real, dir, denied: Vec::new() });
                }
            }
            let next = names.get(depth).and_then(|name| real.join(name).ok());
            real = next.ok_or_else(|| Wanted::Directory.missing(&located.asked))?;
        }
        let failed = |error: &std::io::Error| io_failure(error, Wanted::Directory, &located.asked);
        let dir = located.dir.try_clone().map_err(|error| failed(&error))?;
        let denied = self.denied_in(&dir, &located.real)?;
        Ok(Ground { real: located.real.clone(), dir, denied })
    }

    /// Returns the names in a folder that are denied for reading.
    fn denied_in(&self, dir: &Dir, real: &DevicePath) -> Result<Vec<String>, ToolError> {
        let failed = |error: &std::io::Error| io_failure(error, Wanted::Directory, real);
        // A handle that only names the folder cannot list it.
        let entries = dir.open_dir(".").and_then(|dir| dir.entries());
        let mut denied = Vec::new();
        for entry in entries.map_err(|error| failed(&error))? {
            let name = entry.map_err(|error| failed(&error))?.file_name();
            let name = name.to_string_lossy().into_owned();
            let is_denied = real.join(&name).is_ok_and(|path| self.denies_at(&path, Access::Read));
            if is_denied {
                denied.push(name);
            }
        }
        Ok(denied)
    }
}

/// Returns the path of the first names, relative to their root.
fn below(names: &[&str], depth: usize) -> String {
    let path = names.get(..depth).unwrap_or_default().join("/");
    if path.is_empty() { ".".to_owned() } else { path }
}
