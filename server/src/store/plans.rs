//! Plans: stored with the approval requests of their steps, decided as a whole, and moved forward step by
//! step.

mod decide;
mod make;
mod progress;
mod row;
mod state;
mod stop;

use orion_domain::{PlanId, UserName};

use super::columns::{id_range, only};
use super::db::{Db, sql};
use super::{Store, StoreError, approvals};

pub use decide::{DecidePlanError, NewPlanVote};
pub use make::MakePlanError;
pub use progress::StepEnd;
pub use row::{EarlierChanges, NewPlan, NewStep, PlanRow, StepRow};
pub use state::{PlanState, StepState};
pub(super) use stop::stop_covered;

/// How many plans are listed or expired at a time.
const PAGE: i64 = 100;

/// The columns of a plan.
macro_rules! plans {
    ($rest:literal) => {
        concat!(
            "SELECT *, (SELECT COUNT(*) FROM plan_steps WHERE plan_id = plans.id) AS step_count \
             FROM plans ",
            $rest
        )
    };
}
use plans;

impl Store {
    /// Returns a plan with its steps and their approval requests.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn plan(&self, id: PlanId) -> Result<PlanRow, StoreError> {
        let row = self.db().query_one(sql(plans!("WHERE id = $1")).bind(id)).await?;
        with_steps(self.db(), row).await
    }

    /// Returns a plan by its id or a prefix of the id, as people give it, with its steps and their approval
    /// requests.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn find_plan(&self, id: &str) -> Result<PlanRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let text = plans!("WHERE id >= $1 AND id < $2 LIMIT 2");
        let row = only(self.db().query(sql(text).bind(from).bind(to)).await?)?;
        with_steps(self.db(), row).await
    }

    /// Returns the newest 100 plans without their steps, newest first: of this person, or of everybody;
    /// with `open_only` those that wait or run.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn plans(
        &self,
        of: Option<&UserName>,
        open_only: bool,
    ) -> Result<Vec<PlanRow>, StoreError> {
        let text = match (of, open_only) {
            (_, true) => plans!(
                "WHERE state IN ('open', 'running') AND ($1 IS NULL OR requester = $1) \
                 ORDER BY id DESC LIMIT $2"
            ),
            (Some(_), false) => plans!("WHERE requester = $1 ORDER BY id DESC LIMIT $2"),
            (None, false) => plans!("ORDER BY id DESC LIMIT $2"),
        };
        self.db().query(sql(text).bind(of.map(UserName::as_str)).bind(PAGE)).await
    }

    /// Returns the plans that were running; at most 100.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn running_plans(&self) -> Result<Vec<PlanRow>, StoreError> {
        let text = plans!("WHERE state = 'running' ORDER BY id LIMIT $1");
        let rows: Vec<PlanRow> = self.db().query(sql(text).bind(PAGE)).await?;
        let mut plans = Vec::with_capacity(rows.len());
        for row in rows {
            plans.push(with_steps(self.db(), row).await?);
        }
        Ok(plans)
    }

    /// Returns the calls with ids after `after` that wait for a plan which has ended, in order; at most
    /// 500.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn calls_of_ended_plans(&self, after: &str) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> = self
            .db()
            .query(
                sql("SELECT calls.id FROM calls JOIN plans ON plans.id = calls.plan_id \
             WHERE calls.closed_at IS NULL AND calls.state = 'awaiting_approval' \
             AND plans.ended_at IS NOT NULL AND calls.id > $1 ORDER BY calls.id LIMIT 500")
                .bind(after),
            )
            .await?;
        Ok(rows.into_iter().map(|(id,)| id).collect())
    }
}

/// Adds its steps and their approval requests to a plan.
async fn with_steps(db: &Db, row: PlanRow) -> Result<PlanRow, StoreError> {
    let steps = db
        .query(sql("SELECT * FROM plan_steps WHERE plan_id = $1 ORDER BY number").bind(row.id))
        .await?;
    let questions = db.query(sql(approvals::OF_PLAN).bind(row.id)).await?;
    Ok(PlanRow { steps, questions, ..row })
}
