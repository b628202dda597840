//! `StartPasskeyRegistration`: checks the password, and asks the browser for a new passkey.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{PasskeyApi, to_proto};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::people::confirm_password;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::webauthn::Algorithm;

/// Returns what the browser needs to make a passkey, for a person who gave the password again.
pub(super) async fn start_passkey_registration(
    api: &PasskeyApi,
    source: &Source,
    request: Signed<v1::StartPasskeyRegistrationRequest>,
) -> Result<v1::StartPasskeyRegistrationResponse, Status> {
    let Signed { identity: who, message } = request;
    let v1::StartPasskeyRegistrationRequest { password } = message;
    let store = &api.pipeline.store;
    let confirmed =
        confirm_password(store, &api.people, source, &who.caller.user, password, "passkey");
    if !confirmed.await.map_err(status::sign_in)? {
        return Err(status::hinted(
            ErrorCode::PreconditionFailed,
            "your account has no password, so nothing shows that it is you who adds a passkey",
            Hint::run("set a password first", "orion users password"),
        ));
    }
    let started = api.passkeys.start_registration(store, &who, now_ms()).await;
    let (request, user_handle) =
        started.map_err(|error| status::passkey(&error, api.passkeys.page()))?;
    Ok(v1::StartPasskeyRegistrationResponse {
        request: Some(to_proto::request(request)),
        user_handle: user_handle.as_bytes().to_vec().into(),
        algorithms: Algorithm::ALL.into_iter().map(Algorithm::number).collect(),
    })
}
