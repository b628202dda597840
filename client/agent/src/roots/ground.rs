//! The part of a granted folder that a program gets. A program reaches everything below the handle that it is
//! given, so that handle must not lead to what is denied, however deep.

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, ToolError};

use super::{Located, Roots, Wanted, io_failure, is_staged};

/// The most entries that are looked at for one program. In a folder with more, something counts as denied.
pub(crate) const MAX_LOOKED_AT: usize = 200_000;

/// A folder that a program gets.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The folder's real path.
    pub(crate) real: DevicePath,
    /// The folder.
    pub(crate) dir: Dir,
    /// Something denied below the folder; the folder itself where it has too many entries to tell. `None`
    /// where the program may get the whole folder.
    pub(crate) denied: Option<DevicePath>,
}

/// Looks for what is denied below folders.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    roots: &'a Roots,
    /// Names of folders that are not looked into.
    passed_over: &'a [&'a str],
    left: usize,
}

impl<'a> Search<'a> {
    /// Creates a search that does not look into folders with these names.
    pub(crate) const fn new(roots: &'a Roots, passed_over: &'a [&'a str]) -> Self {
        Self { roots, passed_over, left: MAX_LOOKED_AT }
    }

    /// Returns the widest folder around a located one that has nothing denied below it, within the granted
    /// folder, so that a program finds the whole project around it. Where there is none, the folder itself.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn ground(&mut self, located: &Located) -> Result<Ground, ToolError> {
        let names = located.real.relative_to(&located.root).unwrap_or_default();
        let mut real = located.root.clone();
        // A folder around what was found to be denied need not be looked through again.
        let mut denied: Option<DevicePath> = None;
        for depth in 0..names.len() {
            // The root of the file system holds what nobody named.
            if real.components().len() > 0
                && !denied.as_ref().is_some_and(|path| real.may_contain(path))
                && let Ok(dir) = located.root_dir.open_dir(below(&names, depth))
            {
                denied = self.denied_below(&dir, &real)?;
                if denied.is_none() {
                    return Ok(Ground { real, dir, denied });
                }
            }
            let next = names.get(depth).and_then(|name| real.join(name).ok());
            real = next.ok_or_else(|| Wanted::Directory.missing(&located.asked))?;
        }
        let dir = located.dir.try_clone();
        let dir = dir.map_err(|error| io_failure(&error, Wanted::Directory, &located.asked))?;
        let denied = match denied.filter(|path| located.real.may_contain(path)) {
            Some(denied) => Some(denied),
            None => self.denied_below(&dir, &located.real)?,
        };
        Ok(Ground { real: located.real.clone(), dir, denied })
    }

    /// Returns something below a folder that is denied, or the folder that has too many entries to tell.
    ///
    /// # Errors
    /// Errors of the operating system on the folder itself.
    pub(crate) fn denied_below(
        &mut self,
        dir: &Dir,
        real: &DevicePath,
    ) -> Result<Option<DevicePath>, ToolError> {
        // A handle that only names the folder cannot list it.
        let opened = dir.open_dir(".");
        let opened = opened.map_err(|error| io_failure(&error, Wanted::Directory, real))?;
        let mut folders = vec![(opened, real.clone())];
        while let Some((dir, real)) = folders.pop() {
            // What the agent may not list, a program of the same account may not list either.
            for entry in dir.entries().into_iter().flatten().flatten() {
                self.left = self.left.saturating_sub(1);
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let Ok(path) = real.join(&name) else { return Ok(Some(real)) };
                let kind = entry.file_type().ok();
                // What another call writes just now is denied by its name alone.
                let is_staged = kind.is_some_and(|kind| kind.is_file()) && is_staged(&name);
                let is_denied = match is_staged {
                    true => self.roots.lists_as_denied(&path) || self.roots.awaits(&path),
                    false => self.is_denied(&name, &path),
                };
                if self.left == 0 || is_denied {
                    return Ok(Some(path));
                }
                if kind.is_some_and(|kind| kind.is_dir())
                    && !self.passed_over.contains(&name.as_ref())
                    && let Ok(below) = dir.open_dir_nofollow(&*name)
                {
                    folders.push((below, path));
                }
            }
        }
        Ok(None)
    }

    /// Returns whether an entry may not be read, by its path or by a rule that covers it.
    pub(crate) fn is_denied(&self, name: &str, path: &DevicePath) -> bool {
        self.roots.may_hide(name)
            && (self.roots.denies_at(path, Access::Read) || self.roots.awaits(path))
    }
}

/// Returns the path of the first names, relative to their root.
fn below(names: &[&str], depth: usize) -> String {
    let path = names.get(..depth).unwrap_or_default().join("/");
    if path.is_empty() { ".".to_owned() } else { path }
}
