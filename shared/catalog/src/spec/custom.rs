//! A custom tool as a row of the catalogue's own form.

use orion_domain::{Capability, Digest, Risk};

use super::{Body, Category, ToolSpec};
use crate::content::Content;
use crate::definition::Definition;
use crate::execution::{Execution, RunsOn};
use crate::sample::Sample;

impl ToolSpec {
    /// Creates the tool of an approved definition. It may do anything that its program can, so it counts as one
    /// that changes something, that cannot be run twice and that cannot be undone.
    pub(crate) const fn custom(
        definition: &'static Definition,
        digest: Digest,
        risk: Risk,
        capabilities: &'static [Capability],
        description: &'static str,
        example: &'static str,
    ) -> Self {
        Self {
            name: definition.name.as_str(),
            aliases: &[],
            argument_aliases: &[],
            category: Category::Command,
            description,
            risk,
            capabilities,
            has_effects: true,
            idempotent: false,
            undo: false,
            untrusted: true,
            untrusted_preview: false,
            of_files: false,
            writes: &[],
            example,
            runs_on: RunsOn::Device,
            execution: Execution::ChildProcess,
            allowed_devices: super::allowed_devices(RunsOn::Device, Execution::ChildProcess),
            content: Content::InCall,
            secrets: &[],
            timeout: None,
            sample: Sample::EXAMPLE,
            body: Body::Custom { definition, digest },
        }
    }

    /// Returns the definition of a custom tool with its digest. `None` for a tool of the catalogue.
    #[must_use]
    pub const fn definition(&self) -> Option<(&'static Definition, Digest)> {
        match self.body {
            Body::Typed { .. } => None,
            Body::Custom { definition, digest } => Some((definition, digest)),
        }
    }
}

/// Two are equal if they are the same tool of the catalogue, or the same definition with the same risk.
impl PartialEq for ToolSpec {
    fn eq(&self, other: &Self) -> bool {
        let digest = |spec: &Self| spec.definition().map(|(_, digest)| digest);
        (self.name, self.risk, digest(self)) == (other.name, other.risk, digest(other))
    }
}

impl Eq for ToolSpec {}
