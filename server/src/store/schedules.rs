//! Tasks: calls that are made at times to come. Each time is claimed by one guarded change, so that it makes one call
//! however many processes look.

mod change;
mod row;

pub use change::NewScheduleError;
pub(super) use change::cancel_all;
pub use row::{ScheduleRow, ScheduleState};

use orion_domain::UserName;

use super::db::{Statement, sql, values};
use super::{Store, StoreError};

/// The most active tasks of one person.
pub const MAX_SCHEDULES: i64 = 50;
/// How many tasks are listed, and looked at together.
const MAX_LISTED: i64 = 500;

impl Store {
    /// Returns tasks, the newest first: of one person or of everybody, and only those whose id begins like this.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn schedules(
        &self,
        user: Option<&UserName>,
        prefix: &str,
    ) -> Result<Vec<ScheduleRow>, StoreError> {
        let text = match user {
            Some(_) => {
                "SELECT * FROM schedules WHERE user_name = $1 \
                 AND substr(id, 1, length($2)) = $2 ORDER BY id DESC LIMIT $3"
            }
            None => {
                "SELECT * FROM schedules WHERE ($1 IS NULL) AND substr(id, 1, length($2)) = $2 \
                 ORDER BY id DESC LIMIT $3"
            }
        };
        let values = values![user.map(UserName::as_str), prefix.to_ascii_lowercase(), MAX_LISTED];
        self.db().query(sql(text).with(values)).await
    }

    /// Returns tasks whose time has come, the earliest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn due_schedules(&self, now: i64) -> Result<Vec<ScheduleRow>, StoreError> {
        let text = "SELECT * FROM schedules WHERE next_at <= $1 ORDER BY next_at LIMIT $2";
        self.db().query(sql(text).with(values![now, MAX_LISTED])).await
    }

    /// Returns tasks whose last time was claimed and made no call: a process died in between.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn claimed_schedules(&self) -> Result<Vec<ScheduleRow>, StoreError> {
        self.db().flush().await?;
        let text = "SELECT * FROM schedules WHERE last_call_id IS NOT NULL AND ended_by IS NULL \
            AND NOT EXISTS (SELECT 1 FROM calls WHERE calls.id = last_call_id) LIMIT $1";
        self.db().query(sql(text).with(values![MAX_LISTED])).await
    }
}

/// Returns the statement that deletes all tasks of a person.
pub(super) fn delete_all(user: &UserName) -> Statement {
    sql("DELETE FROM schedules WHERE user_name = $1").bind(user)
}
