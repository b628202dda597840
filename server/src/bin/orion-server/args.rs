//! The command line of the backend's program, as `--help` shows it.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use orion_domain::UserName;
use orion_server::ca::CaCommand;
use orion_server::downloads::command::ReleasesCommand;

/// The backend of Orion: evaluates tool calls, requests approval where needed, routes them to
/// devices, and records everything.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  orion-server run --data-dir ./data\n  orion-server config check --config orion-server.toml\n  orion-server audit verify --data-dir ./data\n  orion-server backup --data-dir ./data ./backup-of-today\n  orion-server restore --data-dir ./data-new ./backup-of-today\n  orion-server check --data-dir ./data\n  orion-server admin reset --data-dir ./data\n  orion-server releases add target/dist/orion-agent --data-dir ./data"
)]
pub(super) struct Cli {
    /// The data folder, with the database and the keys.
    #[arg(long, global = true, env = "ORION_DATA_DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// The configuration file. Without one, every setting has its default.
    #[arg(long, global = true, env = "ORION_SERVER_CONFIG")]
    pub(super) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Runs the backend.
    Run {
        /// Stop when standard input ends, for a parent that may die.
        #[arg(long)]
        exit_with_stdin: bool,
    },
    /// Checks or prints the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Verifies the audit log on disk, prints its key, or resets its signing.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Copies the database and the keys into a new folder, whether the backend runs or not.
    Backup {
        /// The folder to create for the backup. It must not exist.
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Restores a backup as the data folder, which must be empty or must not exist.
    Restore {
        /// The backup.
        #[arg(value_name = "FOLDER")]
        from: PathBuf,
    },
    /// Checks the whole database on disk: the file, its references and the audit log.
    Check,
    /// Lets an admin back in, on the backend's own machine.
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Shows and replaces the certificate authorities that sign the certificates of devices,
    /// whether the backend runs or not.
    #[command(subcommand)]
    Ca(CaCommand),
    /// Adds, lists and removes the agents that devices download from this backend.
    #[command(subcommand)]
    Releases(ReleasesCommand),
    /// Prints the manual page, or writes a page of each command into a folder.
    Man {
        /// The folder.
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

#[derive(Subcommand)]
pub(super) enum AdminCommand {
    /// Writes a one-time secret that lets an admin back in, whether the backend runs or not.
    ///
    /// It is valid for an hour. `orion login --secret @FILE` takes it, makes the account an enabled
    /// admin, and sets a new password if one is given.
    Reset {
        /// The account. It is created if it does not exist.
        #[arg(long, value_name = "NAME", default_value = "admin")]
        user: UserName,
    },
}

#[derive(Subcommand)]
pub(super) enum ConfigCommand {
    /// Checks the file, and reports what is wrong with it.
    Check,
    /// Prints every active setting, defaults included.
    Print,
}

#[derive(Subcommand)]
pub(super) enum AuditCommand {
    /// Verifies the whole chain, and names the row where it breaks.
    Verify,
    /// Prints the key that verifies what this backend signs.
    Key,
    /// Signs a database that does not continue the one that was signed last, or whose key is lost for good. The
    /// audit log records that, with the last checkpoint before.
    ///
    /// The backend must be stopped. Restore the right database or the key instead, wherever possible.
    ResetSigning {
        /// Why. The audit log records it.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}
