//! `ApprovalService`: questions to people.

use std::pin::Pin;
use std::sync::Arc;

use orion_wire::v1::approval_service_server::ApprovalService;
use orion_wire::{risk, v1};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::{Api, caller, status};
use crate::bus::Change;
use crate::pipeline::confirm;
use crate::store::{ApprovalRow, ApprovalState};

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
        let v1::DecideApprovalRequest { approval_id, approve, reason } = request.into_inner();
        let row = confirm::decide(&self.0, &by, &approval_id, approve, &reason)
            .await
            .map_err(status::unanswered)?;
        Ok(Response::new(v1::DecideApprovalResponse { approval: Some(approval(row)) }))
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
                    Ok(Change::CallClosed(_) | Change::Device(_)) => continue,
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
        approver_role: row.approver_role.to_string(),
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
