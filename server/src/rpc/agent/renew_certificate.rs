//! `RenewCertificate`: a newer certificate for the same key.

use orion_wire::v1;
use tonic::{Request, Status};

use super::Agents;
use super::connection::good;
use crate::fleet::enrollment;
use crate::rpc::status;

/// Renews the certificate of the device that calls. The one that it showed is the proof, and stays valid until
/// it expires.
pub(super) async fn renew_certificate(
    api: &Agents,
    request: Request<v1::RenewCertificateRequest>,
) -> Result<v1::RenewCertificateResponse, Status> {
    let identity = good(&api.backend, &request)?;
    let v1::RenewCertificateRequest { certificate_request } = request.into_inner();
    let enrollment = &api.backend.enrollment;
    let issued = enrollment::renew(enrollment, &identity, certificate_request).await;
    let issued = issued.map_err(status::enroll)?;
    Ok(v1::RenewCertificateResponse {
        certificate: issued.cert_pem,
        not_after: issued.not_after_ms,
        authorities: enrollment.authority.certificates(),
    })
}
