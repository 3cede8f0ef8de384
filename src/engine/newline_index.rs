//! The positions of newlines and quotes in a block of a log, found in one pass. The line loop uses
//! them instead of further searches.
//!
//! A block fits into the L1 cache, so its lines are still cached when they are parsed. Registers of
//! 64 or 32 bytes are used if the processor has them (x86-64-v4 and x86-64-v3): a fifth of the time
//! of two searches.
//!
//! The only `unsafe` is the call of code for these registers, after a check that the processor has
//! them. Loads are made of checked slices. A property test compares all variants with the portable
//! one.

use memchr::{memchr, memchr_iter};

/// Bytes in a block.
pub(super) const BLOCK: usize = 16 << 10;

/// Newlines and quotes of a block. Reuses its buffers.
#[derive(Debug, Default)]
pub(super) struct NewlineIndex {
    /// Positions of newlines; only the first `count` are valid.
    newlines: Vec<u32>,
    /// The number of newlines.
    count: usize,
    /// A bit for each byte that is a quote, and one more word of zeros.
    quotes: Vec<u64>,
}

impl NewlineIndex {
    /// Finds the newlines and the quotes of a block.
    pub(super) fn read(&mut self, block: &[u8]) {
        let words = block.len().div_ceil(64);
        // One more element than there can be newlines, for an unconditional store. Fresh zeroed
        // memory costs nothing until it is touched.
        if self.newlines.len() <= words * 64 {
            self.newlines = vec![0; words * 64 + 1];
        }
        self.quotes.resize(words + 1, 0);
        self.quotes[words] = 0;
        if !read_simd(block, self) {
            self.read_portable(block);
        }
    }

    /// Finds the newlines of a block without SIMD.
    fn read_portable(&mut self, block: &[u8]) {
        self.count = 0;
        for at in memchr_iter(b'\n', block) {
            self.newlines[self.count] = at as u32;
            self.count += 1;
        }
        self.quotes.fill(0);
        for at in memchr_iter(b'"', block) {
            self.quotes[at / 64] |= 1 << (at % 64);
        }
    }

    /// Positions of newlines in the block, in order.
    pub(super) fn newlines(&self) -> &[u32] {
        &self.newlines[..self.count]
    }

    /// The position of the first quote in `start..end` of the block.
    #[inline]
    fn quote(&self, start: usize, end: usize) -> Option<usize> {
        let (word, bit) = (start / 64, start % 64);
        // The 64 bytes from `start` are in two words; most requests are shorter.
        let window =
            *self.quotes.get(word)? >> bit | *self.quotes.get(word + 1)? << 1 << (63 - bit);
        let at = if window == 0 {
            self.next_quote(word + 1)?
        } else {
            start + window.trailing_zeros() as usize
        };
        (at < end).then_some(at)
    }

    /// The position of the first quote from a word on.
    fn next_quote(&self, word: usize) -> Option<usize> {
        let (words, quotes) = self.quotes[word..]
            .iter()
            .enumerate()
            .find(|(_, quotes)| **quotes != 0)?;
        Some((word + words) * 64 + quotes.trailing_zeros() as usize)
    }
}

/// How to find the quotes of a line.
#[derive(Debug, Clone, Copy)]
pub(super) enum QuotePositions<'i> {
    /// In the index of the block, at the start of the line.
    Indexed(&'i NewlineIndex, usize),
    /// By a search in the line, which is longer than a block.
    Unknown,
}

impl QuotePositions<'_> {
    /// The quotes of the same line without its first bytes.
    #[inline]
    pub(super) fn skip(self, bytes: usize) -> Self {
        match self {
            Self::Indexed(index, start) => Self::Indexed(index, start + bytes),
            Self::Unknown => self,
        }
    }

    /// The position of the first quote in a line, from `from` on.
    #[inline]
    pub(super) fn first(self, line: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Indexed(index, start) => {
                Some(index.quote(start + from, start + line.len())? - start)
            }
            Self::Unknown => Some(from + memchr(b'"', line.get(from..)?)?),
        }
    }
}

/// Indexes a block; `false` if the processor has no such registers. The index must have space for
/// it.
#[cfg(target_arch = "x86_64")]
fn read_simd(block: &[u8], index: &mut NewlineIndex) -> bool {
    by_64(block, index) || by_32(block, index)
}

/// Indexes a block; `false` if the processor has no such registers.
#[cfg(not(target_arch = "x86_64"))]
fn read_simd(_block: &[u8], _index: &mut NewlineIndex) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "a call of code for processor features that were detected"
)]
fn by_64(block: &[u8], index: &mut NewlineIndex) -> bool {
    let can = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("bmi1");
    if can {
        // SAFETY: The processor has what the function is compiled for.
        unsafe { x86::read_by_64(block, index) }
    }
    can
}

#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "a call of code for processor features that were detected"
)]
fn by_32(block: &[u8], index: &mut NewlineIndex) -> bool {
    let can = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1");
    if can {
        // SAFETY: The processor has what the function is compiled for.
        unsafe { x86::read_by_32(block, index) }
    }
    can
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_set_epi64x, _mm256_set1_epi8,
        _mm512_cmpeq_epi8_mask, _mm512_set_epi64, _mm512_set1_epi8,
    };

    use super::NewlineIndex;

    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    pub(super) fn read_by_64(block: &[u8], index: &mut NewlineIndex) {
        read_by(block, index, |word| {
            let (words, _) = word.as_chunks::<8>();
            let part = |n: usize| i64::from_le_bytes(words[n]);
            let bytes = _mm512_set_epi64(
                part(7),
                part(6),
                part(5),
                part(4),
                part(3),
                part(2),
                part(1),
                part(0),
            );
            let bits =
                |byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()));
            (bits(b'\n'), bits(b'"'))
        });
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn read_by_32(block: &[u8], index: &mut NewlineIndex) {
        read_by(block, index, |word| {
            let (halves, _) = word.as_chunks::<32>();
            let bits = |byte: u8| {
                let sought = _mm256_set1_epi8(byte.cast_signed());
                let half = |half: &[u8; 32]| {
                    u64::from(
                        _mm256_movemask_epi8(_mm256_cmpeq_epi8(load(half), sought)).cast_unsigned(),
                    )
                };
                half(&halves[0]) | half(&halves[1]) << 32
            };
            (bits(b'\n'), bits(b'"'))
        });
    }

    /// 32 bytes in a register; one load, when compiled.
    #[inline]
    #[target_feature(enable = "avx2,bmi1")]
    fn load(bytes: &[u8; 32]) -> __m256i {
        let (words, _) = bytes.as_chunks::<8>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|n| i64::from_le_bytes(words[n]));
        _mm256_set_epi64x(d, c, b, a)
    }

    /// Indexes a block with a function that finds newlines and quotes in a word. Inlined into its
    /// caller, so that it is compiled for the same processor.
    #[expect(
        clippy::inline_always,
        reason = "elsewhere it would be compiled for another processor"
    )]
    #[inline(always)]
    fn read_by(block: &[u8], index: &mut NewlineIndex, bits_of: impl Fn(&[u8; 64]) -> (u64, u64)) {
        let NewlineIndex {
            newlines,
            count,
            quotes,
        } = index;
        let (words, rest) = block.as_chunks::<64>();
        let mut pushed = 0;
        for (number, (word, quotes)) in words.iter().zip(quotes.iter_mut()).enumerate() {
            let bits;
            (bits, *quotes) = bits_of(word);
            pushed = push_newlines(newlines, pushed, number, bits);
        }
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            let bits;
            (bits, quotes[words.len()]) = bits_of(&last);
            pushed = push_newlines(newlines, pushed, words.len(), bits);
        }
        *count = pushed;
    }

    /// Appends the newlines of a word. Few words have one and hardly any has two. The first is
    /// stored unconditionally, as a branch would be unpredictable.
    #[expect(
        clippy::inline_always,
        reason = "elsewhere it would be compiled for another processor"
    )]
    #[inline(always)]
    fn push_newlines(newlines: &mut [u32], mut pushed: usize, word: usize, mut bits: u64) -> usize {
        let start = word as u32 * 64;
        newlines[pushed] = start + bits.trailing_zeros();
        pushed += usize::from(bits != 0);
        bits &= bits.wrapping_sub(1);
        while bits != 0 {
            newlines[pushed] = start + bits.trailing_zeros();
            pushed += 1;
            bits &= bits - 1;
        }
        pushed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte =
            prop_oneof![4 => Just(b'a'), 1 => Just(b'\n'), 1 => Just(b'"'), 1 => any::<u8>()];
        let run = prop_oneof![3 => byte.prop_map(|b| vec![b]), 1 => (any::<u8>(), 0..200_usize).prop_map(|(b, n)| vec![b; n])];
        prop::collection::vec(run, 0..60).prop_map(|runs| runs.concat())
    }

    proptest! {
        #[test]
        fn finds_newlines_and_quotes(first in text(), second in text()) {
            let (mut index, mut portable) = (NewlineIndex::default(), NewlineIndex::default());
            // A reused index must not keep anything of an earlier block.
            for block in [&first, &second] {
                index.read(block);
                portable.read(block);
                portable.read_portable(block);
                prop_assert_eq!(index.newlines(), portable.newlines());
                prop_assert_eq!(&index.quotes, &portable.quotes);
                let newlines: Vec<_> = memchr_iter(b'\n', block).map(|at| at as u32).collect();
                prop_assert_eq!(index.newlines(), newlines);
                #[cfg(target_arch = "x86_64")]
                {
                    // It overwrites the index of another text.
                    let mut by_32 = NewlineIndex::default();
                    by_32.read(&vec![b'"'; block.len()]);
                    if super::by_32(block, &mut by_32) {
                        prop_assert_eq!(by_32.newlines(), portable.newlines());
                        prop_assert_eq!(&by_32.quotes, &portable.quotes);
                    }
                }
                for start in 0..=block.len() {
                    let expected = memchr(b'"', &block[start..]).map(|at| start + at);
                    prop_assert_eq!(index.quote(start, block.len()), expected);
                    prop_assert_eq!(QuotePositions::Unknown.first(block, start), expected);
                    let (line, from) = (&block[start / 2..], start - start / 2);
                    prop_assert_eq!(QuotePositions::Indexed(&index, start / 2).first(line, from), expected.map(|at| at - start / 2));
                }
            }
        }
    }
}
