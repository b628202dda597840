//! The command line of the backend's program, as `--help` shows it.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use orion_domain::UserName;
use orion_server::ca::CaCommand;

/// The backend of Orion: judges tool calls, asks people where it must, routes them to devices,
/// records everything.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  orion-server run --data-dir ./data\n  orion-server config check --config orion-server.toml\n  orion-server audit verify --data-dir ./data\n  orion-server backup --data-dir ./data ./backup-of-today\n  orion-server restore --data-dir ./data-new ./backup-of-today\n  orion-server check --data-dir ./data\n  orion-server admin reset --data-dir ./data"
)]
pub(super) struct Cli {
    /// Where the record and the keys are kept.
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
    /// Looks at the configuration.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Looks at the audit on disk, whether the backend runs or not.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Copies the record and the keys into a new folder, whether the backend runs or not.
    Backup {
        /// The folder that the backup is to be; it must not be there yet.
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Puts a backup in place as the data folder, which must be empty or not there.
    Restore {
        /// The backup.
        #[arg(value_name = "FOLDER")]
        from: PathBuf,
    },
    /// Looks at the record on disk whole: the file, what points where, and the audit.
    Check,
    /// Looks after admins, on the backend's own machine.
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
    /// Lets a record be signed as it is that is not the one that was signed last, as after another was put in
    /// its place, or whose key is lost for good. The audit says so, with the last checkpoint of before.
    ///
    /// The backend must be stopped. Put back the right record, or the key, wherever that can be.
    ResetSigning {
        /// Why; it stands in the audit.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
}
