//! What each change does to the owner's file.

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
    let paths: Vec<_> =
        folder.ceiling().paths.iter().map(|entry| serde_json::to_value(entry).unwrap()).collect();
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
    assert_eq!(
        changed,
        Changed { changed: true, wider, refused_by: Vec::new(), except: Vec::new(), start: None }
    );
    assert!(folder.change("/srv/a", &reading).unwrap());
    let paths = folder.ceiling().paths;
    assert_eq!(paths.iter().map(|it| &*it.path).collect::<Vec<_>>(), ["/srv/a", "/srv/a/b"]);
    assert!(paths.iter().all(|it| it.access.len() == 1));
    assert!(folder.change("/srv", &Change::Deny).unwrap());
    assert_eq!(folder.ceiling().deny_paths, ["/srv"], "what is below stays named and is closed");
}

#[test]
fn a_denial_is_taken_back_alone() {
    let text = "[ceiling]\nprofile = \"operator\"\ndeny_paths = [\"/srv\", \"/opt\"]\n";
    let folder = Folder::with(text);
    let (file, state) = (folder.0.path().join("agent.toml"), folder.0.path().join("state"));
    let undeny = |path: &str| super::undeny(&file, path, &state).unwrap();
    assert!(!undeny("/srv/a"), "only the very path");
    assert!(undeny("/srv/./"));
    let left = std::fs::read_to_string(&file).unwrap();
    let expected = text.replace("\"/srv\",", "");
    assert_eq!(left, expected, "and nothing else is written");
    assert!(!undeny("/srv"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), left);
    let missing = folder.0.path().join("missing.toml");
    assert!(!super::undeny(&missing, "/srv", &state).unwrap() && !missing.exists());
}

#[test]
fn a_wider_folder_is_named_unless_the_path_is_a_system_folder() {
    let folder = Folder::with("[ceiling]\nprofile = \"operator\"\npaths = [\"/\"]\n");
    let (file, state) = (folder.0.path().join("agent.toml"), folder.0.path().join("state"));
    let wider = |path: &str| super::change(&file, path, &every(), &state).unwrap().wider;
    assert_eq!((wider("/srv/a"), wider("/etc")), (Some("/".to_owned()), None));
}

#[test]
fn what_still_refuses_an_allowed_path_is_said() {
    for (rest, all, reading) in [
        ("profile = \"operator\"\n", "", ""),
        ("profile = \"reader\"\n", "The permission file_write is missing", ""),
        (
            "profile = \"operator\"\ndeny_paths = [\"/srv/a\"]\n",
            "deny_paths has /srv/a, which closes it",
            "deny_paths has /srv/a, which closes it",
        ),
        ("", "The permission file_read is missing", "The permission file_read is missing"),
    ] {
        let folder = Folder::with(&format!("[ceiling]\n{rest}"));
        let file = folder.0.path().join("agent.toml");
        for (change, expected) in [(every(), all), (Change::Allow([Access::Read].into()), reading)]
        {
            let changed = super::change(&file, "/srv/a/b", &change, &folder.0.path().join("state"));
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
    // What starts programs may be read with its folder, and is changed only by its own name.
    fs::write(files.join(".profile"), "").unwrap();
    for name in [".env", ".profile"] {
        let Changed { changed, wider, refused_by, except: _, start: _ } = changed(name);
        assert_eq!((changed, wider, refused_by), (true, None, Vec::new()), "{name}");
        assert!(folder.text().contains(name), "{}", folder.text());
    }
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
