//! Each kind of finding, with its line and column.

use rstest::rstest;

use super::*;

/// Returns the findings as `line:column code`, with `!` before errors, and their message with its hint.
fn reported(text: &str) -> Vec<(String, String)> {
    let device = CheckedDevice::new(Some("/home/ann".into()), vec!["/home/ann/state".into()]);
    let reported = check(text, &device).into_iter().map(|finding| {
        let sign = if finding.severity == Severity::Error { "!" } else { "" };
        let place = format!("{}:{} {sign}{}", finding.line, finding.column, finding.code);
        (place, format!("{} {}", finding.message, finding.hint))
    });
    reported.collect()
}

#[rstest]
#[case("celing = 1", "1:1 !unknown-key", "Did you mean `ceiling`?")]
#[case("[ceiling]\nproflie = 1\npaths = []", "2:1 !unknown-key", "Did you mean `profile`?")]
#[case("[ceiling]\nprofile = \"raeder\"", "2:1 !not-taken", "did you mean `reader`?")]
#[case("[ceiling]\ntools = [\"get_datetime\", \"read_fiel\"]", "2:26 !unknown-tool", "`read_file`")]
#[case("[ceiling]\ntools = [\"file_read\"]", "2:10 !tool-alias", "Write `read_file`")]
#[case("[ceiling]\ncapabilities = [\"fileread\"]", "2:17 !unknown-permission", "`file_read`")]
#[case("[ceiling]\nservices = [\"--all\"]", "2:13 !bad-value", "names no service")]
#[case("[ceiling]\nservices = [{ compose = \"a\" }]", "2:13 !bad-value", "names no service")]
#[case("[ceiling]\nlogs = [\"*\"]", "2:9 !bad-value", "names no service")]
#[case("[ceiling]\nlogs = [{ unit = \"a\", read_only = true }]", "2:9 !not-taken", "")]
#[case("[ceiling]\n[projects]\nall = \"/srv\"", "1:1 !not-taken", "is no name of a project")]
#[case("[ceiling]\n[projects]\napi = \"srv\"", "1:1 !not-taken", "no absolute path")]
#[case("[ceiling]\nhosts = [\"example.com\"]", "2:10 !bad-value", "api.example.com:443")]
#[case("[ceiling]\npaths = [\"/srv/**\"]", "2:10 !bad-path", "leave the `/**` out")]
#[case("[ceiling]\npaths = [\"relative\"]", "2:10 !bad-path", "write it whole")]
#[case("[ceiling]\npaths = [{ path = \"/srv\", access = [] }]", "2:10 !grants-nothing", "")]
#[case("[ceiling]\npaths = [\"/home/ann/.ssh\"]", "2:10 !kept-out", "on every device")]
#[case("[ceiling]\npaths = [\"/home/ann/state/x\"]", "2:10 !kept-out", "")]
#[case(
    "[ceiling]\npaths = [\"/srv\"]\ndeny_paths = [\"/srv\"]",
    "2:10 kept-out",
    "denied by `/srv`"
)]
#[case("[ceiling]\npaths = [\"/srv\"]\ndeny_paths = [\"/\"]", "2:10 kept-out", "denied by `/`")]
#[case("[ceiling]\npaths = [\"/no/such/place\"]", "2:10 missing", "Make it")]
#[case("[ceiling]\npaths = [\"/\"]", "2:10 too-wide", "the whole disk")]
#[case("[ceiling]\npaths = [\"/home\"]", "2:10 too-wide", "everybody's home folder")]
#[case("[ceiling]\npaths = [\"~\"]", "2:10 too-wide", "the whole home folder")]
#[case("[ceiling]\npaths = [\"/srv\", \"/srv/./\"]", "2:18 twice", "twice")]
#[case("[ceiling]\npaths = [\"/etc/passwd\"]", "2:10 !not-a-folder", "that it lies in")]
#[case("[ceiling]\ndeny_paths = [\"**/../x\"]", "2:15 !bad-path", "every path is closed")]
#[case("[ceiling]\npaths = [\"/srv\"]\ndeny_paths = [\"/opt/x\"]", "3:15 never-matches", "")]
#[case("[ceiling]\napps = [\"nothing-such\"]", "2:9 not-installed", "bound to no program")]
#[case("[ceiling]\n[apps]\ncode = \"/no/such\"", "3:1 !bad-app", "is not there")]
#[case("read_only = true", "1:1 no-ceiling", "in no folder")]
#[case("[ceiling", "1:9 !not-taken", "")]
fn each_thing_is_told_with_its_place(#[case] text: &str, #[case] at: &str, #[case] words: &str) {
    let reported = reported(text);
    let found = reported.iter().find(|(place, _)| {
        place == at
            || at.ends_with("!not-taken")
                && place.split(':').next() == at.split(':').next()
                && place.ends_with("!not-taken")
    });
    let (_, said) = found.unwrap_or_else(|| panic!("{reported:?}"));
    assert!(said.contains(words), "{said}");
}

#[test]
fn all_is_told_at_once_and_what_is_well_is_not() {
    let text = "[ceiling]\nprofile = \"operator\"\ntools = [\"x\"]\npaths = [\"/srv/*\", \"/\"]\nhost = 1\n";
    let places: Vec<_> = reported(text).into_iter().map(|(place, _)| place).collect();
    let expected = ["3:10 !unknown-tool", "4:10 !bad-path", "4:20 too-wide", "5:1 !unknown-key"];
    assert_eq!(places, expected);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let ceiling = format!(
        "[ceiling]\nprofile = \"operator\"\npaths = [{:?}]\n",
        folder.display().to_string()
    );
    assert_eq!(reported(&ceiling), []);
    // Sections that are not the ceiling's.
    let sections = "[projects]\n[timeouts]\n[transfers]\nmax_file_mib = 1\n[artifacts]\n[mcp.files]\ncommand = \"node\"\n";
    assert_eq!(reported(&format!("{ceiling}{sections}")), []);
}

#[cfg(unix)]
#[test]
fn a_link_is_told_with_where_it_leads_and_one_to_what_is_kept_out_lends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    for name in ["real", ".ssh", "Case"] {
        std::fs::create_dir(folder.join(name)).unwrap();
    }
    std::os::unix::fs::symlink(at("real"), at("link")).unwrap();
    std::os::unix::fs::symlink(at(".ssh"), at("keys")).unwrap();
    let text = |name: &str| format!("[ceiling]\npaths = [{:?}]\n", at(name));
    let (place, words) = reported(&text("link")).remove(0);
    assert_eq!(place, "2:10 link");
    assert!(words.contains(&at("real")), "{words}");
    let (place, words) = reported(&text("keys")).remove(0);
    assert_eq!(place, "2:10 !link");
    assert!(words.contains("denied by default"), "{words}");
    // On a case-sensitive disk, the name in another case is missing.
    if !crate::config::configured_path::ignores_case(&folder.join("Case")) {
        let (place, words) = reported(&text("case")).remove(0);
        assert_eq!(place, "2:10 missing");
        assert!(words.contains("There is `Case`"), "{words}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_may_write_is_told_first() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.toml");
    std::fs::write(&file, "[ceiling]\ntools = [\"x\"]").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let codes: Vec<_> = check_file(&file, &folder.path().join("state"))
        .unwrap()
        .into_iter()
        .map(|finding| finding.code)
        .collect();
    assert_eq!(codes, ["not-the-owners", "unknown-tool"]);
    assert!(check_file(&folder.path().join("none"), folder.path()).is_err());
}

#[test]
fn a_file_that_is_denied_by_default_is_opened_by_its_own_name_and_a_folder_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    std::fs::write(at.join(".env"), "").unwrap();
    std::fs::create_dir(at.join(".ssh")).unwrap();
    let codes = |name: &str| -> Vec<String> {
        let (at, named) = (at.display(), at.join(name));
        let text = format!("[ceiling]\npaths = [\n\"{at}\",\n\"{}\"]", named.display());
        reported(&text).into_iter().map(|(place, _)| place).collect()
    };
    assert_eq!(codes(".env"), [""; 0]);
    // What starts programs is read with its folder, and is named to be changed.
    std::fs::write(at.join(".profile"), "").unwrap();
    assert_eq!(codes(".profile"), [""; 0]);
    let read_only = format!(
        "[ceiling]\npaths = [\n{{ path = \"{0}\", access = [\"read\"] }},\n\"{0}/.profile\"]",
        at.display()
    );
    assert_eq!(reported(&read_only)[0].0, "4:1 !kept-out", "its folder may only be read");
    assert_eq!(codes(".ssh"), ["4:1 !kept-out"]);
    assert_eq!(codes("other.env"), ["4:1 !kept-out"], "nothing is there");
    // The folder of a named file needs no other folder around it.
    let key = at.join(".ssh/id_rsa");
    std::fs::write(&key, "").unwrap();
    let both =
        format!("[ceiling]\npaths = [\n\"{}\",\n\"{}\"]", key.display(), at.join(".ssh").display());
    assert_eq!(reported(&both), []);
    let alone = reported(&format!("[ceiling]\npaths = [\"{}\"]", at.join(".env").display()));
    assert_eq!(alone[0].0, "2:10 !kept-out");
    assert!(alone[0].1.contains("Allow the folder that it lies in"), "{alone:?}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at.join(".env"), at.join("x.env")).unwrap();
        assert_eq!(codes("x.env"), ["4:1 !kept-out"], "a link");
        std::os::unix::fs::symlink(at.join(".profile"), at.join(".bashrc")).unwrap();
        assert_eq!(codes(".bashrc"), ["4:1 link"]);
    }
}
