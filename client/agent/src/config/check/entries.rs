//! Checks the tools, capabilities, applications and hosts of a ceiling.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orion_domain::Capability;
use orion_domain::services::Service;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Findings, did_you_mean, get, list, shown};
use crate::apps::Apps;

/// Checks the tools, capabilities, services, logs and hosts.
pub(super) fn check(ceiling: &DeTable<'_>, findings: &mut Findings<'_>) {
    if let Some(tools) = get(ceiling, &["tools", "allowed_tools"]) {
        for (name, _) in tools.table().into_iter().flatten() {
            tool(name.get_ref(), name.span().start, findings);
        }
        for entry in tools.items() {
            if let Some(name) = entry.text("name") {
                tool(name, entry.at, findings);
            }
        }
    }
    for entry in list(ceiling, &["capabilities", "permissions"]) {
        let Some(word) = entry.text("") else { continue };
        let known = || Capability::ALL.iter().map(|it| it.as_str());
        if !known().any(|it| it == word) {
            let message = format!("`{}` is no permission.", shown(word));
            findings.error(entry.at, "unknown-permission", message, did_you_mean(word, known()));
        }
    }
    let services = list(ceiling, &["services", "allowed_services"]);
    for entry in services.into_iter().chain(list(ceiling, &["logs", "allowed_logs"])) {
        let texts = ["unit", "container", "compose"].map(|key| entry.under(key));
        let [unit, container, compose] = texts.each_ref().map(|it| it.as_ref()?.text(""));
        let of_entry = entry.text("").filter(|_| entry.table().is_none());
        let service = of_entry
            .and_then(Service::parse)
            .or_else(|| Service::unit(unit?))
            .or_else(|| Service::container(container?))
            .or_else(|| Service::compose(compose?));
        if service.is_none() {
            let hint = "Write \"nginx.service\", { container = \"pihole\" } or { compose = \"homelab/grafana\" }.";
            findings.error(entry.at, "bad-value", "This entry names no service.", hint);
        }
    }
    for entry in list(ceiling, &["hosts", "allowed_hosts"]) {
        let Some(host) = entry.text("") else { continue };
        let fits = host.rsplit_once(':').is_some_and(|(host, port)| {
            !host.is_empty()
                && !host.contains(['/', '@', ' '])
                && port.parse::<u16>().is_ok_and(|port| port > 0)
        });
        if !fits {
            let message = format!("`{}` is not a host with a port.", shown(host));
            findings.error(entry.at, "bad-value", message, "Write api.example.com:443.");
        }
    }
}

fn tool(name: &str, at: usize, findings: &mut Findings<'_>) {
    match orion_catalog::find(name) {
        Some((_, None)) => {}
        Some((spec, Some(_))) => {
            let message = format!("`{}` is another name of {}.", shown(name), spec.name);
            findings.error(at, "tool-alias", message, format!("Write `{}`.", spec.name));
        }
        None => {
            let near = orion_catalog::nearest(name);
            let hint = near.first().map(|near| format!("Did you mean `{near}`?"));
            let message = format!("There is no tool `{}`.", shown(name));
            findings.error(at, "unknown-tool", message, hint.unwrap_or_default());
        }
    }
}

/// Checks the applications that `[ceiling]` lists, and those that `[apps]` binds to a program.
pub(super) fn apps(root: &DeTable<'_>, findings: &mut Findings<'_>) {
    let ceiling = get(root, &["ceiling"]).and_then(|it| it.table());
    let listed = ceiling.map(|it| list(it, &["apps", "allowed_apps"])).unwrap_or_default();
    let names: Vec<(usize, &str)> =
        listed.iter().filter_map(|entry| Some((entry.at, entry.text("")?))).collect();
    let bound = get(root, &["apps"]).and_then(|it| it.table());
    let bound: BTreeMap<&str, (usize, &Path)> =
        bound.into_iter().flatten().filter_map(|(name, path)| self::bound(name, path)).collect();
    let explicit: BTreeMap<String, PathBuf> =
        bound.iter().map(|(name, (_, path))| ((*name).to_owned(), (*path).to_owned())).collect();
    let (found, bad) = Apps::discover(names.iter().map(|(_, name)| *name), &explicit);
    for entry in bad {
        let at = bound.get(entry.name.as_str()).map_or(0, |(at, _)| *at);
        let message = format!("`{}` is bound to {}, which {}.", entry.name, entry.path, entry.why);
        findings.error(at, "bad-app", message, "Write the whole path of the program.");
    }
    for (name, (at, _)) in &bound {
        if !names.iter().any(|(_, listed)| listed == name) {
            let message = format!("`{}` is bound and not listed.", shown(name));
            let hint = "List it under apps in [ceiling], or nobody can open it.";
            findings.warn(*at, "not-listed", message, hint);
        }
    }
    for (at, name) in names {
        if !bound.contains_key(name)
            && let Err(error) = found.get(name)
        {
            findings.warn(at, "not-installed", error.message, "");
        }
    }
}

fn bound<'a>(
    name: &'a Spanned<std::borrow::Cow<'a, str>>,
    path: &'a Spanned<DeValue<'a>>,
) -> Option<(&'a str, (usize, &'a Path))> {
    let DeValue::String(path) = path.get_ref() else { return None };
    Some((name.get_ref().as_ref(), (name.span().start, Path::new(path.as_ref()))))
}
