//! Parsing. That git is started, and what it finds, is tested with the real agent.

use super::*;

#[test]
fn each_kind_of_line_is_counted_and_what_git_does_not_say_is_not_known() {
    let text = "# branch.oid 1f3\n# branch.head main\n# branch.upstream origin/main\n# branch.ab +2 -1\n\
        1 M. N... 100644 100644 100644 1 2 a.txt\n1 .M N... 100644 100644 100644 1 2 b.txt\n\
        1 MM N... 100644 100644 100644 1 2 c.txt\n2 R. N... 100644 100644 100644 1 2 R100 d\te\n\
        u UU N... 1 1 1 1 1 1 1 f\n? g\n! h\n";
    let seen = parse(text.to_owned());
    assert_eq!(
        (seen.branch.as_deref(), seen.upstream.as_deref()),
        (Some("main"), Some("origin/main"))
    );
    assert_eq!((seen.ahead, seen.behind), (Some(2), Some(1)));
    assert_eq!((seen.staged, seen.unstaged, seen.untracked, seen.conflicts), (3, 2, 1, 1));
    assert!(!seen.clean);
    assert_eq!(
        describe(&seen),
        "is on branch main and has 3 staged, 2 unstaged, 1 untracked and 1 conflicting files"
    );
    let seen = parse("# branch.oid (initial)\n# branch.head (detached)\n".to_owned());
    assert_eq!((seen.branch.as_ref(), seen.ahead, seen.clean), (None, None, true));
    assert_eq!(describe(&seen), "is on no branch and has no changes");
}
