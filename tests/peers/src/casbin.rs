//! casbin: one policy line for each grant and each rule, deny overrides.

use anyhow::{Context as _, Result};
use casbin::{CoreApi as _, DefaultModel, Enforcer, MemoryAdapter, MgmtApi as _};

use crate::world::{self, Deny, EACH, Touch};

const MODEL: &str = r#"
[request_definition]
r = user, tool, object, access

[policy_definition]
p = user, tool, object, access, eft

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = (p.user == "*" || r.user == p.user) && (p.access == "*" || r.access == p.access) && (p.object == "*" || r.object == p.object || keyMatch(r.object, p.object)) && (p.tool == "*" || r.tool == p.tool || (p.tool == "granted" && granted(r.tool)))
"#;

/// See the module.
pub(crate) struct Casbin {
    enforcer: Enforcer,
    requests: Vec<[String; 4]>,
}

impl Casbin {
    /// Loads the policy and builds the requests.
    pub(crate) async fn new() -> Result<Self> {
        let model = DefaultModel::from_str(MODEL).await.context("the casbin model")?;
        let mut enforcer = Enforcer::new(model, MemoryAdapter::default()).await?;
        enforcer.add_function(
            "granted",
            casbin::function_map::OperatorFunction::Arg1(|tool| {
                let tool = tool.to_string();
                let number = tool.strip_prefix("tool_").and_then(|it| it.parse::<usize>().ok());
                number.is_some_and(|number| number < EACH).into()
            }),
        );
        let mut lines = Vec::new();
        let mut line = |cells: [&str; 5]| lines.push(cells.map(ToOwned::to_owned).to_vec());
        for index in 0..EACH {
            for access in ["read", "write"] {
                if access == "write" && !world::is_writable(index) {
                    continue;
                }
                let beneath = format!("{}/*", world::path(index));
                line(["*", "granted", &world::path(index), access, "allow"]);
                line(["*", "granted", &beneath, access, "allow"]);
            }
            line(["*", "granted", &world::app(index), "open", "allow"]);
        }
        for deny in world::rules() {
            match deny {
                Deny::ToolTo(tool, user) => {
                    line([&world::user(user), &world::tool(tool), "*", "*", "deny"]);
                }
                Deny::Beneath(path) => {
                    let beneath = format!("{path}/*");
                    line(["*", "*", &path, "*", "deny"]);
                    line(["*", "*", &beneath, "*", "deny"]);
                }
            }
        }
        enforcer.add_policies(lines).await?;
        let requests = world::questions()
            .into_iter()
            .map(|asked| {
                let (object, access) = match asked.touch {
                    Touch::Path(path, true) => (path, "write"),
                    Touch::Path(path, false) => (path, "read"),
                    Touch::App(app) => (world::app(app), "open"),
                };
                [world::user(asked.user), world::tool(asked.tool), object, access.to_owned()]
            })
            .collect();
        Ok(Self { enforcer, requests })
    }
}

impl crate::Engine for Casbin {
    fn name(&self) -> &'static str {
        "casbin"
    }

    fn allows(&mut self, index: usize) -> Result<bool> {
        let [user, tool, object, access] = &self.requests[index];
        Ok(self.enforcer.enforce((user, tool, object, access))?)
    }
}
