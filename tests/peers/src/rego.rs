//! regorus: the lists as data, the rules as Rego, run as byte code.

use anyhow::Result;
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::RegoVM;
use regorus::{Engine, Rc, Value};
use serde_json::json;

use crate::world::{self, Deny, EACH, Touch};

const POLICY: &str = r#"package orion

import rego.v1

default allow := false

allow if {
    data.tools[input.tool]
    granted
    not denied
}

granted if data.apps[input.app]

granted if {
    some folder, writable in data.paths
    beneath(input.path, folder)
    fits(writable)
}

fits(writable) if writable

fits(_) if not input.writes

denied if data.tool_to[input.tool][input.user]

denied if {
    some folder in data.kept
    beneath(input.path, folder)
}

beneath(path, folder) if path == folder

beneath(path, folder) if startswith(path, concat("", [folder, "/"]))
"#;

const ENTRY: &str = "data.orion.allow";

/// See the module.
pub(crate) struct Rego {
    vm: RegoVM,
    inputs: Vec<Value>,
}

impl Rego {
    /// Compiles the policy and builds the inputs.
    pub(crate) fn new() -> Result<Self> {
        let set = |names: Vec<String>| -> serde_json::Value {
            names.into_iter().map(|name| (name, json!(true))).collect::<serde_json::Map<_, _>>().into()
        };
        let mut tool_to = serde_json::Map::new();
        let mut kept = Vec::new();
        for deny in world::rules() {
            match deny {
                Deny::ToolTo(tool, user) => {
                    let users = tool_to.entry(world::tool(tool)).or_insert_with(|| json!({}));
                    users[world::user(user)] = json!(true);
                }
                Deny::Beneath(path) => kept.push(path),
            }
        }
        let paths: serde_json::Map<_, _> =
            (0..EACH).map(|it| (world::path(it), json!(world::is_writable(it)))).collect();
        let data = json!({
            "tools": set((0..EACH).map(world::tool).collect()),
            "apps": set((0..EACH).map(world::app).collect()),
            "paths": paths, "tool_to": tool_to, "kept": kept,
        });
        let data = Value::from_json_str(&data.to_string())?;
        let mut engine = Engine::new();
        engine.add_policy("orion.rego".to_owned(), POLICY.to_owned())?;
        engine.add_data(data.clone())?;
        let compiled = engine.compile_with_entrypoint(&Rc::from(ENTRY))?;
        let program = Compiler::compile_from_policy(&compiled, &[ENTRY])?;
        let mut vm = RegoVM::new_with_policy(compiled);
        vm.load_program(program);
        vm.set_data(data)?;
        let inputs = world::questions()
            .into_iter()
            .map(|asked| {
                let mut input =
                    json!({"user": world::user(asked.user), "tool": world::tool(asked.tool)});
                match asked.touch {
                    Touch::Path(path, writes) => {
                        input["path"] = json!(path);
                        input["writes"] = json!(writes);
                    }
                    Touch::App(app) => input["app"] = json!(world::app(app)),
                }
                Value::from_json_str(&input.to_string())
            })
            .collect::<Result<_>>()?;
        Ok(Self { vm, inputs })
    }
}

impl crate::Engine for Rego {
    fn name(&self) -> &'static str {
        "regorus (byte code)"
    }

    fn allows(&mut self, index: usize) -> Result<bool> {
        self.vm.set_input(self.inputs[index].clone());
        Ok(self.vm.execute_entry_point_by_index(0)? == Value::Bool(true))
    }
}
