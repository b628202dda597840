//! Previews: what a call would do, as its device reports in a dry run.

mod ask;
mod cut;
mod read;

use orion_domain::rule::Quantity;
use orion_domain::{Envelope, ErrorCode, Observation, RiskRaise, ToolError};

pub use ask::not_asked;
pub(super) use ask::{observe, preview};
pub use read::no_preview;

/// The result of a preview.
#[derive(Debug, Clone, PartialEq)]
pub enum Preview {
    /// An envelope, JSON.
    Shown(Vec<u8>),
    /// The call would fail.
    WouldFail(ToolError),
    /// The device did not report, or not in time.
    Missing,
}

impl Preview {
    /// Returns why the risk is higher, as the device reported.
    #[must_use]
    pub fn raises(&self) -> Vec<RiskRaise> {
        match self {
            Self::Shown(bytes) => serde_json::from_slice::<Envelope>(bytes)
                .map(|it| it.meta.raises)
                .unwrap_or_default(),
            Self::WouldFail(_) | Self::Missing => Vec::new(),
        }
    }

    /// Returns how much the call touches. None if the device did not report it.
    #[must_use]
    pub fn quantity(&self) -> Option<Quantity> {
        let Self::Shown(bytes) = self else { return None };
        let data = serde_json::from_slice::<Envelope>(bytes).ok()?.data?;
        // What is written is one file, by its size.
        let bytes = data["bytes"].as_u64().or_else(|| data["size_bytes"].as_u64());
        let quantity = Quantity { entries: data["entries"].as_u64(), bytes };
        (quantity != Quantity::default()).then_some(quantity)
    }

    /// Returns the preview as it is stored for the approval card. None if there is none.
    #[must_use]
    pub fn kept(self) -> Option<Vec<u8>> {
        match self {
            Self::Shown(envelope) => Some(envelope),
            Self::WouldFail(_) | Self::Missing => None,
        }
    }
}

/// What a device reports of a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewResult {
    /// What the call would do.
    pub preview: Preview,
    /// The observation of each path that the call touches.
    pub observed: Vec<Observation>,
}

impl PreviewResult {
    /// Checks that a later change of each path would be noticed; otherwise nobody is asked.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED` with the path.
    pub fn comparable(self) -> Result<Self, ToolError> {
        let Some(blind) = self.observed.iter().find(|seen| !seen.is_comparable()) else {
            return Ok(self);
        };
        let message = format!(
            "{} changes all the time, or holds too much or something that cannot be looked at, so it cannot be compared with what is shown. No approval is requested.",
            blind.path
        );
        let error = ToolError::new(ErrorCode::PreconditionFailed, message);
        let error = error.hint("name a part of it, or try again when it does not change");
        Err(error.with("attempted_path", blind.path.as_str()))
    }
}

impl From<PreviewError> for PreviewResult {
    fn from(error: PreviewError) -> Self {
        let preview = match error {
            PreviewError::WouldFail(error) => Preview::WouldFail(error),
            PreviewError::NotSaid(_) => Preview::Missing,
        };
        Self { preview, observed: Vec::new() }
    }
}

/// Why there is no preview.
#[derive(Debug, Clone, PartialEq)]
pub enum PreviewError {
    /// The call would fail.
    WouldFail(ToolError),
    /// The device did not report.
    NotSaid(ToolError),
}

impl From<PreviewError> for ToolError {
    fn from(error: PreviewError) -> Self {
        match error {
            PreviewError::WouldFail(error) | PreviewError::NotSaid(error) => error,
        }
    }
}
