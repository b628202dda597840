//! The lines that a person pastes on a device, with curl and with wget.

use std::net::IpAddr;

use orion_domain::Digest;

/// The lines that install an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallLines {
    /// With curl.
    pub curl: String,
    /// With wget.
    pub wget: String,
}

impl InstallLines {
    /// Returns the lines for the script at this address. `words` are the script's arguments, as a shell reads them. With
    /// a pin, the script runs only if it has this SHA-256, and the connection need not be trusted. It stays in memory in
    /// between: a file could be replaced after it was checked. wget would try a script that was cut again, and a shell
    /// would read the beginning twice.
    pub(super) fn new(url: &str, pin: Option<Digest>, words: &str) -> Self {
        let line = |trusting: &str, insecure: &str| match pin {
            None => format!("{trusting} {url}/install.sh | sh -s -- {words}"),
            Some(pin) => format!(
                "if s=$({insecure} {url}/install.sh) && printf '%s\\n' \"$s\" | sha256sum | grep -q '^{pin} '; \
                 then printf '%s\\n' \"$s\" | sh -s -- {words}; \
                 else echo 'The script of this invitation did not arrive whole and unchanged, so nothing was run.' >&2; false; fi"
            ),
        };
        Self {
            curl: line("curl -fsSL", "curl -fsSk"),
            wget: line("wget -qO- --tries=1", "wget -qO- --tries=1 --no-check-certificate"),
        }
    }
}

/// Returns whether a device that reaches one of these addresses can reach this one too: an address of this machine alone
/// is reached from this machine alone.
pub(super) fn reachable(people_url: &str, device_addresses: &[String]) -> bool {
    let is_local = |address: &str| {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let number = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || number.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    };
    let people = people_url.split_once("://").map_or(people_url, |(_, rest)| rest);
    !is_local(people) || device_addresses.iter().all(|address| is_local(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_certificate_gives_the_short_line() {
        let lines =
            InstallLines::new("https://orion.example", None, "orion1.x --allow-path ~/files");
        assert_eq!(
            lines,
            InstallLines {
                curl: "curl -fsSL https://orion.example/install.sh | sh -s -- orion1.x --allow-path ~/files"
                    .to_owned(),
                wget: "wget -qO- --tries=1 https://orion.example/install.sh | sh -s -- orion1.x --allow-path ~/files"
                    .to_owned(),
            }
        );
    }

    #[test]
    fn an_address_of_this_machine_alone_is_for_devices_of_this_machine() {
        for (people, devices, is_reachable) in [
            ("http://127.0.0.1:7080", &["127.0.0.1:7443"][..], true),
            ("http://127.0.0.1:7080", &["orion.lan:7443"], false),
            ("https://localhost:7080", &["localhost:7443", "10.0.0.1:7443"], false),
            ("https://orion.lan:7080", &["10.0.0.1:7443"], true),
            ("https://[::1]:7080", &["[::1]:7443"], true),
        ] {
            let devices: Vec<_> = devices.iter().map(ToString::to_string).collect();
            assert_eq!(reachable(people, &devices), is_reachable, "{people} {devices:?}");
        }
    }
}
