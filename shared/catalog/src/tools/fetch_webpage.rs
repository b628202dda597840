//! `fetch_webpage`: reads a public web page.

use std::time::Duration;

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::request_secrets::{hide_in_url, hide_in_url_argument};
use crate::requested_url::{RequestedUrl, requested};
use crate::secret_argument::SecretArgument;
use crate::spec::{Category, Tool};

/// The `fetch_webpage` tool.
#[derive(Debug)]
pub struct FetchWebpage;

/// Which page, and what of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The http or https address of the page. What may be a credential in it is secret.
    #[serde(deserialize_with = "requested")]
    #[schemars(length(min = 1, max = 4096))]
    pub url: String,
    /// What to return of the page: its text, its links or its images.
    #[serde(default)]
    pub extract: Extract,
}

/// What to return of a page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Extract {
    #[default]
    Text,
    Links,
    Images,
}

/// The page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The title. Empty where the page has none.
    pub title: String,
    /// The text, or one link or image a line: its address, then its text.
    pub content: String,
    /// The address of the page after redirects, with digests in the places of what may be a credential.
    pub final_url: String,
}

impl Tool for FetchWebpage {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "fetch_webpage";
    const CATEGORY: Category = Category::Network;
    const DESCRIPTION: &'static str = "Reads a public web page from the backend: its text, or its links or \
         images. Use it to read an address that the person gives. It runs no scripts and sends no data; for an \
         API, use http_request.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::NetworkAccess];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"fetch_webpage","url":"https://example.com/"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;
    const SECRETS: &'static [SecretArgument] =
        &[SecretArgument { name: "url", hide: hide_in_url_argument }];
    const TIMEOUT: Option<Duration> = Some(Duration::from_secs(40));

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        let requested = RequestedUrl::parse(&arguments.url)?;
        Ok(Touches { urls: vec![hide_in_url(requested.url.as_str())], ..Touches::nothing() })
    }
}
