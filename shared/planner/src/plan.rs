//! The planner's plans, and the calls that it can make.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::conversation::Call;
use crate::filled::Filled;

/// What to do about a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Plan {
    /// Make calls, one after the other, and describe their results.
    Run(Vec<Step>, View),
    /// Undo what one request of the chat changed.
    Undo(Placement, Which),
    /// Say what the calls of the chat changed.
    Account(Placement),
    /// Make the calls of the last turn again, on another device or with another path where one is named.
    Repeat(Placement, Option<String>),
    /// Ask for what is missing.
    Ask(Missing),
    /// Show the help text.
    Help,
    /// The person agrees.
    Yes,
    /// The person disagrees, or wants nothing done.
    No,
    /// Say that something cannot be done by the planner.
    Cannot(&'static str),
}

/// Which change is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// The last one.
    Last,
    /// The one before a change that was taken back, or a call that did not succeed.
    Before,
}

/// Where a call runs and whether it is a preview.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Placement {
    /// The device. None where the person names none.
    pub(crate) device: Option<String>,
    /// Whether only to preview.
    pub(crate) dry_run: bool,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// A call.
    Call(PlannedCall),
    /// A listing, and a call for each file in it.
    ForEach(Collection),
}

impl Step {
    /// Returns the device. None where none is named.
    pub(crate) fn device(&self) -> Option<&str> {
        match self {
            Self::Call(call) => call.placement.device.as_deref(),
            Self::ForEach(all) => all.listing.placement.device.as_deref(),
        }
    }
}

/// Files of a kind that are copied or moved into a folder.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Collection {
    /// The call that lists the files.
    pub(crate) listing: PlannedCall,
    /// The tool for each: `copy_path` or `move_path`.
    pub(crate) tool: &'static str,
    /// The folder that they are in.
    pub(crate) from: String,
    /// The folder that they go to.
    pub(crate) to: String,
}

/// How the results of a plan are described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Each by its own sentence.
    Sentences,
    /// A listing by its numbers of files and folders.
    Count,
    /// Two files by whether they have the same content.
    Comparison,
}

/// A request that lacks the value of a slot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Missing {
    /// The key of the question, see [`crate::texts::question`].
    pub(crate) question: &'static str,
    /// The slot.
    pub(crate) slot: &'static str,
    /// The meaning of the request with the slot.
    pub(crate) meaning: &'static str,
    /// The values of its other slots.
    pub(crate) filled: Filled,
    /// Where it is to run.
    pub(crate) placement: Placement,
}

/// A planned call; displayed as the JSON that a model would write.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlannedCall {
    /// The tool's name.
    pub(crate) tool: String,
    /// Where it runs.
    pub(crate) placement: Placement,
    pub(crate) arguments: Vec<(String, Value)>,
}

impl fmt::Display for PlannedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"tool\":{}", Value::from(self.tool.as_str()))?;
        if let Some(device) = &self.placement.device {
            write!(f, ",\"device\":{}", Value::from(device.as_str()))?;
        }
        for (name, value) in &self.arguments {
            write!(f, ",{}:{value}", Value::from(name.as_str()))?;
        }
        if self.placement.dry_run {
            f.write_str(",\"dry_run\":true")?;
        }
        f.write_str("}")
    }
}

impl PlannedCall {
    /// Returns a recorded call with its arguments.
    pub(crate) fn recorded(call: &Call<'_>, mut arguments: Map<String, Value>) -> Self {
        let device = arguments.remove("device").and_then(|it| it.as_str().map(str::to_owned));
        let dry_run = arguments.remove("dry_run") == Some(Value::Bool(true));
        Self {
            tool: call.tool.clone().into_owned(),
            placement: Placement { device, dry_run },
            arguments: arguments.into_iter().collect(),
        }
    }

    /// Returns whether a recorded call is this one, wherever it ran.
    pub(crate) fn is_made_as(&self, call: &Call<'_>) -> bool {
        let Ok(arguments) = serde_json::from_str(&call.arguments) else { return false };
        let mut recorded = Self::recorded(call, arguments).arguments;
        let mut own = self.arguments.clone();
        recorded.sort_by(|one, other| one.0.cmp(&other.0));
        own.sort_by(|one, other| one.0.cmp(&other.0));
        self.tool == call.tool && own == recorded
    }

    /// Returns an argument's text; empty for one that is missing or not text.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.arguments.iter().find(|(it, _)| it == name);
        found.and_then(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// Replaces the path. Returns false for a call without one.
    pub(crate) fn set_path(&mut self, path: &str) -> bool {
        let found = self.arguments.iter_mut().find(|(name, _)| name == "path");
        found.map(|(_, value)| *value = json!(path)).is_some()
    }
}

impl Plan {
    /// Returns the plan where `placement` says, apart from calls whose place is already known.
    pub(crate) fn placed(self, placement: &Placement) -> Self {
        let place = |known: Placement| Placement {
            device: placement.device.clone().or(known.device),
            dry_run: placement.dry_run || known.dry_run,
        };
        match self {
            Self::Run(steps, view) => {
                let steps = steps.into_iter().map(|step| match step {
                    Step::Call(call) => {
                        Step::Call(PlannedCall { placement: place(call.placement.clone()), ..call })
                    }
                    Step::ForEach(all) => {
                        let placement = place(all.listing.placement.clone());
                        let listing = PlannedCall { placement, ..all.listing };
                        Step::ForEach(Collection { listing, ..all })
                    }
                });
                Self::Run(steps.collect(), view)
            }
            Self::Undo(known, which) => Self::Undo(place(known), which),
            Self::Repeat(known, path) => Self::Repeat(place(known), path),
            Self::Ask(missing) => {
                Self::Ask(Missing { placement: place(missing.placement.clone()), ..missing })
            }
            Self::Account(known) => Self::Account(place(known)),
            Self::Help | Self::Yes | Self::No | Self::Cannot(_) => self,
        }
    }

    /// Returns the plan where `placement` says, apart from calls that have a device.
    pub(crate) fn placed_where_open(self, placement: &Placement) -> Self {
        let has_device = |step: &Step| step.device().is_some();
        let is_placed = matches!(&self, Self::Run(steps, _) if steps.iter().any(has_device));
        let device = placement.device.clone().filter(|_| !is_placed);
        self.placed(&Placement { device, dry_run: placement.dry_run })
    }
}
