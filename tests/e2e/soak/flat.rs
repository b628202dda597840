//! Whether readings stay where they were, whatever they do in between.

use std::fmt::Write as _;

use super::reading::Reading;

/// What is held flat, with its unit, and by how much the end may be above the beginning, whatever the share.
struct Figure {
    what: &'static str,
    of: fn(&Reading) -> f64,
    most: f64,
    is_memory: bool,
}

const fn memory(what: &'static str, of: fn(&Reading) -> f64, most: f64) -> Figure {
    Figure { what, of, most, is_memory: true }
}

const fn count(what: &'static str, of: fn(&Reading) -> f64, most: f64) -> Figure {
    Figure { what, of, most, is_memory: false }
}

const FIGURES: [Figure; 7] = [
    memory("backend: memory, MiB", |reading| reading.memory, 2.0),
    count("backend: descriptors", |reading| reading.descriptors, 4.0),
    count("backend: threads", |reading| reading.threads, 4.0),
    count("backend: tasks", |reading| reading.tasks, 8.0),
    memory("agents: memory each, MiB", |reading| reading.agent_memory, 0.5),
    count("agents: descriptors each", |reading| reading.agent_descriptors, 0.5),
    count("agents: threads each", |reading| reading.agent_threads, 0.5),
];

/// By which share of itself memory may grow, besides what each figure may, and how many times that a count
/// may.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    share: f64,
    times: f64,
}

impl Bound {
    /// After an hour everything that is warmed up is warm.
    pub(super) const LONG: Self = Self { share: 0.05, times: 1.0 };
    /// In half a minute memory still finds its size, and a busy machine has more under way at one end than at
    /// the other; what is never closed shows all the same.
    pub(super) const SHORT: Self = Self { share: 0.5, times: 3.0 };

    /// Every figure that ended higher than it may.
    pub(super) fn exceeded_by(self, readings: &[Reading]) -> Vec<String> {
        let mut grown = Vec::new();
        for Figure { what, of, most, is_memory } in FIGURES {
            let (before, after) = ends(readings, of);
            let may = if is_memory { before * self.share + most } else { most * self.times };
            if after > before + may {
                grown.push(format!("{what}: {before:.1} became {after:.1}"));
            }
        }
        grown
    }
}

/// The median of a figure at the beginning and at the end. The first quarter is left out, in which everything
/// warms up; of the rest the first third and the last are looked at.
fn ends(readings: &[Reading], figure: fn(&Reading) -> f64) -> (f64, f64) {
    let warm = &readings[readings.len() / 4..];
    let third = (warm.len() / 3).max(1);
    let median = |readings: &[Reading]| {
        let mut values: Vec<_> = readings.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    (median(&warm[..third]), median(&warm[warm.len() - third..]))
}

/// A table of the figures.
pub(super) fn told(readings: &[Reading]) -> String {
    let mut table = format!("{:<28}{:>10}{:>10}{:>10}\n", "", "before", "after", "most");
    for Figure { what, of, .. } in FIGURES {
        let (before, after) = ends(readings, of);
        let most = readings.iter().map(of).fold(0.0, f64::max);
        writeln!(table, "{what:<28}{before:>10.1}{after:>10.1}{most:>10.1}").unwrap();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(memory: impl Fn(f64) -> f64) -> Vec<Reading> {
        let reading = |at: u32| {
            let at = f64::from(at);
            Reading { at, memory: memory(at), ..Reading::default() }
        };
        (0..240).map(reading).collect()
    }

    #[test]
    fn what_warms_up_and_then_only_wavers_is_flat() {
        let waver = |at: f64| 100.0 + (at * 7.0) % 11.0 - 60.0 * (-at / 15.0).exp();
        assert_eq!(Bound::LONG.exceeded_by(&readings(waver)), Vec::<String>::new());
    }

    #[test]
    fn a_slow_leak_is_not_flat() {
        let leak = |at: f64| 100.0 + (at * 7.0) % 11.0 + at / 12.0;
        let grown = Bound::LONG.exceeded_by(&readings(leak));
        assert_eq!(grown.len(), 1, "{grown:?}");
        assert!(grown[0].starts_with("backend: memory"), "{grown:?}");
    }

    #[test]
    fn one_descriptor_in_thirty_minutes_of_every_agent_is_not_flat() {
        let leaking = |reading: Reading| {
            let agent_descriptors = 17.0 + (reading.at / 120.0).floor();
            Reading { agent_descriptors, ..reading }
        };
        let readings: Vec<_> = readings(|_| 100.0).into_iter().map(leaking).collect();
        assert_eq!(
            Bound::LONG.exceeded_by(&readings),
            ["agents: descriptors each: 17.0 became 18.0"]
        );
    }

    #[test]
    fn what_each_renewal_leaves_behind_is_not_flat_in_half_a_minute() {
        let reading = |at: u32| {
            // Every nine seconds, by each of twelve agents.
            let renewals = f64::from(at / 9);
            Reading {
                at: f64::from(at),
                descriptors: 40.0 + renewals * 12.0,
                agent_descriptors: 17.0 + renewals,
                ..Reading::default()
            }
        };
        let readings: Vec<_> = (0..36).map(reading).collect();
        assert_eq!(Bound::SHORT.exceeded_by(&readings).len(), 2);
    }

    #[test]
    fn what_each_call_leaves_behind_is_not_flat_in_half_a_minute() {
        let reading = |at: u32| {
            // Ten calls a second, and twelve agents.
            let calls = f64::from(at) * 10.0;
            Reading {
                at: f64::from(at),
                descriptors: 40.0 + calls,
                threads: 8.0 + calls,
                tasks: 90.0 + calls,
                agent_descriptors: 17.0 + calls / 12.0,
                agent_threads: 5.0 + calls / 12.0,
                ..Reading::default()
            }
        };
        let readings: Vec<_> = (0..24).map(reading).collect();
        assert_eq!(Bound::SHORT.exceeded_by(&readings).len(), 5);
    }
}
