//! What a tool that opens applications may use besides what every tool may.

use std::ops::Deref;

use super::Context;
use crate::apps::Apps;

/// The context of one call of a tool that opens applications.
#[derive(Debug, Clone, Copy)]
pub struct AppContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
    /// The applications on the device's list.
    pub apps: &'a Apps,
}

impl<'a> Deref for AppContext<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.common
    }
}
