//! Reads lines of any format as lines of the Common Log Format family, the only ones that the engine parses: into a
//! [`FrameBuffer`], or rewritten one by one.
//!
//! The result for a line depends only on the line, the known formats, and the W3C columns declared before it. So a log may be
//! split anywhere and read in parallel. A line in no known format is left unchanged. [`RewrittenLines`] keeps the original
//! offsets of lines, so that findings can be mapped back to the log.

use std::sync::Arc;

use memchr::memchr;

use super::builtin::{FormatId, FormatReader, Formats, JSON, W3C};
use super::bytes::{leading_nuls, nuls_within};
use super::clf_writer::FieldSink;
use super::client_position::{self, ClientPosition};
use super::line_prefix::{self, LinePrefix};
use super::{FieldBuffers, FieldKind, Fields, FormatLineParser, Frame, FrameBuffer, LogFormat, TimeField, W3cHeader};
use crate::client::{Client, ClientIpSource};
use crate::finding::Findings;
use crate::time::LogTime;

/// The context of lines.
#[derive(Debug, Clone)]
pub struct LineContext<'f> {
    /// The known formats.
    pub formats: &'f Formats,
    /// The formats that are tried first, in this order.
    pub preferred: &'f [FormatId],
    /// The W3C columns before the first line.
    pub header: W3cHeader,
    /// The client position in lines with two addresses before the time.
    pub clients: ClientPosition,
    /// The maximum line length in bytes; longer lines are not parsed.
    pub max_line: usize,
}

/// Reads lines. Keeps its buffers.
#[derive(Debug, Default)]
pub struct LogReader {
    buffers: FieldBuffers,
    strip_prefix: Vec<u8>,
    /// The writer of the prefix of the last line.
    prefix: Option<LinePrefix>,
    /// The columns of a header, and the same with the field of the client behind a proxy.
    columns: Option<(Arc<FormatLineParser>, FormatLineParser)>,
}

/// How a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Unchanged: the engine parses it, or its format is unknown.
    AsIs,
    /// Rewritten from this format.
    As(FormatId),
    /// Rewritten as a combined line without a client, because either of two addresses may be the client.
    WithoutClient,
    /// A directive line of the log, not a request.
    Directive,
}

/// Replaces a directive line.
const DIRECTIVE: &[u8] = b"#";

impl LineContext<'_> {
    /// Whether the engine may parse a line first: no other format is requested or declared.
    #[must_use]
    pub fn is_clf_first(&self) -> bool {
        self.preferred.is_empty() && !self.header.is_w3c() && self.formats.client_ip_source().is_none()
    }
}

impl LogReader {
    /// Rewrites lines into `out`. Returns `false` without writing if all lines stay unchanged. The last line may lack
    /// its newline.
    pub fn rewrite(&mut self, lines: &[u8], context: &LineContext<'_>, out: &mut RewrittenLines) -> bool {
        out.clear();
        if !self.needs_rewrite(lines, context) {
            return false;
        }
        let mut header = context.header.clone();
        for (start, line, is_ended) in each(lines) {
            let nuls = leading_nuls(line);
            out.text.extend_from_slice(&line[..nuls]);
            let at = out.text.len();
            let read = self.read(line, context, &mut header, &mut out.text);
            match read {
                LineKind::AsIs => {
                    out.text.truncate(at);
                    out.text.extend_from_slice(&line[nuls..]);
                }
                LineKind::Directive => out.text.extend_from_slice(DIRECTIVE),
                LineKind::As(_) | LineKind::WithoutClient => {}
            }
            out.end_line(at, start, line.split_at(nuls), read);
            if is_ended {
                out.text.push(b'\n');
            }
        }
        true
    }

    /// Rewrites a line and appends it to `out`, which is undefined if the line stays unchanged. Updates the columns
    /// from header lines.
    pub fn line(&mut self, line: &[u8], context: &mut LineContext<'_>, out: &mut Vec<u8>) -> LineKind {
        let mut header = std::mem::take(&mut context.header);
        let read = self.read(line, context, &mut header, out);
        context.header = header;
        read
    }

    /// Reads a line into a frame buffer. Updates the columns from header lines. `first_quote` returns the position of
    /// the first quote from an offset on.
    pub fn read_into(
        &mut self,
        line: &[u8],
        context: &LineContext<'_>,
        header: &mut W3cHeader,
        first_quote: impl Fn(usize) -> Option<usize>,
        buffer: &mut FrameBuffer,
    ) {
        buffer.begin(line);
        let read = self.read_fast_path(line, context, first_quote, buffer).unwrap_or_else(|| self.read(line, context, header, buffer));
        buffer.end(read);
    }

    /// Reads a line of the requested format, or JSON if none is requested, on the fast path.
    #[inline]
    fn read_fast_path(
        &mut self,
        line: &[u8],
        context: &LineContext<'_>,
        first_quote: impl Fn(usize) -> Option<usize>,
        buffer: &mut FrameBuffer,
    ) -> Option<LineKind> {
        let LineContext { formats, preferred: first, header, max_line, .. } = context;
        let id = match (first.first(), line.first()?) {
            (_, 0) => return None,
            (Some(first), _) => *first,
            (None, b'{') => JSON,
            (None, _) => return None,
        };
        if header.is_w3c() || formats.client_ip_source().is_some() || line.len() > *max_line {
            return None;
        }
        self.prefix = None;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = buffer.length();
        let is_fast = match &formats.format(id).reader {
            FormatReader::Json => {
                formats.json().read_fast(line, first_quote, &mut self.buffers, |fields| buffer.put_unescaped(line, fields))
            }
            FormatReader::Strings(parsers) => {
                parsers.first()?.read_fast(line, first_quote, &mut self.buffers, |fields| buffer.put_unescaped(line, fields))
            }
            FormatReader::Clf | FormatReader::W3c => false,
        };
        // A rewritten line over the limit cannot be a request.
        is_fast.then(|| if buffer.length() - start <= *max_line { LineKind::As(id) } else { LineKind::AsIs })
    }

    /// The writer of the prefix of the last line, if it has one.
    #[must_use]
    pub fn prefix(&self) -> Option<LinePrefix> {
        self.prefix
    }

    /// Whether any line is in a known format, or in `only` if that is given.
    pub fn reads_any(&mut self, lines: &[u8], context: &LineContext<'_>, only: Option<LogFormat>) -> bool {
        let (mut header, mut buffers) = (context.header.clone(), Vec::new());
        each(lines).any(|(_, line, _)| {
            let text = line.strip_suffix(b"\r").unwrap_or(line);
            let is_clf = Frame::locate(&text[leading_nuls(text)..], only).is_some();
            buffers.clear();
            is_clf
                || only.is_none()
                    && matches!(self.read(line, context, &mut header, &mut buffers), LineKind::As(_) | LineKind::WithoutClient)
        })
    }

    /// Whether any line must be rewritten.
    pub fn needs_rewrite(&mut self, lines: &[u8], context: &LineContext<'_>) -> bool {
        let (mut header, mut buffers) = (context.header.clone(), Vec::new());
        each(lines).any(|(_, line, _)| {
            buffers.clear();
            self.read(line, context, &mut header, &mut buffers) != LineKind::AsIs
        })
    }

    /// Reads a line without its newline; appends it to `out` if it is in another format.
    fn read(&mut self, line: &[u8], context: &LineContext<'_>, header: &mut W3cHeader, out: &mut impl FieldSink) -> LineKind {
        let text = &line[leading_nuls(line)..];
        if text.is_empty() || text.len() > context.max_line {
            return LineKind::AsIs;
        }
        if header.take(line) {
            return LineKind::Directive;
        }
        let start = out.length();
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match self.one(text, context, header, out) {
            // A rewritten line over the limit cannot be a request.
            Some(_) if out.length() - start > context.max_line => LineKind::AsIs,
            Some(_) if self.buffers.is_without_client => LineKind::WithoutClient,
            Some(id) => LineKind::As(id),
            None => LineKind::AsIs,
        }
    }

    /// Writes a line by the first format that matches; `None` if the engine parses it or no format matches.
    fn one(&mut self, text: &[u8], context: &LineContext<'_>, header: &W3cHeader, out: &mut impl FieldSink) -> Option<FormatId> {
        let origin = context.formats.client_ip_source();
        let Self { buffers, strip_prefix, prefix, columns } = self;
        *prefix = None;
        buffers.is_without_client = false;
        if let Some(named) = header.columns() {
            let parser = origin.map_or(&**named, |origin| with_forwarded_field(columns, named, origin));
            if write_fields(parser.read(text, buffers), origin, out) {
                return Some(W3C);
            }
        }
        if let Some(id) = read_directly(text, context, buffers, out) {
            return id;
        }
        if let Some((writer, inner)) = line_prefix::strip_prefix(text, strip_prefix) {
            match read_directly(inner, context, buffers, out).or_else(|| by_detection(inner, context, buffers, out).map(Some)) {
                Some(Some(id)) => {
                    *prefix = Some(writer);
                    return Some(id);
                }
                // A line must stay a single line.
                Some(None) if memchr(b'\n', inner).is_some() => return None,
                Some(None) => {
                    *prefix = Some(writer);
                    let format = Frame::locate(inner, None).map_or(LogFormat::Combined, |frame| frame.format());
                    out.put_line(inner);
                    return Some(FormatId(format as u8));
                }
                None => {}
            }
        }
        by_detection(text, context, buffers, out)
    }
}

/// Detects the requested formats, JSON, and what the engine parses, which is `Some(None)`.
#[expect(clippy::option_option, reason = "three answers: an unknown format, an engine format, another format")]
fn read_directly(text: &[u8], context: &LineContext<'_>, buffers: &mut FieldBuffers, out: &mut impl FieldSink) -> Option<Option<FormatId>> {
    if let Some(first) = context.preferred.iter().copied().find(|first| write_as(*first, text, context, buffers, out)) {
        return Some(Some(first));
    }
    match text.first()? {
        b'{' if write_as(JSON, text, context, buffers, out) => Some(Some(JSON)),
        _ if starts_like_clf(text) || Frame::locate(text, None).is_some() => {
            Some(context.formats.proxied().iter().copied().find(|id| write_as(*id, text, context, buffers, out)))
        }
        _ => with_unknown_client(text, context, buffers, out).map(Some),
    }
}

/// Writes a line with two addresses before the time as a combined line.
#[cold]
fn with_unknown_client(text: &[u8], context: &LineContext<'_>, buffers: &mut FieldBuffers, out: &mut impl FieldSink) -> Option<FormatId> {
    let mut line = std::mem::take(&mut buffers.line);
    line.clear();
    let place = client_position::rewrite(text, context.clients, &mut line);
    let format = place.and_then(|_| Frame::locate(&line, None)).map(|frame| FormatId(frame.format() as u8));
    if let Some(place) = place.filter(|_| format.is_some()) {
        out.put_line(&line);
        buffers.is_without_client = place == ClientPosition::Unknown;
    }
    buffers.line = line;
    format
}

fn by_detection(text: &[u8], context: &LineContext<'_>, buffers: &mut FieldBuffers, out: &mut impl FieldSink) -> Option<FormatId> {
    context.formats.detection_order().iter().copied().find(|id| match &context.formats.format(*id).reader {
        FormatReader::Strings(parsers) => parsers
            .iter()
            .any(|parser| write_fields(parser.read(text, buffers).filter(is_plausible), context.formats.client_ip_source(), out)),
        _ => false,
    })
}

/// Writes a line in this format, if it matches.
fn write_as(id: FormatId, text: &[u8], context: &LineContext<'_>, buffers: &mut FieldBuffers, out: &mut impl FieldSink) -> bool {
    let origin = context.formats.client_ip_source();
    match &context.formats.format(id).reader {
        FormatReader::Strings(parsers) => parsers.iter().any(|parser| write_fields(parser.read(text, buffers), origin, out)),
        FormatReader::Json => write_fields(context.formats.json().read(text, buffers), origin, out),
        FormatReader::Clf | FormatReader::W3c => false,
    }
}

/// Writes fields, if any, with the client from behind a proxy.
fn write_fields(fields: Option<Fields<'_>>, origin: Option<&ClientIpSource>, out: &mut impl FieldSink) -> bool {
    let Some(mut fields) = fields else { return false };
    if let Some(origin) = origin {
        fields.client = origin.resolve(fields.client, fields.forwarded);
    }
    out.put(&fields);
    true
}

/// Adds the field of the client behind a proxy to columns; cached per header.
fn with_forwarded_field<'c>(
    kept: &'c mut Option<(Arc<FormatLineParser>, FormatLineParser)>,
    named: &Arc<FormatLineParser>,
    origin: &ClientIpSource,
) -> &'c FormatLineParser {
    let known = kept.take().filter(|(parser, _)| Arc::ptr_eq(parser, named));
    let header = || FieldKind::Header(origin.field().to_owned());
    let (_, parser) = kept.insert(known.unwrap_or_else(|| (Arc::clone(named), FormatLineParser::clone(named).with_forwarded(&header()))));
    parser
}

/// Whether fields are plausible in a format that was not requested: there is a time, and the client is an address.
fn is_plausible(fields: &Fields<'_>) -> bool {
    let is_timed = match fields.time {
        TimeField::Clf(text) => LogTime::parse_clf(text).is_some(),
        TimeField::Parsed(time) => time.is_some(),
    };
    is_timed && (fields.client.is_empty() || Client::parse(fields.client).address().is_some())
}

/// Whether a line starts like most Common Log Format lines, `192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "`. Then it is in
/// no other format, whether or not the rest parses.
#[must_use]
pub(crate) fn starts_like_clf(line: &[u8]) -> bool {
    let start = &line[..line.len().min(40)];
    let Some(space) = memchr(b' ', start) else { return false };
    let after = &line[space..];
    space > 0 && after.starts_with(b" - - [") && after.get(32..35) == Some(b"] \"")
}

/// A quick check of the first and the last line: whether the engine can parse these lines.
#[must_use]
pub(crate) fn looks_like_clf(lines: &[u8]) -> bool {
    let end = lines.strip_suffix(b"\n").unwrap_or(lines);
    let first = &end[..memchr(b'\n', end).unwrap_or(end.len())];
    let last = &end[memchr::memrchr(b'\n', end).map_or(0, |at| at + 1)..];
    [first, last].into_iter().all(|line| starts_like_clf(line) || Frame::locate(line, None).is_some())
}

/// Each line without its newline, with its offset and whether it has a newline.
fn each(lines: &[u8]) -> impl Iterator<Item = (usize, &[u8], bool)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = lines.get(start..).filter(|rest| !rest.is_empty())?;
        let newline = memchr(b'\n', rest);
        let line = (start, &rest[..newline.unwrap_or(rest.len())], newline.is_some());
        start += newline.unwrap_or(rest.len()) + 1;
        Some(line)
    })
}

/// Rewritten lines and their original offsets.
#[derive(Debug, Default)]
pub struct RewrittenLines {
    /// The rewritten text.
    pub text: Vec<u8>,
    lines: Vec<RewrittenLine>,
}

/// The original position of a line, and how it was read.
#[derive(Debug, Clone, Copy)]
struct RewrittenLine {
    /// The offset in the original lines.
    start: u64,
    /// The number of NUL bytes before the line.
    nuls: u32,
    /// NUL bytes that the engine would count in the original line, less those in the rewritten line.
    hidden: isize,
    read: LineKind,
    /// The engine format of the rewritten line.
    written: LogFormat,
}

impl RewrittenLines {
    fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    /// Ends a line: `at` is its start in the text, `start` its original offset, followed by NUL bytes and the line.
    fn end_line(&mut self, at: usize, start: usize, (nuls, line): (&[u8], &[u8]), read: LineKind) {
        let text = &self.text[at..];
        let (written, hidden) = match read {
            LineKind::As(_) | LineKind::WithoutClient => {
                (written_as(text), nuls_within(line).cast_signed() - nuls_within(text).cast_signed())
            }
            LineKind::AsIs | LineKind::Directive => (LogFormat::Combined, 0),
        };
        self.lines.push(RewrittenLine { start: start as u64, nuls: nuls.len() as u32, hidden, read, written });
    }

    /// The number of lines.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The number of lines in which either of two addresses may be the client.
    #[must_use]
    pub fn without_client(&self) -> u64 {
        self.lines.iter().filter(|line| line.read == LineKind::WithoutClient).count() as u64
    }

    /// The original offset of a line, including NUL bytes before it; `end` after the last line.
    #[must_use]
    pub fn start_of(&self, line: usize, end: u64) -> u64 {
        self.lines.get(line).map_or(end, |line| line.start)
    }

    /// Maps findings in the lines from `first` on, which were scanned separately, back to original offsets, and
    /// counts their formats. Offsets are relative to the first of these lines. With `has_time_range`, lines without a
    /// time were counted.
    pub fn map_offsets(&self, first: usize, findings: &mut Findings, formats: &Formats, in_window: bool) {
        let scanned = usize::try_from(findings.lines.lines).unwrap_or(usize::MAX);
        let lines = self.lines.get(first..).unwrap_or_default();
        let lines = &lines[..scanned.min(lines.len())];
        let base = lines.first().map_or(0, |line| line.start);
        let place = |line: u32| lines.get(line as usize).map(|line| line.start - base + u64::from(line.nuls));
        for hit in &mut findings.hits {
            hit.offset = place(hit.line).unwrap_or(hit.offset);
        }
        for request in &mut findings.unlisted {
            request.offset = place(request.line).unwrap_or(request.offset);
        }
        let mut read = [0_u64; 256];
        let counts = &mut findings.lines;
        for line in lines {
            counts.nul_bytes = counts.nul_bytes.saturating_add_signed(line.hidden as i64);
            match line.read {
                LineKind::AsIs => {}
                LineKind::Directive => {
                    counts.unparsed = counts.unparsed.saturating_sub(1);
                    counts.skipped += 1;
                    findings.without_time = findings.without_time.saturating_sub(u64::from(in_window));
                }
                // Lines after a prefix are in engine formats and are counted as such.
                LineKind::WithoutClient => counts.without_client += 1,
                LineKind::As(id) if usize::from(id.0) < LogFormat::ALL.len() => {}
                LineKind::As(id) => {
                    let written = &mut counts.parsed[line.written as usize];
                    read[usize::from(id.0)] += u64::from(*written > 0);
                    *written = written.saturating_sub(1);
                }
            }
        }
        for (id, lines) in (0..=u8::MAX).zip(read).filter(|(_, lines)| *lines > 0) {
            counts.others.count(formats.name(FormatId(id)), lines);
        }
    }
}

/// The engine format of a rewritten line: two dashes follow the client, or the host and the client.
fn written_as(line: &[u8]) -> LogFormat {
    let after = memchr(b' ', line).map_or(&[][..], |space| &line[space + 1..]);
    if after.starts_with(b"- - [") { LogFormat::Combined } else { LogFormat::VhostCombined }
}

#[cfg(test)]
mod tests;
