//! A process's use of resources, as the kernel reports it.

use std::iter::Sum;

use rustix::process::Pid;

/// A process's use of resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory, in bytes.
    pub resident: u64,
    /// The peak of resident memory since the process began, in bytes.
    pub peak: u64,
    /// Open file descriptors.
    pub descriptors: u64,
    /// Threads.
    pub threads: u64,
}

impl Usage {
    pub(crate) fn of(process: Pid) -> Self {
        let folder = format!("/proc/{}", process.as_raw_nonzero());
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap();
        let number = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().trim_end_matches(" kB").parse().unwrap()
        };
        Self {
            resident: number("VmRSS:") * 1024,
            peak: number("VmHWM:") * 1024,
            descriptors: std::fs::read_dir(format!("{folder}/fd")).unwrap().count() as u64,
            threads: number("Threads:"),
        }
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), |sum, one| Self {
            resident: sum.resident + one.resident,
            peak: sum.peak + one.peak,
            descriptors: sum.descriptors + one.descriptors,
            threads: sum.threads + one.threads,
        })
    }
}
