//! Units of systemd, through `systemctl`.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use orion_catalog::service_state::ServiceState;
use orion_domain::ToolError;
use orion_domain::services::Service;

use super::{NOT_FOUND, failed, only, unread, word};
use crate::programs::{CommandContext, ask};
use crate::sandbox::Network;

const MANAGER: &str = "systemd";
const PROGRAM: &str = "systemctl";
const PROPERTIES: &str =
    "--property=LoadState,ActiveState,StateChangeTimestamp,MainPID,NRestarts,UnitFileState";

/// Returns the state of a unit.
pub(super) fn state(
    service: &Service,
    context: &CommandContext<'_>,
) -> Result<ServiceState, ToolError> {
    let arguments = ["show", "--no-pager", PROPERTIES, "--", service.name()];
    let answer = ask(context, PROGRAM, &arguments, Network::Services)?;
    if !answer.is_ok() {
        return Err(failed(MANAGER, &answer));
    }
    parse(service, &answer.stdout).ok_or_else(|| unread(MANAGER))
}

/// Restarts a unit.
pub(super) fn restart(service: &Service, context: &CommandContext<'_>) -> Result<(), ToolError> {
    let arguments = ["restart", "--no-ask-password", "--no-pager", "--", service.name()];
    let answer = ask(context, PROGRAM, &arguments, Network::Services)?;
    if answer.is_ok() { Ok(()) } else { Err(failed(MANAGER, &answer)) }
}

/// Parses properties, `NAME=VALUE` on each line. `None` for anything else.
fn parse(service: &Service, text: &str) -> Option<ServiceState> {
    let mut properties = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once('=')?;
        if properties.insert(name, value).is_some() {
            return None;
        }
    }
    if *properties.get("LoadState")? == NOT_FOUND {
        return Some(only(service, NOT_FOUND));
    }
    let since = match *properties.get("StateChangeTimestamp").unwrap_or(&"") {
        "" | "n/a" => None,
        text => {
            let at = DateTime::strptime("%a %Y-%m-%d %H:%M:%S UTC", text).ok()?;
            Some(format!("{at}Z"))
        }
    };
    let number = |name: &str| match properties.get(name) {
        None | Some(&"") => Some(None),
        Some(value) => value.parse::<u64>().ok().map(Some),
    };
    Some(ServiceState {
        state: word(properties.get("ActiveState")?)?,
        since,
        pid: match number("MainPID")? {
            None | Some(0) => None,
            Some(pid) => Some(u32::try_from(pid).ok()?),
        },
        restarts: number("NRestarts")?,
        enabled: match *properties.get("UnitFileState").unwrap_or(&"") {
            "enabled" | "enabled-runtime" => Some(true),
            "disabled" | "masked" | "masked-runtime" => Some(false),
            _ => None,
        },
        ..only(service, "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<ServiceState> {
        parse(&Service::parse("nginx").unwrap(), text)
    }

    #[test]
    fn properties_are_read_strictly() {
        let text = "MainPID=812\nNRestarts=2\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nStateChangeTimestamp=Tue 2023-11-14 22:13:20 UTC\n";
        let state = parsed(text).unwrap();
        assert_eq!(state.since.as_deref(), Some("2023-11-14T22:13:20Z"));
        assert_eq!((state.pid, state.restarts, state.enabled), (Some(812), Some(2), Some(true)));
        assert_eq!((&*state.service, &*state.state), ("nginx.service", "active"));
        let stopped = "MainPID=0\nLoadState=loaded\nActiveState=inactive\nUnitFileState=static\nStateChangeTimestamp=\n";
        let stopped = parsed(stopped).unwrap();
        assert_eq!((stopped.pid, stopped.since, stopped.enabled), (None, None, None));
        assert_eq!(parsed("LoadState=not-found\nActiveState=inactive\n").unwrap().state, NOT_FOUND);
        for wrong in [
            "",
            "nothing",
            "ActiveState=active\n",
            "LoadState=loaded\n",
            "LoadState=loaded\nActiveState=\u{1b}[31mactive\n",
            "LoadState=loaded\nLoadState=loaded\nActiveState=active\n",
            "LoadState=loaded\nActiveState=active\nMainPID=-1\n",
            "LoadState=loaded\nActiveState=active\nStateChangeTimestamp=yesterday\n",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
