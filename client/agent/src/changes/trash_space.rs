//! Whether what a change replaces or deletes can be kept. What finds no room in the trash cannot be taken
//! back: that is shown before, and done only where a person knew it and said yes.

use orion_domain::{CallId, DevicePath, RiskRaise, ToolError};

use crate::tools::Context;
use crate::trash::Trash;

/// Room in the trash for what a call replaces or deletes, or a person's word that it may be lost. Given
/// back when it is dropped, unless the call made use of it.
#[derive(Debug)]
#[must_use]
pub(crate) struct TrashSpace<'a> {
    trash: Option<&'a Trash>,
    call: CallId,
    is_final: bool,
}

impl<'a> TrashSpace<'a> {
    /// Sees to room for so many bytes of the disk, in one step with all other calls. In a preview nothing
    /// is set aside.
    ///
    /// # Errors
    /// `APPROVAL_REQUIRED` where there is none and nobody said that it may be lost.
    pub(crate) fn take(
        context: &Context<'a>,
        path: &DevicePath,
        disk_bytes: u64,
    ) -> Result<Self, ToolError> {
        Self::take_beside(context, path, disk_bytes, 0)
    }

    /// The same where so many bytes leave the trash by the same change.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub(crate) fn take_beside(
        context: &Context<'a>,
        path: &DevicePath,
        disk_bytes: u64,
        leaving: u64,
    ) -> Result<Self, ToolError> {
        let Context { trash, call, roots, dry_run, .. } = *context;
        let fits = if dry_run {
            trash.has_room(disk_bytes, leaving)
        } else {
            trash.take_room(call, disk_bytes, leaving, roots)
        };
        if !fits {
            context.risk.raise(RiskRaise::CannotBeUndone, path)?;
            context.is_final.set(true);
        }
        let trash = (fits && !dry_run).then_some(trash);
        Ok(Self { trash, call, is_final: !fits })
    }

    /// Sees to room for more.
    ///
    /// # Errors
    /// As [`Room::take`].
    pub(super) fn more(
        &mut self,
        context: &Context<'a>,
        path: &DevicePath,
        disk_bytes: u64,
    ) -> Result<(), ToolError> {
        let mut more = Self::take(context, path, disk_bytes)?;
        self.is_final |= more.is_final;
        self.trash = self.trash.or(more.trash.take());
        Ok(())
    }

    /// Whether what is replaced or deleted is not kept.
    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    /// The call has things in the trash by now, and its record tells what.
    pub(super) fn settle(&mut self) {
        self.trash = None;
    }
}

impl Drop for TrashSpace<'_> {
    fn drop(&mut self) {
        if let Some(trash) = self.trash {
            trash.give_back_room(self.call);
        }
    }
}
