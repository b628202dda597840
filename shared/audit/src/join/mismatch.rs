//! Where the two sides contradict one another, or cannot be held together.

/// Where the two sides contradict one another.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The device noted a call that is not in the backend's audit as one of its own.
    #[error("device {device}, entry {entry}: call {call} is not in the backend's audit")]
    NotAtBackend {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The call.
        call: String,
    },
    /// The backend's row says something else of it.
    #[error("device {device}, entry {entry}: the backend's rows of call {call} say another {what}")]
    Differs {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The call.
        call: String,
        /// What differs.
        what: &'static str,
    },
    /// The device noted another end of a call whose end was known.
    #[error("device {device}, entry {entry}: call {call} had ended before")]
    EndedTwice {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The call.
        call: String,
    },
    /// The backend says that the device ran a call, and the device's chain has no entry of it.
    #[error("row {row}: device {device} ran call {call}, and its chain does not say so")]
    NotOnDevice {
        /// The device.
        device: String,
        /// The backend's row.
        row: i64,
        /// The call.
        call: String,
    },
    /// The device's chain is not the one that the backend saw.
    #[error(
        "row {row}: the backend saw entry {entry} of device {device}, and the device's chain has another there or none"
    )]
    DeviceForked {
        /// The device.
        device: String,
        /// The backend's row.
        row: i64,
        /// The entry.
        entry: i64,
    },
    /// The backend's chain is not the one that the device saw.
    #[error(
        "device {device}, entry {entry}: the device saw row {row} of the backend, and the backend's chain has another there or none"
    )]
    BackendForked {
        /// The device.
        device: String,
        /// The entry.
        entry: i64,
        /// The backend's row.
        row: i64,
    },
    /// The device's export is signed with a key that is not the device's.
    #[error(
        "row {row}: device {device} was enrolled with another key than the one that its export is signed with; somebody else made it"
    )]
    OtherKey {
        /// The device.
        device: String,
        /// The backend's row.
        row: i64,
    },
    /// The backend's audit does not know the device, and so not whose key signed its export.
    #[error("device {device}: that it was ever enrolled is not in the backend's audit")]
    NotEnrolled {
        /// The device.
        device: String,
    },
    /// A row that should be held beside a device's word is not understood.
    #[error(
        "row {row}: what this {kind} says can't be read, so that nothing can be held beside it; a newer orion may"
    )]
    Unreadable {
        /// The backend's row.
        row: i64,
        /// Its kind.
        kind: String,
    },
}
