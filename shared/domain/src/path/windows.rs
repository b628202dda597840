//! The path rules of Windows, and the spellings that give one file several names.

use super::PathError;
use super::error::shown;

/// The maximum length of a component, in UTF-16 units.
const MAX_NAME_UNITS: usize = 255;

/// Names that open a device in any folder. [`is_device`] handles `COM` and `LPT` with a digit.
const DEVICES: [&str; 7] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"];

/// Shares that hold pipes and mail slots in place of files.
const DEVICE_SHARES: [&str; 3] = ["PIPE", "MAILSLOT", "IPC$"];

fn is_separator(character: char) -> bool {
    matches!(character, '/' | '\\')
}

/// Rejects control characters anywhere and the prefixes after which Windows applies other rules.
pub(super) fn check_text(text: &str) -> Result<(), PathError> {
    if let Some(control) = text.chars().find(|character| *character < ' ') {
        return Err(PathError::ControlCharacter { code: control.into() });
    }
    if is_verbatim(text) {
        return Err(PathError::VerbatimPrefix);
    }
    Ok(())
}

/// Returns whether the text is `\\?`, `\\.` or `\??`, with either separator, before nothing or a
/// separator.
fn is_verbatim(text: &str) -> bool {
    let mut characters = text.chars();
    let mut next = || match characters.next() {
        None => '\\',
        Some(character) if is_separator(character) => '\\',
        Some(character) => character,
    };
    matches!(
        [next(), next(), next(), next()],
        ['\\', '\\', '?' | '.', '\\'] | ['\\', '?', '?', '\\']
    )
}

/// Splits `C:/x` and `//server/share/x`. `None` for a relative path; an error for one that only looks
/// absolute.
pub(super) fn split_prefix(text: &str) -> Result<Option<(String, &str)>, PathError> {
    if let Some(rest) = text.strip_prefix(is_separator) {
        return match rest.strip_prefix(is_separator) {
            Some(share) => split_share(share).map(Some),
            None => Err(PathError::RootRelative),
        };
    }
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(letter), Some(':')) if letter.is_ascii_alphabetic() => {
            let drive = format!("{}:", letter.to_ascii_uppercase());
            let rest = characters.as_str();
            if rest.starts_with(is_separator) {
                Ok(Some((drive, rest)))
            } else {
                Err(PathError::DriveRelative { drive })
            }
        }
        _ => Ok(None),
    }
}

/// Splits the rest of a network path after its two separators: server, share, rest.
fn split_share(text: &str) -> Result<(String, &str), PathError> {
    let (server, rest) = text.split_once(is_separator).ok_or(PathError::IncompleteShare)?;
    let end = rest.find(is_separator).unwrap_or(rest.len());
    let (share, rest) = rest.split_at(end);
    for part in [server, share] {
        if matches!(part, "" | "." | "..") {
            return Err(PathError::IncompleteShare);
        }
        check_component(part)?;
    }
    if DEVICE_SHARES.iter().any(|device| device.eq_ignore_ascii_case(share)) {
        return Err(PathError::DeviceName { name: shown(share) });
    }
    Ok((format!("//{server}/{share}"), rest))
}

/// Rejects every component that Windows would not read as a file of exactly this name.
pub(super) fn check_component(component: &str) -> Result<(), PathError> {
    if let Some(character) = component.chars().find(|character| matches!(character, '?' | '*')) {
        return Err(PathError::ForbiddenCharacter { character });
    }
    if is_device(component) {
        return Err(PathError::DeviceName { name: shown(component) });
    }
    check_pattern_component(component)?;
    if is_short_name(component) {
        return Err(PathError::ShortName { component: shown(component) });
    }
    Ok(())
}

/// Checks the rules that also apply to a component with wildcards.
pub(super) fn check_pattern_component(component: &str) -> Result<(), PathError> {
    if component.encode_utf16().count() > MAX_NAME_UNITS {
        return Err(PathError::NameTooLong { component: shown(component) });
    }
    if component.contains(':') {
        return Err(PathError::AlternateStream { component: shown(component) });
    }
    let forbidden = |character: &char| matches!(character, '<' | '>' | '"' | '|');
    if let Some(character) = component.chars().find(forbidden) {
        return Err(PathError::ForbiddenCharacter { character });
    }
    if component.ends_with(['.', ' ']) {
        return Err(PathError::TrailingDotOrSpace { component: shown(component) });
    }
    Ok(())
}

/// Compares the name before the first dot, colon or preceding spaces: `nul .txt` is the device as well.
fn is_device(component: &str) -> bool {
    let stem = component.split(['.', ':']).next().unwrap_or_default().trim_end_matches(' ');
    if DEVICES.iter().any(|device| device.eq_ignore_ascii_case(stem)) {
        return true;
    }
    let mut characters = stem.chars();
    let Some(port) = characters.next_back() else {
        return false;
    };
    let kind = characters.as_str();
    matches!(port, '0'..='9' | '¹' | '²' | '³')
        && ["COM", "LPT"].iter().any(|name| name.eq_ignore_ascii_case(kind))
}

/// Returns whether a name is short: `PROGRA~1`, `AB12CD~3.TXT`: at most eight characters ending in `~`
/// and digits, and an extension of at most three.
fn is_short_name(component: &str) -> bool {
    let (stem, extension) = component.split_once('.').unwrap_or((component, ""));
    if stem.chars().count() > 8 || extension.chars().count() > 3 || extension.contains('.') {
        return false;
    }
    stem.rsplit_once('~').is_some_and(|(_, number)| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    })
}
