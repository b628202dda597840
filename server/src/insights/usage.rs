//! How often something was used.

use std::collections::BTreeMap;

use orion_domain::{CallState, ErrorCode};

use super::succeeded;
use crate::median::median;
use crate::store::CallRow;

/// The most names of a list.
const MAX_LISTED: usize = 50;

/// How often something was used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The tool, the device or the person.
    pub(crate) name: String,
    /// The calls.
    pub(crate) calls: u32,
    /// Those that succeeded.
    pub(crate) succeeded: u32,
    /// Those that were denied.
    pub(crate) denied: u32,
    /// Those that needed an approval.
    pub(crate) asked: u32,
    /// The median time on the device of those that succeeded, in milliseconds.
    pub(crate) median_ms: u64,
}

/// Counts calls by a name. Calls without one are not counted.
pub(super) fn by(rows: &[CallRow], name: impl Fn(&CallRow) -> Option<String>) -> Vec<Usage> {
    let mut groups: BTreeMap<String, Vec<&CallRow>> = BTreeMap::new();
    for row in rows {
        if let Some(name) = name(row) {
            groups.entry(name).or_default().push(row);
        }
    }
    let mut usages: Vec<_> = groups.into_iter().map(|(name, rows)| of_group(name, &rows)).collect();
    usages.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
    usages.truncate(MAX_LISTED);
    usages
}

fn of_group(name: String, rows: &[&CallRow]) -> Usage {
    let count = |is: &dyn Fn(&CallRow) -> bool| {
        u32::try_from(rows.iter().filter(|row| is(row)).count()).unwrap_or(u32::MAX)
    };
    let times = rows.iter().filter(|row| succeeded(row)).map(|row| row.duration_us).collect();
    Usage {
        name,
        calls: count(&|_| true),
        succeeded: count(&succeeded),
        // A question back, about the device that is meant, denies nothing.
        denied: count(&|row| {
            row.state == CallState::Denied && row.code != Some(ErrorCode::DeviceRequired)
        }),
        asked: count(&|row| row.approval.is_some()),
        median_ms: median(times) / 1000,
    }
}
