//! `orion tools pending`, `approve` and `reject`: decides about the tools that devices define.

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_domain::Hint;
use orion_wire::v1;

use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{CustomToolView, custom_tool_page, custom_tools_table};
use crate::terminal;
use crate::text;

/// The fewest characters of the digest of a definition.
const MIN_DIGEST: usize = 12;

/// Which custom tools are listed.
#[derive(Debug, Args)]
pub(super) struct Pending {
    /// Only those of this device
    #[arg(long, value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: Option<String>,
    /// Decided ones too
    #[arg(long)]
    all: bool,
}

/// One custom tool, and the definition that the admin means.
#[derive(Debug, Args)]
pub(super) struct Named {
    /// The device's name or id
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    device: String,
    /// The tool's name
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Only if the definition has this SHA-256, or one that begins so
    #[arg(long, value_name = "HASH")]
    definition: Option<String>,
}

/// What a custom tool counts as.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum RiskName {
    Low,
    Medium,
    High,
    Critical,
}

impl RiskName {
    const fn wire(self) -> v1::Risk {
        match self {
            Self::Low => v1::Risk::Low,
            Self::Medium => v1::Risk::Medium,
            Self::High => v1::Risk::High,
            Self::Critical => v1::Risk::Critical,
        }
    }
}

impl Pending {
    /// Lists the custom tools.
    pub(super) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let device = self.device.unwrap_or_default();
        let tools = list(client, device, !self.all).await?;
        if tools.is_empty() {
            app.out.note("no custom tool waits for a decision");
        }
        app.out.show(&tools, || custom_tools_table(app.out, &tools))?;
        Ok(0)
    }
}

impl Named {
    /// Shows the tool, and stores the decision about the definition that was shown.
    pub(super) async fn decide(
        self,
        app: &App<'_>,
        approve: bool,
        risk: Option<RiskName>,
    ) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let Self { device, tool: name, definition } = self;
        let tools = list(client, device.clone(), false).await?;
        let Some(tool) = tools.into_iter().find(|tool| tool.name == name && tool.is_announced)
        else {
            let message = format!("{device} has no custom tool {name}");
            return Err(Failure::NotFound(message)
                .hint(Hint::run("list them", "orion tools pending --all")));
        };
        if let Some(meant) = &definition {
            is_meant(&tool, meant)?;
        }
        app.out.error_line(&custom_tool_page(&tool));
        let is_sure = app.yes || definition.is_some();
        if !is_sure && !terminal::is_interactive() {
            let failure = "without a terminal, name the definition that you read".to_owned();
            let hint = format!("add --definition {}, once you have read it", tool.digest);
            return Err(Failure::Usage(failure).hint(hint));
        }
        let question = if approve { "Approve this definition?" } else { "Reject this definition?" };
        if !is_sure && !terminal::confirm(question).await? {
            app.out.note("nothing was decided");
            return Ok(0);
        }
        let request = v1::DecideCustomToolRequest {
            device,
            name,
            digest: tool.digest,
            approve,
            risk: risk.map_or(v1::Risk::Unspecified, RiskName::wire).into(),
        };
        let answer = client.ask(client.tools().decide_custom_tool(request)).await?;
        let tool = CustomToolView::from(answer.tool.unwrap_or_default());
        let risk = tool.risk.map(|risk| format!(", as one of {risk} risk")).unwrap_or_default();
        app.out.note(&format!(
            "{GOOD}✓{GOOD:#} {}: {} on {}{risk}",
            tool.state,
            text::one_line(&tool.name, 80),
            text::one_line(&tool.device, 80)
        ));
        app.out.show(&tool, String::new)?;
        Ok(0)
    }
}

/// Checks that a tool has the definition that the admin names.
fn is_meant(tool: &CustomToolView, meant: &str) -> Result<(), Failure> {
    if meant.len() < MIN_DIGEST {
        let message = format!("--definition takes at least {MIN_DIGEST} characters");
        return Err(Failure::Usage(message));
    }
    if tool.digest.starts_with(&meant.to_ascii_lowercase()) {
        return Ok(());
    }
    let message = format!("the definition of {} is {} by now", tool.name, tool.digest);
    Err(Failure::Failed(message).hint(Hint::run("read it", "orion tools pending")))
}

async fn list(
    client: &Client,
    device: String,
    pending: bool,
) -> Result<Vec<CustomToolView>, Failure> {
    let request = v1::ListCustomToolsRequest { device, pending };
    let answer = client.ask(client.tools().list_custom_tools(request)).await?;
    Ok(answer.tools.into_iter().map(CustomToolView::from).collect())
}
