//! `/install.sh`, `/install.ps1` and `/download/PLATFORM/orion-agent`: the scripts and the agents, for devices that are no devices yet.

mod places;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use futures_util::stream::try_unfold;
use orion_domain::{ErrorCode, ToolError};
use tokio::fs::File;
use tokio::io::AsyncReadExt as _;

use super::protocol::answer;
use crate::downloads::{Downloads, Platform, ReleaseError, Script};
use crate::listen::{Peer, Source};
use places::Places;

/// How long a download may take.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(15);
/// How much of a file is in memory for each download.
const CHUNK_BYTES: usize = 64 * 1024;
/// When a device that found no place may try again, in seconds.
const RETRY_SECONDS: &str = "10";

#[derive(Debug, Clone)]
struct Served {
    downloads: Arc<Downloads>,
    places: Places,
}

/// Returns the routes.
pub(super) fn routes(downloads: &Arc<Downloads>) -> Router {
    let downloads = Arc::clone(downloads);
    Router::new()
        .route("/install.sh", get(script))
        .route("/install.ps1", get(powershell_script))
        .route("/download/{platform}/orion-agent", get(agent))
        .route("/download/{platform}/orion-agent.sha256", get(sha256))
        .route("/download/{platform}/orion-agent.minisig", get(signature))
        .with_state(Served { downloads, places: Places::default() })
}

/// Returns whether an address is one of the agents'. All of them are one operation.
pub(super) fn serves(path: &str) -> bool {
    path.starts_with("/download/")
}

async fn script(State(it): State<Served>) -> Response {
    answer_script("text/x-shellscript; charset=utf-8", it.downloads.script())
}

async fn powershell_script(State(it): State<Served>) -> Response {
    answer_script("text/plain; charset=utf-8", it.downloads.powershell_script())
}

fn answer_script(
    content_type: &'static str,
    script: Result<Option<Script>, ReleaseError>,
) -> Response {
    match script {
        Ok(Some(script)) => text(content_type, script.text().to_owned()),
        Ok(None) => missing(
            "Devices do not reach this address.",
            "set `url` in [downloads] of orion-server.toml to the address that they reach",
        ),
        Err(error) => failed(&error),
    }
}

async fn agent(
    State(it): State<Served>,
    Extension(peer): Extension<Peer>,
    Path(platform): Path<String>,
) -> Response {
    let Some(place) = it.places.take(Source::of(&peer)) else {
        let message = "As many agents as this backend sends at once are being sent.";
        let error = ToolError::new(ErrorCode::ResourceExhausted, message).hint("try again soon");
        let mut response = answer(StatusCode::SERVICE_UNAVAILABLE, &error);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
        return response;
    };
    let Ok(platform) = platform.parse::<Platform>() else { return no_agent() };
    let (file, size) = match it.downloads.open(platform).await {
        Ok(Some(found)) => found,
        Ok(None) => return no_agent(),
        Err(error) => return failed(&error),
    };
    // The place is taken until the last part was read, or the client is gone.
    let until = Instant::now() + DOWNLOAD_TIMEOUT;
    let parts = try_unfold((file, size, place, until), async |(mut file, left, place, until)| {
        if left == 0 {
            return Ok(None);
        }
        if Instant::now() > until {
            return Err(std::io::ErrorKind::TimedOut.into());
        }
        let part = read(&mut file, left).await?;
        let left = left.saturating_sub(part.len() as u64);
        std::io::Result::Ok(Some((part, (file, left, place, until))))
    });
    let mut response = Body::from_stream(parts).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(size));
    response
}

/// Reads the next part of a file with this many bytes left.
async fn read(file: &mut File, left: u64) -> std::io::Result<Bytes> {
    let mut part = Vec::with_capacity(CHUNK_BYTES);
    file.take(left.min(CHUNK_BYTES as u64)).read_buf(&mut part).await?;
    // A file that became shorter must not look complete.
    if part.is_empty() { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(part.into()) }
}

async fn sha256(State(it): State<Served>, Path(platform): Path<String>) -> Response {
    it.of_release(&platform, |release| Some(format!("{}  orion-agent\n", release.sha256)))
}

async fn signature(State(it): State<Served>, Path(platform): Path<String>) -> Response {
    it.of_release(&platform, |release| release.signature.clone())
}

impl Served {
    fn of_release(
        &self,
        platform: &str,
        part: impl Fn(&crate::downloads::Release) -> Option<String>,
    ) -> Response {
        let Ok(platform) = platform.parse::<Platform>() else { return no_agent() };
        match self.downloads.manifest() {
            Ok(manifest) => match manifest.get(platform).and_then(part) {
                Some(part) => text("text/plain; charset=utf-8", part),
                None => no_agent(),
            },
            Err(error) => failed(&error),
        }
    }
}

fn text(content_type: &'static str, text: String) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(content_type))], text).into_response()
}

fn no_agent() -> Response {
    missing(
        "There is no agent for this platform.",
        "its admin lists those that there are with `orion-server releases list`",
    )
}

fn missing(message: &str, hint: &str) -> Response {
    answer(StatusCode::NOT_FOUND, &ToolError::new(ErrorCode::NotFound, message).hint(hint))
}

/// Returns the answer of an address at which no agent is.
pub(super) fn unknown() -> Response {
    missing(
        "There is no agent at this address.",
        "`orion-server releases list` shows for which platforms there are",
    )
}

fn failed(error: &ReleaseError) -> Response {
    tracing::error!(%error, "the agents for devices cannot be served");
    let message = "The agents of this backend cannot be read.";
    answer(StatusCode::INTERNAL_SERVER_ERROR, &ToolError::new(ErrorCode::Internal, message))
}
