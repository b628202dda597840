//! Converts macros to the wire.

use orion_catalog::tools::planned_call::PlannedCall;
use orion_wire::v1;
use serde_json::Value;

use crate::store::MacroRow;

pub(super) fn of_row(row: MacroRow) -> v1::Macro {
    let MacroRow { user: _, name, steps, parameters, tainted, saved_at } = row;
    let steps = steps.into_iter().map(|step| {
        let PlannedCall { tool, device, arguments } = step;
        v1::MacroStep {
            tool,
            device: device.unwrap_or_default(),
            arguments: Value::Object(arguments).to_string().into_bytes().into(),
        }
    });
    v1::Macro { name, steps: steps.collect(), parameters, untrusted: tainted, saved_at }
}
