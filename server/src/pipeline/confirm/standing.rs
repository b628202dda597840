//! Approvals that cover more than one call: for a chat, or as a narrow rule of the policy.

use std::sync::Arc;

use orion_domain::rule::RuleAction;
use orion_domain::{Caller, DeviceName, DevicePath, PathStyle, Places, Risk, Rule, UserName};
use orion_policy::{Code, Facts, LintContext, Severity};
use serde_json::{Map, Value, json};

use super::answer::AnswerError;
use crate::clock::now_ms;
use crate::fleet::effective_policy::refresh;
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::store::{
    ApprovalRow, ApprovalScope, DecideError, StandingApproval, StandingKey, StandingRule,
    StoreError,
};

/// How long a standing approval covers a chat, in milliseconds.
const CHAT_MS: i64 = 8 * 3600 * 1000;
/// The maximum lifetime of a rule made by an approval, in milliseconds.
pub const LONGEST_RULE_MS: i64 = 90 * 24 * 3600 * 1000;

/// Returns the standing approval of this chat that covers a call. There is none while the chat has
/// untrusted content.
pub(in crate::pipeline) async fn find(
    pipeline: &Pipeline,
    evaluated: &EvaluatedCall,
) -> Result<Option<StandingApproval>, StoreError> {
    let caller = &evaluated.context.caller;
    let (Some(conversation), true) = (caller.conversation, evaluated.may_stand()) else {
        return Ok(None);
    };
    let like = StandingKey {
        requester: &caller.user,
        conversation,
        device: evaluated.target.device.id,
        tool: evaluated.target.spec.name,
        policy_version: &evaluated.target.device.policy.version,
        rule: &evaluated.rule(),
    };
    pipeline.store.standing_answer(&like, evaluated.approvers().role, now_ms()).await
}

/// Returns the scope of an approval for the chat of the request.
pub(super) fn for_chat(row: &ApprovalRow) -> Result<ApprovalScope, DecideError> {
    if row.conversation.is_none() {
        return Err(DecideError::OnlyOnce("the call came from no chat"));
    }
    Ok(ApprovalScope::ForChat(now_ms() + CHAT_MS))
}

/// Returns the scope of an approval that becomes a rule for this person, this tool and these paths of the
/// device.
pub(super) fn as_rule(
    pipeline: &Pipeline,
    row: &ApprovalRow,
    by: &Caller,
    expires_at: i64,
    folder: bool,
) -> Result<ApprovalScope, AnswerError> {
    let now = now_ms();
    if expires_at <= now || expires_at > now + LONGEST_RULE_MS {
        let why = "a rule of an answer holds until some moment in the next 90 days";
        return Err(DecideError::OnlyOnce(why).into());
    }
    if row.risk == Risk::Critical {
        return Err(DecideError::OnlyOnce("its risk is critical").into());
    }
    let (paths, places) = paths(pipeline, row, folder)?;
    let rule = Rule {
        tools: vec![row.tool.clone()],
        users: vec![row.requester.clone()],
        paths,
        expires_at: Some(expires_at),
        because: format!("{} approved the same call before.", by.user),
        source: format!("approval {} by {}", row.id, by.user),
        ..Rule::new(format!("approval-{}", row.id), RuleAction::Preapprove)
    };
    if let Some(finding) = lint(&rule, &row.device.1, places) {
        return Err(AnswerError::Rule(finding));
    }
    Ok(ApprovalScope::AsRule(Box::new(StandingRule {
        id: row.id,
        device: row.device.clone(),
        rule,
        made_by: by.user.clone(),
        created_at: now,
        expires_at,
    })))
}

/// Returns what the policy linter rejects in a rule, as if an admin had written it for the device. None if
/// it accepts the rule.
fn lint(rule: &Rule, device: &DeviceName, places: Places) -> Option<String> {
    /// The line of the rule in the text below; errors of earlier lines do not count.
    const LINE: u32 = 5;
    let grants = json!({"tools": rule.tools, "paths": rule.paths});
    let written = json!({
        "id": rule.id, "devices": [device], "tools": rule.tools, "users": rule.users,
        "paths": rule.paths, "because": rule.because, "action": "allow",
    });
    let text = format!("version: 1\ndevices:\n  \"{device}\": {grants}\nrules:\n  - {written}\n");
    let folds_case = places.style == PathStyle::Windows;
    let devices = Some([(device.clone(), Some(Facts { places, folds_case }))].into());
    let (_, findings) =
        orion_policy::check(&text, "", &LintContext { devices, now_ms: Some(now_ms()) });
    let mut findings = findings.into_iter().filter(|finding| finding.line >= LINE);
    let refused = findings
        .find(|finding| finding.severity == Severity::Error || finding.code == Code::TooWide)?;
    Some(format!("{} {}", refused.message, refused.hint).trim_end().to_owned())
}

/// Returns the paths of an approval request, as a rule writes them, and the places of the device.
fn paths(
    pipeline: &Pipeline,
    row: &ApprovalRow,
    folder: bool,
) -> Result<(Vec<String>, Places), DecideError> {
    const NO_PATHS: DecideError =
        DecideError::OnlyOnce("a rule has to name paths, and this call touches none alone");
    let known = pipeline.fleet.known(row.device.0).ok_or(NO_PATHS)?;
    let (Some(places), Some((spec, _))) = (known.places(), orion_catalog::find(&row.tool)) else {
        return Err(NO_PATHS);
    };
    let arguments: Map<String, Value> =
        serde_json::from_slice(&row.arguments).map_err(|_| NO_PATHS)?;
    let touches = spec.parse(arguments, places).map_err(|_| NO_PATHS)?.touches;
    if touches.paths.is_empty() || !touches.apps.is_empty() || !touches.urls.is_empty() {
        return Err(NO_PATHS);
    }
    let mut paths = Vec::new();
    for touch in touches.paths {
        let path: DevicePath = if folder {
            touch.path.parent().ok_or(DecideError::OnlyOnce("no folder holds this path"))?
        } else {
            touch.path
        };
        if path.components().len() < 2 {
            return Err(DecideError::OnlyOnce("a rule for so much of a device is too wide"));
        }
        let text = path.to_string();
        // A pattern could match more than this one path, so no rule is made of it.
        if text.contains(['*', '?', '[', ']', '{', '}', '~', '$', '%', '!']) {
            return Err(DecideError::OnlyOnce("a rule would read signs in its path as a pattern"));
        }
        if !paths.contains(&text) {
            paths.push(text);
        }
    }
    Ok((paths, places.clone()))
}

/// Revokes a rule, with immediate effect.
///
/// # Errors
/// There is no such rule, or the database cannot be written.
pub async fn revoke_rule(
    pipeline: &Arc<Pipeline>,
    id: &str,
    by: &UserName,
) -> Result<StandingRule, StoreError> {
    let (shared, id, by) = (Arc::clone(pipeline), id.to_owned(), by.clone());
    let work = async move {
        let rule = shared.store.revoke_standing_rule(&id, &by, now_ms()).await?;
        refresh(&shared.devices, rule.device.0).await?;
        Ok(rule)
    };
    pipeline.tasks.run_to_completion(work).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_an_answer_is_one_that_an_admin_could_have_written() {
        let places = Places::parse(PathStyle::Posix, Some("/home/ann"), Some("/home/ann")).unwrap();
        let lint = |tool: &str, path: &str| {
            let rule = Rule {
                tools: vec![tool.to_owned()],
                users: vec!["ann".parse().unwrap()],
                paths: vec![path.to_owned()],
                ..Rule::new("approval-1", RuleAction::Preapprove)
            };
            lint(&rule, &"kiosk".parse().unwrap(), places.clone())
        };
        for path in ["/home/ann/old", "/srv/files/a \"quoted\" name", "/home/ann/ä: #b"] {
            assert_eq!(lint("delete_directory", path), None, "{path}");
        }
        for path in ["/home/ann", "/home"] {
            let found = lint("delete_directory", path).unwrap();
            assert!(found.contains("home folder"), "{found}");
        }
        assert!(lint("no_such_tool", "/home/ann/old").is_some());
    }
}
