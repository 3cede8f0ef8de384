//! Reads lines of any format as lines of the Common Log Format family, the only ones that the engine parses: into a
//! [`FrameBuffer`], or rewritten one by one.
//!
//! The result for a line depends only on the line, the known formats, and the W3C columns declared before it. So a log may be
//! split anywhere and read in parallel. A line in no known format is left unchanged. [`RewrittenLines`] keeps the original
//! offsets of lines, so that findings can be mapped back to the log.

use std::sync::Arc;

use memchr::memchr;

use super::builtin::{DISCOVERED, FormatId, FormatReader, Formats, JSON, W3C};
use super::bytes::{leading_nuls, nuls_within, without_colours};
use super::clf::{is_bare, starts_like_clf};
use super::clf_writer::FieldSink;
use super::client_position::{self, ClientPosition};
use super::detect::{is_binary, is_error_log};
use super::discover::{Layouts, SAMPLE, SHARE};
use super::line_prefix::LinePrefix;
use super::unwrap::{ReadInner, UnwrapBuffers, read_within};
use super::{FieldBuffers, FieldKind, Fields, FormatLineParser, Frame, FrameBuffer, LogFormat, TimeField, W3cHeader, loose_clf};
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
    /// The layouts that were discovered in the log.
    pub layouts: Option<Arc<Layouts>>,
    /// The client position in lines with two addresses before the time.
    pub clients: ClientPosition,
    /// The maximum line length in bytes; longer lines are not parsed.
    pub max_line: usize,
}

/// Reads lines. Keeps its buffers.
#[derive(Debug, Default)]
pub struct LogReader {
    buffers: FieldBuffers,
    unwrap: UnwrapBuffers,
    /// The writer of what is around the last line, and the line within.
    prefix: Option<LinePrefix>,
    inner: Vec<u8>,
    /// The columns of a header, and the same with the field of the forwarded client.
    columns: Option<(Arc<FormatLineParser>, FormatLineParser)>,
}

/// How a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Unchanged: the engine parses it, or its format is unknown.
    AsIs,
    /// Rewritten from this format.
    As(FormatId),
    /// The same without a client, because a client may have sent what stands in its place.
    AsDoubtful(FormatId),
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
        self.preferred.is_empty() && self.layouts.is_none() && !self.header.is_w3c() && self.formats.client_ip_source().is_none()
    }
}

impl LineContext<'_> {
    /// The name of a format in counts of lines: a discovered layout is named by its format string.
    pub(crate) fn name(&self, id: FormatId) -> &Arc<str> {
        match &self.layouts {
            Some(layouts) if id == DISCOVERED => layouts.name(),
            _ => self.formats.name(id),
        }
    }
}

impl LogReader {
    /// Discovers the layouts of a log in its first lines, if no known format explains them and none is requested.
    #[must_use]
    pub fn discover(&mut self, head: &[u8], context: &LineContext<'_>) -> Option<Arc<Layouts>> {
        if !context.preferred.is_empty() || context.header.is_w3c() || is_binary(head) {
            return None;
        }
        let (mut lines, mut others) = (Vec::new(), Vec::new());
        for (_, line, _) in each(head) {
            let line = &line[leading_nuls(line)..];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.trim_ascii().is_empty() || self.explains(line, context) {
                others.push(line);
            } else {
                lines.push(line);
            }
            if lines.len() == SAMPLE {
                break;
            }
        }
        if lines.len() * SHARE < lines.len() + others.len() {
            return None;
        }
        // Where the colours of a terminal are taken off, a line is read without them.
        let mut plain = vec![Vec::new(); lines.len()];
        let lines: Vec<&[u8]> = lines.iter().zip(&mut plain).map(|(line, plain)| without_colours(line, plain)).collect();
        let layouts = Layouts::discover(&lines, context.formats.client_ip_source())?;
        // Lines that a known format explains must stay lines of that format.
        let buffers = &mut self.buffers;
        let is_taken = others.iter().any(|line| layouts.all().iter().any(|layout| layout.read(line, buffers).is_some()));
        (!is_taken).then(|| Arc::new(layouts))
    }

    /// Whether a line is in a known format, and has a client in its place.
    fn explains(&mut self, line: &[u8], context: &LineContext<'_>) -> bool {
        if line.len() > context.max_line || line.starts_with(b"{") || line.starts_with(b"[{") || is_error_log(line) {
            return true;
        }
        let (mut header, mut written) = (W3cHeader::None, Vec::new());
        match self.read(line, &LineContext { layouts: None, ..context.clone() }, &mut header, &mut written) {
            LineKind::AsIs => Frame::locate(line, None).is_some_and(|frame| is_plausible_client(frame.client)),
            LineKind::WithoutClient => Client::parse_address(line.split(|byte| *byte == b' ').next().unwrap_or_default()).is_some(),
            LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::Directive => true,
        }
    }

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
                LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::WithoutClient => {}
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
        let LineContext { formats, preferred: first, header, layouts, max_line, .. } = context;
        let id = match (first.first(), line.first()?) {
            (_, 0) => return None,
            (Some(first), _) => *first,
            (None, _) if layouts.is_some() => DISCOVERED,
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
            FormatReader::Discovered => {
                let layout = layouts.as_ref()?.all().first()?;
                let mut is_plausible = false;
                let is_read = layout.parser().read_fast(line, first_quote, &mut self.buffers, |fields| {
                    is_plausible = layout.is_plausible(fields);
                    if is_plausible {
                        buffer.put_unescaped(line, fields);
                    }
                });
                is_read && is_plausible
            }
            FormatReader::Clf | FormatReader::W3c => false,
        };
        // A rewritten line over the limit cannot be a request.
        is_fast.then(|| if buffer.length() - start <= *max_line { LineKind::As(id) } else { LineKind::AsIs })
    }

    /// The writer of what is around the last line, and the line within, if it has any.
    #[must_use]
    pub fn unwrapped(&self) -> Option<(LinePrefix, &[u8])> {
        self.prefix.map(|prefix| (prefix, &self.inner[..]))
    }

    /// Whether any line is in a known format, or in `only` if that is given.
    pub fn reads_any(&mut self, lines: &[u8], context: &LineContext<'_>, only: Option<LogFormat>) -> bool {
        let (mut header, mut buffers) = (context.header.clone(), Vec::new());
        each(lines).any(|(_, line, _)| {
            let text = line.strip_suffix(b"\r").unwrap_or(line);
            let is_clf = Frame::locate(&text[leading_nuls(text)..], only).is_some();
            buffers.clear();
            is_clf || only.is_none() && !matches!(self.read(line, context, &mut header, &mut buffers), LineKind::AsIs | LineKind::Directive)
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
        match self.read_first_match(text, context, header, out) {
            // A rewritten line over the limit cannot be a request.
            Some(_) if out.length() - start > context.max_line => LineKind::AsIs,
            Some(kind) => kind,
            None => LineKind::AsIs,
        }
    }

    /// Writes a line by the first format that matches; `None` if the engine parses it or no format matches.
    fn read_first_match(
        &mut self,
        text: &[u8],
        context: &LineContext<'_>,
        header: &W3cHeader,
        out: &mut impl FieldSink,
    ) -> Option<LineKind> {
        let origin = context.formats.client_ip_source();
        let Self { buffers, unwrap, prefix, inner, columns } = self;
        *prefix = None;
        if let Some(named) = header.columns() {
            let parser = origin.map_or(&**named, |origin| with_forwarded_field(columns, named, origin));
            if let Some(kind) = write_fields(W3C, parser.read(text, buffers), None, origin, out) {
                return Some(kind);
            }
        }
        if let Some(kind) = read_directly(text, None, context, buffers, out) {
            return kind;
        }
        let mut reader = InnerReader { context, buffers, out, text: inner, kind: None };
        *prefix = read_within(text, context.formats.json(), unwrap, &mut reader);
        if let Some(kind) = reader.kind {
            return Some(kind);
        }
        read_alone(text, None, context, buffers, out).or_else(|| with_unknown_client(text, context, buffers, out))
    }
}

/// Reads lines that are within others.
struct InnerReader<'r, 'f, S> {
    context: &'r LineContext<'f>,
    buffers: &'r mut FieldBuffers,
    out: &'r mut S,
    /// The last line that was read.
    text: &'r mut Vec<u8>,
    /// How it was read.
    kind: Option<LineKind>,
}

impl<S: FieldSink> ReadInner for InnerReader<'_, '_, S> {
    fn read(&mut self, text: &[u8], time: Option<LogTime>) -> Option<()> {
        let Self { context, buffers, out, .. } = self;
        self.kind = read_inner(text, time, context, buffers, *out);
        self.text.clear();
        self.text.extend_from_slice(text);
        self.kind.map(|_| ())
    }

    fn is_line(&mut self, text: &[u8]) -> bool {
        self.text.clear();
        read_inner(text, None, self.context, self.buffers, self.text).is_some()
    }
}

/// Writes a line that is within another with this time.
fn read_inner(
    text: &[u8],
    time: Option<LogTime>,
    context: &LineContext<'_>,
    buffers: &mut FieldBuffers,
    out: &mut impl FieldSink,
) -> Option<LineKind> {
    match read_directly(text, time, context, buffers, out) {
        // A line must stay a single line.
        Some(None) if memchr(b'\n', text).is_some() => None,
        Some(None) => {
            let format = Frame::locate(text, None).map_or(LogFormat::Combined, |frame| frame.format());
            out.put_line(text);
            Some(LineKind::As(FormatId(format as u8)))
        }
        Some(Some(kind)) => Some(kind),
        None => read_alone(text, time, context, buffers, out),
    }
}

/// Writes a line by its own text, of a format that is detected or of the Common Log Format family.
fn read_alone(
    text: &[u8],
    time: Option<LogTime>,
    context: &LineContext<'_>,
    buffers: &mut FieldBuffers,
    out: &mut impl FieldSink,
) -> Option<LineKind> {
    by_detection(text, time, context, buffers, out).or_else(|| {
        let fields = loose_clf::read(text);
        write_fields(FormatId(LogFormat::Combined as u8), fields, time, context.formats.client_ip_source(), out)
    })
}

/// Detects the requested formats, JSON, and what the engine parses, which is `Some(None)`.
#[expect(clippy::option_option, reason = "three answers: an unknown format, an engine format, another format")]
fn read_directly(
    text: &[u8],
    time: Option<LogTime>,
    context: &LineContext<'_>,
    buffers: &mut FieldBuffers,
    out: &mut impl FieldSink,
) -> Option<Option<LineKind>> {
    if let Some(kind) = context.preferred.iter().find_map(|first| write_as(*first, text, time, context, buffers, out)) {
        return Some(Some(kind));
    }
    if let Some(layouts) = &context.layouts {
        let origin = context.formats.client_ip_source();
        let read = layouts.all().iter().find_map(|layout| write_fields(DISCOVERED, layout.read(text, buffers), time, origin, out));
        if read.is_some() {
            return Some(read);
        }
    }
    let json = if text.first()? == &b'{' { write_as(JSON, text, time, context, buffers, out) } else { None };
    match json {
        Some(kind) => Some(Some(kind)),
        None if starts_like_clf(text) || Frame::locate(text, None).is_some() => {
            Some(context.formats.proxied().iter().find_map(|id| write_as(*id, text, time, context, buffers, out)))
        }
        None => None,
    }
}

/// Writes a line with two addresses before the time as a combined line.
#[cold]
fn with_unknown_client(text: &[u8], context: &LineContext<'_>, buffers: &mut FieldBuffers, out: &mut impl FieldSink) -> Option<LineKind> {
    let mut line = std::mem::take(&mut buffers.line);
    line.clear();
    let position = client_position::rewrite(text, context.clients, &mut line);
    let kind = position.and_then(|position| match position {
        ClientPosition::Unknown => Frame::locate_written(&line).map(|_| LineKind::WithoutClient),
        _ => Frame::locate_written(&line).map(|frame| LineKind::As(FormatId(frame.format() as u8))),
    });
    if kind.is_some() {
        out.put_line(&line);
    }
    buffers.line = line;
    kind
}

fn by_detection(
    text: &[u8],
    time: Option<LogTime>,
    context: &LineContext<'_>,
    buffers: &mut FieldBuffers,
    out: &mut impl FieldSink,
) -> Option<LineKind> {
    context.formats.detection_order().iter().find_map(|id| match &context.formats.format(*id).reader {
        FormatReader::Strings(parsers) => parsers.iter().find_map(|parser| {
            let fields = parser.read(text, buffers).filter(is_plausible);
            write_fields(*id, fields, time, context.formats.client_ip_source(), out)
        }),
        _ => None,
    })
}

/// Writes a line in this format, if it matches; without a time of its own, it has this `time`.
fn write_as(
    id: FormatId,
    text: &[u8],
    time: Option<LogTime>,
    context: &LineContext<'_>,
    buffers: &mut FieldBuffers,
    out: &mut impl FieldSink,
) -> Option<LineKind> {
    let origin = context.formats.client_ip_source();
    match &context.formats.format(id).reader {
        FormatReader::Strings(parsers) => parsers.iter().find_map(|parser| write_fields(id, parser.read(text, buffers), time, origin, out)),
        FormatReader::Json => write_fields(id, context.formats.json().read(text, buffers), time, origin, out),
        FormatReader::Clf | FormatReader::W3c | FormatReader::Discovered => None,
    }
}

/// Writes fields in this format, if any, with the forwarded client, and with this `time` if they have none.
fn write_fields(
    id: FormatId,
    fields: Option<Fields<'_>>,
    time: Option<LogTime>,
    origin: Option<&ClientIpSource>,
    out: &mut impl FieldSink,
) -> Option<LineKind> {
    let mut fields = fields?;
    if fields.time == TimeField::Parsed(None) {
        fields.time = TimeField::Parsed(time);
    }
    if let Some(origin) = origin {
        fields.client = if fields.is_without_peer {
            origin.resolve_without_peer(fields.forwarded)
        } else {
            origin.resolve(fields.client, fields.forwarded)
        };
    }
    if !fields.client.is_empty() && !is_bare(fields.client) {
        let client = Client::without_marks(fields.client);
        fields.client = if is_bare(client) { client } else { b"" };
    }
    out.push(&fields);
    Some(if fields.is_client_doubtful && fields.client.is_empty() { LineKind::AsDoubtful(id) } else { LineKind::As(id) })
}

/// Adds the field of the forwarded client to columns; cached per header.
fn with_forwarded_field<'c>(
    cache: &'c mut Option<(Arc<FormatLineParser>, FormatLineParser)>,
    named: &Arc<FormatLineParser>,
    origin: &ClientIpSource,
) -> &'c FormatLineParser {
    let reused = cache.take().filter(|(parser, _)| Arc::ptr_eq(parser, named));
    let header = || FieldKind::Header(origin.field().to_owned());
    let (_, parser) = cache.insert(reused.unwrap_or_else(|| (Arc::clone(named), FormatLineParser::clone(named).with_forwarded(&header()))));
    parser
}

/// Whether fields are plausible in a format that was not requested: there is a time, and the client is an address.
fn is_plausible(fields: &Fields<'_>) -> bool {
    fields.time.parse().is_some() && (fields.client.is_empty() || Client::parse(fields.client).address().is_some())
}

/// Whether a text in the place of the client is an address or a name.
fn is_plausible_client(text: &[u8]) -> bool {
    let is_name = || text.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':'));
    Client::parse_address(text).is_some() || is_name() && !text.iter().all(u8::is_ascii_digit)
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
            LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::WithoutClient => {
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
    pub fn map_offsets(&self, first: usize, findings: &mut Findings, context: &LineContext<'_>, in_window: bool) {
        let scanned = usize::try_from(findings.lines.lines).unwrap_or(usize::MAX);
        let lines = self.lines.get(first..).unwrap_or_default();
        let lines = &lines[..scanned.min(lines.len())];
        let base = lines.first().map_or(0, |line| line.start);
        let offset_of = |line: u32| lines.get(line as usize).map(|line| line.start - base + u64::from(line.nuls));
        for hit in &mut findings.hits {
            hit.offset = offset_of(hit.line).unwrap_or(hit.offset);
        }
        for request in &mut findings.unmatched {
            request.offset = offset_of(request.line).unwrap_or(request.offset);
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
                LineKind::WithoutClient => counts.without_client += 1,
                LineKind::As(id) | LineKind::AsDoubtful(id) => {
                    counts.doubtful_clients += u64::from(matches!(line.read, LineKind::AsDoubtful(_)));
                    // Lines after a prefix are in engine formats and are counted as such.
                    if usize::from(id.0) < LogFormat::ALL.len() {
                        continue;
                    }
                    let written = &mut counts.parsed[line.written as usize];
                    read[usize::from(id.0)] += u64::from(*written > 0);
                    *written = written.saturating_sub(1);
                }
            }
        }
        for (id, lines) in (0..=u8::MAX).zip(read).filter(|(_, lines)| *lines > 0) {
            counts.others.count(context.name(FormatId(id)), lines);
        }
    }
}

/// The engine format of a rewritten line: two dashes follow the client, or the host and the client.
fn written_as(line: &[u8]) -> LogFormat {
    let after = memchr(b' ', line).map_or(&[][..], |space| &line[space + 1..]);
    if after.starts_with(b"- - [") { LogFormat::Combined } else { LogFormat::VhostCombined }
}

#[cfg(test)]
mod tests {
    //! Every built-in format parses its example, and lines of all formats may be split anywhere.

    use std::sync::LazyLock;

    use proptest::prelude::*;

    use crate::formats::clf_writer;
    use crate::formats::reader::*;

    static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().unwrap());

    const W3C_LOG: &str = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n\
        2026-11-02 08:01:00 192.0.2.7 GET /.env - 404\n\
        #Fields: date time cs-method cs-uri-stem c-ip sc-status\n\
        2026-11-02 08:01:01 GET /.git/config 192.0.2.8 200\n";

    fn context(header: W3cHeader) -> LineContext<'static> {
        LineContext { formats: &FORMATS, preferred: &[], header, layouts: None, clients: ClientPosition::Unknown, max_line: 1000 }
    }

    fn from_log_start(lines: &[u8]) -> LineContext<'static> {
        context(W3cHeader::from_log_start(lines, 1000))
    }

    /// Lines as the engine gets them, and how each was read.
    fn rewrite(lines: &[u8], context: &LineContext<'_>) -> (Vec<u8>, Vec<LineKind>) {
        let mut out = RewrittenLines::default();
        if LogReader::default().rewrite(lines, context, &mut out) {
            let read = out.lines.iter().map(|line| line.read).collect();
            return (out.text, read);
        }
        (lines.to_vec(), each(lines).map(|_| LineKind::AsIs).collect())
    }

    /// The same lines, read one by one.
    fn read_one_by_one(lines: &[u8], context: &LineContext<'_>) -> (Vec<u8>, Vec<LineKind>) {
        let (mut log_reader, mut buffer, mut header) = (LogReader::default(), FrameBuffer::default(), context.header.clone());
        let first_quote = |line: &'_ [u8], from| Some(from + memchr(b'"', line.get(from..)?)?);
        each(lines).for_each(|(_, line, _)| log_reader.read_into(line, context, &mut header, |from| first_quote(line, from), &mut buffer));
        let mut text = Vec::new();
        for (number, ((_, line, is_ended), read)) in each(lines).zip(buffer.read()).enumerate() {
            let nuls = leading_nuls(line);
            match read {
                LineKind::AsIs => text.extend(line),
                LineKind::Directive => text.extend([&line[..nuls], DIRECTIVE].concat()),
                LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::WithoutClient => {
                    text.extend(&line[..nuls]);
                    match buffer.frame(number, line) {
                        Some(frame) => clf_writer::write_frame(&frame, &mut text),
                        None => text.extend(buffer.rewritten_line(number).unwrap()),
                    }
                }
            }
            text.extend(is_ended.then_some(b'\n'));
        }
        (text, buffer.read().to_vec())
    }

    /// Lines of one format that differ in a few bytes, and the format if it is to be requested.
    fn similar_lines() -> impl Strategy<Value = (Option<FormatId>, Vec<Vec<u8>>)> {
        let ids: Vec<FormatId> = FORMATS.ids().filter(|id| FORMATS.format(*id).example.is_some()).collect();
        let piece = prop::sample::select(vec![
            "\"", "\\", "\\x22", "-", " ", "", "\0", "\u{e9}", "[", "}", ",", ":", "9", "\r", "/.env", ".0", "_",
        ]);
        let edits = prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, piece), 0..3);
        (prop::sample::select(ids), prop::collection::vec(edits, 1..8)).prop_map(|(id, lines)| {
            let format = FORMATS.format(id);
            let example = format.example.as_deref().and_then(|example| example.lines().last()).unwrap_or_default();
            let edited = lines.into_iter().map(|edits| {
                let mut line = example.as_bytes().to_vec();
                for (at, length, piece) in edits {
                    let at = at.index(line.len() + 1);
                    line.splice(at..line.len().min(at + length), piece.bytes());
                }
                line
            });
            (matches!(format.reader, FormatReader::Strings(_) | FormatReader::Json).then_some(id), edited.collect())
        })
    }

    #[test]
    fn every_example_is_read_as_its_format() {
        for id in FORMATS.ids() {
            let format = FORMATS.format(id);
            let Some(example) = &format.example else { continue };
            let (text, read) = rewrite(example.as_bytes(), &from_log_start(example.as_bytes()));
            let text = text.rsplit(|&b| b == b'\n').next().unwrap().to_vec();
            let shown = String::from_utf8_lossy(&text);
            let frame = Frame::locate_written(&text).unwrap_or_else(|| panic!("{}: {shown}", format.name));
            let expected = match &format.reader {
                _ if format.is_clf => LineKind::AsIs,
                FormatReader::Json => LineKind::As(JSON),
                FormatReader::W3c => LineKind::As(W3C),
                _ => LineKind::As(id),
            };
            assert_eq!(read.last(), Some(&expected), "{}: {shown}", format.name);
            assert_eq!(Client::parse(frame.client), Client::parse(b"192.0.2.7"), "{}: {shown}", format.name);
            assert!(LogTime::parse_clf(frame.time).is_some_and(|time| time.rfc3339().starts_with("2026-11-02T08:01:00")), "{shown}");
            assert!(frame.status().is_some() && frame.bytes().is_some(), "{shown}");
        }
    }

    #[test]
    fn every_format_string_parses_its_example_when_requested() {
        for id in FORMATS.ids() {
            let format = FORMATS.format(id);
            let (FormatReader::Strings(_), Some(example)) = (&format.reader, &format.example) else { continue };
            let (text, read) = rewrite(example.as_bytes(), &LineContext { preferred: &[id], ..from_log_start(b"") });
            assert_eq!(read, [LineKind::As(id)], "{}: {}", format.name, String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn columns_apply_from_where_they_are_declared() {
        let (text, read) = rewrite(W3C_LOG.as_bytes(), &from_log_start(W3C_LOG.as_bytes()));
        assert_eq!(read, [LineKind::Directive, LineKind::Directive, LineKind::As(W3C), LineKind::Directive, LineKind::As(W3C)]);
        let clients: Vec<_> = text.split(|&b| b == b'\n').filter_map(|line| Some(Frame::locate_written(line)?.client)).collect();
        assert_eq!(clients, [b"192.0.2.7", b"192.0.2.8"]);
        let plain = "192.0.2.7 and no log\n".to_owned() + W3C_LOG;
        let (_, read) = rewrite(plain.as_bytes(), &from_log_start(plain.as_bytes()));
        assert!(read.iter().all(|read| *read == LineKind::AsIs), "without a header at the start there are no directives: {read:?}");
    }

    #[test]
    fn other_lines_are_unchanged() {
        for line in [
            "",
            "hello",
            "2026/11/02 08:01:00 [error] 12#12: *1 open() \"/srv/x\" failed (2: No such file), client: 192.0.2.7, request: \"GET /x HTTP/1.1\", host: \"h\"",
            "[Mon Nov 02 08:01:00.1 2026] [core:error] [pid 1] [client 192.0.2.7:1] AH00126: Invalid URI in request GET /../ HTTP/1.1",
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTT"#,
            "Nov  2 08:01:00 web sshd[12]: Failed password for root from 192.0.2.7 port 22 ssh2",
            "# a heading",
            "#Fields: date time",
        ] {
            assert_eq!(rewrite(line.as_bytes(), &from_log_start(b"x")).0, line.as_bytes());
        }
    }

    #[test]
    fn lines_after_a_prefix_are_read() {
        let clf = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#;
        let haproxy = FORMATS.format(FORMATS.get("haproxy_http").unwrap()).example.clone().unwrap();
        for (line, name) in [
            (format!("<190>Nov  2 08:01:00 web nginx: {clf}"), "combined"),
            (format!("access.log:{clf}"), "combined"),
            (format!("2026-11-02T08:01:00.6Z stdout F {clf}"), "combined"),
            (format!("Nov  2 08:01:00 lb haproxy[14389]: {haproxy}"), "haproxy_http"),
        ] {
            let (text, read) = rewrite(line.as_bytes(), &from_log_start(b""));
            assert_eq!(read, [LineKind::As(FORMATS.get(name).unwrap())], "{line}");
            assert_eq!(Frame::locate_written(&text).unwrap().client, b"192.0.2.7");
        }
    }

    /// What a line is read as: client, host, user, time, status and size, and the request without its query.
    fn facts(line: &str) -> Option<[String; 7]> {
        let (text, read) = rewrite(line.as_bytes(), &from_log_start(b""));
        let is_clf = read == [LineKind::AsIs];
        let frame = if is_clf { Frame::locate(&text, None) } else { Frame::locate_written(&text) }?;
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let time = LogTime::parse_any_format(frame.time).map_or_else(String::new, LogTime::rfc3339);
        let path = frame.request.split(|b| *b == b'?').next().unwrap_or_default();
        let (status, bytes) = (format!("{:?}", frame.status()), format!("{:?}", frame.bytes()));
        Some([shown(frame.client), shown(frame.host.unwrap_or_default()), shown(frame.user), time, status, bytes, shown(path)])
    }

    const CLF: &str = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /.env HTTP/1.1" 404 162 "-" "x""#;

    #[test]
    fn lines_within_others_are_read() {
        let json = |line: &str| serde_json::to_string(line).unwrap();
        for line in [
            format!("  {CLF}"),
            format!("access.log.1:{CLF}"),
            format!("a.log:12:{CLF}"),
            format!("12:{CLF}"),
            format!("     7\t{CLF}"),
            format!("\"{CLF}\""),
            format!("2026-11-02T08:01:00.5Z web-1  | {CLF}"),
            format!("\x1b[0;33;1mnginx.1     | \x1b[0m{CLF}"),
            format!("[pod/web-1/nginx] {CLF}"),
            format!("Nov  2 08:01:00 web docker[1]: web-1  | {CLF}"),
            format!(r#"{{"log":{},"stream":"stdout","time":"2026-11-02T08:01:00.5Z"}}"#, json(&format!("{CLF}\n"))),
            format!(r#"{{"result":{{"_raw":{},"host":"web1"}}}}"#, json(CLF)),
            format!(r#"2026-11-02T08:01:00Z stdout F {{"any":{}}}"#, json(&format!("<190>Nov  2 08:01:00 web nginx: {CLF}"))),
            format!(r#"{{"message":{},"agent":{{"type":"filebeat"}},"log":{{"file":{{"path":"/var/log/nginx/access.log"}}}}}}"#, json(CLF)),
        ] {
            assert_eq!(facts(&line), facts(CLF), "{line}");
        }
        // Two lines in one object: a client may have written one of them.
        assert_eq!(facts(&format!(r#"{{"log":{},"note":{}}}"#, json(CLF), json(CLF))), None);
    }

    #[test]
    fn the_time_of_a_prefix_is_that_of_a_line_without_one() {
        let time = |line: &str| facts(line).unwrap()[3].clone();
        let uvicorn = r#"INFO:     192.0.2.7:4711 - "GET / HTTP/1.1" 200 OK"#;
        assert_eq!(time(uvicorn), "");
        assert_eq!(time(&format!("2026-11-02T08:01:00Z {uvicorn}")), "2026-11-02T08:01:00+00:00");
        assert_eq!(
            time(&format!(r#"{{"log":{},"time":"2026-11-02T08:01:00Z"}}"#, serde_json::to_string(uvicorn).unwrap())),
            "2026-11-02T08:01:00+00:00"
        );
        let object = r#"{"request":{"remote_ip":"192.0.2.7","method":"GET","uri":"/"},"status":200}"#;
        assert_eq!(time(&format!("2026/11/02 08:01:00.123\tINFO\taccess\thandled request\t{object}")), "2026-11-02T08:01:00+00:00");
        assert_eq!(time(&format!("2020-01-01T00:00:00Z {CLF}")), "2026-11-02T08:01:00+00:00");
    }

    /// Lines of several shapes, with `AGENT`, `REFERER` and `QUERY` in the places of texts that a client chooses; those that are
    /// objects escape texts as JSON.
    const SHAPES: [&str; 22] = [
        r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"192.0.2.7 - jo [2026-11-02T08:01:00Z] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"www.example.org:80 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"["www.example.org"] 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"192.0.2.7 - - 02/Nov/2026:08:01:00 +0000 "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] [0.001] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"[02/Nov/2026:08:01:00 +0000] 192.0.2.7 "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"[02/Nov/2026 08:01:00] "GET /a?QUERY HTTP/1.1" 404 162"#,
        r#""192.0.2.7, 10.0.0.1" - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"2026-11-02T08:01:00.5Z 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"web-1  | 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"access.log:192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"<190>Nov  2 08:01:00 web nginx: 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?QUERY HTTP/1.1" 404 162 "REFERER" "AGENT""#,
        r#"INFO:     192.0.2.7:4711 - "GET /a?QUERY HTTP/1.1" 404 Not Found"#,
        r#"{"time":"2026-11-02T08:01:00Z","remote_addr":"192.0.2.7","request":"GET /a?QUERY HTTP/1.1","status":404,"bytes":162,"http_referer":"REFERER","http_user_agent":"AGENT"}"#,
        r#"{"remote_addr":"192.0.2.7","uri":"/a?QUERY","status":404,"other":"REFERER","msg":"AGENT"}"#,
        r#"{"msg":"AGENT","log":"REFERER","ts":1793606460,"request":{"client_ip":"192.0.2.7","method":"GET","uri":"/a?QUERY","headers":{"User-Agent":["AGENT"]}},"status":404}"#,
        r#"2026-11-02T08:01:00Z	nginx.access	{"remote":"192.0.2.7","method":"GET","path":"/a?QUERY","code":"404","referer":"REFERER","agent":"AGENT"}"#,
        r#"[{"remote_addr":"192.0.2.7","uri":"/a?QUERY","status":404,"msg":"AGENT"},"#,
        r#"{"adresse":"192.0.2.7","anfrage":"GET /a?QUERY HTTP/1.1","antwort":404,"programm":"AGENT","von":"REFERER"}"#,
        r#"{"log":"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] \"GET /a?QUERY HTTP/1.1\" 404 162 \"REFERER\" \"AGENT\"\n","stream":"stdout"}"#,
        r#"{"user_agent":"AGENT","referer":"REFERER","url":"/a?QUERY","level":"info"}"#,
    ];

    /// A log line that a client sends as a text, as the writer of this shape escapes it.
    fn sent(shape: &str, text: &str, is_hex: bool) -> String {
        let json = |text: &str| {
            let quoted = serde_json::to_string(text).unwrap();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let clf = |text: &str| {
            let escaped = text.replace('\\', r"\\");
            if is_hex {
                text.replace('\\', r"\x5C").replace('"', r"\x22").replace('\t', r"\x09")
            } else {
                escaped.replace('"', r#"\""#).replace('\t', r"\t")
            }
        };
        match shape {
            _ if shape.contains(r#""log":"192."#) => json(&clf(text)),
            _ if shape.contains('{') => json(text),
            _ => clf(text),
        }
    }

    #[test]
    fn a_line_that_a_client_sends_forges_nothing() {
        let forged = r#"203.0.113.66 - - [01/Jan/2020:00:00:00 +0000] "GET /.git/config HTTP/1.1" 200 9 "-" "x""#;
        let object = r#"{"remote_addr":"203.0.113.66","time":"2020-01-01T00:00:00Z","request":"GET /.git/config HTTP/1.1","status":200}"#;
        let lines = [
            forged.to_owned(),
            object.to_owned(),
            format!("\"{forged}"),
            format!("x\" 200 5 \"-\" \"-\" {forged}"),
            format!("2020-01-01T00:00:00Z stdout F {forged}"),
            format!("<190>Jan  1 00:00:00 web nginx: {forged}"),
            format!(r#"{{"log":{},"stream":"stdout","time":"2020-01-01T00:00:00Z"}}"#, serde_json::to_string(forged).unwrap()),
            format!("a\t{object}"),
            format!("- {forged}"),
        ];
        for shape in SHAPES {
            let with = |text: &str| ["AGENT", "REFERER", "QUERY"].iter().fold(shape.to_owned(), |line, place| line.replace(place, text));
            let clean = facts(&with("x"));
            let is_read = !shape.contains("anfrage") && !shape.contains("level");
            assert_eq!(clean.is_some(), is_read, "{shape}");
            for (line, is_hex) in lines.iter().flat_map(|line| [(line, true), (line, false)]) {
                for place in ["AGENT", "REFERER", "QUERY"].into_iter().filter(|place| shape.contains(place)) {
                    let text = sent(shape, line, is_hex);
                    let others = ["AGENT", "REFERER", "QUERY"].into_iter().filter(|other| *other != place);
                    let line = others.fold(shape.replace(place, &text), |line, other| line.replace(other, "x"));
                    assert_eq!(facts(&line), clean, "{place} in {line}");
                }
            }
        }
    }

    /// A line of any format, of none, or malformed.
    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        let examples: Vec<String> =
            FORMATS.all().filter_map(|format| format.example.as_deref()).chain([W3C_LOG]).flat_map(str::lines).map(str::to_owned).collect();
        let whole = prop::sample::select(examples).prop_map(String::into_bytes);
        let cut = (whole.clone(), 0_usize..200).prop_map(|(mut line, length)| {
            line.truncate(length);
            line
        });
        let writers = [
            "<190>Nov  2 08:01:00 web nginx: ",
            "web-1  | ",
            "2026-11-02T08:01:00Z ",
            "a.log:",
            "  ",
            "\x1b[0m",
            "{\"log\":\"",
            "\"",
            "[",
            "- ",
        ];
        let writer = prop::sample::select(writers.to_vec());
        let prefixed = (writer, whole.clone()).prop_map(|(writer, line)| [writer.as_bytes(), &line[..]].concat());
        let nuls = whole.clone().prop_map(|line| [&[0; 3], &line[..]].concat());
        let other = prop::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 0..80);
        let long = Just([&b"#Fields: date time c-ip cs-uri-stem "[..], &[b'x'; 2000]].concat());
        let ended = whole.clone().prop_map(|line| [&line[..], b"\r"].concat());
        prop_oneof![6 => whole, 1 => cut, 1 => prefixed, 1 => nuls, 1 => other, 1 => long, 1 => ended]
    }

    proptest! {
        #[test]
        fn split_positions_do_not_matter(lines in prop::collection::vec(any_line(), 0..12), is_w3c: bool, cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
            let start: &[u8] = if is_w3c { b"#Version: 1.0\n" } else { b"" };
            let lines: Vec<Vec<u8>> = [start.to_vec()].into_iter().filter(|s| !s.is_empty()).chain(lines.into_iter().map(|mut line| { line.push(b'\n'); line })).collect();
            let whole = lines.concat();
            let expected = rewrite(&whole, &from_log_start(&whole));
            prop_assert_eq!(memchr::memchr_iter(b'\n', &expected.0).count(), lines.len());
            let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).collect();
            bounds.extend([0, lines.len()]);
            bounds.sort_unstable();
            let (mut text, mut read, mut header) = (Vec::new(), Vec::new(), W3cHeader::from_log_start(&whole, 1000));
            for part in bounds.windows(2) {
                let part = lines[part[0]..part[1]].concat();
                let done = rewrite(&part, &context(header.clone()));
                header = header.after(&part, 1000);
                text.extend(done.0);
                read.extend(done.1);
            }
            prop_assert_eq!((text, read), expected);
        }

        #[test]
        fn frames_equal_rewritten_lines(lines in prop::collection::vec(any_line(), 0..12), is_w3c: bool) {
            let start: &[u8] = if is_w3c { b"#Version: 1.0\n" } else { b"" };
            let whole = [start, &lines.join(&b'\n')].concat();
            prop_assert_eq!(read_one_by_one(&whole, &from_log_start(&whole)), rewrite(&whole, &from_log_start(&whole)));
        }

        #[test]
        fn similar_lines_do_not_affect_each_other((id, lines) in similar_lines(), is_requested: bool) {
            let whole = lines.join(&b'\n');
            let context = LineContext { preferred: if is_requested { id.as_slice() } else { &[] }, ..from_log_start(&whole) };
            let shown = |(text, read): (Vec<u8>, Vec<LineKind>)| (String::from_utf8_lossy(&text).into_owned(), read);
            prop_assert_eq!(shown(read_one_by_one(&whole, &context)), shown(rewrite(&whole, &context)));
        }

        #[test]
        fn engine_formats_are_unchanged(lines in prop::collection::vec(any_line(), 1..6)) {
            let whole = lines.join(&b'\n');
            let mut findings = (0, 0);
            for (_, line, _) in each(&whole) {
                let text = line.strip_suffix(b"\r").unwrap_or(line);
                if text.len() <= 1000 && text.first().is_some_and(|b| *b != 0) && Frame::locate(text, None).is_some() {
                    findings.0 += 1;
                    findings.1 += usize::from(rewrite(line, &from_log_start(b"")).0 == line);
                }
            }
            prop_assert_eq!(findings.0, findings.1);
        }
    }
}
