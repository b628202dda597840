//! Announces the custom tools of this device: after the greeting, and whenever one changed.

use std::sync::Arc;

use orion_catalog::custom::Definition;
use orion_wire::v1::{self, link_request};
use tokio_util::task::AbortOnDropHandle;

use super::Agent;
use crate::config::TOOLS_FOLDER;
#[cfg(target_os = "linux")]
use crate::custom::watch_servers;
use crate::custom::{CustomTools, Manifests, ServerTools, watch};

/// The most refusals that are logged at once.
const MAX_LOGGED: usize = 64;

/// What the owner defines.
#[derive(Debug, Default)]
pub(super) struct AnnouncedTools {
    /// The tools of manifests. None until the folder was read: a backend that hears of none would forget what
    /// was decided about them.
    manifests: Option<Vec<Definition>>,
    /// Whether the owner has, or had, any place for custom tools. Otherwise there is nothing to announce.
    is_used: bool,
    /// The tools of MCP servers. None until they were looked at under the first policy, where there are servers.
    servers: Option<Vec<Definition>>,
    /// Looks at the servers. None where there is none.
    looking: Option<AbortOnDropHandle<()>>,
}

impl Agent {
    /// Reads and watches the folder of manifests until the handle is dropped.
    pub(super) fn watch_the_tools(&self) -> Option<AbortOnDropHandle<()>> {
        let folder = self.settings.source.as_ref()?.path().with_file_name(TOOLS_FOLDER);
        Some(AbortOnDropHandle::new(tokio::spawn(watch(folder, self.events.clone()))))
    }

    /// Applies the manifests as they are now. Running calls continue.
    pub(super) fn manifests(&mut self, manifests: Manifests) {
        self.announced.is_used |= manifests.is_there;
        self.announced.manifests = Some(manifests.definitions);
        self.redefine();
    }

    /// Applies what the servers offer now.
    pub(super) fn server_tools(&mut self, ServerTools(definitions): ServerTools) {
        self.announced.servers = Some(definitions);
        self.redefine();
    }

    /// Looks at the servers, with the granted paths as they are now.
    #[cfg(target_os = "linux")]
    pub(super) fn look_at_servers(&mut self) {
        let servers = self.settings.mcp.clone();
        if servers.is_empty() {
            self.announced.looking = None;
            if self.announced.servers.take().is_some() {
                self.redefine();
            }
            return;
        }
        self.announced.is_used = true;
        let (places, roots) = (self.settings.places.clone(), Arc::clone(&self.roots));
        let programs = self.toolbox.programs.clone();
        let looking = watch_servers(servers, places, roots, programs, self.events.clone());
        self.announced.looking = Some(AbortOnDropHandle::new(tokio::spawn(looking)));
    }

    /// Does nothing where programs are not confined.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn look_at_servers(&mut self) {
        self.announced.looking = None;
    }

    /// Returns every definition. None until all places for them were read.
    fn defined(&self) -> Option<impl Iterator<Item = &Definition>> {
        let AnnouncedTools { manifests, servers, .. } = &self.announced;
        let servers = match servers {
            Some(servers) => servers.as_slice(),
            None if self.settings.mcp.is_empty() => &[],
            None => return None,
        };
        Some(manifests.as_ref()?.iter().chain(servers))
    }

    fn redefine(&mut self) {
        let Some(definitions) = self.defined() else { return };
        let tools = CustomTools::of(definitions.cloned());
        self.guard.define(Arc::new(tools));
        self.announce();
    }

    /// Announces every custom tool.
    pub(super) fn announce(&mut self) {
        if self.defined().is_none() || !self.announced.is_used {
            return;
        }
        let definitions = self.guard.custom().announcement().map(Into::into).collect();
        self.send(link_request::Message::CustomTools(v1::CustomTools { definitions }));
    }

    /// Logs which tools the backend does not take.
    pub(super) fn tools_refused(&self, tools: Vec<v1::RefusedTool>) {
        for v1::RefusedTool { name, why } in tools.into_iter().take(MAX_LOGGED) {
            let (name, why) = (orion_domain::visible(&name), orion_domain::visible(&why));
            tracing::warn!(name, why, "the backend does not take a custom tool of this device");
        }
    }
}
