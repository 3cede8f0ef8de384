//! Stores lines of any format as frames without writing whole lines, because most lines match no rule and their text is never
//! needed.
//!
//! Texts that a combined line would contain unchanged are referenced in the original line; the rest is written here. A line with
//! text that needs escaping is rewritten as a whole. The format is that of [`clf_writer`].
//!
//! [`FastValues`] are the values of a line on the fast path, each span packed into one word: a pair that is written as two words
//! and read as one stalls the CPU, and there is one for each field of each line.

use std::ops::Range;

use super::clf_writer::{FieldSink, HEADER_QUOTES};
use super::reader::LineKind;
use super::{Fields, Frame, RequestField, TimeField, clf_writer};
use crate::time::CLF_TIME_LEN;

/// The frames of some lines. Keeps its buffers.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    text: Vec<u8>,
    /// The address range of the current line in memory.
    line: Range<usize>,
    /// The kind of each line, and its frame.
    read: Vec<LineKind>,
    sources: Vec<FrameSource>,
    /// The total length of the lines, as if they had been written.
    length: usize,
}

/// How a line is stored.
#[derive(Debug, Clone, Copy)]
enum FrameSource {
    Nothing,
    Parts(FrameParts),
    /// A rewritten line at this range of the buffer.
    Whole(usize, usize),
}

/// The parts of a frame.
#[derive(Debug, Clone, Copy)]
struct FrameParts {
    client: ByteSpan,
    /// As it is written; `-` if there is none.
    user: ByteSpan,
    host: Option<ByteSpan>,
    time: ByteSpan,
    request: ByteSpan,
    answer: ByteSpan,
    headers: ByteSpan,
}

/// The range of a text, in the line or in the buffer.
#[derive(Debug, Clone, Copy)]
struct ByteSpan {
    start: u32,
    end: u32,
    in_buffer: bool,
}

impl ByteSpan {
    #[inline]
    fn bytes<'a>(&self, line: &'a [u8], buffer: &'a [u8]) -> &'a [u8] {
        let text = if self.in_buffer { buffer } else { line };
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

impl FrameBuffer {
    /// Removes all lines.
    pub fn clear(&mut self) {
        self.text.clear();
        self.read.clear();
        self.sources.clear();
        self.length = 0;
    }

    /// Starts a line.
    pub(super) fn begin(&mut self, line: &[u8]) {
        let start = line.as_ptr().addr();
        self.line = start..start + line.len();
    }

    /// Ends the line, which may have no frame.
    pub(super) fn end(&mut self, read: LineKind) {
        self.read.push(read);
        if self.sources.len() < self.read.len() {
            self.sources.push(FrameSource::Nothing);
        }
    }

    /// The kind of each line.
    #[must_use]
    pub fn read(&self) -> &[LineKind] {
        &self.read
    }

    /// The frame of a line, if its parts were stored.
    #[must_use]
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub fn frame<'a>(&'a self, number: usize, line: &'a [u8]) -> Option<Frame<'a>> {
        let FrameSource::Parts(FrameParts { client, user, host, time, request, answer, headers }) = self.sources.get(number)? else {
            return None;
        };
        let text = |span: &ByteSpan| span.bytes(line, &self.text);
        Some(Frame::from_parts(host.as_ref().map(text), [text(client), text(user), text(time), text(request), text(answer), text(headers)]))
    }

    /// The rewritten line, if it was rewritten.
    #[must_use]
    pub fn rewritten_line(&self, number: usize) -> Option<&[u8]> {
        let FrameSource::Whole(start, end) = self.sources.get(number)? else { return None };
        self.text.get(*start..*end)
    }

    /// Stores fields as parts of a frame; `None` if the line must be rewritten.
    #[inline]
    fn parts(&mut self, fields: &Fields<'_>) -> Option<FrameParts> {
        // Positions have 32 bits.
        u32::try_from(self.line.len()).ok()?;
        let host = clf_writer::host(fields.host).map(|host| self.span(host));
        let client = clf_writer::is_plain_client(fields.client).then(|| self.span(fields.client))?;
        let user = self.user(fields.user);
        let time = match fields.time {
            TimeField::Clf(text) if text.len() == CLF_TIME_LEN => self.span(text),
            time => self.write(|text| clf_writer::write_time_field(time, text)),
        };
        let answer = self.write(|text| clf_writer::write_answer(fields, text));
        let mut ends_well = true;
        let mut write = |text: &[u8], to: &mut Vec<u8>| {
            ends_well &= !text.ends_with(b"\\");
            to.extend_from_slice(text);
        };
        let request = match fields.request {
            RequestField::Line(text) => self.span(text),
            parts @ RequestField::Parts { .. } => self.write(|text| clf_writer::write_request(parts, text, &mut write)),
        };
        let headers = self.write(|text| clf_writer::write_headers(fields, text, &mut write));
        if let RequestField::Line(text) = fields.request {
            ends_well &= !text.ends_with(b"\\") && clf_writer::is_clean(text, 0, fields.escapes);
        }
        let is_clean =
            |span: ByteSpan, quotes| !span.in_buffer || clf_writer::is_clean(span.bytes(b"", &self.text), quotes, fields.escapes);
        let is_clean = ends_well && is_clean(request, 0) && is_clean(headers, HEADER_QUOTES);
        is_clean.then_some(FrameParts { client, user, host, time, request, answer, headers })
    }

    /// Stores the fields of a line whose texts need no escaping.
    #[inline]
    pub(super) fn put_unescaped(&mut self, line: &[u8], fields: &Fields<'_>) {
        let Fields { time: TimeField::Clf(time), request: RequestField::Line(request), status, bytes, referer, user_agent, .. } = *fields
        else {
            return self.push(fields);
        };
        if time.len() != CLF_TIME_LEN || u32::try_from(line.len()).is_err() || !clf_writer::is_plain_client(fields.client) {
            return self.push(fields);
        }
        let client = self.span(fields.client);
        let user = self.user(fields.user);
        let host = clf_writer::host(fields.host).map(|host| self.span(host));
        let (time, request) = (self.span(time), self.span(request));
        let answer = match side_by_side(line, status, clf_writer::IN_ANSWER, bytes) {
            Some((start, end)) if clf_writer::is_answer(status, bytes) => ByteSpan { start, end, in_buffer: false },
            _ => self.write(|text| clf_writer::write_answer(fields, text)),
        };
        let headers =
            side_by_side(line, referer, clf_writer::BETWEEN_HEADERS, user_agent).and_then(|(start, end)| quoted(line, start, end));
        let headers = headers
            .unwrap_or_else(|| self.write(|text| clf_writer::write_headers(fields, text, |header, text| text.extend_from_slice(header))));
        self.push_parts(FrameParts { client, user, host, time, request, answer, headers });
    }

    #[inline]
    fn push_parts(&mut self, parts: FrameParts) {
        let FrameParts { client, user, host, request, answer, headers, .. } = parts;
        let before = host.map_or(0, |host| host.len() + clf_writer::AFTER_HOST.len());
        self.length += before + clf_writer::length(client.len(), user.len(), request.len(), answer.len(), headers.len());
        self.sources.push(FrameSource::Parts(parts));
    }

    /// The span of the user as it is written.
    #[inline]
    fn user(&mut self, user: &[u8]) -> ByteSpan {
        if user.is_empty() {
            return self.write(|text| text.push(b'-'));
        }
        if clf_writer::is_plain_user(user) {
            return self.span(user);
        }
        self.write(|text| {
            let start = text.len();
            text.extend_from_slice(user);
            clf_writer::write_rare_user(start, text);
        })
    }

    /// The span of a text, which is copied if it is not in the line.
    #[inline]
    fn span(&mut self, text: &[u8]) -> ByteSpan {
        let start = text.as_ptr().addr();
        if start >= self.line.start && start + text.len() <= self.line.end {
            let start = (start - self.line.start) as u32;
            return ByteSpan { start, end: start + text.len() as u32, in_buffer: false };
        }
        self.write(|to| to.extend_from_slice(text))
    }

    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> ByteSpan {
        let start = self.text.len() as u32;
        write(&mut self.text);
        ByteSpan { start, end: self.text.len() as u32, in_buffer: true }
    }
}

impl FieldSink for FrameBuffer {
    #[inline]
    fn push(&mut self, fields: &Fields<'_>) {
        let start = self.text.len();
        if let Some(parts) = self.parts(fields) {
            self.push_parts(parts);
        } else {
            self.text.truncate(start);
            clf_writer::write(fields, &mut self.text);
            self.push_line_from(start);
        }
    }

    fn put_line(&mut self, line: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(line);
        self.push_line_from(start);
    }

    fn length(&self) -> usize {
        self.length
    }
}

impl FrameBuffer {
    fn push_line_from(&mut self, start: usize) {
        self.sources.push(FrameSource::Whole(start, self.text.len()));
        self.length += self.text.len() - start;
    }
}

/// The range of two parts of a line with only `gap` between them.
#[inline]
fn side_by_side(line: &[u8], first: &[u8], gap: &[u8], second: &[u8]) -> Option<(u32, u32)> {
    let offset_of = |text: &[u8]| text.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
    let (start, next) = (offset_of(first), offset_of(second));
    let end = start.wrapping_add(first.len());
    let is_one = end.wrapping_add(gap.len()) == next && line.get(end..next)? == gap;
    is_one.then(|| (start as u32, (next + second.len()) as u32))
}

/// A part of a line including the quotes around it, if there are any.
#[inline]
fn quoted(line: &[u8], start: u32, end: u32) -> Option<ByteSpan> {
    let start = start.checked_sub(1)?;
    let is_quoted = line.get(start as usize) == Some(&b'"') && line.get(end as usize) == Some(&b'"');
    is_quoted.then_some(ByteSpan { start, end: end + 1, in_buffer: false })
}

/// The field of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum ValueSlot {
    Client,
    Host,
    Time,
    Request,
    Status,
    Bytes,
    Referer,
    UserAgent,
    User,
    None,
}

const SLOTS: usize = ValueSlot::None as usize + 1;

/// Values by field; empty if missing.
#[derive(Debug)]
pub(super) struct FastValues<'a> {
    line: &'a [u8],
    /// The start in the lower half, the end in the upper half.
    spans: [u64; SLOTS],
}

impl<'a> FastValues<'a> {
    /// Creates an empty set. Only the first 4 GiB of a line are used.
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { line: line.get(..u32::MAX as usize).unwrap_or(line), spans: [0; SLOTS] }
    }

    /// Sets a value, which is a part of the line.
    #[inline]
    pub(super) fn set(&mut self, slot: ValueSlot, text: &'a [u8]) {
        // A text from elsewhere, such as an empty constant, is ignored.
        let start = text.as_ptr().addr().wrapping_sub(self.line.as_ptr().addr());
        let end = start.wrapping_add(text.len());
        self.spans[slot as usize] = if end <= self.line.len() && !text.is_empty() { (end as u64) << 32 | start as u64 } else { 0 };
    }

    /// The value of a field.
    #[inline]
    pub(super) fn get(&self, slot: ValueSlot) -> &'a [u8] {
        let span = self.spans[slot as usize];
        self.line.get((span & u64::from(u32::MAX)) as usize..(span >> 32) as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_value_is_returned() {
        let line = b"GET / 200 -";
        let mut values = FastValues::new(line);
        values.set(ValueSlot::Request, &line[..5]);
        values.set(ValueSlot::Status, &line[6..9]);
        values.set(ValueSlot::Bytes, &line[10..]);
        values.set(ValueSlot::Referer, b"");
        let found = [ValueSlot::Request, ValueSlot::Status, ValueSlot::Bytes].map(|slot| values.get(slot));
        assert_eq!(found, [&b"GET /"[..], b"200", b"-"]);
        assert_eq!([ValueSlot::Referer, ValueSlot::Host].map(|slot| values.get(slot)), [b""; 2]);
    }
}
