//! `EnrollmentService`: enrolls devices and issues their first certificates.

use orion_domain::Secret;
use orion_mtls::IssuedCertificate;
use orion_wire::v1;
use orion_wire::v1::enrollment_service_server::EnrollmentService;
use tonic::{Request, Response, Status};

use super::{Api, status};
use crate::backend::Backend;
use crate::fleet::enrollment::{Applicant, enroll, status as enrollment_status};
use crate::store::DeviceState;

#[tonic::async_trait]
impl EnrollmentService for Api {
    async fn enroll(
        &self,
        request: Request<v1::EnrollRequest>,
    ) -> Result<Response<v1::EnrollResponse>, Status> {
        let v1::EnrollRequest {
            invite_id,
            secret,
            certificate_request,
            suggested_name,
            hostname,
            os,
            ticket,
        } = request.into_inner();
        let applicant = Applicant {
            invite_id: invite_id.parse().map_err(status::invalid)?,
            secret: Secret::new(secret),
            ticket: (!ticket.is_empty()).then(|| Secret::new(ticket)),
            certificate_request,
            suggested_name,
            hostname,
            os,
        };
        let admission = enroll(&self.0.enrollment, applicant).await.map_err(status::enroll)?;
        Ok(Response::new(v1::EnrollResponse {
            device_id: admission.id.to_string(),
            device_name: admission.name.to_string(),
            certificate: admission.certificate.map(|issued| certificate(&self.0, issued)),
            ticket: admission.ticket.expose().to_owned(),
            fingerprint_words: admission.fingerprint_words,
        }))
    }

    async fn get_enrollment(
        &self,
        request: Request<v1::GetEnrollmentRequest>,
    ) -> Result<Response<v1::GetEnrollmentResponse>, Status> {
        let v1::GetEnrollmentRequest { device_id, ticket } = request.into_inner();
        let (row, issued) = enrollment_status(&self.0.enrollment, &device_id, &ticket)
            .await
            .map_err(status::enroll)?;
        let state = match row.state {
            DeviceState::Pending | DeviceState::Quarantined => v1::EnrollmentState::Pending,
            DeviceState::Approved => v1::EnrollmentState::Approved,
            DeviceState::Rejected | DeviceState::Revoked => v1::EnrollmentState::Rejected,
        };
        Ok(Response::new(v1::GetEnrollmentResponse {
            state: state.into(),
            certificate: issued.map(|issued| certificate(&self.0, issued)),
            device_name: row.name.to_string(),
        }))
    }
}

/// Converts a certificate to its wire form, with the authorities to trust.
fn certificate(backend: &Backend, issued: IssuedCertificate) -> v1::IssuedCertificate {
    v1::IssuedCertificate {
        certificate: issued.cert_pem,
        not_after: issued.not_after_ms,
        authorities: backend.enrollment.authority.certificates(),
    }
}
