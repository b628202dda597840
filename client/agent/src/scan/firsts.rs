//! Keeps the first items of any number, in an order, in bounded memory.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Keeps the first items whatever their order of arrival: the longest prefix of all offered items within a
/// count and a size in bytes.
#[derive(Debug)]
pub(crate) struct Firsts<K, T> {
    heap: BinaryHeap<Item<K, T>>,
    count: usize,
    bytes: usize,
    taken: usize,
    /// The smallest key that was left out. `None` if nothing was.
    barrier: Option<K>,
}

#[derive(Debug)]
struct Item<K, T> {
    key: K,
    bytes: usize,
    value: T,
}

impl<K: Ord, T> Firsts<K, T> {
    /// Creates a collector for so many items, and so many bytes in all.
    pub(crate) fn new(count: usize, bytes: usize) -> Self {
        Self { heap: BinaryHeap::new(), count, bytes, taken: 0, barrier: None }
    }

    /// Returns the key if an item with it may be kept. If not, the item counts as left out.
    pub(crate) fn admit(&mut self, key: K) -> Option<K> {
        if self.barrier.as_ref().is_some_and(|barrier| key >= *barrier) {
            return None;
        }
        if self.heap.len() >= self.count && self.heap.peek().is_none_or(|last| key > last.key) {
            self.barrier = Some(key);
            return None;
        }
        Some(key)
    }

    /// Adds an item with its size in bytes, if it is among the first.
    pub(crate) fn put(&mut self, key: K, bytes: usize, value: T) {
        let Some(key) = self.admit(key) else { return };
        self.taken = self.taken.saturating_add(bytes);
        self.heap.push(Item { key, bytes, value });
        while self.heap.len() > self.count || self.taken > self.bytes {
            let Some(last) = self.drop_last() else { return };
            self.barrier = Some(last);
        }
    }

    /// Adds the items of another collector, and takes over what that one left out.
    pub(crate) fn merge(&mut self, other: Self) {
        for item in other.heap {
            self.put(item.key, item.bytes, item.value);
        }
        let Some(barrier) = other.barrier.and_then(|barrier| self.admit(barrier)) else { return };
        while self.heap.peek().is_some_and(|last| last.key >= barrier) {
            self.drop_last();
        }
        self.barrier = Some(barrier);
    }

    /// Returns the items in order, and whether any were left out.
    pub(crate) fn into_sorted(self) -> (Vec<T>, bool) {
        let items = self.heap.into_sorted_vec();
        (items.into_iter().map(|item| item.value).collect(), self.barrier.is_some())
    }

    fn drop_last(&mut self) -> Option<K> {
        let last = self.heap.pop()?;
        self.taken = self.taken.saturating_sub(last.bytes);
        Some(last.key)
    }
}

impl<K: Ord, T> Ord for Item<K, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

impl<K: Ord, T> PartialOrd for Item<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> PartialEq for Item<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<K: Ord, T> Eq for Item<K, T> {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same by plain sorting.
    fn plain(all: &[u32], count: usize, bytes: usize) -> (Vec<u32>, bool) {
        let mut all: Vec<_> = all.to_vec();
        all.sort_unstable();
        let mut left = bytes;
        let fit = all.iter().take(count).take_while(|&&it| {
            let fits = size(it) <= left;
            left = left.saturating_sub(size(it));
            fits
        });
        let kept = fit.count();
        (all.iter().copied().take(kept).collect(), kept < all.len())
    }

    fn size(it: u32) -> usize {
        (it % 7) as usize
    }

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_who_found_it_when(
            all in proptest::collection::hash_set(0_u32..500, 0..80),
            count in 1_usize..20,
            bytes in 0_usize..60,
            split in 1_usize..4,
        ) {
            let all: Vec<u32> = all.into_iter().collect();
            let mut whole = Firsts::new(count, bytes);
            for part in all.chunks(all.len() / split + 1) {
                let mut firsts = Firsts::new(count, bytes);
                for &it in part {
                    firsts.put(it, size(it), it);
                }
                whole.merge(firsts);
            }
            prop_assert_eq!(whole.into_sorted(), plain(&all, count, bytes));
        }
    }
}
