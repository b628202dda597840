//! The laws of the evaluator, and the product's first story.

mod around;
mod content;
mod hints;
mod lines;
mod previews;
mod reported;
mod requests;
mod roles;
mod rules;
mod total;
mod touched;

use rstest::rstest;
use serde_json::json;

use super::*;
use crate::approval::Approved;
use crate::caller::Caller;
use crate::code::ErrorCode;
use crate::grants::Grants;
use crate::id::ApprovalId;
use crate::path::{DevicePath, PathStyle, Places};
use crate::rule::{Counted, Hours, Rate, Rule, RuleAction};
use crate::touches::Touches;

fn windows() -> Places {
    Places {
        home: DevicePath::parse(PathStyle::Windows, "C:/Users/ann").ok(),
        ..Places::bare(PathStyle::Windows)
    }
}

fn policy(grants: &serde_json::Value) -> Policy {
    let grants: Grants = serde_json::from_value(grants.clone()).unwrap();
    let (scope, bad) = grants.compile(&windows());
    assert_eq!(bad, []);
    Policy { grants: scope, ..Policy::deny_all() }
}

fn seed_grants() -> serde_json::Value {
    json!({
        "allowed_tools": ["create_directory", "open_app", "delete_directory", "list_directory"],
        "allowed_paths": ["C:/Users/njsch", "D:/Projects"],
        "allowed_apps": ["chrome", "code"],
    })
}

#[derive(Debug)]
struct Ask {
    tool: &'static str,
    risk: Risk,
    touches: Touches,
    role: Role,
    limit: Option<Role>,
    dry_run: bool,
    confirmed: bool,
    user: &'static str,
    at: Moment,
    can_undo: bool,
    tainted: bool,
    content: &'static [ContentRaise],
    raises: &'static [RiskRaise],
    counted: Option<Counted<'static>>,
}

impl Ask {
    fn path(tool: &'static str, risk: Risk, path: &str, access: Access) -> Self {
        let path = DevicePath::parse(PathStyle::Windows, path).unwrap();
        Self {
            tool,
            risk,
            touches: Touches::path(path, access),
            role: Role::Admin,
            limit: None,
            dry_run: false,
            confirmed: false,
            user: "ann",
            at: Moment::default(),
            can_undo: false,
            tainted: false,
            content: &[],
            raises: &[],
            counted: None,
        }
    }

    fn make(path: &str) -> Self {
        Self::path("create_directory", Risk::Low, path, Access::Write)
    }

    fn delete(path: &str) -> Self {
        let delete = Self::path("delete_directory", Risk::High, path, Access::Delete);
        Self { confirmed: true, ..delete }
    }

    fn asked<T>(&self, policy: &Policy, read: impl FnOnce(&Question<'_>, Evaluation) -> T) -> T {
        let caller =
            Caller { user: self.user.parse().unwrap(), role: self.role, conversation: None };
        let device = "laptop-123".parse().unwrap();
        let question = Question {
            tool: ToolFacts {
                name: self.tool,
                risk: self.risk,
                capabilities: &[Capability::FileWrite],
                has_effects: self.tool != "list_directory",
                role: self.limit,
                can_undo: self.can_undo,
                of_files: self.tool == "create_directory",
                is_custom: false,
                called: None,
            },
            touches: Some(&self.touches),
            arguments: None,
            caller: &caller,
            device: &device,
            dry_run: self.dry_run,
            confirmed: self.confirmed,
            at: self.at,
            content: self.tainted.then_some(self.content),
            raises: self.raises,
            counted: self.counted,
        };
        read(&question, evaluate(&question, policy))
    }

    fn of(&self, policy: &Policy) -> (Decision, Option<ErrorCode>, Result<String, ErrorCode>) {
        self.asked(policy, |question, evaluation| {
            let code = (evaluation.decision() != Decision::Allow)
                .then(|| evaluation.refusal(question, policy).code);
            let permit = evaluation
                .permit(question, policy, None)
                .map(|permit| permit.rule().to_owned())
                .map_err(|error| error.code);
            (evaluation.decision(), code, permit)
        })
    }

    fn refused_by(&self, policy: &Policy) -> Option<String> {
        self.asked(policy, |question, evaluation| {
            (evaluation.decision() == Decision::Deny)
                .then(|| evaluation.rule_name(question, policy))
        })
    }
}

#[rstest]
#[case("C:/Users/njsch/Test", None)]
#[case("D:\\Projects\\x", None)]
#[case("C:/Windows/System32/Test", Some(ErrorCode::PathNotAllowed))]
#[case("C:/Users/njsch2", Some(ErrorCode::PathNotAllowed))]
#[case("c:\\users\\NJSCH\\..\\other", Some(ErrorCode::PathNotAllowed))]
#[case("D:/Projects/../x", Some(ErrorCode::PathNotAllowed))]
#[case("C:/Users/njsch/.ssh/id", Some(ErrorCode::PathNotAllowed))]
fn the_first_story(#[case] path: &str, #[case] refused: Option<ErrorCode>) {
    let policy = policy(&seed_grants());
    // `~` is ann's home here, so the built-in deny moves to the path's folder.
    let mut policy = policy;
    let places =
        Places { home: DevicePath::parse(PathStyle::Windows, "C:/Users/njsch").ok(), ..windows() };
    policy.grants = serde_json::from_value::<Grants>(seed_grants()).unwrap().compile(&places).0;
    let ask = Ask::path("create_directory", Risk::Low, path, Access::Write);
    assert_eq!(ask.of(&policy).1, refused);
}

#[test]
fn a_path_refusal_names_what_was_tried_and_what_is_allowed() {
    let policy = policy(&seed_grants());
    let caller = Caller { user: "ann".parse().unwrap(), role: Role::Operator, conversation: None };
    let touches = Touches::path(
        DevicePath::parse(PathStyle::Windows, "C:/Windows/System32/Test").unwrap(),
        Access::Write,
    );
    let device = "laptop-123".parse().unwrap();
    let question = Question {
        tool: ToolFacts {
            name: "create_directory",
            risk: Risk::Low,
            capabilities: &[Capability::FileWrite],
            has_effects: true,
            role: None,
            can_undo: false,
            of_files: false,
            is_custom: false,
            called: None,
        },
        touches: Some(&touches),
        arguments: None,
        caller: &caller,
        device: &device,
        dry_run: false,
        confirmed: false,
        at: Moment::default(),
        content: None,
        raises: &[],
        counted: None,
    };
    let refusal = evaluate(&question, &policy).refusal(&question, &policy);
    insta::assert_json_snapshot!(refusal, @r#"
    {
      "code": "PATH_NOT_ALLOWED",
      "message": "C:/Windows/System32/Test is not inside a path that allows write on laptop-123: C:/Users/njsch, D:/Projects.",
      "details": {
        "access": "write",
        "allowed_paths": [
          "C:/Users/njsch",
          "D:/Projects"
        ],
        "attempted_path": "C:/Windows/System32/Test",
        "changed_by": "an admin of this backend",
        "layer": "grants",
        "policy_version": "none",
        "rule": "grants: paths"
      },
      "recoverable": false,
      "hints": [
        {
          "text": "add { path: \"C:/Windows/System32/Test\", access: [write] } to the paths of laptop-123",
          "command": "orion devices permissions add laptop-123 --path C:/Windows/System32/Test --access write",
          "who": "admin"
        }
      ]
    }
    "#);
}

#[test]
fn a_dangerous_call_wants_confirm_and_then_a_person() {
    let policy = policy(&seed_grants());
    let mut ask = Ask::path("delete_directory", Risk::High, "D:/Projects/old", Access::Delete);
    assert_eq!(ask.of(&policy).1, Some(ErrorCode::ConfirmationRequired));
    ask.confirmed = true;
    assert_eq!(ask.of(&policy).0, Decision::Ask);
    assert_eq!(ask.of(&policy).2, Err(ErrorCode::ApprovalRequired));
    ask.dry_run = true;
    assert_eq!(ask.of(&policy).0, Decision::Allow);
}

#[test]
fn an_allowed_root_itself_cannot_be_deleted() {
    let policy = policy(&seed_grants());
    for path in ["D:/Projects", "D:/"] {
        let mut ask = Ask::path("delete_directory", Risk::High, path, Access::Delete);
        ask.confirmed = true;
        assert_eq!(ask.of(&policy).1, Some(ErrorCode::PathNotAllowed), "{path}");
    }
}

#[rstest]
#[case("D:/Work", "D:/Work/keep", Some("grants: deny_paths D:/Work/keep/*.key"))]
#[case("D:/Work/keep", "D:/Work/keep", Some("grants: deny_paths D:/Work/keep/*.key"))]
#[case("D:/Work/old", "D:/Work/keep", None)]
#[case("C:/Users", "C:/Users/All Users", Some("grants: paths"))]
#[case("C:/Data", "C:/Data/x", None)]
fn what_is_kept_out_does_not_go_with_the_folder_around_it(
    #[case] delete: &str,
    #[case] kept: &str,
    #[case] refused_by: Option<&str>,
) {
    let policy = policy(&json!({
        "tools": ["delete_directory"],
        "paths": ["C:/", "D:/"],
        "deny_paths": ["D:/Work/keep/*.key"],
    }));
    let mut ask = Ask::path("delete_directory", Risk::High, delete, Access::Delete);
    ask.confirmed = true;
    let expected = refused_by.map_or(Decision::Ask, |_| Decision::Deny);
    assert_eq!(ask.of(&policy).0, expected, "{delete} around {kept}");
    assert_eq!(ask.refused_by(&policy).as_deref(), refused_by);
    // Other accesses to the folder itself delete nothing.
    let write = Ask::path("delete_directory", Risk::Low, delete, Access::Write);
    assert_eq!(write.of(&policy).0, Decision::Allow, "{delete}");
}

#[test]
fn a_viewer_only_reads() {
    let policy = policy(&seed_grants());
    let mut write = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
    write.role = Role::Viewer;
    assert_eq!(write.of(&policy).1, Some(ErrorCode::PermissionDenied));
    let mut read = Ask::path("list_directory", Risk::Low, "D:/Projects/x", Access::Read);
    read.role = Role::Viewer;
    assert_eq!(read.of(&policy).0, Decision::Allow);
}

#[test]
fn what_is_not_granted_is_denied_and_no_policy_denies_all() {
    let ask = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
    assert_eq!(ask.of(&Policy::deny_all()).0, Decision::Deny);
    let other = policy(&json!({"tools": ["list_directory"], "paths": ["D:/Projects"]}));
    assert_eq!(ask.of(&other).1, Some(ErrorCode::PermissionDenied));
    let empty = policy(&json!({}));
    assert_eq!(ask.of(&empty).0, Decision::Deny);
    let reader = policy(&json!({"profile": "reader", "paths": ["D:/Projects"]}));
    assert_eq!(ask.of(&reader).1, Some(ErrorCode::PermissionDenied));
}

#[test]
fn a_ceiling_only_narrows() {
    let mut policy = policy(&seed_grants());
    let ask = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
    let ceiling: Grants =
        serde_json::from_value(json!({"profile": "operator", "paths": ["C:/Users/njsch"]}))
            .unwrap();
    policy.ceiling = Some(ceiling.compile(&windows()).0);
    assert_eq!(ask.of(&policy).1, Some(ErrorCode::PathNotAllowed));
    let wide: Grants =
        serde_json::from_value(json!({"profile": "operator", "paths": ["D:/"]})).unwrap();
    policy.ceiling = Some(wide.compile(&windows()).0);
    assert_eq!(ask.of(&policy).0, Decision::Allow);
    policy.grants = Scope::nothing();
    assert_eq!(ask.of(&policy).0, Decision::Deny);
}

#[test]
fn dangerous_mode_lifts_tools_and_capabilities_but_not_paths_or_the_ceiling() {
    let mut policy = policy(&json!({"tools": ["list_directory"], "paths": ["D:/Projects"]}));
    policy.mode = Mode::Dangerous { until: 1 };
    let inside = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
    assert_eq!(inside.of(&policy).0, Decision::Allow);
    let outside = Ask::path("create_directory", Risk::Low, "D:/Other", Access::Write);
    assert_eq!(outside.of(&policy).1, Some(ErrorCode::PathNotAllowed));
    policy.ceiling = Some(Scope::nothing());
    assert_eq!(inside.of(&policy).0, Decision::Deny);
}

#[test]
fn rules_tighten_and_a_narrow_preapproval_saves_the_question() {
    let mut policy = policy(&seed_grants());
    let rule = |action, tools: &[&str]| {
        let tools = tools.iter().map(|&t| t.to_owned()).collect();
        let because = "House rule.".to_owned();
        let (rule, bad) = Rule { tools, because, ..Rule::new("r1", action) }.compile(&windows());
        assert_eq!(bad, []);
        rule
    };
    let low = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
    policy.rules = vec![rule(RuleAction::Ask, &["create_directory"])];
    assert_eq!(low.of(&policy).0, Decision::Ask);
    policy.rules.push(rule(RuleAction::Deny, &[]));
    assert_eq!(low.of(&policy).0, Decision::Deny);

    let mut high = Ask::path("delete_directory", Risk::High, "D:/Projects/x", Access::Delete);
    high.confirmed = true;
    policy.rules = vec![rule(RuleAction::Preapprove, &["delete_directory"])];
    assert_eq!(high.of(&policy).0, Decision::Allow);
    policy.rules = vec![rule(RuleAction::Preapprove, &[])];
    assert_eq!(high.of(&policy).0, Decision::Ask, "a pre-approval names its tools");
}

#[test]
fn a_deny_entry_that_cannot_be_read_refuses_every_path() {
    let grants: Grants = serde_json::from_value(
        json!({"profile": "operator", "paths": ["D:/Projects"], "deny_paths": ["D:relative"]}),
    )
    .unwrap();
    let (scope, bad) = grants.compile(&windows());
    assert_eq!(bad.len(), 1);
    let policy = Policy { grants: scope, ..Policy::deny_all() };
    let ask = Ask::path("create_directory", Risk::Low, "D:/Projects/x", Access::Write);
    assert_eq!(ask.of(&policy).1, Some(ErrorCode::PathNotAllowed));
}

#[test]
fn what_is_lent_cannot_be_relative() {
    let places =
        Places { workspace: DevicePath::parse(PathStyle::Windows, "D:/").ok(), ..windows() };
    let grants: Grants = serde_json::from_value(json!({"paths": ["Projects", "D:/x"]})).unwrap();
    let (scope, bad) = grants.compile(&places);
    assert_eq!(scope.allowed_roots(Access::Read), ["D:/x"]);
    assert_eq!(bad.iter().map(|entry| entry.entry.as_str()).collect::<Vec<_>>(), ["Projects"]);
}
