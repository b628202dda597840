//! `get_datetime`: the device's clock.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Alias, Category, Tool};

/// The `get_datetime` tool.
#[derive(Debug)]
pub struct GetDatetime;

/// In which time zone.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// An IANA name such as Europe/Amsterdam, or UTC; the device's own when left out.
    pub timezone: Option<String>,
}

/// The moment in several forms.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// ISO 8601 with offset.
    pub datetime: String,
    /// Year, month, day.
    pub date: String,
    /// Hour, minute, second.
    pub time: String,
    /// Seconds since 1970 began in UTC.
    pub unix: i64,
    /// The time zone's name or offset.
    pub timezone: String,
}

impl Tool for GetDatetime {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "get_datetime";
    const ALIASES: &'static [Alias] = &[Alias::plain("get_system_time")];
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Tells the date and time by the device's clock.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"get_datetime","device":"laptop-123"}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
