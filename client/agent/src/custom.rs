//! The custom tools of this device: manifests that its owner writes into `tools.d`, and the tools of MCP servers
//! that its owner names in `agent.toml`.
//!
//! This room reads what the owner wrote, and announces it. Whether a call of such a tool may run is decided where
//! every call is: by the backend, where an admin has approved the definition, and by the guard. The owner's file
//! is the owner's consent to the program that it names, and to nothing else: what a call touches is compared with
//! the ceiling like that of any other call.

#[cfg(target_os = "linux")]
mod code;
mod folder;
mod manifest;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod start;
mod watch;

use std::collections::BTreeMap;

use orion_catalog::ToolSpec;
use orion_catalog::custom::{Definition, approved};
use orion_domain::{Actor, Digest, ErrorCode, Hint, ToolError};

pub use folder::{Manifests, read};
#[cfg(target_os = "linux")]
pub(crate) use mcp::watch_servers;
#[cfg(target_os = "linux")]
pub(crate) use run::run;
pub(crate) use watch::watch;

/// The tools that the MCP servers of this device offer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerTools(pub Vec<Definition>);

/// The most tools that are announced: what a backend takes.
const MAX_TOOLS: usize = 64;

/// The custom tools that this device has now, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CustomTools(BTreeMap<String, (Definition, Digest)>);

impl CustomTools {
    /// Collects definitions. Of two with one name none counts, because nobody could tell which is meant; nor does
    /// any beyond the most that a backend takes.
    #[must_use]
    pub fn of(definitions: impl IntoIterator<Item = Definition>) -> Self {
        let mut all: BTreeMap<String, Option<(Definition, Digest)>> = BTreeMap::new();
        for definition in definitions {
            let digest = definition.digest();
            let name = definition.name.clone();
            all.entry(name)
                .and_modify(|twice| {
                    tracing::warn!(
                        tool = definition.name,
                        "two tools have this name, so neither is announced"
                    );
                    *twice = None;
                })
                .or_insert_with(|| Some((definition.clone(), digest)));
        }
        let single = all.into_iter().filter_map(|(name, tool)| Some((name, tool?)));
        let tools: BTreeMap<_, _> = single.take(MAX_TOOLS + 1).collect();
        if tools.len() > MAX_TOOLS {
            tracing::warn!(
                "this device has more than {MAX_TOOLS} custom tools; the last are not announced"
            );
        }
        Self(tools.into_iter().take(MAX_TOOLS).collect())
    }

    /// Returns the canonical forms, as they are announced.
    pub fn announcement(&self) -> impl Iterator<Item = Vec<u8>> {
        self.0.values().map(|(definition, _)| definition.canonical().as_bytes().to_vec())
    }

    /// Returns the tool that a call means, which must have the definition that the backend means. The risk is
    /// that of the owner; a call may state a higher one.
    ///
    /// # Errors
    /// `TOOL_NOT_FOUND`, and `PRECONDITION_FAILED` for another definition.
    pub fn meant(&self, name: &str, digest: Digest) -> Result<&'static ToolSpec, ToolError> {
        let Some((definition, held)) = self.0.get(name) else {
            let shown: String = name.chars().take(64).collect();
            let message = format!("This device has no tool `{shown}`.");
            return Err(ToolError::new(ErrorCode::ToolNotFound, message));
        };
        if *held != digest {
            let message = format!(
                "The definition of {name} on this device is not the one that was approved."
            );
            return Err(ToolError::new(ErrorCode::PreconditionFailed, message)
                .with("definition", held.to_string())
                .hint(
                    Hint::run("read and approve the new one", "orion tools pending")
                        .by(Actor::Admin),
                ));
        }
        approved(definition, definition.risk).map_err(|error| {
            let message = format!("Nothing was run: {error}.");
            ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint(Hint::new("restart the agent on the device").by(Actor::Owner))
        })
    }
}
