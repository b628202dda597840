//! `AuditService`: the record of everything.

use std::pin::Pin;
use std::sync::Arc;

use orion_domain::audit::AuditRow;
use orion_wire::v1;
use orion_wire::v1::audit_service_server::AuditService;
use orion_wire::v1::export_audit_response::Message;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::{Api, status};
use crate::store::AuditVerdict;

/// How many rows are read at once for an export.
const PAGE: u32 = 1000;

type Exporting = Pin<Box<dyn Stream<Item = Result<v1::ExportAuditResponse, Status>> + Send>>;

#[tonic::async_trait]
impl AuditService for Api {
    type ExportAuditStream = Exporting;

    async fn list_audit(
        &self,
        request: Request<v1::ListAuditRequest>,
    ) -> Result<Response<v1::ListAuditResponse>, Status> {
        let v1::ListAuditRequest { limit, before_seq, call_id } = request.into_inner();
        let limit = if limit == 0 { 50 } else { limit.min(1000) };
        let before = (before_seq > 0).then_some(before_seq);
        let call = (!call_id.is_empty()).then_some(call_id.as_str());
        let rows = self.0.store.audit_rows(limit, before, call).await.map_err(status::store)?;
        Ok(Response::new(v1::ListAuditResponse { rows: rows.into_iter().map(row).collect() }))
    }

    async fn export_audit(
        &self,
        _: Request<v1::ExportAuditRequest>,
    ) -> Result<Response<Exporting>, Status> {
        let backend = Arc::clone(&self.0);
        // Rows that are written while the export runs are left for the next one.
        let head = backend.store.audit_head().await.map_err(status::store)?;
        let (sender, receiver) = mpsc::channel(64);
        self.0.tasks.spawn(async move {
            let send = |message| v1::ExportAuditResponse { message: Some(message) };
            let mut after = 0;
            while after < head.seq {
                let before = after;
                let rows = match backend.store.audit_export(after, PAGE).await {
                    Ok(rows) if !rows.is_empty() => rows,
                    // A gap in the rows: the head that follows shows it to the verifier.
                    Ok(_) => break,
                    Err(error) => {
                        let _ = sender.send(Err(status::store(error))).await;
                        return;
                    }
                };
                for item in rows.into_iter().take_while(|row| row.seq <= head.seq) {
                    after = item.seq;
                    if sender.send(Ok(send(Message::Row(row(item))))).await.is_err() {
                        return;
                    }
                }
                if after == before {
                    break;
                }
            }
            let head = v1::AuditHead { seq: head.seq, hash: head.hash.as_bytes().to_vec().into() };
            let _ = sender.send(Ok(send(Message::Head(head)))).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn verify_audit(
        &self,
        _: Request<v1::VerifyAuditRequest>,
    ) -> Result<Response<v1::VerifyAuditResponse>, Status> {
        let verdict = self.0.store.verify_audit().await.map_err(status::store)?;
        Ok(Response::new(match verdict {
            AuditVerdict::Whole { rows, head } => v1::VerifyAuditResponse {
                whole: true,
                rows,
                head: head.hash.as_bytes().to_vec().into(),
                ..v1::VerifyAuditResponse::default()
            },
            AuditVerdict::Broken { rows, broken } => v1::VerifyAuditResponse {
                whole: false,
                rows,
                broken_seq: broken.seq(),
                problem: broken.to_string(),
                ..v1::VerifyAuditResponse::default()
            },
        }))
    }
}

fn row(row: AuditRow) -> v1::AuditRow {
    let AuditRow { seq, at, kind, call_id, body, prev_hash, hash } = row;
    v1::AuditRow {
        seq,
        at,
        kind,
        call_id,
        body,
        prev_hash: prev_hash.as_bytes().to_vec().into(),
        hash: hash.as_bytes().to_vec().into(),
    }
}
