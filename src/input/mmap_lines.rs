//! Finds the lines of a range in a map: one slice, and the length of a last line that is over the limit.
//!
//! Does not check whether the map can be trusted. Memory that was only searched is released at once, so a line of any
//! length needs none.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::chunk::{Body, Chunk};
use super::mmap::GuardedMap;

/// The lines that a range of a mapped text owns.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnedLines {
    /// The bytes of these lines.
    pub(super) span: Range<usize>,
    /// Start of the last line if it is over the limit, and its length without the newline.
    oversized: Option<(usize, u64)>,
}

impl OwnedLines {
    /// Their chunks, in order.
    pub(super) fn chunks<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Chunk<'a>> + use<'a> {
        let lines = self.span.start..self.oversized.map_or(self.span.end, |(start, _)| start);
        let offset = lines.start as u64;
        let whole = (!lines.is_empty()).then(|| Chunk { offset, body: Body::Lines(&bytes[lines]) });
        let oversized = self.oversized.map(|(start, bytes)| Chunk { offset: start as u64, body: Body::Oversized { bytes } });
        whole.into_iter().chain(oversized)
    }
}

/// The lines of `text` that the non-empty `range` owns; `None` once `stopped` returns true.
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

/// The first newline in `span`, searched `step` bytes at a time. The outer value is `None` if stopped, the inner one
/// if there is no newline.
#[expect(clippy::option_option, reason = "stopped and not found are two answers")]
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
