//! Prepares a demo for calls: the backend listens, an admin is signed in, the device is enrolled and its
//! policy is active.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use orion_domain::grants::PathGrant;
use orion_domain::{Access, Grants, Profile, Secret};
use orion_wire::v1;
use serde::Deserialize;
use tokio::time::Instant;

use super::enrolment::enrol;
use super::folder::{Folder, free_or_any};
use super::model::Model;
use super::program::{Program, Programs};
use crate::client::Client;
use crate::commands::devices;
use crate::context::{Context, ContextFile};
use crate::failure::Failure;
use crate::output::Output;

/// Applications that are granted where the device has them.
const APPS: [&str; 5] = ["chrome", "firefox", "code", "explorer", "terminal"];
/// The timeout for the backend to listen, and for the device's policy to become active.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// The interval of polling.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The timeout of an ordinary request to the backend.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A demo that accepts calls.
#[derive(Debug)]
pub(super) struct Demonstration {
    /// The context for reaching it.
    pub(super) context: Context,
    /// The device's name.
    pub(super) device: String,
}

#[derive(Deserialize)]
struct Addresses {
    people: SocketAddr,
    devices: SocketAddr,
}

/// Starts both programs, with the requested ports for people and devices; 0 selects a free one. A model that is given
/// is remembered.
///
/// # Errors
/// A program is missing or fails, or the demo is not ready in time.
pub(super) async fn start(
    out: &Output,
    folder: &Folder,
    (port, device_port): (u16, u16),
    model: Option<&Model<'_>>,
    programs: &mut Programs,
) -> Result<Demonstration, Failure> {
    folder.wait_until_left().await?;
    let earlier = if folder.context.exists() {
        ContextFile::read(&folder.context)?
    } else {
        ContextFile::default()
    };
    let enrolled = folder.enrolled();
    if let Some(taken) = [port, device_port].into_iter().find(|&port| free_or_any(port) != port) {
        return Err(Failure::Conflict(format!("port {taken} is taken by another program"))
            .hint("choose another, or leave it out to get a free one"));
    }
    let people_port = match port {
        0 => free_or_any(earlier.backend.as_deref().and_then(port_of).unwrap_or(0)),
        port => port,
    };
    // The device dials the port that it enrolled with, so the same port avoids another enrolment.
    let known_port = enrolled.as_ref().and_then(|known| port_of(known.addresses.first()?));
    let device_port = match device_port {
        0 => free_or_any(known_port.unwrap_or(0)),
        port => port,
    };
    folder.write_server_config(people_port, device_port, model)?;
    let addresses = folder.server.join("addresses.toml");
    let _ = fs::remove_file(&addresses);
    let arguments: [OsString; 6] = [
        "run".into(),
        "--config".into(),
        folder.server.join("orion-server.toml").into(),
        "--data-dir".into(),
        folder.server.clone().into(),
        "--exit-with-stdin".into(),
    ];
    let log = folder.logs.join("server.log");
    let server = programs.server.insert(Program::start("orion-server", &arguments, &log)?);
    let deadline = Instant::now() + START_TIMEOUT;
    let Addresses { people, devices } = loop {
        if let Some(failure) = server.failed() {
            return Err(failure);
        }
        if let Ok(text) = fs::read_to_string(&addresses) {
            break toml::from_str(&text).map_err(|error| {
                Failure::Failed(format!("{} is not understood: {error}", addresses.display()))
            })?;
        }
        if Instant::now() >= deadline {
            return Err(late("the backend does not listen", &[server]));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    };

    let (context, client) = sign_in(folder, &earlier, people).await?;
    let grants = grants(folder)?;
    folder.write_agent_config(&grants)?;
    let device = match enrolled {
        Some(known) if is_good(&client, &known, devices).await => known.name,
        known => {
            if known.is_some() {
                out.note(
                    "the device's enrolment does not fit this port, or has ended: it enrols again as a new device, where earlier calls cannot be taken back",
                );
            }
            enrol(&client, folder, &grants).await?
        }
    };
    let arguments: [OsString; 6] = [
        "run".into(),
        "--state-dir".into(),
        folder.state().into(),
        "--config".into(),
        folder.agent.join("agent.toml").into(),
        "--exit-with-stdin".into(),
    ];
    let log = folder.logs.join("agent.log");
    let agent = programs.agent.insert(Program::start("orion-agent", &arguments, &log)?);
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        let seen = devices::get(&client, device.clone()).await?;
        let holds = !seen.policy_version.is_empty()
            && seen.policy_version == seen.acknowledged_policy_version;
        if seen.state == "quarantined" {
            out.note(&format!(
                "{device} is in quarantine and takes no calls; let it in again: orion devices approve {device}"
            ));
            return Ok(Demonstration { context, device });
        }
        if seen.online && holds {
            return Ok(Demonstration { context, device });
        }
        if let Some(failure) = server.failed().or_else(|| agent.failed()) {
            return Err(failure);
        }
        if Instant::now() >= deadline {
            return Err(late("the device does not come online", &[server, agent]));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Signs in with the token of an earlier run, or as the first admin, and writes the context.
async fn sign_in(
    folder: &Folder,
    earlier: &ContextFile,
    people: SocketAddr,
) -> Result<(Context, Client), Failure> {
    let backend = format!("http://{people}");
    let context = |token: Option<String>| {
        let file = ContextFile {
            backend: Some(backend.clone()),
            token: token.clone(),
            user: Some("admin".to_owned()),
            data_dir: Some(folder.server.clone()),
            ..ContextFile::default()
        };
        let token = token.map(Secret::new);
        let path = folder.context.clone();
        Context { backend: backend.clone(), token, file, path, found: true }
    };
    if earlier.token.is_some() {
        let context = context(earlier.token.clone());
        let client = Client::connect(&context, REQUEST_TIMEOUT).await?;
        match client.ask(client.auth().who_am_i(v1::WhoAmIRequest {})).await {
            Ok(_) => {
                context.file.write(&folder.context)?;
                return Ok((context, client));
            }
            Err(failure) if failure.exit_code() != 4 => return Err(failure),
            Err(_) => {}
        }
    }
    let path = folder.server.join("first-admin-secret");
    let secret = fs::read_to_string(&path).map_err(|_| {
        Failure::SignIn(format!(
            "the backend in {} has an admin whose token is not in {}",
            folder.root.display(),
            folder.context.display()
        ))
        .hint("choose another --dir, or remove this one")
    })?;
    let client = Client::connect(&context(None), REQUEST_TIMEOUT).await?;
    let request = v1::CreateFirstAdminRequest {
        secret: secret.trim().to_owned(),
        user: "admin".to_owned(),
        password: String::new(),
    };
    let answer = client.ask(client.auth().create_first_admin(request)).await?;
    let context = context(Some(answer.token));
    context.file.write(&folder.context)?;
    let client = Client::connect(&context, REQUEST_TIMEOUT).await?;
    Ok((context, client))
}

/// Returns the grants and the ceiling, which are equal here.
fn grants(folder: &Folder) -> Result<Grants, Failure> {
    let files = folder.files.to_str().ok_or_else(|| {
        Failure::Usage(format!("the path {} is not UTF-8", folder.files.display()))
            .hint("choose another --dir")
    })?;
    let access = BTreeSet::from([Access::Read, Access::Write, Access::Delete]);
    Ok(Grants {
        profile: Some(Profile::Operator),
        paths: vec![PathGrant { path: files.to_owned(), access }],
        apps: APPS.into_iter().map(str::to_owned).collect(),
        // What the demo itself lives from stays closed, also where somebody opens the folder around it.
        deny_paths: folder
            .own_places()
            .iter()
            .filter_map(|own| own.to_str())
            .map(str::to_owned)
            .collect(),
        ..Grants::default()
    })
}

/// Returns whether the device can connect, or could out of quarantine: known to this backend, not expired, and dialling
/// the right port.
async fn is_good(client: &Client, known: &super::folder::Enrolled, devices: SocketAddr) -> bool {
    let in_a_minute = jiff::Timestamp::now().as_millisecond() + 60_000;
    known.not_after > in_a_minute
        && known.addresses.iter().any(|address| port_of(address) == Some(devices.port()))
        && devices::get(client, known.name.clone())
            .await
            .is_ok_and(|device| matches!(device.state, "approved" | "quarantined"))
}

fn port_of(address: &str) -> Option<u16> {
    address.trim_end_matches('/').rsplit_once(':')?.1.parse().ok()
}

fn late(what: &str, programs: &[&mut Program]) -> Failure {
    let tails: Vec<_> = programs.iter().map(|program| program.tail()).collect();
    Failure::TimedOut(format!("{what} within {} s: {}", START_TIMEOUT.as_secs(), tails.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_found_in_addresses() {
        assert_eq!(port_of("http://127.0.0.1:7080/"), Some(7080));
        assert_eq!(port_of("127.0.0.1:7443"), Some(7443));
        assert_eq!(port_of("[::1]:7443"), Some(7443));
        assert_eq!(port_of("localhost"), None);
    }

    #[test]
    fn the_device_lends_its_files_and_nothing_around_them() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::take(dir.path()).unwrap();
        let grants = grants(&folder).unwrap();
        let paths: Vec<_> = grants.paths.iter().map(|grant| grant.path.as_str()).collect();
        assert_eq!(paths, [folder.files.to_str().unwrap()]);
    }
}
