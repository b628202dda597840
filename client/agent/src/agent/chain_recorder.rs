//! What goes into the device's own audit, and what of it the backend is told.

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

/// What is noted of a call beside its end.
#[derive(Debug, Clone)]
pub(super) struct ChainSubject {
    /// The tool.
    pub(super) tool: String,
    /// SHA-256 of the arguments.
    pub(super) arguments: Digest,
}

/// What came of a call, for the chain.
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
    /// Keeps an audit of its own.
    #[must_use]
    pub fn with_chain(self, chain: Chain) -> Self {
        Self { chain: Some(chain), ..self }
    }

    /// Sends a call's result, once what it came to is noted where it is to be: in the journal, as far as
    /// it has a line there, and then in the chain.
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

    /// Sends the results of the calls that are noted by now.
    pub(super) fn noted(&mut self) {
        for call in self.chain.as_mut().map(Chain::noted).unwrap_or_default() {
            self.push(Outgoing::Result(call));
        }
    }

    /// Waits for the disk, sends what waited for it, and ends the chain.
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

    /// Whether a call's result has to wait until it is noted.
    pub(super) fn is_being_noted(&self, call: CallId) -> bool {
        self.chain.as_ref().is_some_and(|chain| chain.is_waiting(call))
    }

    /// What to say of a call that the journal does not know, where the chain does: it was refused before
    /// this start, or the journal was lost. It is neither run nor noted again.
    pub(super) fn noted_before(&self, call: CallId) -> Option<ToolError> {
        self.chain.as_ref()?.ended_as(call).map(noted_before)
    }

    /// A result as it is sent, with what the chain says of it.
    pub(super) fn result(&self, call: CallId, ended: &Ended) -> v1::CallResult {
        v1::CallResult {
            chain: self.chain.as_ref().map(|chain| to_head(chain.head())),
            chain_entry: self.chain.as_ref().map_or(0, |chain| chain.entry_of(call)),
            ..to_wire(call, ended)
        }
    }

    /// What the greeting says of the backend's chain.
    pub(super) fn backend_head(&self) -> Option<v1::ChainHead> {
        self.chain.as_ref().map(|chain| to_head(chain.backend()))
    }

    /// Takes where the backend says that its audit ends.
    pub(super) fn received_audit_head(&mut self, audit: Option<&v1::ChainHead>) {
        let head = audit.and_then(|v1::ChainHead { seq, hash }| {
            Some(AuditHead { seq: *seq, hash: Digest::from_slice(hash)? })
        });
        // A backend that has nothing on disk since its start says nothing.
        if let (Some(chain), Some(head)) = (&mut self.chain, head.filter(|head| head.seq > 0)) {
            chain.received(head);
        }
    }
}
