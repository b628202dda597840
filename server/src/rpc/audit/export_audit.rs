//! `ExportAudit`: the whole audit log as lines of text, signed.

use std::pin::Pin;

use orion_audit::Exporter;
use orion_wire::v1;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::AuditApi;
use crate::clock::now_ms;
use crate::rpc::status;
use crate::store::{CheckpointRow, StoreError};

/// How many rows an export reads at once.
const PAGE: u32 = 1000;
/// Size from which a part of the export is sent, in bytes.
const PART: usize = 64 * 1024;

/// The stream that an export is sent on.
pub(super) type Lines = Pin<Box<dyn Stream<Item = Result<v1::ExportAuditResponse, Status>> + Send>>;

/// Streams the audit log up to its head at the start, which is signed first, in the format that `orion audit
/// verify` and the independent verifier read.
pub(super) fn export_audit(api: &AuditApi) -> Lines {
    let (sender, receiver) = mpsc::channel(16);
    let shared = api.clone();
    api.tasks.background.spawn(async move {
        export(&shared, ExportParts { sender, waiting: Vec::with_capacity(PART) }).await;
    });
    Box::pin(ReceiverStream::new(receiver))
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
async fn export(api: &AuditApi, mut parts: ExportParts) {
    if let Err(error) = try_export(api, &mut parts).await {
        parts.sender.send(Err(status::store(error))).await.ok();
    }
}

async fn try_export(api: &AuditApi, parts: &mut ExportParts) -> Result<(), StoreError> {
    let (store, signer) = (&api.store, api.notary.signer());
    let signed = api.notary.sign(store).await.ok();
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
