//! `AuditService`: lists, exports and verifies the audit log.

use std::pin::Pin;
use std::sync::Arc;

use orion_audit::Exporter;
use orion_domain::audit::AuditRow;
use orion_wire::v1;
use orion_wire::v1::audit_service_server::AuditService;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use super::{Api, status};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::store::{AuditVerdict, CheckpointRow, StoreError};

/// How many rows an export reads at once.
const PAGE: u32 = 1000;
/// Size from which a part of the export is sent, in bytes.
const PART: usize = 64 * 1024;

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
        let (sender, receiver) = mpsc::channel(16);
        self.0.tasks.background.spawn(async move {
            let parts = ExportParts { sender, waiting: Vec::with_capacity(PART) };
            export(&backend, parts).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn verify_audit(
        &self,
        request: Request<v1::VerifyAuditRequest>,
    ) -> Result<Response<v1::VerifyAuditResponse>, Status> {
        let _turn = self.heavy(&request)?;
        let key = self.0.notary.signer().key();
        let held = self.0.notary.held_to().map_err(|error| {
            tracing::error!(%error, "what was signed last of the audit cannot be read");
            Status::internal("What was signed last cannot be read. The backend's log says why.")
        })?;
        let verdict = self.0.store.verify_audit(Some(&held)).await.map_err(status::store)?;
        let name = |id| self.0.fleet.known(id).map(|known| known.name.to_string());
        let broken = self.0.fleet.witnesses().broken().into_iter();
        let device_problems = broken
            .map(|(device, chain)| v1::DeviceChainProblem {
                device: name(device).unwrap_or_else(|| device.to_string()),
                problem: chain.problem,
                at: chain.problem_at.unwrap_or_default(),
            })
            .collect();
        Ok(Response::new(match verdict {
            AuditVerdict::Whole { rows, head, checkpoints } => v1::VerifyAuditResponse {
                whole: true,
                rows,
                head: head.hash.as_bytes().to_vec().into(),
                checkpoints,
                key: key.to_string(),
                device_problems,
                ..v1::VerifyAuditResponse::default()
            },
            AuditVerdict::Broken { rows, broken } => v1::VerifyAuditResponse {
                whole: false,
                rows,
                broken_seq: broken.seq(),
                problem: broken.to_string(),
                key: key.to_string(),
                device_problems,
                ..v1::VerifyAuditResponse::default()
            },
        }))
    }

    async fn get_audit_key(
        &self,
        _: Request<v1::GetAuditKeyRequest>,
    ) -> Result<Response<v1::GetAuditKeyResponse>, Status> {
        let key = self.0.notary.signer().key().to_string();
        Ok(Response::new(v1::GetAuditKeyResponse { key }))
    }
}

/// An export in progress, sent in parts.
struct ExportParts {
    sender: mpsc::Sender<Result<v1::ExportAuditResponse, Status>>,
    waiting: Vec<u8>,
}

/// The client that requested the export has disconnected.
struct ReaderDisconnected;

impl ExportParts {
    async fn line(&mut self, line: &str) -> Result<(), ReaderDisconnected> {
        self.waiting.extend_from_slice(line.as_bytes());
        if self.waiting.len() < PART { Ok(()) } else { self.send().await }
    }

    async fn send(&mut self) -> Result<(), ReaderDisconnected> {
        let lines = std::mem::take(&mut self.waiting).into();
        self.sender
            .send(Ok(v1::ExportAuditResponse { lines }))
            .await
            .map_err(|_| ReaderDisconnected)
    }
}

/// Exports the audit log up to its head at the start, which is signed first. Later rows are left for the next
/// export. An audit log that cannot be signed is still exported; its last line says so.
async fn export(backend: &Backend, mut parts: ExportParts) {
    if let Err(error) = try_export(backend, &mut parts).await {
        parts.sender.send(Err(status::store(error))).await.ok();
    }
}

async fn try_export(backend: &Backend, parts: &mut ExportParts) -> Result<(), StoreError> {
    let (store, signer) = (&backend.store, backend.notary.signer());
    let signed = backend.notary.sign(store).await.ok();
    let head = match &signed {
        Some(signed) => signed.head(),
        None => store.audit_head().await?,
    };
    let (mut exporter, first) = Exporter::begin(signer, head, now_ms());
    let mut notes = Vec::new().into_iter().peekable();
    let mut after = 0;
    if parts.line(&first).await.is_err() {
        return Ok(());
    }
    while after < head.seq {
        let rows = store.audit_export(after, PAGE).await?;
        let before = after;
        if notes.peek().is_none() {
            notes = store.checkpoints(after, PAGE).await?.into_iter().peekable();
        }
        for item in rows.into_iter().take_while(|row| row.seq <= head.seq) {
            after = item.seq;
            let mut line = exporter.row(&item);
            let note = notes.next_if(|CheckpointRow { size, .. }| *size == after);
            if let Some(CheckpointRow { note, .. }) = note {
                line.push_str(&exporter.checkpoint(note));
            }
            if parts.line(&line).await.is_err() {
                return Ok(());
            }
        }
        if after == before {
            // The rows have a gap; the export's last line reports it.
            break;
        }
    }
    let end = exporter.end(signer, signed.map(|signed| signed.tree.root()));
    if parts.line(&end).await.is_ok() {
        parts.send().await.ok();
    }
    Ok(())
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
