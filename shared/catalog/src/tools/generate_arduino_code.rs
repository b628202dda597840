//! `generate_arduino_code`: writes a simple Arduino sketch.

use std::time::Duration;

use orion_domain::{Capability, Places, Risk, ToolError, ToolFacts, Touches};

use crate::execution::{Execution, RunsOn};
use crate::generated_code::{Arguments, Returns};
use crate::spec::{Category, Tool};

/// The `generate_arduino_code` tool.
#[derive(Debug)]
pub struct GenerateArduinoCode;

impl Tool for GenerateArduinoCode {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "generate_arduino_code";
    const CATEGORY: Category = Category::Creative;
    const DESCRIPTION: &'static str = "Writes an Arduino sketch that blinks or fades a LED, reads an analog sensor, follows a \
        button or sweeps a servo, such as `blink led on pin 13 every 500 ms`, and saves it on a device if asked. It is a \
        template and no language model: for anything else, write the sketch yourself and save it with write_file.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"generate_arduino_code","description":"blink led on pin 13 every 500 ms"}"#;
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
