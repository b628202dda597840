//! `orion-server`: the backend's program. Each command calls one function of the library.

mod args;
mod output;
mod reset;
mod stop;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{CommandFactory as _, Parser as _};
use orion_allocator as _;
use orion_domain::FailureText;
use orion_server::config::Config;
use orion_server::data_folder::DATABASE;
use orion_server::downloads::command::run as releases;
use orion_server::notary::{held_to, reset_signing};
use orion_server::serve::{check_files, prepare};
use orion_server::store::{AuditVerdict, verify_file};
use orion_server::{backup, ca, log};
use orion_usage::GivenOptions;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use args::{AdminCommand, AuditCommand, Cli, Command, ConfigCommand};
use output::{contents, print, verdict};
use reset::reset;
use stop::{stop_on_signal, stop_with_stdin};

/// The next step after an error that names none.
const OTHERWISE: &str =
    "correct it and run the command again; `orion-server config print` shows every setting";

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return orion_usage::report(error, Cli::command()),
    };
    let filter = std::env::var("ORION_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    log::prepare();
    tracing_subscriber::registry()
        .with(filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO)))
        .with(tracing_subscriber::fmt::layer().with_ansi(colours).with_writer(log::on_stderr))
        .init();
    orion_mtls::install_crypto_provider();
    // `config` needs no data folder, and `backup` is named where the folder that is meant is another one.
    let options = GivenOptions::of("orion-server", &Cli::command())
        .except(&["config", "backup"])
        .value("--data-dir", cli.data_dir.as_ref());
    match run(cli, &options) {
        Ok(code) => code,
        Err(error) => {
            let causes = error.chain().map(ToString::to_string);
            let text = options.add_to(&FailureText::of(causes, OTHERWISE).to_string());
            // If standard error is closed, the message is dropped.
            drop(writeln!(std::io::stderr(), "{text}"));
            ExitCode::FAILURE
        }
    }
}

#[tokio::main]
async fn run(cli: Cli, options: &GivenOptions) -> anyhow::Result<ExitCode> {
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
            #[cfg(unix)]
            if rustix::process::geteuid().is_root() {
                tracing::warn!(
                    "the backend runs as root, which it never needs; run it under an account of its own"
                );
            }
            tracing::info!(people = %ready.people, devices = %ready.devices, "listening");
            if let Some(secret) = ready.backend.first_admin.waiting() {
                let ca = ready.people_ca.as_ref();
                let ca = ca.map_or_else(String::new, |path| format!(" --ca {}", path.display()));
                tracing::info!(
                    "there is no admin yet; make the first with: orion login --backend {}{ca} --secret @{}",
                    ready.people_url,
                    secret.display()
                );
            }
            ready.serve().await?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Config(ConfigCommand::Check) => {
            check_files(&config)?;
            print(&match &cli.config {
                Some(path) => format!("{} is valid\n", path.display()),
                None => {
                    "There is no file, and every setting has its default. Name one with --config.\n"
                        .to_owned()
                }
            });
            Ok(ExitCode::SUCCESS)
        }
        Command::Config(ConfigCommand::Print) => {
            print(&toml::to_string_pretty(&config)?);
            Ok(ExitCode::SUCCESS)
        }
        Command::Admin(AdminCommand::Reset { user }) => {
            reset(&user, &data_dir(cli.data_dir)?, cli.config.is_some().then_some(&config))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Ca(command) => {
            print(&options.add_to(&ca::run(command, &data_dir(cli.data_dir)?).await?));
            Ok(ExitCode::SUCCESS)
        }
        Command::Releases(command) => {
            let known = cli.config.is_some().then_some(&config);
            print(&options.add_to(&releases(command, known, &data_dir(cli.data_dir)?)?));
            Ok(ExitCode::SUCCESS)
        }
        Command::Backup { to } => {
            let manifest = backup::backup(&data_dir(cli.data_dir)?, &to).await?;
            print(&format!("Backup written to {}\n", contents(&to, &manifest)));
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { folder: None } => {
            print(&orion_usage::manual_page(Cli::command()));
            Ok(ExitCode::SUCCESS)
        }
        Command::Man { folder: Some(folder) } => {
            let written = orion_usage::write_manual_pages(&folder, Cli::command())
                .with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
            print(&format!("{written} pages in {}\n", folder.display()));
            Ok(ExitCode::SUCCESS)
        }
        Command::Restore { from } => {
            let data_dir = data_dir(cli.data_dir)?;
            let manifest = backup::restore(&from, &data_dir).await?;
            print(&format!("Backup restored to {}\n", contents(&data_dir, &manifest)));
            Ok(ExitCode::SUCCESS)
        }
        Command::Check => {
            let health = backup::check(&existing(cli.data_dir)?).await?;
            let mut found = health.damage.iter().chain(&health.dangling).peekable();
            if found.peek().is_none() {
                print("Database intact: the file can be read, and every reference has its row\n");
            }
            print(&found.map(|line| format!("damaged: {line}\n")).collect::<String>());
            print(&verdict(&health.audit));
            Ok(if health.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Command::Audit(AuditCommand::Key) => {
            let held = held_to(&existing(cli.data_dir)?)?;
            let held = held.context("there is no key yet; start the backend, which makes one")?;
            print(&format!("{}\n", held.key));
            Ok(ExitCode::SUCCESS)
        }
        Command::Audit(AuditCommand::ResetSigning { reason }) => {
            print(&options.add_to(&reset_signing(&data_dir(cli.data_dir)?, &reason).await?));
            Ok(ExitCode::SUCCESS)
        }
        Command::Audit(AuditCommand::Verify) => {
            let data_dir = existing(cli.data_dir)?;
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

/// Returns the data folder of a backend that has run.
fn existing(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let folder = data_dir(given)?;
    anyhow::ensure!(
        folder.join(DATABASE).exists(),
        "no backend keeps its data in {}; name the right folder with --data-dir",
        folder.display()
    );
    Ok(folder)
}

fn data_dir(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(path) => Ok(path),
        None => directories::ProjectDirs::from("", "", "orion")
            .map(|dirs| dirs.data_dir().join("server"))
            .context("there is no home folder to keep data in; say --data-dir"),
    }
}
