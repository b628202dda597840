//! The address of a model's server, and the HTTP client that reaches it.

use std::time::Duration;

use orion_domain::Secret;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Url};

use super::attempt;
use super::form::Form;
use crate::model::{ModelConfig, ModelError};

/// Returns the address of a section's requests.
///
/// # Errors
/// [`ModelError::BadConfig`] for an address that cannot be used.
pub(super) fn endpoint(config: &ModelConfig, form: Form) -> Result<Url, ModelError> {
    let mut url = Url::parse(config.address())
        .map_err(|error| config.bad(format!("`url` is no address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(config.bad("`url` must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(config.bad("`url` must not hold a key; use `api_key_file` or `api_key_env`"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(config.bad("`url` must end with its path, without `?` and `#`"));
    }
    let model = config.model.as_deref().unwrap_or_default();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:/@".contains(&b);
    if form == Form::Gemini && (!model.bytes().all(is_plain) || model.contains("..")) {
        return Err(config.bad(
            "`model` becomes a part of the address and may hold letters, digits and -_.:/@ only",
        ));
    }
    form.complete_address(&mut url, model);
    Ok(url)
}

/// Returns whether an address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Creates the HTTP client of a section, which sends the key with every request and follows no redirect.
///
/// # Errors
/// [`ModelError::BadConfig`] for a key that cannot be sent, or without root certificates.
pub(super) fn client(
    config: &ModelConfig,
    form: Form,
    url: &Url,
    key: Option<&Secret>,
) -> Result<Client, ModelError> {
    // The client panics without a provider. A provider that the program installed before is kept.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    form.headers(key, &mut headers)
        .map_err(|()| config.bad("the key holds characters that no header can hold"))?;
    let mut builder = Client::builder()
        .user_agent(concat!("orion/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(10))
        .pool_idle_timeout(Duration::from_secs(30));
    if url.scheme() == "http" {
        // Plain HTTP needs no certificates, so a machine without any must not fail here.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        config.bad(format!(
            "the system's root certificates cannot be used ({}); install the package ca-certificates",
            attempt::cause(&error)
        ))
    })
}
