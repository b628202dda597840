//! Giving something another place: elsewhere, or in the trash.

use std::io::ErrorKind;

use super::contents::{How, bring, find};
use super::record::Step;
use super::swap::{exchange, rename_new, sync};
use super::{Change, Over, Print, Refused, Target};

impl Change<'_> {
    /// Gives what is at `from` the name of `to`.
    ///
    /// # Errors
    /// [`Refused`]; then both are as they were.
    pub(crate) fn rename(
        &mut self,
        from: &Target,
        to: &Target,
        over: Over<'_>,
    ) -> Result<(), Refused> {
        let held = self.hold(from)?;
        let what = from.see()?;
        let old = to.look()?;
        match (&old, over) {
            (Some(_), Over::Nothing) => return Err(Refused::Taken(to.path.clone())),
            (Some(old), Over::AnyFile) if old.what != crate::roots::What::File => {
                return Err(Refused::Changed(to.path.clone()));
            }
            (Some(old), Over::Unchanged(before)) if !before.is_same(old) => {
                return Err(Refused::Changed(to.path.clone()));
            }
            (None, Over::Unchanged(_)) => return Err(Refused::Changed(to.path.clone())),
            (Some(_) | None, _) => {}
        }
        let (at, over) = (to.spot(), old.clone());
        self.plan(from, Step::Moved { from: from.spot(), to: at, what: what.clone(), over })?;
        self.sync(from)?;
        match &old {
            Some(old) => self.rename_over(from, to, old)?,
            None => {
                self.hold_free(to)?;
                rename_new(&from.dir, &from.name, &to.dir, &to.name)
                    .map_err(|error| across(&error, from, to))?;
            }
        }
        sync(&to.dir);
        sync(&from.dir);
        let is_it = to.look()?.is_some_and(|now| (now.what, now.inode) == (what.what, what.inode));
        let refused = match self.hold_moved(&held, from, (&to.dir, &to.name)) {
            Ok(()) if is_it => None,
            Ok(()) => Some(Refused::Changed(from.path.clone())),
            Err(error) => Some(error.into()),
        };
        if let Some(refused) = refused {
            // Something else had taken the place of what was looked at; it is left where it was.
            tracing::warn!(call = %self.call(), "what was moved is not what was looked at");
            rename_new(&to.dir, &to.name, &from.dir, &from.name)
                .map_err(|error| Refused::io(&error, from))?;
            return Err(refused);
        }
        self.done(old);
        Ok(())
    }

    fn rename_over(&mut self, from: &Target, to: &Target, old: &Print) -> Result<(), Refused> {
        let failed = |error: &std::io::Error| across(error, from, to);
        let held = self.hold(to)?;
        if exchange(&from.dir, &from.name, &to.dir, &to.name).map_err(|error| failed(&error))? {
            let kept = match from.look()? {
                Some(swapped) if old.is_same(&swapped) => self
                    .hold_moved(&held, to, (&from.dir, &from.name))
                    .map_err(Refused::from)
                    .and_then(|()| self.keep(to, (&from.dir, &from.name), How::Move)),
                Some(_) | None => Err(Refused::Changed(to.path.clone())),
            };
            return kept.or_else(|refused| {
                exchange(&from.dir, &from.name, &to.dir, &to.name)
                    .map_err(|error| failed(&error))?;
                Err(refused)
            });
        }
        self.hold_moved(&held, to, (&to.dir, &to.name))?;
        // Without an exchange there is a moment in which nothing has the name.
        self.keep(to, (&to.dir, &to.name), How::Move)?;
        rename_new(&from.dir, &from.name, &to.dir, &to.name).map_err(|error| failed(&error))
    }

    /// Puts what was looked at into the trash. `entries` and `disk_bytes` say how much that is.
    ///
    /// # Errors
    /// [`Refused`]; then the target is as it was.
    pub(crate) fn discard(
        &mut self,
        target: &Target,
        what: &Print,
        entries: u64,
        disk_bytes: u64,
    ) -> Result<(), Refused> {
        let held = self.hold(target)?;
        let step = Step::Deleted { at: target.spot(), what: what.clone(), entries, disk_bytes };
        self.plan(target, step)?;
        self.sync(target)?;
        self.keep(target, (&target.dir, &target.name), How::Move)?;
        sync(&target.dir);
        let failed = |error: &std::io::Error| Refused::io(error, target);
        let found = find(self.context.trash, (self.call(), self.step()), target);
        if let Some((content, print)) = found.map_err(|error| failed(&error))? {
            let refused = match self.hold_moved(&held, target, (&content.dir, &content.name)) {
                Ok(()) if what.is_same(&print) => None,
                Ok(()) => Some(Refused::Changed(target.path.clone())),
                Err(error) => Some(error.into()),
            };
            if let Some(refused) = refused {
                bring(&content, target, &target.name).map_err(|error| failed(&error))?;
                return Err(refused);
            }
        }
        self.done(None);
        Ok(())
    }
}

fn across(error: &std::io::Error, from: &Target, to: &Target) -> Refused {
    if error.kind() == ErrorKind::CrossesDevices {
        return Refused::OtherFileSystem(to.path.clone());
    }
    if error.kind() == ErrorKind::AlreadyExists {
        return Refused::Taken(to.path.clone());
    }
    Refused::io(error, from)
}
