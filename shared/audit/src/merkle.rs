//! The Merkle tree of RFC 6962, only as far as the root of the appended leaves needs it. It keeps only
//! the roots of complete subtrees, about 32 of them for a billion rows.

use orion_domain::Digest;
use ring::digest::{Context, SHA256};

/// Returns the hash of a leaf.
#[must_use]
pub fn leaf(bytes: &[u8]) -> Digest {
    prefixed(0, &[bytes])
}

fn node(left: Digest, right: Digest) -> Digest {
    prefixed(1, &[left.as_bytes(), right.as_bytes()])
}

fn prefixed(prefix: u8, parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(&SHA256);
    context.update(&[prefix]);
    parts.iter().for_each(|part| context.update(part));
    Digest::from_slice(context.finish().as_ref()).unwrap_or(Digest::ZERO)
}

/// An append-only tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    size: u64,
    /// The roots of the complete subtrees, the largest first.
    peaks: Vec<Digest>,
}

impl Tree {
    /// Returns the number of leaves.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf by its hash.
    pub fn push(&mut self, leaf: Digest) {
        let mut hash = leaf;
        let mut rest = self.size;
        while rest & 1 == 1
            && let Some(left) = self.peaks.pop()
        {
            hash = node(left, hash);
            rest >>= 1;
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// Returns the root over all leaves; without leaves, the digest of the empty string.
    #[must_use]
    pub fn root(&self) -> Digest {
        let mut peaks = self.peaks.iter().rev().copied();
        let Some(last) = peaks.next() else { return Digest::of(b"") };
        peaks.fold(last, |right, left| node(left, right))
    }

    /// Returns the subtrees' roots, concatenated for storage.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.peaks.iter().flat_map(|peak| *peak.as_bytes()).collect()
    }

    /// Restores the tree of this size with these subtrees; `None` where they do not match the size.
    #[must_use]
    pub fn from_bytes(size: u64, bytes: &[u8]) -> Option<Self> {
        let peaks = bytes.chunks(32).map(Digest::from_slice).collect::<Option<Vec<_>>>()?;
        (peaks.len() == size.count_ones() as usize).then_some(Self { size, peaks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition of RFC 6962, section 2.1.
    fn defined(leaves: &[&[u8]]) -> Digest {
        match leaves {
            [] => Digest::of(b""),
            [one] => leaf(one),
            several => {
                let half = several.len().next_power_of_two() / 2;
                let (left, right) = several.split_at(half);
                node(defined(left), defined(right))
            }
        }
    }

    #[test]
    fn roots_are_those_of_the_definition_and_of_the_known_vectors() {
        // The test vectors of certificate transparency implementations.
        let leaves: [&[u8]; 8] = [
            b"",
            &[0x00],
            &[0x10],
            &[0x20, 0x21],
            &[0x30, 0x31],
            &[0x40, 0x41, 0x42, 0x43],
            &[0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
            &[
                0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
                0x6e, 0x6f,
            ],
        ];
        let known = [
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];
        let mut tree = Tree::default();
        for (size, known) in known.iter().enumerate() {
            assert_eq!(tree.root().to_string(), *known, "{size} leaves");
            assert_eq!(tree.root(), defined(&leaves[..size]));
            assert_eq!(Tree::from_bytes(tree.size(), &tree.to_bytes()), Some(tree.clone()));
            if let Some(bytes) = leaves.get(size) {
                tree.push(leaf(bytes));
            }
        }
    }

    #[test]
    fn a_long_tree_is_that_of_the_definition() {
        let leaves: Vec<[u8; 2]> = (0..300_u16).map(u16::to_be_bytes).collect();
        let all: Vec<&[u8]> = leaves.iter().map(<[u8; 2]>::as_slice).collect();
        let mut tree = Tree::default();
        for (size, bytes) in all.iter().enumerate() {
            tree.push(leaf(bytes));
            assert_eq!(tree.root(), defined(&all[..=size]));
        }
        assert_eq!(Tree::from_bytes(7, &tree.to_bytes()), None);
    }
}
