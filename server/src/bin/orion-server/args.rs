//! The command line of the backend's program, as `--help` shows it.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use orion_domain::UserName;
use orion_server::ca::CaCommand;

/// The backend of Orion: evaluates tool calls, requests approval where needed, routes them to devices and
/// keeps the audit log.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  orion-server run --data-dir ./data\n  orion-server config check --config orion-server.toml\n  orion-server audit verify --data-dir ./data\n  orion-server backup --data-dir ./data ./backup-of-today\n  orion-server restore --data-dir ./data-new ./backup-of-today\n  orion-server check --data-dir ./data\n  orion-server admin reset --data-dir ./data"
)]
pub(super) struct Cli {
    /// The folder with the database and the keys.
    #[arg(long, global = true, env = "ORION_DATA_DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// The configuration; defaults for everything where there is none.
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
    /// Checks and prints the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Verifies the audit log on disk, whether the backend runs or not.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Copies the database and the keys into a new folder, whether the backend runs or not.
    Backup {
        /// The new folder for the backup; it must not exist.
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Restores a backup as the data folder, which must be empty or not exist.
    Restore {
        /// The backup.
        #[arg(value_name = "FOLDER")]
        from: PathBuf,
    },
    /// Checks the whole database on disk: the file, its references and the audit log.
    Check,
    /// Manages admins, on the backend's own machine.
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Looks at the certificate authorities that vouch for devices, and replaces them, whether the
    /// backend runs or not.
    #[command(subcommand)]
    Ca(CaCommand),
}

#[derive(Subcommand)]
pub(super) enum AdminCommand {
    /// Writes a one-time secret that lets an admin back in, whether the backend runs or not.
    ///
    /// It is good for an hour. `orion login --secret @FILE` takes it, makes the account an enabled
    /// admin, and sets a new password if one is given.
    Reset {
        /// The account; it is made where there is none.
        #[arg(long, value_name = "NAME", default_value = "admin")]
        user: UserName,
    },
}

#[derive(Subcommand)]
pub(super) enum ConfigCommand {
    /// Says whether the file can be used.
    Check,
    /// Prints every setting in effect, defaults included.
    Print,
}

#[derive(Subcommand)]
pub(super) enum AuditCommand {
    /// Follows the whole chain and names the row where it breaks.
    Verify,
    /// Prints the key that verifies what this backend signs.
    Key,
    /// Starts signing the audit log again where it is not the log that was signed last, as after another
    /// database was put in its place, or where the signing key is lost. An audit entry records the reset with
    /// the last checkpoint before it.
    ///
    /// The backend must be stopped. Where possible, restore the right database or the key instead.
    ResetSigning {
        /// The reason, which is recorded in the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}
