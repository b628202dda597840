//! `orion-agent ceiling`: shows the owner's ceiling, and checks the owner's file.

mod show;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Subcommand, ValueEnum};
use orion_agent::config::check::{Finding, Severity, check_file};
use serde_json::json;

use super::{Places, print};
use show::Shown;

#[derive(Debug, Subcommand)]
pub(super) enum Ceiling {
    /// Print the ceiling as it holds: what each entry really is, and what the backend leaves of it.
    #[command(after_help = "\
Examples:
  orion-agent ceiling show                 for people
  orion-agent ceiling show -o json         for programs")]
    Show {
        /// How.
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
    /// Say everything that is wrong with the file, each with its line.
    #[command(after_help = "\
Examples:
  orion-agent ceiling check                the file that the agent reads
  orion-agent ceiling check new.toml       another one, before it takes its place

Exit codes: 0 nothing is wrong (there may be warnings), 1 something is.")]
    Check {
        /// Another file than the agent's own.
        file: Option<PathBuf>,
        /// How.
        #[arg(short, long, value_enum, default_value_t = Output::Text)]
        output: Output,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

pub(super) fn run(places: &Places, command: Ceiling) -> anyhow::Result<()> {
    match command {
        Ceiling::Show { output } => {
            let settings = places.settings()?;
            let shown = Shown::new(&settings, &places.config, &places.state_dir);
            print(&match output {
                Output::Json => serde_json::to_string_pretty(&shown)?,
                Output::Text => shown.to_string(),
            })
        }
        Ceiling::Check { file, output } => check(places, file.as_deref(), output),
    }
}

fn check(places: &Places, other: Option<&Path>, output: Output) -> anyhow::Result<()> {
    let file = other.unwrap_or(&places.config);
    let findings = check_file(file, &places.state_dir).with_context(|| {
        let name = if other.is_some() { "its name" } else { "the name after --config" };
        format!("{} cannot be read; check {name}", file.display())
    })?;
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    match output {
        Output::Json => {
            print(&serde_json::to_string_pretty(&json!({
                "file": file, "errors": errors, "warnings": warnings, "findings": findings,
            }))?)?;
        }
        Output::Text => {
            for finding in &findings {
                print(&places.options.add_to(&line(file, finding)))?;
            }
            if errors == 0 {
                let plural = if warnings == 1 { "warning" } else { "warnings" };
                print(&format!("{} is well, with {warnings} {plural}", file.display()))?;
            }
        }
    }
    if errors == 0 { Ok(()) } else { Err(faulty(errors, file)) }
}

fn line(file: &Path, finding: &Finding) -> String {
    format!("{}:{finding}", file.display())
}

/// Returns the error for a file with this many errors.
fn faulty(errors: usize, file: &Path) -> anyhow::Error {
    let plural = if errors == 1 { "error" } else { "errors" };
    anyhow!(
        "{errors} {plural} in {file}; correct what is named above, and run `orion-agent --config {file} ceiling check` again",
        file = file.display()
    )
}
