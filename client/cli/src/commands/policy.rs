//! `orion policy`: the policy of all devices, as one file with versions.

mod put;
mod test;
mod versions;

use clap::{Args, Subcommand, ValueHint};
use clap_complete::ArgValueCandidates;

use crate::app::App;
use crate::complete;
use crate::failure::Failure;

/// What may happen on each device, as one file with versions.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion policy check policy.yaml
  orion policy apply policy.yaml --note \"Laptops may open code\"
  orion policy test policy.yaml --since 30d
  orion policy show > policy.yaml
  orion policy history
  orion policy rollback 3")]
pub(crate) struct Policy {
    #[command(subcommand)]
    what: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Print the file, and which devices hold it
    #[command(after_help = "\
Examples:
  orion policy show                                     the one that holds
  orion policy show 3                                   an older one")]
    Show {
        /// The version; the one that holds when nothing is said
        #[arg(value_name = "VERSION", value_parser = clap::value_parser!(i64).range(1..), add = ArgValueCandidates::new(complete::policies))]
        version: Option<i64>,
    },
    /// Say what is wrong with a file, and what it would change on which device
    #[command(after_help = "\
Examples:
  orion policy check policy.yaml
  orion policy check policy.yaml --offline              without a backend

Ends with 0 for a file that would load, warnings or not, and with 1 for one that would not.")]
    Check {
        /// The file; - for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: String,
        /// Look at the file alone, without the backend's devices and without signing in
        #[arg(long)]
        offline: bool,
    },
    /// Apply a file on every device
    #[command(after_help = "\
Examples:
  orion policy apply policy.yaml --note \"Laptops may open code\"
  orion policy apply policy.yaml --yes                  without asking

At a terminal the changes are shown first, and nothing is applied without a yes; in a script the file is
applied at once. A file with errors changes nothing.")]
    Apply {
        /// The file; - for standard input
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: String,
        /// Why; it is kept with the version
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
    },
    /// List the versions
    #[command(after_help = "Example:\n  orion policy history -o wide")]
    History,
    /// Apply an older version again, as a new version
    #[command(after_help = "\
Example:
  orion policy rollback 3 --note \"Too narrow\"

At a terminal the changes are shown first, and nothing is applied without a yes.")]
    Rollback {
        /// The version
        #[arg(value_name = "VERSION", value_parser = clap::value_parser!(i64).range(1..), add = ArgValueCandidates::new(complete::policies))]
        version: i64,
        /// Why; it is kept with the version
        #[arg(long, value_name = "TEXT", default_value = "")]
        note: String,
    },
    /// Show what differs between two versions
    #[command(after_help = "\
Examples:
  orion policy diff                                     the last two
  orion policy diff 3                                   from 3 to the one that holds
  orion policy diff 3 5")]
    Diff {
        /// From this version
        #[arg(value_name = "A", value_parser = clap::value_parser!(i64).range(1..), add = ArgValueCandidates::new(complete::policies))]
        from: Option<i64>,
        /// To this version
        #[arg(value_name = "B", value_parser = clap::value_parser!(i64).range(1..), add = ArgValueCandidates::new(complete::policies))]
        to: Option<i64>,
    },
    /// Evaluate recorded calls by a file, and show what would differ
    Test(test::Test),
}

impl Policy {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the file cannot be read, or the backend rejects it.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        match self.what {
            PolicyCommand::Check { file, offline: true } => put::check_offline(app, &file),
            PolicyCommand::Check { file, offline: false } => {
                put::check(app, app.signed_in().await?, &file).await
            }
            PolicyCommand::Apply { file, note } => {
                put::apply(app, app.signed_in().await?, &file, note).await
            }
            PolicyCommand::Rollback { version, note } => {
                put::roll_back(app, app.signed_in().await?, version, note).await
            }
            PolicyCommand::Show { version } => {
                versions::show(app, app.signed_in().await?, version).await
            }
            PolicyCommand::History => versions::history(app, app.signed_in().await?).await,
            PolicyCommand::Diff { from, to } => {
                versions::diff(app, app.signed_in().await?, from, to).await
            }
            PolicyCommand::Test(command) => command.run(app, app.signed_in().await?).await,
        }
    }
}

/// Returns the name of a file for its findings.
fn shown(file: &str) -> &str {
    match file.strip_prefix('@').unwrap_or(file) {
        "-" => "standard input",
        file => file,
    }
}
