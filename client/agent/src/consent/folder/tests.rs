//! Which answers count, and for which question.

use orion_domain::{Risk, Touches};
use serde_json::Map;

use super::super::Subject;
use super::*;

fn question() -> Question {
    let (arguments, touches) = (Map::new(), Touches::default());
    let subject = Subject {
        call: "0199",
        tool: "delete_file",
        risk: Risk::High,
        user: "bob",
        why: "agent.toml asks",
        arguments: &arguments,
        digest: Digest::ZERO,
        touches: &touches,
    };
    Question::new(subject, "", &[], (0, 1_000))
}

#[test]
fn the_first_answer_counts_and_an_answered_question_is_listed_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    assert_eq!(folder.open_questions(0).unwrap(), []);
    let open = folder.ask(&question()).unwrap();
    assert_eq!(folder.open_questions(0).unwrap(), std::slice::from_ref(&open));
    assert_eq!(folder.open_questions(1_000).unwrap(), [], "its time is over");
    assert_eq!(folder.answer(&open).unwrap(), None);
    assert!(folder.give(&open, false, "ann").unwrap());
    assert!(!folder.give(&open, true, "bob").unwrap());
    let given = Given { allow: false, by: "ann".to_owned() };
    assert_eq!(folder.answer(&open).unwrap(), Some(given));
    assert_eq!(folder.open_questions(0).unwrap(), []);
    folder.remove(&open);
    assert_eq!(fs::read_dir(dir.path().join(QUESTIONS)).unwrap().count(), 0);
}

#[test]
fn an_answer_counts_for_the_question_that_was_read_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    let (one, other) = (folder.ask(&question()).unwrap(), folder.ask(&question()).unwrap());
    assert!(folder.give(&one, true, "ann").unwrap());
    fs::rename(folder.path_of_answer(&one.id), folder.path_of_answer(&other.id)).unwrap();
    assert!(folder.answer(&other).is_err());
    for text in ["", "{}", "yes"] {
        fs::write(folder.path_of_answer(&one.id), text).unwrap();
        assert!(folder.answer(&one).is_err(), "{text:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_no_answer_and_the_folder_is_the_accounts_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    let open = folder.ask(&question()).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    let answer = Answer { question: open.digest, allow: true, by: "ann".to_owned() };
    fs::write(&elsewhere, serde_json::to_vec(&answer).unwrap()).unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.path_of_answer(&open.id)).unwrap();
    assert!(folder.answer(&open).is_err());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.path), mode(&folder.question(&open.id))), (0o700, 0o600));
}

#[cfg(unix)]
#[test]
fn no_answer_goes_through_a_link_in_the_place_of_the_folder() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = Folder::new(dir.path());
    let open = folder.ask(&question()).unwrap();
    fs::remove_dir_all(&folder.path).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &folder.path).unwrap();
    assert!(folder.give(&open, true, "root").is_err());
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
