//! What the planner has understood.

use std::fmt;

use serde_json::Value;

/// What to do about a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Plan {
    /// Call a tool.
    Call(PlannedCall),
    /// Say what can be asked.
    Help,
}

/// A call in the making; displayed as the JSON that a model would write.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlannedCall {
    tool: &'static str,
    device: Option<String>,
    arguments: Vec<(&'static str, Value)>,
    dry_run: bool,
}

impl Plan {
    /// A call of `tool` with `arguments`, wherever.
    pub(super) fn call(tool: &'static str, arguments: Vec<(&'static str, Value)>) -> Self {
        Self::Call(PlannedCall { tool, device: None, arguments, dry_run: false })
    }

    /// The same on a device, and perhaps only as a preview.
    pub(super) fn placed(self, device: Option<String>, dry_run: bool) -> Self {
        match self {
            Self::Call(call) => Self::Call(PlannedCall { device, dry_run, ..call }),
            Self::Help => Self::Help,
        }
    }
}

impl fmt::Display for PlannedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"tool\":{}", Value::from(self.tool))?;
        if let Some(device) = &self.device {
            write!(f, ",\"device\":{}", Value::from(device.as_str()))?;
        }
        for (name, value) in &self.arguments {
            write!(f, ",{}:{value}", Value::from(*name))?;
        }
        if self.dry_run {
            f.write_str(",\"dry_run\":true")?;
        }
        f.write_str("}")
    }
}
