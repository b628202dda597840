//! Checks, applies and rolls back a policy file.

use orion_domain::Hint;
use orion_wire::v1;
use serde::Serialize;

use super::shown;
use crate::app::App;
use crate::client::Client;
use crate::failure::Failure;
use crate::input;
use crate::output::GOOD;
use crate::show::{DeviceChangeView, FindingView, VersionView, changes_text, findings_text};
use crate::terminal;

/// The exit code for a file that does not load.
const NOT_VALID: u8 = 1;

/// The findings and changes of a file, for programs.
#[derive(Debug, Serialize)]
struct CheckView {
    is_valid: bool,
    findings: Vec<FindingView>,
    changes: Vec<DeviceChangeView>,
    active_version: i64,
}

/// The result of applying a file, for programs.
#[derive(Debug, Serialize)]
struct PutView {
    is_applied: bool,
    findings: Vec<FindingView>,
    changes: Vec<DeviceChangeView>,
    version: Option<VersionView>,
}

/// Runs `orion policy check FILE --offline`.
pub(super) fn check_offline(app: &App<'_>, file: &str) -> Result<u8, Failure> {
    let text = input::document(file)?;
    let environment = orion_policy::LintContext {
        now_ms: Some(jiff::Timestamp::now().as_millisecond()),
        ..orion_policy::LintContext::default()
    };
    let (policy, findings) = orion_policy::check(&text, shown(file), &environment);
    let view = CheckView {
        is_valid: policy.is_some(),
        findings: findings.iter().map(FindingView::from).collect(),
        changes: Vec::new(),
        active_version: 0,
    };
    app.out.show(&view, || findings_text(shown(file), &view.findings))?;
    verdict(app, file, &view);
    Ok(if view.is_valid { 0 } else { NOT_VALID })
}

fn verdict(app: &App<'_>, file: &str, view: &CheckView) {
    let errors = view.findings.iter().filter(|it| it.severity == "error").count();
    let warnings = view.findings.len() - errors;
    let count = |number: usize, what: &str| match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    };
    let sums = format!("{}, {}", count(errors, "error"), count(warnings, "warning"));
    if view.is_valid {
        app.out.note(&format!("{GOOD}✓{GOOD:#} {} would load: {sums}", shown(file)));
    } else {
        app.out.error_line(&format!("{} would not load: {sums}", shown(file)));
        app.out.step(&Hint::run(
            "correct it, and check it again",
            format!("orion policy check {file}"),
        ));
    }
}

async fn checked(client: &Client, text: String) -> Result<CheckView, Failure> {
    let request = v1::CheckPolicyRequest { text };
    let v1::CheckPolicyResponse { is_valid, findings, changes, active_version } =
        client.ask(client.policy().check_policy(request)).await?;
    Ok(CheckView {
        is_valid,
        findings: findings.into_iter().map(FindingView::from).collect(),
        changes: changes.into_iter().map(DeviceChangeView::from).collect(),
        active_version,
    })
}

/// Prints what is wrong with a file and what it would change, above the question whether to apply it.
fn print(app: &App<'_>, what: &str, seen: &CheckView) {
    for part in [findings_text(what, &seen.findings), changes_text(&seen.changes)] {
        if !part.is_empty() {
            app.out.error_line(&part);
        }
    }
}

/// Runs `orion policy check FILE`.
pub(super) async fn check(app: &App<'_>, client: &Client, file: &str) -> Result<u8, Failure> {
    let view = checked(client, input::document(file)?).await?;
    app.out.show(&view, || {
        let mut parts = vec![findings_text(shown(file), &view.findings)];
        if view.is_valid {
            parts.push(changes_text(&view.changes));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    })?;
    verdict(app, file, &view);
    Ok(if view.is_valid { 0 } else { NOT_VALID })
}

/// Runs `orion policy apply FILE`.
pub(super) async fn apply(
    app: &App<'_>,
    client: &Client,
    file: &str,
    note: String,
) -> Result<u8, Failure> {
    let text = input::document(file)?;
    let seen = checked(client, text.clone()).await?;
    let is_asked = seen.is_valid && !app.yes && terminal::is_interactive();
    if is_asked {
        print(app, shown(file), &seen);
        let question = format!("Apply {} after version {}?", shown(file), seen.active_version);
        if !terminal::confirm(&question).await? {
            let check = format!("orion policy check {file}");
            return Err(Failure::Conflict("nothing was applied".to_owned())
                .hint(Hint::run("see again what it would change", check)));
        }
    }
    // A file with errors is sent too: the audit log records the attempt.
    let request = v1::ApplyPolicyRequest { text, expected_version: seen.active_version, note };
    let v1::ApplyPolicyResponse { is_applied, findings, changes, version } =
        client.ask(client.policy().apply_policy(request)).await?;
    let view = PutView {
        is_applied,
        findings: findings.into_iter().map(FindingView::from).collect(),
        changes: changes.into_iter().map(DeviceChangeView::from).collect(),
        version: version.map(VersionView::from),
    };
    report(app, (shown(file), shown(file)), &view, is_asked)
}

/// Runs `orion policy rollback VERSION`.
pub(super) async fn roll_back(
    app: &App<'_>,
    client: &Client,
    version: i64,
    note: String,
) -> Result<u8, Failure> {
    let is_asked = !app.yes && terminal::is_interactive();
    if is_asked {
        let older =
            client.ask(client.policy().get_policy(v1::GetPolicyRequest { version })).await?;
        print(app, &format!("version {version}"), &checked(client, older.text).await?);
        let question = format!("Apply version {version} again on every device?");
        if !terminal::confirm(&question).await? {
            return Err(Failure::Conflict("nothing was changed".to_owned())
                .hint(Hint::run("compare the versions", format!("orion policy diff {version}"))));
        }
    }
    let request = v1::ListPolicyVersionsRequest {};
    let versions = client.ask(client.policy().list_policy_versions(request)).await?.versions;
    let before = versions.iter().map(|version| version.version).max();
    let request = v1::RollbackPolicyRequest { version, note };
    let v1::RollbackPolicyResponse { is_applied, findings, changes, version: held } =
        client.ask(client.policy().rollback_policy(request)).await?;
    let view = PutView {
        is_applied,
        findings: findings.into_iter().map(FindingView::from).collect(),
        changes: changes.into_iter().map(DeviceChangeView::from).collect(),
        version: held.map(VersionView::from),
    };
    let held = view.version.as_ref().map(|version| version.version);
    if view.is_applied && held.is_some() && held == before {
        app.out.show(&view, String::new)?;
        let held = held.unwrap_or_default();
        let same = if held == version { "" } else { " with the same text" };
        app.out.note(&format!("version {held}{same} is active already; nothing changed"));
        return Ok(0);
    }
    report(app, (&format!("version {version}"), "FILE"), &view, is_asked)
}

/// Prints what became of a policy, and which file to check where it was refused. What it changes `was_shown` with the
/// question.
fn report(
    app: &App<'_>,
    (what, file): (&str, &str),
    view: &PutView,
    was_shown: bool,
) -> Result<u8, Failure> {
    app.out.show(view, || {
        if view.is_applied && was_shown {
            return String::new();
        }
        let mut parts = vec![findings_text(what, &view.findings)];
        if view.is_applied {
            parts.push(changes_text(&view.changes));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    })?;
    let holds = view.version.as_ref().filter(|version| version.version > 0);
    let holds = holds.map_or_else(|| "no policy".to_owned(), |version| version.line(app.out));
    if view.is_applied {
        app.out.note(&format!("{GOOD}✓{GOOD:#} the active policy is {holds}"));
        return Ok(0);
    }
    app.out.error_line(&format!("{what} was not applied; what held before holds on: {holds}"));
    app.out
        .step(&Hint::run("correct it, and check it first", format!("orion policy check {file}")));
    Ok(NOT_VALID)
}
