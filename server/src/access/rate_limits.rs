//! Limits how fast one person makes calls and other requests, from any address and with any token. A request
//! above the limit is rejected before it is read and audited only as a count. A denied call writes rows of
//! its own, and a flood of them would fill the database. A flood of other requests would slow down everybody.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use orion_domain::{ErrorCode, ToolError, UserName};

use crate::config::Calls;

/// The RPCs that make calls, or evaluate them as if they were made.
const CALLS: [&str; 8] = [
    "/orion.v1.ToolService/CallTool",
    "/orion.v1.ChatService/SendMessage",
    "/orion.v1.ApprovalService/DecideApproval",
    "/orion.v1.PolicyService/ExplainCall",
    "/orion.v1.PlanService/CreatePlan",
    "POST /v1/chat/completions",
    "POST /v1/responses",
    "POST /mcp",
];
/// The RPCs that end calls. Neither calls nor other requests use up what a person may make of them.
pub(super) const STOPS: [&str; 1] = ["/orion.v1.ToolService/StopCalls"];
/// How many of those a person may make a second, and how many at once.
const STOPS_PER_SECOND: NonZeroU32 = NonZeroU32::new(2).unwrap();
const STOPS_BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How many other requests are allowed for each call.
const OTHERS: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// How many people a limiter keeps before it drops the idle ones.
const REMEMBERED: usize = 10_000;

/// The rate limits of every person.
pub(super) struct PersonRateLimits {
    calls: Limit,
    stops: Limit,
    others: Limit,
}

struct Limit {
    per_second: u32,
    what: &'static str,
    limiter: DefaultKeyedRateLimiter<UserName>,
}

impl PersonRateLimits {
    /// Creates the limits from the configuration.
    pub(super) fn new(calls: &Calls) -> Self {
        let positive = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let rate = positive(calls.per_person_per_second);
        let burst = positive(calls.burst_per_person);
        Self {
            calls: Limit::new("calls", rate, burst),
            stops: Limit::new("stops", STOPS_PER_SECOND, STOPS_BURST),
            others: Limit::new(
                "requests",
                rate.saturating_mul(OTHERS),
                burst.saturating_mul(OTHERS),
            ),
        }
    }

    /// Counts a request.
    ///
    /// # Errors
    /// `RATE_LIMITED`: the person is above the limit, so the request must not be processed.
    pub(super) fn check(&self, path: &str, user: &UserName) -> Result<(), ToolError> {
        let limit = if CALLS.contains(&path) {
            &self.calls
        } else if STOPS.contains(&path) {
            &self.stops
        } else {
            &self.others
        };
        limit.check(user)
    }
}

impl Limit {
    fn new(what: &'static str, rate: NonZeroU32, burst: NonZeroU32) -> Self {
        let limiter = RateLimiter::keyed(Quota::per_second(rate).allow_burst(burst));
        Self { per_second: rate.get(), what, limiter }
    }

    fn check(&self, user: &UserName) -> Result<(), ToolError> {
        if self.limiter.len() > REMEMBERED {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(user).map_err(|_| {
            ToolError::new(
                ErrorCode::RateLimited,
                format!(
                    "{user} makes more than {} {} a second, so this one was rejected.",
                    self.per_second, self.what
                ),
            )
            .hint("try again in a second")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Operation;
    use super::*;

    #[test]
    fn a_person_makes_a_burst_of_calls_and_then_so_many_a_second_and_others_go_on() {
        let calls = Calls { per_person_per_second: 1, burst_per_person: 3, ..Calls::default() };
        let [ann, bob] = ["ann", "bob"].map(|name| name.parse::<UserName>().unwrap());
        let pace = PersonRateLimits::new(&calls);
        for _ in 0..3 {
            assert_eq!(pace.check(CALLS[0], &ann), Ok(()));
        }
        let refused = pace.check(CALLS[1], &ann).unwrap_err();
        assert_eq!(refused.code, ErrorCode::RateLimited);
        assert!(refused.message.starts_with("ann makes more than 1 calls a second"), "{refused:?}");
        let other = "/orion.v1.ToolService/GetCall";
        for _ in 0..30 {
            assert_eq!(pace.check(other, &ann), Ok(()));
        }
        let refused = pace.check(other, &ann).unwrap_err();
        assert!(refused.message.starts_with("ann makes more than 10 requests"), "{refused:?}");
        assert_eq!(pace.check(CALLS[0], &bob), Ok(()));
        for _ in 0..STOPS_BURST.get() {
            assert_eq!(pace.check(STOPS[0], &ann), Ok(()), "a flood leaves room for a stop");
        }
        assert_eq!(pace.check(STOPS[0], &ann).unwrap_err().code, ErrorCode::RateLimited);
    }

    #[test]
    fn what_is_paced_is_in_the_table() {
        for path in CALLS.into_iter().chain(STOPS) {
            assert!(Operation::find(path).is_some(), "{path}");
        }
    }
}
