//! The result of a verification, as JSON and tables show it.

use serde::Serialize;

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Verdict {
    pub(super) whole: bool,
    pub(super) rows: i64,
    pub(super) head: String,
    pub(super) checkpoints: u64,
    pub(super) key: String,
    pub(super) broken_seq: Option<i64>,
    pub(super) problem: Option<String>,
    /// Unix milliseconds, signed. The time of the export; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) made_at: Option<i64>,
    /// The older export that this one continues. `None` where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) since: Option<SinceView>,
    /// The comparison with the devices' exports. `None` without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) joined: Option<JoinedView>,
    /// Devices whose chain contradicts what the backend recorded of it.
    pub(super) device_problems: Vec<String>,
}

/// An older export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct SinceView {
    pub(super) rows: i64,
    /// Unix milliseconds, signed. The time of the export.
    pub(super) made_at: i64,
}

/// A device's export that is complete and signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DeviceView {
    pub(super) file: String,
    pub(super) first: i64,
    pub(super) last: i64,
    /// Unix milliseconds by the device's clock, signed. The time of the export.
    pub(super) made_at: i64,
}

/// The comparison of both sides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct JoinedView {
    pub(super) calls: u64,
    pub(super) pending: u64,
    pub(super) before: u64,
    pub(super) forgotten: u64,
    pub(super) heads: u64,
    pub(super) devices: Vec<DeviceView>,
    pub(super) problems: Vec<String>,
}
