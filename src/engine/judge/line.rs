//! A line of a run, and where it stands: found by the index of a block, or by a search where it is longer than one.

use memchr::memchr;

use crate::engine::index::{Index, Quotes};
use crate::finding::{Findings, Hit};
use crate::formats::bytes::leading_nuls;

/// A line, not looked at yet.
#[derive(Clone, Copy)]
pub(super) struct Line<'t, 'i> {
    pub(super) text: &'t [u8],
    /// Where it begins in its run.
    pub(super) offset: u64,
    pub(super) quotes: Quotes<'i>,
}

/// Where a line stands in its run.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) offset: u64,
}

impl<'t, 'i> Line<'t, 'i> {
    /// Each line of a block that ends in it; the block begins so many bytes behind the start of its run.
    #[inline]
    pub(super) fn each(block: &'t [u8], start: usize, index: &'i Index) -> impl Iterator<Item = Self> + Clone {
        let mut from = 0;
        index.newlines().iter().map(move |&newline| {
            let end = newline as usize;
            let line = Self { text: &block[from..end], offset: (start + from) as u64, quotes: Quotes::Indexed(index, from) };
            from = end + 1;
            line
        })
    }

    /// The line that is longer than a block, or the last one without its newline, and the bytes that it takes. What is left of a run
    /// that is nothing but NULs is a hole, and no line: it is counted.
    #[cold]
    pub(super) fn long(rest: &'t [u8], start: usize, findings: &mut Findings) -> (Option<Self>, usize) {
        let newline = memchr(b'\n', rest);
        let text = &rest[..newline.unwrap_or(rest.len())];
        if newline.is_none() && text.iter().all(|&b| b == 0) {
            findings.lines.nul_bytes += text.len() as u64;
            return (None, text.len());
        }
        (Some(Self { text, offset: start as u64, quotes: Quotes::Unknown }), text.len() + 1)
    }

    /// Counts it and the NULs before it; where it stands behind them, what follows them, and the quotes of that.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    pub(super) fn count(self, findings: &mut Findings) -> (Place, &'t [u8], Quotes<'i>) {
        let nuls = leading_nuls(self.text);
        if nuls > 0 {
            findings.lines.nul_bytes += nuls as u64;
        }
        let place = Place { line: findings.lines.lines as u32, offset: self.offset + nuls as u64 };
        findings.lines.lines += 1;
        (place, &self.text[nuls..], self.quotes.behind(nuls))
    }
}

impl Place {
    pub(super) fn hit(self) -> Hit {
        Hit::at(self.line, self.offset)
    }
}
