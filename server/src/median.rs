//! The median of measurements.

/// Returns the middle of the values, and between two middle ones the value halfway; 0 if there are none.
pub(crate) fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    let at = |index: usize| values.get(index).copied().unwrap_or_default();
    u64::midpoint(at(values.len().saturating_sub(1) / 2), at(values.len() / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_values_are_on_either_side() {
        assert_eq!(median(vec![]), 0);
        assert_eq!(median(vec![7]), 7);
        assert_eq!(median(vec![41, 3]), 22);
        assert_eq!(median(vec![9, 60, 1]), 9);
        assert_eq!(median(vec![9, 60, 1, 2]), 5);
    }
}
