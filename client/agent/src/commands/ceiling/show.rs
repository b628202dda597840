//! The active ceiling: each entry with what it is on this device, and the part that the last policy of the
//! backend allows.

use std::fmt;
use std::path::{Path, PathBuf};

use orion_agent::agent::ceiling::kept_policy;
use orion_agent::apps::Apps;
use orion_agent::config::Settings;
use orion_agent::config::configured_path::{ConfiguredPath, Kind};
use orion_catalog::RunsOn;
use orion_domain::grants::{PathGrant, Scope};
use orion_domain::path::{BuiltInKind, built_in, covers};
use orion_domain::{Access, DevicePath, Grants, Places};
use orion_wire::{DevicePolicy, Timezone};
use serde::Serialize;

/// The ceiling, as it is printed.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    file: PathBuf,
    /// The folder in which the agent keeps the last policy.
    state_dir: PathBuf,
    /// The ceiling as it is reported to the backend.
    ceiling: Grants,
    tools: Vec<&'static str>,
    capabilities: Vec<&'static str>,
    paths: Vec<ShownPath>,
    deny_paths: Vec<String>,
    /// Those of `deny_paths` where nothing is.
    deny_paths_missing: Vec<String>,
    built_in_denies: Vec<&'static str>,
    own_files: Vec<String>,
    apps: Vec<ShownApp>,
    commands: Vec<String>,
    services: Vec<String>,
    logs: Vec<String>,
    projects: Vec<String>,
    hosts: Vec<String>,
    read_only: bool,
    strict: bool,
    /// Before which calls the person at the device is asked.
    asks_before: Vec<String>,
    /// The part of the ceiling that the last policy allows. None before the first policy.
    left: Option<Left>,
}

#[derive(Debug, Serialize)]
struct ShownPath {
    /// The path as written.
    path: String,
    /// The path with its links resolved.
    real: String,
    is_link: bool,
    kind: &'static str,
    access: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct ShownApp {
    name: String,
    executable: Option<PathBuf>,
    /// Why there is no executable. Empty if there is one.
    missing: String,
}

#[derive(Debug, Serialize)]
struct Left {
    policy_version: String,
    tools: Vec<&'static str>,
    paths: Vec<LeftPath>,
    apps: Vec<String>,
    read_only: bool,
    rules: usize,
}

#[derive(Debug, Serialize)]
struct LeftPath {
    path: String,
    access: Vec<&'static str>,
}

impl Shown {
    pub(super) fn new(settings: &Settings, file: &Path, state_dir: &Path) -> Self {
        let Settings { ceiling, scope, places, private, apps: bound, .. } = settings;
        let (apps, _) = Apps::discover(ceiling.apps.iter().map(String::as_str), bound);
        let app = |name: &String| match apps.get(name) {
            Ok(app) => ShownApp {
                name: name.clone(),
                executable: Some(app.executable.clone()),
                missing: String::new(),
            },
            Err(error) => ShownApp { name: name.clone(), executable: None, missing: error.message },
        };
        let capabilities = scope.capabilities.iter().flatten().map(|it| it.as_str());
        Self {
            file: file.to_owned(),
            state_dir: state_dir.to_owned(),
            tools: tools(&[scope]),
            capabilities: capabilities.collect(),
            paths: ceiling.paths.iter().map(|grant| path(grant, places)).collect(),
            deny_paths: ceiling.deny_paths.clone(),
            deny_paths_missing: ceiling
                .deny_paths
                .iter()
                .filter(|written| is_missing(written, places))
                .cloned()
                .collect(),
            built_in_denies: built_in(places.style)
                .iter()
                .filter(|entry| entry.kind != BuiltInKind::StartPlace)
                .map(|entry| entry.pattern)
                .collect(),
            own_files: private.iter().map(ToString::to_string).collect(),
            apps: ceiling.apps.iter().map(app).collect(),
            commands: match &ceiling.commands {
                Some(commands) => commands.iter().map(ToString::to_string).collect(),
                None => vec!["all but those that give the whole machine".to_owned()],
            },
            services: ceiling.services.iter().map(ToString::to_string).collect(),
            logs: ceiling.logs.iter().map(ToString::to_string).collect(),
            projects: places.projects.iter().map(|(name, at)| format!("{name} = {at}")).collect(),
            hosts: ceiling.hosts.iter().cloned().collect(),
            read_only: scope.read_only,
            strict: scope.strict,
            asks_before: settings.consent.words(),
            left: left(settings, state_dir),
            ceiling: ceiling.clone(),
        }
    }
}

/// Returns whether nothing is at an entry of `deny_paths`. Patterns are not looked for.
fn is_missing(written: &str, places: &Places) -> bool {
    !written.contains(['*', '?'])
        && DevicePath::resolve(places, written)
            .is_ok_and(|path| ConfiguredPath::of(&path).kind == Kind::Missing)
}

/// Returns the tools of devices that all of these scopes allow.
fn tools(scopes: &[&Scope]) -> Vec<&'static str> {
    let leaves = |spec: &&orion_catalog::ToolSpec| {
        spec.runs_on == RunsOn::Device
            && scopes.iter().all(|scope| {
                scope.lists_tool(spec.name)
                    && scope.missing_capability(spec.capabilities).is_none()
                    && !(scope.read_only && spec.has_effects)
            })
    };
    orion_catalog::CATALOG.iter().filter(leaves).map(|spec| spec.name).collect()
}

fn words(access: impl IntoIterator<Item = Access>) -> Vec<&'static str> {
    access.into_iter().map(Access::as_str).collect()
}

fn path(grant: &PathGrant, places: &Places) -> ShownPath {
    let access = words(grant.access.iter().copied());
    match DevicePath::resolve(places, &grant.path) {
        Ok(resolved) => {
            let ConfiguredPath { real, kind, is_link } = ConfiguredPath::of(&resolved);
            let (real, kind) = (real.to_string(), kind.as_str());
            ShownPath { path: grant.path.clone(), real, is_link, kind, access }
        }
        Err(error) => ShownPath {
            path: grant.path.clone(),
            real: error.to_string(),
            is_link: false,
            kind: "no path",
            access,
        },
    }
}

/// Returns the part of the ceiling that the last policy allows.
fn left(settings: &Settings, state_dir: &Path) -> Option<Left> {
    let kept = kept_policy(state_dir)?;
    let policy: DevicePolicy = serde_json::from_slice(&kept).ok()?;
    let (ceiling, (mut granted, _)) = (&settings.scope, policy.grants.compile(&settings.places));
    let now = jiff::Timestamp::now().as_millisecond();
    if policy.mode.lifts(Timezone::default().moment(now)) {
        granted.tools = None;
        granted.capabilities = None;
    }
    let mut paths = Vec::new();
    for grant in &granted.allowed {
        for owned in &ceiling.allowed {
            let root = if covers(&owned.root, &grant.root) {
                &grant.root
            } else if covers(&grant.root, &owned.root) {
                &owned.root
            } else {
                continue;
            };
            let access = words(grant.access.intersection(&owned.access).copied());
            if !access.is_empty()
                && ceiling.denying(root).or_else(|| granted.denying(root)).is_none()
            {
                paths.push(LeftPath { path: root.to_string(), access });
            }
        }
    }
    Some(Left {
        policy_version: DevicePolicy::version_of(&kept),
        tools: tools(&[ceiling, &granted]),
        paths,
        apps: ceiling.apps.intersection(&granted.apps).cloned().collect(),
        read_only: ceiling.read_only || granted.read_only,
        rules: policy.rules.len(),
    })
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let section = |f: &mut fmt::Formatter<'_>, name: &str, lines: &[String]| {
            let none = ["none".to_owned()];
            let lines = if lines.is_empty() { &none } else { lines };
            for (index, line) in lines.iter().enumerate() {
                writeln!(f, "{:<14}{line}", if index == 0 { name } else { "" })?;
            }
            Ok(())
        };
        writeln!(f, "{:<14}{}", "file", self.file.display())?;
        section(f, "tools", &wrapped(&self.tools))?;
        section(f, "permissions", &wrapped(&self.capabilities))?;
        let path = |it: &ShownPath| {
            let real = if it.is_link { format!(" -> {}", it.real) } else { String::new() };
            let kind = if it.kind == "folder" { String::new() } else { format!(" ({})", it.kind) };
            format!("{}{real}{kind}: {}", it.path, it.access.join(", "))
        };
        section(f, "paths", &self.paths.iter().map(path).collect::<Vec<_>>())?;
        let denied = |it: &String| {
            let is_missing = self.deny_paths_missing.contains(it);
            format!("{it}{}", if is_missing { " (nothing is there)" } else { "" })
        };
        section(f, "deny_paths", &self.deny_paths.iter().map(denied).collect::<Vec<_>>())?;
        let own = self.own_files.iter().map(|it| format!("{it} (denied)"));
        section(f, "own files", &own.collect::<Vec<_>>())?;
        let count = self.built_in_denies.len();
        let more = format!(
            "{count} patterns of secrets and of files that start programs (`-o json` lists them)"
        );
        section(f, "always denied", &[more])?;
        let app = |it: &ShownApp| match &it.executable {
            Some(executable) => format!("{} = {}", it.name, executable.display()),
            None => format!("{}: {}", it.name, it.missing),
        };
        section(f, "apps", &self.apps.iter().map(app).collect::<Vec<_>>())?;
        section(f, "commands", &self.commands)?;
        section(f, "services", &self.services)?;
        section(f, "logs", &self.logs)?;
        section(f, "hosts", &self.hosts)?;
        section(f, "projects", &self.projects)?;
        let yes_or_no = |yes| if yes { "yes" } else { "no" };
        writeln!(f, "{:<14}{}", "read only", yes_or_no(self.read_only))?;
        writeln!(f, "{:<14}{}", "strict", yes_or_no(self.strict))?;
        section(f, "asks before", &self.asks_before)?;
        let Some(left) = &self.left else {
            let state_dir = self.state_dir.display();
            return write!(f, "\nno backend has granted anything to the agent of {state_dir} yet");
        };
        writeln!(f, "\nwhat policy {} leaves of it", left.policy_version)?;
        section(f, "tools", &wrapped(&left.tools))?;
        let path = |it: &LeftPath| format!("{}: {}", it.path, it.access.join(", "));
        section(f, "paths", &left.paths.iter().map(path).collect::<Vec<_>>())?;
        section(f, "apps", &left.apps)?;
        writeln!(f, "{:<14}{}", "read only", yes_or_no(left.read_only))?;
        write!(f, "{:<14}{}", "rules", left.rules)
    }
}

/// Wraps words into lines of at most 80 characters, with the column of names.
fn wrapped(words: &[&str]) -> Vec<String> {
    const WIDTH: usize = 66;
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + 2 + word.len() <= WIDTH => {
                line.push_str(", ");
                line.push_str(word);
            }
            Some(_) | None => lines.push((*word).to_owned()),
        }
    }
    lines
}
