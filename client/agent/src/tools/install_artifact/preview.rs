//! What an installation would do.

use orion_catalog::tools::install_artifact::{Returns, Step, Wanted};
use orion_domain::ToolError;

use super::super::artifact::folder::Place;
use super::super::artifact::{compose, download};
use super::super::{CommandContext, Outcome};
use super::work::{STEPS, refuse_containers};

/// Looks at the device and says what would be done. Contacts no host.
///
/// # Errors
/// Why the installation would fail at once.
pub(super) fn preview(
    wanted: &Wanted,
    place: &Place,
    context: &CommandContext<'_>,
) -> Result<Outcome<Returns>, ToolError> {
    let Wanted { name, address, sha256 } = wanted;
    download::refuse_unencrypted(wanted, context)?;
    let mut docker = compose::ready(context)?;
    if place.is_interrupted()? {
        docker.push_str(" Would remove what an interrupted installation left.");
    } else {
        refuse_containers(wanted, context)?;
    }
    let steps: [(&str, String); STEPS] = [
        ("docker", docker),
        ("download", format!("Would download {}.", address.shown())),
        ("sha256", format!("Would refuse any archive but {sha256}.")),
        ("extract", format!("Would unpack it to {}.", place.folder().display())),
        ("manifest", "Would read manifest.json.".to_owned()),
        ("install", "Would run its install script in the sandbox, without a network.".to_owned()),
        ("start", format!("Would start its services as the compose project {}.", name.project())),
        ("health", "Would wait until its health address answers.".to_owned()),
    ];
    let steps = steps.map(|(name, detail)| Step { name: name.to_owned(), ok: true, detail });
    let message =
        format!("Would install {name} from {}, SHA-256 {sha256}, and start it.", address.address);
    Ok(Outcome::new(message, Returns { steps: steps.into(), healthy: false }))
}
