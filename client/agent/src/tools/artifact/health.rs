//! Whether an artifact answers at the address that its manifest names.

use std::time::{Duration, Instant};

use orion_domain::ToolError;

use super::manifest::Manifest;
use crate::call::Context;
use crate::tools::http::Request;

/// How long an address has to answer.
const MAX_TIME: Duration = Duration::from_secs(5);
/// How long services have to come up after their start.
const MAX_WAIT: Duration = Duration::from_mins(2);
/// How long to wait before they are asked again.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// Asks once. Returns whether the artifact is well, and what it answered, as a sentence.
///
/// # Errors
/// `CANCELLED` and `TIMEOUT`.
pub(in crate::tools) fn ask(
    manifest: &Manifest,
    context: &Context<'_>,
) -> Result<(bool, String), ToolError> {
    let shown = manifest.health.shown();
    let request = Request::new(&manifest.health, context)?;
    let answer = request.get(MAX_TIME, context, async |response| Ok(response.status()))?;
    Ok(match answer {
        Ok(status) => {
            (status.is_success(), format!("{shown} answers with status {}.", status.as_u16()))
        }
        Err(why) => (false, format!("{shown}: {}", why.0)),
    })
}

/// Asks until the artifact is well, or its time is over. The time is also that of the call.
///
/// # Errors
/// As [`ask`].
pub(in crate::tools) fn wait(
    manifest: &Manifest,
    context: &Context<'_>,
) -> Result<(bool, String), ToolError> {
    let until = Instant::now() + MAX_WAIT;
    loop {
        let (is_well, answer) = ask(manifest, context)?;
        if is_well || Instant::now() + ASK_INTERVAL >= until.min(context.deadline) {
            return Ok((is_well, answer));
        }
        context.wait(ASK_INTERVAL)?;
    }
}
