//! The program's commands and options.

mod allow;
mod audit;
mod ceiling;
mod consent;
mod enroll;
mod log;
mod pause;
mod places;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod service;
mod status;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
mod upgrade;
mod watch;

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{CommandFactory as _, Parser, Subcommand};
use orion_agent::clock::shown;
use orion_agent::config::{self, Config, Required};
use orion_agent::enroll::EnrollError;
use orion_agent::run::NotEnrolled;
use orion_usage::GivenOptions;
use orion_wire::TokenError;
use tokio_util::sync::CancellationToken;

use places::Places;

/// The agent of one Orion device.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Examples:
  orion-agent enroll orion1.… --allow-path ~/files   enrol this device and allow ~/files
  orion-agent install                                run as a service of yours, from now on
  orion-agent run                                    connect and serve, here in the terminal
  orion-agent allow ~/Documents --read               let Documents be read here
  orion-agent status                                 who am I, am I connected?
  orion-agent pause --for 1h                         let nothing of the backend run here for an hour
  orion-agent ceiling show                           the most anyone can do here
  orion-agent ceiling check                          what is wrong with agent.toml
  orion-agent audit show                             what was done here, and refused

Exit codes: 0 done, 1 failed, 2 usage, 4 not enrolled or enrolment failed."
)]
pub(crate) struct Arguments {
    /// Where key, identity and journal are kept.
    #[arg(long, global = true, env = "ORION_AGENT_STATE", value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// The owner's file.
    #[arg(long, global = true, env = "ORION_AGENT_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Use the files of the system's service.
    #[cfg_attr(
        target_os = "linux",
        doc = "They are /etc/orion/agent.toml and /var/lib/orion-agent."
    )]
    #[cfg_attr(target_os = "macos", doc = "They are in /Library/Orion.")]
    #[cfg_attr(windows, doc = r"They are in C:\ProgramData\Orion.")]
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    #[arg(long, global = true)]
    system: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Become a device of a backend.
    Enroll(enroll::Enroll),
    /// Connect to the backend and serve until a signal.
    Run {
        /// Stop when standard input ends, for a parent that may die.
        #[arg(long)]
        exit_with_stdin: bool,
        /// Who started this, where that was no person.
        #[cfg(windows)]
        #[arg(long = "as", hide = true, value_enum)]
        run_as: Option<orion_agent::service::RunAs>,
    },
    /// Run as a service: of yours, or with --system of the system.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    #[command(after_help = "\
Examples:
  orion-agent install                      a service of yours, which sees your desktop
  orion-agent install --system             as root or administrator: a service of the system, under an account of its own")]
    Install(service::Install),
    /// Stop the service and remove what `install` made.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    #[command(after_help = "\
Examples:
  orion-agent uninstall                    the service and its program; asks about the rest
  orion-agent uninstall --purge            the identity and everything else as well")]
    Uninstall(service::Uninstall),
    /// Put a newer, signed version in the place of the service's program, and go back if it does not work.
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    #[command(after_help = "\
Examples:
  orion-agent upgrade                      the version that the backend serves
  orion-agent upgrade --check              only say which version that is

The section [upgrade] of agent.toml says by whose signature and from where.")]
    Upgrade(upgrade::Upgrade),
    /// Say who this device is and how it stands.
    Status,
    /// Stop all work of the backend on this device at once, until `resume`.
    #[command(after_help = "\
Examples:
  orion-agent pause                        running calls end, and every further one is refused
  orion-agent pause --for 1h               go on by itself after an hour
  orion-agent pause --let-finish           let running calls finish

With or without a running agent, and over restarts. No backend can end the pause.")]
    Pause(pause::PauseCommand),
    /// End the pause of this device.
    #[command(alias = "unpause")]
    Resume,
    /// Answer calls that wait for the person at this device.
    #[command(subcommand)]
    #[command(after_help = "\
Examples:
  orion-agent consent list                 the calls that wait, each as a whole
  orion-agent consent allow 1f2e3d4c       let this one run, once
  orion-agent consent deny 1f2e3d4c

The section [consent] of agent.toml says before which calls you are asked.")]
    Consent(consent::Consent),
    /// Show what happens on this device as it happens, and ask about calls that wait for you.
    Watch(watch::Watch),
    /// Show what ran on this device with effects, and what it refused, newest first.
    #[command(after_help = "\
Examples:
  orion-agent log                          the newest 20
  orion-agent log --limit 100 -o json      one object a line, for programs
  orion-agent log --follow                 go on with what happens")]
    Log(log::Log),
    /// Let files in a folder be used here, as far as the backend grants it.
    #[command(after_help = "\
Examples:
  orion-agent allow ~/files                reading, writing and deleting
  orion-agent allow ~/Documents --read     only reading
  orion-agent allow . --write              the folder that you are in, without deleting")]
    Allow(allow::Allow),
    /// Let nothing be done in a folder here, whatever the backend grants.
    #[command(after_help = "\
Examples:
  orion-agent deny ~/files/private
  orion-agent deny ~/files/private --undo  deny it no more, and allow nothing by that")]
    Deny(allow::Deny),
    /// The ceiling: the most that anyone can ever do on this device.
    #[command(subcommand)]
    Ceiling(ceiling::Ceiling),
    /// The device's own audit: what it ran with effects, or refused.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Print the manual page, or write a page of each command into a folder.
    Man {
        /// The folder.
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
    },
}

/// An error and the program's exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: anyhow::Error,
    pub(crate) code: u8,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let enrolment =
            error.is::<NotEnrolled>() || error.is::<EnrollError>() || error.is::<TokenError>();
        Self { error, code: if enrolment { 4 } else { 1 } }
    }
}

impl Arguments {
    /// Returns whether the Service Control Manager has started this program.
    #[cfg(windows)]
    pub(crate) fn is_service(&self) -> bool {
        use orion_agent::service::RunAs;
        matches!(self.command, Command::Run { run_as: Some(RunAs::Service), .. })
    }

    /// Refuses variables that name the files of the system's service. Every program of a person can set them for that
    /// person's terminals, also for one of an administrator.
    #[cfg(windows)]
    fn refuse_variables(&self) -> anyhow::Result<()> {
        let names = ["ORION_AGENT_CONFIG", "ORION_AGENT_STATE"];
        let given = names.into_iter().find(|name| std::env::var_os(name).is_some());
        match given.filter(|_| self.system && !self.is_service()) {
            None => Ok(()),
            Some(name) => Err(anyhow!(
                "{name} is set, and does not count with --system; unset it, or name the file with its option"
            )),
        }
    }

    /// Returns the options of every command as they were given, without the places that are used anyway: a service
    /// is started with these.
    pub(crate) fn options(&self) -> GivenOptions {
        let none = GivenOptions::of("orion-agent", &Self::command());
        let (state_dir, config) = (self.state_dir.as_ref(), self.config.as_ref());
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        let (system, usual) = {
            let of_system = orion_agent::service::system_locations();
            let is_of_system = of_system.as_ref().is_some_and(|(usual, state)| {
                state_dir == Some(state) && config.is_none_or(|config| config == usual)
            });
            let system = self.system || is_of_system;
            (system, if system { of_system } else { config::default_locations() })
        };
        #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
        let (system, usual) = (false, config::default_locations());
        let (usual_config, usual_state) = usual.unzip();
        none.value("--state-dir", state_dir.filter(|given| Some(*given) != usual_state.as_ref()))
            .value("--config", config.filter(|given| Some(*given) != usual_config.as_ref()))
            .flag("--system", system)
    }
}

/// Runs the command. `shutdown` ends `run`.
pub(crate) async fn run(arguments: Arguments, shutdown: CancellationToken) -> Result<(), Failure> {
    let options = arguments.options();
    #[cfg(windows)]
    arguments.refuse_variables()?;
    let Arguments {
        state_dir,
        config,
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        system,
        command,
    } = arguments;
    let defaults = config::default_locations();
    #[cfg(any(target_os = "linux", target_os = "macos", windows))]
    let (owner, defaults) = if system {
        (orion_agent::service::Owner::System, orion_agent::service::system_locations())
    } else {
        (orion_agent::service::Owner::Person, defaults)
    };
    let required = if config.is_some() { Required::Yes } else { Required::No };
    let place = |given: Option<PathBuf>, default: Option<PathBuf>, flag| {
        given.or(default).ok_or_else(|| anyhow!("no home folder is known; say where with {flag}"))
    };
    let (default_config, default_state) = defaults.unzip();
    let places = Places {
        state_dir: place(state_dir, default_state, "--state-dir")?,
        config: place(config, default_config, "--config")?,
        required,
        options,
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        owner,
    };
    match command {
        Command::Enroll(arguments) => enroll::run(&places, arguments).await?,
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        Command::Install(arguments) => service::install(&places, arguments).await?,
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        Command::Uninstall(arguments) => service::uninstall(&places, arguments).await?,
        #[cfg(any(target_os = "linux", target_os = "macos", windows))]
        Command::Upgrade(arguments) => upgrade::run(&places, arguments).await?,
        #[cfg(windows)]
        Command::Run { run_as: Some(orion_agent::service::RunAs::Launcher), .. } => {
            orion_agent::service::launch(&places.options.as_arguments())
                .map_err(anyhow::Error::from)?;
        }
        Command::Run {
            exit_with_stdin,
            #[cfg(windows)]
            run_as,
        } => {
            let settings = places.settings()?;
            if settings.ceiling.paths.is_empty() {
                tracing::warn!("{}", places.no_folder(&places.options));
            }
            #[cfg(unix)]
            if rustix::process::geteuid().is_root() {
                tracing::warn!("{AS_ROOT}");
            }
            let _guard = shutdown.clone().drop_guard();
            #[cfg(windows)]
            if run_as == Some(orion_agent::service::RunAs::Background) {
                let (state_dir, shutdown) = (places.state_dir.clone(), shutdown.clone());
                tokio::spawn(async move {
                    orion_agent::service::stop_asked(&state_dir).await;
                    shutdown.cancel();
                });
            }
            let config = Config {
                options: places.options,
                state_dir: places.state_dir,
                settings,
                #[cfg(target_os = "linux")]
                program: orion_agent::process::WorkerProgram::of_this_agent(),
            };
            tokio::spawn(signalled(shutdown.clone()));
            if exit_with_stdin {
                stop_with_stdin(shutdown.clone());
            }
            orion_agent::run(config, shutdown).await?;
        }
        Command::Pause(arguments) => pause::pause(&places, &arguments)?,
        Command::Resume => pause::resume(&places)?,
        Command::Consent(command) => consent::run(&places, command)?,
        Command::Watch(arguments) => watch::run(&places.state_dir, &arguments)?,
        Command::Log(arguments) => log::run(&places.state_dir, &arguments)?,
        Command::Allow(arguments) => allow::allow(&places, &arguments)?,
        Command::Deny(arguments) => allow::deny(&places, &arguments)?,
        Command::Status => status::run(&places)?,
        Command::Ceiling(command) => ceiling::run(&places, command)?,
        Command::Audit(command) => audit::run(&places.state_dir, command)?,
        Command::Man { folder } => man(folder.as_deref())?,
    }
    Ok(())
}

fn man(folder: Option<&Path>) -> anyhow::Result<()> {
    let Some(folder) = folder else {
        return print(&orion_usage::manual_page(Arguments::command()));
    };
    let written = orion_usage::write_manual_pages(folder, Arguments::command())
        .with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
    print(&format!("{written} pages in {}", folder.display()))
}

/// Waits for a signal to stop, and cancels `shutdown`.
async fn signalled(shutdown: CancellationToken) {
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated => {}
    }
    tracing::info!("stopping");
    shutdown.cancel();
}

/// Prints to standard error. If that is closed, the text is dropped.
fn say(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// Said where the agent has every right on the device.
#[cfg(unix)]
const AS_ROOT: &str = "the agent runs as root, so that its calls can change the whole device; run it under an account of its own";

fn print(text: &str) -> anyhow::Result<()> {
    match writeln!(io::stdout(), "{text}") {
        // Who reads it has enough, as `head` has.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context("standard output"),
    }
}

/// Cancels `shutdown` when standard input ends. The thread that reads it ends with the process.
fn stop_with_stdin(shutdown: CancellationToken) {
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while matches!(std::io::stdin().read(&mut buffer), Ok(read) if read > 0) {}
        shutdown.cancel();
    });
}
