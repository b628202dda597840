//! The lines that a person pastes on a device: with curl, with wget, and in PowerShell on Windows.

use std::net::IpAddr;

use orion_domain::Digest;

/// The lines that install an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallLines {
    /// With curl.
    pub curl: String,
    /// With wget.
    pub wget: String,
    /// In PowerShell. None where there is no agent for Windows.
    pub powershell: Option<String>,
}

/// The script's arguments, as each reader takes them apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// A shell.
    pub shell: String,
    /// PowerShell.
    pub powershell: String,
}

impl InstallLines {
    /// Returns the lines for the scripts at this address. With a pin, which is a script's SHA-256, the script runs only
    /// if it has that, and the connection need not be trusted. It stays in memory in between: a file could be replaced
    /// after it was checked. wget would try a script that was cut again, and a shell would read the beginning twice.
    pub(super) fn new(url: &str, pin: Option<Digest>, words: &Words) -> Self {
        let Words { shell, .. } = words;
        let line = |trusting: &str, insecure: &str| match pin {
            None => format!("{trusting} {url}/install.sh | sh -s -- {shell}"),
            Some(pin) => format!(
                "if s=$({insecure} {url}/install.sh) && printf '%s\\n' \"$s\" | sha256sum | grep -q '^{pin} '; \
                 then printf '%s\\n' \"$s\" | sh -s -- {shell}; \
                 else echo '{NOT_THE_SCRIPT}' >&2; false; fi"
            ),
        };
        Self {
            curl: line("curl -fsSL", "curl -fsSk"),
            wget: line("wget -qO- --tries=1", "wget -qO- --tries=1 --no-check-certificate"),
            powershell: None,
        }
    }

    /// Adds the line for PowerShell. Both versions of it have curl.exe from Windows, and read a script line by line.
    pub(super) fn with_powershell(self, url: &str, pin: Option<Digest>, words: &Words) -> Self {
        let Words { powershell, .. } = words;
        let run = format!("& ([ScriptBlock]::Create($s)) {powershell}");
        let get =
            |options: &str| format!("$s = (curl.exe {options} {url}/install.ps1) -join \"`n\"");
        let line = match pin {
            None => format!("{}; if ($LASTEXITCODE -eq 0) {{ {run} }}", get("-fsSL")),
            Some(pin) => format!(
                "{}; if ([BitConverter]::ToString([Security.Cryptography.SHA256]::Create().ComputeHash(\
                 [Text.Encoding]::UTF8.GetBytes(\"$s`n\"))).Replace('-', '') -eq '{pin}') {{ {run} }} \
                 else {{ Write-Error '{NOT_THE_SCRIPT}' }}",
                get("-fsSk")
            ),
        };
        Self { powershell: Some(line), ..self }
    }
}

/// What the line says where the script is another one.
const NOT_THE_SCRIPT: &str = "The script did not arrive as it was when this invitation was made, so nothing was run. Try again, and if it says the same, ask for a new invitation: the backend has other agents by now, or somebody changed the script on its way.";

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

    const URL: &str = "https://orion.example";

    fn words() -> Words {
        Words {
            shell: "orion1.x --allow-path ~/files".to_owned(),
            powershell: "orion1.x --allow-path '~/files'".to_owned(),
        }
    }

    #[test]
    fn a_known_certificate_gives_the_short_line() {
        let lines = InstallLines::new(URL, None, &words());
        assert_eq!(
            lines,
            InstallLines {
                curl: "curl -fsSL https://orion.example/install.sh | sh -s -- orion1.x --allow-path ~/files"
                    .to_owned(),
                wget: "wget -qO- --tries=1 https://orion.example/install.sh | sh -s -- orion1.x --allow-path ~/files"
                    .to_owned(),
                powershell: None,
            }
        );
        let lines = lines.with_powershell(URL, None, &words());
        assert_eq!(
            lines.powershell.unwrap(),
            "$s = (curl.exe -fsSL https://orion.example/install.ps1) -join \"`n\"; \
             if ($LASTEXITCODE -eq 0) { & ([ScriptBlock]::Create($s)) orion1.x --allow-path '~/files' }"
        );
    }

    #[test]
    fn a_pin_is_compared_before_anything_of_the_script_runs() {
        let pin = Digest::of(b"script");
        let lines = InstallLines::new(URL, Some(pin), &words());
        let line = lines.with_powershell(URL, Some(pin), &words()).powershell.unwrap();
        let (compared, run) = line.split_once("{ & ([ScriptBlock]::Create($s))").unwrap();
        assert!(compared.ends_with(&format!("-eq '{pin}') ")), "{line}");
        assert!(compared.starts_with("$s = (curl.exe -fsSk https://orion.example/install.ps1) "));
        assert!(run.contains("} else { Write-Error 'The script did not arrive"), "{line}");
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
