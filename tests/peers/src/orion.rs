//! Orion's own evaluator, with the whole of its question: role, grants, ceiling, rules, risk.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use orion_domain::evaluate::{Decision, ToolFacts};
use orion_domain::grants::{Grants, PathGrant};
use orion_domain::rule::{Counted, Moment, Rule, RuleAction};
use orion_domain::{
    Access, Caller, Capability, DeviceName, DevicePath, PathStyle, Places, Policy, Question, Risk,
    Role, Touches, evaluate,
};

use crate::world::{self, Deny, EACH, Touch};

const CAPABILITIES: &[Capability] = &[Capability::FileRead];

/// A question, put together.
struct Prepared {
    caller: Caller,
    tool: String,
    touches: Touches,
}

/// See the module.
pub(crate) struct Orion {
    policy: Policy,
    device: DeviceName,
    questions: Vec<Prepared>,
}

impl Orion {
    /// Compiles the policy and prepares the questions.
    pub(crate) fn new() -> Result<Self> {
        let places = Places::bare(PathStyle::Posix);
        let access = |index| {
            let both = [Access::Read, Access::Write];
            both.into_iter().take(if world::is_writable(index) { 2 } else { 1 }).collect()
        };
        let grants = Grants {
            tools: Some((0..EACH).map(world::tool).collect()),
            capabilities: Some(CAPABILITIES.iter().copied().collect::<BTreeSet<_>>()),
            paths: (0..EACH)
                .map(|index| PathGrant { path: world::path(index), access: access(index) })
                .collect(),
            apps: (0..EACH).map(world::app).collect(),
            ..Grants::default()
        };
        let (scope, bad) = grants.compile(&places);
        ensure!(bad.is_empty(), "the grants do not compile");
        let mut rules = Vec::new();
        for (index, deny) in world::rules().into_iter().enumerate() {
            let mut rule = Rule::new(format!("rule-{index}"), RuleAction::Deny);
            match deny {
                Deny::ToolTo(tool, user) => {
                    rule.tools = vec![world::tool(tool)];
                    rule.users = vec![world::user(user).parse()?];
                }
                Deny::Beneath(path) => rule.paths = vec![path],
            }
            rules.push(rule.compile(&places).0);
        }
        // The owner of the device leaves as much as is granted: a second list to look through.
        let ceiling = Some(scope.clone());
        let policy = Policy { grants: scope, ceiling, rules, ..Policy::deny_all() };
        let mut questions = Vec::new();
        for asked in world::questions() {
            let touches = match asked.touch {
                Touch::Path(path, writes) => {
                    let access = if writes { Access::Write } else { Access::Read };
                    Touches::path(DevicePath::parse(PathStyle::Posix, &path)?, access)
                }
                Touch::App(app) => Touches { apps: vec![world::app(app)], ..Touches::nothing() },
            };
            questions.push(Prepared {
                caller: Caller {
                    user: world::user(asked.user).parse()?,
                    role: Role::Operator,
                    conversation: None,
                },
                tool: world::tool(asked.tool),
                touches,
            });
        }
        Ok(Self { policy, device: "web-1".parse()?, questions })
    }
}

impl crate::Engine for Orion {
    fn name(&self) -> &'static str {
        "orion evaluate"
    }

    fn allows(&mut self, index: usize) -> Result<bool> {
        let asked = &self.questions[index];
        let question = Question {
            tool: ToolFacts {
                name: &asked.tool,
                risk: Risk::Medium,
                capabilities: CAPABILITIES,
                has_effects: true,
                role: None,
                can_undo: false,
                is_custom: false,
                called: None,
            },
            touches: Some(&asked.touches),
            arguments: None,
            caller: &asked.caller,
            device: &self.device,
            dry_run: false,
            confirmed: true,
            at: Moment { unix_ms: 1_700_000_000_000, weekday: 1, minute: 600 },
            content: None,
            raises: &[],
            counted: Some(Counted { earlier: &[], quantity: None }),
        };
        Ok(evaluate(&question, &self.policy).decision() == Decision::Allow)
    }
}
