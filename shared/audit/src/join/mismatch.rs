//! Contradictions between the two sides, and what cannot be compared.

/// A contradiction between the two sides.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The device recorded a call that the backend's audit does not have for this device.
    #[error("device {device}, entry {entry}: call {call} is not in the backend's audit")]
    NotAtBackend {
        /// The device's id.
        device: String,
        /// The entry's position.
        entry: i64,
        /// The call's id.
        call: String,
    },
    /// The backend's row has another outcome.
    #[error("device {device}, entry {entry}: the backend's rows of call {call} say another {what}")]
    Differs {
        /// The device's id.
        device: String,
        /// The entry's position.
        entry: i64,
        /// The call's id.
        call: String,
        /// What differs.
        what: &'static str,
    },
    /// The device recorded a second outcome of a call.
    #[error("device {device}, entry {entry}: call {call} had ended before")]
    EndedTwice {
        /// The device's id.
        device: String,
        /// The entry's position.
        entry: i64,
        /// The call's id.
        call: String,
    },
    /// The backend's audit says that the device ran a call, and the device's chain has no entry for it.
    #[error("row {row}: device {device} ran call {call}, and its chain does not say so")]
    NotOnDevice {
        /// The device's id.
        device: String,
        /// Position of the backend's row.
        row: i64,
        /// The call's id.
        call: String,
    },
    /// The device's chain differs from the one that the backend recorded.
    #[error(
        "row {row}: the backend saw entry {entry} of device {device}, and the device's chain has another there or none"
    )]
    DeviceForked {
        /// The device's id.
        device: String,
        /// Position of the backend's row.
        row: i64,
        /// The entry's position.
        entry: i64,
    },
    /// The backend's chain differs from the one that the device recorded.
    #[error(
        "device {device}, entry {entry}: the device saw row {row} of the backend, and the backend's chain has another there or none"
    )]
    BackendForked {
        /// The device's id.
        device: String,
        /// The entry's position.
        entry: i64,
        /// Position of the backend's row.
        row: i64,
    },
    /// The device's export is signed with another device's key.
    #[error(
        "row {row}: device {device} was enrolled with another key than the one that its export is signed with; somebody else made it"
    )]
    OtherKey {
        /// The device's id.
        device: String,
        /// Position of the backend's row.
        row: i64,
    },
    /// The backend's audit has no enrolment of the device, so the owner of the signing key is unknown.
    #[error("device {device}: the backend's audit log has no enrolment of this device")]
    NotEnrolled {
        /// The device's id.
        device: String,
    },
    /// A row that should be compared with a device's report cannot be parsed.
    #[error(
        "row {row}: this {kind} cannot be read, so it was not compared. A newer orion may be able to read it"
    )]
    Unreadable {
        /// Position of the backend's row.
        row: i64,
        /// The row's kind.
        kind: String,
    },
}
