//! What counts as Orion's in a directory, and what a removal takes.

use std::fs;

use orion_mtls::secret_file;
use tempfile::TempDir;

use super::*;
use crate::state::State;
use crate::trash::Trash;
use crate::{activity, pause};

const CALL: &str = "0190e3a4-7b1c-7def-8abc-0123456789ab";

fn holds(names: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    dir
}

fn left(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_file_with_the_name_of_the_lock_makes_no_state() {
    assert!(is_state(holds(&["lock"]).path()));
    assert!(is_state(holds(&["lock", "watched"]).path()));
    let damaged = ["identity.toml", "key.pem", "certificate.pem", "lock"];
    assert!(is_state(holds(&damaged).path()), "a key is not left behind");
    let purged = holds(&["lock", "diary.txt"]);
    let identity = "device_id = \"00000000-0000-0000-0000-000000000007\"\nname = \"kiosk\"\naddresses = []\nrenew_at = 0\nnot_after = 0\n";
    secret_file::write(&purged.path().join(IDENTITY), identity.as_bytes()).unwrap();
    assert!(is_state(purged.path()), "a removal that ended early");
    for names in [&[][..], &["lock", "diary.txt"], &["lock", "photos/a.jpg"], &["watched"]] {
        assert!(!is_state(holds(names).path()), "{names:?}");
    }
    let ran = holds(&["lock", "journal.log", "trash/x"]);
    fs::write(ran.path().join(GENERATION), "7").unwrap();
    assert!(is_state(ran.path()), "a device whose identity is damaged or was taken back");
    assert!(has_others(holds(&["lock", "trash/mine.txt"]).path()), "deeper too");
    let full = holds(&[]);
    fs::write(full.path().join(LOCK), "theirs").unwrap();
    assert!(!is_state(full.path()));
}

#[test]
fn what_is_removed_is_orions_and_the_rest_stays() {
    let dir = holds(&[
        "key.pem",
        "audit.before-2.jsonl",
        "audit.damaged.jsonl",
        ".identity.toml.0123456789abcdef.tmp",
        &format!(".{}.tmp", "a".repeat(64)),
        &format!("trash/{CALL}/record.jsonl"),
        &format!("trash/{CALL}.open/0"),
        "trash/mine.txt",
        &format!("scratch/{CALL}/x"),
        "consent/0123abcd.json",
        "consent/0123abcd.answer",
        "artifacts/tool/bin",
        "artifacts/tool.json",
        "artifacts/mine/thesis.pdf",
        "thesis.tex",
        "audit.before-x.jsonl",
        ".notes.tmp",
        "policy.json.bak",
        "chapters/lock",
        "lock",
    ]);
    fs::create_dir(dir.path().join("status.json")).unwrap();
    assert!(has_others(dir.path()));
    remove(dir.path()).unwrap();
    assert_eq!(
        left(dir.path()),
        [
            ".notes.tmp",
            "artifacts",
            "audit.before-x.jsonl",
            "chapters",
            "lock",
            "policy.json.bak",
            "status.json",
            "thesis.tex",
            "trash"
        ]
    );
    assert_eq!(left(&dir.path().join("trash")), ["mine.txt"]);
    assert_eq!(left(&dir.path().join("artifacts")), ["mine"]);
}

#[cfg(unix)]
#[test]
fn nothing_is_removed_through_a_link() {
    let (dir, theirs) = (holds(&["lock"]), holds(&[&format!("{CALL}/x"), "0123abcd.json"]));
    for name in ["trash", "consent", "key.pem", "artifacts"] {
        std::os::unix::fs::symlink(theirs.path(), dir.path().join(name)).unwrap();
    }
    remove(dir.path()).unwrap();
    assert_eq!(left(theirs.path()), ["0123abcd.json", CALL]);
    assert!(!dir.path().join("key.pem").is_symlink());
}

#[test]
fn all_that_the_agents_modules_write_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("state");
    let state = State::open(&dir).unwrap();
    state.next_generation().unwrap();
    drop(Trash::open(&dir).unwrap());
    drop(crate::chain::Chain::open(&dir, "device").unwrap());
    activity::watch(&dir).unwrap();
    let pause = pause::Pause { by: "ann".to_owned(), since: 1, until: None, lets_finish: false };
    pause::write(&dir, &pause).unwrap();
    crate::state::Status::default().write(&dir);
    assert!(!has_others(&dir), "{:?}", left(&dir));
    remove(&dir).unwrap();
    assert_eq!(left(&dir), [LOCK]);
}
