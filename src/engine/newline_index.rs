//! The positions of newlines and quotes in a block of a log, found in one pass. The line loop uses them instead of further
//! searches.
//!
//! A block fits into the L1 cache, so its lines are still cached when they are parsed. This module knows no lines and no formats.

mod simd;

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
        // One more element than there can be newlines, for an unconditional store. Fresh zeroed memory costs nothing until it is
        // touched.
        if self.newlines.len() <= words * 64 {
            self.newlines = vec![0; words * 64 + 1];
        }
        self.quotes.resize(words + 1, 0);
        self.quotes[words] = 0;
        if !simd::read(block, self) {
            self.read_portable(block);
        }
    }

    /// The same without SIMD.
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
        let window = *self.quotes.get(word)? >> bit | *self.quotes.get(word + 1)? << 1 << (63 - bit);
        let at = if window == 0 { self.next_quote(word + 1)? } else { start + window.trailing_zeros() as usize };
        (at < end).then_some(at)
    }

    /// The position of the first quote from a word on.
    fn next_quote(&self, word: usize) -> Option<usize> {
        let (words, quotes) = self.quotes[word..].iter().enumerate().find(|(_, quotes)| **quotes != 0)?;
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
            Self::Indexed(index, start) => Some(index.quote(start + from, start + line.len())? - start),
            Self::Unknown => Some(from + memchr(b'"', line.get(from..)?)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![4 => Just(b'a'), 1 => Just(b'\n'), 1 => Just(b'"'), 1 => any::<u8>()];
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
                    if simd::by_32(block, &mut by_32) {
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
