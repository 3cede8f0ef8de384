//! Texts known again by a hash of 64 bits, without being kept: what is remembered of them, and what number they have.
//!
//! A text is known by a hash under a seed that is drawn at random: nobody can look for a text that is taken for another,
//! and by chance it happens once in 10^18 lines. The tables here are larger than the nearest caches and looked at for
//! every line, so who knows early what will be looked for may [fetch](SetAssocCache::prefetch) it. What a text means is not known here.

mod fingerprint_map;
mod set_assoc_cache;
#[cfg(target_arch = "x86_64")]
mod simd_hash;
#[cfg(not(target_arch = "x86_64"))]
mod simd_hash {
    //! No machine of this kind has the registers.

    #[derive(Debug, Clone, Copy)]
    pub(super) enum SimdHasher {}

    impl SimdHasher {
        pub(super) fn new() -> Option<Self> {
            None
        }

        pub(super) fn of_each<'t>(&self, _texts: impl Iterator<Item = &'t [u8]>, _fingerprints: &mut [super::Fingerprint]) {
            match *self {}
        }
    }
}

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

pub use fingerprint_map::FingerprintMap;
pub use set_assoc_cache::SetAssocCache;
use simd_hash::SimdHasher;

/// Tells texts apart; 0 is nobody's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fingerprint(u64);

/// Takes fingerprints.
#[derive(Debug, Clone)]
pub struct Fingerprinter {
    state: RandomState,
    simd: Option<SimdHasher>,
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Self { state: RandomState::default(), simd: SimdHasher::new() }
    }
}

impl Fingerprinter {
    /// The fingerprint of a text.
    #[must_use]
    #[inline]
    pub fn of(&self, text: &[u8]) -> Fingerprint {
        let mut fingerprint = [Fingerprint::default()];
        self.of_each(std::iter::once(text), &mut fingerprint);
        fingerprint[0]
    }

    /// The fingerprints of some texts: in one go it costs less.
    #[inline]
    pub fn of_each<'t>(&self, texts: impl Iterator<Item = &'t [u8]>, fingerprints: &mut [Fingerprint]) {
        match &self.simd {
            Some(simd) => simd.of_each(texts, fingerprints),
            None => texts.zip(fingerprints).for_each(|(text, fingerprint)| *fingerprint = self.portable(text)),
        }
    }

    /// The fingerprint of a text, on any machine.
    fn portable(&self, text: &[u8]) -> Fingerprint {
        let mut hasher = self.state.build_hasher();
        hasher.write(text);
        Fingerprint::new(hasher.finish())
    }

    /// The fingerprint of a text along with something else: `of_pair(a, b)` is not `of_pair(b, a)`.
    #[must_use]
    #[inline]
    pub fn of_pair(&self, text: Fingerprint, other: u64) -> Fingerprint {
        let mut hasher = self.state.build_hasher();
        hasher.write_u64(text.0);
        hasher.write_u64(other);
        Fingerprint::new(hasher.finish())
    }
}

impl Fingerprint {
    #[inline]
    fn new(hash: u64) -> Self {
        Self(hash.max(1))
    }

    /// The hash.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_portable_hash_distinguishes_texts() {
        let narrow = Fingerprinter { simd: None, ..Fingerprinter::default() };
        for take in [narrow, Fingerprinter::default()] {
            let texts: Vec<String> = (0..600).map(|length| "a".repeat(length)).chain(["b".into(), "ab".into()]).collect();
            let mut each = vec![Fingerprint::default(); texts.len()];
            take.of_each(texts.iter().map(String::as_bytes), &mut each);
            assert!(each.iter().zip(&texts).all(|(fingerprint, text)| *fingerprint == take.of(text.as_bytes())));
            each.sort_by_key(|fingerprint| fingerprint.word());
            each.dedup();
            assert_eq!(each.len(), texts.len());
            assert_ne!(take.of_pair(each[0], 1), take.of_pair(each[0], 2));
        }
    }
}
