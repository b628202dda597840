//! `orion why`: shows how each layer on both sides evaluates a call, without making it.

use clap::Args;
use orion_domain::{Envelope, ToolError};
use orion_wire::{call_state_from, v1};
use serde::Serialize;
use serde_json::Value;

use super::call::Target;
use crate::app::App;
use crate::client::Client;
use crate::failure::{Failure, Report};
use crate::output::{facts, table};
use crate::show::value;
use crate::text;

/// The maximum number of lines from the device's preview.
const MAX_PREVIEW_LINES: usize = 8;

/// Shows what each layer says to a call on both sides, without making it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion why laptop-123 read_file path=/etc/passwd
  orion why laptop-123 delete_directory path=Old confirm=true -o json
  orion why laptop-123 write_file path=a.txt content=x --as bob

The line marked → decides. Where the backend would let a preview through, the device is asked too, by a
preview: it changes nothing and is recorded as what it is.")]
pub(crate) struct Why {
    #[command(flatten)]
    target: Target,
    /// As this person would be answered; for admins. The device is not asked then
    #[arg(long = "as", value_name = "USER", default_value = "")]
    as_user: String,
    /// Ask the backend only, and send nothing to the device
    #[arg(long)]
    no_device: bool,
    /// Ask about the preview of the call
    #[arg(long)]
    dry_run: bool,
}

/// An evaluation for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Serialize)]
struct ExplanationView {
    tool: String,
    device: String,
    arguments: Value,
    user: String,
    role: String,
    /// `allow`, `dry_run_first`, `ask` or `deny`.
    decision: String,
    /// The error for the caller. `None` where the call is allowed.
    error: Option<ToolError>,
    evidence: Vec<EvidenceView>,
    remedies: Vec<String>,
    touches: Vec<String>,
    mode: String,
    device_verdict: VerdictView,
    look_alikes: Vec<String>,
}

/// One line of the evaluation.
#[derive(Debug, Serialize)]
struct EvidenceView {
    layer: String,
    decision: String,
    name: String,
    deciding: bool,
}

/// The device's own evaluation.
#[derive(Debug, Default, Serialize)]
struct VerdictView {
    not_asked: String,
    call_id: String,
    state: String,
    result: Option<Envelope>,
}

impl VerdictView {
    /// Returns why the preview failed on the device.
    fn error(&self) -> Option<String> {
        let Envelope { message, error, .. } = self.result.as_ref()?;
        error.as_ref().map(|error| format!("{} ({})", message.trim_end(), error.code))
    }
}

impl From<v1::DeviceVerdict> for VerdictView {
    fn from(verdict: v1::DeviceVerdict) -> Self {
        let v1::DeviceVerdict { not_asked, call_id, state, result } = verdict;
        let state = call_state_from(state).map(|state| state.to_string()).unwrap_or_default();
        Self { not_asked, call_id, state, result: serde_json::from_slice(&result).ok() }
    }
}

impl From<v1::ExplainCallResponse> for ExplanationView {
    fn from(answer: v1::ExplainCallResponse) -> Self {
        let v1::ExplainCallResponse {
            tool,
            device,
            arguments,
            user,
            role,
            decision,
            error,
            evidence,
            remedies,
            touches,
            mode,
            device_verdict,
            look_alikes,
        } = answer;
        let line = |v1::Evidence { layer, decision, name, deciding }| EvidenceView {
            layer,
            decision,
            name,
            deciding,
        };
        Self {
            tool,
            device,
            arguments: serde_json::from_slice(&arguments).unwrap_or(Value::Null),
            user,
            role,
            decision,
            error: serde_json::from_slice(&error).ok(),
            evidence: evidence.into_iter().map(line).collect(),
            remedies,
            touches,
            mode,
            device_verdict: device_verdict.unwrap_or_default().into(),
            look_alikes,
        }
    }
}

impl Why {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the call cannot be evaluated, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let Self { target, as_user, no_device, dry_run } = self;
        let client = app.signed_in().await?;
        let v1::CallToolRequest { tool, device, arguments, .. } = target.request(client).await?;
        let request = v1::ExplainCallRequest {
            tool,
            device,
            arguments,
            dry_run,
            as_user,
            ask_device: !no_device,
            seen: None,
        };
        explain(app, client, request).await
    }
}

/// Shows what each layer says to a call like this one, now.
///
/// # Errors
/// As [`Why::run`].
pub(crate) async fn why_call(app: &App<'_>, call: v1::Call) -> Result<u8, Failure> {
    let v1::Call { tool, device, arguments, dry_run, .. } = call;
    let client = app.signed_in().await?;
    let request = v1::ExplainCallRequest {
        tool,
        device,
        arguments,
        dry_run,
        as_user: String::new(),
        ask_device: false,
        seen: None,
    };
    explain(app, client, request).await
}

async fn explain(
    app: &App<'_>,
    client: &Client,
    request: v1::ExplainCallRequest,
) -> Result<u8, Failure> {
    let answer = client.ask(client.policy().explain_call(request)).await?;
    let explanation = ExplanationView::from(answer);
    // A denial is a result; a call to an unknown tool or device is a mistake.
    let mistake = explanation.error.as_ref().filter(|_| explanation.evidence.is_empty());
    app.out.show(&explanation, || {
        if mistake.is_some() { String::new() } else { people(&explanation) }
    })?;
    if let (Some(error), true) = (mistake, app.out.is_for_people()) {
        app.out.report(&Report::of(error, &app.out.zone, &app.out.options));
    }
    Ok(mistake.map_or(0, |error| error.code.exit_code()))
}

fn people(explanation: &ExplanationView) -> String {
    let ExplanationView {
        user,
        role,
        decision,
        error,
        evidence,
        remedies,
        touches,
        look_alikes,
        mode,
        ..
    } = explanation;
    let lines = table(
        &["", "LAYER", "SAYS", "BECAUSE OF"],
        evidence.iter().map(|line| {
            vec![
                if line.deciding { "→" } else { "" }.to_owned(),
                line.layer.clone(),
                line.decision.replace('_', " "),
                line.name.clone(),
            ]
        }),
    );
    let answer = match error {
        Some(error) => format!("{} ({})", error.message.trim_end(), error.code),
        None if explanation.device_verdict.not_asked.ends_with("is not connected") => {
            "it would run once the device is connected".to_owned()
        }
        None => match explanation.device_verdict.error() {
            Some(failure) => format!("it is permitted, and would fail on the device: {failure}"),
            None => "it would run".to_owned(),
        },
    };
    let touched: Vec<_> =
        touches.iter().map(|line| text::one_line(&text::distinct(line), 400)).collect();
    let below = facts([
        ("decision", decision.replace('_', " ")),
        ("answer", answer),
        ("as", format!("{user}, {role}")),
        ("touches", touched.join("\n")),
        ("look-alikes", look_alikes.join("\n")),
        ("mode", mode.clone()),
        ("device", device(&explanation.device_verdict)),
        ("to allow it", remedies.join("\n")),
    ]);
    format!("{lines}\n\n{below}")
}

fn device(verdict: &VerdictView) -> String {
    let VerdictView { not_asked, call_id: _, state, result } = verdict;
    let Some(Envelope { success, message, data, .. }) = result else {
        return format!(
            "not asked: {}",
            if not_asked.is_empty() { "it did not say" } else { not_asked }
        );
    };
    if let Some(failure) = verdict.error() {
        return format!("{state}: {failure}");
    }
    let word = if *success { "would do it" } else { state };
    let shown = data.as_ref().map(value).unwrap_or_default();
    let mut lines = vec![format!("{word}: {}", message.trim_end())];
    lines.extend(shown.lines().take(MAX_PREVIEW_LINES).map(|line| text::one_line(line, 200)));
    if shown.lines().nth(MAX_PREVIEW_LINES).is_some() {
        lines.push("…".to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deciding_line_is_marked_and_what_would_help_stands_below() {
        let line = |layer: &str, decision: &str, name: &str, deciding| EvidenceView {
            layer: layer.to_owned(),
            decision: decision.to_owned(),
            name: name.to_owned(),
            deciding,
        };
        let explanation = ExplanationView {
            tool: "read_file".to_owned(),
            device: "demo-device".to_owned(),
            arguments: Value::Null,
            user: "ann".to_owned(),
            role: "operator".to_owned(),
            decision: "deny".to_owned(),
            error: Some(ToolError::new(
                orion_domain::ErrorCode::PathNotAllowed,
                "/etc/passwd is not inside a path that allows read.",
            )),
            evidence: vec![
                line("role", "allow", "role: allowed", false),
                line("grants", "deny", "grants: paths (policy.yaml:12)", true),
            ],
            remedies: vec!["add /etc/passwd to the paths (an admin)".to_owned()],
            touches: vec!["read /etc/passwd".to_owned()],
            look_alikes: Vec::new(),
            mode: String::new(),
            device_verdict: VerdictView {
                not_asked: "the backend does not allow a preview of this call".to_owned(),
                ..VerdictView::default()
            },
        };
        insta::assert_snapshot!(people(&explanation), @"
           LAYER   SAYS   BECAUSE OF
           role    allow  role: allowed
        →  grants  deny   grants: paths (policy.yaml:12)

        decision     deny
        answer       /etc/passwd is not inside a path that allows read. (PATH_NOT_ALLOWED)
        as           ann, operator
        touches      read /etc/passwd
        device       not asked: the backend does not allow a preview of this call
        to allow it  add /etc/passwd to the paths (an admin)
        ");
    }
}
