//! `orion-agent enroll`: becomes a device of a backend.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use orion_agent::config;
use orion_agent::config::check::check_file;
use orion_agent::enroll::{
    CodeEnrollment, EnrollError, Enrollment, Notice, Proof, ReadLine, Replace, device_address,
    enroll, enroll_by_code,
};
use orion_agent::service;
use orion_agent::state::{Identity, Pending, State};
use orion_domain::{DeviceName, Profile};
use orion_mtls::Fingerprint;
use orion_wire::EnrollmentToken;

use super::{Places, print, say, shown};

/// The variable with a token.
const TOKEN_VARIABLE: &str = "ORION_AGENT_TOKEN";

#[derive(Debug, Args)]
pub(super) struct Enroll {
    /// The token; `-` reads it from standard input, `@FILE` from a file. Left out, the wait for an
    /// earlier token's approval goes on.
    #[arg(env = TOKEN_VARIABLE, hide_env_values = true)]
    token: Option<String>,
    /// Enrol without a token, at the backend with this address: the device shows a code and words that an admin types,
    /// and then asks for two words that the admin sees. Without a port, 7443.
    #[arg(long, value_name = "HOST[:PORT]", value_parser = device_address, conflicts_with = "no_wait")]
    server: Option<String>,
    /// The fingerprint of the backend's certificate authority, where it is known: no other backend is asked, and no
    /// words of the admin are needed here.
    #[arg(long, value_name = "SHA256", requires = "server", value_parser = ca_fingerprint)]
    ca_fingerprint: Option<Fingerprint>,
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

/// Parses the fingerprint of an authority.
fn ca_fingerprint(text: &str) -> Result<Fingerprint, String> {
    let wrong = "write 64 hexadecimal digits, as `orion-server ca list` shows them";
    text.parse().map_err(|_| wrong.to_owned())
}

/// Parses the name of a profile.
fn profile(text: &str) -> Result<Profile, String> {
    let all =
        [Profile::Reader, Profile::Operator, Profile::Developer, Profile::Homelab, Profile::Strict];
    all.into_iter()
        .find(|it| it.to_string() == text)
        .ok_or_else(|| "write reader, operator, developer, homelab or strict".to_owned())
}

pub(super) async fn run(places: &Places, arguments: Enroll) -> anyhow::Result<()> {
    let Enroll {
        token,
        server,
        ca_fingerprint,
        name,
        allow_path,
        profile,
        force,
        wait: _,
        no_wait,
        timeout,
    } = arguments;
    let by_code = match server {
        Some(address) => {
            check_no_token(token.as_deref())?;
            Some((address, proof(ca_fingerprint)?))
        }
        None => None,
    };
    let token = token.filter(|_| by_code.is_none()).map(|text| read_token(&text)).transpose()?;
    for path in &allow_path {
        places.refuse_home(path)?;
    }
    // A file that cannot be read is said before the token is used.
    if places.config.exists() {
        places.settings()?;
    }
    let first_config = (profile.is_some() || !allow_path.is_empty())
        .then(|| config::first(&places.config, profile, &allow_path, &places.state_dir))
        .transpose()?;
    let is_asked_for = first_config.is_some();
    let missing = missing_folders(&places.state_dir);
    let state = State::open(&places.state_dir)?;
    let replace = if force { Replace::Force } else { Replace::Refuse };
    let wait = Duration::from_secs(timeout);
    let mut notice = |notice: Notice| {
        let text = match notice {
            Notice::Pending { name, words } => {
                format!(
                    "{name} waits for approval. Compare this fingerprint with the one the admin sees:\n\n    {words}\n\nAn admin approves it with: orion devices approve {name}"
                )
            }
            Notice::Code { code, words, valid } => how_to_confirm(&code, &words, valid),
            Notice::Confirmed { wrong: 0 } => CONFIRMED.to_owned(),
            Notice::Confirmed { .. } => "These are other words. Type them again:".to_owned(),
            Notice::Unreachable { why } => format!("{why}; still trying"),
        };
        say(&text);
    };
    let enrolled = match by_code {
        Some((address, proof)) => {
            let wanted = CodeEnrollment { address, proof, name, replace, wait, first_config };
            enroll_by_code(&state, wanted, &mut notice).await
        }
        None => {
            let wait = (!no_wait).then_some(wait);
            let wanted = Enrollment { token, name, replace, wait, first_config };
            enroll(&state, wanted, &mut notice).await
        }
    };
    let is_own = is_own(places);
    // Root may have written files of the service's account.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    let given = service::give_to_owner(state.dir());
    let enrolled = match enrolled {
        Ok(enrolled) => enrolled,
        Err(error) => {
            remove_unused(state, &missing);
            return Err(error.into());
        }
    };
    // Written once there is a device: a try that fails leaves nothing.
    if let Some(text) = enrolled.first_config.filter(|_| is_asked_for || is_own) {
        let is_kept = !config::write_first(&places.config, &text)?;
        say_of_file(places, is_kept)?;
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    given?;
    if !places.config.exists() || places.settings()?.ceiling.paths.is_empty() {
        say(&places.no_folder(&places.options));
    }
    let until = shown(enrolled.not_after);
    print(&format!(
        "enrolled as {} ({}), certificate until {until}",
        enrolled.name, enrolled.device_id
    ))?;
    print(
        &places.options.add_to(
            "start the agent with: orion-agent run, or as a service with: orion-agent install",
        ),
    )
}

/// What is asked for once the backend says that an admin confirmed.
const CONFIRMED: &str = "The backend says that an admin confirmed this device. The admin now sees two words more, which show that it was the admin's backend. Take them from nobody else; where no admin has any, stop here with Ctrl-C. Type the admin's two words:";

/// Returns how the backend is known to be the right one. Without a fingerprint a person must be able to type.
fn proof(authority: Option<Fingerprint>) -> Result<Proof, EnrollError> {
    match authority {
        Some(authority) => Ok(Proof::Authority(authority)),
        None if io::stdin().is_terminal() => Ok(Proof::Answer(lines_of_stdin())),
        None => Err(EnrollError::NoTerminal),
    }
}

/// Reads lines of standard input in another thread, so that a signal still ends the program.
fn lines_of_stdin() -> ReadLine {
    /// The longest line; more is read as the next one.
    const MAX_BYTES: u64 = 1024;
    let read = || {
        let mut line = String::new();
        let read = io::stdin().lock().take(MAX_BYTES).read_line(&mut line)?;
        Ok((read > 0).then_some(line))
    };
    Box::new(move || {
        Box::pin(async move {
            tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.into()))
        })
    })
}

/// Refuses a token beside `--server`. One in the environment was not meant for this command.
fn check_no_token(token: Option<&str>) -> anyhow::Result<()> {
    let in_environment = std::env::var(TOKEN_VARIABLE).ok();
    anyhow::ensure!(
        token.is_none() || token == in_environment.as_deref(),
        "give a token or --server, not both: a token names its backend itself"
    );
    Ok(())
}

/// Says what to do with a code, and what its words are for.
fn how_to_confirm(code: &str, words: &str, valid: Duration) -> String {
    let minutes = valid.as_secs().div_ceil(60);
    format!(
        "To enrol this device, ask an admin to run this within {minutes} min, or to type the code on the page under Devices, Enrol:\n\n    orion devices enroll {code}\n\nThe admin is asked for the words that this device shows:\n\n    {words}\n\nWords that are not accepted mean that somebody may be between this device and the backend."
    )
}

/// Returns whether the state is this account's own. What a service's account wrote there is no word of the owner's.
fn is_own(places: &Places) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let owner = std::fs::metadata(&places.state_dir).map(|it| it.uid());
        owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
    }
    #[cfg(not(unix))]
    {
        places.owner == service::Owner::Person
    }
}

/// Says that an existing file is kept, and which allowed folder is missing.
fn say_of_file(places: &Places, is_kept: bool) -> anyhow::Result<()> {
    let file = places.config.display();
    if is_kept {
        say(&format!("{file} was there already; it is kept as it is"));
    }
    for finding in check_file(&places.config, &places.state_dir)? {
        if finding.code == "missing" {
            say(&format!("{file}:{finding}"));
        }
    }
    Ok(())
}

/// Returns the folders that are made for the state, the innermost first.
fn missing_folders(state_dir: &Path) -> Vec<PathBuf> {
    let folders = state_dir.ancestors().filter(|folder| !folder.as_os_str().is_empty());
    folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect()
}

/// Removes the state folder of a try that left nothing in it, so that a refused token leaves no trace.
fn remove_unused(state: State, made: &[PathBuf]) {
    let is_unused = matches!(Identity::read(state.dir()), Ok(None))
        && matches!(Pending::read(state.dir()), Ok(None));
    if !made.is_empty() && is_unused {
        state.remove_lock();
        // A folder with something in it stays.
        for folder in made {
            if std::fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
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
