//! Where newlines and quotes stand in a block of a log, found in one pass: everything else in the line loop goes by them.
//!
//! The block is small enough to stay in the nearest cache, so the bytes of a line are there when they are looked at.
//! Nothing is known of lines or formats here.

mod wide;

use memchr::{memchr, memchr_iter};

/// Bytes that are indexed at a time.
pub(super) const BLOCK: usize = 16 << 10;

/// Newlines and quotes of a block. Keeps its buffers.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Where newlines stand; only the first few are meant.
    newlines: Vec<u32>,
    /// How many.
    count: usize,
    /// Where quotes stand, a bit for each byte, and a word without any behind them.
    quotes: Vec<u64>,
}

impl Index {
    /// Finds the newlines and the quotes of a block.
    pub(super) fn read(&mut self, block: &[u8]) {
        let words = block.len().div_ceil(64);
        // A place more than there can be newlines in full words, for a store that counts for nothing. Fresh from the system
        // they are zero already, and what no block needs takes no memory.
        if self.newlines.len() <= words * 64 {
            self.newlines = vec![0; words * 64 + 1];
        }
        self.quotes.resize(words + 1, 0);
        self.quotes[words] = 0;
        if !wide::read(block, self) {
            self.read_narrow(block);
        }
    }

    /// The same on any machine.
    fn read_narrow(&mut self, block: &[u8]) {
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

    /// Where newlines stand in the block, in order.
    pub(super) fn newlines(&self) -> &[u32] {
        &self.newlines[..self.count]
    }

    /// Where the first quote stands in `start..end` of the block.
    #[inline]
    fn quote(&self, start: usize, end: usize) -> Option<usize> {
        let (word, bit) = (start / 64, start % 64);
        // The 64 bytes from `start` on lie in two words; most requests are shorter.
        let window = *self.quotes.get(word)? >> bit | *self.quotes.get(word + 1)? << 1 << (63 - bit);
        let at = if window == 0 { self.quote_behind(word + 1)? } else { start + window.trailing_zeros() as usize };
        (at < end).then_some(at)
    }

    /// Where the first quote stands from a word on.
    fn quote_behind(&self, word: usize) -> Option<usize> {
        let (words, quotes) = self.quotes[word..].iter().enumerate().find(|(_, quotes)| **quotes != 0)?;
        Some((word + words) * 64 + quotes.trailing_zeros() as usize)
    }
}

/// Where the quotes of a line are found.
#[derive(Debug, Clone, Copy)]
pub(super) enum Quotes<'i> {
    /// In the index of the block, in which the line starts here.
    Indexed(&'i Index, usize),
    /// In the line itself, which is longer than a block.
    Unknown,
}

impl Quotes<'_> {
    /// Those of the same line without its first bytes.
    #[inline]
    pub(super) fn behind(self, bytes: usize) -> Self {
        match self {
            Self::Indexed(index, start) => Self::Indexed(index, start + bytes),
            Self::Unknown => self,
        }
    }

    /// Where the first quote stands in a line from a place on.
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
        fn finds_what_stands_there(first in text(), second in text()) {
            let (mut index, mut narrow) = (Index::default(), Index::default());
            // Used before: what an earlier block left is gone.
            for block in [&first, &second] {
                index.read(block);
                narrow.read(block);
                narrow.read_narrow(block);
                prop_assert_eq!(index.newlines(), narrow.newlines());
                prop_assert_eq!(&index.quotes, &narrow.quotes);
                let newlines: Vec<_> = memchr_iter(b'\n', block).map(|at| at as u32).collect();
                prop_assert_eq!(index.newlines(), newlines);
                #[cfg(target_arch = "x86_64")]
                {
                    // What it overwrites is another text.
                    let mut by_32 = Index::default();
                    by_32.read(&vec![b'"'; block.len()]);
                    if wide::by_32(block, &mut by_32) {
                        prop_assert_eq!(by_32.newlines(), narrow.newlines());
                        prop_assert_eq!(&by_32.quotes, &narrow.quotes);
                    }
                }
                for start in 0..=block.len() {
                    let expected = memchr(b'"', &block[start..]).map(|at| start + at);
                    prop_assert_eq!(index.quote(start, block.len()), expected);
                    prop_assert_eq!(Quotes::Unknown.first(block, start), expected);
                    let (line, from) = (&block[start / 2..], start - start / 2);
                    prop_assert_eq!(Quotes::Indexed(&index, start / 2).first(line, from), expected.map(|at| at - start / 2));
                }
            }
        }
    }
}
