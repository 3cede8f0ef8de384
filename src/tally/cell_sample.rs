//! The part of a cell that few hits change: the error of its count, and its sample.
//!
//! The texts of samples are stored one after another in a few large blocks, the [`ByteArena`]: a new cell needs no allocation,
//! and a merge moves blocks instead of copying texts. A freed text stays in its block until more than half of all bytes are free.
//! Then the owner [copies](ByteArena::insert) the others into new blocks.

use super::cell::{ImportedSample, LinePosition, Sample, SampleContent, SampleContentView, SampleView, is_earlier};
use crate::short_bytes::append;
use crate::time::LogTime;

/// A cell without its counts.
#[derive(Debug, Clone)]
pub(super) struct CellSample {
    pub(super) error: u64,
    time: Option<LogTime>,
    pub(super) position: LinePosition,
    content: StoredSample,
}

/// The text of a sample.
#[derive(Debug, Clone)]
enum StoredSample {
    Line { text: ArenaSpan, parsed: bool },
    Imported(Box<ImportedSample>),
}

impl StoredSample {
    fn copied(&self, from: &ByteArena, to: &mut ByteArena) -> Self {
        match self {
            Self::Line { text, parsed } => Self::Line { text: to.insert(from.get(*text)), parsed: *parsed },
            Self::Imported(imported) => Self::Imported(imported.clone()),
        }
    }
}

/// A line with a hit.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitLine<'l> {
    pub(super) time: Option<LogTime>,
    pub(super) position: LinePosition,
    pub(super) text: &'l [u8],
    pub(super) parsed: bool,
}

impl CellSample {
    /// With a log line as sample.
    pub(super) fn from_line(line: &HitLine<'_>, texts: &mut ByteArena) -> Self {
        let content = StoredSample::Line { text: texts.insert(line.text), parsed: line.parsed };
        Self { error: 0, time: line.time, position: line.position, content }
    }

    /// With an existing sample.
    pub(super) fn from_sample(error: u64, sample: Sample, texts: &mut ByteArena) -> Self {
        let Sample { time, position, content } = sample;
        let content = match content {
            SampleContent::Line { text, parsed } => StoredSample::Line { text: texts.insert(&text), parsed },
            SampleContent::Imported(imported) => StoredSample::Imported(imported),
        };
        Self { error, time, position, content }
    }

    /// Whether a line is earlier than this sample.
    pub(super) fn is_later_than(&self, line: &HitLine<'_>) -> bool {
        is_earlier((line.time, line.position), (self.time, self.position))
    }

    /// Whether this sample is earlier than another.
    pub(super) fn is_before(&self, other: &Self, texts: &ByteArena) -> bool {
        let (mine, others) = ((self.time, self.position), (other.time, other.position));
        is_earlier(mine, others) || (mine == others && self.view(texts).order(&other.view(texts)).is_lt())
    }

    /// Takes the sample of another.
    pub(super) fn replace(&mut self, other: Self, texts: &mut ByteArena) {
        let error = self.error;
        std::mem::replace(self, Self { error, ..other }).free(texts);
    }

    /// Changes the number of an imported line. `number` gets the input, the generation, the offset and the number so far.
    pub(super) fn renumber_line(&mut self, number: &impl Fn(u32, u64, u64, u64) -> u64) {
        if let StoredSample::Imported(sample) = &mut self.content {
            sample.line = number(self.position.input, sample.generation, self.position.chunk, sample.line);
            self.position.line = sample.line;
        }
    }

    /// The sample.
    pub(super) fn view<'t>(&'t self, texts: &'t ByteArena) -> SampleView<'t> {
        let content = match &self.content {
            StoredSample::Line { text, parsed } => SampleContentView::Line { text: texts.get(*text), parsed: *parsed },
            StoredSample::Imported(imported) => SampleContentView::Imported(imported),
        };
        SampleView { time: self.time, position: self.position, content }
    }

    /// The sample with a copy of its text.
    pub(super) fn into_sample(self, texts: &ByteArena) -> Sample {
        let content = match self.content {
            StoredSample::Line { text, parsed } => SampleContent::Line { text: texts.get(text).into(), parsed },
            StoredSample::Imported(imported) => SampleContent::Imported(imported),
        };
        Sample { time: self.time, position: self.position, content }
    }

    /// A copy. Its text is stored in another arena.
    pub(super) fn copied(&self, from: &ByteArena, to: &mut ByteArena) -> Self {
        Self { content: self.content.copied(from, to), ..*self }
    }

    /// The sample, moved: its text is stored in another arena, and what stays here must not be read.
    pub(super) fn taken(&mut self, from: &ByteArena, to: &mut ByteArena) -> Self {
        let content = match &mut self.content {
            line @ StoredSample::Line { .. } => line.copied(from, to),
            imported => std::mem::replace(imported, StoredSample::Line { text: ArenaSpan::EMPTY, parsed: false }),
        };
        Self { content, ..*self }
    }

    /// The location of its text in the arena, if it is there.
    pub(super) fn text_mut(&mut self) -> Option<&mut ArenaSpan> {
        match &mut self.content {
            StoredSample::Line { text, .. } => Some(text),
            StoredSample::Imported(_) => None,
        }
    }

    /// Frees its text.
    pub(super) fn free(self, texts: &mut ByteArena) {
        if let StoredSample::Line { text, .. } = self.content {
            texts.free(text);
        }
    }
}

/// Bytes of a block; a block with one longer text is larger.
const BLOCK: usize = 1 << 16;
/// Free bytes that do not yet justify a copy.
const COMPACT_THRESHOLD: usize = 1 << 20;

/// Texts in blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct ByteArena {
    blocks: Vec<Vec<u8>>,
    held: usize,
    freed: usize,
}

/// The location of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArenaSpan {
    block: u32,
    start: u32,
    len: u32,
}

impl ArenaSpan {
    /// A text without bytes, of an arena with a block.
    const EMPTY: Self = Self { block: 0, start: 0, len: 0 };

    /// The location after its arena was [appended](ByteArena::append) to another.
    pub(super) fn shifted(self, blocks: u32) -> Self {
        Self { block: self.block + blocks, ..self }
    }
}

impl ByteArena {
    /// Stores a text.
    pub(super) fn insert(&mut self, text: &[u8]) -> ArenaSpan {
        if self.blocks.last().is_none_or(|block| block.len() + text.len() > BLOCK) {
            // The first block grows on demand, because many tallies hold little.
            self.blocks.push(if self.blocks.is_empty() { Vec::new() } else { Vec::with_capacity(BLOCK) });
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let start = block.len();
        append(block, text);
        self.held += text.len();
        // A line is at most as long as a read buffer, and there are fewer blocks than cells.
        ArenaSpan { block: number as u32, start: start as u32, len: text.len() as u32 }
    }

    /// A stored text.
    pub(super) fn get(&self, at: ArenaSpan) -> &[u8] {
        &self.blocks[at.block as usize][at.start as usize..][..at.len as usize]
    }

    /// Marks a text as free.
    pub(super) fn free(&mut self, at: ArenaSpan) {
        self.freed += at.len as usize;
    }

    /// Bytes of all texts, including the free ones.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// Appends the blocks of another arena. Returns how many blocks precede them.
    pub(super) fn append(&mut self, other: Self) -> u32 {
        let before = self.blocks.len() as u32;
        self.blocks.extend(other.blocks);
        (self.held, self.freed) = (self.held + other.held, self.freed + other.freed);
        before
    }

    /// Whether the texts should be copied into new blocks.
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
        fn a_stored_text_is_returned_unchanged(lengths in prop::collection::vec(prop_oneof![9 => 0..3_000_usize, 1 => 0..3 * BLOCK], 1..60), first in any::<prop::sample::Index>()) {
            let texts: Vec<Vec<u8>> = (0_u8..).zip(lengths).map(|(byte, length)| vec![byte; length]).collect();
            let (mut one, mut other) = (ByteArena::default(), ByteArena::default());
            let (mine, others) = texts.split_at(first.index(texts.len()));
            let [mut places, appended] = [(&mut one, mine), (&mut other, others)].map(|(kept, texts)| texts.iter().map(|text| kept.insert(text)).collect::<Vec<_>>());
            let before = one.append(other);
            places.extend(appended.into_iter().map(|at| at.shifted(before)));
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
