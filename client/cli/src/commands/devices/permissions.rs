//! `orion devices permissions`: reads, compares, changes and replaces a device's grants.

mod edit;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use orion_domain::{Grants, Hint};
use orion_wire::v1;
use serde::Serialize;
use serde_json::Value;
use similar::TextDiff;

use self::edit::Entries;
use super::grants::{note_no_tool, read_grants, to_json};
use crate::app::App;
use crate::client::Client;
use crate::complete;
use crate::failure::Failure;
use crate::json;
use crate::output::{GOOD, to_yaml};
use crate::text;

/// The permissions of a device.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion devices permissions add laptop-123 --path '~/Projects' --access read,write
  orion devices permissions get laptop-123 > grants.yaml
  orion devices permissions diff laptop-123 @grants.yaml
  orion devices permissions set laptop-123 @grants.yaml --expected 0123456789abcdef")]
pub(crate) struct Permissions {
    #[command(subcommand)]
    what: PermissionsCommand,
}

#[derive(Debug, Subcommand)]
enum PermissionsCommand {
    /// Print the grants, in the form that `set` takes
    #[command(after_help = "Example:\n  orion devices permissions get laptop-123 -o json")]
    Get {
        /// The device's name or id
        #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: String,
    },
    /// Add single entries, and leave the others as they are
    #[command(after_help = "\
Examples:
  orion devices permissions add laptop-123 --path '~/Projects' --access read,write
  orion devices permissions add laptop-123 --app code")]
    Add(Entries),
    /// Remove single entries, and leave the others as they are
    #[command(after_help = "\
Examples:
  orion devices permissions remove laptop-123 --path '~/Projects'
  orion devices permissions remove laptop-123 --path '~/Projects' --access delete")]
    Remove(Entries),
    /// Replace the grants
    #[command(after_help = "Example:\n  orion devices permissions set laptop-123 @grants.yaml")]
    Set {
        /// The device's name or id
        #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: String,
        /// The grants, JSON or YAML; - for standard input
        #[arg(value_name = "@FILE|JSON")]
        grants: String,
        /// Refuse where another version has come since this one was read
        #[arg(long, value_name = "VERSION")]
        expected: Option<String>,
    },
    /// Show what `set` would change
    #[command(after_help = "Example:\n  orion devices permissions diff laptop-123 @grants.yaml")]
    Diff {
        /// The device's name or id
        #[arg(value_name = "DEVICE", add = ArgValueCandidates::new(complete::devices))]
        device: String,
        /// The grants, JSON or YAML; - for standard input
        #[arg(value_name = "@FILE|JSON")]
        grants: String,
    },
}

/// A device's grants for programs.
#[derive(Debug, Serialize)]
struct PermissionsView {
    grants: Value,
    version: String,
    acknowledged_version: String,
    ceiling: Value,
    policy_source: String,
}

/// The changes of `set` for programs.
#[derive(Debug, Serialize)]
struct Difference {
    version: String,
    before: Value,
    after: Value,
    changed: bool,
}

impl Permissions {
    /// Returns the device's name or id as written.
    pub(crate) fn device(&self) -> &str {
        match &self.what {
            PermissionsCommand::Get { device }
            | PermissionsCommand::Add(Entries { device, .. })
            | PermissionsCommand::Remove(Entries { device, .. })
            | PermissionsCommand::Set { device, .. }
            | PermissionsCommand::Diff { device, .. } => device,
        }
    }

    /// Runs the command.
    ///
    /// # Errors
    /// There is no such device, the grants or entries are invalid, another version was applied in between, or
    /// the backend fails.
    pub(crate) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        match self.what {
            PermissionsCommand::Get { device } => {
                let permissions = get(client, device).await?;
                let yaml = to_yaml(&permissions.grants)?;
                app.out.note(&status(&permissions));
                app.out.show(&permissions, || text::plain(yaml.trim_end()))?;
            }
            PermissionsCommand::Set { device, grants, expected } => {
                let expected = expected.unwrap_or_default();
                set(app, client, device, &read_grants(&grants)?, expected).await?;
            }
            PermissionsCommand::Add(entries) => {
                edit(app, client, &entries, |held| entries.add_to(held)).await?;
                note_ceiling(app, client, &entries).await;
            }
            PermissionsCommand::Remove(entries) => {
                edit(app, client, &entries, |held| entries.remove_from(held)).await?;
            }
            PermissionsCommand::Diff { device, grants } => {
                let new = read_grants(&grants)?;
                let permissions = get(client, device).await?;
                let old: Grants = serde_json::from_value(permissions.grants).unwrap_or_default();
                let text = difference(&to_yaml(&old)?, &to_yaml(&new)?);
                let as_value = |grants: &Grants| {
                    serde_json::to_value(grants)
                        .map_err(|error| Failure::Failed(format!("cannot be shown: {error}")))
                };
                let difference = Difference {
                    version: permissions.version,
                    before: as_value(&old)?,
                    after: as_value(&new)?,
                    changed: old != new,
                };
                if !difference.changed {
                    app.out.note("nothing would change");
                }
                app.out.show(&difference, || text::plain(text.trim_end()))?;
            }
        }
        Ok(0)
    }
}

async fn set(
    app: &App<'_>,
    client: &Client,
    device: String,
    grants: &Grants,
    expected_version: String,
) -> Result<(), Failure> {
    replace(client, device.clone(), grants, expected_version).await?;
    show(app, client, device).await
}

async fn replace(
    client: &Client,
    device: String,
    grants: &Grants,
    expected_version: String,
) -> Result<(), Failure> {
    let grants = to_json(grants)?;
    let request = v1::SetDevicePermissionsRequest { device, grants, expected_version };
    client.ask(client.policy().set_device_permissions(request)).await?;
    Ok(())
}

async fn show(app: &App<'_>, client: &Client, device: String) -> Result<(), Failure> {
    let permissions = get(client, device).await?;
    app.out.note(&format!("{GOOD}✓{GOOD:#} {}", status(&permissions)));
    app.out.show(&permissions, String::new)
}

/// Changes the grants that the device has, and says how; another change in between is not overwritten.
async fn edit(
    app: &App<'_>,
    client: &Client,
    entries: &Entries,
    change: impl FnOnce(Grants) -> Result<Grants, Failure>,
) -> Result<(), Failure> {
    let PermissionsView { grants, version, .. } = get(client, entries.device.clone()).await?;
    let held: Grants = serde_json::from_value(grants)
        .map_err(|error| Failure::Failed(format!("the grants cannot be read: {error}")))?;
    let edited = change(held.clone())?;
    if edited == held {
        app.out.note("these entries are there already; nothing changed");
        return Ok(());
    }
    replace(client, entries.device.clone(), &edited, version).await?;
    for line in orion_policy::diff_grants(&held, &edited) {
        app.out.note(&text::one_line(&line, 400));
    }
    show(app, client, entries.device.clone()).await?;
    note_no_tool(app, &entries.device, &edited);
    Ok(())
}

/// Says which of the entries have no effect because the device's owner allows less.
/// The change is made, so a review that fails is left out.
async fn note_ceiling(app: &App<'_>, client: &Client, entries: &Entries) {
    let request = v1::ReviewDeviceRequest { device: entries.device.clone() };
    let Ok(review) = client.ask(client.devices().review_device(request)).await else { return };
    for grant in review.grants.iter().filter(|grant| grant.server && !grant.ceiling) {
        let is_one =
            |entry: &str| grant.entry == entry || grant.entry.starts_with(&format!("{entry} ("));
        if entries.written().any(is_one) {
            let (kind, entry) = (&grant.kind, text::one_line(&grant.entry, 200));
            app.out.step(&Hint::new(format!(
                "the ceiling of {} does not allow the {kind} {entry}, so this has no effect until the device's owner allows it",
                text::one_line(&entries.device, 80)
            )));
        }
    }
}

async fn get(client: &Client, device: String) -> Result<PermissionsView, Failure> {
    let request = v1::GetDevicePermissionsRequest { device };
    let answer = client.ask(client.policy().get_device_permissions(request)).await?;
    let v1::GetDevicePermissionsResponse {
        grants,
        version,
        acknowledged_version,
        ceiling,
        policy_source,
    } = answer;
    Ok(PermissionsView {
        grants: json::embedded(&grants),
        version,
        acknowledged_version,
        ceiling: json::embedded(&ceiling),
        policy_source,
    })
}

fn status(permissions: &PermissionsView) -> String {
    let PermissionsView { version, acknowledged_version, policy_source, .. } = permissions;
    let there = if version == acknowledged_version {
        "active on the device"
    } else {
        "not yet acknowledged by the device"
    };
    if policy_source.is_empty() {
        format!("version {version}, {there}")
    } else {
        format!("version {version}, {there}; they are part of the policy, {policy_source}")
    }
}

fn difference(old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().header("on the device", "new").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_read_as_yaml_and_json_and_unknown_keys_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = folder.path().join("grants");
            std::fs::write(&path, text).unwrap();
            read_grants(&format!("@{}", path.display()))
        };
        let yaml = read("profile: reader\npaths: [~/a]\n").unwrap();
        assert_eq!(yaml, read(r#"{"profile":"reader","paths":["~/a"]}"#).unwrap());
        assert_eq!(read("profiles: reader").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_difference_shows_lines_with_their_signs() {
        insta::assert_snapshot!(
            difference("profile: reader\napps:\n- code\n", "profile: operator\napps:\n- code\n"),
            @"
            --- on the device
            +++ new
            @@ -1,3 +1,3 @@
            -profile: reader
            +profile: operator
             apps:
             - code
            "
        );
    }
}
