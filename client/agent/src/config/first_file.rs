//! The first `agent.toml`, which enrolling or installing writes.

use std::fs;
use std::io;
use std::path::Path;

use orion_domain::Profile;

use super::{ConfigError, Required, Settings, create_folder, file, home, own_files_of};

/// Returns the text of a first `agent.toml` with this profile, an operator's where there is none, that allows `paths`,
/// with comments that explain its keys. A file that is there must have the profile and allow the paths.
///
/// # Errors
/// [`ConfigError::Exists`] when the file that is there does not, [`ConfigError::Invalid`] when a path is invalid.
pub fn first(
    path: &Path,
    profile: Option<Profile>,
    paths: &[String],
    state_dir: &Path,
) -> Result<String, ConfigError> {
    let text = file::first(profile.unwrap_or(Profile::Operator), paths);
    let parsed = Settings::parse(&text, home().as_deref(), &own_files_of(state_dir, path));
    let wanted = parsed.map_err(|fault| ConfigError::Invalid { path: path.to_owned(), fault })?;
    if path.exists() {
        let settings = Settings::load(path, Required::Yes, state_dir)?;
        let exists = |fix| ConfigError::Exists { path: path.to_owned(), fix };
        let lacks = |index: &usize| {
            wanted.scope.allowed.get(*index).is_none_or(|entry| {
                settings.scope.denying(&entry.root).is_some()
                    || entry
                        .access
                        .iter()
                        .any(|it| settings.scope.covering(&entry.root, *it).is_none())
            })
        };
        if let Some(lacking) = (0..paths.len()).find(lacks).and_then(|index| paths.get(index)) {
            // A path that a shell would not read as it is written is left to the owner.
            let is_plain = |c: char| c.is_alphanumeric() || "/~._:-".contains(c);
            let lacking = if lacking.chars().all(is_plain) { lacking } else { "PATH" };
            return Err(exists(format!(
                "run `orion-agent allow {lacking}`, then this command again without --allow-path"
            )));
        }
        if let Some(profile) = profile.filter(|it| settings.ceiling.profile != Some(*it)) {
            return Err(exists(format!(
                "leave out --profile, or set profile = \"{profile}\" in it first"
            )));
        }
    }
    Ok(text)
}

/// Writes a first `agent.toml`, and returns whether it did. An existing file is never changed.
///
/// # Errors
/// [`ConfigError::Read`] when it cannot be written.
pub fn write_first(path: &Path, text: &str) -> Result<bool, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        create_folder(parent).map_err(failed)?;
    }
    let mut file = match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed(error)),
    };
    #[cfg(windows)]
    crate::access::make_private(path).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map(|()| true).map_err(failed)
}

/// Writes a first `agent.toml` that allows no path, where there is none. Returns whether it did.
///
/// # Errors
/// As [`first`] and [`write_first`].
pub fn make_first(path: &Path, state_dir: &Path) -> Result<bool, ConfigError> {
    write_first(path, &first(path, None, &[], state_dir)?)
}

/// Removes a first `agent.toml`, and its folder if nothing else is in it. What fails stays.
pub fn remove_first(path: &Path) {
    if fs::remove_file(path).is_ok() {
        path.parent().into_iter().for_each(|folder| drop(fs::remove_dir(folder)));
    }
}
