//! The facts of a device, as the database stores them: system, host and places.

use std::collections::BTreeMap;

use orion_domain::{DevicePath, Places, Projects};
use orion_wire::{DeviceFacts, Os};
use serde::{Deserialize, Serialize};

/// A device's facts, as the database stores them.
#[derive(Serialize, Deserialize)]
struct RecordedFacts {
    pub(super) os: String,
    pub(super) os_version: String,
    pub(super) hostname: String,
    pub(super) arch: String,
    pub(super) sandbox: String,
    pub(super) home: Option<String>,
    pub(super) workspace: Option<String>,
    #[serde(default)]
    pub(super) projects: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner_file: Option<String>,
}

/// Converts a device's facts to JSON for the database.
#[must_use]
pub fn facts_to_json(facts: &DeviceFacts) -> String {
    let text = |path: &Option<DevicePath>| path.as_ref().map(ToString::to_string);
    serde_json::to_string(&RecordedFacts {
        os: facts.os.as_str().to_owned(),
        os_version: facts.os_version.clone(),
        hostname: facts.hostname.clone(),
        arch: facts.arch.clone(),
        sandbox: facts.sandbox.clone(),
        home: text(&facts.places.home),
        workspace: text(&facts.places.workspace),
        projects: facts.places.projects.written(),
        owner_file: text(&facts.places.owner_file),
    })
    .unwrap_or_default()
}

/// Parses a device's facts from the database. `None` where they cannot be read: everything is denied then.
#[must_use]
pub fn facts_from_json(json: &str) -> Option<DeviceFacts> {
    let recorded: RecordedFacts = serde_json::from_str(json).ok()?;
    let os =
        [Os::Linux, Os::Macos, Os::Windows].into_iter().find(|os| os.as_str() == recorded.os)?;
    let style = os.path_style();
    let places =
        Places::parse(style, recorded.workspace.as_deref(), recorded.home.as_deref()).ok()?;
    let projects = recorded.projects.iter().map(|(name, at)| (name.as_str(), at.as_str()));
    let places = Places {
        projects: Projects::parse(style, projects).ok()?,
        owner_file: recorded.owner_file.and_then(|file| DevicePath::parse(style, &file).ok()),
        ..places
    };
    Some(DeviceFacts {
        os,
        os_version: recorded.os_version,
        hostname: recorded.hostname,
        arch: recorded.arch,
        sandbox: recorded.sandbox,
        places,
    })
}
