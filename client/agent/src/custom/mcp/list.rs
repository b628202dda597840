//! What the servers of this device offer, looked at when the granted paths are open, and again when a call noticed
//! a change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_catalog::custom::Definition;
use orion_domain::{Access, CallId, DevicePath, Places, ToolError};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::define::{description, parameters};
use super::talk::{Server, TalkError, talk};
use crate::call::RiskGate;
use crate::config::McpServer;
use crate::custom::run::bounds;
use crate::custom::{ServerTools, reach};
use crate::process::Launch;
use crate::programs::{Programs, Scratch, reach_declared};
use crate::roots::GrantedPaths;
use crate::sandbox::{Metadata, Network, Rights};

/// How long a server may take to say what it offers.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long to wait before a server that failed is started again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(10));

/// Posts what the servers offer, at once and whenever a call noticed a change. A server that fails is tried again,
/// each time later.
pub(crate) async fn watch_servers<E: From<ServerTools>>(
    servers: BTreeMap<String, McpServer>,
    places: Places,
    roots: Arc<GrantedPaths>,
    programs: Programs,
    events: mpsc::Sender<E>,
) {
    let mut wait = RETRY.0;
    loop {
        let mut definitions = Vec::new();
        let mut has_failed = false;
        for (name, server) in &servers {
            let (name, server, places) = (name.clone(), server.clone(), places.clone());
            let (roots, programs) = (Arc::clone(&roots), programs.clone());
            let listed = tokio::task::spawn_blocking(move || {
                list(&name, &server, &places, &roots, &programs)
            });
            match listed.await {
                Ok(Ok(found)) => definitions.extend(found),
                Ok(Err(why)) => {
                    has_failed = true;
                    tracing::warn!(why, "the tools of an MCP server are not known");
                }
                Err(_) => return,
            }
        }
        if events.send(ServerTools(definitions).into()).await.is_err() {
            return;
        }
        if has_failed {
            tokio::select! {
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(RETRY.1),
                () = programs.relisting() => {}
            }
        } else {
            wait = RETRY.0;
            programs.relisting().await;
        }
    }
}

/// Returns the tools that a server offers. It reads its roots as far as they are granted, changes nothing and has no
/// network.
fn list(
    name: &str,
    entry: &McpServer,
    places: &Places,
    roots: &GrantedPaths,
    programs: &Programs,
) -> Result<Vec<Definition>, String> {
    // The folder for temporary files goes when the server has.
    let (server, _scratch) = server(entry, places, roots, programs)
        .map_err(|error| format!("{name}: {}", error.message))?;
    let deadline = Instant::now() + LIST_TIMEOUT;
    let offered = talk(programs.launcher(), server, deadline, &|| true, async |client| {
        client.list_all_tools().await.map_err(|error| TalkError::Protocol(error.to_string()))
    });
    let offered =
        offered.map_err(|error| format!("{name}: {}", orion_domain::visible(&said(&error))))?;
    let mut definitions = Vec::new();
    for tool in &offered {
        match entry.define(name, &tool.name, description(tool), parameters(tool)) {
            Ok(definition) => definitions.push(definition),
            Err(why) => {
                let (tool, why) = (orion_domain::visible(&tool.name), orion_domain::visible(&why));
                tracing::warn!(
                    server = name,
                    tool,
                    why,
                    "a tool of an MCP server cannot be offered"
                );
            }
        }
    }
    Ok(definitions)
}

fn said(error: &TalkError) -> String {
    match error {
        TalkError::Launch(error) => error.to_string(),
        TalkError::Ended(ended) => {
            let stderr = ended.stderr.text();
            let first = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            format!("the server ended: {}", first.chars().take(300).collect::<String>())
        }
        TalkError::Protocol(why) => why.chars().take(300).collect(),
        TalkError::Interrupted => "the server did not answer in time".to_owned(),
    }
}

fn server(
    entry: &McpServer,
    places: &Places,
    roots: &GrantedPaths,
    programs: &Programs,
) -> Result<(Server, Scratch), ToolError> {
    let place = |text: &str| orion_catalog::tools::path(places, text);
    let folder: DevicePath = place(entry.roots.first().map_or(".", |root| &root.path))?;
    let paths = entry.roots.iter().map(|root| Ok((place(&root.path)?, Access::Read)));
    let paths: Vec<(DevicePath, Access)> = paths.collect::<Result<_, ToolError>>()?;
    let found = reach::program(programs, &entry.command, &folder, roots)?;
    let code = reach::code(&found, &entry.code, places, roots)?;
    let gate = RiskGate::new(None, Vec::new(), true);
    let (mut granted, folder) = reach_declared(programs, roots, &gate, (&folder, &paths))?;
    granted.extend(code);
    let scratch = programs.scratch(CallId::new(Uuid::now_v7()))?;
    granted.extend(scratch.handle().map(|own| (own, Rights::ChangeAndExecute)));
    let mut environment = programs.environment();
    environment.extend(
        entry.env.iter().filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))),
    );
    environment.insert("TMPDIR".to_owned(), scratch.path().display().to_string());
    let launch = Launch {
        program: found.file.clone(),
        name: found.named.display().to_string(),
        arguments: entry.args.clone(),
        environment,
        rights: granted.iter().map(|(_, rights)| *rights).collect(),
        network: Network::Nothing,
        metadata: Metadata::Nothing,
        bounds: bounds(LIST_TIMEOUT),
    };
    Ok((Server { launch, granted, folder }, scratch))
}
