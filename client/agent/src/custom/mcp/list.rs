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
use super::talk::{TalkError, talk};
use crate::call::RiskGate;
use crate::config::McpServer;
use crate::custom::ServerTools;
use crate::custom::start::{Ready, Wanted};
use crate::programs::{Programs, Scratch};
use crate::roots::GrantedPaths;

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
) -> Result<(Ready, Scratch), ToolError> {
    let place = |text: &str| orion_catalog::tools::path(places, text);
    let folder: DevicePath = place(entry.roots.first().map_or(".", |root| &root.path))?;
    let paths = entry.roots.iter().map(|root| Ok((place(&root.path)?, Access::Read)));
    let paths: Vec<(DevicePath, Access)> = paths.collect::<Result<_, ToolError>>()?;
    let changed =
        entry.roots.iter().filter(|root| root.access.iter().any(|it| *it != Access::Read));
    let data: Vec<DevicePath> =
        changed.map(|root| place(&root.path)).collect::<Result<_, ToolError>>()?;
    let fixed: Vec<&str> = entry.args.iter().map(String::as_str).collect();
    let wanted = Wanted {
        program: &entry.command,
        arguments: &entry.args,
        folder: &folder,
        paths: &paths,
        code: &entry.code,
        fixed: &fixed,
        data: &data,
        environment: &entry.env,
        connects: false,
    };
    let found = wanted.find(programs, roots, &RiskGate::new(None, Vec::new(), true), places)?;
    let scratch = programs.scratch(CallId::new(Uuid::now_v7()))?;
    Ok((wanted.ready(found, programs, &scratch, LIST_TIMEOUT), scratch))
}
