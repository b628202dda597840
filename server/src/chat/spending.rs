//! Counts what a turn uses of models, and holds it to the limits of chats, people and days.
//!
//! Where there are limits, the estimated input of a request is counted before it is sent, so that nobody gets
//! around them by leaving in the middle of an answer.

use orion_domain::{ConversationId, TurnId};

use super::error::ChatError;
use super::turn::Turn;
use super::window;
use crate::clock::now_ms;
use crate::config::Spending;
use crate::model::{Answer, NANOS, Prices, Request, Usage};
use crate::store::{Spender, Spent, UsageChange};

/// A day, in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// What was counted for a request before it was sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reserved(Option<(Usage, u64)>);

impl Turn<'_> {
    /// Checks the limits, and counts the estimated input of the request where there are any.
    pub(super) async fn reserve(
        &self,
        name: &str,
        prices: &Prices,
        request: &Request,
    ) -> Result<Reserved, ChatError> {
        let limits = &self.pipeline.config.spending;
        let Some((_, conversation)) = self.place().filter(|_| limits.limits()) else {
            return Ok(Reserved(None));
        };
        self.check(limits, conversation).await?;
        let input = window::total(&request.messages, &request.tools);
        let usage = Usage { input_tokens: count(input), estimated: true, ..Usage::default() };
        let cost = prices.cost_nanos(&usage);
        let change = change((Usage::default(), 0), (Usage { estimated: false, ..usage }, cost));
        self.add(name, change).await?;
        Ok(Reserved(Some((usage, cost))))
    }

    /// Counts what a request used instead of what was reserved for it.
    pub(super) async fn settle(
        &mut self,
        name: &str,
        prices: &Prices,
        request: &Request,
        answer: &Answer,
        Reserved(reserved): Reserved,
    ) -> Result<(), ChatError> {
        // A proxy that knows nothing reports zeros, which must not count as free.
        let reported = answer.usage.filter(|usage| usage.tokens() > 0);
        let usage = reported.unwrap_or_else(|| estimate(request, answer));
        let cost = prices.cost_nanos(&usage);
        self.usage = self.usage.plus(usage);
        self.cost_nanos = self.cost_nanos.saturating_add(cost);
        self.add(name, change(reserved.unwrap_or_default(), (usage, cost))).await
    }

    /// Takes back what was reserved for a request that no model took.
    pub(super) async fn release(
        &self,
        name: &str,
        Reserved(reserved): Reserved,
    ) -> Result<(), ChatError> {
        match reserved {
            Some(reserved) => self.add(name, change(reserved, (Usage::default(), 0))).await,
            None => Ok(()),
        }
    }

    async fn add(&self, name: &str, change: UsageChange) -> Result<(), ChatError> {
        let Some((turn, conversation)) = self.place() else { return Ok(()) };
        let place = (turn, conversation, &self.caller.user);
        Ok(self.pipeline.store.add_usage(place, name, change, now_ms()).await?)
    }

    fn place(&self) -> Option<(TurnId, ConversationId)> {
        self.caller.conversation.map(|conversation| (self.id, conversation))
    }

    async fn check(&self, limits: &Spending, chat: ConversationId) -> Result<(), ChatError> {
        let since = now_ms().saturating_sub(DAY_MS);
        let user = &self.caller.user;
        for (by, what, tokens, cost) in [
            (Spender::Chat(chat), "this chat", limits.tokens_per_chat, limits.cost_per_chat),
            (
                Spender::Person(user, since),
                "your last 24 hours",
                limits.tokens_per_person_per_day,
                limits.cost_per_person_per_day,
            ),
            (
                Spender::Everybody(since),
                "everybody's last 24 hours",
                limits.tokens_per_day,
                limits.cost_per_day,
            ),
        ] {
            if tokens.is_none() && cost.is_none() {
                continue;
            }
            let spent = self.pipeline.store.spent(by).await?;
            if let Some(limit) = exceeded(spent, tokens, cost) {
                return Err(ChatError::Spent { what, limit });
            }
        }
        Ok(())
    }
}

/// Returns the limit that is reached, for people.
fn exceeded(spent: Spent, tokens: Option<u64>, cost: Option<f64>) -> Option<String> {
    if let Some(limit) = tokens.filter(|limit| spent.tokens >= *limit) {
        return Some(format!("{limit} tokens"));
    }
    let limit = cost?;
    // Parts of a billionth are not counted, and a sum that no number holds exceeds every limit.
    let spent: f64 = (spent.cost_nanos / (NANOS / 1_000_000)).to_string().parse().ok()?;
    (spent >= limit * 1_000_000.0).then(|| format!("{limit} of cost"))
}

/// Returns what an answer used, by the length of the texts.
fn estimate(request: &Request, answer: &Answer) -> Usage {
    let calls = answer.native_calls.iter().map(|call| call.name.len() + call.arguments.len());
    let output = window::tokens_of(answer.text.len() + calls.sum::<usize>());
    Usage {
        input_tokens: count(window::total(&request.messages, &request.tools)),
        output_tokens: count(output),
        cached_tokens: 0,
        estimated: true,
    }
}

fn count(tokens: usize) -> u64 {
    u64::try_from(tokens).unwrap_or(u64::MAX)
}

/// Returns the difference of two counts.
fn change((before, cost): (Usage, u64), (after, new_cost): (Usage, u64)) -> UsageChange {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let more = |after: u64, before: u64| signed(after).saturating_sub(signed(before));
    UsageChange {
        input_tokens: more(after.input_tokens, before.input_tokens),
        output_tokens: more(after.output_tokens, before.output_tokens),
        cached_tokens: more(after.cached_tokens, before.cached_tokens),
        cost_nanos: more(new_cost, cost),
        is_estimated: after.estimated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_reached_by_tokens_or_by_cost_and_is_named() {
        let spent = Spent { tokens: 1000, cost_nanos: 2_500_000_000 };
        for (tokens, cost, limit) in [
            (Some(1000), None, Some("1000 tokens")),
            (Some(1001), None, None),
            (None, Some(2.5), Some("2.5 of cost")),
            (None, Some(2.51), None),
            (Some(1001), Some(0.0), Some("0 of cost")),
        ] {
            assert_eq!(exceeded(spent, tokens, cost).as_deref(), limit, "{tokens:?} {cost:?}");
        }
    }
}
