//! What Orion keeps in a state directory. A removal takes exactly that: the directory may hold other files too.

use std::io;
use std::path::Path;

use cap_fs_ext::DirExt as _;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use orion_domain::CallId;

use super::names::*;
use super::{Identity, Pending};
use crate::owner_file;

/// The largest file that tells whose a directory is, in bytes.
const MAX_BYTES: u64 = 64;
/// The files that every system has.
const FILES: [&str; 21] = [
    LOCK,
    GENERATION,
    KEY,
    CERTIFICATE,
    AUTHORITIES,
    IDENTITY,
    PENDING,
    STATUS,
    STATUS_NEW,
    POLICY,
    JOURNAL,
    JOURNAL_NEW,
    AUDIT,
    AUDIT_OLDER,
    AUDIT_NEW,
    ANSWERS,
    ANSWERS_OLDER,
    PAUSE,
    WATCHED,
    ACTIVITY,
    ACTIVITY_NEW,
];
/// Tells whether a name is Orion's.
type IsOurs = fn(&str) -> bool;
/// The folders, each with what tells whether a name in it is Orion's.
const FOLDERS: [(&str, IsOurs); 4] = [
    (TRASH, is_of_call),
    (SCRATCH, is_of_call),
    (QUESTIONS, is_of_question),
    // What is installed has a name of its own; see `is_artifact`.
    (ARTIFACTS, |name| name == DOWNLOAD),
];

/// Returns whether a directory is the state of a device: it has an identity or a pending enrolment, or what an agent that
/// ran leaves, or a lock and nothing that is not Orion's.
pub(crate) fn is_state(dir: &Path) -> bool {
    let is_file = |name: &str| dir.join(name).symlink_metadata().is_ok_and(|it| it.is_file());
    Identity::is_named(dir)
        || matches!(Pending::read(dir), Ok(Some(_)))
        || (is_file(LOCK) && is_file(JOURNAL) && has_generation(dir))
        || (has_empty_lock(dir) && !has_others(dir))
}

fn has_empty_lock(dir: &Path) -> bool {
    dir.join(LOCK).symlink_metadata().is_ok_and(|it| it.is_file() && it.len() == 0)
}

fn has_generation(dir: &Path) -> bool {
    let read = owner_file::read(&dir.join(GENERATION), MAX_BYTES).ok();
    read.is_some_and(|it| String::from_utf8(it).is_ok_and(|it| it.trim().parse::<u64>().is_ok()))
}

/// Returns whether a directory holds something that Orion did not write. One that cannot be read counts.
pub(crate) fn has_others(dir: &Path) -> bool {
    Dir::open_ambient_dir(dir, ambient_authority())
        .and_then(|open| {
            for entry in entries(&open)? {
                if !entry.is_ours() || holds_others(&open, &entry)? {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .unwrap_or(true)
}

/// Returns whether an entry is a folder of Orion's with something else in it. What is installed has names of its own.
fn holds_others(dir: &Dir, entry: &Entry) -> io::Result<bool> {
    let Some((name, is_ours)) = entry.folder().filter(|(name, _)| *name != ARTIFACTS) else {
        return Ok(false);
    };
    Ok(entries(&dir.open_dir_nofollow(name)?)?.iter().any(|it| !is_ours(&it.name)))
}

/// Returns whether nothing of Orion's is left in a directory but the lock.
pub(crate) fn holds_lock_alone(dir: &Path) -> bool {
    Dir::open_ambient_dir(dir, ambient_authority())
        .and_then(|open| Ok(!entries(&open)?.iter().any(|it| it.name != LOCK && it.is_ours())))
        .unwrap_or(false)
}

/// Removes what Orion keeps in a directory, but for the lock. Nothing is removed through a link.
///
/// # Errors
/// Something of it cannot be removed.
pub(crate) fn remove(dir: &Path) -> io::Result<()> {
    let open = Dir::open_ambient_dir(dir, ambient_authority())?;
    let mut entries = entries(&open)?;
    let has_others = entries.iter().any(|entry| !entry.is_ours());
    // The keys go first, whatever else cannot be removed.
    entries.sort_by_key(|entry| ![KEY, PENDING].contains(&&*entry.name));
    let mut outcome = Ok(());
    for entry in entries.iter().filter(|entry| ![LOCK, IDENTITY].contains(&&*entry.name)) {
        let removed = match entry.folder() {
            Some((_, is_ours)) => remove_folder(&open, &entry.name, is_ours, has_others),
            None if entry.is_ours() => open.remove_file(&entry.name),
            None => Ok(()),
        };
        outcome = outcome.and(removed);
    }
    outcome?;
    // While it is there, the directory is known as the state of a device, so that the removal can be run again.
    match open.remove_file(IDENTITY) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// An entry of a directory with a name that is text; no other is Orion's.
struct Entry {
    name: String,
    is_folder: bool,
}

impl Entry {
    fn folder(&self) -> Option<(&'static str, IsOurs)> {
        FOLDERS.into_iter().find(|(folder, _)| self.is_folder && *folder == self.name)
    }

    fn is_ours(&self) -> bool {
        self.folder().is_some() || (!self.is_folder && is_file_of_orion(&self.name))
    }
}

fn entries(dir: &Dir) -> io::Result<Vec<Entry>> {
    let all = dir.entries()?.map(|entry| {
        let entry = entry?;
        // Where a name is no text, what stands for its characters is in no name of Orion's.
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok(Entry { name, is_folder: entry.file_type()?.is_dir() })
    });
    all.collect()
}

/// Removes a folder. Where the directory holds what is not Orion's, only what is known to be Orion's goes.
fn remove_folder(parent: &Dir, name: &str, is_ours: IsOurs, has_others: bool) -> io::Result<()> {
    if name == ARTIFACTS && !has_others {
        return parent.remove_dir_all(name);
    }
    let folder = parent.open_dir_nofollow(name)?;
    let entries = entries(&folder)?;
    for entry in &entries {
        let is_installed = name == ARTIFACTS && is_artifact(&entry.name, &entries);
        match (is_ours(&entry.name) || is_installed, entry.is_folder) {
            (true, true) => folder.remove_dir_all(&entry.name)?,
            (true, false) => folder.remove_file(&entry.name)?,
            (false, _) => {}
        }
    }
    drop(folder);
    match parent.remove_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn is_file_of_orion(name: &str) -> bool {
    let is_stop = cfg!(windows) && name == STOP;
    FILES.contains(&name) || is_stop || is_kept_audit(name) || is_temporary(name)
}

/// An audit that was put aside: `audit.before.jsonl`, `audit.damaged-2.jsonl`.
fn is_kept_audit(name: &str) -> bool {
    let stem = name.strip_suffix(".jsonl");
    let rest = stem.and_then(|stem| {
        [AUDIT_BEFORE, AUDIT_DAMAGED].into_iter().find_map(|it| stem.strip_prefix(it))
    });
    rest.is_some_and(|rest| {
        let number = rest.strip_prefix('-').unwrap_or_default();
        rest.is_empty() || number.parse::<u32>().is_ok()
    })
}

/// A file that was cut off while it was written: `.key.pem.0123456789abcdef.tmp`, or a digest in place of the name.
fn is_temporary(name: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(stem) = name.strip_prefix('.').and_then(|it| it.strip_suffix(".tmp")) else {
        return false;
    };
    let of_file = stem.rsplit_once('.').is_some_and(|(file, suffix)| {
        FILES.contains(&file) && suffix.len() == 16 && is_hex(suffix)
    });
    of_file || (stem.len() == 64 && is_hex(stem))
}

/// The folder of a call, which `trash` marks while the call is open.
fn is_of_call(name: &str) -> bool {
    let id = name.strip_suffix(".open").unwrap_or(name);
    id.len() == 36 && id.parse::<CallId>().is_ok()
}

/// A question or its answer.
fn is_of_question(name: &str) -> bool {
    let id = name.strip_suffix(".json").or_else(|| name.strip_suffix(".answer"));
    let is_id = |id: &str| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    id.is_some_and(is_id) || is_temporary(name)
}

/// An artifact: its record, or the folder that has one beside it.
fn is_artifact(name: &str, beside: &[Entry]) -> bool {
    let has = |name: &str, is_folder: bool| {
        beside.iter().any(|it| it.name == name && it.is_folder == is_folder)
    };
    let artifact = name.strip_suffix(".json").unwrap_or(name);
    has(artifact, true) && has(&format!("{artifact}.json"), false)
}

#[cfg(test)]
mod tests;
