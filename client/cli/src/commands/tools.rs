//! `orion tools`: lists and shows tools.

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;

use crate::app::App;
use crate::complete;
use crate::failure::Failure;
use crate::show::{ToolView, openai, tool_page, tools_table};

/// The tools that there are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion tools list
  orion tools show write_file")]
pub(crate) struct Tools {
    #[command(subcommand)]
    what: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// List tools
    #[command(after_help = "\
Examples:
  orion tools list --category file
  orion tools list --device laptop-123
  orion tools list --format openai > tools.json")]
    List {
        /// Only what may be called on this device
        #[arg(long, value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: Option<String>,
        /// Only this category
        #[arg(long, value_name = "CATEGORY")]
        category: Option<String>,
        /// A form that other programs take
        #[arg(long, value_enum)]
        format: Option<Form>,
    },
    /// Show one tool with its arguments and what it returns
    #[command(after_help = "Example:\n  orion tools show delete_directory")]
    Show {
        /// The tool's name or alias
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::tools))]
        name: String,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// The `tools` of OpenAI's chat completions
    Openai,
}

impl Tools {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such tool, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let device = match &self.what {
            ToolsCommand::List { device: Some(device), .. } => device.clone(),
            ToolsCommand::List { device: None, .. } | ToolsCommand::Show { .. } => String::new(),
        };
        let request = v1::ListToolsRequest { device };
        let tools = client.ask(client.tools().list_tools(request)).await?.tools;
        let mut tools: Vec<ToolView> = tools.into_iter().map(ToolView::from).collect();
        match self.what {
            ToolsCommand::List { device: _, category, format } => {
                if let Some(category) = category {
                    tools.retain(|tool| tool.category == category);
                }
                if tools.is_empty() {
                    app.out.note("there is no tool of that kind that you may call there");
                }
                match format {
                    Some(Form::Openai) => app.out.line(&format!("{:#}", openai(&tools)))?,
                    None => app.out.show(&tools, || tools_table(app.out, &tools))?,
                }
            }
            ToolsCommand::Show { name } => {
                let tool = tools
                    .into_iter()
                    .find(|tool| tool.name == name || tool.aliases.contains(&name))
                    .ok_or_else(|| no_such_tool(&name))?;
                app.out.show(&tool, || tool_page(&tool))?;
            }
        }
        Ok(0)
    }
}

fn no_such_tool(name: &str) -> Failure {
    let nearest = orion_catalog::nearest(name);
    Failure::NotFound(format!("there is no tool {name}")).hint(if nearest.is_empty() {
        Hint::run("list the tools", "orion tools list")
    } else {
        Hint::did_you_mean(nearest)
    })
}
