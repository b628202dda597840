//! The options that describe the first grants and labels of a device, of every command that lets one in.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use orion_domain::grants::PathGrant;
use orion_domain::{Access, Grants, Profile};

use super::grants::{read_grants, to_json};
use crate::failure::Failure;

/// The first grants and labels of a device.
#[derive(Debug, Args)]
pub(crate) struct GrantFlags {
    /// A first set of permissions
    #[arg(long, value_enum)]
    profile: Option<ProfileName>,
    /// A path to grant, as the device writes it; may be given again. Without --profile and --tool, its files may be
    /// read, written and deleted (operator)
    #[arg(long = "path", value_name = "PATH", value_parser = path_on_a_device)]
    paths: Vec<String>,
    /// A tool to grant, and no others; may be given again
    #[arg(long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    /// An application to grant; may be given again
    #[arg(long = "app", value_name = "APP")]
    apps: Vec<String>,
    /// The grants as a file, JSON or YAML, instead of the four above
    #[arg(long, value_name = "@FILE|JSON", conflicts_with_all = ["profile", "paths", "tools", "apps"])]
    grants: Option<String>,
    /// A label by which rules of the policy select the device, such as env=prod; may be given again
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ProfileName {
    /// Reads files and facts
    Reader,
    /// Reads, writes, deletes, opens applications
    Operator,
    /// An operator who also runs commands and developer tools
    Developer,
    /// An operator who also manages services
    Homelab,
    /// An operator whose every change is previewed and approved
    Strict,
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Reader => Self::Reader,
            ProfileName::Operator => Self::Operator,
            ProfileName::Developer => Self::Developer,
            ProfileName::Homelab => Self::Homelab,
            ProfileName::Strict => Self::Strict,
        }
    }
}

impl GrantFlags {
    /// Returns the grants as JSON, as the API takes them; empty for none.
    ///
    /// # Errors
    /// The grants cannot be read.
    pub(crate) fn to_json(&self) -> Result<String, Failure> {
        let grants = match &self.grants {
            Some(given) => Some(read_grants(given)?),
            None => self.flags(),
        };
        Ok(grants.map(|grants| to_json(&grants)).transpose()?.unwrap_or_default())
    }

    /// Returns the grants that the flags describe; `None` without flags.
    fn flags(&self) -> Option<Grants> {
        let Self { profile, paths, tools, apps, .. } = self;
        if profile.is_none() && paths.is_empty() && tools.is_empty() && apps.is_empty() {
            return None;
        }
        let every = BTreeSet::from([Access::Read, Access::Write, Access::Delete]);
        Some(Grants {
            // Paths without a capability would grant nothing.
            profile: match profile {
                None if tools.is_empty() && !paths.is_empty() => Some(Profile::Operator),
                profile => profile.map(Profile::from),
            },
            tools: (!tools.is_empty()).then(|| tools.iter().cloned().collect()),
            paths: paths
                .iter()
                .map(|path| PathGrant { path: path.clone(), access: every.clone() })
                .collect(),
            apps: apps.iter().cloned().collect(),
            ..Grants::default()
        })
    }
}

/// Checks that a path is whole: the device does not know where a relative one begins.
fn path_on_a_device(text: &str) -> Result<String, String> {
    let has_drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2).is_some();
    if text == "~" || text.starts_with(['/', '\\']) || text.starts_with("~/") || has_drive {
        return Ok(text.to_owned());
    }
    Err(format!("write the whole path, such as `~/{text}` or `/home/ann/{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;
    use serde_json::json;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: GrantFlags,
    }

    fn grants(line: &[&str]) -> Option<serde_json::Value> {
        let line = Line::try_parse_from(std::iter::once(&"invite").chain(line)).unwrap();
        line.flags.flags().map(|grants| serde_json::to_value(grants).unwrap())
    }

    #[test]
    fn flags_become_grants_and_nothing_lends_nothing() {
        assert_eq!(grants(&[]), None);
        assert_eq!(
            grants(&["--profile", "operator", "--path", "~/a", "--path", "C:/b", "--app", "code"]),
            Some(json!({
                "profile": "operator",
                "paths": [
                    {"path": "~/a", "access": ["read", "write", "delete"]},
                    {"path": "C:/b", "access": ["read", "write", "delete"]},
                ],
                "apps": ["code"],
            }))
        );
        assert_eq!(
            grants(&["--path", "/srv"]),
            Some(json!({
                "profile": "operator",
                "paths": [{"path": "/srv", "access": ["read", "write", "delete"]}],
            }))
        );
        for relative in ["files", "./files", "../files", "~ann/files", "C:"] {
            let refused = Line::try_parse_from(["invite", "--path", relative]).unwrap_err();
            assert!(refused.to_string().contains("write the whole path"), "{refused}");
        }
        assert_eq!(grants(&["--tool", "read_file"]), Some(json!({"tools": ["read_file"]})));
        assert_eq!(grants(&["--profile", "strict"]), Some(json!({"profile": "strict"})));
    }
}
