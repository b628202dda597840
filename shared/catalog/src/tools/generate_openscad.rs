//! `generate_openscad`: writes OpenSCAD code for a simple shape.

use std::time::Duration;

use orion_domain::{Capability, Places, Risk, ToolError, ToolFacts, Touches};

use crate::execution::{Execution, RunsOn};
use crate::generated_code::{Arguments, Returns};
use crate::spec::{Category, Tool};

/// The `generate_openscad` tool.
#[derive(Debug)]
pub struct GenerateOpenscad;

impl Tool for GenerateOpenscad {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "generate_openscad";
    const CATEGORY: Category = Category::Creative;
    const DESCRIPTION: &'static str = "Writes OpenSCAD code for a box, cylinder, sphere, cone or tube from its measures, such \
        as `box 40 x 30 x 20 mm with walls of 2 mm`, and saves it on a device if asked. It is a template and no language \
        model: for any other shape, write the code yourself and save it with write_file.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"generate_openscad","description":"box 40 x 30 x 20 mm with walls of 2 mm"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;
    const TIMEOUT: Option<Duration> = Some(Duration::from_mins(10));

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        arguments.check()?;
        Ok(Touches::nothing())
    }

    fn facts(_: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        // The call that saves the file is decided by itself, and can be undone.
        ToolFacts { can_undo: true, ..facts }
    }
}
