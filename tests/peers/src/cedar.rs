//! cedar-policy: one `permit` for each path, one for applications, one `forbid` for each rule.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};

use crate::world::{self, Deny, EACH, Touch};

/// See the module.
pub(crate) struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    requests: Vec<Request>,
}

impl Cedar {
    /// Parses the policies and builds the requests.
    pub(crate) fn new() -> Result<Self> {
        let tools: Vec<_> = (0..EACH).map(|it| format!("Action::\"{}\"", world::tool(it))).collect();
        let tools = tools.join(", ");
        let beneath = |path: &str| {
            format!("(context.path == \"{path}\" || context.path like \"{path}/*\")")
        };
        let mut text = String::new();
        for index in 0..EACH {
            let only_read = if world::is_writable(index) { "" } else { "!context.writes && " };
            writeln!(
                text,
                "permit(principal, action in [{tools}], resource) when {{ {only_read}{} }};",
                beneath(&world::path(index)),
            )?;
        }
        let apps: Vec<_> = (0..EACH).map(|it| format!("\"{}\"", world::app(it))).collect();
        writeln!(
            text,
            "permit(principal, action in [{tools}], resource) when {{ [{}].contains(context.app) }};",
            apps.join(", "),
        )?;
        for deny in world::rules() {
            match deny {
                Deny::ToolTo(tool, user) => writeln!(
                    text,
                    "forbid(principal == User::\"{}\", action == Action::\"{}\", resource);",
                    world::user(user),
                    world::tool(tool),
                )?,
                Deny::Beneath(path) => writeln!(
                    text,
                    "forbid(principal, action, resource) when {{ {} }};",
                    beneath(&path),
                )?,
            }
        }
        let policies = text.parse::<PolicySet>().context("the Cedar policies")?;
        let uid = |kind: &str, name: &str| format!("{kind}::\"{name}\"").parse::<EntityUid>();
        let mut requests = Vec::new();
        for asked in world::questions() {
            let (path, writes, app) = match &asked.touch {
                Touch::Path(path, writes) => (path.clone(), *writes, String::new()),
                Touch::App(app) => (String::new(), false, world::app(*app)),
            };
            let context = Context::from_pairs([
                ("path".to_owned(), RestrictedExpression::new_string(path)),
                ("writes".to_owned(), RestrictedExpression::new_bool(writes)),
                ("app".to_owned(), RestrictedExpression::new_string(app)),
            ])?;
            requests.push(Request::new(
                uid("User", &world::user(asked.user))?,
                uid("Action", &world::tool(asked.tool))?,
                uid("Device", "web-1")?,
                context,
                None,
            )?);
        }
        Ok(Self { authorizer: Authorizer::new(), policies, entities: Entities::empty(), requests })
    }
}

impl crate::Engine for Cedar {
    fn name(&self) -> &'static str {
        "cedar-policy"
    }

    fn allows(&mut self, index: usize) -> Result<bool> {
        let request = &self.requests[index];
        let answer = self.authorizer.is_authorized(request, &self.policies, &self.entities);
        Ok(answer.decision() == Decision::Allow)
    }
}
