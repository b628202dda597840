//! The grants of a profile or a device as written. An omitted list differs from an empty one.

mod commands;
mod services;

use orion_domain::grants::{CommandGrant, LogGrant, PathGrant, ServiceGrant};
use orion_domain::{Access, Capability, Grants, Profile};

use crate::finding::{At, Code, Findings, Position, shown};
use crate::read::{self, Fields};
use crate::yaml::{Node, Value};

/// The grants of a profile or a device as written; `None` where a key is omitted.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrantedPaths {
    pub(crate) at: Position,
    /// The profile that these grants extend.
    pub(crate) profile: Option<At<String>>,
    pub(crate) tools: Option<Vec<&'static str>>,
    pub(crate) capabilities: Option<Vec<Capability>>,
    pub(crate) paths: Option<Vec<At<PathGrant>>>,
    pub(crate) deny_paths: Vec<At<String>>,
    pub(crate) apps: Option<Vec<String>>,
    pub(crate) commands: Option<Vec<CommandGrant>>,
    pub(crate) services: Option<Vec<ServiceGrant>>,
    pub(crate) logs: Option<Vec<LogGrant>>,
    pub(crate) hosts: Option<Vec<String>>,
    pub(crate) read_only: Option<bool>,
}

const CAPABILITIES: [(&str, Capability); Capability::ALL.len()] = {
    let mut words = [("", Capability::FileRead); Capability::ALL.len()];
    let mut at = 0;
    while at < words.len() {
        words[at] = (Capability::ALL[at].as_str(), Capability::ALL[at]);
        at += 1;
    }
    words
};

const ACCESSES: [(&str, Access); 4] = [
    ("read", Access::Read),
    ("write", Access::Write),
    ("delete", Access::Delete),
    ("execute", Access::Execute),
];

impl GrantedPaths {
    /// Reads the keys of grants from a profile's or a device's table.
    pub(crate) fn read(fields: &mut Fields<'_>, findings: &mut Findings) -> Self {
        let profile = fields
            .take(&["profile"], findings)
            .and_then(|node| read::text(node, "a profile", findings))
            .map(|name| At { at: name.at, value: name.value.to_owned() });
        let tools =
            fields.take(&["tools", "allowed_tools"], findings).map(|node| tools(node, findings));
        let capabilities = fields.take(&["capabilities", "permissions"], findings).map(|node| {
            let items = read::items(node, "`capabilities`", findings);
            items
                .into_iter()
                .filter_map(|item| read::word(item, "a permission", &CAPABILITIES, findings))
                .collect()
        });
        let paths = fields.take(&["paths", "allowed_paths"], findings).map(|node| {
            let items = read::items(node, "`paths`", findings);
            items.into_iter().filter_map(|item| path(item, findings)).collect()
        });
        let deny_paths = fields.take(&["deny_paths"], findings);
        let deny_paths = deny_paths
            .map(|node| read::texts(node, "`deny_paths`", findings))
            .unwrap_or_default()
            .into_iter()
            .map(|entry| At { at: entry.at, value: entry.value.to_owned() })
            .collect();
        let apps = owned(fields.take(&["apps", "allowed_apps"], findings), "`apps`", findings);
        let commands = fields
            .take(&["commands", "allowed_commands"], findings)
            .map(|node| commands::read(node, findings));
        let services = fields
            .take(&["services", "allowed_services"], findings)
            .map(|node| services::read(node, findings));
        let logs = fields
            .take(&["logs", "allowed_logs"], findings)
            .map(|node| services::read_logs(node, findings));
        let hosts = fields.take(&["hosts", "allowed_hosts"], findings).map(|node| {
            let items = read::texts(node, "`hosts`", findings);
            items.into_iter().filter_map(|item| host(item, findings)).collect()
        });
        let read_only = fields
            .take(&["read_only"], findings)
            .and_then(|node| read::flag(node, "`read_only`", findings));
        Self {
            at: fields.at,
            profile,
            tools,
            capabilities,
            paths,
            deny_paths,
            apps,
            commands,
            services,
            logs,
            hosts,
            read_only,
        }
    }

    /// Merges these grants over a profile's: set lists replace, denied paths add up.
    pub(crate) fn over(&self, profile: &Self) -> Self {
        let Self {
            at,
            profile: _,
            tools,
            capabilities,
            paths,
            deny_paths,
            apps,
            commands,
            services,
            logs,
            hosts,
            read_only,
        } = self.clone();
        let deny_paths = profile.deny_paths.iter().cloned().chain(deny_paths).collect();
        Self {
            at,
            profile: profile.profile.clone(),
            tools: tools.or_else(|| profile.tools.clone()),
            capabilities: capabilities.or_else(|| profile.capabilities.clone()),
            paths: paths.or_else(|| profile.paths.clone()),
            deny_paths,
            apps: apps.or_else(|| profile.apps.clone()),
            commands: commands.or_else(|| profile.commands.clone()),
            services: services.or_else(|| profile.services.clone()),
            logs: logs.or_else(|| profile.logs.clone()),
            hosts: hosts.or_else(|| profile.hosts.clone()),
            read_only: read_only.or(profile.read_only),
        }
    }

    /// Converts to the evaluator's grants, based on a built-in profile.
    pub(crate) fn grants(self, profile: Option<Profile>) -> Grants {
        let set = |list: Option<Vec<String>>| list.into_iter().flatten().collect();
        Grants {
            profile,
            tools: self.tools.map(|tools| tools.into_iter().map(ToOwned::to_owned).collect()),
            capabilities: self.capabilities.map(|it| it.into_iter().collect()),
            paths: self.paths.into_iter().flatten().map(|path| path.value).collect(),
            deny_paths: self.deny_paths.into_iter().map(|entry| entry.value).collect(),
            apps: set(self.apps),
            commands: self.commands,
            services: self.services.into_iter().flatten().collect(),
            logs: self.logs.into_iter().flatten().collect(),
            hosts: set(self.hosts),
            read_only: self.read_only.unwrap_or(false),
        }
    }
}

fn owned(node: Option<&Node>, what: &str, findings: &mut Findings) -> Option<Vec<String>> {
    let texts = read::texts(node?, what, findings);
    Some(texts.into_iter().map(|text| text.value.to_owned()).collect())
}

/// Returns the tool of this name; an alias is reported and accepted.
pub(crate) fn tool(name: At<&str>, findings: &mut Findings) -> Option<&'static str> {
    let Some((spec, alias)) = orion_catalog::find(name.value) else {
        let message = format!("There is no tool `{}`.", shown(name.value));
        let hint = orion_catalog::nearest(name.value).first().map_or_else(
            || "`orion tools list` shows those there are.".to_owned(),
            |near| format!("Did you mean `{near}`?"),
        );
        findings.error(name.at, Code::UnknownTool, message, hint);
        return None;
    };
    if alias.is_some() {
        let message = format!("`{}` is another name of {}.", name.value, spec.name);
        let hint = format!("Write `{}`.", spec.name);
        findings.warning(name.at, Code::ToolAlias, message, hint);
    }
    Some(spec.name)
}

/// Reads a list of names and `{name, enabled}`, or a table of tools that can be disabled.
fn tools(node: &Node, findings: &mut Findings) -> Vec<&'static str> {
    let mut on = Vec::new();
    let mut off = Vec::new();
    let mut put = |name: At<&str>, enabled: bool, findings: &mut Findings| {
        if let Some(name) = tool(name, findings) {
            if enabled { on.push(name) } else { off.push(name) }
        }
    };
    if let Value::Table(entries) = &node.value {
        for (key, node) in entries {
            let name = At { at: key.at, value: key.text.as_str() };
            let enabled = if let Value::Table(_) = &node.value {
                let Some(mut fields) = Fields::of(node, "a tool", findings) else { continue };
                let enabled = enabled(&mut fields, findings);
                fields.finish(findings);
                enabled
            } else {
                read::flag(node, "whether a tool is enabled", findings).unwrap_or(false)
            };
            put(name, enabled, findings);
        }
    } else {
        for item in read::items(node, "`tools`", findings) {
            if let Value::Table(_) = &item.value {
                let Some(mut fields) = Fields::of(item, "a tool", findings) else { continue };
                let name = fields.take(&["name", "tool"], findings);
                let enabled = enabled(&mut fields, findings);
                fields.finish(findings);
                match name.and_then(|node| read::text(node, "a tool", findings)) {
                    Some(name) => put(name, enabled, findings),
                    None if name.is_none() => {
                        let message = "This entry names no tool.";
                        let hint = "Write { name: open_app, enabled: false }.";
                        findings.error(item.at, Code::Missing, message, hint);
                    }
                    None => {}
                }
            } else if let Some(name) = read::text(item, "a tool", findings) {
                put(name, true, findings);
            }
        }
    }
    on.retain(|name| !off.contains(name));
    on
}

fn enabled(fields: &mut Fields<'_>, findings: &mut Findings) -> bool {
    fields
        .take(&["enabled"], findings)
        .is_none_or(|node| read::flag(node, "`enabled`", findings).unwrap_or(false))
}

fn path(node: &Node, findings: &mut Findings) -> Option<At<PathGrant>> {
    let every = || [Access::Read, Access::Write, Access::Delete].into();
    let (path, access) = if let Value::Table(_) = &node.value {
        let mut fields = Fields::of(node, "a path", findings)?;
        let path = fields.take(&["path"], findings);
        let access = fields.take(&["access"], findings).map(|node| {
            let items = read::items(node, "`access`", findings);
            let lends_nothing = items.is_empty();
            let accesses: Vec<_> = items
                .into_iter()
                .filter_map(|item| read::word(item, "an access", &ACCESSES, findings))
                .collect();
            if lends_nothing {
                let hint = "Name read, write or delete, or leave the path out.";
                findings.error(node.at, Code::BadValue, "This path grants nothing.", hint);
            }
            accesses.into_iter().collect()
        });
        fields.finish(findings);
        let hint = "Write { path: \"~/Projects\", access: [read] }.";
        let Some(path) = path else {
            findings.error(node.at, Code::Missing, "This entry names no path.", hint);
            return None;
        };
        if access.is_none() {
            // A device's own file requires it too, and an omitted word must not grant deletion.
            findings.error(
                node.at,
                Code::Missing,
                "This entry says no access.",
                "Write access: [read] in it, or more.",
            );
        }
        (read::text(path, "a path", findings)?, access?)
    } else {
        (read::text(node, "a path", findings)?, every())
    };
    if path.value.contains(['*', '?']) {
        let message =
            format!("`{}` has wildcards, and what is granted is a folder.", shown(path.value));
        let hint = "A path grants everything beneath it; leave the `/**` out.";
        findings.error(path.at, Code::BadPath, message, hint);
    }
    Some(At { at: path.at, value: PathGrant { path: path.value.to_owned(), access } })
}

fn host(name: At<&str>, findings: &mut Findings) -> Option<String> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let fits = name.value.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty() && !host.contains(['/', '@', ' ']) && is_port(port)
    });
    if !fits {
        let message = format!("`{}` is not a host with a port.", shown(name.value));
        findings.error(name.at, Code::BadValue, message, "Write api.example.com:443.");
    }
    fits.then(|| name.value.to_owned())
}
