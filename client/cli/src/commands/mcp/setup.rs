//! The lines to paste into the configurations of programs.

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::failure::Failure;

/// A program that starts MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Setup {
    /// Claude Desktop
    ClaudeDesktop,
    /// Claude Code
    ClaudeCode,
    /// Visual Studio Code
    Vscode,
    /// Cursor
    Cursor,
    /// Zed
    Zed,
    /// LM Studio
    LmStudio,
    /// Any other program that reads `mcpServers`
    Other,
}

impl Setup {
    /// Returns where the lines go.
    pub(super) const fn place(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => {
                "Paste into claude_desktop_config.json (Settings, Developer, Edit Config), and restart Claude Desktop:"
            }
            Self::ClaudeCode => "Paste into .mcp.json of a project:",
            Self::Vscode => {
                "Paste into .vscode/mcp.json of a folder, or `MCP: Open User Configuration`:"
            }
            Self::Cursor => "Paste into ~/.cursor/mcp.json:",
            Self::Zed => "Paste into settings.json of Zed:",
            Self::LmStudio => "Paste into mcp.json (Program, Install, Edit mcp.json):",
            Self::Other => "Paste where the program lists its MCP servers:",
        }
    }

    /// Returns the lines, as JSON, for this program at its place and the named context.
    pub(super) fn lines(self, context: Option<&str>) -> Result<String, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::Failed(format!("the place of orion is not known: {error}"))
        })?;
        let lines = self.value(&program.to_string_lossy(), context);
        serde_json::to_string_pretty(&lines)
            .map_err(|error| Failure::Failed(format!("the lines cannot be written: {error}")))
    }

    fn value(self, program: &str, context: Option<&str>) -> Value {
        let mut arguments = vec!["mcp"];
        if let Some(context) = context {
            arguments.splice(0..0, ["--context", context]);
        }
        let server = json!({"command": program, "args": arguments});
        match self {
            Self::Vscode => {
                let mut server = server;
                server["type"] = json!("stdio");
                json!({"servers": {"orion": server}})
            }
            Self::Zed => json!({"context_servers": {"orion": server}}),
            Self::ClaudeDesktop
            | Self::ClaudeCode
            | Self::Cursor
            | Self::LmStudio
            | Self::Other => {
                json!({"mcpServers": {"orion": server}})
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_gets_the_lines_that_it_reads() {
        let server = json!({"command": "/usr/bin/orion", "args": ["mcp"]});
        let of = |setup: Setup| setup.value("/usr/bin/orion", None);
        assert_eq!(of(Setup::ClaudeDesktop), json!({"mcpServers": {"orion": server}}));
        assert_eq!(of(Setup::Zed), json!({"context_servers": {"orion": server}}));
        assert_eq!(of(Setup::Vscode)["servers"]["orion"]["type"], "stdio");
        let home = Setup::Cursor.value("orion", Some("home"));
        assert_eq!(home["mcpServers"]["orion"]["args"], json!(["--context", "home", "mcp"]));
    }
}
