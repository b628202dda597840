//! The states of plans and steps.

use std::str::FromStr;

use serde::Serialize;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, { $($(#[$each:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$each])* $variant,)+
        }

        impl $name {
            /// Every state, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name that people and database use.
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
    /// The state of a plan.
    PlanState, "plan", {
        /// It waits for approval.
        Open = "open",
        /// Its steps are run.
        Running = "running",
        /// Every step succeeded.
        Succeeded = "succeeded",
        /// A step did not succeed.
        Failed = "failed",
        /// A person denied it.
        Denied = "denied",
        /// Nobody decided in time.
        Expired = "expired",
        /// A person stopped it.
        Cancelled = "cancelled",
        /// The backend stopped while it ran.
        Interrupted = "interrupted",
    }
}

words! {
    /// The state of a step.
    StepState, "step", {
        /// It has not started.
        Waiting = "waiting",
        /// It is running.
        Running = "running",
        /// It succeeded.
        Succeeded = "succeeded",
        /// It failed.
        Failed = "failed",
        /// What it touches differs from its preview, so it was not run.
        Drifted = "drifted",
        /// It will never start.
        Skipped = "skipped",
    }
}
