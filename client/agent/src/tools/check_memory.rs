//! Executes `check_memory`.

use orion_catalog::tools::check_memory::{Arguments, CheckMemory, Returns};
use orion_domain::{ErrorCode, ToolError};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::{Context, Outcome, PlainTool};

const MIB: u64 = 1024 * 1024;

impl PlainTool for CheckMemory {
    fn run(arguments: Arguments, _: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let data = check(arguments.min_free_mb)?;
        let Returns { total_mb, available_mb, ok } = data;
        let so = if ok { "enough" } else { "not enough" };
        let message = format!("{available_mb} of {total_mb} MiB of memory are available: {so}.");
        Ok(Outcome::new(message, data))
    }
}

/// Compares the available memory with a minimum in MiB.
pub(super) fn check(min_free_mb: u64) -> Result<Returns, ToolError> {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let unknown = "The operating system does not report its memory to the agent.";
    let not_supported = || ToolError::new(ErrorCode::NotSupported, unknown);
    let loaded = System::new_with_specifics(kind).map_err(|_| not_supported())?;
    // Where nothing is reported, nothing is compared.
    if loaded.total_memory() == 0 {
        return Err(not_supported());
    }
    let (total_mb, available_mb) = (loaded.total_memory() / MIB, loaded.available_memory() / MIB);
    Ok(Returns { total_mb, available_mb, ok: available_mb >= min_free_mb })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::Device;

    const TOOL: &str = "check_memory";

    #[test]
    fn available_memory_is_compared_with_the_minimum() {
        let device = Device::new();
        for (min_free_mb, expected) in [(0, true), (1, true), (u64::MAX, false)] {
            let data = device.data(TOOL, json!({"min_free_mb": min_free_mb}));
            let data: Returns = serde_json::from_value(data).unwrap();
            assert_eq!(data.ok, expected, "{data:?}");
            assert!(data.total_mb >= data.available_mb && data.available_mb > 0, "{data:?}");
        }
        device.dry(TOOL, json!({})).unwrap();
        let wrong = device.refused(TOOL, json!({"min_free_mb": -1}));
        assert_eq!(wrong, ErrorCode::InvalidArgument);
    }
}
