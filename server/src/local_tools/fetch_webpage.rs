//! `fetch_webpage`: reads a public web page.

use orion_catalog::request_secrets::{hide_in_url, secrets_in_url};
use orion_catalog::requested_url::RequestedUrl;
use orion_catalog::tools::fetch_webpage::{Arguments, Extract, FetchWebpage, Returns};
use orion_domain::{ErrorCode, ToolError};
use reqwest::header::HeaderMap;

use super::web::{Answer, MAX_BYTES, Outgoing, Page, Wanted, WebClient, read_page};
use super::{Context, LocalTool, Outcome, secrets_of_request};

impl LocalTool for FetchWebpage {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let url = RequestedUrl::parse(&arguments.url)?.url;
        let secrets = secrets_in_url(url.as_str());
        let granted = context.granted::<Self>()?;
        let (method, headers, body) = (reqwest::Method::GET, HeaderMap::new(), None);
        let outgoing = Outgoing { method, url, headers, body };
        let answer = WebClient::system().send(outgoing, &granted, MAX_BYTES).await?;
        let wanted = match arguments.extract {
            Extract::Text => Wanted::Text,
            Extract::Links => Wanted::Links,
            Extract::Images => Wanted::Images,
        };
        // A page of megabytes keeps a thread busy for a while.
        let read = tokio::task::spawn_blocking(move || outcome_of(&answer, wanted, &secrets));
        read.await
            .map_err(|_| ToolError::new(ErrorCode::Internal, "The page could not be read."))?
    }
}

fn outcome_of(
    answer: &Answer,
    wanted: Wanted,
    secrets: &[String],
) -> Result<Outcome<Returns>, ToolError> {
    let host = answer.url.host_str().unwrap_or_default();
    if !(200..300).contains(&answer.status) {
        let message = format!("{host} answered with status {}.", answer.status);
        return Err(ToolError::new(ErrorCode::ExecutionFailed, message)
            .with("status_code", answer.status)
            .hint("check the address"));
    }
    if !answer.is_text() {
        let message = format!("{host} answered with something that is no text.");
        return Err(
            ToolError::new(ErrorCode::NotSupported, message).hint("request the address of a page")
        );
    }
    let text = answer.text();
    let page = if answer.is_html() {
        read_page(&text, wanted, &answer.url)
    } else {
        Page::plain(&text, wanted)
    };
    let truncated = page.truncated || answer.truncated;
    let Page { title, content, .. } = page;
    let [title, content] = [title, content].map(|text| secrets_of_request::remove(text, secrets));
    let message = format!("Read a page of {host}.");
    let final_url = hide_in_url(answer.url.as_str());
    Ok(Outcome { message, data: Returns { title, content, final_url }, truncated })
}
