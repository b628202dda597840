//! An MCP server as the owner names it in `agent.toml`.

use std::collections::{BTreeMap, BTreeSet};

use orion_catalog::custom::{
    DeclaredTouches, Definition, McpRun, Parameter, Run, checked, tool_of_server,
};
use orion_domain::grants::PathGrant;
use orion_domain::{Access, Risk};
use serde::Deserialize;

/// The most servers of a device.
const MAX_SERVERS: usize = 16;

/// One `[mcp.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// The program: a name that the device looks up, or an absolute path.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Names of variables of the agent's environment that it gets.
    #[serde(default)]
    pub env: Vec<String>,
    /// Files and folders that the server consists of. No call may be able to change them.
    #[serde(default)]
    pub code: Vec<String>,
    /// Paths that it reaches, as far as they are granted.
    #[serde(default)]
    pub roots: Vec<PathGrant>,
    /// Hosts with ports that it contacts. Without any it has no network.
    #[serde(default)]
    pub hosts: BTreeSet<String>,
    /// The least risk of its tools.
    #[serde(default = "high")]
    pub risk: Risk,
}

const fn high() -> Risk {
    Risk::High
}

/// Checks the entries by defining a tool of each.
///
/// # Errors
/// What is wrong with which server.
pub(crate) fn check(servers: &BTreeMap<String, McpServer>) -> Result<(), String> {
    if servers.len() > MAX_SERVERS {
        return Err(format!("[mcp] there are more than {MAX_SERVERS} servers"));
    }
    for (name, server) in servers {
        let tool = server.define(name, "tool", "A tool.".to_owned(), Vec::new());
        tool.map_err(|why| format!("[mcp.{name}] {why}"))?;
    }
    Ok(())
}

impl McpServer {
    /// Returns the definition of a tool of this server.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub(crate) fn define(
        &self,
        name: &str,
        tool: &str,
        description: String,
        parameters: Vec<Parameter>,
    ) -> Result<Definition, String> {
        let with = |access: Access| -> Vec<String> {
            let roots = self.roots.iter().filter(|root| root.access.contains(&access));
            roots.map(|root| root.path.clone()).collect()
        };
        let definition = Definition {
            name: tool_of_server(name, tool),
            description,
            risk: self.risk,
            permissions: BTreeSet::new(),
            parameters,
            run: Run::Mcp(McpRun {
                server: name.to_owned(),
                tool: tool.to_owned(),
                program: self.command.clone(),
                argv: self.args.clone(),
                environment: self.env.clone(),
                code: self.code.clone(),
            }),
            touches: DeclaredTouches {
                read: with(Access::Read),
                write: with(Access::Write),
                delete: with(Access::Delete),
                hosts: self.hosts.iter().cloned().collect(),
            },
        };
        checked(definition).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(text: &str) -> Result<BTreeMap<String, McpServer>, String> {
        let servers = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&servers).map(|()| servers)
    }

    #[test]
    fn an_entry_names_a_program_and_what_it_reaches() {
        let text = "[files]\ncommand = \"node\"\nargs = [\"/opt/files.js\", \"{x}\"]\n\
            roots = [{ path = \"~/notes\", access = [\"read\", \"write\"] }]\n";
        let files = servers(text).unwrap().remove("files").unwrap();
        let tool = files.define("files", "Read-Text", "Reads.".to_owned(), Vec::new()).unwrap();
        assert_eq!((tool.name.as_str(), tool.risk), ("files__read_text", Risk::High));
        assert_eq!(
            (tool.touches.read.len(), tool.touches.write.len(), tool.touches.delete.len()),
            (1, 1, 0)
        );
        for (text, why) in [
            ("[Files]\ncommand = \"node\"\n", "[mcp.Files]"),
            ("[files]\ncommand = \"bin/node\"\n", "absolute path"),
            ("[files]\ncommand = \"node\"\nhosts = [\"example.com\"]\n", "host with a port"),
            ("[files]\ncommand = \"node\"\nenv = [\"A=B\"]\n", "names of variables"),
            ("[files]\ncommand = \"node\"\ncode = [\"lib\"]\n", "absolute path"),
            ("[files]\ncommand = \"node\"\nshell = true\n", "unknown field"),
        ] {
            let error = servers(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
