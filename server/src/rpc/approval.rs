//! `ApprovalService`: lists, watches and decides approval requests.

use std::pin::Pin;
use std::sync::Arc;

use orion_domain::{ErrorCode, json};
use orion_wire::v1::approval_service_server::ApprovalService;
use orion_wire::v1::decide_approval_request::More;
use orion_wire::{risk, v1};
use prost::Message as _;
use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::tool::call;
use super::{Api, caller, status};
use crate::clock::now_ms;
use crate::pipeline::confirm::{self, AnswerResult, AnswerScope, ApprovalAnswer};
use crate::store::{ApprovalRow, ApprovalState, Card, Label, Provenance, StandingRule, Vote};

/// Maximum total size of the uncut cards in a list, in bytes.
const LISTED_BYTES: usize = 2 * 1024 * 1024;
/// Maximum number of `touches` lines on a cut card.
const MAX_LINES: usize = 4;
/// Maximum length of a line on a cut card, in bytes.
const MAX_LINE_BYTES: usize = 200;

type ApprovalStream =
    Pin<Box<dyn Stream<Item = Result<v1::WatchApprovalsResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ApprovalService for Api {
    type WatchApprovalsStream = ApprovalStream;

    async fn list_approvals(
        &self,
        request: Request<v1::ListApprovalsRequest>,
    ) -> Result<Response<v1::ListApprovalsResponse>, Status> {
        let v1::ListApprovalsRequest { all } = request.into_inner();
        let ids = self.0.store.approval_ids(!all).await.map_err(status::store)?;
        let (mut approvals, mut room) = (Vec::with_capacity(ids.len()), LISTED_BYTES);
        // The rows are loaded one by one, because a card may be large.
        for id in ids {
            let row = self.0.store.approval(&id.to_string()).await.map_err(status::store)?;
            if all || row.state == ApprovalState::Open {
                approvals.push(within(&mut room, approval(row)));
            }
        }
        Ok(Response::new(v1::ListApprovalsResponse { approvals }))
    }

    async fn get_approval(
        &self,
        request: Request<v1::GetApprovalRequest>,
    ) -> Result<Response<v1::GetApprovalResponse>, Status> {
        let v1::GetApprovalRequest { approval_id } = request.into_inner();
        let row = self.0.store.approval(&approval_id).await.map_err(status::store)?;
        Ok(Response::new(v1::GetApprovalResponse { approval: Some(approval(row)) }))
    }

    async fn decide_approval(
        &self,
        request: Request<v1::DecideApprovalRequest>,
    ) -> Result<Response<v1::DecideApprovalResponse>, Status> {
        let by = caller(&request)?;
        let v1::DecideApprovalRequest { approval_id, approve, reason, more } = request.into_inner();
        let answer = answer(approve, more)?;
        let AnswerResult { row, changed } =
            confirm::decide(&self.0.pipeline, &by, &approval_id, answer, &reason)
                .await
                .map_err(status::unanswered)?;
        let (approval, changed) = (Some(approval(row)), changed.map(call));
        Ok(Response::new(v1::DecideApprovalResponse { approval, changed }))
    }

    async fn list_standing_rules(
        &self,
        _: Request<v1::ListStandingRulesRequest>,
    ) -> Result<Response<v1::ListStandingRulesResponse>, Status> {
        let rules = self.0.store.standing_rules(now_ms()).await.map_err(status::store)?;
        let rules = rules.into_iter().map(rule).collect();
        Ok(Response::new(v1::ListStandingRulesResponse { rules }))
    }

    async fn revoke_standing_rule(
        &self,
        request: Request<v1::RevokeStandingRuleRequest>,
    ) -> Result<Response<v1::RevokeStandingRuleResponse>, Status> {
        let by = caller(&request)?;
        let v1::RevokeStandingRuleRequest { approval_id } = request.into_inner();
        let revoked = confirm::revoke_rule(&self.0.pipeline, &approval_id, &by.user)
            .await
            .map_err(status::store)?;
        Ok(Response::new(v1::RevokeStandingRuleResponse { rule: Some(rule(revoked)) }))
    }

    async fn watch_approvals(
        &self,
        _: Request<v1::WatchApprovalsRequest>,
    ) -> Result<Response<ApprovalStream>, Status> {
        let backend = Arc::clone(&self.0);
        let mut changes = backend.bus.watch_approvals();
        let open = backend.store.approval_ids(true).await.map_err(status::store)?;
        let (sender, receiver) = mpsc::channel(16);
        self.0.tasks.background.spawn(async move {
            let message = |row| v1::WatchApprovalsResponse { approval: Some(approval(row)) };
            for id in open {
                let Ok(row) = backend.store.approval(&id.to_string()).await else { continue };
                if sender.send(Ok(message(row))).await.is_err() {
                    return;
                }
            }
            loop {
                let change = tokio::select! {
                    () = backend.tasks.shutdown.cancelled() => return,
                    () = sender.closed() => return,
                    change = changes.recv() => change,
                };
                let id = match change {
                    Ok(id) => id,
                    Err(_) => {
                        let lost = Status::data_loss(
                            "Too many changes at once for this watcher. Watch again.",
                        );
                        let _ = sender.send(Err(lost)).await;
                        return;
                    }
                };
                if let Ok(row) = backend.store.approval(&id.to_string()).await
                    && sender.send(Ok(message(row))).await.is_err()
                {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
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
        (true, Some(More::NarrowRule(v1::NarrowRule { expires_at, folder }))) => {
            AnswerScope::Rule { expires_at, folder }
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

/// Returns a card for a list. Once the list would exceed `room`, a card is cut: the arguments, the preview
/// and the content labels are left out. `GetApproval` returns the uncut card.
fn within(room: &mut usize, mut card: v1::Approval) -> v1::Approval {
    if card.encoded_len() > *room {
        (card.arguments, card.preview) = (Bytes::new(), Bytes::new());
        card.content.clear();
        card.occurs_in_content.clear();
        card.touches.truncate(MAX_LINES);
        let lines = card.touches.iter_mut().chain(&mut card.risk_because);
        let said = card.votes.iter_mut().map(|vote| &mut vote.reason);
        let others = [&mut card.rule, &mut card.reason];
        lines.chain(said).chain(others).for_each(|line| cut(line, MAX_LINE_BYTES));
        card.is_cut = true;
    }
    *room = room.saturating_sub(card.encoded_len());
    card
}

fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
}

/// Converts an approval request to its wire form.
pub(super) fn approval(row: ApprovalRow) -> v1::Approval {
    // `raises` is left out: `risk_because` names what raises the risk.
    let Card { risk_because, can_undo, strangers, entries, bytes, raises: _ } = row.card;
    let Provenance { content, occurs, quoted } = strangers;
    v1::Approval {
        approval_id: row.id.to_string(),
        call_id: row.call.to_string(),
        state: state(row.state).into(),
        tool: row.tool,
        device: row.device.1.to_string(),
        arguments: row.arguments.into(),
        risk: risk(row.risk).into(),
        touches: row.touches,
        rule: row.rule,
        requester: row.requester.to_string(),
        created_at: row.created_at,
        expires_at: row.expires_at,
        decided_by: row.decided_by.map(String::from).unwrap_or_default(),
        decided_at: row.decided_at.unwrap_or_default(),
        reason: row.reason.unwrap_or_default(),
        preview: row.preview.unwrap_or_default().into(),
        approver_role: row.approvers.role.to_string(),
        approver_count: row.approvers.count.into(),
        not_requester: row.approvers.not_requester,
        second_if_any: row.approvers.second_if_any,
        reason_required: row.approvers.reason,
        votes: row.votes.into_iter().map(vote).collect(),
        may_stand: row.may_stand,
        conversation_id: row.conversation.map(|id| id.to_string()).unwrap_or_default(),
        risk_because,
        can_undo,
        content: content.into_iter().map(label).collect(),
        occurs_in_content: occurs,
        quoted,
        entries,
        bytes,
        by_standing_answer: row.standing.is_some(),
        is_cut: false,
        plan_id: row.plan.map(|plan| plan.to_string()).unwrap_or_default(),
        written_by: row.written_by.map(String::from).unwrap_or_default(),
    }
}

fn vote(vote: Vote) -> v1::Vote {
    let Vote { user, role, yes, reason, at } = vote;
    v1::Vote { user: user.to_string(), role: role.to_string(), yes, reason, at }
}

fn label(label: Label) -> v1::ContentLabel {
    let Label { call, tool, device, place } = label;
    v1::ContentLabel { call_id: call.to_string(), tool, device, place }
}

fn rule(standing: StandingRule) -> v1::StandingRule {
    let StandingRule { id, device, rule, made_by, created_at, expires_at } = standing;
    v1::StandingRule {
        approval_id: id.to_string(),
        device: device.1.to_string(),
        tool: rule.tools.join(", "),
        user: rule.users.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        paths: rule.paths,
        made_by: made_by.to_string(),
        created_at,
        expires_at,
    }
}

const fn state(state: ApprovalState) -> v1::ApprovalState {
    match state {
        ApprovalState::Open => v1::ApprovalState::Open,
        ApprovalState::Approved => v1::ApprovalState::Approved,
        ApprovalState::Denied => v1::ApprovalState::Denied,
        ApprovalState::Expired => v1::ApprovalState::Expired,
        ApprovalState::Withdrawn => v1::ApprovalState::Withdrawn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> v1::Approval {
        let label = v1::ContentLabel { place: "/long/".repeat(700), ..v1::ContentLabel::default() };
        let vote = v1::Vote { reason: "é".repeat(1000), ..v1::Vote::default() };
        v1::Approval {
            approval_id: "0199b2c4-7f3e-7c11-9a52-0d3f1c2b4a5e".to_owned(),
            arguments: vec![b'x'; 1024 * 1024].into(),
            preview: vec![b'y'; 64 * 1024].into(),
            touches: vec!["delete /deep".repeat(300); 50],
            content: vec![label; 50],
            occurs_in_content: vec!["content".to_owned()],
            votes: vec![vote; 3],
            quoted: true,
            ..v1::Approval::default()
        }
    }

    #[test]
    fn as_many_cards_as_are_listed_fit_into_one_message_whatever_they_hold() {
        let mut room = LISTED_BYTES;
        let approvals: Vec<_> = (0..500).map(|_| within(&mut room, large())).collect();
        assert_eq!(approvals.first(), Some(&large()));
        let last = approvals.last().unwrap();
        assert!(last.is_cut && last.quoted && last.votes.len() == 3, "{last:?}");
        assert_eq!(last.approval_id, large().approval_id);
        let size = v1::ListApprovalsResponse { approvals }.encoded_len();
        assert!(size < 4 * 1024 * 1024, "{size}");
    }
}
