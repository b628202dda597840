//! How many connections this process can hold. Each takes a file descriptor; the database, its files and the
//! connections to models need descriptors too.

/// Maximum number of descriptors to request.
const MAX_DESCRIPTORS: u64 = 1 << 17;
/// How many descriptors are reserved for everything but connections, and the largest part of all descriptors
/// that they may be, as a divisor.
const RESERVED: u64 = 256;
const RESERVED_PART: u64 = 4;
/// Maximum number of connections of people and programs.
const MAX_PEOPLE: u64 = 4096;

/// How many connections each port may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Connections of people and programs.
    pub people: usize,
    /// Connections of devices.
    pub devices: usize,
}

impl Share {
    /// Returns the shares for this number of descriptors.
    #[must_use]
    pub fn of(descriptors: u64) -> Self {
        let free = descriptors - RESERVED.min(descriptors / RESERVED_PART);
        let people = (free / 3).min(MAX_PEOPLE);
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Self { people: count(people), devices: count(free - people) }
    }
}

/// Raises the limit of descriptors as far as this process may. Returns the limit.
#[must_use]
pub fn raise() -> u64 {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let before = current.unwrap_or(u64::MAX);
        let wanted = before.max(maximum.unwrap_or(u64::MAX).min(MAX_DESCRIPTORS));
        if wanted == before {
            return before;
        }
        match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
            Ok(()) => {
                tracing::info!(before, now = wanted, "the limit of open files was raised");
                wanted
            }
            Err(error) => {
                tracing::warn!(%error, limit = before, "the limit of open files was not raised");
                before
            }
        }
    }
    #[cfg(not(unix))]
    MAX_DESCRIPTORS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_descriptors_are_left_for_all_that_is_no_connection() {
        for (descriptors, people, devices) in
            [(0, 0, 0), (64, 16, 32), (1024, 256, 512), (20_000, 4096, 15_648)]
        {
            assert_eq!(Share::of(descriptors), Share { people, devices });
        }
    }
}
