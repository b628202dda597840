//! `FinishPasskeyRegistration`: stores the passkey that a browser made.

use orion_domain::visible::{is_blank, is_hidden};
use orion_wire::v1;
use tonic::Status;

use super::{PasskeyApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Maximum length of a passkey's name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Registers the passkey that the browser made, under the name that its person gives it.
pub(super) async fn finish_passkey_registration(
    api: &PasskeyApi,
    request: Signed<v1::FinishPasskeyRegistrationRequest>,
) -> Result<v1::FinishPasskeyRegistrationResponse, Status> {
    let Signed { identity: who, message } = request;
    let v1::FinishPasskeyRegistrationRequest { name, client_data, attestation_object } = message;
    let name = name.trim();
    if is_blank(name) || name.chars().count() > MAX_NAME_CHARS || name.chars().any(is_hidden) {
        return Err(status::invalid(format!(
            "a passkey's name has 1 to {MAX_NAME_CHARS} visible characters in one line"
        )));
    }
    let (store, now) = (&api.pipeline.store, now_ms());
    let new = api.passkeys.finish_registration(store, &who, &client_data, &attestation_object, now);
    let new = new.await.map_err(|error| status::passkey(&error, api.passkeys.page()))?;
    let row = store.add_passkey(&who.caller.user, name, new, now).await;
    let row = row.map_err(status::new_passkey)?;
    Ok(v1::FinishPasskeyRegistrationResponse { passkey: Some(to_proto::passkey(row)) })
}
