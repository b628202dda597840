//! Binds names to programs.

use super::*;

#[test]
fn an_entry_that_binds_nothing_is_told_and_stays_unbound() {
    let folder = tempfile::TempDir::new().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let explicit = BTreeMap::from([
        ("relative".to_owned(), PathBuf::from("bin/sh")),
        ("gone".to_owned(), folder.path().join("gone")),
        ("folder".to_owned(), folder.path().to_owned()),
        ("plain".to_owned(), plain),
    ]);
    let (apps, bad) = Apps::discover(["gone"], &explicit);
    let why: Vec<_> = bad.iter().map(|it| (it.name.as_str(), it.why)).collect();
    let mut expected = vec![
        ("folder", "is not a file"),
        ("gone", "is not there"),
        ("relative", "is not an absolute path"),
    ];
    if cfg!(unix) {
        expected.insert(2, ("plain", "is not executable"));
    }
    assert_eq!(why, expected);
    assert_eq!(apps.get("gone").unwrap_err().code, ErrorCode::NotSupported);
    assert_eq!(apps.get("other").unwrap_err().code, ErrorCode::AppNotWhitelisted);
}

#[test]
fn every_known_name_is_bound_or_says_what_was_looked_for() {
    let names = ["chrome", "firefox", "code", "explorer", "terminal"];
    let (apps, bad) = Apps::discover(names, &BTreeMap::new());
    assert_eq!(bad, []);
    for name in names {
        match apps.get(name) {
            Ok(app) => assert!(app.executable.is_absolute() && !app.by_owner),
            Err(error) => {
                assert_eq!(error.code, ErrorCode::NotSupported);
                let looked_for = error.details["looked_for"].as_array().unwrap();
                assert!(!looked_for.is_empty(), "{name}: {error}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn the_owners_program_is_resolved_to_what_it_really_is() {
    let folder = tempfile::TempDir::new().unwrap();
    let link = folder.path().join("shell");
    std::os::unix::fs::symlink("/bin/sh", &link).unwrap();
    for (name, takes) in [
        ("mine", Takes::Anything),
        ("code", Takes::Anything),
        ("explorer", Takes::Folders),
        ("terminal", Takes::StartFolder),
    ] {
        let explicit = BTreeMap::from([(name.to_owned(), link.clone())]);
        let (apps, _) = Apps::discover([name], &explicit);
        let app = apps.get(name).unwrap();
        assert_eq!(app.executable, std::fs::canonicalize("/bin/sh").unwrap());
        assert!(app.by_owner && app.takes == takes, "{name}");
    }
}

#[test]
fn a_registered_program_is_one_that_administrators_alone_may_replace() {
    for value in [
        r"C:\Program Files\Mozilla Firefox\firefox.exe",
        r"c:\program files (x86)\Google\Chrome\Application\CHROME.EXE",
        r#""C:\Program Files\Mozilla Firefox\firefox.exe""#,
    ] {
        let path = Path::new(value.trim_matches('"'));
        assert_eq!(discover::registered(value), Some(path), "{value}");
    }
    for value in [
        "",
        "\"",
        "firefox.exe",
        r"C:\browser\firefox.exe",
        r"C:\Users\ann\firefox.exe",
        r"C:\Program Files\..\browser\firefox.exe",
        r"C:\Program Files\a/../../browser\firefox.exe",
        r"C:\Program Files\firefox.cmd",
        r"C:\Program Filesystem\firefox.exe",
        r"%ProgramFiles%\Mozilla Firefox\firefox.exe",
        r#""C:\Program Files\a.exe" -flag.exe"#,
        r"\\server\share\firefox.exe",
        r"\\?\C:\Program Files\firefox.exe",
        r"\\.\C:\Program Files\firefox.exe",
        r"D:\Program Files\firefox.exe",
    ] {
        assert_eq!(discover::registered(value), None, "{value}");
    }
}
