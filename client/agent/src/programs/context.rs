//! What a tool that runs programs may use besides what every tool may.

use std::ops::Deref;

use super::Programs;
use crate::call::{Context, RiskGate};

/// The context of one call of a tool that runs programs.
#[derive(Debug, Clone, Copy)]
pub struct CommandContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
    /// The programs of this device.
    pub programs: &'a Programs,
    /// Records what raises the call's risk. Stops the call unless the policy or an approval allows the raise.
    pub risk: &'a RiskGate,
}

impl<'a> Deref for CommandContext<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.common
    }
}
