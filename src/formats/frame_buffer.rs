//! Where lines of any format are put as frames of the combined lines that say the same, without writing those lines: most
//! match nothing, and nobody ever reads them.
//!
//! What a line has as a combined line would have it stays where it is; the rest is written here. A line with a text that
//! would have to be escaped is written down rewritten_line. It is [`clf_writer`] that says what a line is to be.

use std::ops::Range;

use super::clf_writer::FieldSink;
use super::clf_writer::HEADER_QUOTES;
use super::reader::LineKind;
use super::{Fields, Frame, RequestField, TimeField, clf_writer};
use crate::time::CLF_TIME_LEN;

/// What some lines say that does not stand in them as it is to be read. Keeps its buffers.
#[derive(Debug, Default)]
pub struct FrameBuffer {
    text: Vec<u8>,
    /// Where the line that is being read lies in memory.
    line: Range<usize>,
    /// As what each line was read, and what it says.
    read: Vec<LineKind>,
    sources: Vec<FrameSource>,
    /// The length of all lines that were put here, had they been written down.
    length: usize,
}

/// What a line says.
#[derive(Debug, Clone, Copy)]
enum FrameSource {
    Nothing,
    Parts(FrameParts),
    /// The line that was written down, between these places.
    Whole(usize, usize),
}

/// The parts of a frame.
#[derive(Debug, Clone, Copy)]
struct FrameParts {
    client: ByteSpan,
    host: Option<ByteSpan>,
    time: ByteSpan,
    request: ByteSpan,
    answer: ByteSpan,
    headers: ByteSpan,
}

/// Where a text begins and ends: in the line itself, or here.
#[derive(Debug, Clone, Copy)]
struct ByteSpan {
    start: u32,
    end: u32,
    in_buffer: bool,
}

impl ByteSpan {
    #[inline]
    fn of<'a>(&self, line: &'a [u8], buffer: &'a [u8]) -> &'a [u8] {
        let text = if self.in_buffer { buffer } else { line };
        text.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

impl FrameBuffer {
    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.text.clear();
        self.read.clear();
        self.sources.clear();
        self.length = 0;
    }

    /// Makes ready for a line.
    pub(super) fn begin(&mut self, line: &[u8]) {
        let start = line.as_ptr().addr();
        self.line = start..start + line.len();
    }

    /// Ends the line, of which nothing need have been put here.
    pub(super) fn end(&mut self, read: LineKind) {
        self.read.push(read);
        if self.sources.len() < self.read.len() {
            self.sources.push(FrameSource::Nothing);
        }
    }

    /// As what lines were read.
    #[must_use]
    pub fn read(&self) -> &[LineKind] {
        &self.read
    }

    /// The frame of a line by its number, where its parts were put here.
    #[must_use]
    #[expect(clippy::inline_always, reason = "in the line loop; so large an answer would go through memory")]
    #[inline(always)]
    pub fn frame<'a>(&'a self, number: usize, line: &'a [u8]) -> Option<Frame<'a>> {
        let FrameSource::Parts(FrameParts { client, host, time, request, answer, headers }) = self.sources.get(number)? else {
            return None;
        };
        let text = |piece: &ByteSpan| piece.of(line, &self.text);
        Some(Frame::of_parts(host.as_ref().map(text), [text(client), text(time), text(request), text(answer), text(headers)]))
    }

    /// The combined line that says what a line by its number does, where that was written down.
    #[must_use]
    pub fn rewritten_line(&self, number: usize) -> Option<&[u8]> {
        let FrameSource::Whole(start, end) = self.sources.get(number)? else { return None };
        self.text.get(*start..*end)
    }

    /// Puts fields here as parts of a frame; `None` where the line has to be written down.
    #[inline]
    fn parts(&mut self, fields: &Fields<'_>) -> Option<FrameParts> {
        // Places are told in 32 bits.
        u32::try_from(self.line.len()).ok()?;
        let host = clf_writer::host(fields.host).map(|host| self.piece(host));
        let client = clf_writer::is_plain_client(fields.client).then(|| self.piece(fields.client))?;
        let time = match fields.time {
            TimeField::Clf(text) if text.len() == CLF_TIME_LEN => self.piece(text),
            time => self.write(|text| clf_writer::write_time_field(time, text)),
        };
        let answer = self.write(|text| clf_writer::write_answer(fields, text));
        let mut ends_well = true;
        let mut write = |text: &[u8], to: &mut Vec<u8>| {
            ends_well &= !text.ends_with(b"\\");
            to.extend_from_slice(text);
        };
        let request = match fields.asked {
            RequestField::Line(text) => self.piece(text),
            parts @ RequestField::Parts { .. } => self.write(|text| clf_writer::write_request(parts, text, &mut write)),
        };
        let headers = self.write(|text| clf_writer::write_headers(fields, text, &mut write));
        if let RequestField::Line(text) = fields.asked {
            ends_well &= !text.ends_with(b"\\") && clf_writer::is_clean(text, 0, fields.escapes);
        }
        let is_clean =
            |piece: ByteSpan, quotes| !piece.in_buffer || clf_writer::is_clean(piece.of(b"", &self.text), quotes, fields.escapes);
        let is_clean = ends_well && is_clean(request, 0) && is_clean(headers, HEADER_QUOTES);
        is_clean.then_some(FrameParts { client, host, time, request, answer, headers })
    }

    /// Puts the fields of a line here whose texts can stand between quotes as they are.
    #[inline]
    pub(super) fn put_unescaped(&mut self, line: &[u8], fields: &Fields<'_>) {
        let Fields { time: TimeField::Clf(time), asked: RequestField::Line(request), status, bytes, referer, user_agent, .. } = *fields
        else {
            return self.put(fields);
        };
        if time.len() != CLF_TIME_LEN || u32::try_from(line.len()).is_err() || !clf_writer::is_plain_client(fields.client) {
            return self.put(fields);
        }
        let client = self.piece(fields.client);
        let host = clf_writer::host(fields.host).map(|host| self.piece(host));
        let (time, request) = (self.piece(time), self.piece(request));
        let answer = match side_by_side(line, status, clf_writer::IN_ANSWER, bytes) {
            Some((start, end)) if clf_writer::is_answer(status, bytes) => ByteSpan { start, end, in_buffer: false },
            _ => self.write(|text| clf_writer::write_answer(fields, text)),
        };
        let headers =
            side_by_side(line, referer, clf_writer::BETWEEN_HEADERS, user_agent).and_then(|(start, end)| quoted(line, start, end));
        let headers = headers
            .unwrap_or_else(|| self.write(|text| clf_writer::write_headers(fields, text, |header, text| text.extend_from_slice(header))));
        self.push_parts(FrameParts { client, host, time, request, answer, headers });
    }

    #[inline]
    fn push_parts(&mut self, parts: FrameParts) {
        let FrameParts { client, host, request, answer, headers, .. } = parts;
        let before = host.map_or(0, |host| host.len() + clf_writer::BEHIND_HOST.len());
        self.length += before + clf_writer::length(client.len(), request.len(), answer.len(), headers.len());
        self.sources.push(FrameSource::Parts(parts));
    }

    /// A text, which is copied where it does not stand in the line.
    #[inline]
    fn piece(&mut self, text: &[u8]) -> ByteSpan {
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
    fn put(&mut self, fields: &Fields<'_>) {
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

/// From where to where two parts of a line stand with nothing but `gap` between them.
#[inline]
fn side_by_side(line: &[u8], first: &[u8], gap: &[u8], second: &[u8]) -> Option<(u32, u32)> {
    let place = |text: &[u8]| text.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
    let (start, next) = (place(first), place(second));
    let end = start.wrapping_add(first.len());
    let is_one = end.wrapping_add(gap.len()) == next && line.get(end..next)? == gap;
    is_one.then(|| (start as u32, (next + second.len()) as u32))
}

/// A part of a line with the quotes around it, where there are any.
#[inline]
fn quoted(line: &[u8], start: u32, end: u32) -> Option<ByteSpan> {
    let start = start.checked_sub(1)?;
    let is_quoted = line.get(start as usize) == Some(&b'"') && line.get(end as usize) == Some(&b'"');
    is_quoted.then_some(ByteSpan { start, end: end + 1, in_buffer: false })
}
