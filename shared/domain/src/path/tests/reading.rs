//! The path that a text is parsed to, or why it is rejected.

use rstest::rstest;

use super::*;

#[rstest]
#[case("/", "/")]
#[case("/a/b", "/a/b")]
#[case("//a///b/", "/a/b")]
#[case("/a/./b/.", "/a/b")]
#[case("/a/../b", "/b")]
#[case("/a/b/../..", "/")]
#[case("/C:\\a/..b", "/C:\\a/..b")]
#[case("/~/x", "/~/x")]
#[case("/home/$USER", "/home/$USER")]
#[case("/a/%2e%2e/b", "/a/%2e%2e/b")]
#[case("/NUL/con.txt/x:y/PROGRA~1/end. ", "/NUL/con.txt/x:y/PROGRA~1/end. ")]
fn posix_paths_are_normalised_in_the_text(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(posix(text).to_string(), expected);
}

#[rstest]
#[case("C:/", "C:/")]
#[case("c:\\users/ANN\\.\\x", "C:/users/ANN/x")]
#[case("D:/Projects/../x", "D:/x")]
#[case("c:\\\\a//b\\", "C:/a/b")]
#[case("\\\\server\\share", "//server/share/")]
#[case("//server/share/a/../b", "//server/share/b")]
#[case("C:/a/.git/.x.y/..z", "C:/a/.git/.x.y/..z")]
fn windows_paths_are_normalised_in_the_text(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(windows(text).to_string(), expected);
}

#[rstest]
#[case("", PathError::Empty)]
#[case("a/b", PathError::NotAbsolute)]
#[case("~/a", PathError::NotAbsolute)]
#[case("C:/a", PathError::NotAbsolute)]
#[case("/..", PathError::EscapesRoot)]
#[case("/a/../../b", PathError::EscapesRoot)]
#[case("/a\0/b", PathError::Nul)]
fn posix_refuses(#[case] text: &str, #[case] expected: PathError) {
    assert_eq!(DevicePath::parse(PathStyle::Posix, text), Err(expected));
}

#[rstest]
#[case("", PathError::Empty)]
#[case("a/b", PathError::NotAbsolute)]
#[case("/a", PathError::RootRelative)]
#[case("\\a", PathError::RootRelative)]
#[case("/", PathError::RootRelative)]
#[case("D:", PathError::DriveRelative { drive: "D:".into() })]
#[case("d:Projects", PathError::DriveRelative { drive: "D:".into() })]
#[case("D:..\\x", PathError::DriveRelative { drive: "D:".into() })]
#[case("1:/x", PathError::NotAbsolute)]
#[case("C:/..", PathError::EscapesRoot)]
#[case("//server/share/..", PathError::EscapesRoot)]
#[case("C:/a\0", PathError::Nul)]
#[case("C:/a\tb", PathError::ControlCharacter { code: 9 })]
#[case("C:/a\n", PathError::ControlCharacter { code: 10 })]
#[case("C:/a\u{1}/b", PathError::ControlCharacter { code: 1 })]
#[case("\\\\?\\C:\\x", PathError::VerbatimPrefix)]
#[case("//?/C:/x", PathError::VerbatimPrefix)]
#[case("\\/?\\UNC\\server\\share", PathError::VerbatimPrefix)]
#[case("\\\\?", PathError::VerbatimPrefix)]
#[case("\\\\.\\PhysicalDrive0", PathError::VerbatimPrefix)]
#[case("//./pipe/x", PathError::VerbatimPrefix)]
#[case("\\??\\C:\\x", PathError::VerbatimPrefix)]
#[case("/??/C:/x", PathError::VerbatimPrefix)]
#[case("//server", PathError::IncompleteShare)]
#[case("//server/", PathError::IncompleteShare)]
#[case("///server/share", PathError::IncompleteShare)]
#[case("//server//share", PathError::IncompleteShare)]
#[case("//../share/x", PathError::IncompleteShare)]
#[case("//server/../x", PathError::IncompleteShare)]
#[case("//server/pipe/x", PathError::DeviceName { name: "pipe".into() })]
#[case("//server/IPC$/x", PathError::DeviceName { name: "IPC$".into() })]
fn windows_refuses(#[case] text: &str, #[case] expected: PathError) {
    assert_eq!(DevicePath::parse(PathStyle::Windows, text), Err(expected));
}

#[rstest]
fn windows_refuses_device_names(
    #[values(
        "CON",
        "con",
        "PRN",
        "aux",
        "NUL",
        "nul.txt",
        "Nul.tar.gz",
        "nul .txt",
        "NUL:",
        "COM1",
        "com9.log",
        "COM0",
        "LPT0",
        "lpt5",
        "COM¹",
        "lpt²",
        "COM³.txt",
        "CONIN$",
        "conout$",
        "CLOCK$",
        "nul:stream"
    )]
    name: &str,
) {
    let expected = Err(PathError::DeviceName { name: name.into() });
    let read = |text: String| DevicePath::parse(PathStyle::Windows, &text);
    assert_eq!(read(format!("C:/a/{name}")), expected);
    assert_eq!(read(format!("C:/{name}/b")), expected);
    assert_eq!(read(format!("C:/{name}/../b")), expected);
    assert_eq!(DevicePath::resolve(&places(PathStyle::Windows), name), expected);
}

#[rstest]
fn windows_refuses_alternate_streams(
    #[values("a.txt:b", "aa::$DATA", "aa:", ":b", "dir:$I30:$INDEX_ALLOCATION", "ab:c")] name: &str,
) {
    let expected = Err(PathError::AlternateStream { component: name.into() });
    assert_eq!(DevicePath::parse(PathStyle::Windows, &format!("C:/{name}")), expected);
    assert_eq!(DevicePath::resolve(&places(PathStyle::Windows), name), expected);
}

#[rstest]
fn windows_refuses_trailing_dots_and_spaces(
    #[values("a.", "a ", "a. .", "...", ".. ", ". ", " ", ".. .", "x.txt.. ")] name: &str,
) {
    let expected = Err(PathError::TrailingDotOrSpace { component: name.into() });
    assert_eq!(DevicePath::parse(PathStyle::Windows, &format!("C:/{name}")), expected);
    assert_eq!(DevicePath::parse(PathStyle::Windows, &format!("C:/{name}/b")), expected);
}

#[rstest]
fn windows_refuses_short_names(
    #[values(
        "PROGRA~1",
        "progra~2",
        "A~1",
        "AB12CD~3.TXT",
        "DOCUM~10",
        "ENV~1",
        "ÄÖÜ~1",
        "~1",
        "GIT~1.x"
    )]
    name: &str,
) {
    let read = DevicePath::parse(PathStyle::Windows, &format!("C:/{name}/x"));
    assert_eq!(read, Err(PathError::ShortName { component: name.into() }));
}

#[rstest]
fn windows_refuses_characters_of_patterns_and_redirection(
    #[values('<', '>', '"', '|', '?', '*')] character: char,
) {
    assert_eq!(
        DevicePath::parse(PathStyle::Windows, &format!("C:/a{character}b")),
        Err(PathError::ForbiddenCharacter { character })
    );
}

#[test]
fn lengths_are_bounded() {
    let name = "n".repeat(255);
    let long = || PathError::NameTooLong { component: "n".repeat(40) };
    assert_eq!(posix(&format!("/{name}")).file_name(), Some(name.as_str()));
    assert_eq!(windows(&format!("C:/{name}")).file_name(), Some(name.as_str()));
    assert_eq!(DevicePath::parse(PathStyle::Posix, &format!("/{name}n")), Err(long()));
    assert_eq!(DevicePath::parse(PathStyle::Windows, &format!("C:/{name}n")), Err(long()));
    let deep = "/d".repeat(2048);
    assert_eq!(posix(&deep).components().len(), 2048);
    assert_eq!(DevicePath::parse(PathStyle::Posix, &format!("{deep}/")), Err(PathError::TooLong));
    assert_eq!(posix(&deep).join("x"), Err(PathError::TooLong));
    assert_eq!(DevicePath::resolve(&places(PathStyle::Posix), &deep[1..]), Err(PathError::TooLong));
}

#[rstest]
#[case(".", "/srv/root")]
#[case("notes/a", "/srv/root/notes/a")]
#[case("./a", "/srv/root/a")]
#[case("../other", "/srv/other")]
#[case("a/../../root2", "/srv/root2")]
#[case("~", "/home/ann")]
#[case("~/x", "/home/ann/x")]
#[case("~/../bob", "/home/bob")]
#[case("$HOME/x", "/home/ann/x")]
#[case("${HOME}", "/home/ann")]
#[case("/abs", "/abs")]
#[case("~$draft.docx", "/srv/root/~$draft.docx")]
#[case("./~bob", "/srv/root/~bob")]
#[case("C:\\x", "/srv/root/C:\\x")]
#[case("%USERPROFILE%", "/srv/root/%USERPROFILE%")]
fn posix_short_forms_resolve(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(resolve(PathStyle::Posix, text), Ok(expected.into()));
}

#[rstest]
#[case("a\\b", "C:/root/a/b")]
#[case("..\\x", "C:/x")]
#[case("~\\x", "C:/Users/ann/x")]
#[case("%UserProfile%\\x", "C:/Users/ann/x")]
#[case("$RECYCLE.BIN", "C:/root/$RECYCLE.BIN")]
#[case("%2e%2e", "C:/root/%2e%2e")]
fn windows_short_forms_resolve(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(resolve(PathStyle::Windows, text), Ok(expected.into()));
}

#[rstest]
#[case(PathStyle::Posix, "~bob/x", "~bob")]
#[case(PathStyle::Posix, "$SECRETS/x", "$SECRETS")]
#[case(PathStyle::Posix, "${TMP}", "${TMP}")]
#[case(PathStyle::Windows, "%APPDATA%\\x", "%APPDATA%")]
fn unknown_variables_are_refused(#[case] style: PathStyle, #[case] text: &str, #[case] name: &str) {
    assert_eq!(resolve(style, text), Err(PathError::UnknownVariable { name: name.into() }));
}

#[test]
fn short_forms_need_their_place() {
    let nowhere = ok(Places::parse(PathStyle::Posix, None, None));
    assert_eq!(DevicePath::resolve(&nowhere, "a"), Err(PathError::NotAbsolute));
    assert_eq!(DevicePath::resolve(&nowhere, "~/a"), Err(PathError::NoHome));
    assert_eq!(DevicePath::resolve(&nowhere, "/a"), Ok(posix("/a")));
    assert_eq!(resolve(PathStyle::Posix, "../../../etc"), Err(PathError::EscapesRoot));
    assert_eq!(resolve(PathStyle::Windows, "\\Windows"), Err(PathError::RootRelative));
    let mixed = Places { workspace: Some(windows("C:/a")), ..nowhere };
    assert_eq!(DevicePath::resolve(&mixed, "a"), Err(PathError::WrongStyle));
}

#[test]
fn a_path_gives_its_parts() {
    let path = windows("c:\\Users\\Ann\\x.txt");
    assert_eq!(path.prefix(), "C:");
    assert_eq!(path.components().collect::<Vec<_>>(), ["Users", "Ann", "x.txt"]);
    assert_eq!(path.file_name(), Some("x.txt"));
    assert_eq!(path.parent(), Some(windows("C:/Users/Ann")));
    assert_eq!(path.relative_to(&windows("C:/users")), Some(vec!["Ann", "x.txt"]));
    assert_eq!(path.relative_to(&windows("D:/users")), None);
    assert_eq!(path.relative_to(&path), Some(vec![]));
    assert_eq!((posix("/").parent(), posix("/").file_name()), (None, None));
    assert_eq!(windows("//s/h/a").prefix(), "//s/h");
    assert_eq!(format!("{:?}", posix("/a\n\u{1b}")), "Posix \"/a\\n\\u{1b}\"");
}

#[rstest]
fn join_takes_one_plain_name(#[values("", ".", "..", "a/b", "/", "a/")] component: &str) {
    let expected = Err(PathError::NotOneName { component: component.into() });
    assert_eq!(posix("/a").join(component), expected);
    assert_eq!(windows("C:/a").join(component), expected);
    assert_eq!(posix("/a").join("b\\c"), Ok(posix("/a/b\\c")));
    assert_eq!(
        windows("C:/a").join("..\\c"),
        Err(PathError::NotOneName { component: "..\\\\c".into() })
    );
}

#[test]
fn paths_and_places_travel_as_text() -> Result<(), serde_json::Error> {
    for path in [posix("/a/b c"), windows("C:/a"), windows("//s/h/a"), posix("/"), windows("D:/")] {
        let text = serde_json::to_string(&path)?;
        assert_eq!(text, format!("\"{path}\""));
        assert_eq!(serde_json::from_str::<DevicePath>(&text)?, path);
    }
    for style in [PathStyle::Posix, PathStyle::Windows] {
        let text = serde_json::to_string(&places(style))?;
        assert_eq!(serde_json::from_str::<Places>(&text)?, places(style));
    }
    assert!(serde_json::from_str::<DevicePath>("\"/a/../..\"").is_err());
    assert!(
        serde_json::from_str::<Places>(r#"{"style":"posix","workspace":"C:/a","home":null}"#)
            .is_err()
    );
    Ok(())
}
