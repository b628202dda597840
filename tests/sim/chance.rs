//! Random numbers from a seed: SplitMix64 (Steele, Lea, Flood 2014), the same on every machine.

/// A seeded random generator.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uniform number from 0 to below `end`. All ranges are so small that the remainder's bias
    /// is negligible.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    /// Returns true with this percentage.
    pub(crate) fn percent(&mut self, often: usize) -> bool {
        self.below(100) < often
    }

    /// Returns a uniform number from 0 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        f64::from(u32::try_from(self.next() >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// Returns one of these by its weight.
    pub(crate) fn pick<T: Copy>(&mut self, weighted: &[(usize, T)]) -> T {
        let mut at = self.below(weighted.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in weighted {
            if at < *weight {
                return *one;
            }
            at -= weight;
        }
        weighted[0].1
    }
}
