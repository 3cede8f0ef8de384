//! Texts known again by a hash of 64 bits, without being kept: what is remembered of them, and what number they have.
//!
//! A text is known by a hash under a seed that is drawn at random: nobody can look for a text that is taken for another,
//! and by chance it happens once in 10^18 lines. The tables here are larger than the nearest caches and looked at for
//! every line, so who knows early what will be looked for may [fetch](Memo::fetch) it. What a text means is not known here.

mod fetch;
mod memo;
mod numbers;

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

pub use memo::Memo;
pub use numbers::Numbers;

/// Tells texts apart; 0 is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint(u64);

/// Takes fingerprints.
#[derive(Debug, Clone, Default)]
pub struct Fingerprinter(RandomState);

impl Fingerprinter {
    /// The fingerprint of a text.
    #[must_use]
    #[inline]
    pub fn of(&self, text: &[u8]) -> Fingerprint {
        let mut hasher = self.0.build_hasher();
        hasher.write(text);
        Fingerprint(hasher.finish().max(1))
    }

    /// The fingerprint of a text along with something else: `of_pair(a, b)` is not `of_pair(b, a)`.
    #[must_use]
    #[inline]
    pub fn of_pair(&self, text: Fingerprint, other: u64) -> Fingerprint {
        let mut hasher = self.0.build_hasher();
        hasher.write_u64(text.0);
        hasher.write_u64(other);
        Fingerprint(hasher.finish().max(1))
    }
}

impl Fingerprint {
    /// The hash.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0
    }
}
