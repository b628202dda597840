//! `orion-agent allow` and `deny`: change the paths of the owner's file, and nothing else in it. Comments and order
//! stay.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use orion_domain::grants::PathGrant;
use orion_domain::touches::PathTouch;
use orion_domain::{Access, Capability, DevicePath, Grants, Places, Profile};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

use super::{ConfigError, Required, Settings, file, home, own_files_of, source};

/// The names of the list of paths in `[ceiling]`.
const PATHS: [&str; 2] = ["paths", "allowed_paths"];
const DENIED: &str = "deny_paths";

/// A change of what the owner's file allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Allow these accesses to the path, and no others.
    Allow(BTreeSet<Access>),
    /// Allow nothing at the path.
    Deny,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Whether the file is another one than before.
    pub changed: bool,
    /// An allowed path, as it is written, that includes the changed one. What it allows holds there too.
    pub wider: Option<String>,
    /// Why an access that was allowed is still refused, each as a sentence.
    pub refused_by: Vec<String>,
    /// What the file denies inside a path that it allows, as it is written. It stays denied.
    pub except: Vec<String>,
    /// Set where relative paths of calls begin elsewhere from now on.
    pub start: Option<StartMoved>,
}

/// Where relative paths of calls begin: at the first path of the file, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartMoved {
    /// The folder of before.
    pub from: String,
    /// The folder from now on. None if the file has no path any more.
    pub to: Option<String>,
}

/// Changes what the file at `path` allows for the path `written`. A missing file is created.
///
/// # Errors
/// [`ConfigError`]: the file or the path is invalid, or the file cannot be written. Then nothing has changed.
pub fn change(
    path: &Path,
    written: &str,
    change: &Change,
    state_dir: &Path,
) -> Result<Changed, ConfigError> {
    let invalid = |fault| ConfigError::Invalid { path: path.to_owned(), fault };
    let before = if path.exists() {
        source::read(path, Required::Yes)?
    } else {
        file::first(Profile::Operator, &[])
    };
    let Place { mut document, places, target } = Place::of(written, &before, path, state_dir)?;
    let is_same = |value: &Value| names(value, &target, &places);
    let parse = |text: &str| parse(text, path, state_dir);
    let ceiling =
        ceiling(&mut document).ok_or_else(|| invalid("[ceiling] is no table".to_owned()))?;
    let name = PATHS.into_iter().find(|name| ceiling.contains_key(name)).unwrap_or(PATHS[0]);
    let paths = list(ceiling, name).ok_or_else(|| invalid(format!("{name} is no list")))?;
    let first = |paths: &Array| paths.get(0).and_then(path_of).map(str::to_owned);
    let start_before = first(paths);
    let same: Vec<_> = (0..paths.len()).filter(|&at| paths.get(at).is_some_and(is_same)).collect();
    // What is denied on every device is not allowed by a folder around it.
    let is_denied = Grants::default().compile(&places).0.denies_changes(&target);
    // Another file is allowed with its folder, and an entry of its own would grant nothing.
    let has_entry = is_denied || !PathBuf::from(target.to_string()).is_file();
    let superfluous = match (change, same.split_first()) {
        (Change::Allow(_), _) if !has_entry => &same[..],
        (Change::Allow(accesses), Some((&first, others))) => {
            drop(paths.replace(first, entry(written, accesses)));
            others
        }
        (Change::Allow(accesses), None) => {
            paths.push(entry(written, accesses));
            &[]
        }
        (Change::Deny, _) => &same[..],
    };
    for &at in superfluous.iter().rev() {
        drop(paths.remove(at));
    }
    let start_after = first(paths);
    // The same folder may be written in another way.
    let moved = |from: &String| match &start_after {
        Some(to) => DevicePath::resolve(&places, from) != DevicePath::resolve(&places, to),
        None => true,
    };
    let start = start_before
        .filter(|from| moved(from))
        .map(|from| StartMoved { from, to: start_after.clone() });
    let includes = |value: &Value| {
        let path = path_of(value).filter(|_| !is_same(value))?.to_owned();
        let grant = PathGrant { path: path.clone(), access: [Access::Read].into() };
        let (scope, _) = Grants { paths: vec![grant], ..Grants::default() }.compile(&places);
        // A system folder is not part of a wider one.
        scope.covering(&target, Access::Read).map(|_| path)
    };
    let wider = paths.iter().find_map(includes).filter(|_| !is_denied);
    if *change == Change::Deny || ceiling.contains_key(DENIED) {
        let denied =
            list(ceiling, DENIED).ok_or_else(|| invalid(format!("{DENIED} is no list")))?;
        match change {
            Change::Allow(_) => denied.retain(|value| !is_same(value)),
            // Also where no path reaches it by its name: one below it may, or a link.
            Change::Deny if !denied.iter().any(is_same) => denied.push(written),
            Change::Deny => {}
        }
    }
    let after = document.to_string();
    let settings = parse(&after)?;
    let (refused_by, except) = match change {
        Change::Allow(accesses) => (
            refusing(&settings, &places, &target, accesses),
            denied_inside(&settings, &places, &target),
        ),
        Change::Deny => (Vec::new(), Vec::new()),
    };
    if after == before && path.exists() {
        return Ok(Changed { changed: false, wider, refused_by, except, start });
    }
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    replace(path, &after).map_err(failed)?;
    Ok(Changed { changed: true, wider, refused_by, except, start })
}

/// Takes an earlier denial of the path `written` back, and allows nothing more. Returns whether there was one.
///
/// # Errors
/// [`ConfigError`]: the file or the path is invalid, or the file cannot be written. Then nothing has changed.
pub fn undeny(path: &Path, written: &str, state_dir: &Path) -> Result<bool, ConfigError> {
    if !path.exists() {
        return Ok(false);
    }
    let before = source::read(path, Required::Yes)?;
    let Place { mut document, places, target } = Place::of(written, &before, path, state_dir)?;
    let ceiling = document.get_mut("ceiling").and_then(Item::as_table_like_mut);
    let denied = ceiling.and_then(|it| it.get_mut(DENIED)).and_then(Item::as_array_mut);
    let Some(denied) = denied else { return Ok(false) };
    let count = denied.len();
    denied.retain(|value| !names(value, &target, &places));
    if denied.len() == count {
        return Ok(false);
    }
    let after = document.to_string();
    parse(&after, path, state_dir)?;
    replace(path, &after).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    Ok(true)
}

/// A path that is to be changed, and the file that names it.
struct Place {
    document: DocumentMut,
    places: Places,
    target: DevicePath,
}

impl Place {
    fn of(written: &str, text: &str, path: &Path, state_dir: &Path) -> Result<Self, ConfigError> {
        let invalid = |fault| ConfigError::Invalid { path: path.to_owned(), fault };
        let settings = parse(text, path, state_dir)?;
        // As in a ceiling, a relative path has nothing to begin at.
        let places = Places { workspace: None, ..settings.places };
        let target = DevicePath::resolve(&places, written)
            .map_err(|error| invalid(format!("{written}: {error}")))?;
        let document =
            text.parse().map_err(|error: toml_edit::TomlError| invalid(error.to_string()))?;
        Ok(Self { document, places, target })
    }
}

/// Returns the settings of the file's text.
fn parse(text: &str, path: &Path, state_dir: &Path) -> Result<Settings, ConfigError> {
    let own = own_files_of(state_dir, path);
    Settings::parse(text, home().as_deref(), &own)
        .map_err(|fault| ConfigError::Invalid { path: path.to_owned(), fault })
}

/// Returns whether an entry is for this path.
fn names(entry: &Value, target: &DevicePath, places: &Places) -> bool {
    let path = path_of(entry).map(|written| DevicePath::resolve(places, written));
    path.is_some_and(|path| path.is_ok_and(|path| path == *target))
}

/// Returns what in the file refuses one of these accesses to a path that it allows.
fn refusing(
    settings: &Settings,
    places: &Places,
    path: &DevicePath,
    accesses: &BTreeSet<Access>,
) -> Vec<String> {
    let (scope, _) = settings.ceiling.compile(places);
    let changes = accesses.iter().any(|access| *access != Access::Read);
    let mut found = Vec::new();
    if settings.ceiling.read_only && changes {
        found.push("The file has read_only = true: set it to false to allow changes.".to_owned());
    }
    if let Some(entry) = accesses.iter().find_map(|it| scope.denied.keeping_out(path, *it)) {
        let pattern = entry.pattern.as_text();
        found.push(match entry.built_in {
            Some(_) => {
                format!("{pattern} is denied on every device, unless the file names exactly that.")
            }
            None => format!(
                "deny_paths has {pattern}, which closes it: take that out of the file to open it."
            ),
        });
    }
    // What a folder holds has other names than the folder, which may be named.
    let on_disk = PathBuf::from(path.to_string());
    let inside = path.join("x").ok().filter(|_| !on_disk.is_file());
    let closing = inside.as_ref().and_then(|inside| scope.denying(inside));
    if let Some(entry) = closing.filter(|it| found.is_empty() && it.built_in.is_some()) {
        let pattern = entry.pattern.as_text();
        let folder = if on_disk.is_dir() { "" } else { "if this is to be a folder, " };
        found.push(format!(
            "{pattern} is denied on every device: {folder}name each file in it that is needed as well."
        ));
    }
    let needed = |access: &Access| match access {
        Access::Read => Capability::FileRead,
        Access::Write => Capability::FileWrite,
        Access::Delete => Capability::FileDelete,
        Access::Execute => Capability::CommandExecute,
    };
    let missing = accesses.iter().find_map(|it| scope.missing_capability(&[needed(it)]));
    if let Some(missing) = missing {
        found.push(format!("The permission {missing} is missing: add it to the permissions, or take another profile."));
    }
    found
}

/// Returns what the file denies inside a path, as it is written.
fn denied_inside(settings: &Settings, places: &Places, path: &DevicePath) -> Vec<String> {
    let (scope, _) = settings.ceiling.compile(places);
    let whole = PathTouch { path: path.clone(), access: Access::Delete };
    let inside = scope.denied.own();
    let inside = inside.filter(|it| it.refuses(&whole) || it.pattern.root().is_none());
    let inside = inside.filter(|it| !it.keeps_out(path, Access::Delete));
    inside.map(|it| it.pattern.as_text().to_owned()).collect()
}

/// Returns `[ceiling]`. A file without it has the ceiling of a first file, so that a path adds to that.
fn ceiling(document: &mut DocumentMut) -> Option<&mut Table> {
    if !document.contains_key("ceiling") {
        let mut table = Table::new();
        table.insert("profile", toml_edit::value("operator"));
        document.insert("ceiling", Item::Table(table));
    }
    document.get_mut("ceiling")?.as_table_mut()
}

fn list<'a>(table: &'a mut Table, name: &str) -> Option<&'a mut Array> {
    let list = table.entry(name).or_insert_with(|| toml_edit::value(Array::new()));
    // `[[ceiling.paths]]` is the same list, written as tables.
    if list.is_array_of_tables() {
        list.make_value();
    }
    list.as_array_mut()
}

fn path_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.value()),
        Value::InlineTable(table) => table.get("path")?.as_str(),
        Value::Integer(_)
        | Value::Float(_)
        | Value::Boolean(_)
        | Value::Datetime(_)
        | Value::Array(_) => None,
    }
}

fn entry(written: &str, accesses: &BTreeSet<Access>) -> Value {
    if accesses.len() == 3 {
        return written.into();
    }
    let mut table = InlineTable::new();
    table.insert("path", written.into());
    table.insert("access", accesses.iter().map(|access| access.as_str()).collect());
    table.into()
}

/// Writes the file whole, with the permissions that it had. A link stays a link.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("."));
    super::create_folder(folder)?;
    let new = path.with_extension("toml.new");
    let written = || {
        // Nobody else's file: one of this name may be a link, or open elsewhere.
        drop(fs::remove_file(&new));
        let mut file =
            orion_mtls::secret_file::private().write(true).create_new(true).open(&new)?;
        #[cfg(windows)]
        if path.exists() {
            crate::access::copy_list(path, &new)?;
        } else {
            crate::access::make_private(&new)?;
        }
        #[cfg(not(windows))]
        if let Ok(before) = fs::metadata(path) {
            file.set_permissions(before.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    written().inspect_err(|_| drop(fs::remove_file(&new)))
}

#[cfg(test)]
mod tests;
