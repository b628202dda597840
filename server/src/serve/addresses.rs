//! The addresses of a backend: those that devices are given, and those that the data folder shows to programs
//! on this machine.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::Context as _;
use orion_mtls::secret_file;
use orion_usage::quoted;

use super::people_certificate::CERTIFICATE;
use crate::config::{Config, PeopleConfig, PeopleTls};
use crate::data_folder::ADDRESSES;

pub(super) fn advertised(config: &Config, devices: SocketAddr) -> Vec<String> {
    if !config.devices.addresses.is_empty() {
        return config.devices.addresses.clone();
    }
    if devices.ip().is_unspecified() {
        let host = own_hostname().unwrap_or_else(|| IpAddr::from([127, 0, 0, 1]).to_string());
        return vec![format!("{host}:{}", devices.port())];
    }
    vec![devices.to_string()]
}

/// Returns the URL at which people reach the backend from this machine. A certificate is for a name.
pub(super) fn people_url(config: &PeopleConfig, people: SocketAddr) -> String {
    if config.tls.is_some() {
        // Orion's own certificate is for the address, too; another one is for its names alone.
        let is_own = people.ip().is_loopback() && config.tls == Some(PeopleTls::Own);
        let own = config.names.first().filter(|_| !is_own).cloned();
        let unspecified = people.ip().is_unspecified();
        let host = own.or_else(|| unspecified.then(own_hostname).flatten());
        let ip =
            if people.ip().is_unspecified() { IpAddr::from([127, 0, 0, 1]) } else { people.ip() };
        let host = host.unwrap_or_else(|| ip.to_string());
        // An address of IPv6 is in brackets.
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        return format!("https://{host}:{}", people.port());
    }
    if config.key.is_none() {
        return format!("http://{people}");
    }
    let host = own_hostname().unwrap_or_else(|| people.ip().to_string());
    format!("https://{host}:{}", people.port())
}

/// Returns the options with which a person on this machine signs in to a backend that does not run, by its
/// configuration. None where it takes any free port.
#[must_use]
pub fn sign_in_options(config: &PeopleConfig, data_dir: &Path) -> Option<String> {
    let url = (config.listen.port() != 0).then(|| people_url(config, config.listen))?;
    let ca = (config.tls == Some(PeopleTls::Own)).then(|| data_dir.join(CERTIFICATE));
    let ca = ca.map(|path| std::path::absolute(&path).unwrap_or(path));
    let ca = ca
        .map_or_else(String::new, |path| format!("--ca {} ", quoted(&path.display().to_string())));
    Some(format!("--backend {url} {ca}"))
}

/// Returns this machine's name, if it has one.
pub(super) fn own_hostname() -> Option<String> {
    let name = std::fs::read_to_string("/etc/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty() && name.len() <= 253).then(|| name.to_owned())
}

pub(super) fn write_addresses(
    data_dir: &Path,
    people: SocketAddr,
    people_url: &str,
    people_ca: Option<&Path>,
    devices: SocketAddr,
) -> anyhow::Result<()> {
    let mut text =
        format!("people = \"{people}\"\npeople_url = \"{people_url}\"\ndevices = \"{devices}\"\n");
    if let Some(path) = people_ca.and_then(Path::to_str) {
        text.push_str(&format!("people_ca = {}\n", toml::Value::from(path)));
    }
    let (path, new) = (data_dir.join(ADDRESSES), data_dir.join("addresses.toml.new"));
    let write = || {
        let mut options = secret_file::private();
        let mut file = options.write(true).create(true).truncate(true).open(&new)?;
        file.write_all(text.as_bytes())?;
        std::fs::rename(&new, &path)
    };
    write().context("addresses.toml in the data folder cannot be written")
}
