//! Makes a narrow rule of an approval: for one person, one tool and the paths of the call.

use orion_domain::rule::RuleAction;
use orion_domain::{Caller, DevicePath, Places, Risk, Rule};
use serde_json::{Map, Value};

use super::lint::lint;
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::pipeline::call::CallContext;
use crate::pipeline::confirm::answer::AnswerError;
use crate::pipeline::evaluate::evaluate;
use crate::store::{ApprovalRow, DecideError, StandingRule, StoreError};

/// The maximum lifetime of a rule made by an approval, in milliseconds.
pub const MAX_RULE_MS: i64 = 90 * 24 * 3600 * 1000;

const ASKED_BY_RULE: DecideError =
    DecideError::OnlyOnce("a rule of the policy asks for it, and would go on asking");

/// The paths that a rule would cover, each with everything below it, or why no rule can be made.
pub type Coverage = Result<Vec<String>, String>;

/// Returns what a rule of this approval would cover, and what it would for the folders of the paths.
///
/// # Errors
/// The database cannot be read.
pub async fn coverage(
    pipeline: &Pipeline,
    row: &ApprovalRow,
    by: &Caller,
) -> Result<[Coverage; 2], StoreError> {
    let is_asked = is_asked_by_rule(pipeline, row).await?;
    Ok([false, true].map(|folder| {
        let made = match written(pipeline, row, by, now_ms() + MAX_RULE_MS, folder) {
            Ok(_) if is_asked => Err(ASKED_BY_RULE.into()),
            made => made,
        };
        made.map(|made| made.rule.paths).map_err(|error| reason(&error))
    }))
}

/// Returns why no rule can be made, without what an error of an answer says of the answer.
fn reason(error: &AnswerError) -> String {
    if let AnswerError::Rule(finding) = error {
        finding.clone()
    } else if let AnswerError::Vote(DecideError::OnlyOnce(why)) = error {
        (*why).to_owned()
    } else {
        error.to_string()
    }
}

/// Returns the rule that an approval makes for this person, this tool and these paths of the device.
pub(in crate::pipeline::confirm) async fn rule(
    pipeline: &Pipeline,
    row: &ApprovalRow,
    by: &Caller,
    expires_at: i64,
    folder: bool,
) -> Result<StandingRule, AnswerError> {
    let made = written(pipeline, row, by, expires_at, folder)?;
    if is_asked_by_rule(pipeline, row).await.map_err(AnswerError::unstored)? {
        return Err(ASKED_BY_RULE.into());
    }
    Ok(made)
}

/// Returns the rule, whether a rule of the policy would go on asking or not.
fn written(
    pipeline: &Pipeline,
    row: &ApprovalRow,
    by: &Caller,
    expires_at: i64,
    folder: bool,
) -> Result<StandingRule, AnswerError> {
    let now = now_ms();
    if expires_at <= now || expires_at > now + MAX_RULE_MS {
        return Err(DecideError::RuleTime.into());
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
    Ok(StandingRule {
        id: row.id,
        device: row.device.clone(),
        rule,
        made_by: by.user.clone(),
        created_at: now,
        expires_at,
    })
}

/// Returns whether a rule of the policy requires the approval. A call that can no longer run is reported elsewhere.
async fn is_asked_by_rule(pipeline: &Pipeline, row: &ApprovalRow) -> Result<bool, StoreError> {
    let call = pipeline.store.call(row.call).await?;
    let context = CallContext::stored(call, Some(row.clone()))?;
    Ok(evaluate(pipeline, context).await?.is_ok_and(|evaluated| evaluated.is_asked_by_rule()))
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
    let others = [
        touches.apps.len(),
        touches.commands.len(),
        touches.services.len(),
        touches.logs.len(),
        touches.urls.len(),
        touches.hosts.len(),
    ];
    if touches.paths.is_empty() || others != [0; 6] {
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
