//! `orion why`: what each layer says to a call, without making it.

use clap::Args;
use orion_domain::ToolError;
use orion_wire::v1;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call::Target;
use crate::app::App;
use crate::failure::{Failure, tool_error_lines};
use crate::output::{GOOD, table};
use crate::text;

/// Shows what each layer says to a call, without making it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  orion why laptop-123 read_file path=/etc/passwd
  orion why laptop-123 delete_directory path=Old confirm=true -o json

The line marked → decides.")]
pub(crate) struct Why {
    #[command(flatten)]
    target: Target,
}

/// A judgement as programs read it.
#[derive(Debug, Serialize)]
struct Judgement {
    tool: String,
    device: String,
    arguments: Value,
    /// `allow`, `dry_run_first`, `ask` or `deny`.
    decision: Value,
    /// What the caller would be told, where it is not allowed.
    error: Option<ToolError>,
    evidence: Vec<EvidenceView>,
}

/// What the backend says of a call that was only judged.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Verdict {
    decision: Value,
    error: Option<ToolError>,
}

/// One line of it.
#[derive(Debug, Serialize)]
struct EvidenceView {
    layer: String,
    decision: String,
    name: String,
    deciding: bool,
}

impl Why {
    /// Runs the command.
    ///
    /// # Errors
    /// Nobody is signed in, the call cannot be judged, or the backend fails.
    pub(crate) async fn run(self, app: &App<'_>) -> Result<u8, Failure> {
        let client = app.signed_in().await?;
        let mut request = self.target.request(client).await?;
        request.explain = true;
        let (tool, device) = (request.tool.clone(), request.device.clone());
        let arguments = serde_json::from_slice(&request.arguments).unwrap_or(Value::Null);
        let v1::CallToolResponse { call, evidence } =
            client.ask(client.tools().call_tool(request)).await?;
        let Verdict { decision, error } =
            serde_json::from_slice(&call.unwrap_or_default().result).unwrap_or_default();
        let evidence = evidence
            .into_iter()
            .map(|v1::Evidence { layer, decision, name, deciding }| EvidenceView {
                layer,
                decision,
                name,
                deciding,
            })
            .collect();
        let judgement = Judgement { tool, device, arguments, decision, error, evidence };
        app.out.show(&judgement, || people(&judgement))?;
        if app.out.is_for_people() {
            verdict(&judgement).iter().for_each(|line| app.out.note(line));
        }
        // A denial is an answer; a call about something that is not there is a mistake.
        let nothing_judged = judgement.evidence.is_empty();
        Ok(judgement.error.filter(|_| nothing_judged).map_or(0, |error| error.code.exit_code()))
    }
}

/// What would become of the call.
fn verdict(judgement: &Judgement) -> Vec<String> {
    if let Some(error) = &judgement.error {
        return tool_error_lines(error);
    }
    let (tool, device) =
        (text::one_line(&judgement.tool, 80), text::one_line(&judgement.device, 80));
    vec![format!("{GOOD}✓{GOOD:#} {tool} on {device} would run")]
}

fn people(judgement: &Judgement) -> String {
    table(
        &["", "LAYER", "SAYS", "BECAUSE OF"],
        judgement.evidence.iter().map(|line| {
            vec![
                if line.deciding { "→" } else { "" }.to_owned(),
                line.layer.clone(),
                line.decision.replace('_', " "),
                line.name.clone(),
            ]
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_domain::ErrorCode;

    #[test]
    fn what_would_become_of_the_call_is_said_whatever_it_is() {
        let judgement = |error| Judgement {
            tool: "read_file".to_owned(),
            device: "kiosk".to_owned(),
            arguments: Value::Null,
            decision: Value::Null,
            error,
            evidence: Vec::new(),
        };
        let said = |error| {
            let lines = verdict(&judgement(error)).join("\n");
            anstream::adapter::strip_str(&lines).to_string()
        };
        assert_eq!(said(None), "✓ read_file on kiosk would run");
        let error = ToolError::new(ErrorCode::PathNotAllowed, "Outside.");
        assert_eq!(said(Some(error)), "Outside. (PATH_NOT_ALLOWED)");
    }

    #[test]
    fn the_deciding_line_is_marked() {
        let line = |layer: &str, decision: &str, name: &str, deciding| EvidenceView {
            layer: layer.to_owned(),
            decision: decision.to_owned(),
            name: name.to_owned(),
            deciding,
        };
        let judgement = Judgement {
            tool: "read_file".to_owned(),
            device: "demo-device".to_owned(),
            arguments: Value::Null,
            decision: Value::Null,
            error: None,
            evidence: vec![
                line("role", "allow", "admin", false),
                line("grants", "deny", "/etc/passwd is outside the allowed paths", true),
            ],
        };
        insta::assert_snapshot!(people(&judgement), @"
           LAYER   SAYS   BECAUSE OF
           role    allow  admin
        →  grants  deny   /etc/passwd is outside the allowed paths
        ");
    }
}
