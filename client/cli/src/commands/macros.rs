//! `orion macros`: several calls by one name.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_catalog::Tool as _;
use orion_catalog::tools::run_macro::RunMacro;
use orion_domain::Hint;
use orion_wire::v1;
use serde_json::{Value, json};

use super::call::{perform, print};
use crate::app::App;
use crate::arguments;
use crate::call_result::CallResult;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{MacroView, macro_page, macros_table};
use crate::text;

/// Several calls by one name.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion macros save new-project @new-project.json
  orion macros run new-project folder=Projects/garden
  orion macros list
  orion macros show new-project
  orion macros remove new-project

A macro grants nothing: each of its calls is decided by itself whenever it runs.")]
pub(crate) struct Macros {
    #[command(subcommand)]
    what: MacrosCommand,
}

#[derive(Debug, Subcommand)]
enum MacrosCommand {
    /// List your macros
    #[command(after_help = "Example:\n  orion macros list")]
    List,
    /// Show the calls of a macro
    #[command(after_help = "Example:\n  orion macros show new-project")]
    Show {
        /// Its name
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::macros))]
        name: String,
    },
    /// Keep calls under a name
    #[command(after_help = "\
Example:
  orion macros save new-project @new-project.json

The file is a JSON object:
  {\"calls\": [{\"tool\": \"create_directory\", \"device\": \"laptop-123\",
              \"arguments\": {\"path\": \"{{folder}}\"}}],
   \"parameters\": [\"folder\"]}")]
    Save {
        /// Its name; a macro of that name is replaced
        #[arg(value_name = "NAME")]
        name: String,
        /// The calls and parameters as a JSON object, as @file, or - for standard input
        #[arg(value_name = "JSON")]
        calls: String,
    },
    /// Make the calls of a macro in order
    #[command(after_help = "\
Examples:
  orion macros run new-project folder=Projects/garden
  orion macros run new-project folder=Projects/garden --dry-run

Ends with 1 where the macro stopped at a call that did not succeed.")]
    Run {
        /// Its name
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::macros))]
        name: String,
        /// Parameters: name=text, name:=json, name=@file
        #[arg(value_name = "PARAMETER=VALUE")]
        parameters: Vec<String>,
        /// Only show the calls
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a macro
    #[command(after_help = "Example:\n  orion macros remove new-project")]
    Remove {
        /// Its name
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::macros))]
        name: String,
    },
}

/// The smallest macro.
const EXAMPLE: &str =
    r#"{"calls":[{"tool":"create_directory","device":"laptop-123","arguments":{"path":"Test"}}]}"#;

impl Macros {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such macro, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            MacrosCommand::List => {
                let list = listed(client).await?;
                if list.is_empty() {
                    app.out.next("you have no macro; `orion macros save` makes one");
                }
                app.out.show(&list, || macros_table(app.out, &list))?;
                Ok(0)
            }
            MacrosCommand::Show { name } => {
                let found = listed(client).await?.into_iter().find(|it| it.name == name);
                let view = found.ok_or_else(|| {
                    Failure::NotFound(format!("you have no macro {name}"))
                        .hint(Hint::run("list your macros", "orion macros list"))
                })?;
                app.out.show(&view, || macro_page(app.out, &view))?;
                Ok(0)
            }
            MacrosCommand::Save { name, calls } => {
                let mut all = arguments::object_like("the macro", &calls, EXAMPLE)?;
                all.insert("name".to_owned(), name.into());
                let saved = call(app, client, "save_macro", &Value::Object(all), false).await?;
                Ok(saved.exit_code())
            }
            MacrosCommand::Run { name, parameters, dry_run } => {
                let parameters = arguments::arguments(&parameters, Default::default(), None)?;
                let all = json!({"name": name, "parameters": parameters});
                let ran = call(app, client, RunMacro::NAME, &all, dry_run).await?;
                Ok(if ran.has_stopped() { 1 } else { ran.exit_code() })
            }
            MacrosCommand::Remove { name } => {
                let request = v1::RemoveMacroRequest { name };
                let answer = client.ask(client.macros().remove_macro(request)).await?;
                let view = MacroView::from(answer.removed.unwrap_or_default());
                let name = text::one_line(&view.name, 80);
                app.out.note(&format!("{GOOD}✓{GOOD:#} {name} is removed"));
                app.out.show(&view, String::new)?;
                Ok(0)
            }
        }
    }
}

async fn listed(client: &Client) -> Result<Vec<MacroView>, Failure> {
    let list = client.ask(client.macros().list_macros(v1::ListMacrosRequest {})).await?;
    Ok(list.macros.into_iter().map(MacroView::from).collect())
}

async fn call(
    app: &App<'_>,
    client: &Client,
    tool: &str,
    arguments: &Value,
    dry_run: bool,
) -> Result<CallResult, Failure> {
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        dry_run,
        ..v1::CallToolRequest::default()
    };
    let result = perform(app, client, request, false).await?;
    print(app, client, &result).await?;
    Ok(result)
}
