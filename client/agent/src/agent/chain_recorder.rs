//! Records calls in the device's own audit log, and reports its head to the backend.

use orion_audit::device::Happened;
use orion_domain::audit::AuditHead;
use orion_domain::{CallId, Digest, ToolError};
use orion_wire::v1;
use tokio::time::{Instant, timeout_at};

use super::{Agent, Outgoing};
use crate::chain::Chain;
use crate::clock::now_ms;
use crate::journal::{Ended, Written};
use crate::report::{noted_before, to_wire};

/// What the audit log records of a call besides its end.
#[derive(Debug, Clone)]
pub(super) struct ChainSubject {
    /// The tool's name.
    pub(super) tool: String,
    /// SHA-256 of the arguments.
    pub(super) arguments: Digest,
}

/// Builds the audit entry for the end of a call.
#[must_use]
pub fn happened(call: CallId, tool: &str, arguments: Option<Digest>, ended: &Ended) -> Happened {
    Happened {
        at: now_ms(),
        call_id: call.to_string(),
        tool: tool.to_owned(),
        arguments,
        state: ended.state,
        code: ended.code.clone(),
        result: Digest::of(ended.result.as_bytes()),
    }
}

pub(super) fn to_head(head: AuditHead) -> v1::ChainHead {
    v1::ChainHead { seq: head.seq, hash: head.hash.as_bytes().to_vec().into() }
}

impl Agent {
    /// Returns this agent with an audit log of its own.
    #[must_use]
    pub fn with_chain(self, chain: Chain) -> Self {
        Self { chain: Some(chain), ..self }
    }

    /// Sends a call's result after it is recorded: first in the journal, if the call has a line there,
    /// then in the chain.
    pub(super) fn note_and_send(
        &mut self,
        call: CallId,
        about: Option<&ChainSubject>,
        ended: &Ended,
        written: Option<Written>,
    ) {
        let noted = match (&mut self.chain, about) {
            (Some(chain), Some(ChainSubject { tool, arguments })) => {
                let what = happened(call, tool, Some(*arguments), ended);
                chain.note(call, what, written, |call| self.journal.result(call).is_some())
            }
            (Some(_) | None, _) => false,
        };
        if !noted {
            self.push(Outgoing::Result(call));
        }
    }

    /// Sends the results of the calls whose entries are on disk.
    pub(super) fn noted(&mut self) {
        for call in self.chain.as_mut().map(Chain::noted).unwrap_or_default() {
            self.push(Outgoing::Result(call));
        }
    }

    /// Waits for the disk until `until`, sends the results that waited for it, and closes the chain.
    pub(super) async fn note_what_waits(&mut self, until: Instant) {
        while let Some(watch) =
            self.chain.as_ref().filter(|chain| chain.is_busy()).map(Chain::watch)
            && timeout_at(until, watch.changed()).await.is_ok()
        {
            self.noted();
            self.flush();
        }
        if let Some(chain) = self.chain.take() {
            chain.close().await;
        }
    }

    /// Returns whether a call's result must wait until its entry is on disk.
    pub(super) fn is_being_noted(&self, call: CallId) -> bool {
        self.chain.as_ref().is_some_and(|chain| chain.is_waiting(call))
    }

    /// Returns the answer to a call that the chain has and the journal does not: it was rejected before
    /// this start, or the journal was lost. Such a call is neither run nor recorded again.
    pub(super) fn noted_before(&self, call: CallId) -> Option<ToolError> {
        self.chain.as_ref()?.ended_as(call).map(noted_before)
    }

    /// Builds the wire message of a result, with the chain's head and the call's entry.
    pub(super) fn result(&self, call: CallId, ended: &Ended) -> v1::CallResult {
        v1::CallResult {
            chain: self.chain.as_ref().map(|chain| to_head(chain.head())),
            chain_entry: self.chain.as_ref().map_or(0, |chain| chain.entry_of(call)),
            ..to_wire(call, ended)
        }
    }

    /// Returns the head of the backend's audit chain, for the `Hello`.
    pub(super) fn backend_head(&self) -> Option<v1::ChainHead> {
        self.chain.as_ref().map(|chain| to_head(chain.backend()))
    }

    /// Stores the head of the backend's audit chain.
    pub(super) fn received_audit_head(&mut self, audit: Option<&v1::ChainHead>) {
        let head = audit.and_then(|v1::ChainHead { seq, hash }| {
            Some(AuditHead { seq: *seq, hash: Digest::from_slice(hash)? })
        });
        // A backend that has nothing on disk since its start sends no head, or sequence number 0.
        if let (Some(chain), Some(head)) = (&mut self.chain, head.filter(|head| head.seq > 0)) {
            chain.received(head);
        }
    }
}
