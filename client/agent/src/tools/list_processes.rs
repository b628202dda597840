//! Executes `list_processes`.

use std::cmp::Ordering;

use orion_catalog::tools::list_processes::{
    Arguments, ListProcesses, MAX_LISTED, Process, Returns, SortBy,
};
use orion_domain::ToolError;

use super::processes::{MAX_PROCESSES, Wanted, name, sample, user};
use super::{Context, Outcome, PlainTool, invalid};

impl PlainTool for ListProcesses {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { sort_by, limit } = arguments;
        if !(1..=MAX_LISTED).contains(&limit) {
            return Err(invalid(format!("limit is from 1 to {MAX_LISTED}.")));
        }
        let sample = sample(Wanted::Usage, context)?;
        let mut all: Vec<_> = sample.processes().collect();
        let by_cpu =
            |a: &sysinfo::Process, b: &sysinfo::Process| b.cpu_usage().total_cmp(&a.cpu_usage());
        let by_memory = |a: &sysinfo::Process, b: &sysinfo::Process| b.memory().cmp(&a.memory());
        let order = |a: &&sysinfo::Process, b: &&sysinfo::Process| -> Ordering {
            let order = match sort_by {
                SortBy::Cpu => by_cpu(a, b).then_with(|| by_memory(a, b)),
                SortBy::Memory => by_memory(a, b).then_with(|| by_cpu(a, b)),
            };
            order.then_with(|| a.pid().cmp(&b.pid()))
        };
        all.sort_unstable_by(order);
        let total = all.len() as u64;
        let largest = all.into_iter().take(limit as usize);
        let processes: Vec<_> = largest
            .map(|process| Process {
                pid: process.pid().as_u32(),
                name: name(process),
                cpu_percent: (f64::from(process.cpu_usage()) * 10.0).round() / 10.0,
                memory_bytes: process.memory(),
                user: user(process),
            })
            .collect();
        let what = match sort_by {
            SortBy::Cpu => "processor time",
            SortBy::Memory => "memory",
        };
        let message = if sample.truncated {
            format!("There are more than {MAX_PROCESSES} processes. The others were not looked at.")
        } else {
            format!("The {} of {total} processes that use most {what}.", processes.len())
        };
        Ok(Outcome::new(message, Returns { processes, total }).cut(sample.truncated))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use orion_domain::{ErrorCode, is_hidden};
    use serde_json::json;

    use super::*;
    use crate::tools::testing::Device;

    const TOOL: &str = "list_processes";

    fn listed(device: &Device, arguments: serde_json::Value) -> Returns {
        serde_json::from_value(device.data(TOOL, arguments)).unwrap()
    }

    #[test]
    fn the_processes_that_use_most_come_first_and_only_so_many() {
        let device = Device::new();
        let by_memory = listed(&device, json!({"sort_by": "memory", "limit": 200}));
        assert!(by_memory.processes.is_sorted_by(|a, b| a.memory_bytes >= b.memory_bytes));
        assert!(by_memory.total >= by_memory.processes.len() as u64);
        let own = by_memory.processes.iter().find(|it| it.pid == std::process::id());
        assert!(own.is_some_and(|own| own.memory_bytes > 0 && !own.name.is_empty()), "{own:?}");
        #[cfg(unix)]
        assert!(own.unwrap().user.is_some());
        let two = listed(&device, json!({"limit": 2}));
        assert!(two.processes.len() <= 2);
        assert!(two.processes.is_sorted_by(|a, b| a.cpu_percent >= b.cpu_percent));
    }

    #[test]
    fn a_process_that_computes_uses_processor_time() {
        let device = Device::new();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let until = std::time::Instant::now() + Duration::from_secs(60);
            let uses = || {
                let listed = listed(&device, json!({"limit": 200}));
                let own = listed.processes.into_iter().find(|it| it.pid == std::process::id());
                own.is_some_and(|own| own.cpu_percent > 0.0)
            };
            let found = std::iter::repeat_with(uses)
                .take_while(|_| std::time::Instant::now() < until)
                .any(|uses| uses);
            done.store(true, Ordering::Relaxed);
            assert!(found);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_are_shown_with_nothing_hidden_and_without_arguments() {
        let _alone = crate::tools::testing::alone();
        let mut device = Device::new();
        device.bind_shells(&[("note", "a\u{202e}b\nc")]);
        let running = device.open_waiting("note", "");
        let all = device.call(TOOL, json!({"limit": 200, "sort_by": "memory"})).unwrap();
        let listed: Returns = serde_json::from_value(all.data.clone()).unwrap();
        let found = listed.processes.iter().find(|it| it.pid == running.0).unwrap();
        assert!(found.name.starts_with("a\u{fffd}b"), "{found:?}");
        assert!(!found.name.chars().any(is_hidden), "{found:?}");
        assert!(!all.data.to_string().contains("4711"), "an argument is shown");
    }

    #[test]
    fn a_wrong_limit_is_refused_and_a_cancelled_or_late_call_stops() {
        let mut device = Device::new();
        for arguments in [json!({"limit": 0}), json!({"limit": 201}), json!({"sort_by": "name"})] {
            assert_eq!(device.refused(TOOL, arguments), ErrorCode::InvalidArgument);
        }
        device.time = Duration::from_millis(100);
        assert_eq!(device.refused(TOOL, json!({})), ErrorCode::Timeout);
        device.cancelled.store(true, Ordering::Relaxed);
        assert_eq!(device.refused(TOOL, json!({})), ErrorCode::Cancelled);
    }
}
