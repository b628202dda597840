//! The custom tools of devices: what a device announces, and what an admin decides about it.

use std::collections::BTreeSet;

use orion_catalog::ToolSpec;
use orion_catalog::custom::{self, approved};
use orion_domain::{DeviceId, DeviceName, Digest, Risk, UserName, strip_hidden};

use super::Devices;
use super::effective_policy::refresh;
use crate::clock::now_ms;
use crate::store::{AnnouncedTool, CustomToolRow, CustomToolState, StoreError, ToolDecision};

/// The most tools that a device may define.
pub const MAX_TOOLS: usize = 64;
/// The most characters of a name that is refused.
const MAX_SHOWN: usize = 64;

/// A definition that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedDefinition {
    /// The name, as far as it could be read.
    pub name: String,
    /// Why it was not taken.
    pub why: String,
}

/// A decision that is not possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideToolError {
    /// The device's owner states a higher risk.
    #[error(
        "the owner of the device says that this tool is of {least} risk, and it cannot count as less"
    )]
    RiskTooLow {
        /// The risk that the owner states.
        least: Risk,
    },
    /// The stored definition breaks a rule of this version.
    #[error("the definition is not one that this version takes: {0}")]
    Definition(String),
    /// There is no such tool, it has another definition, or the database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes the definitions that a device announces. Those that break a rule are refused, and the device then has
/// no such tool. Returns the refused ones, or None where something changed and `may_change` does not allow it.
///
/// # Errors
/// The database cannot be read or written.
pub async fn announced(
    devices: &Devices,
    device: DeviceId,
    definitions: &[impl AsRef<[u8]>],
    may_change: impl FnOnce() -> bool,
) -> Result<Option<Vec<RefusedDefinition>>, StoreError> {
    let (tools, refused) = taken(definitions);
    // Most devices announce at each greeting what they announced before.
    if devices.store.has_announced(device, &tools).await? {
        return Ok(Some(refused));
    }
    if !may_change() {
        return Ok(None);
    }
    devices.store.announce_tools(device, tools, now_ms()).await?;
    refresh(devices, device).await?;
    Ok(Some(refused))
}

/// Separates the definitions that keep every rule from those that do not.
fn taken(definitions: &[impl AsRef<[u8]>]) -> (Vec<AnnouncedTool>, Vec<RefusedDefinition>) {
    let mut refused = Vec::new();
    let mut tools: Vec<AnnouncedTool> = Vec::new();
    let mut twice = BTreeSet::new();
    for bytes in definitions.iter().take(MAX_TOOLS) {
        let bytes = bytes.as_ref();
        match custom::read(bytes) {
            Ok(definition) if tools.iter().any(|tool| tool.name == definition.name) => {
                twice.insert(definition.name);
            }
            Ok(definition) => tools.push(AnnouncedTool {
                digest: definition.digest(),
                name: definition.name,
                definition: bytes.to_vec(),
            }),
            Err(error) => {
                let why = strip_hidden(&error.to_string(), 300);
                refused.push(RefusedDefinition { name: name_in(bytes), why });
            }
        }
    }
    // Nobody could tell which of the two is meant.
    tools.retain(|tool| !twice.contains(&tool.name));
    let why = "it is announced twice".to_owned();
    refused.extend(twice.into_iter().map(|name| RefusedDefinition { name, why: why.clone() }));
    if definitions.len() > MAX_TOOLS {
        let more = definitions.len() - MAX_TOOLS;
        let why = format!(
            "a device has at most {MAX_TOOLS} custom tools, and {more} more were announced"
        );
        refused.push(RefusedDefinition { name: String::new(), why });
    }
    (tools, refused)
}

/// Returns the name in what is no valid definition.
fn name_in(bytes: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    let within = bytes.get(..bytes.len().min(2 * orion_catalog::custom::MAX_DEFINITION_BYTES));
    let named = serde_json::from_slice::<Named>(within.unwrap_or_default());
    named.map(|named| strip_hidden(&named.name, MAX_SHOWN)).unwrap_or_default()
}

/// Stores the decision about exactly one definition, with immediate effect. `risk` is what an approved tool
/// counts as: at least what its owner states, and high where the admin names none.
///
/// # Errors
/// [`DecideToolError`].
pub async fn decide(
    devices: &Devices,
    (device, device_name): (DeviceId, &DeviceName),
    (name, digest): (&str, Digest),
    (approve, risk): (bool, Option<Risk>),
    by: &UserName,
) -> Result<CustomToolRow, DecideToolError> {
    let rows = devices.store.custom_tools_of(device).await?;
    let row = rows.into_iter().find(|row| row.tool.name == name).ok_or(StoreError::NotFound)?;
    let definition = custom::read(&row.tool.definition)
        .map_err(|error| DecideToolError::Definition(error.to_string()))?;
    let least = definition.risk;
    let risk = risk.unwrap_or_else(|| least.max(Risk::High));
    if approve && risk < least {
        return Err(DecideToolError::RiskTooLow { least });
    }
    let risk = approve.then_some(risk);
    let decision =
        ToolDecision { device: (device, device_name), name, digest, risk, by, at: now_ms() };
    let row = devices.store.decide_tool(decision).await?;
    refresh(devices, device).await?;
    Ok(row)
}

/// Returns the tools that may be called: approved ones that the device has.
pub(super) fn usable(rows: &[CustomToolRow]) -> Vec<&'static ToolSpec> {
    let usable = rows.iter().filter(|row| row.is_announced);
    usable.filter_map(spec).collect()
}

/// Returns the names of the tools that wait for a decision.
pub(super) fn pending(rows: &[CustomToolRow]) -> Vec<String> {
    rows.iter().filter(|row| row.waits()).map(|row| row.tool.name.clone()).collect()
}

fn spec(row: &CustomToolRow) -> Option<&'static ToolSpec> {
    let (CustomToolState::Approved, Some(risk)) = (row.state, row.risk) else { return None };
    let definition = custom::read(&row.tool.definition);
    // A newer version may have a tool of this name, or another rule.
    let spec = definition.map_err(|error| error.to_string()).and_then(|definition| {
        let is_approved = definition.digest() == row.tool.digest;
        let refused = "its digest is another".to_owned();
        if !is_approved || definition.risk > risk {
            return Err(refused);
        }
        approved(&definition, risk).map_err(|error| error.to_string())
    });
    match spec {
        Ok(spec) => Some(spec),
        Err(error) => {
            tracing::warn!(device = %row.device, tool = row.tool.name, error, "a custom tool is not usable");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(name: &str) -> Vec<u8> {
        let value = json!({
            "name": name, "description": "Greets.", "risk": "high", "permissions": [],
            "parameters": [],
            "run": {"program": {
                "program": "/usr/bin/hello", "argv": [], "folder": ".", "timeout": 5, "code": [],
            }},
            "touches": {"read": [], "write": [], "delete": [], "hosts": []},
        });
        orion_domain::CanonicalArguments::from_value(&value).as_bytes().to_vec()
    }

    #[test]
    fn what_a_device_announces_is_bounded_and_each_refusal_is_named() {
        let many: Vec<_> = (0..70).map(|number| definition(&format!("greet_{number}"))).collect();
        let (tools, refused) = taken(&many);
        assert_eq!(tools.len(), MAX_TOOLS);
        assert_eq!(refused.len(), 1);
        assert!(refused[0].why.contains("6 more"), "{refused:?}");
        let odd = [
            definition("greet"),
            definition("read_file"),
            definition("twice"),
            definition("twice"),
            vec![b'x'; 100_000],
            b"{\"name\":\"half\"}".to_vec(),
        ];
        let (tools, refused) = taken(&odd);
        assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["greet"]);
        let names: Vec<_> = refused.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["read_file", "", "half", "twice"]);
        assert!(refused[0].why.contains("of Orion") && refused[1].why.contains("100000 bytes"));
    }
}
