//! What an owner may write, and the messages for everything else.

use std::path::Path;

use orion_domain::Access;
use rstest::rstest;

use super::*;

fn parse(text: &str) -> Result<Settings, String> {
    Settings::parse(text, Some(Path::new("/home/ann")), &["/home/ann/state".into()])
}

fn path(text: &str) -> DevicePath {
    DevicePath::parse(Os::current().path_style(), text).unwrap()
}

#[test]
fn without_a_file_no_path_may_be_touched() {
    let settings = parse("").unwrap();
    assert_eq!(settings.ceiling, modest());
    assert_eq!(settings.scope.allowed, []);
    assert_eq!(settings.places.workspace, None);
    assert_eq!(settings.call_timeout, Duration::from_secs(600));
}

#[test]
fn the_first_path_is_the_workspace_and_tilde_is_home() {
    let settings =
        parse("[ceiling]\nprofile = \"reader\"\npaths = [\"~/files\", \"/srv\"]").unwrap();
    assert_eq!(settings.places.workspace, Some(path("/home/ann/files")));
    assert_eq!(settings.scope.covering(&path("/srv/x"), Access::Read), Some(1));
}

#[test]
fn projects_are_named_and_change_nothing_of_what_is_granted() {
    let text = "[projects]\nbackend = \"/srv/app/api\"\nweb = \"~/web\"\n";
    let settings = parse(text).unwrap();
    assert_eq!(settings.places.projects.get("web"), Some(&path("/home/ann/web")));
    assert_eq!(settings.places.projects.names(), ["backend", "web"]);
    assert_eq!((settings.places.workspace, settings.scope.allowed), (None, Vec::new()));
    // A relative folder does not begin in the workspace.
    let relative =
        "[ceiling]\nprofile = \"reader\"\npaths = [\"/srv\"]\n[projects]\napi = \"api\"\n";
    assert!(parse(relative).unwrap_err().contains("`api` is no absolute path"));
}

#[test]
fn read_only_closes_the_ceiling_however_it_is_written() {
    assert!(parse("read_only = true").unwrap().scope.read_only);
    assert!(parse("[ceiling]\nread_only = true").unwrap().scope.read_only);
}

#[test]
fn the_agents_own_files_stay_closed_inside_an_allowed_path() {
    let settings = parse("[ceiling]\nprofile = \"operator\"\npaths = [\"~\"]").unwrap();
    assert!(settings.scope.denying(&path("/home/ann/state/key.pem")).is_some());
    assert!(settings.scope.denying(&path("/home/ann/notes")).is_none());
}

#[test]
fn an_owner_may_insist_on_the_kernels_confinement() {
    let choice = |text: &str| parse(text).map(|settings| settings.sandbox);
    assert_eq!(choice(""), Ok(SandboxChoice::Auto));
    assert_eq!(choice("sandbox = \"auto\""), Ok(SandboxChoice::Auto));
    assert_eq!(choice("sandbox = \"required\""), Ok(SandboxChoice::Required));
    let fault = choice("sandbox = \"off\"").unwrap_err();
    assert!(fault.contains("unknown variant `off`, expected `auto` or `required`"), "{fault}");
}

#[rstest]
#[case("celing = 1", "line 1: unknown field `celing`", "did you mean `ceiling`?")]
#[case(
    "\n[ceiling]\nproflie = \"reader\"",
    "line 3: unknown field `proflie`",
    "did you mean `profile`?"
)]
#[case(
    "[ceiling]\nprofile = \"raeder\"",
    "line 2: unknown variant `raeder`",
    "did you mean `reader`?"
)]
#[case("[timeouts]\ncalls = 3", "line 2: unknown field `calls`", "")]
#[case("[timeouts]\ncall = 0", "in seconds", "")]
#[case("[ceiling]\ntools = [\"read_fiel\"]", "no tool `read_fiel`", "did you mean `read_file`?")]
#[case("[ceiling]\npaths = [{ path = \"/x\", acess = [] }]", "line 2:", "a path is written as")]
#[case("[ceiling]\npaths = [\"relative\"]", "[ceiling] paths:", "")]
#[case("[ceiling]\npaths = [\"/a\", \"\"]", "[ceiling] ``", "")]
#[case("[ceiling]\ndeny_paths = [\"**/../x\"]", "[ceiling] `**/../x`", "")]
#[case("[apps]\ncode = \"bin/code\"", "not absolute", "")]
#[case("[ceiling", "line 1:", "")]
fn what_is_not_understood_is_named(#[case] text: &str, #[case] fault: &str, #[case] hint: &str) {
    let error = parse(text).unwrap_err();
    assert!(error.contains(fault), "{error}");
    assert!(error.contains(hint), "{error}");
}

#[test]
fn a_first_file_is_written_once_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("etc/agent.toml");
    let state = folder.path().join("state");
    let allowed = ["/srv/it's \"quoted\"".to_owned()];
    let text = first(&file, None, &allowed, &state).unwrap();
    assert!(!file.exists(), "not before the device is enrolled");
    write_first(&file, &text).unwrap();
    let settings = Settings::load(&file, Required::Yes, &state).unwrap();
    assert_eq!(settings.ceiling.workspace(), Some(allowed[0].as_str()));
    assert_eq!(
        first(&file, Some(Profile::Operator), &allowed, &state).unwrap(),
        text,
        "the same may be tried again"
    );
    for (profile, path, fix) in [
        (
            None,
            "/srv",
            "run `orion-agent allow /srv`, then this command again without --allow-path",
        ),
        (
            Some(Profile::Reader),
            allowed[0].as_str(),
            "leave out --profile, or set profile = \"reader\" in it first",
        ),
    ] {
        let other = first(&file, profile, &[path.to_owned()], &state).unwrap_err();
        assert!(other.to_string().ends_with(fix), "{other}");
    }
}

#[test]
fn a_file_that_a_person_named_must_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("agent.toml");
    assert!(Settings::load(&missing, Required::No, folder.path()).is_ok());
    let error = Settings::load(&missing, Required::Yes, folder.path()).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
    let error = Settings::load(folder.path(), Required::No, folder.path()).unwrap_err();
    assert!(matches!(error, ConfigError::NotAFile { .. }), "{error}");
}
