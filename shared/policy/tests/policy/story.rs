//! The first story: one laptop's permissions in the short form, and the decision of each call.

use orion_domain::rule::{Counted, Moment};
use orion_domain::{
    Caller, Decision, ErrorCode, PathStyle, Places, Policy, Question, Role, ToolError, evaluate,
};
use orion_policy::Labels;
use rstest::rstest;
use serde_json::{Value, json};

use crate::valid;

const STORY: &str = r#"version: 1
devices:
  laptop-123:
    allowed_tools: ["create_directory", "open_app"]
    allowed_paths: ["C:/Users/njsch", "D:/Projects"]
    allowed_apps: ["chrome", "code"]
"#;

fn places() -> Places {
    Places::parse(PathStyle::Windows, Some("C:/Users/njsch"), Some("C:/Users/njsch")).unwrap()
}

fn decide(text: &str, tool: &str, arguments: &Value) -> Result<Decision, Box<ToolError>> {
    let device = "laptop-123".parse().unwrap();
    let compiled = valid(text).compile(&device, &Labels::default()).unwrap();
    let (grants, bad) = compiled.grants.compile(&places());
    assert_eq!(bad, []);
    let rules = compiled.rules.into_iter().map(|rule| rule.compile(&places()).0).collect();
    let policy = Policy { grants, rules, risk: compiled.risk, ..Policy::deny_all() };
    let (spec, _) = orion_catalog::find(tool).unwrap();
    let parsed = spec.parse(arguments.as_object().unwrap().clone(), &places())?;
    let question = Question {
        tool: spec.facts(),
        touches: Some(&parsed.touches),
        arguments: Some(&parsed.arguments),
        caller: &Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None },
        device: &device,
        dry_run: false,
        confirmed: parsed.confirmed,
        at: Moment::default(),
        content: None,
        raises: &[],
        counted: Some(Counted { earlier: &[], quantity: None }),
    };
    let evaluation = evaluate(&question, &policy);
    match evaluation.decision() {
        Decision::Deny => Err(Box::new(evaluation.refusal(&question, &policy))),
        decision @ (Decision::Allow | Decision::DryRunFirst | Decision::Ask) => Ok(decision),
    }
}

#[rstest]
#[case("C:/Users/njsch/Test", None)]
#[case("D:/Projects/new/x", None)]
#[case(r"c:\USERS\njsch\Test", None)]
#[case("Test", None)]
#[case("C:/Windows/System32/Test", Some(ErrorCode::PathNotAllowed))]
#[case("C:/Users/njsch2", Some(ErrorCode::PathNotAllowed))]
#[case(r"c:\users\NJSCH\..\other", Some(ErrorCode::PathNotAllowed))]
#[case("D:/Projects/../x", Some(ErrorCode::PathNotAllowed))]
#[case("D:Projects", Some(ErrorCode::InvalidPath))]
#[case("C:/Users/njsch/.ssh", Some(ErrorCode::PathNotAllowed))]
fn folders_are_made_inside_and_nowhere_else(
    #[case] path: &str,
    #[case] refused: Option<ErrorCode>,
) {
    let found = decide(STORY, "create_directory", &json!({ "path": path }));
    assert_eq!(found.err().map(|error| error.code), refused);
}

#[test]
fn a_refusal_names_what_was_tried_what_is_allowed_and_what_would_help() {
    let path = "C:/Windows/System32/Test";
    let error = decide(STORY, "create_directory", &json!({ "path": path })).unwrap_err();
    assert_eq!(error.details["attempted_path"], path);
    assert_eq!(error.details["allowed_paths"], json!(["C:/Users/njsch", "D:/Projects"]));
    let hints: Vec<_> = error.hints.iter().map(ToString::to_string).collect();
    assert_eq!(
        hints,
        [
            "add { path: \"C:/Windows/System32\", access: [write] } to the paths of laptop-123 (an admin of this backend: orion devices permissions add laptop-123 --path C:/Windows/System32 --access write)"
        ]
    );
}

#[rstest]
#[case("chrome", None)]
#[case("code", None)]
#[case("notepad", Some(ErrorCode::AppNotWhitelisted))]
#[case("Chrome", Some(ErrorCode::AppNotWhitelisted))]
fn listed_applications_open(#[case] app: &str, #[case] refused: Option<ErrorCode>) {
    let found = decide(STORY, "open_app", &json!({ "app": app }));
    assert_eq!(found.err().map(|error| error.code), refused);
}

#[test]
fn deleting_wants_a_grant_then_confirm_then_a_person() {
    let delete = |text: &str, confirm| {
        let arguments = json!({"path": "D:/Projects/old", "recursive": true, "confirm": confirm});
        decide(text, "delete_directory", &arguments).map_err(|error| error.code)
    };
    assert_eq!(delete(STORY, true), Err(ErrorCode::PermissionDenied));
    let granted = STORY.replace("\"open_app\"]", "\"open_app\", \"delete_directory\"]");
    assert_eq!(delete(&granted, false), Err(ErrorCode::ConfirmationRequired));
    assert_eq!(delete(&granted, true), Ok(Decision::Ask));
    let switched =
        STORY.replace("\"open_app\"]", "\"open_app\", { name: delete_directory, enabled: false }]");
    assert_eq!(delete(&switched, true), Err(ErrorCode::PermissionDenied));
}

#[test]
fn the_short_rules_ask_and_show_a_preview() {
    let text = format!(
        "{STORY}rules:\n  - tool: create_directory\n    action: allow\n    require_approval: true\n    dry_run_first: true\n"
    );
    let made = decide(&text, "create_directory", &json!({"path": "D:/Projects/x"}));
    assert_eq!(made, Ok(Decision::Ask));
}
