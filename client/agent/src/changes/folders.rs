//! Making folders, and removing empty ones.

use cap_fs_ext::DirExt;
use orion_domain::ToolError;

use super::record::{Source, Step};
use super::swap::sync;
use super::{Change, StepError, Target};
use crate::roots::{FileKind, Located};

impl Change<'_> {
    /// Makes the folders that are missing above a path, and gives its last name as a target.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn parents(&mut self, located: &Located) -> Result<Target, ToolError> {
        let path = &located.asked;
        let Some((last, above)) = located.rest.split_last() else { return Target::of(located) };
        let failed = |error: &std::io::Error| {
            crate::roots::io_failure(error, crate::roots::Wanted::Directory, path)
        };
        let mut here = located.dir.try_clone().map_err(|error| failed(&error))?;
        let mut real = located.real.clone();
        for (index, name) in above.iter().enumerate() {
            // The name as the call would say it, where the names still to come are its last ones.
            let mut asked = Some(path.clone());
            for _ in index + 1..located.rest.len() {
                asked = asked.and_then(|path| path.parent());
            }
            let asked = asked.filter(|path| path.file_name() == Some(name));
            let folder = real.join(name).map_err(|_| located.no_folder())?;
            let asked = asked.unwrap_or_else(|| folder.clone());
            let target = Target::new(located, here, &real, name, asked)?;
            match self.make_folder(&target) {
                // Somebody else may make the same folder at the same time; then theirs will do.
                Ok(()) | Err(StepError::Taken(_)) => {}
                Err(refused) => return Err(refused.into()),
            }
            here = target.dir.open_dir_nofollow(name).map_err(|error| failed(&error))?;
            real = folder;
        }
        Target::new(located, here, &real, last, path.clone())
    }

    /// Makes a folder.
    ///
    /// # Errors
    /// [`Refused::Taken`] where anything has its name, and what the file system says.
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
        // Not on the disk before it is done: of a folder nothing is lost that way.
        let print = target.see()?;
        self.add(target, super::Line::Ready(print))?;
        self.done(None);
        Ok(())
    }

    /// Removes a folder that is empty.
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
