//! `orion-agent status`: who this device is and how it stands.

use orion_agent::clock::shown;
use orion_agent::config::Settings;
use orion_agent::run::enrolled;
use orion_agent::sandbox::Sandbox;
#[cfg(windows)]
use orion_agent::state::StateError;
use orion_agent::state::{State, Status};

use super::{Places, pause, print, say};

pub(super) fn run(places: &Places) -> anyhow::Result<()> {
    let identity = enrolled(&places.state_dir)?;
    let is_running = match State::is_used(&places.state_dir) {
        Ok(is_used) => is_used,
        // An identity that another account may have put there is not this device's.
        #[cfg(windows)]
        Err(error @ StateError::NotPrivate { .. }) => return Err(error.into()),
        Err(_) => false,
    };
    let status = Status::read(&places.state_dir).unwrap_or_default();
    let Status {
        connected_to,
        device_name,
        policy_version,
        ceiling_fault,
        last_error,
        needs_person: _,
        paused_at: _,
        config,
        running_calls,
        pid: _,
        at,
    } = status;
    let running = match (is_running, running_calls) {
        (false, _) => "no".to_owned(),
        (true, 0) => "yes".to_owned(),
        (true, 1) => "yes, 1 call".to_owned(),
        (true, count) => format!("yes, {count} calls"),
    };
    let paused = pause::line(&places.state_dir)
        .map_or_else(|| "no".to_owned(), |line| format!("yes. {line}"));
    // A running agent may read another file than this command would.
    let config = config.filter(|_| is_running).unwrap_or_else(|| places.config.clone());
    let file = config.display();
    let ceiling = ceiling_fault.unwrap_or_else(|| format!("as {file} says"));
    let settings = Settings::load(&config, places.required, &places.state_dir);
    if settings.is_ok_and(|settings| settings.ceiling.paths.is_empty()) {
        // The running agent's file is the one to change.
        let other = (config != places.config).then_some(&config);
        say(&places.no_folder(&places.options.clone().value("--config", other)));
    }
    let none = || "none".to_owned();
    let connection = match (is_running, connected_to) {
        (true, Some(address)) => format!("connected to {address}"),
        _ => format!("not connected{}", last_error.map(|e| format!(": {e}")).unwrap_or_default()),
    };
    print(&places.options.add_to(&format!(
        "name         {}\nid           {}\nbackend      {}\nkey          {}\ncertificate  until {}\nrunning      {running}\npaused       {paused}\nconnection   {connection}\npolicy       {}\nceiling      {ceiling}\nsandbox      {}\nas of        {}",
        device_name.unwrap_or_else(|| identity.name.to_string()),
        identity.device_id,
        identity.addresses.join(", "),
        identity.key.fingerprint_words(),
        shown(identity.not_after),
        policy_version.unwrap_or_else(none),
        Sandbox::detect(),
        if at > 0 { shown(at) } else { none() },
    )))
}
