//! The versions of the policy file.

use orion_domain::Hint;
use orion_policy::{Change, PolicyFile};
use orion_wire::v1;
use serde::Serialize;
use similar::TextDiff;

use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{BAD, GOOD};
use crate::show::{
    FindingView, OnDeviceView, VersionView, findings_text, found_there, on_devices_table,
    versions_table,
};
use crate::text;

/// The name of the file in the source of rules.
const FILE: &str = "policy.yaml";

/// A version with its text, for programs.
#[derive(Debug, Serialize)]
struct PolicyView {
    #[serde(flatten)]
    version: VersionView,
    text: String,
    unreadable: Vec<FindingView>,
    devices: Vec<OnDeviceView>,
}

/// The difference between two versions, for programs.
#[derive(Debug, Serialize)]
struct Difference {
    from: i64,
    to: i64,
    changes: Vec<Change>,
    text: String,
}

async fn get(client: &Client, version: i64) -> Result<PolicyView, Failure> {
    let request = v1::GetPolicyRequest { version };
    let v1::GetPolicyResponse { version, text, unreadable, devices } =
        client.ask(client.policy().get_policy(request)).await?;
    Ok(PolicyView {
        version: version.unwrap_or_default().into(),
        text,
        unreadable: unreadable.into_iter().map(FindingView::from).collect(),
        devices: devices.into_iter().map(OnDeviceView::from).collect(),
    })
}

/// Runs `orion policy show`.
pub(super) async fn show(
    app: &App<'_>,
    client: &Client,
    version: Option<i64>,
) -> Result<u8, Failure> {
    let policy = get(client, version.unwrap_or(0)).await?;
    let mark = if policy.version.active { format!("{GOOD}✓{GOOD:#} ") } else { String::new() };
    app.out.note(&format!("{mark}{}", policy.version.line(app.out)));
    if !policy.unreadable.is_empty() {
        app.out.error_line(&format!(
            "{BAD}This policy cannot be read, so every call is denied.{BAD:#} Apply another, or go back with `orion policy rollback`."
        ));
        app.out.error_line(&findings_text(FILE, &policy.unreadable));
    }
    if app.out.is_for_people() && !policy.devices.is_empty() {
        app.out.note(&on_devices_table(&policy.devices));
        let found = found_there(&policy.devices);
        if !found.is_empty() {
            app.out.note(&found);
        }
    }
    app.out.show(&policy, || text::plain(policy.text.trim_end()))?;
    Ok(0)
}

async fn list(client: &Client) -> Result<Vec<VersionView>, Failure> {
    let request = v1::ListPolicyVersionsRequest {};
    let list = client.ask(client.policy().list_policy_versions(request)).await?;
    Ok(list.versions.into_iter().map(VersionView::from).collect())
}

/// Runs `orion policy history`.
pub(super) async fn history(app: &App<'_>, client: &Client) -> Result<u8, Failure> {
    let versions = list(client).await?;
    if versions.is_empty() {
        app.out.next("no policy was ever applied; `orion policy apply FILE` makes the first");
    }
    app.out.show(&versions, || versions_table(app.out, &versions))?;
    Ok(0)
}

/// Runs `orion policy diff [A] [B]`.
pub(super) async fn diff(
    app: &App<'_>,
    client: &Client,
    from: Option<i64>,
    to: Option<i64>,
) -> Result<u8, Failure> {
    let last = list(client).await?.first().map_or(0, |version| version.version);
    let to = to.unwrap_or(last);
    let from = from.unwrap_or(to - 1);
    if from < 1 || to < 1 {
        let message = "there are no two versions of the policy yet to compare".to_owned();
        return Err(Failure::NotFound(message)
            .hint(Hint::run("list the versions there are", "orion policy history"))
            .hint(Hint::run("make the next one", "orion policy apply FILE")));
    }
    let (old, new) = (get(client, from).await?, get(client, to).await?);
    let read = |text: &str| PolicyFile::parse(text, FILE).0;
    let changes = match (read(&old.text), read(&new.text)) {
        (Some(old), Some(new)) => orion_policy::diff(&old, &new),
        (None, _) | (_, None) => Vec::new(),
    };
    let text = TextDiff::from_lines(&old.text, &new.text)
        .unified_diff()
        .header(&format!("version {from}"), &format!("version {to}"))
        .to_string();
    let difference = Difference { from, to, changes, text };
    if difference.text.is_empty() {
        app.out.note("the two are the same");
    }
    for change in &difference.changes {
        app.out.note(&text::one_line(&change.to_string(), 400));
    }
    app.out.show(&difference, || text::plain(difference.text.trim_end()))?;
    Ok(0)
}
