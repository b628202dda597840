//! Temporary grants: what an admin granted one person for one tool on one device, on request and until a
//! moment. They widen a device's grants and nothing else: rules, risk, denied paths and the ceiling still
//! apply.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::capability::Capability;
use crate::digest::Digest;
use crate::grants::{AllowedPath, CommandGrant, LogGrant, PathGrant, Scope, ServiceGrant};
use crate::id::UserName;
use crate::path::{DevicePath, PathStyle};
use crate::question::{Moment, ToolFacts};
use crate::visible::visible;

/// What is granted to one person for one tool, as stored and sent. A path is granted alone, with what it
/// contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TemporaryGrant {
    /// The access request that it answers.
    pub request: String,
    /// The person.
    pub user: UserName,
    /// The tool, which counts as listed.
    pub tool: String,
    /// Unix milliseconds. Nothing is granted from this moment on.
    pub expires_at: i64,
    /// Permissions of the tool that the grants of the device lack.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub capabilities: BTreeSet<Capability>,
    /// Absolute paths, each alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathGrant>,
    /// Applications by name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub apps: BTreeSet<String>,
    /// Programs, each with exactly these arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandGrant>,
    /// Services.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub services: BTreeSet<ServiceGrant>,
    /// Services whose logs are read.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub logs: BTreeSet<LogGrant>,
    /// Hosts with ports.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
}

impl TemporaryGrant {
    /// Creates a grant of the tool alone.
    #[must_use]
    pub fn new(request: String, user: UserName, tool: String, expires_at: i64) -> Self {
        Self {
            request,
            user,
            tool,
            expires_at,
            capabilities: BTreeSet::new(),
            paths: Vec::new(),
            apps: BTreeSet::new(),
            commands: Vec::new(),
            services: BTreeSet::new(),
            logs: BTreeSet::new(),
            hosts: BTreeSet::new(),
        }
    }

    /// Returns how much is granted, in lines.
    #[must_use]
    pub fn count(&self) -> usize {
        let Self { capabilities, paths, apps, commands, services, logs, hosts, .. } = self;
        let sets = [capabilities.len(), apps.len(), services.len(), logs.len(), hosts.len()];
        1 + paths.len() + commands.len() + sets.iter().sum::<usize>()
    }

    /// Returns what is granted, one line each, with nothing hidden.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let Self { request: _, user: _, tool, expires_at: _, capabilities, paths, apps, .. } = self;
        let Self { commands, services, logs, hosts, .. } = self;
        let mut lines = vec![format!("the tool {tool}")];
        lines.extend(capabilities.iter().map(|it| format!("the permission {it}")));
        lines.extend(paths.iter().map(|grant| {
            let access: Vec<_> = grant.access.iter().map(|access| access.as_str()).collect();
            format!("{} {}, with all that it contains", access.join(", "), grant.path)
        }));
        lines.extend(apps.iter().map(|app| format!("the application {app}")));
        lines.extend(commands.iter().map(|it| format!("the command {}", shown_command(it))));
        lines.extend(services.iter().map(|service| format!("the service {service}")));
        lines.extend(logs.iter().map(|log| format!("the log of {log}")));
        lines.extend(hosts.iter().map(|host| format!("the host {host}")));
        lines.iter().map(|line| visible(line)).collect()
    }

    /// Returns the digest of what is granted on a device, whatever its request and its end.
    #[must_use]
    pub fn digest(&self, device: &str) -> Digest {
        let granted = Self { request: String::new(), expires_at: 0, ..self.clone() };
        // Plain structs of strings always serialise.
        let json = serde_json::to_vec(&granted).unwrap_or_default();
        Digest::of_fields("orion.temporary_grant.v1", &[device.as_bytes(), &json])
    }

    /// Compiles the grant for devices with this style of paths. A path that cannot be parsed grants nothing.
    #[must_use]
    pub fn compile(self, style: PathStyle) -> CompiledGrant {
        let paths = self.paths.iter().filter_map(|grant| {
            let path = DevicePath::parse(style, &grant.path).ok()?;
            // What is deleted must lie in a granted folder, and a file is opened in its folder.
            let root = path.parent()?;
            Some(AllowedPath { root, only: Some(path), access: grant.access.clone() })
        });
        CompiledGrant { paths: paths.collect(), grant: self }
    }
}

/// Returns a command with its arguments, each of which is seen to be one.
fn shown_command(command: &CommandGrant) -> String {
    let words = std::iter::once(&command.program).chain(command.args.iter().flatten());
    let is_plain = |c: char| !c.is_whitespace() && c != '"' && c != '\'';
    let words = words.map(|word| match word.chars().all(is_plain) && !word.is_empty() {
        true => word.clone(),
        false => format!("{word:?}"),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A temporary grant with its paths parsed for one device.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompiledGrant {
    /// The grant as sent.
    pub grant: TemporaryGrant,
    paths: Vec<AllowedPath>,
}

impl CompiledGrant {
    pub(crate) fn applies(&self, tool: &ToolFacts<'_>, caller: &Caller, at: Moment) -> bool {
        let Self { grant, .. } = self;
        // A call that runs another tool's call, such as a redo, is granted by no request.
        tool.called.is_none()
            && tool.name == grant.tool
            && caller.user == grant.user
            && at.unix_ms < grant.expires_at
    }

    pub(crate) fn widen(&self, scope: &mut Scope) {
        let Self { grant, paths } = self;
        if let Some(tools) = &mut scope.tools {
            tools.insert(grant.tool.clone());
        }
        if let Some(capabilities) = &mut scope.capabilities {
            capabilities.extend(grant.capabilities.iter().copied());
        }
        scope.allowed.extend(paths.iter().cloned());
        scope.apps.extend(grant.apps.iter().cloned());
        if let Some(commands) = &mut scope.commands {
            commands.extend(grant.commands.iter().cloned());
        }
        scope.services.extend(grant.services.iter().cloned());
        scope.logs.extend(grant.logs.iter().cloned());
        scope.hosts.extend(grant.hosts.iter().cloned());
    }
}
