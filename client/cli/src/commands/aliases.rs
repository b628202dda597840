//! `orion aliases`: names of your own for a tool with some of its arguments.

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_wire::v1;
use serde_json::Value;

use super::call::schema;
use crate::app::App;
use crate::arguments;
use crate::complete;
use crate::failure::Failure;
use crate::output::GOOD;
use crate::show::{AliasView, aliases_table};
use crate::text;

/// Names of your own for a tool with some of its arguments.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion aliases set notes list_directory path=Documents/Notes recursive=true
  orion call laptop-123 notes pattern=*.md
  orion aliases list
  orion aliases remove notes

A call by an alias is one of its tool: it is allowed, asked about or denied like any other. Arguments of the
call win over those of the alias.")]
pub(crate) struct Aliases {
    #[command(subcommand)]
    what: AliasesCommand,
}

#[derive(Debug, Subcommand)]
enum AliasesCommand {
    /// List your aliases
    #[command(after_help = "Example:\n  orion aliases list")]
    List,
    /// Give a name to a tool with some of its arguments
    #[command(after_help = "\
Examples:
  orion aliases set notes list_directory path=Documents/Notes recursive=true
  orion aliases set build run_build --json '{\"target\":\"backend\"}'")]
    Set {
        /// Your name for it; lower-case letters, digits, `_` and `-`
        #[arg(value_name = "NAME")]
        name: String,
        /// The tool's name or alias
        #[arg(value_name = "TOOL", add = ArgValueCandidates::new(complete::tools))]
        tool: String,
        /// Arguments: name=text, name:=json, name=@file; a list by giving the name again
        #[arg(value_name = "NAME=VALUE", add = ArgValueCandidates::new(complete::arguments))]
        arguments: Vec<String>,
        /// Arguments as a JSON object, as @file, or - for standard input
        #[arg(long, value_name = "JSON")]
        json: Option<String>,
    },
    /// Remove an alias
    #[command(after_help = "Example:\n  orion aliases remove notes")]
    Remove {
        /// Its name
        #[arg(value_name = "NAME", add = ArgValueCandidates::new(complete::aliases))]
        name: String,
    },
}

impl Aliases {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, there is no such alias or tool, or the backend rejects the request.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        match self.what {
            AliasesCommand::List => {
                let request = v1::ListAliasesRequest {};
                let list = client.ask(client.tools().list_aliases(request)).await?;
                let aliases: Vec<_> = list.aliases.into_iter().map(AliasView::from).collect();
                if aliases.is_empty() {
                    app.out.next("you have no alias; `orion aliases set` makes one");
                }
                app.out.show(&aliases, || aliases_table(app.out, &aliases))?;
            }
            AliasesCommand::Set { name, tool, arguments: words, json } => {
                let base = json
                    .as_deref()
                    .map(|json| arguments::object("--json", json))
                    .transpose()?
                    .unwrap_or_default();
                let schema = schema(client, &tool, "").await?;
                let arguments = arguments::arguments(&words, base, schema.as_ref())?;
                let arguments = Value::Object(arguments).to_string().into_bytes().into();
                let request = v1::SetAliasRequest { name, tool, arguments };
                let answer = client.ask(client.tools().set_alias(request)).await?;
                let alias = AliasView::from(answer.alias.unwrap_or_default());
                app.out.note(&format!(
                    "{GOOD}✓{GOOD:#} {} is {} now",
                    text::one_line(&alias.name, 80),
                    text::one_line(&alias.tool, 80)
                ));
                app.out.show(&alias, String::new)?;
            }
            AliasesCommand::Remove { name } => {
                let request = v1::RemoveAliasRequest { name };
                let answer = client.ask(client.tools().remove_alias(request)).await?;
                let alias = AliasView::from(answer.alias.unwrap_or_default());
                let name = text::one_line(&alias.name, 80);
                app.out.note(&format!("{GOOD}✓{GOOD:#} {name} is removed"));
                app.out.show(&alias, String::new)?;
            }
        }
        Ok(0)
    }
}
