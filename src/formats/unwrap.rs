//! Finds a log line within others: after prefixes, without colours, as a string of a JSON object.
//!
//! A line that is a request by itself never comes here, so that a client cannot forge a line by sending one as its user agent.

use super::JsonLineParser;
use super::json::{KeyCache, unescape_line};
use super::line_prefix::{LinePrefix, MAX_PREFIXES, StrippedLine, strip_prefix, without_colors};
use crate::time::LogTime;

/// Buffers for lines that must be assembled.
#[derive(Debug, Default)]
pub(super) struct UnwrapBuffers {
    /// Without colours.
    plain: Vec<u8>,
    /// Without the escapes of JSON.
    unescaped: Vec<u8>,
    time: Vec<u8>,
    keys: KeyCache,
}

/// How a text is read that may be a line.
pub(super) trait ReadInner {
    /// Reads a text; `None` if it is no line. Its time is that of what is around it.
    fn read(&mut self, text: &[u8], time: Option<LogTime>) -> Option<()>;
    /// Whether a text is a line, without reading it.
    fn is_line(&mut self, text: &[u8]) -> bool;
}

/// Reads the line within a line, and returns the writer of what is around it; `None` if there is none. The outermost writer that
/// is not only blanks is returned.
pub(super) fn read_within(
    line: &[u8],
    json: &JsonLineParser,
    UnwrapBuffers { plain, unescaped, time: time_buffer, keys }: &mut UnwrapBuffers,
    inner: &mut impl ReadInner,
) -> Option<LinePrefix> {
    let (mut rest, mut prefix, mut time) = (line, None, None);
    if let Some(plain) = without_colors(line, plain) {
        (rest, prefix) = (plain, Some(LinePrefix::Colors));
        if inner.read(rest, time).is_some() {
            return prefix;
        }
    }
    if let Some(found) = after_prefixes(&mut rest, &mut time, inner) {
        return Some(significant(prefix, found));
    }
    let enclosed = json.enclosed_texts(rest, keys)?;
    time = enclosed.time(time_buffer).parse().or(time);
    let mut texts = enclosed
        .texts()
        .iter()
        .filter(|text| unescape_line(text, unescaped) && (enclosed.texts().len() == 1 || is_line_within(unescaped, inner)));
    // If two texts are lines, a client may have written one of them.
    let (text, None) = (texts.next()?, texts.next()) else { return None };
    let is_unescaped = unescape_line(text, unescaped);
    let (mut rest, mut time) = (&unescaped[..], time);
    let is_read = is_unescaped && (inner.read(rest, time).is_some() || after_prefixes(&mut rest, &mut time, inner).is_some());
    is_read.then(|| significant(prefix, LinePrefix::Json))
}

/// Removes prefixes until the rest can be read; returns the writer of the first.
fn after_prefixes(rest: &mut &[u8], time: &mut Option<LogTime>, inner: &mut impl ReadInner) -> Option<LinePrefix> {
    let mut first = None;
    for _ in 0..MAX_PREFIXES {
        let StrippedLine { prefix, rest: next, time: next_time } = strip_prefix(rest)?;
        (*rest, *time) = (next, next_time.or(*time));
        first = Some(first.map_or(prefix, |first| significant(Some(first), prefix)));
        if inner.read(next, *time).is_some() {
            return first;
        }
    }
    None
}

fn is_line_within(text: &[u8], inner: &mut impl ReadInner) -> bool {
    let mut rest = text;
    for _ in 0..=MAX_PREFIXES {
        if inner.is_line(rest) {
            return true;
        }
        let Some(found) = strip_prefix(rest) else { return false };
        rest = found.rest;
    }
    false
}

/// The first of two writers that is not only blanks.
fn significant(first: Option<LinePrefix>, then: LinePrefix) -> LinePrefix {
    first.filter(|prefix| !matches!(prefix, LinePrefix::Blanks | LinePrefix::Colors)).unwrap_or(then)
}
