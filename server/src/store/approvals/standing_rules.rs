//! Narrow rules that people made of an approval. Each has the id of the approval request that it was made
//! from.

use std::collections::HashMap;

use orion_domain::{ApprovalId, DeviceId, DeviceName, Role, Rule, UserName};
use serde::Serialize;

use crate::store::columns::{id_range, json, only, parsed};
use crate::store::db::{AuditEvent, DecodeError, Durability, FromRow, Row, Tx, sql, values};
use crate::store::{Store, StoreError};

/// How many rules are read at most.
const MAX_RULES: i64 = 10_000;

/// How many rules of all devices are read at most.
const MAX_RULES_OF_ALL_DEVICES: i64 = 2_000_000;

/// Selects the rules in effect at $1, with their maker's current role and the role that the approval
/// needed, oldest first; at most $3.
macro_rules! rules_that_hold {
    ($of:literal) => {
        concat!(
            "SELECT standing_rules.*, users.role AS role, approver_role FROM standing_rules \
             JOIN users ON users.name = made_by JOIN approvals ON approvals.id = standing_rules.id \
             WHERE revoked_at IS NULL AND standing_rules.expires_at > $1 \
             AND disabled_at IS NULL ",
            $of,
            " ORDER BY +standing_rules.id LIMIT $3"
        )
    };
}

/// The limit of standing rules in effect on one device.
pub const MAX_RULES_ON_DEVICE: i64 = 200;

/// A rule that a person made from an approval. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRule {
    /// The approval request that it was made from.
    pub id: ApprovalId,
    /// The device that it applies to.
    pub device: (DeviceId, DeviceName),
    /// The rule.
    pub rule: Rule,
    /// Who made it.
    pub made_by: UserName,
    /// When it was made.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
}

impl FromRow for StandingRule {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            device: (parsed(row, "device_id")?, parsed(row, "device_name")?),
            rule: json(row, "rule_json")?,
            made_by: parsed(row, "made_by")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
        })
    }
}

/// The audit event of a standing rule.
#[derive(Serialize)]
struct StandingRuleEvent<'a> {
    approval_id: ApprovalId,
    by: &'a UserName,
    device: &'a str,
    rule: &'a Rule,
}

/// Returns whether the device is below its limit of standing rules.
pub(super) async fn has_room(tx: &mut Tx, device: DeviceId, now: i64) -> Result<bool, StoreError> {
    let (held,): (i64,) = tx
        .query_one(
            sql("SELECT COUNT(*) FROM standing_rules WHERE device_id = $1 AND revoked_at IS NULL \
         AND expires_at > $2")
            .bind(device)
            .bind(now),
        )
        .await?;
    Ok(held < MAX_RULES_ON_DEVICE)
}

/// Stores a standing rule.
pub(super) async fn make(tx: &mut Tx, rule: StandingRule, now: i64) -> Result<(), StoreError> {
    tx.execute(
        sql("INSERT INTO standing_rules (id, device_id, device_name, \
                 rule_json, made_by, created_at, expires_at) VALUES ($1, $2, \
                 $3, $4, $5, $6, $7)")
        .with(values![
            rule.id,
            rule.device.0,
            rule.device.1.as_str(),
            serde_json::to_string(&rule.rule).map_err(|_| StoreError::Corrupt)?,
            rule.made_by.as_str(),
            rule.created_at,
            rule.expires_at
        ]),
    )
    .await?;
    record(tx, "rule.made", &rule, &rule.made_by, now)
}

/// Returns a rule and its device. None if the maker no longer has the role that the approval needed.
fn held(row: &Row) -> Result<Option<(DeviceId, Rule)>, DecodeError> {
    let (role, needed): (Role, Role) = (parsed(row, "role")?, parsed(row, "approver_role")?);
    if role < needed {
        return Ok(None);
    }
    Ok(Some((parsed(row, "device_id")?, json(row, "rule_json")?)))
}

fn record(
    tx: &mut Tx,
    kind: &'static str,
    rule: &StandingRule,
    by: &UserName,
    now: i64,
) -> Result<(), StoreError> {
    let device = rule.device.1.as_str();
    let body = StandingRuleEvent { approval_id: rule.id, by, device, rule: &rule.rule };
    tx.record(AuditEvent::new(now, kind, String::new(), &body)?);
    Ok(())
}

impl Store {
    /// Returns the standing rules that are in effect and not revoked, newest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn standing_rules(&self, now: i64) -> Result<Vec<StandingRule>, StoreError> {
        self.db()
            .query(
                sql("SELECT * FROM standing_rules INDEXED BY standing_rules_end \
             WHERE revoked_at IS NULL AND expires_at > $1 ORDER BY id DESC LIMIT $2")
                .bind(now)
                .bind(MAX_RULES),
            )
            .await
    }

    /// Returns the standing rules in effect on one device, oldest first. Only rules of enabled people who
    /// still have the role that the approval needed count.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn standing_rules_of(
        &self,
        device: DeviceId,
        now: i64,
    ) -> Result<Vec<Rule>, StoreError> {
        let rows = self
            .db()
            .rows(
                sql(rules_that_hold!("AND standing_rules.device_id = $2"))
                    .with(values![now, device, MAX_RULES]),
            )
            .await?;
        let rules = rows.iter().filter_map(|row| held(row).transpose());
        Ok(rules.map(|rule| Ok(rule?.1)).collect::<Result<_, DecodeError>>()?)
    }

    /// Returns the standing rules in effect on every device, in one read.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn standing_rules_by_device(
        &self,
        now: i64,
    ) -> Result<HashMap<DeviceId, Vec<Rule>>, StoreError> {
        let rows = self
            .db()
            .rows(sql(rules_that_hold!("")).with(values![now, "", MAX_RULES_OF_ALL_DEVICES]))
            .await?;
        // A rule that is left out could be one that denies.
        if i64::try_from(rows.len()).is_ok_and(|rows| rows >= MAX_RULES_OF_ALL_DEVICES) {
            return Err(StoreError::Unavailable);
        }
        let mut rules: HashMap<DeviceId, Vec<Rule>> = HashMap::new();
        for rule in rows.iter().filter_map(|row| held(row).transpose()) {
            let (device, rule) = rule?;
            rules.entry(device).or_default().push(rule);
        }
        Ok(rules)
    }

    /// Returns the devices on which a standing rule expired after `since` and until `now`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn devices_whose_rules_ended(
        &self,
        since: i64,
        now: i64,
    ) -> Result<Vec<DeviceId>, StoreError> {
        let rows = self
            .db()
            .rows(
                sql("SELECT DISTINCT device_id FROM standing_rules \
             WHERE expires_at > $1 AND expires_at <= $2 AND revoked_at IS NULL")
                .bind(since)
                .bind(now),
            )
            .await?;
        rows.iter().map(|row| Ok(parsed(row, "device_id")?)).collect()
    }

    /// Returns the devices on which standing rules of this person are in effect.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn devices_with_rules_of(
        &self,
        user: &UserName,
        now: i64,
    ) -> Result<Vec<DeviceId>, StoreError> {
        let rows = self
            .db()
            .rows(
                sql("SELECT DISTINCT device_id FROM standing_rules INDEXED BY standing_rules_end \
             WHERE made_by = $1 AND revoked_at IS NULL AND expires_at > $2")
                .bind(user.as_str())
                .bind(now),
            )
            .await?;
        Ok(rows.iter().map(|row| parsed(row, "device_id")).collect::<Result<_, _>>()?)
    }

    /// Revokes a standing rule by its id or a prefix of the id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn revoke_standing_rule(
        &self,
        id: &str,
        by: &UserName,
        now: i64,
    ) -> Result<StandingRule, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let by = by.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let rows: Vec<StandingRule> = tx
                    .query(
                        sql("SELECT * FROM standing_rules WHERE id >= $1 AND id < $2 \
                     AND revoked_at IS NULL LIMIT 2")
                        .bind(from)
                        .bind(to),
                    )
                    .await?;
                let rule = only(rows)?;
                tx.execute(
                    sql("UPDATE standing_rules SET revoked_at = $1, revoked_by = $2 WHERE id = $3")
                        .with(values![now, by.as_str(), rule.id]),
                )
                .await?;
                record(tx, "rule.revoked", &rule, &by, now)?;
                Ok(rule)
            })
        })
        .await
    }
}
