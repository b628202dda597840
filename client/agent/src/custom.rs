//! The custom tools of this device: manifests that its owner writes into `tools.d`, and the tools of MCP servers
//! that its owner names in `agent.toml`.
//!
//! This room reads what the owner wrote, and announces it. Whether a call of such a tool may run is decided where
//! every call is: by the backend, where an admin has approved the definition, and by the guard. The owner's file
//! is the owner's consent to the program that it names, and to nothing else: what a call touches is compared with
//! the ceiling like that of any other call.

#[cfg(target_os = "linux")]
mod code;
mod folder;
mod manifest;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod start;
mod watch;

use std::collections::BTreeMap;

use orion_catalog::ToolSpec;
use orion_catalog::custom::{Definition, Run, approved};
use orion_domain::{Actor, Digest, ErrorCode, Hint, ToolError};

pub use folder::{Manifests, read};
#[cfg(target_os = "linux")]
pub(crate) use mcp::watch_servers;
#[cfg(target_os = "linux")]
pub(crate) use run::run;
pub(crate) use watch::watch;

/// The tools that the MCP servers of this device offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerTools(pub Vec<Definition>);

/// The most tools that are announced: what a backend takes.
const MAX_TOOLS: usize = 64;
/// The most names of tools that are left out that the log shows.
const MAX_SHOWN: usize = 16;

/// The custom tools that this device has now, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomTools(BTreeMap<String, (Definition, Digest)>);

impl CustomTools {
    /// Collects definitions. Of two with one name none counts, because nobody could tell which is meant. Where there
    /// are more than a backend takes, the manifests come first, and each server gets as many places as any other.
    #[must_use]
    pub fn of(definitions: impl IntoIterator<Item = Definition>) -> Self {
        let mut all: BTreeMap<String, Option<Definition>> = BTreeMap::new();
        for definition in definitions {
            all.entry(definition.name.clone())
                .and_modify(|twice| {
                    tracing::warn!(
                        tool = definition.name,
                        "two tools have this name, so neither is announced"
                    );
                    *twice = None;
                })
                .or_insert_with(|| Some(definition.clone()));
        }
        let (announced, left_out) = fair(all.into_values().flatten().collect());
        if !left_out.is_empty() {
            let (count, names) = (left_out.len(), shown(&left_out));
            tracing::warn!(
                count,
                names,
                "this device has more than {MAX_TOOLS} custom tools, so these are not announced; remove some \
                 manifests or servers"
            );
        }
        let named = announced.into_iter().map(|tool| {
            let digest = tool.digest();
            (tool.name.clone(), (tool, digest))
        });
        Self(named.collect())
    }

    /// Returns the canonical forms, as they are announced.
    pub fn announcement(&self) -> impl Iterator<Item = Vec<u8>> {
        self.0.values().map(|(definition, _)| definition.canonical().as_bytes().to_vec())
    }

    /// Returns the tool that a call means, which must have the definition that the backend means. The risk is
    /// that of the owner; a call may state a higher one.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND`, and `PRECONDITION_FAILED` for another definition.
    pub fn meant(&self, name: &str, digest: Digest) -> Result<&'static ToolSpec, ToolError> {
        let Some((definition, held)) = self.0.get(name) else {
            let shown: String = name.chars().take(64).collect();
            let message = format!("This device has no tool `{shown}`.");
            return Err(ToolError::new(ErrorCode::ToolNotFound, message));
        };
        if *held != digest {
            let message = format!(
                "The definition of {name} on this device is not the one that was approved."
            );
            return Err(ToolError::new(ErrorCode::PreconditionFailed, message)
                .with("definition", held.to_string())
                .hint(
                    Hint::run("read and approve the new one", "orion tools pending")
                        .by(Actor::Admin),
                ));
        }
        approved(definition, definition.risk).map_err(|error| {
            let message = format!("Nothing was run: {error}.");
            ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint(Hint::new("restart the agent on the device").by(Actor::Owner))
        })
    }
}

/// Returns the tools that are announced, and the others: first the manifests, then one tool of each server after the
/// other.
fn fair(tools: Vec<Definition>) -> (Vec<Definition>, Vec<Definition>) {
    let mut of_servers: BTreeMap<String, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, Definition)> = Vec::new();
    for tool in tools {
        let rank = match &tool.run {
            Run::Program(_) => 0,
            Run::Mcp(run) => {
                let count = of_servers.entry(run.server.clone()).or_default();
                *count += 1;
                *count
            }
        };
        ranked.push((rank, tool));
    }
    // The sort keeps the order by name among equals.
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut announced: Vec<Definition> = ranked.into_iter().map(|(_, tool)| tool).collect();
    let left_out = announced.split_off(announced.len().min(MAX_TOOLS));
    (announced, left_out)
}

/// Returns the first names of tools.
fn shown(tools: &[Definition]) -> String {
    let names: Vec<&str> = tools.iter().take(MAX_SHOWN).map(|tool| tool.name.as_str()).collect();
    let more = if tools.len() > MAX_SHOWN { " and more" } else { "" };
    format!("{}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use orion_catalog::custom::{DeclaredTouches, McpRun, ProgramRun};
    use orion_domain::Risk;

    use super::*;

    fn tool(name: String, server: Option<&str>) -> Definition {
        let program = "/usr/bin/true".to_owned();
        let run = match server {
            None => Run::Program(ProgramRun {
                program,
                argv: Vec::new(),
                folder: ".".to_owned(),
                timeout: 1,
                code: Vec::new(),
            }),
            Some(server) => Run::Mcp(McpRun {
                server: server.to_owned(),
                tool: name.clone(),
                program,
                argv: Vec::new(),
                environment: Vec::new(),
                code: Vec::new(),
            }),
        };
        Definition {
            name,
            description: "Does something.".to_owned(),
            risk: Risk::High,
            permissions: BTreeSet::new(),
            parameters: Vec::new(),
            run,
            touches: DeclaredTouches::default(),
        }
    }

    fn of_server(server: &str, count: usize) -> Vec<Definition> {
        (0..count).map(|it| tool(format!("{server}__{it:02}"), Some(server))).collect()
    }

    #[test]
    fn no_server_pushes_out_a_manifest_or_another_server() {
        let manifests: Vec<_> = (0..20).map(|it| tool(format!("zz_{it:02}"), None)).collect();
        let all = [of_server("a", 64), of_server("b", 64), of_server("c", 4), manifests].concat();
        let count = all.len();
        let tools = CustomTools::of(all.clone());
        let announced = |prefix: &str| tools.0.keys().filter(|it| it.starts_with(prefix)).count();
        assert_eq!(tools.0.len(), MAX_TOOLS);
        assert_eq!(["zz_", "a__", "b__", "c__"].map(announced), [20, 20, 20, 4]);
        assert!(tools.0.contains_key("a__00") && !tools.0.contains_key("a__20"));

        let (announced, left_out) = fair(all);
        assert_eq!(announced.len() + left_out.len(), count);
        let names = shown(&left_out);
        assert!(
            names.starts_with("a__20, b__20, a__21") && names.ends_with(" and more"),
            "{names}"
        );
        let few = fair(of_server("a", 3));
        assert_eq!((few.0.len(), few.1.len()), (3, 0));
    }
}
