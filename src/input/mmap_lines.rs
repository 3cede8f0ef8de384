//! Finds the lines of a range in a map: one slice, or two pieces where a line is too long to be handed on.
//!
//! Says nothing about whether the map may be believed. Memory that was only looked through is given back at once, so a
//! line of any length needs none.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::chunk::{Body, Chunk};
use super::mmap::GuardedMap;

/// The lines that a range of a mapped text owns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnedLines {
    /// The bytes that they take.
    pub(super) span: Range<usize>,
    /// Where the last of them starts, if it is too long to be handed on; its length without the newline.
    oversized: Option<(usize, u64)>,
}

impl OwnedLines {
    /// The chunks that they make, in order.
    pub(super) fn chunks<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Chunk<'a>> + use<'a> {
        let lines = self.span.start..self.oversized.map_or(self.span.end, |(start, _)| start);
        let offset = lines.start as u64;
        let held = (!lines.is_empty()).then(|| Chunk { offset, body: Body::Lines(&bytes[lines]) });
        let passed = self.oversized.map(|(start, bytes)| Chunk { offset: start as u64, body: Body::Oversized { bytes } });
        held.into_iter().chain(passed)
    }
}

/// The lines of `text` that `range`, a part of it that is not empty, owns. `None` if `stopped` says so meanwhile.
pub(super) fn owned_lines(
    map: &GuardedMap,
    text: &Range<usize>,
    range: &Range<usize>,
    max_line: usize,
    stopped: impl Fn() -> bool,
) -> Option<OwnedLines> {
    let bytes = map.bytes();
    let start = if range.start == text.start {
        range.start
    } else {
        memchr(b'\n', &bytes[range.clone()]).map_or(text.end, |at| range.start + at + 1)
    };
    if start == text.end {
        return Some(OwnedLines { span: range.end..range.end, oversized: None });
    }
    let newline = find_newline(map, range.end..text.end, range.len(), stopped)?;
    let end = newline.map_or(text.end, |at| at + 1);
    let oversized = (end - range.end > max_line + 1).then(|| {
        let last = memrchr(b'\n', &bytes[start..range.end]).map_or(start, |at| start + at + 1);
        (last, (newline.unwrap_or(end) - last) as u64)
    });
    Some(OwnedLines { span: start..end, oversized })
}

/// The first newline in `span`, looked for `step` bytes at a time. `None` outside if stopped, inside if there is none.
#[expect(clippy::option_option, reason = "stopped, or looked through: two questions")]
fn find_newline(map: &GuardedMap, span: Range<usize>, step: usize, stopped: impl Fn() -> bool) -> Option<Option<usize>> {
    let mut at = span.start;
    while at < span.end {
        let to = (at + step).min(span.end);
        if let Some(newline) = memchr(b'\n', &map.bytes()[at..to]) {
            return Some(Some(at + newline));
        }
        if stopped() {
            return None;
        }
        map.release(at..to);
        at = to;
    }
    Some(None)
}
