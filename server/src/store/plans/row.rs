//! A plan as it is made and as it stands on the record.

use std::str::FromStr;

use orion_domain::{
    CallId, Caller, DeviceId, DeviceName, Digest, ErrorCode, Observation, PlanId, Risk, UserName,
};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use crate::store::approvals::{ApprovalRow, NewApproval};
use crate::store::calls::NewCall;
use crate::store::row::{digest, json, parsed, parsed_option, risk_option};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, { $($(#[$each:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$each])* $variant,)+
        }

        impl $name {
            /// Every one, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The word that people and database use.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().copied().find(|it| it.as_str() == text);
                found.ok_or_else(|| concat!("not the state of a ", $what).to_owned())
            }
        }
    };
}

words! {
    /// Where a plan is in its life.
    PlanState, "plan", {
        /// It waits for people.
        Open = "open",
        /// Its steps are run.
        Running = "running",
        /// Every step did what it should.
        Succeeded = "succeeded",
        /// Not every step did.
        Failed = "failed",
        /// Somebody said no.
        Denied = "denied",
        /// Nobody answered in time.
        Expired = "expired",
        /// Somebody stopped it while it ran.
        Cancelled = "cancelled",
        /// The backend stopped while it ran.
        Interrupted = "interrupted",
    }
}

words! {
    /// Where a step is in its life.
    StepState, "step", {
        /// It was not begun.
        Waiting = "waiting",
        /// It is under way.
        Running = "running",
        /// It did what it should.
        Succeeded = "succeeded",
        /// It did not.
        Failed = "failed",
        /// What it touches is not as it was shown, so it was not done.
        Drifted = "drifted",
        /// It was never begun, and will not be.
        Skipped = "skipped",
    }
}

/// What a step was shown with and earlier steps change, so that it is compared before they do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EarlierChanges {
    /// The first step that changes some of it.
    pub before: u32,
    /// What the preview saw.
    pub seen: Vec<Observation>,
}

/// A step of a plan to be. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NewStep {
    /// The call that it becomes.
    pub call: CallId,
    /// Where.
    pub device: (DeviceId, DeviceName),
    /// The tool.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// How risky.
    pub risk: Risk,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// What was decided.
    pub decision: String,
    /// The line that decided.
    pub rule: String,
    /// The policy that it was judged by.
    pub policy_version: String,
    /// The dry run's envelope, JSON, where there is one that is not too large to be kept.
    pub preview: Option<Vec<u8>>,
    /// What is compared right before it runs.
    pub observed: Vec<Observation>,
    /// What is compared before an earlier step.
    pub earlier: Option<EarlierChanges>,
    /// The last earlier step that changes what this one touches.
    pub after: Option<u32>,
    /// Where a person is asked about it: the call that waits, and the question.
    pub asked: Option<Box<(NewCall, NewApproval)>>,
}

/// A plan to be. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct NewPlan {
    /// Its id.
    pub id: PlanId,
    /// For whom.
    pub caller: Caller,
    /// What a yes is bound to.
    pub hash: Digest,
    /// Whether it goes on where a step fails.
    pub keep_going: bool,
    /// When it was made.
    pub created_at: i64,
    /// From when on an answer comes too late.
    pub expires_at: i64,
    /// The steps in order.
    pub steps: Vec<NewStep>,
}

/// A step as it stands on the record. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// Its place, from 1.
    pub number: u32,
    /// The call that it becomes.
    pub call: CallId,
    /// Where.
    pub device: (DeviceId, DeviceName),
    /// The tool.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// How risky.
    pub risk: Risk,
    /// What it would touch, a line each.
    pub touches: Vec<String>,
    /// What was decided.
    pub decision: String,
    /// The line that decided.
    pub rule: String,
    /// The policy that it was judged by.
    pub policy_version: String,
    /// The dry run's envelope, JSON.
    pub preview: Option<Vec<u8>>,
    /// What is compared right before it runs.
    pub observed: Vec<Observation>,
    /// What is compared before an earlier step.
    pub earlier: Option<EarlierChanges>,
    /// The last earlier step that changes what this one touches.
    pub after: Option<u32>,
    /// Where it is.
    pub state: StepState,
    /// The stable code, where it did not do what it should.
    pub code: Option<ErrorCode>,
    /// How it ended, in a sentence.
    pub message: String,
    /// When it was begun.
    pub began_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
}

/// A plan as it stands on the record. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRow {
    /// Its id.
    pub id: PlanId,
    /// Where it is.
    pub state: PlanState,
    /// For whom, with the role that they had.
    pub caller: Caller,
    /// What a yes is bound to.
    pub hash: Digest,
    /// Whether it goes on where a step fails.
    pub keep_going: bool,
    /// When it was made.
    pub created_at: i64,
    /// From when on an answer comes too late.
    pub expires_at: i64,
    /// Who said the word that settled it.
    pub decided_by: Option<UserName>,
    /// When.
    pub decided_at: Option<i64>,
    /// Why.
    pub reason: Option<String>,
    /// Who asked for it to stop while it runs.
    pub stopped_by: Option<UserName>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Counts up with every change.
    pub revision: u32,
    /// How many steps it has.
    pub step_count: u32,
    /// The steps in order; none where plans are listed.
    pub steps: Vec<StepRow>,
    /// The questions of its steps; none where plans are listed.
    pub questions: Vec<ApprovalRow>,
}

impl PlanRow {
    /// The question about a step.
    #[must_use]
    pub fn question(&self, step: &StepRow) -> Option<&ApprovalRow> {
        self.questions.iter().find(|question| question.call == step.call)
    }
}

impl FromRow<'_, SqliteRow> for PlanRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: parsed(row, "id")?,
            state: parsed(row, "state")?,
            caller: Caller {
                user: parsed(row, "requester")?,
                role: parsed(row, "role")?,
                conversation: None,
            },
            hash: digest(row, "hash")?,
            keep_going: row.try_get("keep_going")?,
            created_at: row.try_get("created_at")?,
            expires_at: row.try_get("expires_at")?,
            decided_by: parsed_option(row, "decided_by")?,
            decided_at: row.try_get("decided_at")?,
            reason: row.try_get("reason")?,
            stopped_by: parsed_option(row, "stopped_by")?,
            ended_at: row.try_get("ended_at")?,
            revision: row.try_get("revision")?,
            step_count: row.try_get("step_count")?,
            steps: Vec::new(),
            questions: Vec::new(),
        })
    }
}

impl FromRow<'_, SqliteRow> for StepRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            number: row.try_get("number")?,
            call: parsed(row, "call_id")?,
            device: (parsed(row, "device_id")?, parsed(row, "device_name")?),
            tool: row.try_get("tool")?,
            arguments: row.try_get("arguments")?,
            risk: risk_option(row, "risk")?
                .ok_or_else(|| sqlx::Error::Decode("a step without a risk".into()))?,
            touches: json(row, "touches_json")?,
            decision: row.try_get("decision")?,
            rule: row.try_get("rule")?,
            policy_version: row.try_get("policy_version")?,
            preview: row.try_get("preview")?,
            observed: json(row, "observed_json")?,
            earlier: json(row, "earlier_json")?,
            after: row.try_get("after_number")?,
            state: parsed(row, "state")?,
            code: row
                .try_get::<Option<&str>, _>("code")?
                .map(|text| {
                    ErrorCode::from_text(text)
                        .ok_or_else(|| sqlx::Error::Decode("not an error code".into()))
                })
                .transpose()?,
            message: row.try_get("message")?,
            began_at: row.try_get("began_at")?,
            ended_at: row.try_get("ended_at")?,
        })
    }
}
