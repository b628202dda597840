//! `[[assistants]]`: named ways to chat. An assistant only narrows what its person may use.

use serde::{Deserialize, Serialize};

/// One assistant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assistant {
    /// The name that people choose it by.
    pub name: String,
    /// What the model is told beside everything else.
    #[serde(default)]
    pub prompt: String,
    /// The model that answers. None for the first.
    #[serde(default)]
    pub model: Option<String>,
    /// The tools that it may call; empty for all that the person may.
    #[serde(default)]
    pub tools: Vec<String>,
    /// The devices that it may call tools on, `backend` being one; empty for all that the person may.
    #[serde(default)]
    pub devices: Vec<String>,
}

impl Assistant {
    /// Returns whether it may call this tool.
    #[must_use]
    pub fn calls(&self, tool: &str) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|it| it == tool)
    }

    /// Returns whether it may call tools on this device.
    #[must_use]
    pub fn reaches(&self, device: &str) -> bool {
        self.devices.is_empty() || self.devices.iter().any(|it| it == device)
    }
}

/// Returns what is wrong with the assistants. `models` are the names of the models.
pub(super) fn problem(assistants: &[Assistant], models: &[&str]) -> Option<String> {
    for (at, assistant) in assistants.iter().enumerate() {
        let name = &assistant.name;
        if name.is_empty() || name.len() > 64 {
            return Some("`name` of an assistant must have 1 to 64 bytes".to_owned());
        }
        if assistants.iter().take(at).any(|earlier| earlier.name == *name) {
            return Some(format!("two assistants are named `{name}`"));
        }
        if let Some(model) = &assistant.model
            && model != "planner"
            && !models.contains(&model.as_str())
        {
            return Some(format!(
                "the assistant `{name}` names the model `{model}`, which is none of [[models]]"
            ));
        }
    }
    None
}
