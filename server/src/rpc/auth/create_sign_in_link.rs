//! `CreateSignInLink`: a one-time secret that signs the caller in to the page.

use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::clock::now_ms;
use crate::people::Identity;
use crate::rpc::signed::Signed;

/// Creates a secret for the address `/sign-in#SECRET`. The part behind `#` never leaves the browser.
pub(super) fn create_sign_in_link(
    api: &AuthApi,
    request: Signed<v1::CreateSignInLinkRequest>,
) -> Result<v1::CreateSignInLinkResponse, Status> {
    let Signed { identity: Identity { caller, token, .. }, message } = request;
    let v1::CreateSignInLinkRequest {} = message;
    let made = api.people.links.create(token, &caller.user, now_ms());
    Ok(v1::CreateSignInLinkResponse {
        secret: made.token.expose().to_owned(),
        expires_at: made.expires_at,
        has_page: api.has_page,
    })
}
