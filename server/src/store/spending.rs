//! Holds what models are used for to limits: what a request may need is counted in the transaction that checks
//! that it fits, so that requests at the same time cannot exceed a limit together.

use orion_domain::{ConversationId, TurnId, UserName};

use super::columns::unsigned;
use super::db::{DecodeError, Durability, FromRow, Row, Statement, sql, values};
use super::turns::adding;
use super::{Store, StoreError, UsageChange};

/// What several turns used together, requests under way included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// The tokens of requests and answers.
    pub tokens: u64,
    /// The cost, in billionths of the currency.
    pub cost_nanos: u64,
}

impl FromRow for Spent {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self { tokens: unsigned(row, "tokens")?, cost_nanos: unsigned(row, "cost_nanos")? })
    }
}

/// Whose turns are summed.
#[derive(Debug, Clone, Copy)]
pub enum Spender<'a> {
    /// All turns of a chat.
    Chat(ConversationId),
    /// The turns of a person since a moment, in Unix milliseconds.
    Person(&'a UserName, i64),
    /// Everybody's turns since a moment, in Unix milliseconds.
    Everybody(i64),
}

/// The most that somebody may use.
#[derive(Debug, Clone, Copy)]
pub struct SpendingLimit<'a> {
    /// Whose turns count.
    pub by: Spender<'a>,
    /// The most tokens.
    pub tokens: Option<u64>,
    /// The most cost, in billionths of the currency.
    pub cost_nanos: Option<u64>,
}

/// What came of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reservation {
    /// It is counted.
    Made,
    /// It is not, because a limit would be exceeded.
    Exceeds {
        /// Which of the limits.
        limit: usize,
        /// What is used so far.
        spent: Spent,
        /// Whether the limit of cost is the one.
        is_cost: bool,
    },
}

impl Spender<'_> {
    fn sum(self) -> Statement {
        const OF_CHAT: &str = "SELECT COALESCE(SUM(input_tokens + output_tokens), 0) AS tokens, \
            COALESCE(SUM(cost_nanos), 0) AS cost_nanos FROM turns WHERE conversation_id = $1";
        const OF_PERSON: &str = "SELECT COALESCE(SUM(input_tokens + output_tokens), 0) AS tokens, \
            COALESCE(SUM(cost_nanos), 0) AS cost_nanos FROM turns WHERE user_name = $1 AND at >= $2";
        const OF_ALL: &str = "SELECT COALESCE(SUM(input_tokens + output_tokens), 0) AS tokens, \
            COALESCE(SUM(cost_nanos), 0) AS cost_nanos FROM turns WHERE at >= $1";
        match self {
            Self::Chat(chat) => sql(OF_CHAT).bind(chat),
            Self::Person(user, since) => sql(OF_PERSON).with(values![user, since]),
            Self::Everybody(since) => sql(OF_ALL).bind(since),
        }
    }
}

impl Store {
    /// Counts what a request may need, if it fits into all limits.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn reserve_usage(
        &self,
        place: (TurnId, ConversationId, &UserName),
        model: &str,
        most: UsageChange,
        limits: &[SpendingLimit<'_>],
        now: i64,
    ) -> Result<Reservation, StoreError> {
        let add = adding(place, model, most, now);
        let sums: Vec<_> =
            limits.iter().map(|it| (it.by.sum(), it.tokens, it.cost_nanos)).collect();
        let tokens = positive(most.input_tokens).saturating_add(positive(most.output_tokens));
        let cost = positive(most.cost_nanos);
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                for (limit, (sum, most_tokens, most_cost)) in sums.into_iter().enumerate() {
                    let spent: Spent = tx.query_one(sum).await?;
                    let exceeds = |most: Option<u64>, spent: u64, more: u64| {
                        most.is_some_and(|most| spent.saturating_add(more) > most)
                    };
                    let is_cost = exceeds(most_cost, spent.cost_nanos, cost);
                    if is_cost || exceeds(most_tokens, spent.tokens, tokens) {
                        return Ok(Reservation::Exceeds { limit, spent, is_cost });
                    }
                }
                tx.execute(add).await?;
                Ok(Reservation::Made)
            })
        })
        .await
    }
}

/// Returns a count that is never negative here.
fn positive(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
