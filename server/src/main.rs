//! `orion-server`: the backend's program.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use orion_allocator as _;
use orion_domain::UserName;
use orion_server::backup::{self, Manifest};
use orion_server::ca::{self, CaCommand};
use orion_server::config::Config;
use orion_server::data_folder::{ADDRESSES, DATABASE};
use orion_server::notary::{held_to, reset_signing};
use orion_server::people::write_reset;
use orion_server::serve::prepare;
use orion_server::store::{AuditVerdict, verify_file};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// The backend of Orion: evaluates tool calls, requests approval where needed, routes them to devices and
/// keeps the audit log.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  orion-server run --data-dir ./data\n  orion-server config check --config orion-server.toml\n  orion-server audit verify --data-dir ./data\n  orion-server backup --data-dir ./data ./backup-of-today\n  orion-server restore --data-dir ./data-new ./backup-of-today\n  orion-server check --data-dir ./data\n  orion-server admin reset --data-dir ./data"
)]
struct Cli {
    /// The folder with the database and the keys.
    #[arg(long, global = true, env = "ORION_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// The configuration; defaults for everything where there is none.
    #[arg(long, global = true, env = "ORION_SERVER_CONFIG")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
enum AdminCommand {
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
enum ConfigCommand {
    /// Says whether the file can be used.
    Check,
    /// Prints every setting in effect, defaults included.
    Print,
}

#[derive(Subcommand)]
enum AuditCommand {
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

fn main() -> ExitCode {
    let cli = Cli::parse();
    let filter = std::env::var("ORION_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO)))
        .with(tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(std::io::stderr))
        .init();
    orion_mtls::install_crypto_provider();
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let config = match &cli.config {
        Some(path) => Config::load(path)?,
        None => Config::default(),
    };
    match cli.command {
        Command::Run { exit_with_stdin } => {
            let shutdown = CancellationToken::new();
            stop_on_signal(shutdown.clone())?;
            if exit_with_stdin {
                stop_with_stdin(shutdown.clone());
            }
            let ready = prepare(config, &data_dir(cli.data_dir)?, shutdown).await?;
            tracing::info!(people = %ready.people, devices = %ready.devices, "listening");
            if let Some(secret) = ready.backend.first_admin.waiting() {
                tracing::info!(
                    "there is no admin yet; make the first with: orion login --backend http://{} --secret @{}",
                    ready.people,
                    secret.display()
                );
            }
            ready.serve().await?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Config(ConfigCommand::Check) => Ok(ExitCode::SUCCESS),
        Command::Config(ConfigCommand::Print) => {
            print(&toml::to_string_pretty(&config)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Admin(AdminCommand::Reset { user }) => {
            reset(&user, &data_dir(cli.data_dir)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Ca(command) => {
            print(&ca::run(command, &data_dir(cli.data_dir)?).await?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Backup { to } => {
            let manifest = backup::backup(&data_dir(cli.data_dir)?, &to).await?;
            print(&format!("Backup written to {}\n", contents(&to, &manifest)));
            Ok(ExitCode::SUCCESS)
        }
        Command::Restore { from } => {
            let data_dir = data_dir(cli.data_dir)?;
            let manifest = backup::restore(&from, &data_dir).await?;
            print(&format!("Backup restored to {}\n", contents(&data_dir, &manifest)));
            Ok(ExitCode::SUCCESS)
        }
        Command::Check => {
            let health = backup::check(&data_dir(cli.data_dir)?).await?;
            let found = health.damage.iter().chain(&health.dangling);
            print(&found.map(|line| format!("damaged: {line}\n")).collect::<String>());
            print(&verdict(&health.audit));
            Ok(if health.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Audit(AuditCommand::Key) => {
            let held = held_to(&data_dir(cli.data_dir)?)?;
            let held = held.context("there is no key yet; the backend makes one when it starts")?;
            print(&format!("{}\n", held.key));
            Ok(ExitCode::SUCCESS)
        }
        Command::Audit(AuditCommand::ResetSigning { reason }) => {
            print(&reset_signing(&data_dir(cli.data_dir)?, &reason).await?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Audit(AuditCommand::Verify) => {
            let data_dir = data_dir(cli.data_dir)?;
            let (path, held) = (data_dir.join(DATABASE), held_to(&data_dir)?);
            let found = verify_file(&path, held.as_ref()).await;
            let found = found.context("the database cannot be read")?;
            print(&verdict(&found));
            Ok(match found {
                AuditVerdict::Whole { .. } => ExitCode::SUCCESS,
                AuditVerdict::Broken { .. } => ExitCode::FAILURE,
            })
        }
    }
}

fn verdict(found: &AuditVerdict) -> String {
    match found {
        AuditVerdict::Whole { rows, head, checkpoints } => {
            let head = head.hash.to_string();
            let head = head.get(..12).unwrap_or(&head);
            let plural = |count: bool| if count { "" } else { "s" };
            format!(
                "Audit log intact: {rows} entr{}, {checkpoints} signed checkpoint{}, head {head}\n",
                if *rows == 1 { "y" } else { "ies" },
                plural(*checkpoints == 1)
            )
        }
        AuditVerdict::Broken { rows, broken } => {
            format!("Audit log broken: {broken} ({rows} entries before it are intact)\n")
        }
    }
}

fn contents(folder: &Path, Manifest { head, files, .. }: &Manifest) -> String {
    format!("{} ({} files, {} audit entries)", folder.display(), files.len(), head.seq)
}

fn reset(user: &UserName, data_dir: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        data_dir.join(DATABASE).exists(),
        "no backend keeps its data in {}; say which folder with --data-dir",
        data_dir.display()
    );
    let file = write_reset(data_dir, user).context("the secret cannot be written")?;
    let file = std::path::absolute(&file).unwrap_or(file);
    let people = std::fs::read_to_string(data_dir.join(ADDRESSES))
        .ok()
        .and_then(|text| text.parse::<toml::Table>().ok())
        .and_then(|table| Some(format!("--backend http://{} ", table.get("people")?.as_str()?)));
    match &people {
        Some(_) => tracing::info!("within an hour, let {user} back in with the command below"),
        None => tracing::info!(
            "start the backend, and within an hour let {user} back in with the command below"
        ),
    }
    print(&format!("orion login {}--secret @{}\n", people.unwrap_or_default(), file.display()));
    Ok(())
}

fn data_dir(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(path) => Ok(path),
        None => directories::ProjectDirs::from("", "", "orion")
            .map(|dirs| dirs.data_dir().join("server"))
            .context("there is no home folder to keep data in; say --data-dir"),
    }
}

#[expect(clippy::print_stdout, reason = "this is what the command was asked for")]
fn print(text: &str) {
    print!("{text}");
}

fn stop_on_signal(shutdown: CancellationToken) -> anyhow::Result<()> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        #[cfg(not(unix))]
        tokio::signal::ctrl_c().await.ok();
        shutdown.cancel();
    });
    Ok(())
}

/// Stops the backend when standard input ends. The thread that reads it ends with the process.
fn stop_with_stdin(shutdown: CancellationToken) {
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while matches!(std::io::stdin().read(&mut buffer), Ok(read) if read > 0) {}
        shutdown.cancel();
    });
}
