//! Limits how often one source calls an operation, as the access table says.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use orion_domain::{ErrorCode, ToolError};

use super::{AccessError, Operation, TABLE};
use crate::listen::Source;

/// How many sources a limiter keeps before it drops the idle ones.
const MAX_SOURCES: usize = 10_000;

/// The limiters by path.
pub(super) struct SourceLimits(Vec<(&'static str, DefaultKeyedRateLimiter<Source>)>);

impl SourceLimits {
    /// Creates the limiters of the table.
    pub(super) fn of_table() -> Self {
        let limited = TABLE.iter().filter_map(|operation| {
            let quota = Quota::per_minute(NonZeroU32::new(operation.per_minute?)?);
            Some((operation.path, RateLimiter::keyed(quota)))
        });
        Self(limited.collect())
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The source is above the limit of this operation, or unknown.
    pub(super) fn check(
        &self,
        operation: &Operation,
        source: Option<&Source>,
    ) -> Result<(), AccessError> {
        let limiter = self.0.iter().find(|(path, _)| *path == operation.path);
        let Some((_, limiter)) = limiter else { return Ok(()) };
        let source = source.ok_or(AccessError::UnknownSource)?;
        if limiter.len() > MAX_SOURCES {
            limiter.retain_recent();
        }
        limiter.check_key(source).map_err(|_| {
            let error =
                ToolError::new(ErrorCode::RateLimited, "Too many requests from this address.");
            AccessError::limit(error.hint("try again in a minute"))
        })
    }
}
