//! Converts device messages from the wire to the domain. Every field is checked here, once.

use orion_domain::audit::AuditHead;
use orion_domain::{CallState, Digest, Envelope, ErrorCode, Grants};
use orion_mtls::Fingerprint;
use orion_wire::{DeviceFacts, PROTOCOL, ProtocolVersion, WireError, call_state_from, v1};
use tonic::Status;

use crate::fleet::presence::DeviceHello;
use crate::fleet::{DeviceResult, OwnerPause};
use crate::rpc::status;
use crate::store::{PolicyMismatch, PolicyMismatchKind, Witness};

/// Maximum size of a device's result, in bytes.
const MAX_RESULT: usize = 2 * 1024 * 1024;
/// Maximum size of a device's ceiling, in bytes: it is compiled, stored and audited.
const MAX_CEILING: usize = 64 * 1024;
/// Maximum number of authorities that a device may report as trusted.
const MAX_TRUSTED: usize = 8;
/// Maximum length of each text of an owner's pause, in characters.
const MAX_PAUSE_TEXT: usize = 200;

/// Converts a hello. Also returns how many calls the device has not reported the end of.
pub(super) fn greeting(hello: v1::Hello) -> Result<(DeviceHello, usize), Status> {
    let v1::Hello {
        protocol_major,
        protocol_minor,
        agent_version,
        facts,
        ceiling,
        tools: _,
        generation,
        unfinished_calls,
        chain: _,
        backend: _,
        authorities,
        pause: _,
    } = hello;
    let version = ProtocolVersion { major: protocol_major, minor: protocol_minor };
    if !PROTOCOL.works_with(version) {
        return Err(Status::failed_precondition(format!(
            "The agent speaks protocol {version} and this backend {PROTOCOL}: update the older of the two."
        )));
    }
    let missing = |field| status::wire(WireError::Field { field });
    let facts =
        DeviceFacts::try_from(facts.ok_or_else(|| missing("facts"))?).map_err(status::wire)?;
    let ceiling = grants(&ceiling).map_err(status::wire)?;
    let trusts = trusted(&authorities).map_err(status::wire)?;
    let agent_version = orion_domain::strip_hidden(&agent_version, 64);
    Ok((DeviceHello { facts, ceiling, agent_version, generation, trusts }, unfinished_calls.len()))
}

/// Converts the authorities that a device reports as trusted.
fn trusted<B: AsRef<[u8]>>(authorities: &[B]) -> Result<Vec<Fingerprint>, WireError> {
    let one = |bytes: &B| bytes.as_ref().try_into().ok().map(Fingerprint);
    let all: Option<Vec<_>> = authorities.iter().take(MAX_TRUSTED + 1).map(one).collect();
    all.filter(|all| all.len() <= MAX_TRUSTED).ok_or(WireError::Field { field: "authorities" })
}

/// Converts the pause of a device's owner. Its texts are shown, so hidden characters are dropped.
pub(super) fn owner_pause(pause: v1::OwnerPause) -> OwnerPause {
    let v1::OwnerPause { by, since, until, fault } = pause;
    let by = orion_domain::strip_hidden(&by, MAX_PAUSE_TEXT);
    let fault = orion_domain::strip_hidden(&fault, MAX_PAUSE_TEXT);
    OwnerPause { by, since, until, fault }
}

/// Returns the head of the device's own chain, and the head that it last saw of this backend's.
pub(super) fn heads(hello: &v1::Hello) -> Result<(Option<AuditHead>, Option<AuditHead>), Status> {
    let head = |head: &Option<v1::ChainHead>| {
        head.as_ref().map(chain_head).transpose().map_err(status::wire)
    };
    Ok((head(&hello.chain)?, head(&hello.backend)?))
}

/// Converts a chain head that a device reports.
fn chain_head(head: &v1::ChainHead) -> Result<AuditHead, WireError> {
    let v1::ChainHead { seq, hash } = head;
    let hash = Digest::from_slice(hash).filter(|_| *seq >= 0);
    Ok(AuditHead { seq: *seq, hash: hash.ok_or(WireError::Field { field: "chain" })? })
}

/// Parses a ceiling that a device reports.
pub(super) fn grants(ceiling: &[u8]) -> Result<Grants, WireError> {
    if ceiling.len() > MAX_CEILING {
        return Err(WireError::TooLarge { field: "ceiling", limit: MAX_CEILING });
    }
    serde_json::from_slice(ceiling).map_err(|_| WireError::Field { field: "ceiling" })
}

/// Converts a call's result.
pub(super) fn answer(message: v1::CallResult) -> Result<DeviceResult, WireError> {
    let v1::CallResult { call_id, state, code, result, duration_us, chain, chain_entry } = message;
    let chain = chain.map(|chain| chain_head(&chain)).transpose()?;
    if result.len() > MAX_RESULT {
        return Err(WireError::TooLarge { field: "result", limit: MAX_RESULT });
    }
    let envelope: Envelope =
        serde_json::from_slice(&result).map_err(|_| WireError::Field { field: "result" })?;
    let state = call_state_from(state)?;
    // A device can report only how a call ended there.
    let says_an_end = matches!(
        state,
        CallState::Succeeded
            | CallState::Failed
            | CallState::Refused
            | CallState::TimedOut
            | CallState::Cancelled
            | CallState::Unknown
    );
    if !says_an_end {
        return Err(WireError::Field { field: "state" });
    }
    let code = match code.as_str() {
        "" => None,
        text => Some(ErrorCode::from_text(text).ok_or(WireError::Field { field: "code" })?),
    };
    if code.is_none() != (state == CallState::Succeeded) {
        return Err(WireError::Field { field: "code" });
    }
    // People and models read the envelope, the store reads the code: both must agree.
    if envelope.success != code.is_none() || envelope.error.map(|error| error.code) != code {
        return Err(WireError::Field { field: "result" });
    }
    Ok(DeviceResult {
        call: call_id.parse().map_err(|_| WireError::Field { field: "call_id" })?,
        state,
        code,
        result: result.into(),
        duration_us,
        witness: chain.map(|AuditHead { seq, hash }| Witness { entry: chain_entry, seq, hash }),
    })
}

/// Maximum number of mismatches that a device may report with a policy.
const MAX_MISMATCHES: usize = 64;
/// Maximum length of a mismatch's text, in characters.
const MAX_MISMATCH_TEXT: usize = 300;

/// Converts the mismatches between a device and its policy. Hidden characters and unknown kinds are dropped.
pub(super) fn found(findings: Vec<v1::PolicyFinding>) -> Vec<PolicyMismatch> {
    let plain = |text: String| orion_domain::strip_hidden(&text, MAX_MISMATCH_TEXT);
    let known = |finding: v1::PolicyFinding| {
        let v1::PolicyFinding { kind, entry, found } = finding;
        let kind = match kind.as_str() {
            "link" => PolicyMismatchKind::Link,
            "case" => PolicyMismatchKind::Case,
            "app" => PolicyMismatchKind::App,
            _ => return None,
        };
        Some(PolicyMismatch { kind, entry: plain(entry), found: plain(found) })
    };
    findings.into_iter().take(MAX_MISMATCHES).filter_map(known).collect()
}
