//! Reserves trash space for what a change replaces or deletes. Content without space in the trash cannot be
//! restored: the preview shows that, and the call runs only with a person's approval.

use orion_domain::{CallId, DevicePath, RiskRaise, ToolError};

use super::sweep::make_room;
use crate::call::FileContext;
use crate::trash::Trash;

/// Reserved trash space for a call, or an approval that the content may be lost. Released on drop, unless the
/// call used it.
#[derive(Debug)]
#[must_use]
pub(crate) struct TrashSpace<'a> {
    trash: Option<&'a Trash>,
    call: CallId,
    is_final: bool,
}

impl<'a> TrashSpace<'a> {
    /// Reserves so many bytes on the disk, atomically with all other calls. A preview reserves nothing.
    ///
    /// # Errors
    /// `APPROVAL_REQUIRED` if there is no space and no approval that the content may be lost.
    pub(crate) fn take(
        context: &FileContext<'a>,
        path: &DevicePath,
        disk_bytes: u64,
    ) -> Result<Self, ToolError> {
        Self::take_beside(context, path, disk_bytes, 0)
    }

    /// As [`take`](Self::take), where the same change frees `leaving` bytes of the trash.
    ///
    /// # Errors
    /// As [`TrashSpace::take`].
    pub(crate) fn take_beside(
        context: &FileContext<'a>,
        path: &DevicePath,
        disk_bytes: u64,
        leaving: u64,
    ) -> Result<Self, ToolError> {
        let (trash, call, roots) = (context.trash, context.call, context.roots);
        let fits = if context.dry_run {
            trash.has_room(disk_bytes, leaving)
        } else {
            make_room(trash, call, disk_bytes, leaving, roots)
        };
        if !fits {
            context.risk.raise(RiskRaise::CannotBeUndone, path)?;
            context.is_final.set(true);
        }
        let trash = (fits && !context.dry_run).then_some(trash);
        Ok(Self { trash, call, is_final: !fits })
    }

    /// Reserves more space.
    ///
    /// # Errors
    /// As [`TrashSpace::take`].
    pub(super) fn more(
        &mut self,
        context: &FileContext<'a>,
        path: &DevicePath,
        disk_bytes: u64,
    ) -> Result<(), ToolError> {
        let mut more = Self::take(context, path, disk_bytes)?;
        self.is_final |= more.is_final;
        self.trash = self.trash.or(more.trash.take());
        Ok(())
    }

    /// Returns whether replaced and deleted content is not kept.
    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    /// Keeps the reservation: the trash holds the call's content, and its record accounts for it.
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
