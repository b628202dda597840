//! What a call is counted with: earlier calls and the quantity. The earlier calls are counted in
//! [`crate::pipeline::rate_limit`].

use orion_domain::rule::Quantity;
use orion_domain::{RiskRaise, Touches};

use crate::pipeline::call::CallContext;
use crate::pipeline::preview::Preview;

/// What a call is counted with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many earlier calls each rule counts. Empty if no rule has a limit for this call.
    pub earlier: Vec<u32>,
    /// How much the call touches. None if no device reported it.
    pub quantity: Option<Quantity>,
    /// Why the risk is higher than the tool's, as the device reported.
    pub raises: Vec<RiskRaise>,
}

impl Counts {
    /// Returns what the device reported of a call, and no earlier calls.
    #[must_use]
    pub fn reported(context: &CallContext, touches: &Touches) -> Self {
        let preview = context.preview_of(touches).map(|it| &it.preview);
        let mut raises = context.raises.clone();
        raises.extend(preview.map(Preview::raises).unwrap_or_default());
        Self { earlier: Vec::new(), quantity: preview.and_then(Preview::quantity), raises }
    }
}
