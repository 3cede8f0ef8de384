//! A line of a chunk and its position, found by the newline index of a block, or by a search if it is longer than a block.

use memchr::memchr;

use crate::engine::newline_index::{NewlineIndex, QuotePositions};
use crate::finding::{Findings, Hit};
use crate::formats::bytes::leading_nuls;

/// A line that is not parsed yet.
#[derive(Clone, Copy)]
pub(super) struct ScannedLine<'t, 'i> {
    pub(super) text: &'t [u8],
    /// Its start in the chunk.
    pub(super) offset: u64,
    pub(super) quotes: QuotePositions<'i>,
}

/// The position of a line in its chunk.
#[derive(Clone, Copy)]
pub(super) struct LinePosition {
    pub(super) line: u32,
    pub(super) offset: u64,
}

impl<'t, 'i> ScannedLine<'t, 'i> {
    /// The lines that end in a block; the block starts at byte `start` of its chunk.
    #[inline]
    pub(super) fn each(block: &'t [u8], start: usize, index: &'i NewlineIndex) -> impl Iterator<Item = Self> + Clone {
        let mut from = 0;
        index.newlines().iter().map(move |&newline| {
            let end = newline as usize;
            let line = Self { text: &block[from..end], offset: (start + from) as u64, quotes: QuotePositions::Indexed(index, from) };
            from = end + 1;
            line
        })
    }

    /// A line that is longer than a block, or the last one without its newline, and its length in bytes. A rest of NULs is a hole
    /// of a sparse file and no line; its bytes are counted.
    #[cold]
    pub(super) fn long(rest: &'t [u8], start: usize, findings: &mut Findings) -> (Option<Self>, usize) {
        let newline = memchr(b'\n', rest);
        let text = &rest[..newline.unwrap_or(rest.len())];
        if newline.is_none() && text.iter().all(|&b| b == 0) {
            findings.lines.nul_bytes += text.len() as u64;
            return (None, text.len());
        }
        (Some(Self { text, offset: start as u64, quotes: QuotePositions::Unknown }), text.len() + 1)
    }

    /// Counts the line and its leading NULs; returns position, text and quotes after the NULs.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    pub(super) fn count(self, findings: &mut Findings) -> (LinePosition, &'t [u8], QuotePositions<'i>) {
        let nuls = leading_nuls(self.text);
        if nuls > 0 {
            findings.lines.nul_bytes += nuls as u64;
        }
        let position = LinePosition { line: findings.lines.lines as u32, offset: self.offset + nuls as u64 };
        findings.lines.lines += 1;
        (position, &self.text[nuls..], self.quotes.skip(nuls))
    }
}

impl LinePosition {
    pub(super) fn hit(self) -> Hit {
        Hit::at(self.line, self.offset)
    }
}
