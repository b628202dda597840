//! The file on the disk: changes are detected, and the file is trusted only if its owner alone can write it.

use super::*;

#[cfg(unix)]
fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The source of the settings, with short intervals.
fn watched(file: &Path) -> Source {
    let settings = Settings::load(file, Required::Yes, Path::new("/nowhere")).unwrap();
    let (every, still) = (Duration::from_millis(5), Duration::from_millis(2));
    Source { every, still, ..settings.source.unwrap() }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_write_or_replace_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    fs::write(&file, "").unwrap();
    let load = || Settings::load(&file, Required::Yes, &folder.path().join("state"));
    for mode in [0o600, 0o644, 0o444] {
        chmod(&file, mode);
        assert!(load().is_ok(), "{mode:o}");
    }
    // Only root can give a file to a foreign group.
    let strangers = |path: &Path| std::os::unix::fs::chown(path, None, Some(54_321)).is_ok();
    if rustix::process::geteuid().is_root() {
        for (path, alone, shared, words) in [
            (file.as_path(), 0o644, 0o664, "may be written by a group of accounts"),
            (folder.path(), 0o755, 0o775, "a group of accounts may replace it"),
        ] {
            assert!(strangers(path));
            chmod(path, alone);
            assert!(load().is_ok(), "{words}");
            chmod(path, shared);
            let error = load().unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            chmod(path, alone);
        }
        std::os::unix::fs::chown(folder.path(), Some(54_321), None).unwrap();
        let error = load().unwrap_err();
        assert!(error.to_string().contains("in a folder of another account"), "{error}");
        std::os::unix::fs::chown(folder.path(), Some(0), None).unwrap();
    }
    chmod(&file, 0o646);
    let error = load().unwrap_err();
    assert!(error.to_string().contains("may be written by everybody"), "{error}");
    chmod(&file, 0o644);
    chmod(folder.path(), 0o777);
    let error = load().unwrap_err();
    assert!(error.to_string().contains("may replace it"), "{error}");
    chmod(folder.path(), 0o1777);
    assert!(load().is_ok());
}

#[tokio::test]
async fn a_change_is_found_however_it_is_made_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    fs::write(&file, "").unwrap();
    let mut source = watched(&file);
    let reader = "[ceiling]\nprofile = \"reader\"\n";
    // The file is changed in place, then replaced by another file of the same length.
    for text in [reader.to_owned(), reader.replace("reader", "strict")] {
        let temporary = folder.path().join("new");
        fs::write(&temporary, &text).unwrap();
        fs::rename(&temporary, &file).unwrap();
        let Found::Settings(settings) = source.changed().await else { panic!("not taken") };
        assert!(settings.ceiling.profile.is_some());
    }
    fs::write(&file, "celing = 1").unwrap();
    let Found::Faulty(error) = source.changed().await else { panic!("taken") };
    assert!(error.to_string().contains("did you mean `ceiling`?"), "{error}");
    fs::remove_file(&file).unwrap();
    assert!(matches!(source.changed().await, Found::Gone));
    let quiet = tokio::time::timeout(Duration::from_millis(100), source.changed()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    fs::write(&file, reader).unwrap();
    assert!(matches!(source.changed().await, Found::Settings(_)));
}

#[cfg(unix)]
#[tokio::test]
async fn rights_that_change_are_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    fs::write(&file, "").unwrap();
    let mut source = watched(&file);
    chmod(&file, 0o666);
    assert!(matches!(source.changed().await, Found::Faulty(ConfigError::NotTheOwners { .. })));
    chmod(&file, 0o600);
    assert!(matches!(source.changed().await, Found::Settings(_)));
}
