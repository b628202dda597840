//! Parsing. That git is started, and what it finds, is tested with the real agent.

use super::*;

#[test]
fn the_list_of_files_and_the_patch_are_told_apart() {
    let seen = parse("2\t1\ta b.txt\n-\t-\tpicture.png\n\ndiff --git a/x b/x\n+one\n\n+two\n");
    assert_eq!(seen.stdout, "diff --git a/x b/x\n+one\n\n+two\n");
    assert_eq!((seen.files.len(), seen.added, seen.removed), (2, Some(2), Some(1)));
    assert_eq!(seen.files[0].path, "a b.txt");
    assert_eq!((seen.files[1].added, seen.files[1].removed), (None, None));
    assert_eq!(describe(&seen), "2 files have changes: 2 lines were added and 1 removed.");
    assert_eq!(describe(&parse("")), "There are no changes.");
}

#[test]
fn a_list_that_is_not_complete_has_no_sums() {
    let many: String = (0..MAX_FILES + 5).map(|name| format!("1\t0\t{name}\n")).collect();
    let seen = parse(&many);
    assert_eq!((seen.files.len(), seen.added, seen.removed), (MAX_FILES, None, None));
    assert_eq!(describe(&seen), "More than 1000 files have changes.");
    let seen = parse("1\t0\ta\n1\n[… 9 bytes left out …]\n");
    assert_eq!((seen.files.len(), seen.added), (1, None));
}
