//! `orion policy test`: evaluates recorded calls with another policy file.

use std::time::Duration;

use clap::{Args, ValueEnum};
use orion_wire::v1;
use serde::Serialize;

use super::shown;
use crate::app::App;
use crate::client::{Client, within};
use crate::commands::tokens::days;
use crate::failure::Failure;
use crate::input;
use crate::output::{Output, facts, table};
use crate::show::{FindingView, findings_text};
use crate::text;

/// The timeout of an evaluation; 100,000 calls take a few seconds.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Evaluates recorded calls by a file and by the active policy, and shows the differences.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion policy test policy.yaml --since 30d
  orion policy test policy.yaml --fail-on any -o json

Ends with 1 where something comes to what --fail-on names: `denied`, calls that ran or asked and would
be denied; `allowed`, calls that were denied or asked and would run, or ask; `any`, anything different.")]
pub(super) struct Test {
    /// The file; - for standard input
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: String,
    /// Calls made since: 12h, 30d, 8w
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = days)]
    since: Duration,
    /// What ends the command with 1
    #[arg(long, value_enum, default_value = "denied")]
    fail_on: FailOn,
}

/// What is a failure, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Something would be denied that was not
    Denied,
    /// Something would be held less strictly
    Allowed,
    /// Anything would be different
    Any,
    /// Nothing
    Never,
}

/// The differences for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Default, Serialize)]
struct TestView {
    calls: u64,
    allowed_to_denied: u64,
    denied_to_allowed: u64,
    denied_to_ask: u64,
    would_now_ask: u64,
    would_no_longer_ask: u64,
    unchanged: u64,
    not_evaluated: u64,
    approvals_per_week_before: f64,
    approvals_per_week_after: f64,
    evaluated_since: i64,
    took_us: u64,
    logged: Vec<LoggedView>,
    samples: Vec<SampleView>,
}

/// What a rule that only logs would do.
#[derive(Debug, Serialize)]
struct LoggedView {
    rule: String,
    would: String,
    calls: u64,
}

impl From<v1::LoggedRule> for LoggedView {
    fn from(v1::LoggedRule { rule, would, calls }: v1::LoggedRule) -> Self {
        Self { rule, would, calls }
    }
}

#[derive(Debug, Serialize)]
struct SampleView {
    call_id: String,
    device: String,
    tool: String,
    user: String,
    before: String,
    after: String,
    rule: String,
    recorded: String,
    at: i64,
}

impl From<v1::PolicySample> for SampleView {
    fn from(sample: v1::PolicySample) -> Self {
        let v1::PolicySample { call_id, device, tool, user, before, after, rule, recorded, at } =
            sample;
        Self { call_id, device, tool, user, before, after, rule, recorded, at }
    }
}

impl Test {
    /// Runs the command.
    ///
    /// # Errors
    /// The file cannot be read, or the backend rejects it.
    pub(super) async fn run(self, app: &App<'_>, client: &Client) -> Result<u8, Failure> {
        let Self { file, since, fail_on } = self;
        let ago = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        let since = jiff::Timestamp::now().as_millisecond().saturating_sub(ago);
        let request = v1::TestPolicyRequest { text: input::document(&file)?, since };
        let limit = app.timeout.unwrap_or(TEST_TIMEOUT);
        let answer = within(limit, client.policy().test_policy(request)).await?;
        if !answer.findings.is_empty() {
            let findings: Vec<_> = answer.findings.into_iter().map(FindingView::from).collect();
            app.out.show(&findings, || findings_text(shown(&file), &findings))?;
            let what = format!("{} would not load, so nothing was evaluated", shown(&file));
            return Err(Failure::Usage(what));
        }
        let view = view(answer);
        app.out.show(&view, || people(app.out, &view))?;
        Ok(u8::from(view.fails(fail_on)))
    }
}

fn view(answer: v1::TestPolicyResponse) -> TestView {
    let v1::TestPolicyResponse {
        findings: _,
        calls,
        allowed_to_denied,
        denied_to_allowed,
        denied_to_ask,
        would_now_ask,
        would_no_longer_ask,
        unchanged,
        not_evaluated,
        approvals_per_week_before,
        approvals_per_week_after,
        samples,
        evaluated_since,
        took_us,
        logged,
    } = answer;
    TestView {
        calls,
        allowed_to_denied,
        denied_to_allowed,
        denied_to_ask,
        would_now_ask,
        would_no_longer_ask,
        unchanged,
        not_evaluated,
        approvals_per_week_before,
        approvals_per_week_after,
        evaluated_since,
        took_us,
        logged: logged.into_iter().map(LoggedView::from).collect(),
        samples: samples.into_iter().map(SampleView::from).collect(),
    }
}

impl TestView {
    const fn fails(&self, on: FailOn) -> bool {
        match on {
            FailOn::Never => false,
            FailOn::Denied => self.allowed_to_denied > 0,
            FailOn::Allowed => {
                self.denied_to_allowed + self.denied_to_ask + self.would_no_longer_ask > 0
            }
            FailOn::Any => self.unchanged < self.calls,
        }
    }
}

fn people(out: &Output, view: &TestView) -> String {
    let a_week =
        format!("{:.1} → {:.1}", view.approvals_per_week_before, view.approvals_per_week_after);
    let logged = view.logged.iter().map(|LoggedView { rule, would, calls }| {
        format!("{rule} would {would}: {}", text::counted(*calls, "call", "calls"))
    });
    let logged: Vec<_> = logged.collect();
    let sums = facts([
        ("calls", view.calls.to_string()),
        ("allowed → denied", view.allowed_to_denied.to_string()),
        ("denied → allowed", view.denied_to_allowed.to_string()),
        ("would now ask", view.would_now_ask.to_string()),
        ("would no longer ask", view.would_no_longer_ask.to_string()),
        ("unchanged", view.unchanged.to_string()),
        ("not evaluated", view.not_evaluated.to_string()),
        ("approvals a week", a_week),
        ("would log", logged.join("\n")),
        (
            "evaluated since",
            if view.evaluated_since > 0 {
                text::when(&out.zone, view.evaluated_since)
            } else {
                String::new()
            },
        ),
    ]);
    let rows = view.samples.iter().map(|sample| {
        vec![
            text::short_id(&sample.call_id).to_owned(),
            sample.device.clone(),
            sample.tool.clone(),
            sample.user.clone(),
            format!("{} → {}", sample.before.replace('_', " "), sample.after.replace('_', " ")),
            sample.rule.clone(),
        ]
    });
    let samples = table(&["CALL", "DEVICE", "TOOL", "USER", "CHANGES", "BECAUSE OF"], rows);
    if samples.is_empty() { sums } else { format!("{sums}\n\n{samples}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_what_was_asked_for() {
        let view = |allowed_to_denied, denied_to_ask, unchanged| TestView {
            calls: 10,
            allowed_to_denied,
            denied_to_ask,
            unchanged,
            ..TestView::default()
        };
        let same = view(0, 0, 10);
        assert!(!same.fails(FailOn::Any) && !same.fails(FailOn::Denied));
        let narrower = view(2, 0, 8);
        assert!(narrower.fails(FailOn::Denied) && narrower.fails(FailOn::Any));
        assert!(!narrower.fails(FailOn::Allowed) && !narrower.fails(FailOn::Never));
        let wider = view(0, 1, 9);
        assert!(wider.fails(FailOn::Allowed) && !wider.fails(FailOn::Denied));
    }
}
