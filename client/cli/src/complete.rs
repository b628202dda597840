//! Shell completion of values: tools, and the devices of the backend.

use std::time::Duration;

use clap_complete::CompletionCandidate;
use orion_wire::v1;

use crate::client::Client;
use crate::context::{Context, Contexts, Environment};
use crate::global::Global;

/// The longest wait of a person who presses Tab.
const COMPLETION_TIMEOUT: Duration = Duration::from_millis(700);

/// Returns the tools of the catalogue.
pub(crate) fn tools() -> Vec<CompletionCandidate> {
    let candidate = |spec: &orion_catalog::ToolSpec| {
        let sentence = spec.description.split_inclusive(". ").next().unwrap_or_default();
        CompletionCandidate::new(spec.name).help(Some(sentence.trim_end().to_owned().into()))
    };
    orion_catalog::CATALOG.iter().map(candidate).collect()
}

/// Returns the devices of the backend; none when it does not answer at once.
pub(crate) fn devices() -> Vec<CompletionCandidate> {
    let global = Global {
        context: std::env::var_os("ORION_CONTEXT").map(Into::into),
        backend: std::env::var("ORION_BACKEND").ok(),
        ..Global::default()
    };
    let Ok(context) = Context::resolve(Environment::of_process(&global)) else {
        return Vec::new();
    };
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let names = async {
        let client = Client::connect(&context, COMPLETION_TIMEOUT).await.ok()?;
        let request = v1::ListDevicesRequest { pending_only: false };
        let list = client.ask(client.devices().list_devices(request)).await.ok()?;
        let usable = |device: &v1::Device| device.state == v1::DeviceState::Approved as i32;
        let names = list.devices.into_iter().filter(usable).map(|device| device.name);
        Some(names.collect::<Vec<_>>())
    };
    let names = runtime.block_on(async { tokio::time::timeout(COMPLETION_TIMEOUT, names).await });
    let names = names.ok().flatten().unwrap_or_default();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the names of this person's contexts.
pub(crate) fn contexts() -> Vec<CompletionCandidate> {
    let names = Contexts::of_person().and_then(|contexts| contexts.names().ok());
    names.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_offered() {
        let offered: Vec<_> =
            tools().iter().map(|c| c.get_value().to_string_lossy().into_owned()).collect();
        let names: Vec<_> = orion_catalog::CATALOG.iter().map(|spec| spec.name).collect();
        assert_eq!(offered, names);
    }
}
