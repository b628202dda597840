//! Observes the paths that a call touches. A preview reports the observations. The previewed call compares
//! them right before it acts, and again with what each step took. All access is by handle and confined as for
//! any tool; content that may not be read is not opened.

mod programs;
mod snapshot;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use cap_std::fs::Dir;
use orion_domain::observation::{Kind, MAX_OBSERVED};
use orion_domain::touches::PathTouch;
use orion_domain::{Access, DevicePath, Digest, ErrorCode, Observation, ToolError, Touches};
pub(crate) use programs::{compare_programs, observe_programs};
use snapshot::Snapshot;

use crate::call::{ExpectedState, FileContext};
use crate::entry::{MAX_HASHED_BYTES, Target};
use crate::roots::Located;

/// Resolution of the kernel's clock for files: two changes within it may carry the same time.
const TICK: Duration = Duration::from_millis(20);
/// Maximum number of observations of an entry that changed within one tick.
const MAX_LOOKS: u32 = 8;

/// Observes each path of a call, in the call's order. An entry that just changed is observed again until a
/// further change would show. An entry that keeps changing has no digest.
///
/// # Errors
/// A path that is not granted, errors of the operating system, `TIMEOUT` and `CANCELLED`.
pub(crate) fn observe(
    touches: &Touches,
    context: &FileContext<'_>,
) -> Result<Vec<Observation>, ToolError> {
    each(touches, context, |touch, as_entry| {
        let mut looks = 1;
        loop {
            let began = now_ns();
            let (real, snapshot) = one(touch, as_entry, touches.whole, context)?;
            let rests = snapshot.changed_ns.is_none_or(|changed| !is_recent(changed, began));
            if rests || looks == MAX_LOOKS {
                let seen = snapshot.observation(touch.path.to_string(), real);
                let digest = seen.digest.filter(|_| rests);
                return Ok(Observation { digest, ..seen });
            }
            looks += 1;
            context.check()?;
            std::thread::sleep(TICK);
        }
    })
}

/// Refuses a call if a path differs from the preview. Does nothing for a call without a preview.
///
/// # Errors
/// `PRECONDITION_FAILED` with the path and the change, and as [`observe`].
pub(crate) fn compare(context: &FileContext<'_>) -> Result<(), ToolError> {
    let Some(expected) = context.expected else { return Ok(()) };
    let ExpectedState { touches, before } = expected;
    let named = |path: &str| {
        touches.paths.iter().any(|touch| touch.path.to_string() == path)
            || touches.commands.iter().any(|command| command.program == path)
    };
    if let Some(other) = before.iter().find(|seen| !named(&seen.path)) {
        let shown: String = other.path.chars().take(200).collect();
        return Err(ToolError::new(
            ErrorCode::InvalidArgument,
            format!("The call does not touch {shown}, so what was seen there cannot be compared."),
        ));
    }
    each(touches, context, |touch, as_entry| {
        let Some(before) = expected.of(&touch.path) else { return Ok(()) };
        let (real, snapshot) = one(touch, as_entry, touches.whole, context)?;
        let now = snapshot.observation(touch.path.to_string(), real);
        before.drift(&now).map_or(Ok(()), |change| Err(drifted(&before.path, &change)))
    })
    .map(drop)
}

/// Runs `look` once for each path of a call. The flag says whether the path means the entry itself rather
/// than a link's target.
fn each<T>(
    touches: &Touches,
    context: &FileContext<'_>,
    mut look: impl FnMut(&PathTouch, bool) -> Result<T, ToolError>,
) -> Result<Vec<T>, ToolError> {
    let mut done: Vec<&DevicePath> = Vec::new();
    let mut found = Vec::new();
    for touch in &touches.paths {
        if done.contains(&&touch.path) {
            continue;
        }
        if done.len() == MAX_OBSERVED {
            break;
        }
        context.check()?;
        let goes_away = |it: &PathTouch| it.path == touch.path && it.access == Access::Delete;
        found.push(look(touch, touches.paths.iter().any(goes_away))?);
        done.push(&touch.path);
    }
    Ok(found)
}

pub(crate) fn drifted(path: &str, change: &str) -> ToolError {
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!(
            "{path} is not as it was when the preview was shown, so nothing was done: {change}."
        ),
    )
    .hint("make the call again to see a new preview")
    .with("reason", "drift")
    .with("attempted_path", path)
    .with("changed", change)
}

/// Returns the resolved path, and the snapshot of its entry.
fn one(
    touch: &PathTouch,
    as_entry: bool,
    whole: bool,
    context: &FileContext<'_>,
) -> Result<(String, Snapshot), ToolError> {
    let PathTouch { path, access } = touch;
    let roots = context.roots;
    let located =
        if as_entry { roots.locate_entry(path, *access) } else { roots.locate(path, *access) };
    let located = match located {
        Ok(located) => located,
        Err(error) if is_missing(error.code) => {
            return Ok((path.to_string(), Snapshot::NOTHING));
        }
        Err(error) => return Err(error),
    };
    let real = real(&located);
    if located.is_folder() {
        return Ok((real, Snapshot::of_folder(&located, whole, context)?));
    }
    if located.name().is_none() || located.found.is_none() {
        return Ok((real, Snapshot::NOTHING));
    }
    Ok((real, Snapshot::at(&Target::of(&located)?, whole, context)?))
}

/// Refuses a step if its target differs from the observation, right before the step. Skips a folder's
/// entries: [`hold_moved`] checks them once they are out of others' reach.
///
/// # Errors
/// As [`compare`].
pub(crate) fn hold(
    before: &Observation,
    target: &Target,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let now = Snapshot::at(target, false, context)?;
    let mut now = now.observation(before.path.clone(), target.real.to_string());
    if now.kind == Kind::Folder {
        (now.bytes, now.digest) = (before.bytes, before.digest);
    }
    before.drift(&now).map_or(Ok(()), |change| Err(drifted(&before.path, &change)))
}

/// Refuses what a step renamed if it differs from the observation of the target.
///
/// # Errors
/// As [`compare`].
pub(crate) fn hold_moved(
    before: &Observation,
    target: &Target,
    (dir, name): (&Dir, &str),
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let moved = target.moved_to(dir, name)?;
    let whole = context.expected.is_some_and(|expected| expected.touches.whole);
    let now = Snapshot::at(&moved, whole, context)?;
    now.drift_of_moved(before).map_or(Ok(()), |change| Err(drifted(&before.path, &change)))
}

/// Refuses a copy if its source differs from the observation. Compares the digest of one copied file, and the
/// source as it is after the copy.
///
/// # Errors
/// As [`compare`].
pub(crate) fn hold_copied(
    from: &Located,
    copied: Option<Digest>,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let Some(expected) = context.expected else { return Ok(()) };
    let Some(before) = expected.of(&from.asked) else { return Ok(()) };
    let changed = |change: &str| Err(drifted(&before.path, change));
    let now = if from.is_folder() {
        Snapshot::of_folder(from, expected.touches.whole, context)?
    } else {
        if before.bytes <= MAX_HASHED_BYTES && copied != before.digest {
            return changed("its content has changed while it was copied");
        }
        Snapshot::at(&Target::of(from)?, expected.touches.whole, context)?
    };
    let now = now.observation(before.path.clone(), real(from));
    before.drift(&now).map_or(Ok(()), |change| changed(&change))
}

/// Returns the resolved path of a location, which need not exist.
fn real(located: &Located) -> String {
    let joined = located.rest.iter().try_fold(located.real.clone(), |path, name| path.join(name));
    joined.map_or_else(|_| located.asked.to_string(), |path| path.to_string())
}

/// Returns whether a change now could carry the same time as a change just observed.
fn is_recent(changed_ns: i64, began_ns: i64) -> bool {
    let tick = i64::try_from(TICK.as_nanos()).unwrap_or(i64::MAX);
    changed_ns > began_ns.saturating_sub(tick) && changed_ns < now_ns().saturating_add(tick)
}

/// Returns the time in Unix nanoseconds.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

const fn is_missing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::FileNotFound | ErrorCode::DirectoryNotFound | ErrorCode::PathNotFound)
}
