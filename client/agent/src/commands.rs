//! The program's commands and options.

mod allow;
mod audit;
mod ceiling;

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use orion_agent::config::{self, Config, Required, Settings};
use orion_agent::enroll::{EnrollError, Enrollment, Notice, Replace, enroll};
use orion_agent::run::NotEnrolled;
use orion_agent::sandbox::Sandbox;
use orion_agent::state::{EnrollmentStage, Identity, Pending, State, StateError, Status};
use orion_domain::{DeviceName, Profile};
use orion_wire::{EnrollmentToken, TokenError};
use tokio_util::sync::CancellationToken;

/// The agent of one Orion device.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Examples:
  orion-agent enroll orion1.… --allow-path ~/files   enrol this device and allow ~/files
  orion-agent run                                    connect and serve
  orion-agent allow ~/Documents --read               let Documents be read here
  orion-agent status                                 who am I, am I connected?
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
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Become a device of a backend.
    Enroll(EnrollArguments),
    /// Connect to the backend and serve until a signal.
    Run {
        /// Stop when standard input ends, for a parent that may die.
        #[arg(long)]
        exit_with_stdin: bool,
    },
    /// Say who this device is and how it stands.
    Status,
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
  orion-agent deny ~/files/private")]
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

/// Parses the name of a profile.
fn profile(text: &str) -> Result<Profile, String> {
    let all =
        [Profile::Reader, Profile::Operator, Profile::Developer, Profile::Homelab, Profile::Strict];
    all.into_iter()
        .find(|it| it.to_string() == text)
        .ok_or_else(|| "write reader, operator, developer, homelab or strict".to_owned())
}

#[derive(Debug, Args)]
struct EnrollArguments {
    /// The token; `-` reads it from standard input, `@FILE` from a file. Left out, the wait for an
    /// earlier token's approval goes on.
    #[arg(env = "ORION_AGENT_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// What this device would like to be called; the backend decides.
    #[arg(long)]
    name: Option<DeviceName>,
    /// Writes a first agent.toml that allows this path; may be given more than once.
    #[arg(long, value_name = "PATH")]
    allow_path: Vec<String>,
    /// Writes a first agent.toml with this profile, the most that the backend may grant: reader, operator, developer,
    /// homelab or strict.
    #[arg(long, value_parser = profile)]
    profile: Option<Profile>,
    /// Become a new device where this is one already.
    #[arg(long)]
    force: bool,
    /// Wait for an admin's approval where one is needed; this is the default.
    #[arg(long, conflicts_with = "no_wait")]
    wait: bool,
    /// Leave the device pending where an approval is needed.
    #[arg(long)]
    no_wait: bool,
    /// How long to wait for the approval, in seconds.
    #[arg(long, default_value_t = 900, value_parser = waiting_seconds)]
    timeout: u64,
}

/// Parses how long to wait, in seconds.
fn waiting_seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=604_800).contains(seconds));
    seconds.ok_or_else(|| "write a number of seconds from 1 to 604800, a week".to_owned())
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

/// The paths of state and configuration, from flags, environment or platform.
struct Places {
    state_dir: PathBuf,
    config: PathBuf,
    required: Required,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { state_dir, config, command } = arguments;
    let defaults = config::default_locations();
    let required = if config.is_some() { Required::Yes } else { Required::No };
    let place = |given: Option<PathBuf>, default: Option<PathBuf>, flag| {
        given.or(default).ok_or_else(|| anyhow!("no home folder is known; say where with {flag}"))
    };
    let (default_config, default_state) = defaults.unzip();
    let places = Places {
        state_dir: place(state_dir, default_state, "--state-dir")?,
        config: place(config, default_config, "--config")?,
        required,
    };
    match command {
        Command::Enroll(arguments) => enroll_device(&places, arguments).await?,
        Command::Run { exit_with_stdin } => {
            let settings = places.settings()?;
            if settings.ceiling.paths.is_empty() {
                tracing::warn!("{NO_FOLDER}");
            }
            #[cfg(unix)]
            if rustix::process::geteuid().is_root() {
                tracing::warn!("{AS_ROOT}");
            }
            let shutdown = CancellationToken::new();
            let _guard = shutdown.clone().drop_guard();
            let config = Config {
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
        Command::Allow(arguments) => allow::allow(&places, &arguments)?,
        Command::Deny(arguments) => allow::deny(&places, &arguments)?,
        Command::Status => status(&places)?,
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

impl Places {
    fn settings(&self) -> anyhow::Result<Settings> {
        Ok(Settings::load(&self.config, self.required, &self.state_dir)?)
    }
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

async fn enroll_device(places: &Places, arguments: EnrollArguments) -> anyhow::Result<()> {
    let EnrollArguments { token, name, allow_path, profile, force, wait: _, no_wait, timeout } =
        arguments;
    let token = token.map(|text| read_token(&text)).transpose()?;
    let first = (profile.is_some() || !allow_path.is_empty())
        .then(|| {
            let profile = profile.unwrap_or(Profile::Operator);
            config::first(&places.config, profile, &allow_path, &places.state_dir)
        })
        .transpose()?;
    // The owner's file is written when the backend knows this device: a try that failed leaves nothing.
    let write_first = || match &first {
        Some(text) => config::write_first(&places.config, text),
        None => Ok(()),
    };
    let mut written = Ok(());
    let state = State::open(&places.state_dir)?;
    let wanted = Enrollment {
        token,
        name,
        replace: if force { Replace::Force } else { Replace::Refuse },
        wait: (!no_wait).then_some(Duration::from_secs(timeout)),
    };
    let mut notice = |notice: Notice| {
        let text = match notice {
            Notice::Pending { name, words } => {
                written = write_first();
                format!(
                    "{name} waits for approval. Compare this fingerprint with the one the admin sees:\n\n    {words}\n\nAn admin approves it with: orion devices approve {name}"
                )
            }
            Notice::Unreachable { why } => format!("{why}; still trying"),
        };
        say(&text);
    };
    let enrolled = enroll(&state, wanted, &mut notice).await?;
    written?;
    write_first()?;
    if places.settings()?.ceiling.paths.is_empty() {
        say(NO_FOLDER);
    }
    let until = shown(enrolled.not_after);
    print(&format!(
        "enrolled as {} ({}), certificate until {until}\nstart the agent with: orion-agent run",
        enrolled.name, enrolled.device_id
    ))
}

/// Reads a token from the argument, from standard input (`-`) or from a file (`@FILE`). The latter two keep
/// it out of the list of processes.
fn read_token(text: &str) -> anyhow::Result<EnrollmentToken> {
    const MAX_BYTES: u64 = 16 * 1024;
    let mut read = String::new();
    let text = if text == "-" {
        io::stdin().take(MAX_BYTES).read_to_string(&mut read).context("standard input")?;
        &read
    } else if let Some(path) = text.strip_prefix('@') {
        let unreadable = || format!("{path} cannot be read; check the name of the file");
        let file = std::fs::File::open(path).with_context(unreadable)?;
        file.take(MAX_BYTES).read_to_string(&mut read).with_context(unreadable)?;
        &read
    } else {
        text
    };
    Ok(text.parse()?)
}

fn status(places: &Places) -> anyhow::Result<()> {
    let Some(identity) = Identity::read(&places.state_dir)? else {
        if let Some(pending) = Pending::read(&places.state_dir)? {
            let words = pending.key.fingerprint_words();
            return Err(match pending.stage {
                EnrollmentStage::Known { .. } => EnrollError::StillPending { words },
                EnrollmentStage::Asked { .. } => EnrollError::Unfinished,
            }
            .into());
        }
        return Err(NotEnrolled.into());
    };
    let running = match State::open(&places.state_dir) {
        Err(StateError::Busy { .. }) => "yes",
        Ok(_) | Err(_) => "no",
    };
    let status = Status::read(&places.state_dir).unwrap_or_default();
    let Status { connected_to, device_name, policy_version, ceiling_fault, last_error, at } =
        status;
    let file = places.config.display();
    let ceiling = ceiling_fault.unwrap_or_else(|| format!("as {file} says"));
    if places.settings().is_ok_and(|settings| settings.ceiling.paths.is_empty()) {
        say(NO_FOLDER);
    }
    let none = || "none".to_owned();
    let connection = match (running, connected_to) {
        ("yes", Some(address)) => format!("connected to {address}"),
        _ => format!("not connected{}", last_error.map(|e| format!(": {e}")).unwrap_or_default()),
    };
    print(&format!(
        "name         {}\nid           {}\nbackend      {}\nkey          {}\ncertificate  until {}\nrunning      {running}\nconnection   {connection}\npolicy       {}\nceiling      {ceiling}\nsandbox      {}\nas of        {}",
        device_name.unwrap_or_else(|| identity.name.to_string()),
        identity.device_id,
        identity.addresses.join(", "),
        identity.key.fingerprint_words(),
        shown(identity.not_after),
        policy_version.unwrap_or_else(none),
        Sandbox::detect(),
        if at > 0 { shown(at) } else { none() },
    ))
}

/// Prints to standard error. If that is closed, the text is dropped.
fn say(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

/// Said where the owner's file allows no path.
const NO_FOLDER: &str = "No folder is allowed on this device yet, so that tools for files refuse everything. Allow one with: orion-agent allow ~/files";
/// Said where the agent has every right on the device.
const AS_ROOT: &str = "the agent runs as root, so that its calls can change the whole device; run it under an account of its own";

/// Formats a time (Unix milliseconds) for people.
fn shown(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_else(|_| "an unknown time".to_owned())
}

fn print(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{text}").context("standard output")
}

/// Cancels `shutdown` when standard input ends. The thread that reads it ends with the process.
fn stop_with_stdin(shutdown: CancellationToken) {
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while matches!(std::io::stdin().read(&mut buffer), Ok(read) if read > 0) {}
        shutdown.cancel();
    });
}
