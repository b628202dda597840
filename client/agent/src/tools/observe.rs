//! What is seen of the paths that a call touches: told with a preview, and compared right before the
//! call that was previewed runs. Reached by handle and confined like everything that tools do; of what
//! may not be read, only what there is and how large.

use std::io::Read as _;
use std::time::SystemTime;

use cap_std::fs::{Metadata, OpenOptions};
use orion_domain::observation::{Kind, MOST_OBSERVED};
use orion_domain::touches::PathTouch;
use orion_domain::{Access, DevicePath, Digest, ErrorCode, Observation, ToolError, Touches};
use sha2::{Digest as _, Sha256};

use super::walk::{Mode, Next, Visit, walk};
use super::{Context, regular};
use crate::roots::{Located, Wanted, What, io_failure};

/// Larger files are told by size and time alone, in bytes.
const MAX_HASHED_BYTES: u64 = 16 * 1024 * 1024;
/// How many files and folders below a folder are looked at.
const MAX_ENTRIES: u64 = 100_000;
const CHUNK_BYTES: usize = 256 * 1024;

/// What is done about what a call touches before it runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Seeing {
    /// Nothing.
    #[default]
    Nothing,
    /// What is seen is told with the result.
    Tell(Touches),
    /// What is seen must be what was seen before.
    Compare(Touches, Vec<Observation>),
}

/// What a call touches was like this when it was shown.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// What the call touches.
    pub touches: &'a Touches,
    /// What was seen of it.
    pub before: &'a [Observation],
    /// Whether folders were looked into.
    pub deep: bool,
}

/// What is seen of each path of a call, in the order of the call. `deep` looks into folders.
///
/// # Errors
/// A path that is not lent, what the operating system refuses, `TIMEOUT` and `CANCELLED`.
pub fn observe(
    touches: &Touches,
    deep: bool,
    context: &Context<'_>,
) -> Result<Vec<Observation>, ToolError> {
    let mut observed: Vec<Observation> = Vec::new();
    for touch in touches.paths.iter().take(MOST_OBSERVED) {
        if observed.iter().any(|seen| seen.path == touch.path.to_string()) {
            continue;
        }
        let goes_away = |it: &PathTouch| it.path == touch.path && it.access == Access::Delete;
        let as_entry = touches.paths.iter().any(goes_away);
        observed.push(one(touch, as_entry, deep, context)?);
    }
    Ok(observed)
}

/// Refuses a call where a path is not as it was seen.
///
/// # Errors
/// `PRECONDITION_FAILED` with the path and what changed, and as [`observe`].
pub fn compare(expected: &Expected<'_>, context: &Context<'_>) -> Result<(), ToolError> {
    let Expected { touches, before, deep } = *expected;
    let named = |path: &str| touches.paths.iter().any(|touch| touch.path.to_string() == path);
    if let Some(other) = before.iter().find(|seen| !named(&seen.path)) {
        let shown: String = other.path.chars().take(200).collect();
        return Err(ToolError::new(
            ErrorCode::InvalidArgument,
            format!("The call does not touch {shown}, so what was seen there cannot be compared."),
        ));
    }
    let wanted = touches.paths.iter().filter(|touch| {
        let path = touch.path.to_string();
        before.iter().any(|seen| seen.path == path)
    });
    let wanted = Touches { paths: wanted.cloned().collect(), ..Touches::nothing() };
    let now = observe(&wanted, deep, context)?;
    for seen in before {
        let Some(now) = now.iter().find(|now| now.path == seen.path) else { continue };
        if let Some(change) = seen.drift(now) {
            return Err(drifted(&seen.path, &change));
        }
    }
    Ok(())
}

fn drifted(path: &str, change: &str) -> ToolError {
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!(
            "{path} is not as it was when the preview was shown, so nothing was done: {change}."
        ),
    )
    .with("reason", "drift")
    .with("attempted_path", path)
    .with("changed", change)
}

fn one(
    touch: &PathTouch,
    as_entry: bool,
    deep: bool,
    context: &Context<'_>,
) -> Result<Observation, ToolError> {
    let PathTouch { path, access } = touch;
    let roots = context.roots;
    let located =
        if as_entry { roots.locate_entry(path, *access) } else { roots.locate(path, *access) };
    let nothing = |real: String| Observation {
        path: path.to_string(),
        real,
        kind: Kind::Nothing,
        bytes: 0,
        modified_at: 0,
        digest: None,
    };
    let located = match located {
        Ok(located) => located,
        Err(error) if is_missing(error.code) => return Ok(nothing(path.to_string())),
        Err(error) => return Err(error),
    };
    let real = real(&located);
    let may_read = roots.lends(path, Access::Read);
    if located.is_folder() {
        return folder(located, nothing(real), deep && may_read, context);
    }
    let (Some(name), Some(_)) = (located.name(), located.found) else { return Ok(nothing(real)) };
    let metadata = match located.dir.symlink_metadata(name) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(nothing(real)),
        Err(error) => return Err(io_failure(&error, Wanted::Path, path)),
    };
    let seen = Observation {
        bytes: metadata.len(),
        modified_at: modified(&metadata, 1_000_000),
        ..nothing(real)
    };
    match What::of(metadata.file_type()) {
        What::File => {
            let hashed = may_read && metadata.len() <= MAX_HASHED_BYTES;
            let digest = hashed.then(|| content(&located, name, path, context)).transpose()?;
            Ok(Observation { kind: Kind::File, digest: digest.flatten(), ..seen })
        }
        What::Link => {
            let target = located
                .dir
                .read_link_contents(name)
                .map_err(|error| io_failure(&error, Wanted::Path, path))?;
            // Where it leads may be for nobody to know; that it was replaced is.
            let digest = if may_read {
                Digest::of(target.as_os_str().as_encoded_bytes())
            } else {
                Digest::of(
                    &[metadata.len(), modified(&metadata, 1).cast_unsigned()]
                        .map(u64::to_be_bytes)
                        .concat(),
                )
            };
            Ok(Observation { kind: Kind::Link, digest: Some(digest), ..seen })
        }
        What::Special => Ok(Observation { kind: Kind::Special, ..seen }),
        What::Folder => {
            let entered = roots.locate(path, *access)?;
            let seen = nothing(seen.real);
            if entered.is_folder() {
                return folder(entered, seen, deep && may_read, context);
            }
            Ok(seen)
        }
    }
}

/// What a folder holds; no digest where it may not be looked into, or holds more than is looked at.
fn folder(
    located: Located,
    seen: Observation,
    deep: bool,
    context: &Context<'_>,
) -> Result<Observation, ToolError> {
    let seen = Observation { kind: Kind::Folder, ..seen };
    if !deep {
        return Ok(seen);
    }
    let mut hasher = Sha256::new();
    let (mut entries, mut bytes) = (0_u64, 0_u64);
    let is_cut = walk(&located, Mode::Deep, context, &mut |visit: &Visit<'_>| {
        let Some(metadata) = visit.metadata() else { return Ok(Next::On) };
        let (what, size, modified) = match visit.what {
            What::File => (0_u8, metadata.len(), modified(&metadata, 1)),
            What::Folder => (1, 0, 0),
            What::Link => (2, metadata.len(), modified(&metadata, 1)),
            What::Special => (3, 0, 0),
        };
        if visit.what == What::File {
            bytes = bytes.saturating_add(size);
        }
        for name in visit.below {
            hasher.update((name.len() as u64).to_be_bytes());
            hasher.update(name.as_bytes());
        }
        hasher.update(u64::MAX.to_be_bytes());
        hasher.update([what]);
        hasher.update(size.to_be_bytes());
        hasher.update(modified.to_be_bytes());
        entries += 1;
        Ok(if entries <= MAX_ENTRIES { Next::On } else { Next::Stop })
    })?;
    if is_cut || entries > MAX_ENTRIES {
        return Ok(seen);
    }
    Ok(Observation { bytes, digest: Digest::from_slice(&hasher.finalize()), ..seen })
}

/// SHA-256 of a file; none where it has become larger meanwhile than is read.
fn content(
    located: &Located,
    name: &str,
    path: &DevicePath,
    context: &Context<'_>,
) -> Result<Option<Digest>, ToolError> {
    let (file, _) = regular::open(&located.dir, name, path, OpenOptions::new().read(true))?;
    let mut file = file.take(MAX_HASHED_BYTES + 1);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut read = 0_u64;
    loop {
        context.check()?;
        match file.read(&mut buffer).map_err(|error| io_failure(&error, Wanted::File, path))? {
            0 => break,
            more => {
                read += more as u64;
                hasher.update(buffer.get(..more).unwrap_or_default());
            }
        }
    }
    Ok(if read > MAX_HASHED_BYTES { None } else { Digest::from_slice(&hasher.finalize()) })
}

/// Where a path really is; what is not there is where it would be.
fn real(located: &Located) -> String {
    let joined = located.rest.iter().try_fold(located.real.clone(), |path, name| path.join(name));
    joined.map_or_else(|_| located.asked.to_string(), |path| path.to_string())
}

/// When something was last changed, in units of so many nanoseconds since 1970.
fn modified(metadata: &Metadata, unit: u128) -> i64 {
    let since = metadata
        .modified()
        .ok()
        .and_then(|at| at.into_std().duration_since(SystemTime::UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_nanos() / unit).ok()).unwrap_or_default()
}

const fn is_missing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::FileNotFound | ErrorCode::DirectoryNotFound | ErrorCode::PathNotFound)
}

#[cfg(test)]
mod tests;
