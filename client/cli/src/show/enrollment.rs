//! Formats devices that ask to be enrolled by a code.

use orion_wire::v1;
use serde::Serialize;

use crate::output::{Output, facts};
use crate::text;

/// A request for programs; the comments in `proto/` describe the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EnrollmentView {
    pub(crate) request_id: String,
    pub(crate) name: String,
    pub(crate) hostname: String,
    pub(crate) platform: String,
    pub(crate) agent_version: String,
    pub(crate) address: String,
    pub(crate) requested_at: i64,
    pub(crate) expires_at: i64,
}

/// A confirmed request for programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ConfirmedView {
    #[serde(flatten)]
    pub(crate) device: EnrollmentView,
    /// The words to type at the device.
    pub(crate) answer: String,
}

impl From<v1::PendingEnrollment> for EnrollmentView {
    fn from(enrollment: v1::PendingEnrollment) -> Self {
        let v1::PendingEnrollment {
            request_id,
            suggested_name,
            hostname,
            platform,
            agent_version,
            address,
            requested_at,
            expires_at,
        } = enrollment;
        let name = suggested_name;
        Self {
            request_id,
            name,
            hostname,
            platform,
            agent_version,
            address,
            requested_at,
            expires_at,
        }
    }
}

impl EnrollmentView {
    /// Returns what asks, for a person who decides: first what the backend knows, then what the device says.
    pub(crate) fn card(&self, out: &Output) -> String {
        facts([
            ("address", text::one_line(&self.address, 80)),
            ("asked", text::when(&out.zone, self.requested_at)),
            ("it says: name", text::one_line(&self.name, 80)),
            ("it says: host name", text::one_line(&self.hostname, 80)),
            ("it says: platform", text::one_line(&self.platform, 80)),
            ("it says: version", text::one_line(&self.agent_version, 40)),
        ])
    }
}
