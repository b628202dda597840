//! Whether readings stay where they were, whatever they do in between.

use std::fmt::Write as _;

use super::reading::Reading;

type Figure = (&'static str, fn(&Reading) -> f64);

/// What is held flat, with the units.
const FIGURES: [Figure; 7] = [
    ("backend: memory, MiB", |reading| reading.memory),
    ("backend: descriptors", |reading| reading.descriptors),
    ("backend: threads", |reading| reading.threads),
    ("backend: tasks", |reading| reading.tasks),
    ("agents: memory each, MiB", |reading| reading.agent_memory),
    ("agents: descriptors each", |reading| reading.agent_descriptors),
    ("agents: threads each", |reading| reading.agent_threads),
];

/// By how much the end may be above the beginning: by a share of it, and by so much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    share: f64,
    most: f64,
}

impl Bound {
    /// After an hour everything that is warmed up is warm.
    pub(super) const LONG: Self = Self { share: 0.05, most: 2.0 };
    /// In half a minute memory still finds its size; what is never closed shows all the same.
    pub(super) const SHORT: Self = Self { share: 0.5, most: 12.0 };

    /// Every figure that ended higher than it may.
    pub(super) fn exceeded_by(self, readings: &[Reading]) -> Vec<String> {
        let mut grown = Vec::new();
        for (what, figure) in FIGURES {
            let (before, after) = ends(readings, figure);
            if after > before * (1.0 + self.share) + self.most {
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
    for (what, figure) in FIGURES {
        let (before, after) = ends(readings, figure);
        let most = readings.iter().map(figure).fold(0.0, f64::max);
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
}
