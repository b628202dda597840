//! Executes `check_service_health`.

use std::time::{Duration, Instant};

use orion_catalog::tools::check_service_health::{
    Arguments, CheckServiceHealth, Checked, Endpoint, Expected, Managed, Returns,
};
use orion_domain::ToolError;
use reqwest::Response;
use serde_json::Value;

use super::http::Request;
use super::service_managers::{self, is_healthy};
use super::{CommandContext, CommandTool, Outcome, installed};

/// How long an address has to answer.
const MAX_TIME: Duration = Duration::from_secs(10);
/// The most bytes that are read of an answer.
const MAX_BODY_BYTES: usize = 64 * 1024;

impl CommandTool for CheckServiceHealth {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let Checked { managed, endpoint } = arguments.checked()?;
        let mut found =
            Returns { healthy: true, status_code: None, latency_ms: None, detail: String::new() };
        if let Some(managed) = managed {
            found = by_manager(&managed, context)?;
        }
        // The backend makes no dry run of this tool; another one gets none past the approval.
        let is_unsent = context.dry_run && endpoint.as_ref().is_some_and(|it| !it.is_usual);
        if let Some(endpoint) = endpoint {
            let answer =
                if is_unsent { not_requested(&endpoint) } else { by_endpoint(&endpoint, context)? };
            let detail = format!("{} {}", found.detail, answer.detail).trim().to_owned();
            found = Returns { healthy: found.healthy && answer.healthy, detail, ..answer };
        }
        let how = match found.healthy {
            true => "is well",
            false if is_unsent => "would be checked",
            false => "is not well",
        };
        let message = format!("{} {how}. {}", arguments.service, found.detail);
        Ok(Outcome::new(message, found))
    }
}

/// Asks the manager of a service.
fn by_manager(managed: &Managed, context: &CommandContext<'_>) -> Result<Returns, ToolError> {
    let began = Instant::now();
    let (healthy, detail) = match managed {
        Managed::Docker => {
            let outcome = installed::docker(context)?;
            (outcome.data.running, outcome.message)
        }
        Managed::Service(service) => {
            let state = service_managers::state(service, context)?;
            (is_healthy(&state), format!("{} is {}.", state.service, state.state))
        }
    };
    let latency_ms = Some(milliseconds(began));
    Ok(Returns { healthy, status_code: None, latency_ms, detail })
}

/// Returns what a preview shows of an address at which a request may change something.
fn not_requested(endpoint: &Endpoint) -> Returns {
    let detail = format!("Would request {}; nothing was sent.", endpoint.address.shown());
    Returns { healthy: false, status_code: None, latency_ms: None, detail }
}

/// Requests an address.
fn by_endpoint(endpoint: &Endpoint, context: &CommandContext<'_>) -> Result<Returns, ToolError> {
    let Endpoint { address: endpoint, expected, is_usual: _ } = endpoint;
    let expected = *expected;
    let request = Request::new(endpoint, context)?;
    let began = Instant::now();
    let answer = request.get(MAX_TIME, context, async |response| {
        let (status, latency) = (response.status(), milliseconds(began));
        let is_as_expected = match expected {
            Some(expected) if status.is_success() => holds(response, expected).await,
            Some(_) | None => true,
        };
        Ok((status, latency, is_as_expected))
    })?;
    let shown = endpoint.shown();
    Ok(match answer {
        Err(why) => {
            let detail = format!("{shown}: {}", why.0);
            Returns { healthy: false, status_code: None, latency_ms: None, detail }
        }
        Ok((status, latency, is_as_expected)) => {
            let field = expected.map_or("", |expected| expected.field);
            let detail = if status.is_redirection() {
                format!(
                    "{shown} answers with status {} and leads elsewhere, which is not followed.",
                    status.as_u16()
                )
            } else if is_as_expected {
                format!("{shown} answers with status {}.", status.as_u16())
            } else {
                format!("{shown} answers, and its `{field}` is not as it should be.")
            };
            Returns {
                healthy: status.is_success() && is_as_expected,
                status_code: Some(status.as_u16()),
                latency_ms: Some(latency),
                detail,
            }
        }
    })
}

/// Returns whether an answer holds a value.
async fn holds(mut response: Response, Expected { field, value }: Expected) -> bool {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > MAX_BODY_BYTES {
            return false;
        }
    }
    let (Ok(answer), Ok(value)) =
        (serde_json::from_slice::<Value>(&body), serde_json::from_str::<Value>(value))
    else {
        return false;
    };
    answer.get(field) == Some(&value)
}

fn milliseconds(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
}
