//! The hints of each denial; a proposed change does lift the denial.

use super::*;
use crate::rule::{Approvers, Hours, Quantity, Rate};

fn hint_lines(ask: &Ask, policy: &Policy) -> Vec<String> {
    ask.asked(policy, |question, evaluation| {
        let hints = evaluation.hints(question, policy);
        let refusal = evaluation.refusal(question, policy);
        let lines: Vec<_> = hints.iter().map(ToString::to_string).collect();
        assert!(refusal.hints.ends_with(&hints), "{:?}", refusal.hints);
        lines
    })
}

const ADMIN: &str = "(an admin of this backend: orion devices permissions set laptop-123 @FILE)";

/// Returns the admin's command that adds an entry.
fn adds(options: &str) -> String {
    format!("(an admin of this backend: orion devices permissions add laptop-123 {options})")
}

const OWNER: &str =
    "(the owner of the device: edit [ceiling] in agent.toml, which orion-agent status finds)";

#[rstest]
#[case(json!({"tools": ["open_app"], "paths": ["D:/"]}), &format!("add create_directory to the tools of laptop-123 {}", adds("--tool create_directory")))]
#[case(json!({"profile": "reader", "paths": ["D:/"]}), &format!("give laptop-123 the profile operator, or the permission file_write {}", adds("--permission file_write")))]
#[case(json!({"paths": ["D:/"]}), &format!("give laptop-123 the profile operator {}", adds("--profile operator")))]
#[case(json!({"paths": ["D:/"], "permissions": []}), &format!("give laptop-123 the profile operator {}", adds("--profile operator")))]
#[case(json!({"profile": "operator", "paths": ["D:/"], "read_only": true}), "set read_only to false for laptop-123 {ADMIN}")]
#[case(json!({"profile": "operator", "paths": ["C:/"]}), &format!("add {{ path: \"D:/x\", access: [write] }} to the paths of laptop-123 {}", adds("--path D:/x --access write")))]
#[case(json!({"profile": "operator", "paths": ["D:/"], "deny_paths": ["D:/x", "**/y"]}), "take \"D:/x\", \"**/y\" out of the deny_paths of laptop-123 {ADMIN}")]
fn each_gap_in_the_grants_has_its_smallest_change(
    #[case] grants: serde_json::Value,
    #[case] change: &str,
) {
    let change = change.replace("{ADMIN}", ADMIN);
    assert_eq!(hint_lines(&Ask::make("D:/x/y"), &policy(&grants)), [change]);
}

#[test]
fn nobody_is_told_to_open_what_does_not_make_the_call_run() {
    let grants = json!({"profile": "operator", "paths": ["D:/files"]});
    let mut held = policy(&grants);
    let ceiling =
        json!({"profile": "operator", "paths": ["D:/files"], "deny_paths": ["D:/files/mine"]});
    held.ceiling = Some(policy(&ceiling).grants);
    let beneath = "delete what is in D:/files instead, if it is a folder: neither an allowed path nor a system folder can be deleted";
    assert_eq!(hint_lines(&Ask::delete("D:/files"), &held), [beneath]);
    // What is to be moved is not to be deleted.
    let moved = Ask { tool: "move_path", ..Ask::delete("D:/files") };
    assert_eq!(
        hint_lines(&moved, &held),
        [beneath.replace("delete what", "move what").replace("deleted", "moved")]
    );
    let around = "no change allows it: D:/ is or holds an allowed path or a system folder, which cannot be deleted or moved";
    assert_eq!(hint_lines(&Ask::delete("D:/"), &held), [around]);
}

#[test]
fn a_call_that_several_lines_stand_against_needs_a_change_for_each() {
    let mut held = policy(&json!({"tools": [], "paths": []}));
    held.ceiling = Some(policy(&json!({"profile": "reader", "paths": ["C:/"]})).grants);
    let viewer = Ask { role: Role::Viewer, ..Ask::make("D:/x") };
    assert_eq!(
        hint_lines(&viewer, &held),
        [
            "give ann the role operator (an admin of this backend: orion users role ann operator)"
                .to_owned(),
            format!(
                "add create_directory to the tools of laptop-123 {}",
                adds("--tool create_directory")
            ),
            format!(
                "add {{ path: \"D:/x\", access: [write] }} to the paths of laptop-123 {}",
                adds("--path D:/x --access write")
            ),
            format!(
                "give the ceiling of laptop-123 the profile operator, or the permission file_write {OWNER}"
            ),
            "add { path: \"D:/x\", access: [write] } to the paths of the ceiling of laptop-123 (the owner of the device: orion-agent allow D:/x --write)"
                .to_owned(),
        ]
    );
}

#[test]
fn the_owners_command_names_the_owners_file_where_the_program_would_not_find_it() {
    let mut held = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    held.ceiling = Some(policy(&json!({"profile": "operator", "paths": ["C:/"]})).grants);
    let file = |text| DevicePath::parse(PathStyle::Windows, text).ok();
    for (owner_file, option) in [
        (None, ""),
        (file("D:/orion/agent.toml"), " --config D:/orion/agent.toml"),
        (file("D:/my orion/agent.toml"), " --config 'D:/my orion/agent.toml'"),
        // Nothing that a shell would run is in it.
        (file("D:/o'x/agent.toml"), " --config FILE"),
        (file("D:/\u{202e}x/agent.toml"), " --config FILE"),
        (file(&format!("D:/{}agent.toml", "x/".repeat(200))), " --config FILE"),
    ] {
        held.owner_file = owner_file;
        assert_eq!(
            hint_lines(&Ask::make("D:/x"), &held),
            [format!(
                "add {{ path: \"D:/x\", access: [write] }} to the paths of the ceiling of laptop-123 (the owner of the device: orion-agent{option} allow D:/x --write)"
            )]
        );
    }
}

#[test]
fn the_owner_takes_a_plain_path_out_of_the_denied_ones_by_a_command_and_a_pattern_by_hand() {
    let mut held = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let mut refused_by = |denied: serde_json::Value| {
        let ceiling = json!({"profile": "operator", "paths": ["D:/"], "deny_paths": denied});
        held.ceiling = Some(policy(&ceiling).grants);
        hint_lines(&Ask::make("D:/x/y"), &held)
    };
    assert_eq!(
        refused_by(json!(["D:/x"])),
        [
            "take \"D:/x\" out of the deny_paths of the ceiling of laptop-123 (the owner of the device: orion-agent deny D:/x --undo)"
        ]
    );
    for (denied, named) in
        [(json!(["D:/x/*"]), "\"D:/x/*\""), (json!(["D:/x", "**/y"]), "\"D:/x\", \"**/y\"")]
    {
        let by_hand =
            format!("take {named} out of the deny_paths of the ceiling of laptop-123 {OWNER}");
        assert_eq!(refused_by(denied), [by_hand]);
    }
}

#[test]
fn where_relative_paths_start_is_said_where_that_is_not_granted() {
    let mut held = policy(&json!({"profile": "operator", "paths": ["D:/granted"]}));
    let ceiling = json!({"profile": "operator", "paths": ["D:/start", "D:/granted"]});
    held.ceiling = Some(policy(&ceiling).grants);
    let start = "if the path was relative, give a full one: relative paths start in D:/start, the first path of the ceiling of laptop-123, which is not granted for write";
    for path in ["D:/start", "D:/start/x"] {
        let hints = hint_lines(&Ask::make(path), &held);
        assert_eq!(hints.last().map(String::as_str), Some(start), "{path}");
    }
    for path in ["D:/other/x", "D:/start/x/y/z"] {
        let hints = hint_lines(&Ask::make(path), &held);
        assert!(!hints.iter().any(|hint| hint == start), "{path}: {hints:?}");
    }
    // A full path helps only where one may be written.
    let read_only =
        json!({"profile": "operator", "paths": [{"path": "D:/granted", "access": ["read"]}]});
    let read_only = Policy { ceiling: held.ceiling.clone(), ..policy(&read_only) };
    let hints = hint_lines(&Ask::make("D:/start/x"), &read_only);
    assert!(!hints.iter().any(|hint| hint == start), "{hints:?}");
}

#[test]
fn an_app_is_added_by_its_name_and_no_address_by_any_change() {
    let granted = policy(&json!({"profile": "operator", "paths": [], "apps": ["code"]}));
    let mut open = Ask::make("D:/x");
    open.touches = Touches { apps: vec!["note\"pad".to_owned()], ..Touches::nothing() };
    assert_eq!(
        hint_lines(&open, &granted),
        [format!("add \"note\\\"pad\" to the apps of laptop-123 {}", adds("--app APP"))]
    );
    open.touches.urls = vec!["file:///etc".to_owned()];
    assert_eq!(
        hint_lines(&open, &granted),
        ["no change allows it: only http and https addresses can be opened"]
    );
}

#[test]
fn no_part_of_a_path_runs_in_the_shell_that_a_hint_is_pasted_into() {
    let granted = policy(&json!({"profile": "operator", "paths": ["C:/"]}));
    for (path, pasted) in [
        ("D:/$(id)/`id`;id/x", "'D:/$(id)/`id`;id'"),
        ("D:/two words", "'D:/two words'"),
        ("D:/it's; id", "PATH"),
        ("D:/a\u{2019}; id", "PATH"),
        ("D:/x & calc & y", "PATH"),
        ("D:/%TEMP%", "PATH"),
    ] {
        let [hint] = &hint_lines(&Ask::make(path), &granted)[..] else { panic!("{path}") };
        let command = format!("add laptop-123 --path {pasted} --access write)");
        assert!(hint.ends_with(&command), "{hint}");
    }
}

#[test]
fn what_is_kept_out_from_the_start_stays_out() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"], "deny_paths": ["D:/x"]}));
    assert_eq!(
        hint_lines(&Ask::make("D:/x/AppData/Local/orion/id"), &granted),
        ["no change allows it: **/AppData/*/orion is denied on every device by default"]
    );
    let grants: Grants = serde_json::from_value(
        json!({"profile": "operator", "paths": ["D:/"], "deny_paths": ["D:relative"]}),
    )
    .unwrap();
    let closed = Policy { grants: grants.compile(&windows()).0, ..Policy::deny_all() };
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &closed),
        [format!("correct the entry that cannot be read in the deny_paths of laptop-123 {ADMIN}")]
    );
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &Policy::deny_all()),
        [format!("the grants of laptop-123 cannot be read: write them again {ADMIN}")]
    );
}

#[test]
fn a_secret_file_is_named_with_its_folder_where_none_is_allowed_and_all_that_denies_it_is_said() {
    let key = "D:/x/.ssh/id_rsa";
    let ask = Ask::path("create_directory", Risk::Low, key, Access::Read);
    let of = |paths: serde_json::Value, denied: serde_json::Value| {
        policy(&json!({"profile": "operator", "paths": paths, "deny_paths": denied}))
    };
    let (folder, file) = (
        json!({"path": "D:/x/.ssh", "access": ["read"]}),
        json!({"path": key, "access": ["read"]}),
    );
    let both = of(json!([folder, file]), json!([]));
    assert_eq!(ask.of(&both).0, Decision::Allow);
    let outside = hint_lines(&ask, &of(json!(["D:/y"]), json!([])));
    let added = "{ path: \"D:/x/.ssh\", access: [read] } and { path: \"D:/x/.ssh/id_rsa\", access: [read] } to the paths";
    let named = format!(
        "name the file itself, which **/.ssh denies by default, and its folder: add {added}"
    );
    let adds = adds(&format!("--path D:/x/.ssh --path {key} --access read"));
    assert_eq!(outside, [format!("{named} of laptop-123 {adds}")]);
    let inside = hint_lines(&ask, &of(json!(["D:/x"]), json!([])));
    assert!(!inside[0].contains("and its folder"), "{inside:?}");

    let mut held = both.clone();
    held.ceiling = Some(of(json!(["D:/y"]), json!(["D:/x/.ssh"])).grants);
    let allow = format!("orion-agent allow D:/x/.ssh --read, then orion-agent allow {key} --read");
    let by = format!("(the owner of the device: {allow})");
    let taken = "take \"D:/x/.ssh\" out of the deny_paths, and ";
    assert_eq!(
        hint_lines(&ask, &held),
        [format!("{taken}{named} of the ceiling of laptop-123 {by}")]
    );
    held.ceiling = Some(of(json!(["D:/y"]), json!(["D:/x"])).grants);
    assert!(hint_lines(&ask, &held)[0].ends_with(OWNER), "that one is taken out by hand");
}

#[test]
fn a_deletion_of_what_is_closed_names_the_folder_that_opens_it_or_nothing() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    for (path, pattern) in [("D:/x/.profile", "**/.profile"), ("D:/x/.env", "**/.env")] {
        let hints = hint_lines(&Ask::delete(path), &granted);
        let said = format!("no change allows it: what {pattern} denies by default");
        assert!(hints[0].starts_with(&said), "{hints:?}");
    }
    let in_folder = Ask::delete("D:/x/.profile.d/a.sh");
    let hints = hint_lines(&in_folder, &granted);
    let named = "name the folder, which **/.profile.d denies by default: add { path: \"D:/x/.profile.d\", access: [delete] } to the paths";
    assert!(hints[0].starts_with(named), "{hints:?}");
    let entry = json!({"path": "D:/x/.profile.d", "access": ["delete"]});
    let named = policy(&json!({"profile": "operator", "paths": ["D:/", entry]}));
    assert_eq!(in_folder.of(&named).0, Decision::Ask, "as any other deletion");
}

#[rstest]
#[case("D:/x/y", "add { path: \"D:/x\", access: [delete] } to the paths of laptop-123")]
#[case("C:/Data", "delete what is in C:/Data instead")]
#[case("C:/", "no change allows it: C:/ is or holds an allowed path")]
#[case("C:/Users", "no change allows it: C:/Users is or holds an allowed path or a system folder")]
fn ground_is_never_proposed_to_go(#[case] path: &str, #[case] change: &str) {
    let granted = policy(&json!({"profile": "operator", "paths": ["C:/Data"]}));
    let hints = hint_lines(&Ask::delete(path), &granted);
    assert!(hints[0].starts_with(change), "{hints:?}");
}

#[test]
fn what_is_asked_about_says_who_may_say_yes() {
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let unconfirmed = Ask { confirmed: false, ..Ask::delete("D:/x") };
    assert_eq!(
        hint_lines(&unconfirmed, &granted),
        ["set `confirm` to true in the arguments, if the call is meant"]
    );
    assert_eq!(
        hint_lines(&Ask::delete("D:/x"), &granted),
        ["an operator or admin must approve it"]
    );
    let critical = Ask { risk: Risk::Critical, ..Ask::delete("D:/x") };
    assert_eq!(
        hint_lines(&critical, &granted),
        ["an admin must approve it, another than ann if there is one"]
    );
    let approvers = |approvers| {
        let rule = Rule { approvers, dry_run_first: true, ..Rule::new("r", RuleAction::Ask) };
        Policy { rules: vec![rule.compile(&windows()).0], ..granted.clone() }
    };
    let two = Approvers { count: 2, not_requester: true, reason: true, ..Approvers::default() };
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &approvers(two)),
        [
            "2 operators or admins must approve it, ann not counted, having seen a preview, with a reason"
        ]
    );
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &approvers(Approvers { role: Role::Admin, ..two })),
        ["2 admins must approve it, ann not counted, having seen a preview, with a reason"]
    );
    let signed = Approvers { passkey: true, ..Approvers::default() };
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &approvers(signed)),
        ["an operator or admin must approve it, having seen a preview, with a passkey on the page"]
    );
    assert_eq!(hint_lines(&Ask::make("D:/x"), &granted), Vec::<String>::new());
}

#[test]
fn a_rule_is_named_with_its_place_and_with_what_can_be_waited_for() {
    let base = || Rule { source: "policy.yaml:12".to_owned(), ..Rule::new("r", RuleAction::Deny) };
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let of = |rule: Rule| Policy { rules: vec![rule.compile(&windows()).0], ..granted.clone() };
    let by = format!("(an admin of this backend: {})", super::super::CHANGE_POLICY);
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &of(base())),
        [format!("change or remove the rule r (policy.yaml:12) {by}")]
    );
    let timed = Rule {
        hours: Some(Hours { from: 0, to: 1440, days: Vec::new() }),
        limit: Some(Rate { calls: 0, per_seconds: 60 }),
        above: Some(Quantity { entries: Some(1), bytes: None }),
        expires_at: Some(9),
        ..base()
    };
    let ask = Ask { counted: Some(Counted { earlier: &[], quantity: None }), ..Ask::make("D:/x") };
    assert_eq!(
        hint_lines(&ask, &of(timed)),
        [format!(
            "change or remove the rule r (policy.yaml:12), or wait until its hours are over or there were fewer than 0 calls in the last minute or it expires, or touch less at once {by}"
        )]
    );
    let denied = Policy { risk: RiskDefaults::new(Decision::Deny, Decision::Deny), ..granted };
    assert_eq!(
        hint_lines(&Ask::make("D:/x"), &denied),
        [format!("let calls of low risk run in the policy {by}")]
    );
}

#[rstest]
#[case(0, 3_600, "fewer than 0 calls in the last hour")]
#[case(1, 7_200, "fewer than 1 call in the last 2 hours")]
#[case(2, 90, "fewer than 2 calls in the last 90 seconds")]
#[case(2, 86_400, "fewer than 2 calls in the last day")]
fn a_limit_names_its_period_for_people(#[case] calls: u32, #[case] per: u32, #[case] words: &str) {
    let limit = Some(Rate { calls, per_seconds: per });
    let rule = Rule { limit, ..Rule::new("r", RuleAction::Deny) };
    let granted = policy(&json!({"profile": "operator", "paths": ["D:/"]}));
    let limited = Policy { rules: vec![rule.compile(&windows()).0], ..granted };
    let counted = Some(Counted { earlier: &[9], quantity: None });
    let lines = hint_lines(&Ask { counted, ..Ask::make("D:/x") }, &limited);
    assert!(lines[0].contains(&format!("wait until there were {words} (")), "{lines:?}");
}

#[rstest]
#[case("D:/x", Access::Write)]
#[case("D:/x", Access::Read)]
#[case("D:/x/y", Access::Delete)]
#[case("C:/Windows/System32/drivers/etc/hosts", Access::Write)]
#[case("C:/Program Files/App/x", Access::Delete)]
fn adding_the_proposed_path_does_let_the_call_in(#[case] path: &str, #[case] access: Access) {
    let grants = json!({"profile": "operator", "paths": ["E:/"]});
    let ask = Ask { confirmed: true, ..Ask::path("any_tool", Risk::Low, path, access) };
    let line = hint_lines(&ask, &policy(&grants)).remove(0);
    let root = line.split('"').nth(1).unwrap();
    let widened = json!({
        "profile": "operator",
        "paths": ["E:/", {"path": root, "access": [access]}],
    });
    assert_eq!(ask.of(&policy(&widened)).0, Decision::Allow, "{line}");
}
