//! ByteArena that prove cells, one behind the other in a few blocks: a new cell asks the allocator for nothing, and what two
//! tallies hold is one's without a copy.
//!
//! A text that is freed stays where it is until there are more of them than others; then whoever knows which are left
//! [puts](ByteArena::put) those into new blocks.

/// Bytes of a block, but for one that holds a single longer text.
const BLOCK: usize = 1 << 16;
/// Spent bytes that are no trouble to anybody.
const COMPACT_THRESHOLD: usize = 1 << 20;

/// ByteArena.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteArena {
    blocks: Vec<Vec<u8>>,
    held: usize,
    freed: usize,
}

/// Where a text is.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArenaSpan {
    block: u32,
    start: u32,
    len: u32,
}

impl ArenaSpan {
    /// Where it is when its texts stand [behind](ByteArena::take_in) others.
    pub(super) fn shifted(self, blocks: u32) -> Self {
        Self { block: self.block + blocks, ..self }
    }
}

impl ByteArena {
    /// Keeps a text.
    pub(super) fn insert(&mut self, text: &[u8]) -> ArenaSpan {
        if self.blocks.last().is_none_or(|block| block.len() + text.len() > BLOCK) {
            // The first one grows as it is filled: many a tally holds little.
            self.blocks.push(if self.blocks.is_empty() { Vec::new() } else { Vec::with_capacity(BLOCK) });
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let start = block.len();
        block.extend_from_slice(text);
        self.held += text.len();
        // A line is no longer than what is read at a time, and blocks are fewer than cells.
        ArenaSpan { block: number as u32, start: start as u32, len: text.len() as u32 }
    }

    /// A text that was kept.
    pub(super) fn get(&self, at: ArenaSpan) -> &[u8] {
        &self.blocks[at.block as usize][at.start as usize..][..at.len as usize]
    }

    /// Says that nobody needs a text any more.
    pub(super) fn free(&mut self, at: ArenaSpan) {
        self.freed += at.len as usize;
    }

    /// Bytes of all texts, those that are freed among them.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Takes the texts of others behind its own; how many blocks now stand before them.
    pub(super) fn append(&mut self, other: Self) -> u32 {
        let before = self.blocks.len() as u32;
        self.blocks.extend(other.blocks);
        (self.held, self.freed) = (self.held + other.held, self.freed + other.freed);
        before
    }

    /// Whether it is time to put what is left into new blocks.
    pub(super) fn is_mostly_free(&self) -> bool {
        self.freed > COMPACT_THRESHOLD && self.freed > self.held / 2
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_is_what_was_put(lengths in prop::collection::vec(prop_oneof![9 => 0..3_000_usize, 1 => 0..3 * BLOCK], 1..60), first in any::<prop::sample::Index>()) {
            let texts: Vec<Vec<u8>> = (0_u8..).zip(lengths).map(|(byte, length)| vec![byte; length]).collect();
            let (mut one, mut other) = (ByteArena::default(), ByteArena::default());
            let (mine, others) = texts.split_at(first.index(texts.len()));
            let [mut places, behind] = [(&mut one, mine), (&mut other, others)].map(|(kept, texts)| texts.iter().map(|text| kept.insert(text)).collect::<Vec<_>>());
            let before = one.append(other);
            places.extend(behind.into_iter().map(|at| at.shifted(before)));
            for (at, text) in places.iter().zip(&texts) {
                prop_assert_eq!(one.get(*at), text.as_slice());
            }
            prop_assert!(!one.is_mostly_free());
            for at in places {
                one.free(at);
            }
            prop_assert_eq!(one.is_mostly_free(), texts.concat().len() > COMPACT_THRESHOLD);
        }
    }
}
