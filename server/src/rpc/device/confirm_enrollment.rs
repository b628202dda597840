//! `ConfirmEnrollment`: lets the device that shows a code enroll.

use orion_policy::Labels;
use orion_wire::v1;
use tonic::Status;

use super::invite_device::device_name;
use super::labels::invalid;
use super::parse_grants::parse_grants;
use super::{DeviceApi, to_proto};
use crate::fleet::enrollment::by_code::{Confirmed, Terms, confirm};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Makes a one-use invitation for the key of the device with this code. The words are typed from the device, so that
/// nothing is confirmed unseen; the answer's words go back to the device in the same way.
pub(super) async fn confirm_enrollment(
    api: &DeviceApi,
    request: Signed<v1::ConfirmEnrollmentRequest>,
) -> Result<v1::ConfirmEnrollmentResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ConfirmEnrollmentRequest { code, words, name, grants, labels } = message;
    let name = device_name(&name)?;
    let labels = Labels::parse(&labels).map_err(invalid)?;
    let terms = Terms { name, grants: parse_grants(&grants)?, labels };
    let confirmed = confirm(&api.enrollment, &identity.caller, &code, &words, terms).await;
    let Confirmed { view, valid_until, answer } = confirmed.map_err(status::enrollment_code)?;
    let enrollment = Some(to_proto::pending_enrollment(view));
    Ok(v1::ConfirmEnrollmentResponse { enrollment, valid_until, answer })
}
