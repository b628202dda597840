//! Executes `verify_artifact`.

use orion_catalog::artifact::ArtifactName;
use orion_catalog::tools::verify_artifact::{Arguments, Returns, VerifyArtifact};
use orion_domain::ToolError;

use super::artifact::folder::Place;
use super::artifact::{compose, health};
use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for VerifyArtifact {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let name = ArtifactName::parse(&arguments.name)?;
        let Some(manifest) = Place::of(&name, context).installed()? else {
            let message = format!("{name} is not installed on this device.");
            let data = Returns { running: false, healthy: false, version: None };
            return Ok(Outcome::new(message, data));
        };
        let running = compose::count(&name, true, context)? > 0;
        let (healthy, answer) = health::ask(&manifest, context)?;
        let runs = if running { "runs" } else { "does not run" };
        let message = format!("{name} {} {runs}. {answer}", manifest.version);
        let data = Returns { running, healthy, version: Some(manifest.version) };
        Ok(Outcome::new(message, data))
    }
}
