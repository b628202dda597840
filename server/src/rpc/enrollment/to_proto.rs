//! Converts certificates to their wire form.

use orion_mtls::IssuedCertificate;
use orion_wire::v1;

use crate::fleet::enrollment::Enrollment;

/// Converts a certificate, with the authorities to trust.
pub(super) fn certificate(
    enrollment: &Enrollment,
    issued: IssuedCertificate,
) -> v1::IssuedCertificate {
    v1::IssuedCertificate {
        certificate: issued.cert_pem,
        not_after: issued.not_after_ms,
        authorities: enrollment.authority.certificates(),
    }
}
