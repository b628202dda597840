//! `verify_artifact`: whether an installed artifact runs and is well.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::artifact::{ArtifactName, of_hostagent};
use crate::execution::Execution;
use crate::spec::{Alias, Category, Tool};

/// The `verify_artifact` tool.
#[derive(Debug)]
pub struct VerifyArtifact;

/// Which artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name of the artifact.
    #[schemars(length(max = 40))]
    pub name: String,
}

/// How the artifact is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Whether one of its containers runs.
    pub running: bool,
    /// Whether its health address answers with a status from 200 to 299.
    pub healthy: bool,
    /// The installed version; none where it is not installed.
    pub version: Option<String>,
}

impl Tool for VerifyArtifact {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "verify_artifact";
    const ALIASES: &'static [Alias] =
        &[Alias { name: "verify_hostagent_server", adapt: of_hostagent }];
    const CATEGORY: Category = Category::Artifact;
    const DESCRIPTION: &'static str = "Tells whether an artifact that install_artifact installed on a device runs \
        and is well, and its version. For any other service, use check_service_health.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"verify_artifact","device":"laptop-123","name":"hostagent-server"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        ArtifactName::parse(&arguments.name)?;
        Ok(Touches::nothing())
    }
}
