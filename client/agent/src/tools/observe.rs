//! What is observed of the paths that a call touches: reported with a preview, and compared when the call
//! that was previewed runs: right before it acts, and once more what each step took. Reached by handle
//! and confined like everything that tools do; the content of what may not be read is not looked at.

mod snapshot;
#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use cap_std::fs::Dir;
use orion_domain::observation::{Kind, MOST_OBSERVED};
use orion_domain::touches::PathTouch;
use orion_domain::{Access, DevicePath, Digest, ErrorCode, Observation, ToolError, Touches};
use snapshot::Snapshot;

use super::Context;
use crate::changes::{MAX_HASHED_BYTES, Target};
use crate::roots::Located;

/// Two changes within so long may carry one and the same time: the kernel's clock for files ticks.
const TICK: Duration = Duration::from_millis(20);
/// How often is looked again at what was changed within a tick of being looked at.
const MAX_LOOKS: u32 = 8;

/// What is done about what a call touches before it runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum ObservationMode {
    /// Nothing.
    #[default]
    Nothing,
    /// What is observed is reported with the result.
    Tell(Touches),
    /// What is observed must be what was observed before.
    Compare(Touches, Vec<Observation>),
}

/// What a call touches was like this when it was shown.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedState<'a> {
    /// What the call touches.
    pub touches: &'a Touches,
    /// What was observed of it.
    pub before: &'a [Observation],
}

impl<'a> ExpectedState<'a> {
    /// What was observed of a path.
    #[must_use]
    pub fn of(self, path: &DevicePath) -> Option<&'a Observation> {
        let path = path.to_string();
        self.before.iter().find(|seen| seen.path == path)
    }
}

/// What is observed of each path of a call, in the order of the call. What was changed in this very
/// moment is looked at until the next change would show; what never rests has no digest.
///
/// # Errors
/// A path that is not lent, what the operating system refuses, `TIMEOUT` and `CANCELLED`.
pub fn observe(touches: &Touches, context: &Context<'_>) -> Result<Vec<Observation>, ToolError> {
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

/// Refuses a call where a path is not as it was observed.
///
/// # Errors
/// `PRECONDITION_FAILED` with the path and what changed, and as [`observe`].
pub fn compare(expected: ExpectedState<'_>, context: &Context<'_>) -> Result<(), ToolError> {
    let ExpectedState { touches, before } = expected;
    let named = |path: &str| touches.paths.iter().any(|touch| touch.path.to_string() == path);
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

/// Does something for each path of a call once, with whether it is the entry itself that is meant and
/// not what that leads to.
fn each<T>(
    touches: &Touches,
    context: &Context<'_>,
    mut look: impl FnMut(&PathTouch, bool) -> Result<T, ToolError>,
) -> Result<Vec<T>, ToolError> {
    let mut done: Vec<&DevicePath> = Vec::new();
    let mut found = Vec::new();
    for touch in &touches.paths {
        if done.contains(&&touch.path) {
            continue;
        }
        if done.len() == MOST_OBSERVED {
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
            "{path} is not as it was when the preview was shown, so nothing was done: {change}. Make the call again to see a fresh preview."
        ),
    )
    .with("reason", "drift")
    .with("attempted_path", path)
    .with("changed", change)
    .with("hint", "Make the same call again: it is previewed, and asked about, as things are now.")
}

/// Where a path really is, and what stands there.
fn one(
    touch: &PathTouch,
    as_entry: bool,
    whole: bool,
    context: &Context<'_>,
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

/// Refuses a step whose target is not as it was observed, right before it is taken. A folder's entries
/// are left to [`hold_moved`], which finds them where nobody looks any more.
///
/// # Errors
/// As [`compare`].
pub(crate) fn hold(
    before: &Observation,
    target: &Target,
    context: &Context<'_>,
) -> Result<(), ToolError> {
    let now = Snapshot::at(target, false, context)?;
    let mut now = now.observation(before.path.clone(), target.real.to_string());
    if now.kind == Kind::Folder {
        (now.bytes, now.digest) = (before.bytes, before.digest);
    }
    before.drift(&now).map_or(Ok(()), |change| Err(drifted(&before.path, &change)))
}

/// Refuses what a step gave another name, where it is not what was observed at the target.
///
/// # Errors
/// As [`compare`].
pub(crate) fn hold_moved(
    before: &Observation,
    target: &Target,
    (dir, name): (&Dir, &str),
    context: &Context<'_>,
) -> Result<(), ToolError> {
    let moved = target.moved_to(dir, name)?;
    let whole = context.expected.is_some_and(|expected| expected.touches.whole);
    let now = Snapshot::at(&moved, whole, context)?;
    now.drift_of_moved(before).map_or(Ok(()), |change| Err(drifted(&before.path, &change)))
}

/// Refuses a copy of something else than what was observed at its source: by the digest of what was
/// copied, where one file was, and by the source as it is after that.
///
/// # Errors
/// As [`compare`].
pub(crate) fn hold_copied(
    from: &Located,
    copied: Option<Digest>,
    context: &Context<'_>,
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

/// Where a path really is; what is not there is where it would be.
fn real(located: &Located) -> String {
    let joined = located.rest.iter().try_fold(located.real.clone(), |path, name| path.join(name));
    joined.map_or_else(|_| located.asked.to_string(), |path| path.to_string())
}

/// Whether a change at this moment could carry the same time as one that is looked at now.
fn is_recent(changed_ns: i64, began_ns: i64) -> bool {
    let tick = i64::try_from(TICK.as_nanos()).unwrap_or(i64::MAX);
    changed_ns > began_ns.saturating_sub(tick) && changed_ns < now_ns().saturating_add(tick)
}

/// The time, in nanoseconds since 1970.
fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

const fn is_missing(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::FileNotFound | ErrorCode::DirectoryNotFound | ErrorCode::PathNotFound)
}
