//! `ApprovalService`: questions to people.

use std::pin::Pin;
use std::sync::Arc;

use orion_wire::v1::approval_service_server::ApprovalService;
use orion_wire::v1::decide_approval_request::More;
use orion_wire::{risk, v1};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::tool::call;
use super::{Api, caller, status};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::confirm::{self, Answer, Answered, Reach};
use crate::store::{ApprovalRow, ApprovalState, Card, Label, StandingRule, Strangers, Vote};

/// How many bytes of arguments and previews a list of cards holds.
const LISTED_BYTES: usize = 2 * 1024 * 1024;

type Watching = Pin<Box<dyn Stream<Item = Result<v1::WatchApprovalsResponse, Status>> + Send>>;

#[tonic::async_trait]
impl ApprovalService for Api {
    type WatchApprovalsStream = Watching;

    async fn list_approvals(
        &self,
        request: Request<v1::ListApprovalsRequest>,
    ) -> Result<Response<v1::ListApprovalsResponse>, Status> {
        let v1::ListApprovalsRequest { all } = request.into_inner();
        let rows = self.0.store.approvals(!all).await.map_err(status::store)?;
        let approvals = within(LISTED_BYTES, rows);
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
        let Answered { row, changed } =
            confirm::decide(&self.0, &by, &approval_id, answer, &reason)
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
        let revoked =
            confirm::revoke_rule(&self.0, &approval_id, &by.user).await.map_err(status::store)?;
        Ok(Response::new(v1::RevokeStandingRuleResponse { rule: Some(rule(revoked)) }))
    }

    async fn watch_approvals(
        &self,
        _: Request<v1::WatchApprovalsRequest>,
    ) -> Result<Response<Watching>, Status> {
        let backend = Arc::clone(&self.0);
        let mut changes = backend.bus.subscribe();
        let open = backend.store.approvals(true).await.map_err(status::store)?;
        let (sender, receiver) = mpsc::channel(16);
        self.0.tasks.spawn(async move {
            let message = |row| v1::WatchApprovalsResponse { approval: Some(approval(row)) };
            for row in open {
                if sender.send(Ok(message(row))).await.is_err() {
                    return;
                }
            }
            loop {
                let change = tokio::select! {
                    () = backend.shutdown.cancelled() => return,
                    () = sender.closed() => return,
                    change = changes.recv() => change,
                };
                let id = match change {
                    Ok(Change::Approval(id)) => id,
                    Ok(Change::CallClosed(_) | Change::Device(_) | Change::Plan(_)) => continue,
                    Err(_) => {
                        let lost = Status::data_loss(
                            "Too many changes at once for this watcher; watch anew.",
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

/// What a person says, from the wire.
fn answer(approve: bool, more: Option<More>) -> Result<Answer, Status> {
    let reach = match (approve, more) {
        (true, None) => Reach::Once,
        (false, None) => return Ok(Answer::No),
        (false, Some(_)) => {
            return Err(status::invalid(
                "a no is about this call alone; leave out what goes with a yes",
            ));
        }
        (true, Some(More::ForThisChat(v1::ForThisChat {}))) => Reach::Chat,
        (true, Some(More::NarrowRule(v1::NarrowRule { expires_at, folder }))) => {
            Reach::Rule { expires_at, folder }
        }
        (true, Some(More::ChangedArguments(v1::ChangedArguments { arguments }))) => {
            return match serde_json::from_slice(&arguments) {
                Ok(arguments) => Ok(Answer::Change(arguments)),
                Err(error) => Err(status::invalid(format!(
                    "the changed arguments are no JSON object: {error}"
                ))),
            };
        }
    };
    Ok(Answer::Yes(reach))
}

/// Cards for a list: from where they would be too much for one message, the older ones come without
/// what they would do. Each can be had whole by itself.
fn within(most: usize, rows: Vec<ApprovalRow>) -> Vec<v1::Approval> {
    let mut room = most;
    rows.into_iter()
        .map(|mut row| {
            let size = row.arguments.len() + row.preview.as_ref().map_or(0, Vec::len);
            match room.checked_sub(size) {
                Some(left) => room = left,
                None => (row.arguments, row.preview) = (Vec::new(), None),
            }
            approval(row)
        })
        .collect()
}

/// A card on the wire.
pub(super) fn approval(row: ApprovalRow) -> v1::Approval {
    let Card { risk_because, can_undo, strangers, entries, bytes } = row.card;
    let Strangers { content, occurs, quoted } = strangers;
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
        plan_id: row.plan.map(|plan| plan.to_string()).unwrap_or_default(),
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
