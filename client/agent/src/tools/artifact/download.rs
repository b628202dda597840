//! Downloads an archive from the host that was approved, and from no other.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use orion_catalog::tools::install_artifact::Wanted;
use orion_domain::digest::Hasher;
use orion_domain::{Actor, Digest, ErrorCode, Hint, ToolError};
use reqwest::Response;

use super::disk;
use crate::call::Context;
use crate::tools::http::Request;

/// The largest archive, in bytes.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// How long a download may take.
const MAX_TIME: Duration = Duration::from_mins(30);
/// How long the host may send nothing.
const MAX_SILENCE: Duration = Duration::from_secs(30);

/// Downloads an archive into an empty file, and returns its size and its digest.
///
/// # Errors
/// `EXECUTION_FAILED` for a host that does not send it, `URL_FORBIDDEN`, `RESOURCE_EXHAUSTED`, `CANCELLED` and `TIMEOUT`. None has the address with its secret.
pub(in crate::tools) fn download(
    wanted: &Wanted,
    into: &mut File,
    context: &Context<'_>,
) -> Result<(u64, Digest), ToolError> {
    refuse_unencrypted(wanted, context)?;
    let shown = wanted.address.shown();
    let request = Request::new(&wanted.address, context)?;
    let answer = request
        .get(MAX_TIME, context, async |response| body(response, &shown, into, context).await);
    answer?.map_err(|why| failed(&format!("{shown}: {}", why.0)))
}

/// Refuses an archive with another digest than was approved.
///
/// # Errors
/// `PRECONDITION_FAILED`.
pub(in crate::tools) fn refuse_other(wanted: &Wanted, found: Digest) -> Result<(), ToolError> {
    if found == wanted.sha256 {
        return Ok(());
    }
    let shown = wanted.address.shown();
    let message = format!(
        "{shown}: the archive has another SHA-256 than was approved. Nothing of it was used."
    );
    Err(ToolError::new(ErrorCode::PreconditionFailed, message)
        .with("sha256", found.to_string())
        .hint("find out who changed the archive before you give another sha256"))
}

/// Refuses an address without encryption, unless the owner allows it for the device itself.
///
/// # Errors
/// `URL_FORBIDDEN`.
pub(in crate::tools) fn refuse_unencrypted(
    wanted: &Wanted,
    context: &Context<'_>,
) -> Result<(), ToolError> {
    let is_allowed = wanted.address.address.is_loopback() && context.installation.http_artifacts;
    if wanted.address.is_https() || is_allowed {
        return Ok(());
    }
    let message = "An archive is downloaded over https only.";
    Err(ToolError::new(ErrorCode::UrlForbidden, message).hint(
        Hint::new("set http_on_loopback = true under [artifacts] in agent.toml, for tests")
            .by(Actor::Owner),
    ))
}

/// Writes the body of an answer, and returns its size and digest.
async fn body(
    mut response: Response,
    shown: &str,
    into: &mut File,
    context: &Context<'_>,
) -> Result<(u64, Digest), ToolError> {
    let status = response.status();
    if status.is_redirection() {
        return Err(failed(&format!(
            "{shown} answers with status {} and leads elsewhere, which is not followed.",
            status.as_u16()
        ))
        .hint("give the address that it leads to, which is approved by itself"));
    }
    if !status.is_success() {
        let error = failed(&format!("{shown} answers with status {}.", status.as_u16()));
        return Err(error.hint("an address that was signed beforehand is good for a time only"));
    }
    let total = response.content_length();
    let mut hasher = Hasher::default();
    let mut bytes = 0_u64;
    if total.is_some_and(|total| total > MAX_BYTES) {
        return Err(too_large(shown));
    }
    loop {
        let piece = tokio::time::timeout(MAX_SILENCE, response.chunk()).await;
        // The library's own error has the whole address.
        let broke_off = || failed(&format!("{shown}: the download broke off after {bytes} bytes."));
        let piece = piece.map_err(|_| broke_off())?.map_err(|_| broke_off())?;
        let Some(piece) = piece else { return Ok((bytes, hasher.finish())) };
        bytes = bytes.saturating_add(piece.len() as u64);
        if bytes > MAX_BYTES {
            return Err(too_large(shown));
        }
        hasher.update(&piece);
        into.write_all(&piece).map_err(|error| disk("The archive cannot be written", &error))?;
        (context.progress)(bytes, total, "bytes downloaded");
    }
}

fn too_large(shown: &str) -> ToolError {
    let message = format!("{shown}: the archive has more than {MAX_BYTES} bytes.");
    ToolError::new(ErrorCode::ResourceExhausted, message)
}

fn failed(message: &str) -> ToolError {
    ToolError::new(ErrorCode::ExecutionFailed, message)
}
