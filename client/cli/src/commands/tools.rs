//! `orion tools`: lists and shows tools, and decides about those that devices define.

mod custom;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;

use crate::app::App;
use crate::complete;
use crate::failure::Failure;
use crate::show::{ToolView, openai, tool_page, tools_table};
use crate::text;

use custom::{Named, Pending, RiskName};

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
        /// The device that defines it, for a custom tool
        #[arg(long, value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: Option<String>,
    },
    /// List the tools that devices define and nobody has decided about
    #[command(after_help = "\
Examples:
  orion tools pending
  orion tools pending --device laptop-123 --all")]
    Pending(Pending),
    /// Show the definition of a device's tool, and approve exactly it
    #[command(after_help = "\
Examples:
  orion tools approve laptop-123 backup_photos
  orion tools approve laptop-123 backup_photos --risk medium
  orion tools approve laptop-123 backup_photos --definition 3f1c0a9be2d4

A tool counts as one of high risk, or of the risk that its owner states where that is more. With --risk it
counts as you say, but never as less than its owner states. A changed definition has to be approved again.")]
    Approve {
        #[command(flatten)]
        named: Named,
        /// What it counts as
        #[arg(long, value_enum)]
        risk: Option<RiskName>,
    },
    /// Reject the definition of a device's tool, also after it was approved
    #[command(after_help = "Example:\n  orion tools reject laptop-123 backup_photos")]
    Reject {
        #[command(flatten)]
        named: Named,
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
        match self.what {
            ToolsCommand::Pending(pending) => return pending.run(app).await,
            ToolsCommand::Approve { named, risk } => return named.decide(app, true, risk).await,
            ToolsCommand::Reject { named } => return named.decide(app, false, None).await,
            ToolsCommand::List { device, category, format } => {
                let mut tools = tools(app, device).await?;
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
            ToolsCommand::Show { name, device } => {
                let named = |tool: &ToolView| tool.name == name || tool.aliases.contains(&name);
                let mut tool = tools(app, device.clone()).await?.into_iter().find(named);
                if let (None, Some(device)) = (&tool, device) {
                    // One of the catalogue is shown also where it may not be called.
                    tool = tools(app, None).await?.into_iter().find(named);
                    let (device, name) = (text::one_line(&device, 64), text::one_line(&name, 64));
                    let refused = format!("{name} cannot be called on {device}");
                    let why = format!("orion why {device} {name}");
                    if tool.is_none() {
                        return Err(Failure::NotFound(refused).hint(Hint::run("see why", why)));
                    }
                    app.out.note(&format!("{refused}; `{why}` says why"));
                }
                let tool = tool.ok_or_else(|| no_such_tool(&name))?;
                app.out.show(&tool, || tool_page(&tool))?;
            }
        }
        Ok(0)
    }
}

/// Returns the catalogue, or what may be called on a device.
async fn tools(app: &App<'_>, device: Option<String>) -> Result<Vec<ToolView>, Failure> {
    let client = app.signed_in().await?;
    let request = v1::ListToolsRequest { device: device.unwrap_or_default() };
    let tools = client.ask(client.tools().list_tools(request)).await?.tools;
    Ok(tools.into_iter().map(ToolView::from).collect())
}

fn no_such_tool(name: &str) -> Failure {
    let nearest = orion_catalog::nearest(name);
    Failure::NotFound(format!("there is no tool {name}")).hint(if nearest.is_empty() {
        Hint::run("list the tools", "orion tools list")
    } else {
        Hint::did_you_mean(nearest)
    })
}
