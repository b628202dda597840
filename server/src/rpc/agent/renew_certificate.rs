//! `RenewCertificate`: a newer certificate for the same key.

use orion_wire::v1;
use tonic::{Request, Status};

use super::Agents;
use super::connection::{expired, shown, since};
use crate::fleet::enrollment::{self, Late};
use crate::rpc::status;

/// Renews the certificate of the device that calls. The one that it showed is the proof, and stays valid until
/// it expires. After that, this is all that it can be used for.
pub(super) async fn renew_certificate(
    api: &Agents,
    request: Request<v1::RenewCertificateRequest>,
) -> Result<v1::RenewCertificateResponse, Status> {
    let (identity, has_expired) = shown(&api.backend, &request)?;
    let since = since(&request);
    let v1::RenewCertificateRequest { certificate_request, generation } = request.into_inner();
    let late = match (has_expired, generation) {
        (false, _) => None,
        // It was in time, and came late.
        (true, 0) => return Err(expired()),
        (true, generation) => Some(Late { generation, since }),
    };
    let enrollment = &api.backend.enrollment;
    let issued = enrollment::renew(enrollment, &identity, certificate_request, late).await;
    let issued = issued.map_err(status::enroll)?;
    Ok(v1::RenewCertificateResponse {
        certificate: issued.cert_pem,
        not_after: issued.not_after_ms,
        authorities: enrollment.authority.certificates(),
    })
}
