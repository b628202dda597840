//! `orion devices permissions add` and `remove`: changes single entries of a device's grants.

use std::collections::BTreeSet;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use orion_domain::grants::PathGrant;
use orion_domain::{Access, Capability, Grants, Hint, Profile};

use crate::commands::devices::grant_flags::ProfileName;
use crate::complete;
use crate::failure::Failure;
use crate::text;

/// The entries to add or remove.
#[derive(Debug, Args)]
pub(crate) struct Entries {
    /// The device's name or id
    #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
    pub(super) device: String,
    /// A path, as the device writes it; may be given again
    #[arg(long = "path", value_name = "PATH", required_unless_present_any = ["profile", "tools", "permissions", "apps", "hosts"])]
    paths: Vec<String>,
    /// What may be done at the paths; `add` grants reading when nothing is said, `remove` takes everything
    #[arg(long, value_name = "ACCESS", value_enum, value_delimiter = ',', requires = "paths")]
    access: Vec<AccessName>,
    /// A profile: what the device's tools may do; it takes the place of the one before
    #[arg(long, value_name = "PROFILE", value_enum)]
    profile: Option<ProfileName>,
    /// A tool; may be given again
    #[arg(long = "tool", value_name = "TOOL", add = ArgValueCandidates::new(complete::tools))]
    tools: Vec<String>,
    /// A permission, such as command_execute; may be given again
    #[arg(long = "permission", value_name = "PERMISSION", value_parser = PossibleValuesParser::new(Capability::ALL.map(Capability::as_str)).try_map(|name| permission(&name)), hide_possible_values = true)]
    permissions: Vec<Capability>,
    /// An application; may be given again
    #[arg(long = "app", value_name = "APP")]
    apps: Vec<String>,
    /// A host with its port; may be given again
    #[arg(long = "host", value_name = "HOST:PORT")]
    hosts: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AccessName {
    Read,
    Write,
    Delete,
    /// Write files that can start programs
    Execute,
}

impl From<AccessName> for Access {
    fn from(name: AccessName) -> Self {
        match name {
            AccessName::Read => Self::Read,
            AccessName::Write => Self::Write,
            AccessName::Delete => Self::Delete,
            AccessName::Execute => Self::Execute,
        }
    }
}

fn permission(name: &str) -> Result<Capability, serde_json::Error> {
    serde_json::from_value(name.into())
}

impl Entries {
    fn access(&self) -> BTreeSet<Access> {
        self.access.iter().map(|name| Access::from(*name)).collect()
    }

    /// Returns every entry as it is written.
    pub(super) fn written(&self) -> impl Iterator<Item = &str> {
        let permissions = self.permissions.iter().map(|permission| permission.as_str());
        let lists = [&self.paths, &self.tools, &self.apps, &self.hosts];
        lists.into_iter().flatten().map(String::as_str).chain(permissions)
    }

    /// Returns the grants with these entries.
    ///
    /// # Errors
    /// A tool is added where capabilities decide and nothing lists tools.
    pub(super) fn add_to(&self, mut grants: Grants) -> Result<Grants, Failure> {
        let access = match self.access() {
            named if named.is_empty() => BTreeSet::from([Access::Read]),
            named => named,
        };
        if let Some(profile) = self.profile.map(Profile::from) {
            if grants.tools.is_some() || grants.capabilities.is_some() {
                return Err(
                    self.profile_alone("list tools or permissions, which say more than a profile")
                );
            }
            grants.profile = Some(profile);
        }
        for path in &self.paths {
            match grants.paths.iter_mut().find(|grant| grant.path == *path) {
                Some(grant) => grant.access.extend(&access),
                None => {
                    grants.paths.push(PathGrant { path: path.clone(), access: access.clone() });
                }
            }
        }
        if !self.tools.is_empty() {
            let Some(listed) = grants.tools.as_mut() else { return Err(self.tools_not_listed()) };
            listed.extend(self.tools.iter().cloned());
        }
        if !self.permissions.is_empty() {
            let mut held = self.permissions_of(&grants)?;
            held.extend(&self.permissions);
            grants.capabilities = Some(held);
        }
        grants.apps.extend(self.apps.iter().cloned());
        grants.hosts.extend(self.hosts.iter().cloned());
        Ok(grants)
    }

    /// Returns the grants without these entries.
    ///
    /// # Errors
    /// An entry is not among the grants as it is written.
    pub(super) fn remove_from(&self, mut grants: Grants) -> Result<Grants, Failure> {
        let access = self.access();
        if self.profile.is_some() {
            // Without its profile, a list of tools may allow more than with it.
            return Err(self.profile_alone("keep their profile here, which another one replaces"));
        }
        for path in &self.paths {
            let place = grants.paths.iter().position(|grant| grant.path == *path);
            let entry = place.and_then(|place| grants.paths.get_mut(place).map(|it| (place, it)));
            let Some((place, grant)) = entry else {
                let there = grants.paths.iter().map(|grant| grant.path.as_str());
                return Err(self.not_there("path", path, there));
            };
            grant.access.retain(|held| !access.is_empty() && !access.contains(held));
            if grant.access.is_empty() {
                grants.paths.remove(place);
            }
        }
        if !self.tools.is_empty() {
            let Some(listed) = grants.tools.as_mut() else { return Err(self.tools_not_listed()) };
            self.remove("tool", &self.tools, listed)?;
        }
        if !self.permissions.is_empty() {
            let mut held = self.permissions_of(&grants)?;
            for permission in &self.permissions {
                if !held.remove(permission) {
                    let there: Vec<_> = held.iter().map(ToString::to_string).collect();
                    let there = there.iter().map(String::as_str);
                    return Err(self.not_there("permission", &permission.to_string(), there));
                }
            }
            grants.capabilities = Some(held);
        }
        self.remove("application", &self.apps, &mut grants.apps)?;
        self.remove("host", &self.hosts, &mut grants.hosts)?;
        if !self.hosts.is_empty() && grants.hosts.is_empty() {
            // No list of hosts is no limit.
            return Err(Failure::Conflict(
                "without any host, tools may open every address, which is more than now".to_owned(),
            )
            .hint(
                "add the hosts that may be contacted first, or take the tools or permissions away",
            ));
        }
        Ok(grants)
    }

    /// Returns the permissions that the grants have. Where the listed tools decide them, a list would take others away.
    fn permissions_of(&self, grants: &Grants) -> Result<BTreeSet<Capability>, Failure> {
        grants.effective_capabilities().ok_or_else(|| {
            let device = text::one_line(&self.device, 80);
            Failure::Conflict(format!(
                "the grants of {device} list tools, and these have the permissions that they need"
            ))
            .hint(
                "leave --permission out: a tool that is added brings the permissions that it needs",
            )
        })
    }

    fn remove(
        &self,
        kind: &str,
        entries: &[String],
        granted: &mut BTreeSet<String>,
    ) -> Result<(), Failure> {
        for entry in entries {
            if !granted.remove(entry) {
                return Err(self.not_there(kind, entry, granted.iter().map(String::as_str)));
            }
        }
        Ok(())
    }

    fn not_there<'a>(
        &self,
        kind: &str,
        entry: &str,
        there: impl Iterator<Item = &'a str>,
    ) -> Failure {
        let there: Vec<_> = there.map(|entry| text::one_line(entry, 200)).collect();
        let what = match there.as_slice() {
            [] => format!("it has no {kind}"),
            entries => format!("it has {}", entries.join(", ")),
        };
        let (device, entry) = (text::one_line(&self.device, 80), text::one_line(entry, 200));
        let get = format!("orion devices permissions get {device}");
        Failure::NotFound(format!("the grants of {device} have no {kind} {entry}: {what}"))
            .hint(Hint::run("see all of them", get))
    }

    fn profile_alone(&self, why: &str) -> Failure {
        let device = text::one_line(&self.device, 80);
        let set = format!("orion devices permissions set {device} @FILE");
        Failure::Conflict(format!("the grants of {device} {why}"))
            .hint(Hint::run("write them whole", set))
    }

    fn tools_not_listed(&self) -> Failure {
        let device = text::one_line(&self.device, 80);
        Failure::Conflict(format!(
            "the grants of {device} list no tools: its profile or capabilities decide which tools it has"
        ))
        .hint(Hint::run(
            "write all grants to a file, change it there, and `set` it",
            format!("orion devices permissions get {device} > grants.yaml"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        entries: Entries,
    }

    fn entries(line: &str) -> Entries {
        Line::try_parse_from(format!("edit kiosk {line}").split(' ')).unwrap().entries
    }

    fn grants(value: serde_json::Value) -> Grants {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_is_added_joins_what_is_there() {
        let held = grants(json!({
            "tools": ["read_file"],
            "paths": [{ "path": "~/a", "access": ["read"] }],
        }));
        let line = "--path ~/a --path ~/b --access write --tool write_file --app code --host a:443";
        let expected = grants(json!({
            "tools": ["read_file", "write_file"],
            "paths": [
                { "path": "~/a", "access": ["read", "write"] },
                { "path": "~/b", "access": ["write"] },
            ],
            "apps": ["code"],
            "hosts": ["a:443"],
        }));
        assert_eq!(entries(line).add_to(held.clone()).unwrap(), expected);
        let read = entries("--path ~/b").add_to(held).unwrap();
        assert_eq!(read.paths[1].access, [Access::Read].into());
    }

    #[test]
    fn what_is_removed_leaves_the_rest() {
        let held = grants(json!({
            "tools": ["read_file", "write_file"],
            "paths": ["~/a", "~/b"],
            "apps": ["code"],
        }));
        let line = "--path ~/a --access write,delete --tool write_file --app code";
        let expected = grants(json!({
            "tools": ["read_file"],
            "paths": [{ "path": "~/a", "access": ["read"] }, "~/b"],
        }));
        assert_eq!(entries(line).remove_from(held.clone()).unwrap(), expected);
        let whole = entries("--path ~/a").remove_from(held.clone()).unwrap();
        assert_eq!(whole.paths, grants(json!({ "paths": ["~/b"] })).paths);
        let missing = entries("--path ~/c").remove_from(held).unwrap_err();
        assert_eq!(missing.to_string(), "the grants of kiosk have no path ~/c: it has ~/a, ~/b");
    }

    #[test]
    fn a_permission_joins_those_of_the_profile_and_leaves_the_others() {
        let held = grants(json!({ "profile": "reader" }));
        let more = entries("--permission command_execute").add_to(held.clone()).unwrap();
        assert_eq!(more.profile, held.profile);
        let of_profile = held.effective_capabilities().unwrap();
        let expected = of_profile.iter().copied().chain([Capability::CommandExecute]).collect();
        assert_eq!(more.capabilities, Some(expected));
        let less = entries("--permission command_execute").remove_from(more).unwrap();
        assert_eq!(less.capabilities, Some(of_profile));
        let missing = entries("--permission command_execute").remove_from(less).unwrap_err();
        assert_eq!(missing.exit_code(), 3);
        assert!(Line::try_parse_from(["edit", "kiosk", "--permission", "fly"]).is_err());
        let listed = grants(json!({ "tools": ["read_file"] }));
        let refused = entries("--permission command_execute").add_to(listed).unwrap_err();
        assert_eq!(refused.exit_code(), 9);
    }

    #[test]
    fn tools_are_neither_added_nor_removed_where_none_are_listed() {
        let held = grants(json!({ "profile": "reader" }));
        for edited in [
            entries("--tool read_file").add_to(held.clone()),
            entries("--tool read_file").remove_from(held.clone()),
        ] {
            assert_eq!(edited.unwrap_err().exit_code(), 9);
        }
    }

    #[test]
    fn the_last_host_stays_because_no_list_is_no_limit() {
        let held = grants(json!({ "hosts": ["a:443", "b:443"] }));
        let rest = entries("--host a:443").remove_from(held).unwrap();
        assert_eq!(rest, grants(json!({ "hosts": ["b:443"] })));
        assert_eq!(entries("--host b:443").remove_from(rest).unwrap_err().exit_code(), 9);
    }

    #[test]
    fn a_command_without_entries_is_refused() {
        assert!(Line::try_parse_from(["edit", "kiosk"]).is_err());
        assert!(Line::try_parse_from(["edit", "kiosk", "--access", "read"]).is_err());
    }
}
