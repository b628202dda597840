//! Stops: which calls do not run until they are resumed. A stop covers the calls of one person or of everybody, on
//! one device or on all.

use orion_domain::{DeviceId, DeviceName, PlanId, UserName};
use serde::Serialize;

use super::columns::parsed;
use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError, plans};

/// The calls that a stop covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StopScope {
    /// Whose calls. None for everybody's.
    pub user: Option<UserName>,
    /// The device of the calls. None for every device, and the backend.
    pub device: Option<DeviceId>,
}

/// A stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopRow {
    /// The calls that it covers.
    pub scope: StopScope,
    /// The name of the device. None for every device.
    pub device_name: Option<DeviceName>,
    /// Who set it.
    pub by: UserName,
    /// When it was set, Unix milliseconds.
    pub at: i64,
    /// The person's reason. Empty if none was given.
    pub reason: String,
}

impl StopRow {
    /// Returns whether the person whose calls it covers set it.
    #[must_use]
    pub fn is_own(&self) -> bool {
        self.scope.user.as_ref() == Some(&self.by)
    }
}

impl FromRow for StopRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        // An empty text stands for all: both columns are the key, which has no NULL.
        let is_for_all = |column| row.get::<&str>(column).map(str::is_empty);
        let scope = StopScope {
            user: if is_for_all("user_name")? { None } else { Some(parsed(row, "user_name")?) },
            device: if is_for_all("device_id")? { None } else { Some(parsed(row, "device_id")?) },
        };
        let device_name = scope.device.map(|_| parsed(row, "device_name")).transpose()?;
        Ok(Self {
            scope,
            device_name,
            by: parsed(row, "stopped_by")?,
            at: row.get("stopped_at")?,
            reason: row.get("reason")?,
        })
    }
}

/// The audit event of a stop that was set or lifted.
#[derive(Serialize)]
struct StopEvent<'a> {
    /// None for everybody.
    user: Option<&'a UserName>,
    /// None for every device.
    device: Option<&'a DeviceName>,
    device_id: Option<DeviceId>,
    by: &'a UserName,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

impl<'a> StopEvent<'a> {
    fn new(stop: &'a StopRow, by: &'a UserName, reason: &'a str) -> Self {
        let (user, device_id) = (stop.scope.user.as_ref(), stop.scope.device);
        Self { user, device: stop.device_name.as_ref(), device_id, by, reason }
    }
}

/// Returns the key of a scope as it is stored.
fn key(scope: &StopScope) -> (String, String) {
    let user = scope.user.as_ref().map(ToString::to_string).unwrap_or_default();
    (user, scope.device.map(|id| id.to_string()).unwrap_or_default())
}

impl Store {
    /// Stores a stop with its audit event, in one command. Returns `false` if these calls are stopped already. A
    /// stop that a person set on their own calls is replaced by one that somebody else sets on them.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn set_stop(&self, stop: &StopRow) -> Result<bool, StoreError> {
        let (user, device) = key(&stop.scope);
        let insert = sql("INSERT INTO stops \
             (user_name, device_id, device_name, stopped_by, stopped_at, reason) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (user_name, device_id) DO UPDATE \
             SET stopped_by = $4, stopped_at = $5, reason = $6 \
             WHERE stops.stopped_by = stops.user_name AND $4 <> $1")
        .with(values![
            user,
            device,
            stop.device_name.as_ref().map(ToString::to_string).unwrap_or_default(),
            &stop.by,
            stop.at,
            stop.reason.as_str()
        ])
        .exactly(1);
        let body = StopEvent::new(stop, &stop.by, &stop.reason);
        let event = AuditEvent::new(stop.at, "calls.stopped", String::new(), &body)?;
        let batch = Batch::new(Durability::Fsync).statement(insert).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Lifts a stop, with its audit event, in one command. Returns `false` if it was lifted or replaced before.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn lift_stop(
        &self,
        stop: &StopRow,
        by: &UserName,
        now: i64,
    ) -> Result<bool, StoreError> {
        let (user, device) = key(&stop.scope);
        let delete = sql("DELETE FROM stops WHERE user_name = $1 AND device_id = $2 \
             AND stopped_by = $3 AND stopped_at = $4")
        .with(values![user, device, &stop.by, stop.at])
        .exactly(1);
        let event =
            AuditEvent::new(now, "calls.resumed", String::new(), &StopEvent::new(stop, by, ""))?;
        let batch = Batch::new(Durability::Fsync).statement(delete).event(event);
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Returns every stop, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn stops(&self) -> Result<Vec<StopRow>, StoreError> {
        let text = "SELECT * FROM stops ORDER BY stopped_at, user_name, device_id";
        self.db().query(sql(text)).await
    }

    /// Ends the open plans that a stop covers, and lets the running ones begin no further step, at most 100.
    /// Returns their ids. The caller ends the calls that wait.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn stop_plans(&self, stop: &StopRow, now: i64) -> Result<Vec<PlanId>, StoreError> {
        let (scope, by) = (stop.scope.clone(), stop.by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move { plans::stop_covered(tx, &scope, &by, now).await })
        })
        .await
    }
}
