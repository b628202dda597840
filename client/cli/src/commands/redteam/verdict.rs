//! What came of an attack, and what would have stopped it.

use orion_domain::{Envelope, ToolError};
use orion_wire::v1;

use super::attacks::Attack;

/// What came of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is denied, by this.
    Denied(String),
    /// A person is asked before it runs, by this.
    Asked(String),
    /// It would run.
    GotThrough {
        /// What allows it.
        by: String,
        /// What would stop it.
        remedy: String,
    },
}

/// Reads what the backend, and for some attacks the device, says to an attack.
pub(super) fn verdict(attack: &Attack, answer: &v1::ExplainCallResponse) -> Verdict {
    let deciding = answer.evidence.iter().find(|line| line.deciding);
    let error: Option<ToolError> = serde_json::from_slice(&answer.error).ok();
    let code = error.map(|error| error.code.to_string()).unwrap_or_default();
    let by = deciding.map_or_else(|| format!("validation: {code}"), |line| line.name.clone());
    match answer.decision.as_str() {
        "allow" => {}
        "ask" | "dry_run_first" => return Verdict::Asked(by),
        _ => return Verdict::Denied(by),
    }
    let result = answer.device_verdict.as_ref().map(|verdict| &verdict.result);
    let preview = result.and_then(|result| serde_json::from_slice::<Envelope>(result).ok());
    match preview.and_then(|preview| preview.error) {
        Some(error) => Verdict::Denied(format!("device: {}", error.code)),
        None => {
            // A rule that allows says more than that nothing denies.
            let mut lines = answer.evidence.iter();
            let rule = lines.find(|line| line.layer == "rule" && line.decision == "allow");
            let by = rule.map_or(by, |rule| rule.name.clone());
            Verdict::GotThrough { by, remedy: remedy(attack) }
        }
    }
}

/// Returns the narrowest change of the policy that stops an attack.
fn remedy(attack: &Attack) -> String {
    let Attack { tool, device, arguments, .. } = attack;
    match (attack.kind, arguments["path"].as_str()) {
        ("path", Some(path)) => {
            format!("deny_paths of {device}: [{}]", serde_json::Value::from(path))
        }
        _ => format!("- {{ id: ask-{tool}, tools: [{tool}], devices: {device}, action: ask }}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn attack(kind: &'static str, tool: &str) -> Attack {
        Attack {
            kind,
            aim: "run".to_owned(),
            what: "an attack".to_owned(),
            tool: tool.to_owned(),
            device: "laptop".to_owned(),
            arguments: json!({"path": "/etc/passwd"}),
            seen: None,
            asks_device: true,
        }
    }

    fn answer(decision: &str, preview: Option<&Envelope>) -> v1::ExplainCallResponse {
        let line = |name: &str, deciding| v1::Evidence {
            layer: "grants".to_owned(),
            decision: decision.to_owned(),
            name: name.to_owned(),
            deciding,
        };
        let device = preview.map(|preview| v1::DeviceVerdict {
            result: serde_json::to_vec(preview).unwrap().into(),
            ..Default::default()
        });
        v1::ExplainCallResponse {
            decision: decision.to_owned(),
            evidence: vec![line("role: allowed", false), line("grants: paths", true)],
            device_verdict: device,
            ..Default::default()
        }
    }

    #[test]
    fn what_runs_without_a_person_got_through_unless_the_device_refuses_it() {
        let by = || "grants: paths".to_owned();
        let of = |kind, decision: &str, preview: Option<&Envelope>| {
            verdict(&attack(kind, "write_file"), &answer(decision, preview))
        };
        assert_eq!(of("path", "deny", None), Verdict::Denied(by()));
        assert_eq!(of("path", "ask", None), Verdict::Asked(by()));
        assert_eq!(of("path", "dry_run_first", None), Verdict::Asked(by()));
        let remedy = "deny_paths of laptop: [\"/etc/passwd\"]".to_owned();
        assert_eq!(of("path", "allow", None), Verdict::GotThrough { by: by(), remedy });
        let error = ToolError::new(orion_domain::ErrorCode::PathNotAllowed, "No.");
        let refused = Envelope::failure(error, true, orion_domain::Meta::default());
        let denied = Verdict::Denied("device: PATH_NOT_ALLOWED".to_owned());
        assert_eq!(of("path", "allow", Some(&refused)), denied);
        let invalid = v1::ExplainCallResponse {
            decision: "deny".to_owned(),
            error: br#"{"code":"TOOL_NOT_FOUND","message":"No.","recoverable":true,"details":{},"hints":[]}"#.to_vec().into(),
            ..Default::default()
        };
        let denied = Verdict::Denied("validation: TOOL_NOT_FOUND".to_owned());
        assert_eq!(verdict(&attack("path", "x"), &invalid), denied);
    }

    #[test]
    fn the_rule_that_is_proposed_is_one_of_a_policy() {
        let Verdict::GotThrough { remedy, .. } =
            verdict(&attack("injection", "open_app"), &answer("allow", None))
        else {
            panic!("it got through");
        };
        let file = format!("version: 1\nrules:\n  {remedy}\n");
        let (policy, findings) =
            orion_policy::check(&file, "policy.yaml", &orion_policy::LintContext::default());
        assert!(policy.is_some(), "{remedy}: {findings:?}");
    }
}
