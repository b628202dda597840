//! What Windows runs when this person signs in: a value of the registry.

use windows_registry::{CURRENT_USER, Key};

use super::{NAME, RunAs, Unit, failed};
use crate::service::ServiceError;
use crate::service::command_line::joined;
use crate::toast;

const KEY: &str = r"Software\Microsoft\Windows\CurrentVersion\Run";
/// The value, as people find it.
pub(super) const SHOWN: &str =
    r"HKEY_CURRENT_USER\Software\Microsoft\Windows\CurrentVersion\Run\orion-agent";
/// The longest command that Windows runs from there, in characters.
const MAX_LENGTH: usize = 260;
const WHAT: &str = "the registry cannot be changed at Software\\Microsoft\\Windows\\CurrentVersion\\Run of this account";
const WHAT_OF_TOASTS: &str =
    "the registry cannot be changed at Software\\Classes\\AppUserModelId of this account";

/// A command that was put in place.
#[derive(Debug)]
pub(in super::super) struct Placed {
    before: Option<String>,
}

/// Returns the command that is there.
pub(super) fn command() -> Result<Option<String>, ServiceError> {
    let key = open()?;
    let names = key.values().map_err(failed(WHAT))?.map(|(name, _)| name);
    if !names.into_iter().any(|name| name.eq_ignore_ascii_case(NAME)) {
        return Ok(None);
    }
    key.get_string(NAME).map(Some).map_err(failed(WHAT))
}

/// Returns the command of a unit.
fn line(unit: &Unit) -> Result<String, ServiceError> {
    let words = unit.run(RunAs::Launcher);
    let program = unit.program.to_string_lossy();
    let bad = || ServiceError::BadPath { path: unit.program.clone() };
    joined(std::iter::once(&*program).chain(words.iter().map(String::as_str))).ok_or_else(bad)
}

/// Returns whether the command that is there is that of this unit.
pub(super) fn is_of(unit: &Unit) -> Result<bool, ServiceError> {
    Ok(command()?.is_some_and(|there| line(unit).is_ok_and(|line| line == there)))
}

/// Puts the command in place.
pub(super) fn place(unit: &Unit) -> Result<Placed, ServiceError> {
    let line = line(unit)?;
    let length = line.encode_utf16().count();
    if length > MAX_LENGTH {
        return Err(ServiceError::TooLong { length, max: MAX_LENGTH });
    }
    let before = command()?;
    open()?.set_string(NAME, line).map_err(failed(WHAT))?;
    // An agent without notices is better than none.
    drop(toast::register());
    Ok(Placed { before })
}

impl Placed {
    /// Puts back what was there before.
    pub(super) fn undo(self) -> Result<(), ServiceError> {
        match self.before {
            Some(before) => open()?.set_string(NAME, before).map_err(failed(WHAT)),
            None => remove().map(drop),
        }
    }
}

/// Removes the command. Returns whether there was one.
pub(super) fn remove() -> Result<bool, ServiceError> {
    let is_there = command()?.is_some();
    if is_there {
        open()?.remove_value(NAME).map_err(failed(WHAT))?;
    }
    toast::unregister().map_err(failed(WHAT_OF_TOASTS))?;
    Ok(is_there)
}

fn open() -> Result<Key, ServiceError> {
    CURRENT_USER.create(KEY).map_err(failed(WHAT))
}
