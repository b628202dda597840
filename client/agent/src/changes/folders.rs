//! Creates folders and removes empty ones.

use cap_fs_ext::DirExt;
use orion_domain::ToolError;

use super::swap::sync;
use super::{Change, StepError, Target};
use crate::record::{Source, Step};
use crate::roots::{FileKind, Located};

impl Change<'_> {
    /// Creates the missing folders above a path, and returns the target of its last name.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn parents(&mut self, located: &Located) -> Result<Target, ToolError> {
        let path = &located.asked;
        let Some((last, above)) = located.rest.split_last() else { return Target::of(located) };
        let failed = |error: &std::io::Error| {
            crate::roots::io_failure(error, crate::roots::Wanted::Directory, path)
        };
        let mut here = located.dir.try_clone().map_err(|error| failed(&error))?;
        let mut real = located.real.clone();
        for (index, name) in above.iter().enumerate() {
            // The path as the call would name it, where the remaining names are the call's last ones.
            let mut asked = Some(path.clone());
            for _ in index + 1..located.rest.len() {
                asked = asked.and_then(|path| path.parent());
            }
            let asked = asked.filter(|path| path.file_name() == Some(name));
            let folder = real.join(name).map_err(|_| located.no_folder())?;
            let asked = asked.unwrap_or_else(|| folder.clone());
            let target = Target::new(located, here, &real, name, asked)?;
            match self.make_folder(&target) {
                // Another process may create the same folder at the same time; its folder serves as well.
                Ok(()) | Err(StepError::Taken(_)) => {}
                Err(refused) => return Err(refused.into()),
            }
            here = target.dir.open_dir_nofollow(name).map_err(|error| failed(&error))?;
            real = folder;
        }
        Target::new(located, here, &real, last, path.clone())
    }

    /// Creates a folder.
    ///
    /// # Errors
    /// [`StepError::Taken`] if the name is in use, and errors of the file system.
    pub(crate) fn make_folder(&mut self, target: &Target) -> Result<(), StepError> {
        if target.stamp()?.is_some() {
            return Err(StepError::Taken(target.path.clone()));
        }
        self.plan_placed(target, Source::Folder)?;
        match target.dir.create_dir(&target.name) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(StepError::Taken(target.path.clone()));
            }
            other => other.map_err(|error| StepError::io(&error, target))?,
        }
        sync(&target.dir);
        // The line is not synced before the step is done: an empty folder loses nothing.
        let stamp = target.see()?;
        self.add(target, super::Line::Ready(stamp))?;
        self.done(None);
        Ok(())
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&mut self, target: &Target) -> Result<(), StepError> {
        if target.see()?.what != FileKind::Folder {
            return Err(StepError::Changed(target.path.clone()));
        }
        self.plan(target, Step::Removed { at: target.spot() })?;
        match target.dir.remove_dir(&target.name) {
            Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {
                return Err(StepError::Changed(target.path.clone()));
            }
            other => other.map_err(|error| StepError::io(&error, target))?,
        }
        sync(&target.dir);
        self.done(None);
        Ok(())
    }
}
