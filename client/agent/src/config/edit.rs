//! `orion-agent allow` and `deny`: change the paths of the owner's file, and nothing else in it. Comments and order
//! stay.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
    let own = own_files_of(state_dir, path);
    let parse = |text: &str| Settings::parse(text, home().as_deref(), &own).map_err(invalid);
    let before = if path.exists() {
        source::read(path, Required::Yes)?
    } else {
        file::first(Profile::Operator, &[])
    };
    let settings = parse(&before)?;
    // As in a ceiling, a relative path has nothing to begin at.
    let places = Places { workspace: None, ..settings.places };
    let resolved = |written: &str| DevicePath::resolve(&places, written);
    let target = resolved(written).map_err(|error| invalid(format!("{written}: {error}")))?;
    let mut document: DocumentMut =
        before.parse().map_err(|error: toml_edit::TomlError| invalid(error.to_string()))?;
    let is_same = |value: &Value| {
        path_of(value).is_some_and(|written| resolved(written).is_ok_and(|path| path == target))
    };
    let ceiling =
        ceiling(&mut document).ok_or_else(|| invalid("[ceiling] is no table".to_owned()))?;
    let name = PATHS.into_iter().find(|name| ceiling.contains_key(name)).unwrap_or(PATHS[0]);
    let paths = list(ceiling, name).ok_or_else(|| invalid(format!("{name} is no list")))?;
    let same: Vec<_> = (0..paths.len()).filter(|&at| paths.get(at).is_some_and(is_same)).collect();
    // What is denied on every device is not allowed by a folder around it.
    let is_denied = Grants::default().compile(&places).0.denying(&target).is_some();
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
    let includes = |value: &Value| {
        let path = path_of(value).filter(|_| !is_same(value))?;
        resolved(path).is_ok_and(|it| it.contains(&target)).then(|| path.to_owned())
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
    let refused_by = match change {
        Change::Allow(accesses) => refusing(&parse(&after)?, &places, &target, accesses),
        Change::Deny => parse(&after).map(|_| Vec::new())?,
    };
    if after == before && path.exists() {
        return Ok(Changed { changed: false, wider, refused_by });
    }
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    replace(path, &after).map_err(failed)?;
    Ok(Changed { changed: true, wider, refused_by })
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
    let touch = |access: &Access| PathTouch { path: path.clone(), access: *access };
    if let Some(entry) = accesses.iter().find_map(|access| scope.denying_touch(&touch(access))) {
        let pattern = entry.pattern.as_text();
        found.push(match entry.built_in {
            Some(_) => {
                format!("{pattern} is denied on every device, unless the file names exactly that.")
            }
            None => format!("deny_paths has {pattern}: take it out of the file."),
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
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn with(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            if !text.is_empty() {
                fs::write(folder.path().join("agent.toml"), text).unwrap();
            }
            Self(folder)
        }

        fn change(&self, written: &str, change: &Change) -> Result<bool, ConfigError> {
            let state = self.0.path().join("state");
            let file = self.0.path().join("agent.toml");
            super::change(&file, written, change, &state).map(|it| it.changed)
        }

        fn text(&self) -> String {
            fs::read_to_string(self.0.path().join("agent.toml")).unwrap()
        }

        fn ceiling(&self) -> orion_domain::Grants {
            let path = self.0.path().join("agent.toml");
            Settings::load(&path, Required::Yes, &self.0.path().join("state")).unwrap().ceiling
        }
    }

    fn every() -> Change {
        Change::Allow([Access::Read, Access::Write, Access::Delete].into())
    }

    #[test]
    fn a_list_that_is_written_as_tables_is_changed_as_any_other() {
        let before = "[ceiling]\nprofile = \"reader\"\n\n[[ceiling.paths]]\npath = \"/srv/a\"\naccess = [\"read\"]\n\n[apps]\nnote = \"/bin/true\"\n";
        let folder = Folder::with(before);
        assert!(folder.change("/srv/b", &Change::Allow([Access::Read].into())).unwrap());
        assert!(folder.change("/srv/a", &Change::Deny).unwrap());
        let paths: Vec<_> = folder
            .ceiling()
            .paths
            .iter()
            .map(|entry| serde_json::to_value(entry).unwrap())
            .collect();
        assert_eq!(paths, [serde_json::json!({"path": "/srv/b", "access": ["read"]})]);
    }

    #[test]
    fn a_path_is_allowed_changed_and_denied_and_all_else_in_the_file_stays() {
        let before = "# mine\n[ceiling]\nprofile = \"reader\" # only reading\npaths = [\n    \"/srv/a\", # the first\n]\ndeny_paths = [\"/srv/b\"]\n";
        let folder = Folder::with(before);
        assert!(folder.change("/srv/b", &Change::Allow([Access::Read].into())).unwrap());
        let text = folder.text();
        for kept in ["# mine", "# only reading", "# the first"] {
            assert!(text.contains(kept), "{text}");
        }
        let ceiling = folder.ceiling();
        let paths: Vec<_> = ceiling.paths.iter().map(|it| (&*it.path, it.access.len())).collect();
        assert_eq!((paths, ceiling.deny_paths), (vec![("/srv/a", 3), ("/srv/b", 1)], vec![]));

        assert!(folder.change("/srv/b/", &every()).unwrap());
        assert_eq!(folder.ceiling().paths.len(), 2, "the same path, written otherwise");
        assert!(folder.change("/srv/b", &Change::Deny).unwrap());
        assert_eq!(folder.ceiling().paths.len(), 1);
        assert_eq!(folder.ceiling().deny_paths, ["/srv/b"]);
        assert!(folder.change("/srv/a/secret", &Change::Deny).unwrap());
        assert_eq!(folder.ceiling().deny_paths, ["/srv/b", "/srv/a/secret"]);
        assert!(!folder.change("/srv/a/secret", &Change::Deny).unwrap(), "nothing is left to do");
    }

    #[test]
    fn a_denied_path_closes_what_is_below_it_and_an_allowed_one_is_there_once() {
        let folder = Folder::with(
            "[ceiling]\nprofile = \"operator\"\npaths = [\"/srv/a\", \"/srv/a/b\", \"/srv/a/\"]\n",
        );
        let file = folder.0.path().join("agent.toml");
        let state = folder.0.path().join("state");
        let reading = Change::Allow([Access::Read].into());
        let changed = super::change(&file, "/srv/a/b", &reading, &state).unwrap();
        let wider = Some("/srv/a".to_owned());
        assert_eq!(changed, Changed { changed: true, wider, refused_by: Vec::new() });
        assert!(folder.change("/srv/a", &reading).unwrap());
        let paths = folder.ceiling().paths;
        assert_eq!(paths.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["/srv/a", "/srv/a/b"]);
        assert!(paths.iter().all(|it| it.access.len() == 1));
        assert!(folder.change("/srv", &Change::Deny).unwrap());
        assert_eq!(
            folder.ceiling().deny_paths,
            ["/srv"],
            "what is below stays named and is closed"
        );
    }

    #[test]
    fn what_still_refuses_an_allowed_path_is_said() {
        for (rest, all, reading) in [
            ("profile = \"operator\"\n", "", ""),
            ("profile = \"reader\"\n", "The permission file_write is missing", ""),
            (
                "profile = \"operator\"\ndeny_paths = [\"/srv/a\"]\n",
                "deny_paths has /srv/a:",
                "deny_paths has /srv/a:",
            ),
            ("", "The permission file_read is missing", "The permission file_read is missing"),
        ] {
            let folder = Folder::with(&format!("[ceiling]\n{rest}"));
            let file = folder.0.path().join("agent.toml");
            for (change, expected) in
                [(every(), all), (Change::Allow([Access::Read].into()), reading)]
            {
                let changed =
                    super::change(&file, "/srv/a/b", &change, &folder.0.path().join("state"));
                let refused_by = changed.unwrap().refused_by.join(" ");
                assert_eq!(refused_by.is_empty(), expected.is_empty(), "{refused_by}");
                assert!(refused_by.starts_with(expected), "{refused_by}");
            }
        }
    }

    #[test]
    fn a_folder_of_secrets_stays_closed_and_no_folder_around_it_opens_it() {
        let folder = Folder::with("[ceiling]\nprofile = \"operator\"\n");
        let files = folder.0.path().canonicalize().unwrap();
        fs::create_dir(files.join(".ssh")).unwrap();
        fs::write(files.join(".env"), "").unwrap();
        let changed = |name: &str| {
            let (file, state) = (folder.0.path().join("agent.toml"), folder.0.path().join("state"));
            super::change(&file, files.join(name).to_str().unwrap(), &every(), &state).unwrap()
        };
        assert!(changed("").refused_by.is_empty());
        let Changed { refused_by, wider, .. } = changed(".ssh");
        assert!(wider.is_none() && refused_by[0].contains("name each file"), "{refused_by:?}");
        assert_eq!((changed(".env").wider, changed(".env").refused_by), (None, Vec::new()));
        // Any other file is allowed with its folder, and may have been denied by itself.
        fs::write(files.join("a.txt"), "").unwrap();
        let before = folder.text();
        assert_eq!((changed("a.txt").changed, folder.text() == before), (false, true));
        assert!(folder.change(files.join("a.txt").to_str().unwrap(), &Change::Deny).unwrap());
        assert!(folder.text().contains("a.txt"));
        let allowed = changed("a.txt");
        assert!(allowed.changed && allowed.refused_by.is_empty(), "{allowed:?}");
        assert!(!folder.text().contains("a.txt"), "{}", folder.text());
        let missing = changed(".aws").refused_by;
        assert!(missing[0].contains("if this is to be a folder, name each file"), "{missing:?}");
    }

    #[test]
    fn a_missing_file_is_created_and_a_bad_path_or_file_changes_nothing() {
        let folder = Folder::with("");
        assert!(folder.change("~/files", &every()).unwrap());
        assert_eq!(folder.ceiling().paths[0].path, "~/files");
        assert!(folder.text().starts_with("# The most that anyone"), "{}", folder.text());
        let before = folder.text();
        assert!(folder.change("/srv/\0", &every()).is_err());
        assert_eq!(folder.text(), before);
        let broken = Folder::with("[ceiling]\nprofil = \"reader\"\n");
        let error = broken.change("/srv", &every()).unwrap_err().to_string();
        assert!(error.contains("did you mean `profile`"), "{error}");
        assert_eq!(broken.text(), "[ceiling]\nprofil = \"reader\"\n");
        let bare = Folder::with("read_only = true\n");
        bare.change("/srv", &every()).unwrap();
        assert!(bare.ceiling().read_only && bare.ceiling().paths.len() == 1);
    }

    #[cfg(unix)]
    #[test]
    fn the_file_keeps_its_permissions_and_a_link_stays_a_link() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = Folder::with("");
        let real = folder.0.path().join("dotfiles.toml");
        fs::write(&real, "[ceiling]\n").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, folder.0.path().join("agent.toml")).unwrap();
        folder.change("/srv", &every()).unwrap();
        assert!(folder.0.path().join("agent.toml").is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("/srv"));
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
