//! `get_device_info`: the device's system, resources and processes.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::execution::Execution;
use crate::spec::{Alias, Category, Tool};

/// The `get_device_info` tool.
#[derive(Debug)]
pub struct GetDeviceInfo;

/// A part of the answer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Section {
    System,
    Cpu,
    Memory,
    Disk,
    Network,
    Processes,
    Workspace,
}

/// What to tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// Which parts: system, cpu, memory, disk, network, processes, workspace.
    pub include: Vec<Section>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { include: vec![Section::System] }
    }
}

/// The parts that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Returns {
    /// The device.
    pub device_id: String,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<System>,
    /// Its processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// Its memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Its disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Its network interfaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<Interface>>,
    /// The ten processes that use most memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Vec<Process>>,
    /// Where files may be touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
}

/// What the device is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Its name in its network.
    pub hostname: String,
    /// The operating system and its version.
    pub os: String,
    /// The processor's name.
    pub cpu: String,
    /// Memory in GiB, to one decimal.
    pub ram_gb: f64,
    /// Seconds since it was started.
    pub uptime_seconds: u64,
}

/// The processor.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Its name.
    pub name: String,
    /// Logical cores.
    pub cores: u64,
    /// Use over the last moment, percent of all cores.
    pub used_percent: f64,
    /// Average length of the run queue over 1, 5 and 15 minutes, where the system has it.
    pub load: [f64; 3],
}

/// Memory in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// What programs could still have.
    pub available_bytes: u64,
    /// Swap in use.
    pub swap_used_bytes: u64,
}

/// All disks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Disk {
    /// One for each mounted file system or drive letter.
    pub drives: Vec<Drive>,
}

/// One disk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drive {
    /// Where it is mounted; a drive letter on Windows.
    pub mount: String,
    /// GiB in all, to one decimal.
    pub total_gb: f64,
    /// GiB free, to one decimal.
    pub free_gb: f64,
    /// Percent free.
    pub percentage_free: f64,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its addresses.
    pub addresses: Vec<String>,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// Where files may be touched.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workspace {
    /// The allowed paths; the first is where relative paths start.
    pub paths: Vec<String>,
    /// Whether anything may be written.
    pub writable: bool,
}

/// `get_system_info` has no arguments and tells everything.
fn all(arguments: &mut Map<String, Value>) {
    arguments.entry("include").or_insert_with(|| {
        json!(["system", "cpu", "memory", "disk", "network", "processes", "workspace"])
    });
}

/// `system_status` has two switches. A value that is no switch stays, and is rejected as unknown.
fn switches(arguments: &mut Map<String, Value>) {
    let mut include = vec!["system", "cpu"];
    for (switch, section) in [("include_disk", "disk"), ("include_memory", "memory")] {
        let Some(on) = arguments.get(switch).and_then(is_on) else { continue };
        arguments.remove(switch);
        if on {
            include.push(section);
        }
    }
    arguments.entry("include").or_insert_with(|| json!(include));
}

/// Reads a switch. The command line knows no type for it, as it is no argument of the tool, and sends text.
fn is_on(value: &Value) -> Option<bool> {
    match value.as_str() {
        Some(word) => word.parse().ok(),
        None => value.as_bool(),
    }
}

impl Tool for GetDeviceInfo {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "get_device_info";
    const ALIASES: &'static [Alias] = &[
        Alias { name: "get_system_info", adapt: all },
        Alias { name: "system_status", adapt: switches },
    ];
    const CATEGORY: Category = Category::Device;
    const DESCRIPTION: &'static str = "Tells what a device is and how it fares: system, cpu, memory, \
        disk, network, processes, workspace. Ask only for the parts that are needed.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"get_device_info","device":"laptop-123","include":["system","disk"]}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_aliases_speak_their_systems_arguments() {
        let mut arguments = json!({"include_disk": true, "include_memory": false});
        switches(arguments.as_object_mut().unwrap());
        assert_eq!(arguments, json!({"include": ["system", "cpu", "disk"]}));
        let mut written = json!({"include_disk": "true", "include_memory": "maybe"});
        switches(written.as_object_mut().unwrap());
        let kept = json!({"include": ["system", "cpu", "disk"], "include_memory": "maybe"});
        assert_eq!(written, kept);
        let mut none = Map::new();
        all(&mut none);
        assert_eq!(none["include"].as_array().unwrap().len(), 7);
    }
}
