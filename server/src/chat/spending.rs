//! Counts what a turn uses of models, and holds it to the limits of chats, people and days.
//!
//! Where there are limits, the most that a request may use is counted before it is sent: its estimated input and
//! the longest answer. It is replaced by what the provider reports. Where nobody knows what the provider counted,
//! because the person left, the answer broke off or the server failed, the whole reservation stays.

use orion_domain::{ConversationId, TurnId};

use super::error::ChatError;
use super::turn::Turn;
use super::window;
use crate::clock::now_ms;
use crate::config::Spending;
use crate::model::{Answer, ModelConfig, ModelError, NANOS, Request, Usage};
use crate::store::{Reservation, Spender, SpendingLimit, Spent, UsageChange};

/// A day, in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// What was counted for a request before it was sent, and its cost. None where nothing is limited.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reserved(Option<(Usage, u64)>);

impl Turn<'_> {
    /// Counts the most that the request may use, where there are limits.
    ///
    /// # Errors
    /// [`ChatError::Spent`] if a limit could be exceeded.
    pub(super) async fn reserve(
        &self,
        model: &ModelConfig,
        request: &Request,
    ) -> Result<Reserved, ChatError> {
        let limits = &self.pipeline.config.spending;
        let Some((turn, conversation)) = self.place().filter(|_| limits.limits()) else {
            return Ok(Reserved(None));
        };
        let most = Usage {
            input_tokens: count(window::total(&request.messages, &request.tools)),
            output_tokens: model.answer_tokens().into(),
            cached_tokens: 0,
            estimated: true,
        };
        let cost = model.prices().cost_nanos(&most);
        let user = &self.caller.user;
        let since = now_ms().saturating_sub(DAY_MS);
        let rows = rows(limits);
        let spenders =
            [Spender::Chat(conversation), Spender::Person(user, since), Spender::Everybody(since)];
        let limits: Vec<_> = spenders
            .into_iter()
            .zip(&rows)
            .map(|(by, row)| SpendingLimit { by, tokens: row.tokens, cost_nanos: row.cost_nanos() })
            .collect();
        let place = (turn, conversation, user);
        let adding = change((Usage::default(), 0), (most, cost), true);
        let store = &self.pipeline.store;
        match store.reserve_usage(place, &model.name, adding, &limits, now_ms()).await? {
            Reservation::Made => Ok(Reserved(Some((most, cost)))),
            Reservation::Exceeds { limit, spent, is_cost } => {
                let row = rows.get(limit).copied().unwrap_or_default();
                Err(exceeded(row, spent, (most, cost), is_cost))
            }
        }
    }

    /// Counts what a request used instead of what was reserved for it.
    pub(super) async fn settle(
        &mut self,
        model: &ModelConfig,
        request: &Request,
        answer: &Answer,
        reserved: Reserved,
    ) -> Result<(), ChatError> {
        // A proxy that knows nothing reports zeros, which must not count as free.
        let reported = answer.usage.filter(|usage| usage.tokens() > 0);
        let usage = reported.unwrap_or_else(|| estimate(request, answer));
        self.count(model, reserved, usage).await
    }

    /// Counts a request without an answer: nothing where the server surely did not begin with it, and otherwise
    /// all that was reserved.
    pub(super) async fn settle_failed(
        &mut self,
        model: &ModelConfig,
        failure: &ModelError,
        Reserved(reserved): Reserved,
    ) -> Result<(), ChatError> {
        let Some((most, _)) = reserved else { return Ok(()) };
        let usage = if failure.is_uncounted() { Usage::default() } else { most };
        self.count(model, Reserved(reserved), usage).await
    }

    async fn count(
        &mut self,
        model: &ModelConfig,
        Reserved(reserved): Reserved,
        usage: Usage,
    ) -> Result<(), ChatError> {
        let cost = model.prices().cost_nanos(&usage);
        self.usage = self.usage.plus(usage);
        self.cost_nanos = self.cost_nanos.saturating_add(cost);
        let Some((turn, conversation)) = self.place() else { return Ok(()) };
        let change = change(reserved.unwrap_or_default(), (usage, cost), self.usage.estimated);
        let place = (turn, conversation, &self.caller.user);
        Ok(self.pipeline.store.add_usage(place, &model.name, change, now_ms()).await?)
    }

    fn place(&self) -> Option<(TurnId, ConversationId)> {
        self.caller.conversation.map(|conversation| (self.id, conversation))
    }
}

/// One limit of the configuration.
#[derive(Debug, Clone, Copy, Default)]
struct Limit {
    what: &'static str,
    tokens: Option<u64>,
    cost: Option<f64>,
}

impl Limit {
    /// Returns the limit of cost in billionths of the currency.
    fn cost_nanos(&self) -> Option<u64> {
        // A decimal text is parsed instead of a float cast, which could lose a digit. What no number holds
        // admits nothing.
        self.cost.map(|cost| format!("{:.0}", cost * 1e9).parse().unwrap_or_default())
    }
}

fn rows(limits: &Spending) -> [Limit; 3] {
    [
        Limit { what: "this chat", tokens: limits.tokens_per_chat, cost: limits.cost_per_chat },
        Limit {
            what: "your last 24 hours",
            tokens: limits.tokens_per_person_per_day,
            cost: limits.cost_per_person_per_day,
        },
        Limit {
            what: "everybody's last 24 hours",
            tokens: limits.tokens_per_day,
            cost: limits.cost_per_day,
        },
    ]
}

/// Returns the error of a request that does not fit into a limit.
fn exceeded(row: Limit, spent: Spent, (most, cost): (Usage, u64), is_cost: bool) -> ChatError {
    let (limit, used, more) = if is_cost {
        let limit = row.cost.unwrap_or_default();
        (format!("{limit} of cost"), currency(spent.cost_nanos), currency(cost))
    } else {
        let limit = row.tokens.unwrap_or_default();
        (format!("{limit} tokens"), spent.tokens.to_string(), most.tokens().to_string())
    };
    ChatError::Spent { what: row.what, limit, used, more }
}

/// Returns a cost in the currency, to a thousandth.
fn currency(nanos: u64) -> String {
    let thousandths = nanos.div_ceil(NANOS / 1000);
    format!("{}.{:03}", thousandths / 1000, thousandths % 1000)
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
fn change(
    (before, cost): (Usage, u64),
    (after, new_cost): (Usage, u64),
    is_estimated: bool,
) -> UsageChange {
    let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let more = |after: u64, before: u64| signed(after).saturating_sub(signed(before));
    UsageChange {
        input_tokens: more(after.input_tokens, before.input_tokens),
        output_tokens: more(after.output_tokens, before.output_tokens),
        cached_tokens: more(after.cached_tokens, before.cached_tokens),
        cost_nanos: more(new_cost, cost),
        is_estimated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_says_what_is_used_and_what_the_request_may_need() {
        let row = Limit { what: "this chat", tokens: Some(9000), cost: Some(2.5) };
        assert_eq!(row.cost_nanos(), Some(2_500_000_000));
        let spent = Spent { tokens: 8000, cost_nanos: 2_400_000_001 };
        let most = Usage { input_tokens: 400, output_tokens: 1000, ..Usage::default() };
        let said = |is_cost| exceeded(row, spent, (most, 200_000_000), is_cost).to_string();
        assert_eq!(
            said(false),
            "this chat has a limit of 9000 tokens for models: 8000 are used or reserved, and this request may need 1400"
        );
        assert_eq!(
            said(true),
            "this chat has a limit of 2.5 of cost for models: 2.401 are used or reserved, and this request may need 0.200"
        );
    }
}
