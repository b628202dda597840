//! What grants, patterns, built-in denies and system folders cover.

use rstest::rstest;

use super::super::{BuiltInKind, built_in, covers, system_folders};
use super::*;

#[rstest]
#[case("C:/Users/ann/Test", true)]
#[case("c:\\USERS\\Ann\\x", true)]
#[case("C:/Users/ann", true)]
#[case("D:/Projects/a/../b", true)]
#[case("C:/Users/ann/%2e%2e/x", true)]
#[case("C:/Windows/System32/Test", false)]
#[case("C:/Users/ann2", false)]
#[case("C:/Users", false)]
#[case("c:\\users\\ANN\\..\\other", false)]
#[case("D:/Projects/../x", false)]
#[case("E:/Projects/x", false)]
#[case("//localhost/C$/Users/ann", false)]
fn a_laptops_grants_hold_by_component(#[case] text: &str, #[case] expected: bool) {
    let grants = [windows("C:/Users/ann"), windows("D:/Projects")];
    let path = windows(text);
    assert_eq!(grants.iter().any(|grant| covers(grant, &path)), expected);
}

#[rstest]
#[case(PathStyle::Posix, "/home/ann", "/home/ann/x", true)]
#[case(PathStyle::Posix, "/home/ann", "/home/ann2", false)]
#[case(PathStyle::Posix, "/home/ann", "/home/ANN", false)]
#[case(PathStyle::Posix, "/home/ann", "/home", false)]
#[case(PathStyle::Posix, "/d/e\u{301}", "/d/\u{e9}/x", false)]
#[case(PathStyle::Posix, "/", "/anything", true)]
#[case(PathStyle::Windows, "C:/É", "c:/é/x", true)]
#[case(PathStyle::Windows, "C:/É", "c:/e\u{301}/x", false)]
#[case(PathStyle::Windows, "//Server/Share", "//server/SHARE/x", true)]
#[case(PathStyle::Windows, "//server/share", "//server/share2/x", false)]
#[case(PathStyle::Windows, "C:/strasse", "C:/straße", false)]
fn containment_compares_as_the_style_does(
    #[case] style: PathStyle,
    #[case] outer: &str,
    #[case] inner: &str,
    #[case] expected: bool,
) {
    assert_eq!(path(style, outer).contains(&path(style, inner)), expected);
}

#[test]
fn styles_never_contain_each_other() {
    assert!(!posix("/").contains(&windows("C:/")));
    assert!(!windows("//etc/x").contains(&posix("//etc/x")));
    assert!(!pattern(PathStyle::Posix, "**/.env").denies(&windows("C:/.env")));
}

#[rstest]
#[case(PathStyle::Posix, "/", "/srv/x", true)]
#[case(PathStyle::Posix, "/", "/etc", false)]
#[case(PathStyle::Posix, "/", "/etc/x", false)]
#[case(PathStyle::Posix, "/", "/ETC/x", false)]
#[case(PathStyle::Posix, "/", "/proc/self/root/home", false)]
#[case(PathStyle::Posix, "/", "/.vol/16777231/2/etc/x", false)]
#[case(PathStyle::Posix, "/", "/etcetera", true)]
#[case(PathStyle::Posix, "/var", "/var/lib/x", false)]
#[case(PathStyle::Posix, "/var", "/var/log/x", true)]
#[case(PathStyle::Posix, "/etc", "/etc/x", true)]
#[case(PathStyle::Posix, "/etc/nginx", "/etc/nginx/a", true)]
#[case(PathStyle::Posix, "/etc/nginx", "/etc/passwd", false)]
#[case(PathStyle::Posix, "/root/files", "/root/files/a", true)]
#[case(PathStyle::Windows, "C:/", "C:/Data/x", true)]
#[case(PathStyle::Windows, "C:/", "c:/WINDOWS/x", false)]
#[case(PathStyle::Windows, "D:/", "D:/Windows/x", false)]
#[case(PathStyle::Windows, "//host/C$", "//host/C$/Windows", false)]
#[case(PathStyle::Windows, "C:/", "C:/Documents and Settings/ann", false)]
#[case(PathStyle::Windows, "C:/Program Files/App", "C:/program files/app/x", true)]
#[case(PathStyle::Windows, "C:/Windows", "D:/Windows", false)]
fn system_folders_must_be_named(
    #[case] style: PathStyle,
    #[case] grant: &str,
    #[case] text: &str,
    #[case] expected: bool,
) {
    assert_eq!(covers(&path(style, grant), &path(style, text)), expected);
    assert_eq!(pattern(style, grant).allows(&path(style, text)), expected);
}

#[rstest]
#[case("~/.ssh", "/home/ann/.ssh/id", true)]
#[case("~/.ssh", "/home/ann/.ssh", true)]
#[case("~/.ssh", "/home/ann/.sshd", false)]
#[case("~/.ssh", "/home/ann", false)]
#[case("Projects", "/srv/root/Projects/a", true)]
#[case("*.txt", "/srv/root/a.txt", true)]
#[case("*.txt", "/srv/root/d/a.txt", false)]
#[case("**/.env", "/.env", true)]
#[case("**/.env", "/a/b/.env/c", true)]
#[case("**/.env", "/a/b/.envrc", false)]
#[case("**/*.kdbx", "/home/ann/a.b.kdbx", true)]
#[case("**/*.kdbx", "/home/ann/.kdbx", true)]
#[case("**/*.kdbx", "/home/ann/a.kdbx2", false)]
#[case("/a/**/z", "/a/z", true)]
#[case("/a/**/z", "/a/b/c/z/d", true)]
#[case("/a/**/z", "/b/z", false)]
#[case("/a/**", "/a", true)]
#[case("/a/*", "/a", false)]
#[case("/a/*", "/a/b/c", true)]
#[case("/a/?b", "/a/éb", true)]
#[case("/a/?b", "/a/b", false)]
#[case("/a/**/b/**/c", "/a/b/x/b/y/c", true)]
#[case("**/a*b*c/d", "/x/abab_c/a_b_c/d", true)]
#[case("/a/./*//x/", "/a/q/x", true)]
fn a_pattern_covers_what_it_matches_and_all_beneath(
    #[case] text: &str,
    #[case] at: &str,
    #[case] expected: bool,
) {
    let entry = pattern(PathStyle::Posix, text);
    assert_eq!(entry.matches(&posix(at)), expected);
    assert_eq!(entry.denies(&posix(at)), expected);
    assert_eq!((entry.as_text(), entry.to_string()), (text, text.to_owned()));
}

#[rstest]
#[case("**\\.ENV", "D:/x/.env")]
#[case("**/.env", "//server/share/x/.Env")]
#[case("C:/Users/*/notes", "c:\\users\\BOB\\Notes\\a")]
#[case("~\\*.txt", "C:/Users/ann/A.TXT")]
#[case("D:/", "d:\\x")]
fn windows_patterns_match_in_either_case(#[case] text: &str, #[case] at: &str) {
    assert!(pattern(PathStyle::Windows, text).matches(&windows(at)));
}

#[rstest]
#[case(PathStyle::Posix, "~/.ssh", "/home/ann/.SSH/id")]
#[case(PathStyle::Posix, "~/.ssh", "/HOME/ann/.ssh")]
#[case(PathStyle::Posix, "**/.env", "/x/.e\u{200c}nv")]
#[case(PathStyle::Windows, "C:/Users/ann/secret", "//localhost/c$/users/ANN/secret/x")]
#[case(PathStyle::Windows, "//host/D$/x", "D:/x/y")]
fn a_deny_holds_where_an_allow_would_not(
    #[case] style: PathStyle,
    #[case] text: &str,
    #[case] at: &str,
) {
    let (entry, at) = (pattern(style, text), path(style, at));
    assert_eq!((entry.matches(&at), entry.allows(&at), entry.denies(&at)), (false, false, true));
}

#[test]
fn a_drive_is_told_from_every_other_and_not_from_its_own_share() {
    let entry = pattern(PathStyle::Windows, "C:/keys");
    for (at, denied) in [
        ("C:/keys/x", true),
        ("//host/c$/keys/x", true),
        ("D:/keys/x", false),
        ("//host/d$/keys/x", false),
        ("//host/cc$/keys/x", false),
        ("//host/c/keys/x", false),
    ] {
        assert_eq!(entry.denies(&windows(at)), denied, "{at}");
        let around = windows(at).parent().and_then(|keys| keys.parent());
        let contains = around.map(|root| root.may_contain(&windows("C:/keys")));
        assert_eq!(contains, Some(denied), "{at}");
    }
    assert!(!posix("/").may_contain(&windows("C:/")) && !windows("C:/").may_contain(&posix("/")));
}

#[rstest]
#[case::by_its_own_spelling("/w/stra?e/prod", "/w/straße", true)]
#[case::in_either_case("/w/A*/prod", "/w/ab", true)]
#[case::all_around_it("/w/A*/prod", "/", true)]
#[case::beside_it("/w/A*/prod", "/w/b", false)]
#[case::what_it_takes("/w/A*/prod", "/w/a/prod", true)]
#[case::beneath_what_it_takes("/w/A*/prod", "/w/a/prod/x", false)]
#[case::beneath_another("/w/A*/prod", "/w/a/b", false)]
#[case::no_further_than_the_last_name("/w/*/b/prod", "/w/a/b", true)]
#[case::not_by_any_depth("/w/*/**/prod", "/w/a", false)]
#[case::nowhere_in_particular("**/prod", "/w", false)]
fn an_entry_reaches_into_the_folders_on_its_way(
    #[case] entry: &str,
    #[case] folder: &str,
    #[case] expected: bool,
) {
    assert_eq!(pattern(PathStyle::Posix, entry).reaches_into(&posix(folder)), expected);
}

#[test]
fn a_wildcard_denies_all_that_it_matches() {
    let entry = pattern(PathStyle::Posix, "/stra?e");
    assert!(entry.matches(&posix("/straße")) && entry.denies(&posix("/straße")));
}

#[rstest]
#[case("**/*.txt", "/srv/a.txt", true)]
#[case("**/*.txt", "/etc/a.txt", false)]
#[case("/**", "/etc/a", false)]
#[case("/et*", "/etc/a", false)]
#[case("/etc/*.d", "/etc/cron.d/a", true)]
fn an_allowing_wildcard_does_not_reach_system_folders(
    #[case] text: &str,
    #[case] at: &str,
    #[case] expected: bool,
) {
    assert_eq!(pattern(PathStyle::Posix, text).allows(&posix(at)), expected);
}

#[rstest]
#[case(PathStyle::Posix, "/a/*/../b", PathError::ParentInPattern)]
#[case(PathStyle::Posix, "**/..", PathError::ParentInPattern)]
#[case(PathStyle::Posix, "", PathError::Empty)]
#[case(PathStyle::Posix, "~bob/*", PathError::UnknownVariable { name: "~bob".into() })]
#[case(PathStyle::Posix, "/../*", PathError::EscapesRoot)]
#[case(PathStyle::Windows, "//?/C:/*", PathError::VerbatimPrefix)]
#[case(PathStyle::Windows, "/**", PathError::RootRelative)]
#[case(PathStyle::Windows, "//server/*", PathError::IncompleteShare)]
#[case(PathStyle::Windows, "**/a:*", PathError::AlternateStream { component: "a:*".into() })]
#[case(PathStyle::Windows, "**/NUL", PathError::DeviceName { name: "NUL".into() })]
#[case(PathStyle::Windows, "C:*", PathError::AlternateStream { component: "C:*".into() })]
fn a_pattern_that_cannot_mean_anything_is_refused(
    #[case] style: PathStyle,
    #[case] text: &str,
    #[case] expected: PathError,
) {
    assert_eq!(PathPattern::parse(&places(style), text), Err(expected));
}

#[test]
fn an_entry_tells_the_folder_it_begins_at() {
    let begins = |text| {
        let entry = pattern(PathStyle::Posix, text);
        (entry.root().cloned(), entry.is_folder())
    };
    assert_eq!(begins("~/x"), (Some(posix("/home/ann/x")), true));
    assert_eq!(begins("/a/*/b"), (Some(posix("/a")), false));
    assert_eq!(begins("**/.env"), (None, false));
}

#[test]
fn hostile_patterns_end_quickly() {
    let entry = pattern(PathStyle::Posix, &format!("/{}b", "*a".repeat(120)));
    assert!(!entry.matches(&posix(&format!("/{}", "a".repeat(255)))));
    let deep = pattern(PathStyle::Posix, &format!("{}z", "**/a/".repeat(400)));
    assert!(!deep.matches(&posix(&"/a".repeat(2000))));
}

#[rstest]
fn the_built_in_lists_are_valid(#[values(PathStyle::Posix, PathStyle::Windows)] style: PathStyle) {
    for text in system_folders(style) {
        assert_eq!(path(style, text).to_string(), *text);
    }
}

#[rstest]
#[case(PathStyle::Posix, "/home/ann/.ssh/id_ed25519", true)]
#[case(PathStyle::Posix, "/home/bob/.gnupg", true)]
#[case(PathStyle::Posix, "/srv/app/.env", true)]
#[case(PathStyle::Posix, "/srv/app/.env.example", false)]
#[case(PathStyle::Posix, "/srv/app/.env.acme", true)]
#[case(PathStyle::Posix, "/srv/app/.env.acme/.env.example", true)]
#[case(PathStyle::Posix, "/srv/app/.env.example/.env.acme", true)]
#[case(PathStyle::Posix, "/srv/app/.env.example.acme", true)]
#[case(PathStyle::Posix, "/srv/app/.env.exam\u{200b}ple", true)]
#[case(PathStyle::Windows, "C:/app/.ENV.Acme", true)]
#[case(PathStyle::Windows, "C:/app/.env.Example", false)]
#[case(PathStyle::Posix, "/Users/ann/Library/Keychains/login.keychain-db", true)]
#[case(PathStyle::Posix, "/home/ann/.config/google-chrome-beta/Default/Cookies", true)]
#[case(PathStyle::Posix, "/etc/orion/policy.yaml", true)]
#[case(PathStyle::Posix, "/home/ann/Projects/orion/README.md", false)]
#[case(PathStyle::Windows, "C:/Users/ann/.SSH/config", true)]
#[case(PathStyle::Windows, "C:/Users/ann/AppData/Local/Google/Chrome/User Data/Default", true)]
#[case(PathStyle::Windows, "C:/Users/ann/AppData/Roaming/Microsoft/Protect/x", true)]
#[case(PathStyle::Windows, "C:/Users/ann/ntuser.dat.LOG1", true)]
#[case(PathStyle::Windows, "C:/Users/ann/Documents/notes.txt", false)]
fn secrets_are_denied_from_the_start(
    #[case] style: PathStyle,
    #[case] at: &str,
    #[case] expected: bool,
) {
    let at = path(style, at);
    let mut secrets = built_in(style).iter().filter(|it| it.kind != BuiltInKind::StartPlace);
    let denied = secrets.any(|entry| pattern(style, entry.pattern).but(entry.but).denies(&at));
    assert_eq!(denied, expected);
}
