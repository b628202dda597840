//! `PasskeyService`: the passkeys of people, and what a browser needs to sign an approval with one.

mod finish_passkey_registration;
mod list_passkeys;
mod remove_passkey;
mod start_passkey_approval;
mod start_passkey_registration;
mod to_proto;

use std::sync::Arc;

use orion_wire::v1;
use orion_wire::v1::passkey_service_server::PasskeyService;
use tonic::{Request, Response, Status};

use super::signed::source;
use super::{RpcResult, status};
use crate::clock::now_ms;
use crate::passkeys::{Assertion, Passkeys};
use crate::people::{Identity, IdentityCache};
use crate::pipeline::Pipeline;
use crate::store::Store;
use crate::webauthn::PasskeyProof;

/// What the service uses.
#[derive(Debug, Clone)]
pub(super) struct PasskeyApi {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) people: Arc<IdentityCache>,
    pub(super) passkeys: Arc<Passkeys>,
}

/// Checks what a person signed. None where the request has no signature.
pub(super) async fn checked(
    passkeys: &Passkeys,
    store: &Store,
    who: &Identity,
    assertion: Option<v1::PasskeyAssertion>,
) -> Result<Option<PasskeyProof>, Status> {
    let Some(assertion) = assertion else { return Ok(None) };
    let v1::PasskeyAssertion { passkey_id, client_data, authenticator_data, signature } = assertion;
    let assertion = Assertion {
        credential_id: passkey_id.to_vec(),
        client_data: client_data.to_vec(),
        authenticator_data: authenticator_data.to_vec(),
        signature: signature.to_vec(),
    };
    let proof = passkeys.check(store, who, &assertion, now_ms()).await;
    proof.map(Some).map_err(|error| status::passkey(&error, passkeys.page()))
}

#[tonic::async_trait]
impl PasskeyService for PasskeyApi {
    async fn list_passkeys(
        &self,
        request: Request<v1::ListPasskeysRequest>,
    ) -> RpcResult<v1::ListPasskeysResponse> {
        list_passkeys::list_passkeys(self, request.try_into()?).await.map(Response::new)
    }

    async fn start_passkey_registration(
        &self,
        request: Request<v1::StartPasskeyRegistrationRequest>,
    ) -> RpcResult<v1::StartPasskeyRegistrationResponse> {
        let source = source(&request)?;
        start_passkey_registration::start_passkey_registration(self, &source, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn finish_passkey_registration(
        &self,
        request: Request<v1::FinishPasskeyRegistrationRequest>,
    ) -> RpcResult<v1::FinishPasskeyRegistrationResponse> {
        finish_passkey_registration::finish_passkey_registration(self, request.try_into()?)
            .await
            .map(Response::new)
    }

    async fn remove_passkey(
        &self,
        request: Request<v1::RemovePasskeyRequest>,
    ) -> RpcResult<v1::RemovePasskeyResponse> {
        remove_passkey::remove_passkey(self, request.try_into()?).await.map(Response::new)
    }

    async fn start_passkey_approval(
        &self,
        request: Request<v1::StartPasskeyApprovalRequest>,
    ) -> RpcResult<v1::StartPasskeyApprovalResponse> {
        start_passkey_approval::start_passkey_approval(self, request.try_into()?)
            .await
            .map(Response::new)
    }
}
