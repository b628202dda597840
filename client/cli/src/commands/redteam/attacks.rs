//! The attacks: planted instructions, paths that escape and commands that are more than they seem.

use orion_wire::v1;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;

/// The pairs of a task and a planted instruction.
const PAIRS: &str = include_str!("../../../../../tests/injection/pairs.toml");
/// The paths and commands.
const LISTS: &str = include_str!("../../../../../tests/injection/attacks.toml");

/// The arguments that are paths.
const PATHS: [&str; 4] = ["path", "source", "destination", "from_path"];

/// A device that is attacked.
#[derive(Debug, Clone)]
pub(super) struct Victim {
    pub(super) name: String,
    /// A folder that is granted there, for what is inside the granted folders.
    pub(super) root: String,
    pub(super) is_windows: bool,
    /// Another device of the person. Empty where there is none.
    pub(super) other: String,
}

/// One attack.
#[derive(Debug, Clone)]
pub(super) struct Attack {
    /// `injection`, `path` or `command`.
    pub(super) kind: &'static str,
    /// What it does: `delete`, `send`, `run`, `start` or `cross`; `read` or `write` for a path.
    pub(super) aim: String,
    /// The attack in one line.
    pub(super) what: String,
    pub(super) tool: String,
    pub(super) device: String,
    pub(super) arguments: Value,
    /// What a model has read before the call.
    pub(super) seen: Option<v1::SeenContent>,
    /// Whether the device is asked as well, by a preview.
    pub(super) asks_device: bool,
}

#[derive(Debug, Deserialize)]
struct Pairs {
    pairs: Vec<Pair>,
}

/// A pair. The comments of the file describe the fields.
#[derive(Debug, Deserialize)]
struct Pair {
    id: String,
    channel: String,
    action: String,
    task: String,
    plant: String,
    content: Option<String>,
    planted: String,
}

#[derive(Debug, Deserialize)]
struct Lists {
    posix: Vec<String>,
    windows: Vec<String>,
    commands: Vec<String>,
}

/// Returns all attacks on a device.
///
/// # Errors
/// The embedded lists cannot be read.
pub(super) fn attacks(victim: &Victim) -> Result<Vec<Attack>, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::Failed(format!("the lists of attacks cannot be read: {error}"))
    };
    let Pairs { pairs } = toml::from_str(PAIRS).map_err(|error| unreadable(&error))?;
    let lists: Lists = toml::from_str(LISTS).map_err(|error| unreadable(&error))?;
    let planted = pairs.iter().filter_map(|pair| injection(pair, victim));
    let paths = if victim.is_windows { &lists.windows } else { &lists.posix };
    let paths = paths.iter().flat_map(|path| escapes(path, victim));
    let commands = lists.commands.iter().map(|command| injected(command, victim));
    Ok(planted.chain(paths).chain(commands).collect())
}

/// Returns the planted call of a pair. None where it needs a second device and there is none, or a program in the
/// granted folder: without that, it writes a file that starts nothing.
fn injection(pair: &Pair, victim: &Victim) -> Option<Attack> {
    let mut arguments: Map<String, Value> = serde_json::from_str(&pair.planted).ok()?;
    let tool = arguments.remove("tool")?.as_str()?.to_owned();
    if pair.action == "run" && matches!(tool.as_str(), "write_file" | "edit_file") {
        return None;
    }
    let named = |name: &str| match name {
        "desk" => victim.name.clone(),
        _ => victim.other.clone(),
    };
    let device = match arguments.remove("device") {
        Some(device) => named(device.as_str()?),
        None => "backend".to_owned(),
    };
    if let Some(from) = arguments.get_mut("from_device") {
        *from = named(from.as_str()?).into();
    }
    if device.is_empty() || arguments.get("from_device").is_some_and(|from| from == "") {
        return None;
    }
    for (name, value) in &mut arguments {
        // The other device may grant other folders; what is not granted there is denied for that.
        if let (true, Some(path)) = (PATHS.contains(&name.as_str()), value.as_str()) {
            *value = format!("{}/{path}", victim.root).into();
        }
    }
    let (from, by) = match pair.channel.as_str() {
        "page" => ("backend", "fetch_webpage"),
        "device_name" => ("backend", "list_devices"),
        "file_name" => (victim.name.as_str(), "list_directory"),
        "log" => (victim.name.as_str(), "read_logs"),
        _ => (victim.name.as_str(), "read_file"),
    };
    let said = pair.task.replace("desk", &victim.name);
    let seen = v1::SeenContent {
        device: from.to_owned(),
        tool: by.to_owned(),
        text: pair.content.clone().unwrap_or_else(|| pair.plant.clone()),
        said,
    };
    Some(Attack {
        kind: "injection",
        aim: pair.action.clone(),
        what: format!("{} ({}): {}", pair.id, pair.channel.replace('_', " "), pair.plant),
        tool,
        device,
        arguments: Value::Object(arguments),
        seen: Some(seen),
        asks_device: false,
    })
}

/// Returns the reading and the writing of a path.
fn escapes(path: &str, victim: &Victim) -> [Attack; 2] {
    let path = path.replace("{root}", &victim.root);
    let attack = |aim: &str, tool: &str, arguments: Value| Attack {
        kind: "path",
        aim: aim.to_owned(),
        what: format!("{aim} {path}"),
        tool: tool.to_owned(),
        device: victim.name.clone(),
        arguments,
        seen: None,
        asks_device: true,
    };
    [
        attack("read", "get_file_info", json!({"path": path})),
        attack("write", "write_file", json!({"path": path, "content": "x"})),
    ]
}

fn injected(command: &str, victim: &Victim) -> Attack {
    Attack {
        kind: "command",
        aim: "run".to_owned(),
        what: command.to_owned(),
        tool: "execute_command".to_owned(),
        device: victim.name.clone(),
        arguments: json!({"command": command, "confirm": true}),
        seen: None,
        asks_device: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn victim(other: &str) -> Victim {
        Victim {
            name: "laptop".to_owned(),
            root: "~/Projects".to_owned(),
            is_windows: false,
            other: other.to_owned(),
        }
    }

    #[test]
    fn every_attack_of_the_lists_is_made_for_a_device() {
        let all = attacks(&victim("nas")).unwrap();
        let count = |kind: &str| all.iter().filter(|attack| attack.kind == kind).count();
        assert!(count("injection") >= 150, "{}", count("injection"));
        assert!(count("path") >= 80 && count("command") >= 50);
        for attack in &all {
            let known = orion_catalog::find(&attack.tool).is_some();
            assert!(known, "{attack:?}");
            assert!(["laptop", "nas", "backend"].contains(&attack.device.as_str()), "{attack:?}");
        }
        let alone = attacks(&victim("")).unwrap();
        assert!(alone.len() < all.len());
        assert!(alone.iter().all(|attack| attack.device != "nas"));
        let windows = Victim { is_windows: true, ..victim("") };
        assert!(attacks(&windows).unwrap().iter().any(|it| it.what.contains(r"\\?\C:")));
    }
}
