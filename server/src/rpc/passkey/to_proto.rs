//! Converts passkeys to the wire, and finds whose a request is about.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::{Caller, Role, UserName};
use orion_wire::v1;
use tonic::Status;

use crate::passkeys::{CHALLENGE_MS, Request};
use crate::rpc::status;
use crate::store::PasskeyRow;

/// Converts a passkey.
pub(super) fn passkey(row: PasskeyRow) -> v1::Passkey {
    let PasskeyRow { id, user, name, key, relying_party, sign_count: _, created_at, last_used_at } =
        row;
    v1::Passkey {
        passkey_id: id,
        user: user.to_string(),
        name,
        algorithm: key.algorithm().as_str().to_owned(),
        relying_party,
        created_at,
        last_used_at: last_used_at.unwrap_or_default(),
    }
}

/// Converts what a browser is asked for.
pub(super) fn request(request: Request) -> v1::PasskeyRequest {
    let Request { challenge, relying_party, origin, passkeys } = request;
    // The ids were encoded when they were stored.
    let ids = passkeys.iter().filter_map(|id| URL_SAFE_NO_PAD.decode(id).ok());
    v1::PasskeyRequest {
        challenge: challenge.as_bytes().to_vec().into(),
        relying_party,
        origin,
        passkey_ids: ids.map(Into::into).collect(),
        timeout_ms: CHALLENGE_MS,
    }
}

/// Returns the account that a request names; an empty text is the caller's own.
pub(super) fn owner(by: &Caller, user: &str) -> Result<UserName, Status> {
    if user.is_empty() || user == by.user.as_str() {
        return Ok(by.user.clone());
    }
    if by.role != Role::Admin {
        return Err(status::denied(format!(
            "only an admin manages other people's passkeys, and {} is {}",
            by.user, by.role
        )));
    }
    user.parse().map_err(status::invalid)
}
