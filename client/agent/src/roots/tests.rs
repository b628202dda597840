//! What two scopes allow together, and where paths lead.

use std::fs;

use orion_domain::grants::{Grants, PathGrant};
use orion_domain::{ErrorCode, PathStyle, Places};
use serde_json::json;
use tempfile::TempDir;

use super::*;

const READ: &[Access] = &[Access::Read];
const BOTH: &[Access] = &[Access::Read, Access::Write];

struct TestFolder(TempDir);

impl TestFolder {
    fn new(folders: &[&str]) -> Self {
        let temp = TempDir::new().unwrap();
        for name in folders {
            fs::create_dir_all(temp.path().join(name)).unwrap();
        }
        Self(temp)
    }

    fn path(&self, name: &str) -> DevicePath {
        let text = self.0.path().join(name).to_str().unwrap().to_owned();
        DevicePath::parse(PathStyle::Posix, &text).unwrap()
    }

    fn scope(&self, paths: &[(&str, &[Access])], deny: &[&str]) -> Scope {
        let grants = Grants {
            paths: paths
                .iter()
                .map(|(name, access)| PathGrant {
                    path: self.path(name).to_string(),
                    access: access.iter().copied().collect(),
                })
                .collect(),
            deny_paths: deny.iter().map(|name| self.path(name).to_string()).collect(),
            ..Grants::default()
        };
        let places = Places::bare(PathStyle::Posix);
        let (scope, bad) = grants.compile(&places);
        assert_eq!(bad, []);
        scope
    }
}

#[test]
fn both_scopes_must_lend_and_each_may_narrow() {
    let folder = TestFolder::new(&["a/b", "c"]);
    let ceiling = folder.scope(&[("a", READ), ("c/d", BOTH)], &["a/no"]);
    let grants = folder.scope(&[("c", BOTH), ("a/b", BOTH)], &["c/d/no"]);
    let roots = Roots::open(&ceiling, &grants, &[folder.path("c/d/state")]);
    let names = ["c/d", "a/b"].map(|name| folder.path(name).to_string());
    assert_eq!(roots.all_paths(), names);
    for (name, access, is_granted) in [
        ("a/b/x", Access::Read, true),
        ("a/b/x", Access::Write, false),
        ("a/x", Access::Read, false),
        ("a/bb", Access::Read, false),
        ("c/d", Access::Write, true),
        ("c/d", Access::Delete, false),
        ("c/x", Access::Read, false),
        ("c/d/no/x", Access::Read, false),
        ("c/d/state/key", Access::Read, false),
        ("c/d/.ssh/id", Access::Read, false),
    ] {
        assert_eq!(roots.grants(&folder.path(name), access), is_granted, "{name} {access}");
    }
    assert!(roots.writable());
    let nothing = Roots::open(&Scope::nothing(), &grants, &[]);
    let error = nothing.locate(&folder.path("c"), Access::Read).unwrap_err();
    assert_eq!((error.code, nothing.writable()), (ErrorCode::PathNotAllowed, false));
}

#[test]
fn a_missing_root_is_looked_for_again() {
    let folder = TestFolder::new(&["a"]);
    let scope = folder.scope(&[("a/later", BOTH)], &[]);
    let roots = Roots::open(&scope, &scope, &[]);
    let later = folder.path("a/later");
    let error = roots.locate(&later, Access::Read).unwrap_err();
    assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    fs::create_dir(later.to_string()).unwrap();
    assert!(roots.locate(&later, Access::Read).unwrap().is_folder());
    fs::remove_dir(later.to_string()).unwrap();
    assert!(roots.locate(&later, Access::Read).is_err());
    fs::create_dir(later.to_string()).unwrap();
    assert!(roots.locate(&later, Access::Read).unwrap().is_folder());
}

#[test]
fn a_path_is_found_from_the_longest_root_that_lends_it() {
    let folder = TestFolder::new(&["a/b"]);
    let scope = folder.scope(&[("a", BOTH), ("a/b", READ), ("a/b/missing", BOTH)], &[]);
    let roots = Roots::open(&scope, &scope, &[]);
    let root = |name: &str, access| roots.locate(&folder.path(name), access).unwrap().root;
    assert_eq!(root("a/b/x", Access::Read), folder.path("a/b"));
    assert_eq!(root("a/b/x", Access::Write), folder.path("a"));
    let missing = roots.locate(&folder.path("a/b/missing"), Access::Write).unwrap();
    assert_eq!((missing.root.clone(), missing.name()), (folder.path("a"), Some("missing")));
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_granted_path_cannot_lead_out_of_what_the_owner_lends() {
        let folder = TestFolder::new(&["granted/inner", "kept"]);
        for (name, target) in [("granted/out", "../kept"), ("granted/in", "inner")] {
            symlink(target, folder.path(name).to_string()).unwrap();
        }
        symlink(folder.path("kept").to_string(), folder.path("granted/abs").to_string()).unwrap();
        let ceiling = folder.scope(&[("granted", BOTH)], &["granted/inner/no"]);
        let grants = folder
            .scope(&[("granted/out", BOTH), ("granted/in", BOTH), ("granted/abs", BOTH)], &[]);
        let roots = Roots::open(&ceiling, &grants, &[]);
        for name in ["granted/out", "granted/out/x", "granted/abs"] {
            let error = roots.locate(&folder.path(name), Access::Read).unwrap_err();
            assert_eq!(error.code, ErrorCode::DirectoryNotFound, "{name}");
        }
        let inside = roots.locate(&folder.path("granted/in/x"), Access::Write).unwrap();
        assert_eq!(inside.real, folder.path("granted/inner"));
        // The owner's deny entry applies to the place by every name.
        let error = roots.locate(&folder.path("granted/in/no"), Access::Read).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed);
    }

    #[test]
    fn links_are_followed_inside_and_nowhere_else() {
        let folder = TestFolder::new(&["r/a/b", "r/.ssh", "o"]);
        for (name, target) in [
            ("r/up", "a/../a/b"),
            ("r/a/chain", "../up"),
            ("r/hop", "../r/a"),
            ("r/far", "a/../../o"),
            ("r/keys", "a/../.ssh"),
            ("r/dangling", "a/none/x"),
            ("r/odd", "none/../a"),
            ("r/one", "two"),
            ("r/two", "one"),
        ] {
            symlink(target, folder.path(name).to_string()).unwrap();
        }
        let scope = folder.scope(&[("r", BOTH)], &[]);
        let roots = Roots::open(&scope, &scope, &[]);
        let find = |name: &str| roots.locate(&folder.path(name), Access::Read);
        for name in ["r/up", "r/a/chain", "r/a/b"] {
            assert_eq!(find(name).unwrap().real, folder.path("r/a/b"), "{name}");
        }
        let dangling = find("r/dangling").unwrap();
        assert_eq!(
            (dangling.real, dangling.rest),
            (folder.path("r/a"), vec!["none".into(), "x".into()])
        );
        for (name, code) in [
            ("r/hop", ErrorCode::PathNotAllowed),
            ("r/far", ErrorCode::PathNotAllowed),
            ("r/far/x", ErrorCode::PathNotAllowed),
            ("r/keys", ErrorCode::PathNotAllowed),
            ("r/keys/x", ErrorCode::PathNotAllowed),
            ("r/odd", ErrorCode::PathNotFound),
            ("r/one", ErrorCode::PreconditionFailed),
        ] {
            assert_eq!(find(name).unwrap_err().code, code, "{name}");
        }
        let link = roots.locate_entry(&folder.path("r/far"), Access::Read).unwrap();
        assert_eq!((link.found, link.name()), (Some(FileKind::Link), Some("far")));
    }

    #[test]
    fn what_is_kept_out_is_so_behind_a_link_above_the_root() {
        let folder = TestFolder::new(&["real/no/x", "real/state", "real/yes", "real/secret"]);
        symlink("real", folder.path("granted").to_string()).unwrap();
        symlink("real/secret", folder.path("deny").to_string()).unwrap();
        let ceiling = folder.scope(&[("granted", BOTH), ("real/yes", BOTH)], &["real/no", "deny"]);
        let private = [folder.path("real/state"), folder.path("real/agent.toml")];
        let roots = Roots::open(&ceiling, &ceiling, &private);
        for name in ["no", "no/x", "state/key.pem", "agent.toml", "secret", "secret/x"] {
            let path = folder.path(&format!("granted/{name}"));
            let error = roots.locate(&path, Access::Read).unwrap_err();
            assert_eq!(error.code, ErrorCode::PathNotAllowed, "{name}");
            assert!(!roots.grants(&path, Access::Write), "{name}");
        }
        for name in ["no", "state", "agent.toml", "secret"] {
            assert!(roots.may_hide(name), "{name}");
        }
        assert!(roots.locate(&folder.path("granted/yes"), Access::Read).is_ok());
        assert!(roots.is_inside(&folder.path("granted/yes")));

        // A deny entry that goes through the link also applies to the place's own name.
        let ceiling = folder.scope(&[("real", BOTH)], &["granted/no"]);
        let roots = Roots::open(&ceiling, &ceiling, &[]);
        let error = roots.locate(&folder.path("real/no/x"), Access::Read).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed);
        assert!(roots.locate(&folder.path("real/yes"), Access::Read).is_ok());
    }

    #[test]
    fn a_system_folder_is_not_reached_through_a_link_above_the_root() {
        let folder = TestFolder::new(&[]);
        symlink("/", folder.path("top").to_string()).unwrap();
        let scope = folder.scope(&[("top", BOTH)], &[]);
        let roots = Roots::open(&scope, &scope, &[]);
        for name in ["top/etc", "top/etc/passwd", "top/etc/none"] {
            let error = roots.locate(&folder.path(name), Access::Read).unwrap_err();
            assert_eq!(error.code, ErrorCode::PathNotAllowed, "{name}");
        }
    }

    #[test]
    fn what_stands_at_a_path_is_used_and_not_what_stood_there() {
        let folder = TestFolder::new(&["a", "o"]);
        let (a, moved) = (folder.path("a"), folder.path("moved"));
        let scope = folder.scope(&[("a", BOTH)], &[]);
        let roots = Roots::open(&scope, &scope, &[]);
        fs::rename(a.to_string(), moved.to_string()).unwrap();
        let error = roots.locate(&a, Access::Read).unwrap_err();
        assert_eq!(error.code, ErrorCode::DirectoryNotFound);
        symlink("o", a.to_string()).unwrap();
        let error = roots.locate(&a, Access::Read).unwrap_err();
        assert_eq!(error.code, ErrorCode::DirectoryNotFound);
        fs::remove_file(a.to_string()).unwrap();
        fs::create_dir(a.to_string()).unwrap();
        roots.locate(&a, Access::Write).unwrap().dir.create_dir("new").unwrap();
        assert!(fs::metadata(a.join("new").unwrap().to_string()).is_ok());
        assert!(fs::metadata(moved.join("new").unwrap().to_string()).is_err());
    }

    #[test]
    fn a_granted_folder_that_became_a_link_is_not_followed() {
        let folder = TestFolder::new(&["granted/granted", "granted/inner"]);
        let ceiling = folder.scope(&[("granted", BOTH)], &[]);
        let grants = folder.scope(&[("granted/granted", BOTH)], &[]);
        let roots = Roots::open(&ceiling, &grants, &[]);
        let granted = folder.path("granted/granted");
        fs::remove_dir(granted.to_string()).unwrap();
        symlink("inner", granted.to_string()).unwrap();
        let error = roots.locate(&granted, Access::Read).unwrap_err();
        assert_eq!(error.code, ErrorCode::DirectoryNotFound);
    }

    #[test]
    fn a_system_folder_is_not_reached_through_a_wider_root() {
        let places = Places::bare(PathStyle::Posix);
        let grants = Grants {
            paths: vec![serde_json::from_value(json!("/")).unwrap()],
            ..Grants::default()
        };
        let scope = grants.compile(&places).0;
        let roots = Roots::open(&scope, &scope, &[]);
        let folder = TestFolder::new(&["a"]);
        // From the temporary folder up to `/` and down again, by a relative link.
        let up = "../".repeat(folder.path("a").components().len());
        symlink(format!("{up}etc"), folder.path("a/etc").to_string()).unwrap();
        for name in ["a/etc", "a/etc/passwd", "a/etc/none"] {
            let error = roots.locate(&folder.path(name), Access::Read).unwrap_err();
            assert_eq!(error.code, ErrorCode::PathNotAllowed, "{name}");
        }
        assert!(roots.locate(&folder.path("a/x"), Access::Read).is_ok());
    }
}

/// The terminals are on a file system of their own, beneath a folder that may be granted.
#[cfg(target_os = "linux")]
#[test]
fn a_file_system_that_holds_no_files_is_not_entered() {
    let places = Places::bare(PathStyle::Posix);
    let grants =
        Grants { paths: vec![serde_json::from_value(json!("/dev")).unwrap()], ..Grants::default() };
    let scope = grants.compile(&places).0;
    let roots = Roots::open(&scope, &scope, &[]);
    let find = |path: &str| {
        roots.locate(&DevicePath::parse(PathStyle::Posix, path).unwrap(), Access::Read)
    };
    assert!(find("/dev/null").is_ok());
    for path in ["/dev/pts", "/dev/pts/ptmx", "/dev/pts/none"] {
        let error = find(path).unwrap_err();
        assert_eq!(error.code, ErrorCode::PathNotAllowed, "{path}");
        assert!(error.message.contains("is denied, or not inside"), "{error}");
    }
}

#[test]
fn the_operating_systems_refusals_have_codes() {
    use std::io::{Error, ErrorKind};
    let path = DevicePath::parse(PathStyle::Posix, "/srv/x").unwrap();
    for (kind, wanted, code) in [
        (ErrorKind::NotFound, Wanted::File, ErrorCode::FileNotFound),
        (ErrorKind::NotFound, Wanted::Directory, ErrorCode::DirectoryNotFound),
        (ErrorKind::NotFound, Wanted::Path, ErrorCode::PathNotFound),
        (ErrorKind::StorageFull, Wanted::File, ErrorCode::ResourceExhausted),
        (ErrorKind::QuotaExceeded, Wanted::File, ErrorCode::ResourceExhausted),
        (ErrorKind::ReadOnlyFilesystem, Wanted::File, ErrorCode::WriteDisabled),
        (ErrorKind::InvalidFilename, Wanted::File, ErrorCode::InvalidPath),
        (ErrorKind::Other, Wanted::File, ErrorCode::ExecutionFailed),
    ] {
        assert_eq!(io_failure(&Error::from(kind), wanted, &path).code, code, "{kind}");
    }
    let text = Error::other("/root/secret is the matter");
    assert!(!io_failure(&text, Wanted::File, &path).message.contains("secret"));
    #[cfg(unix)]
    {
        let refused = Error::from_raw_os_error(13);
        let error = io_failure(&refused, Wanted::File, &path);
        assert_eq!(error.code, ErrorCode::PermissionDenied);
    }
}

#[test]
fn what_orion_makes_for_itself_is_kept_out_by_any_of_its_names() {
    let folder = TestFolder::new(&["a/.orion-trash"]);
    let scope = folder.scope(&[("a", BOTH)], &[]);
    let roots = Roots::open(&scope, &scope, &[]);
    for (name, kept_out) in [
        ("a/.orion-trash", true),
        ("a/.ORION-Trash/x", true),
        ("a/b/.orion-tra\u{17f}h", true),
        ("a/.orion-0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e.tmp", true),
        ("a/b/.Orion-x.TMP/secret", true),
        ("a/.orion-notes", false),
        ("a/orion-x.tmp", false),
    ] {
        let path = folder.path(name);
        assert_eq!(roots.denies(&path), kept_out, "{name}");
        let last = path.file_name().unwrap();
        assert!(roots.locate(&path, Access::Write).is_err() == kept_out, "{name}");
        assert!(roots.may_hide(last) || !kept_out || name.ends_with(['x', 't']), "{name}");
    }
}
