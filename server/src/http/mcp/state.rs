//! The state of a request that continues: which call it is about. It is signed with a key that every replica of this
//! backend has, for this person, tool and arguments alone.

use std::time::Duration;

use orion_domain::{CallId, Caller, CanonicalArguments, Digest};
use rmcp::model::{JsonObject, RequestStateCodec, SealOptions};
use serde_json::Value;
use uuid::Uuid;

use crate::notary::Notary;

/// How long a state is accepted: longer than any approval waits.
const TTL: Duration = Duration::from_hours(24);
/// What is signed for the key. It is no note of the audit log, which begins with the name of its key.
const KEY_LABEL: &str = "orion.mcp.request-state.v1\n";

/// Signs and checks states.
#[derive(Clone)]
pub(super) struct States(RequestStateCodec);

impl States {
    /// Derives the key from the backend's own: signatures of Ed25519 are the same each time, and this one is never
    /// shown. The key has the 32 bytes that the codec asks for.
    pub(super) fn new(notary: &Notary) -> Self {
        let secret = Digest::of(notary.signer().sign(KEY_LABEL).as_bytes());
        Self(RequestStateCodec::new_unchecked(secret.as_bytes().to_vec()))
    }

    pub(super) fn seal(&self, call: CallId, about: &[u8]) -> String {
        let options = SealOptions::new().associated_data(about).ttl(TTL);
        self.0.seal_with(call.to_string().as_bytes(), &options)
    }

    /// Returns the call of a state. `None` if the state is not of this backend, or about something else.
    pub(super) fn open(&self, state: &str, about: &[u8]) -> Option<CallId> {
        let opened = self.0.open_with(state, about).ok()?;
        Uuid::try_parse_ascii(&opened).ok().map(CallId::new)
    }
}

/// Returns what a state is about.
pub(super) fn about(caller: &Caller, tool: &str, arguments: &JsonObject) -> Vec<u8> {
    let arguments = CanonicalArguments::from_value(&Value::Object(arguments.clone()));
    Digest::of_fields(
        "orion.mcp.request.v1",
        &[caller.user.as_str().as_bytes(), tool.as_bytes(), arguments.as_bytes()],
    )
    .as_bytes()
    .to_vec()
}
