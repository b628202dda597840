//! Decides what in a folder may go to another location. Each entry is evaluated twice: at its source, by the
//! walk, and at its destination.

use std::path::{Component, Path};

use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::call::FileContext;
use crate::entry::{Target, disk_bytes};
use crate::roots::{FileKind, Located, Wanted, io_failure, refused};
use crate::walk::{Mode, Next, Visit, walk};

/// How the folder gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    /// With its content; unreadable entries are refused.
    Copied,
    /// By a rename of the folder; nothing in it is opened.
    Renamed,
}

/// The amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// Files and folders, itself included.
    pub(crate) entries: u64,
    /// Bytes in files.
    pub(crate) bytes: u64,
    /// Bytes used on the disk.
    pub(crate) disk_bytes: u64,
}

/// The destination: as the call names it, resolved, and its root.
#[derive(Debug)]
pub(crate) struct Destination<'a> {
    pub(crate) asked: &'a DevicePath,
    pub(crate) real: &'a DevicePath,
    pub(crate) root: &'a DevicePath,
}

/// Counts the contents of a located folder. Refuses the folder if an entry may not go to the destination.
pub(crate) fn survey(
    start: &Located,
    landing: &Destination<'_>,
    how: CopyMethod,
    context: &FileContext<'_>,
) -> Result<Count, ToolError> {
    let mut count = Count { entries: 1, bytes: 0, disk_bytes: 0 };
    let top = start
        .dir
        .dir_metadata()
        .map_err(|error| io_failure(&error, Wanted::Directory, &start.asked))?;
    walk(start, Mode::Whole, context, &mut |visit| {
        judge(visit, landing, how, context)?;
        let Some(metadata) = visit.metadata() else { return Ok(Next::On) };
        if how == CopyMethod::Renamed && file_system(&metadata) != file_system(&top) {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                format!("Another file system is mounted inside {}.", start.asked),
            )
            .hint("unmount it first"));
        }
        count.entries += 1;
        count.disk_bytes = count.disk_bytes.saturating_add(disk_bytes(&metadata));
        if visit.what == FileKind::File {
            count.bytes = count.bytes.saturating_add(metadata.len());
        }
        Ok(Next::On)
    })?;
    Ok(count)
}

/// Returns whether a rename between the two locations should work, as far as that is known before.
pub(crate) fn shares_file_system(from: &Located, to: &Located) -> bool {
    let of = |located: &Located| located.dir.dir_metadata().ok().map(|it| file_system(&it));
    of(from) == of(to)
}

/// Refuses to rename a folder if an entry in it may not go to the destination.
pub(crate) fn refuse_unfit_for(
    from: &Target,
    to: &Target,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let landing = Destination { asked: &to.path, real: &to.real, root: &to.root };
    survey(&from.entered()?, &landing, CopyMethod::Renamed, context).map(drop)
}

/// Evaluates one entry.
pub(crate) fn judge(
    visit: &Visit<'_>,
    landing: &Destination<'_>,
    how: CopyMethod,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let below = |path: &DevicePath| {
        visit.below.iter().try_fold(path.clone(), |path, name| path.join(name)).map_err(|_| {
            ToolError::new(
                ErrorCode::PreconditionFailed,
                format!(
                    "Something in the source would have a path too long for {}.",
                    landing.asked
                ),
            )
        })
    };
    let (asked, real) = (below(landing.asked)?, below(landing.real)?);
    let suspect = visit.below.last().is_none_or(|name| context.roots.may_hide(name));
    if suspect && (context.roots.hides(landing.root, &real) || context.roots.denies(&asked)) {
        return Err(refused(
            &asked,
            format!("{asked} is denied on this device, so nothing is put there."),
            "device: paths",
        ));
    }
    context.risk.raise_if_starting(&asked)?;
    if visit.what == FileKind::File
        && let Some(metadata) = visit.metadata()
    {
        context.risk.raise_if_executable(&metadata, &asked)?;
    }
    if how == CopyMethod::Renamed {
        return Ok(());
    }
    match visit.what {
        FileKind::File | FileKind::Folder => Ok(()),
        FileKind::Link => target(visit).map(drop),
        FileKind::Special => Err(ToolError::new(
            ErrorCode::NotSupported,
            format!("{} is a FIFO, a socket or a device, which is not copied.", name(visit)),
        )),
    }
}

/// Returns the target of a link that may be copied unchanged: it stays inside the folder wherever the folder
/// is.
pub(crate) fn target(visit: &Visit<'_>) -> Result<std::path::PathBuf, ToolError> {
    let last = visit.below.last().map_or("", String::as_str);
    let target = visit.dir.read_link_contents(last).ok();
    target.filter(|target| stays(target, visit.below.len())).ok_or_else(|| {
        let link = name(visit);
        let message = format!(
            "{link} is a link that is absolute or leads out of the folder, and is not copied. Copy what is meant by itself."
        );
        ToolError::new(ErrorCode::PathNotAllowed, message)
            .with("attempted_path", link)
            .with("rule", "device: links")
    })
}

/// Returns whether a link at this depth below the folder leads to an entry inside. The link must climb first
/// and then descend: only then does the text alone decide, whatever other links exist.
fn stays(target: &Path, depth: usize) -> bool {
    let climbs = target.components().take_while(|it| *it == Component::ParentDir).count();
    let plain = |it: Component<'_>| matches!(it, Component::Normal(_) | Component::CurDir);
    climbs < depth && target.components().skip(climbs).all(plain)
}

/// Returns the entry's path for a person.
pub(crate) fn name(visit: &Visit<'_>) -> String {
    visit.path().map_or_else(|| visit.below.join("/"), |path| path.to_string())
}

#[cfg(unix)]
fn file_system(metadata: &cap_std::fs::Metadata) -> Option<u64> {
    Some(cap_fs_ext::MetadataExt::dev(metadata))
}

#[cfg(not(unix))]
fn file_system(_: &cap_std::fs::Metadata) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_if_it_climbs_no_higher_than_the_folder_and_then_only_goes_down() {
        for (target, depth, expected) in [
            ("a", 1, true),
            ("./a/b", 1, true),
            (".", 1, true),
            ("..", 1, false),
            ("..", 2, true),
            ("../a", 2, true),
            ("../../a", 2, false),
            ("a/../b", 2, false),
            ("/a", 3, false),
            ("./../a", 2, false),
            ("", 1, true),
        ] {
            assert_eq!(stays(Path::new(target), depth), expected, "{target} {depth}");
        }
    }
}
