//! `DecideApproval`: a person's answer to an approval request.

use orion_domain::{ErrorCode, json};
use orion_wire::v1;
use orion_wire::v1::decide_approval_request::More;
use tonic::Status;

use super::{ApprovalApi, to_proto};
use crate::pipeline::confirm::{self, AnswerResult, AnswerScope, ApprovalAnswer};
use crate::rpc::signed::Signed;
use crate::rpc::{passkey, status, tool};

/// Approves or denies a call, or replaces it by one with changed arguments. An approval is for this call
/// alone, unless `more` widens it to the chat or to a rule. When enough people have approved, the call starts
/// in the background.
pub(super) async fn decide_approval(
    api: &ApprovalApi,
    request: Signed<v1::DecideApprovalRequest>,
) -> Result<v1::DecideApprovalResponse, Status> {
    let Signed { identity, message } = request;
    let v1::DecideApprovalRequest { approval_id, approve, reason, more, details_shown, passkey } =
        message;
    if passkey.is_some() && (!approve || more.is_some()) {
        return Err(status::hinted(
            ErrorCode::InvalidArgument,
            "a passkey signs the approval of this call alone",
            "leave out the passkey, or the options that widen or change the approval",
        ));
    }
    let answer = answer(approve, more)?;
    let proof = passkey::checked(&api.passkeys, &api.pipeline.store, &identity, passkey).await?;
    let by = &identity.caller;
    let pipeline = &api.pipeline;
    let decided =
        confirm::decide(pipeline, by, &approval_id, answer, &reason, details_shown, proof);
    let AnswerResult { row, changed } = decided.await.map_err(|error| {
        let card = format!("{}/approvals/{approval_id}", api.passkeys.page());
        status::answer(error, &approval_id, &card)
    })?;
    Ok(v1::DecideApprovalResponse {
        approval: Some(to_proto::approval(row)),
        changed: changed.map(tool::to_proto::recorded),
    })
}

/// Converts a person's answer from the wire.
fn answer(approve: bool, more: Option<More>) -> Result<ApprovalAnswer, Status> {
    let reach = match (approve, more) {
        (true, None) => AnswerScope::Once,
        (false, None) => return Ok(ApprovalAnswer::No),
        (false, Some(_)) => {
            return Err(status::hinted(
                ErrorCode::InvalidArgument,
                "a denial is about this call alone",
                "leave out the options that belong to an approval",
            ));
        }
        (true, Some(More::ForThisChat(v1::ForThisChat {}))) => AnswerScope::Chat,
        (true, Some(More::NarrowRule(rule))) => {
            let v1::NarrowRule { expires_at, folder, shown_paths: shown } = rule;
            AnswerScope::Rule { expires_at, folder, shown }
        }
        (true, Some(More::ChangedArguments(v1::ChangedArguments { arguments }))) => {
            return match json::parse_object(&arguments) {
                Ok(arguments) => Ok(ApprovalAnswer::Change(arguments)),
                Err(error) => {
                    Err(status::invalid(format!("the changed arguments cannot be read: {error}")))
                }
            };
        }
    };
    Ok(ApprovalAnswer::Yes(reach))
}
