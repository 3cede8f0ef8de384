//! Reads lines of any format into an [`EntryBuffer`]. Lines of the Common Log Format family stay as
//! they are: the line loop parses them.
//!
//! The result for a line depends only on the line, the known formats, and the W3C columns declared
//! before it. So a log may be split anywhere and read in parallel.

use std::sync::Arc;

use memchr::memchr;

use super::builtin::{DISCOVERED, FormatId, FormatReader, Formats, JSON, W3C};
use super::bytes::{end_of, leading_nuls};
use super::clf::{is_bare, starts_like_clf};
use super::client_position::{self, ClientPosition};
use super::detect::{is_binary, is_error_log, is_report};
use super::discover::{
    Layouts, SAMPLE, SHARE, has_target, is_missing, is_request, is_status, is_status_code,
};
use super::line_prefix::{LinePrefix, UsualPrefix, without_colors};
use super::unwrap::{UnwrapBuffers, read_within};
use super::{
    EntryBuffer, FieldBuffers, FieldKind, Fields, FormatLineParser, Frame, LogFormat, RequestField,
    TimeField, W3cHeader, loose_clf,
};
use crate::log::client::{Client, ClientIpSource};
use crate::log::log_entry::{LogEntry, RequestLine};
use crate::log::time::LogTime;

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
    /// The start of the last line that had one.
    usual_prefix: UsualPrefix,
    /// The columns of a header, and the same with the field of the forwarded client.
    columns: Option<(Arc<FormatLineParser>, FormatLineParser)>,
    /// The fields of a line that is read alone.
    entry: EntryBuffer,
    /// The fields of a text that may be a line.
    inner_entry: EntryBuffer,
}

/// How a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// In the Common Log Format family, or in no known format.
    AsIs,
    /// In this format.
    As(FormatId),
    /// In this format without a client, because a client may have sent what stands in its place.
    AsDoubtful(FormatId),
    /// In this format without a client, because either of two addresses may be the client.
    WithoutClient(FormatId),
    /// A directive line of the log, not a request.
    Directive,
}

/// The fewest lines that show that a log has absolute targets.
const MIN_ABSOLUTE: usize = 10;

/// The fewest lines with something else in the place of the request or the status that show another
/// layout: one or two may be torn, or of a client that sends no request.
const MIN_MISPLACED: usize = 3;

/// Whether a known format explains a line.
enum Explanation {
    None,
    /// One does, but something else is in the place of the request or of the status.
    Misplaced,
    Known {
        /// Its target has a scheme and a host.
        is_absolute: bool,
    },
}

impl LineContext<'_> {
    /// Whether the engine may parse a line first: no other format is requested or declared.
    #[must_use]
    pub fn is_clf_first(&self) -> bool {
        self.preferred.is_empty()
            && self.layouts.is_none()
            && !self.header.is_w3c()
            && !self.clients.is_not_first()
            && self.formats.client_ip_source().is_none()
    }

    /// Whether the log writer adds scheme and host to each target.
    fn has_absolute_targets(&self) -> bool {
        let layouts = self.layouts.as_ref();
        layouts.is_some_and(|layouts| layouts.has_absolute_targets())
    }

    /// The name of a format in counts of lines: a discovered layout is named by its format string.
    pub(crate) fn name(&self, id: FormatId) -> &Arc<str> {
        match &self.layouts {
            Some(layouts) if id == DISCOVERED => layouts.name(),
            _ => self.formats.name(id),
        }
    }
}

impl LogReader {
    /// Discovers the layouts of a log in its first lines, if no known format explains them and none
    /// is requested.
    #[must_use]
    pub fn discover(&mut self, head: &[u8], context: &LineContext<'_>) -> Option<Arc<Layouts>> {
        if !context.preferred.is_empty()
            || context.header.columns().is_some()
            || is_binary(head)
            || is_report(head)
        {
            return None;
        }
        let (mut lines, mut others, mut absolute) = (Vec::new(), Vec::new(), 0);
        let mut misplaced = Vec::new();
        for line in each(head) {
            let line = content(line);
            match self.explanation(line, context) {
                _ if line.trim_ascii().is_empty() => others.push(line),
                Explanation::None => lines.push(line),
                Explanation::Misplaced => misplaced.push(line),
                Explanation::Known { is_absolute } => {
                    absolute += usize::from(is_absolute);
                    others.push(line);
                }
            }
            if lines.len() + misplaced.len() == SAMPLE {
                break;
            }
        }
        if misplaced.len() < MIN_MISPLACED {
            others.append(&mut misplaced);
        } else {
            lines.append(&mut misplaced);
        }
        // Any client can send such a target to a server, not all of them do.
        if absolute >= MIN_ABSOLUTE
            && absolute * SHARE >= (lines.len() + others.len()) * (SHARE - 1)
        {
            return Some(Arc::new(Layouts::with_absolute_targets()));
        }
        if lines.len() * SHARE < lines.len() + others.len() {
            return None;
        }
        // Where the colours of a terminal are taken off, a line is read without them.
        let mut plain = vec![Vec::new(); lines.len()];
        let lines: Vec<&[u8]> = lines
            .iter()
            .zip(&mut plain)
            .map(|(line, plain)| without_colors(line, plain).unwrap_or(line))
            .collect();
        let layouts = Layouts::discover(&lines, context.formats.client_ip_source())?;
        // Lines that a known format explains must stay lines of that format. A client can make its
        // own lines look like those of another.
        let buffers = &mut self.buffers;
        let is_read = |line: &&&[u8]| {
            let mut layouts = layouts.all().iter();
            layouts.any(|layout| layout.read(line, buffers).is_some())
        };
        let taken = others.iter().filter(is_read).count();
        (taken * SHARE <= lines.len()).then(|| Arc::new(layouts))
    }

    /// Whether a known format explains a line.
    fn explanation(&mut self, line: &[u8], context: &LineContext<'_>) -> Explanation {
        if line.len() > context.max_line || is_error_log(line) {
            return Explanation::Known { is_absolute: false };
        }
        let (kind, entry) = self.line(
            line,
            &mut LineContext {
                layouts: None,
                header: W3cHeader::None,
                ..context.clone()
            },
        );
        let is_known = match kind {
            LineKind::AsIs => entry.is_some_and(|entry| is_plausible_client(entry.client)),
            // Those of a layout with two addresses are similar; a client, a dash and a user with an
            // address in it are not.
            LineKind::WithoutClient(_) => {
                let mut words = line.split(|byte| *byte == b' ');
                let client = words.next().unwrap_or_default();
                Client::parse_address(client).is_some() || words.take(2).any(|word| word == b"-")
            }
            LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::Directive => true,
        };
        let is_misplaced = |entry: LogEntry<'_>| match kind {
            LineKind::AsIs => {
                !is_request_in_place(line, &entry) || has_size_for_status(line, entry.request)
            }
            LineKind::As(id) if id == FormatId(LogFormat::Combined as u8) => {
                !is_request_in_place(line, &entry)
            }
            _ => false,
        };
        let is_absolute = entry.is_some_and(|entry| relative(entry.request).is_some());
        match is_known {
            true if entry.is_some_and(is_misplaced) => Explanation::Misplaced,
            true => Explanation::Known { is_absolute },
            false if is_json(line) => Explanation::Known { is_absolute },
            false => Explanation::None,
        }
    }

    /// Reads a single line of any format, without its newline. Updates the columns from header
    /// lines.
    pub fn line<'l>(
        &'l mut self,
        line: &'l [u8],
        context: &mut LineContext<'_>,
    ) -> (LineKind, Option<LogEntry<'l>>) {
        let (mut header, mut entry) = (
            std::mem::take(&mut context.header),
            std::mem::take(&mut self.entry),
        );
        entry.clear();
        entry.begin(line);
        let kind = self.read(line, context, &mut header, &mut entry);
        entry.end(kind);
        (context.header, self.entry) = (header, entry);
        let entry = match kind {
            LineKind::Directive => None,
            LineKind::AsIs => {
                let frame = Frame::locate(content(line), None)
                    .filter(|_| line[leading_nuls(line)..].len() <= context.max_line);
                frame.map(|frame| frame.record(LogTime::parse_any_format(frame.time)))
            }
            LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::WithoutClient(_) => {
                Some(self.entry.entry(0, line))
            }
        };
        (kind, entry)
    }

    /// Reads a line into a buffer. Updates the columns from header lines. `first_quote` returns the
    /// position of the first quote from an offset on.
    pub fn read_into(
        &mut self,
        line: &[u8],
        context: &LineContext<'_>,
        header: &mut W3cHeader,
        first_quote: impl Fn(usize) -> Option<usize>,
        buffer: &mut EntryBuffer,
    ) {
        buffer.begin(line);
        let read = self
            .read_fast_path(line, context, &first_quote, buffer)
            .unwrap_or_else(|| {
                let read = self.read(line, context, header, buffer);
                if self.prefix.is_some() {
                    self.usual_prefix
                        .learn(content(line), &self.inner, context.formats);
                }
                read
            });
        buffer.end(read);
    }

    /// Reads a line on the fast path of the requested format, of the layout of the log, of JSON, or
    /// of the known format that may be that of the line; or after the start that the last such line
    /// had.
    #[inline]
    fn read_fast_path(
        &mut self,
        line: &[u8],
        context: &LineContext<'_>,
        first_quote: impl Fn(usize) -> Option<usize>,
        buffer: &mut EntryBuffer,
    ) -> Option<LineKind> {
        let LineContext {
            formats,
            preferred,
            header,
            layouts,
            clients,
            max_line,
            ..
        } = context;
        if header.is_w3c()
            || formats.client_ip_source().is_some()
            || clients.is_not_first()
            || line.len() > *max_line
            || *line.first()? == 0
        {
            return None;
        }
        self.prefix = None;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Self {
            buffers,
            usual_prefix,
            ..
        } = self;
        let id = match (preferred.first(), line.first()?) {
            (Some(first), _) => *first,
            (None, _) if layouts.is_some() => DISCOVERED,
            (None, b'{') => JSON,
            (None, _) => {
                let after_prefix = usual_prefix.read(line, &first_quote);
                return match after_prefix {
                    Some(frame) => Some(push_frame(&frame, buffer)),
                    None => detect_fast(line, formats, first_quote, buffers, buffer),
                };
            }
        };
        let is_fast = match &formats.format(id).reader {
            FormatReader::Json => formats
                .json()
                .read_fast(line, first_quote, buffers, |fields| {
                    buffer.push_unescaped(fields);
                }),
            FormatReader::Strings(parsers) => {
                let parser = parsers.first()?;
                read_if(parser, line, first_quote, buffers, buffer, |_| true)
            }
            FormatReader::Discovered => {
                let layout = layouts.as_ref()?.all().first()?;
                read_if(
                    layout.parser(),
                    line,
                    first_quote,
                    buffers,
                    buffer,
                    |fields| layout.is_plausible(fields) && !layout.has_moved_status(line),
                )
            }
            FormatReader::Clf | FormatReader::W3c => false,
        };
        is_fast.then_some(LineKind::As(id))
    }

    /// The writer of what is around the last line, and the line within, if it has any.
    #[must_use]
    pub fn unwrapped(&self) -> Option<(LinePrefix, &[u8])> {
        self.prefix.map(|prefix| (prefix, &self.inner[..]))
    }

    /// Whether any line is in a known format, or in `only` if that is given.
    pub fn reads_any(
        &mut self,
        lines: &[u8],
        context: &LineContext<'_>,
        only: Option<LogFormat>,
    ) -> bool {
        let mut context = context.clone();
        each(lines).any(|line| match only {
            Some(_) => Frame::locate(content(line), only).is_some(),
            None => self.line(line, &mut context).1.is_some(),
        })
    }

    /// Whether the line loop cannot parse all lines alone.
    pub fn is_needed(&mut self, lines: &[u8], context: &LineContext<'_>) -> bool {
        let mut context = context.clone();
        each(lines).any(|line| self.line(line, &mut context).0 != LineKind::AsIs)
    }

    /// Reads a line without its newline; adds its fields to `out` if it is in another format.
    fn read(
        &mut self,
        line: &[u8],
        context: &LineContext<'_>,
        header: &mut W3cHeader,
        out: &mut EntryBuffer,
    ) -> LineKind {
        let text = &line[leading_nuls(line)..];
        if text.is_empty() || text.len() > context.max_line {
            return LineKind::AsIs;
        }
        if header.take(line) {
            return LineKind::Directive;
        }
        self.read_first_match(content(line), context, header, out)
            .unwrap_or(LineKind::AsIs)
    }

    /// Reads a line by the first format that matches; `None` if the line loop parses it or no
    /// format matches.
    fn read_first_match(
        &mut self,
        text: &[u8],
        context: &LineContext<'_>,
        header: &W3cHeader,
        out: &mut EntryBuffer,
    ) -> Option<LineKind> {
        let origin = context.formats.client_ip_source();
        let Self {
            buffers,
            unwrap,
            prefix,
            inner,
            columns,
            inner_entry,
            ..
        } = self;
        *prefix = None;
        let row_parser = header.columns().map(|named| {
            origin.map_or(&**named, |origin| {
                with_forwarded_field(columns, named, origin)
            })
        });
        if let Some(parser) = row_parser {
            let row = parser.read(text, buffers);
            let row = row.filter(|row| parser.has_kinds(row));
            if let Some(kind) = push_fields(W3C, row, None, context, out) {
                return Some(kind);
            }
        }
        let mut reader = FieldReader {
            context,
            buffers,
            out,
            inner_entry,
            inner,
            inner_kind: None,
            reads_unknown_clients: false,
            has_unknown_client: false,
        };
        if let Some(kind) = reader.directly(text, None) {
            return kind;
        }
        // Before lines within it: a line that is a request by itself is not looked into.
        if let Some(kind) = reader.by_detection(text, None) {
            return Some(kind);
        }
        let json = context.formats.json();
        *prefix = read_within(text, json, unwrap, &mut reader);
        if reader.inner_kind.is_none() {
            reader.inner_kind = reader.loosely(text, None);
        }
        // A client may have chosen the text in the place of the user, with addresses in it.
        if reader.inner_kind.is_none() && reader.has_unknown_client {
            reader.reads_unknown_clients = true;
            *prefix = read_within(text, json, unwrap, &mut reader);
        }
        let FieldReader {
            buffers,
            out,
            inner_kind,
            ..
        } = reader;
        inner_kind
            .or_else(|| {
                let parser = row_parser.filter(|parser| parser.has_declared_columns(text))?;
                push_fields(W3C, parser.read(text, buffers), None, context, out)
            })
            .or_else(|| with_unknown_client(text, context, out))
    }
}

/// Tries formats. A line without a time of its own has the `time` of what is around it.
pub(super) struct FieldReader<'r, 'f> {
    context: &'r LineContext<'f>,
    buffers: &'r mut FieldBuffers,
    out: &'r mut EntryBuffer,
    /// The fields of a text that may be a line.
    inner_entry: &'r mut EntryBuffer,
    /// The last text that was read within the line, and how it was read.
    inner: &'r mut Vec<u8>,
    inner_kind: Option<LineKind>,
    /// Whether a line within another is read too if either of two addresses may be its client.
    reads_unknown_clients: bool,
    /// Such a line was not read.
    has_unknown_client: bool,
}

impl FieldReader<'_, '_> {
    /// Reads a text that may be a line within the line; `None` if it is none. Its time is that of
    /// what is around it.
    pub(super) fn read_inner(&mut self, text: &[u8], time: Option<LogTime>) -> Option<()> {
        self.inner_kind = self.inner(text, time);
        self.inner.clear();
        self.inner.extend_from_slice(text);
        self.inner_kind.map(|_| ())
    }

    /// Whether a text is a line, without reading it.
    pub(super) fn is_line(&mut self, text: &[u8]) -> bool {
        std::mem::swap(&mut self.out, &mut self.inner_entry);
        self.out.clear();
        self.out.begin(b"");
        let is_line = self.inner(text, None).is_some();
        std::mem::swap(&mut self.out, &mut self.inner_entry);
        is_line
    }

    /// Reads a line that is within another.
    fn inner(&mut self, text: &[u8], time: Option<LogTime>) -> Option<LineKind> {
        match self.directly(text, time) {
            // What follows a newline is another line.
            Some(None) if memchr(b'\n', text).is_some() => None,
            Some(None) => Some(push_frame(&Frame::locate(text, None)?, self.out)),
            Some(Some(kind)) => Some(kind),
            None => self
                .by_detection(text, time)
                .or_else(|| self.loosely(text, time))
                .or_else(|| self.with_unknown_client(text)),
        }
    }

    /// Reads a line within another whose client is unknown, or notes that it is one.
    fn with_unknown_client(&mut self, text: &[u8]) -> Option<LineKind> {
        // A prefix that is removed in part is no client.
        let client = text.split(|byte| *byte == b' ').next().unwrap_or_default();
        if !is_plausible_client(client) {
            return None;
        }
        if self.reads_unknown_clients {
            return with_unknown_client(text, self.context, self.out);
        }
        self.has_unknown_client |= client_position::locate(text, self.context.clients).is_some();
        None
    }

    /// Reads the requested formats, JSON, and what the line loop parses, which is `Some(None)`.
    #[expect(
        clippy::option_option,
        reason = "three answers: an unknown format, an engine format, another format"
    )]
    fn directly(&mut self, text: &[u8], time: Option<LogTime>) -> Option<Option<LineKind>> {
        let context = self.context;
        if let Some(kind) = context
            .preferred
            .iter()
            .find_map(|first| self.format(*first, text, time))
        {
            return Some(Some(kind));
        }
        if let Some(layouts) = &context.layouts {
            let read = layouts.all().iter().find_map(|layout| {
                push_fields(
                    DISCOVERED,
                    layout.read(text, self.buffers),
                    time,
                    context,
                    self.out,
                )
            });
            if read.is_some() {
                return Some(read);
            }
        }
        let json = if text.first()? == &b'{' {
            self.format(JSON, text, time)
        } else {
            None
        };
        match json {
            Some(kind) => Some(Some(kind)),
            None if context.has_absolute_targets()
                && let Some(frame) = Frame::locate(text, None)
                && let Some(request) = relative(frame.request) =>
            {
                self.out.push_relative(&frame, &request);
                Some(Some(LineKind::As(FormatId(frame.format() as u8))))
            }
            None if context.clients.is_not_first()
                && let Some(kind) = with_unknown_client(text, context, self.out) =>
            {
                Some(Some(kind))
            }
            None if starts_like_clf(text) || Frame::locate(text, None).is_some() => Some(
                context
                    .formats
                    .proxied()
                    .iter()
                    .find_map(|id| self.format(*id, text, time)),
            ),
            None => None,
        }
    }

    fn by_detection(&mut self, text: &[u8], time: Option<LogTime>) -> Option<LineKind> {
        let formats = self.context.formats;
        formats
            .tried()
            .filter(|(_, parser)| parser.may_read(text))
            .find_map(|(id, parser)| {
                let fields = parser.read(text, self.buffers).filter(is_plausible);
                push_fields(id, fields, time, self.context, self.out)
            })
    }

    /// Reads a line of the Common Log Format family that starts in another way.
    fn loosely(&mut self, text: &[u8], time: Option<LogTime>) -> Option<LineKind> {
        let combined = FormatId(LogFormat::Combined as u8);
        push_fields(
            combined,
            loose_clf::read(text),
            time,
            self.context,
            self.out,
        )
    }

    /// Reads a line in this format, if it matches.
    fn format(&mut self, id: FormatId, text: &[u8], time: Option<LogTime>) -> Option<LineKind> {
        let context = self.context;
        let formats = context.formats;
        match &formats.format(id).reader {
            FormatReader::Strings(parsers) => parsers.iter().find_map(|parser| {
                push_fields(id, parser.read(text, self.buffers), time, context, self.out)
            }),
            FormatReader::Json => push_fields(
                id,
                formats.json().read(text, self.buffers),
                time,
                context,
                self.out,
            ),
            FormatReader::Clf | FormatReader::W3c | FormatReader::Discovered => None,
        }
    }
}

/// Reads a line on the fast path of a format, if its fields are accepted.
#[expect(clippy::inline_always, reason = "in the line loop")]
#[inline(always)]
fn read_if(
    parser: &FormatLineParser,
    line: &[u8],
    first_quote: impl Fn(usize) -> Option<usize>,
    buffers: &mut FieldBuffers,
    out: &mut EntryBuffer,
    is_accepted: impl FnOnce(&Fields<'_>) -> bool,
) -> bool {
    let mut is_plausible = false;
    let is_read = parser.read_fast(line, first_quote, buffers, |fields| {
        is_plausible = is_accepted(fields);
        match is_plausible {
            true if parser.is_quoted() => out.push_unescaped(fields),
            true => out.push(fields),
            false => {}
        }
    });
    is_read && is_plausible
}

/// Reads a line on the fast path of the first known format that may be that of the line. A line
/// that the line loop parses stays as it is.
fn detect_fast(
    line: &[u8],
    formats: &Formats,
    first_quote: impl Fn(usize) -> Option<usize>,
    buffers: &mut FieldBuffers,
    out: &mut EntryBuffer,
) -> Option<LineKind> {
    if starts_like_clf(line) || Frame::locate_by(line, None, &first_quote).is_some() {
        return Some(LineKind::AsIs);
    }
    for (id, parser) in formats.tried().filter(|(_, parser)| parser.may_read(line)) {
        if read_if(
            parser,
            line,
            &first_quote,
            buffers,
            out,
            is_client_plausible,
        ) && out.has_time()
        {
            return Some(LineKind::As(id));
        }
        out.retract();
        if parser
            .read(line, buffers)
            .is_some_and(|fields| is_plausible(&fields))
        {
            return None;
        }
    }
    None
}

/// Adds the fields of a line in the Common Log Format family.
fn push_frame(frame: &Frame<'_>, out: &mut EntryBuffer) -> LineKind {
    out.push_frame(frame);
    LineKind::As(FormatId(frame.format() as u8))
}

/// A request with an absolute target, as the client sent it to the server.
pub(super) struct RelativeRequest<'a> {
    pub(super) host: &'a [u8],
    /// Method, path and query, and protocol.
    pub(super) parts: [&'a [u8]; 3],
}

/// Whether a line is JSON, or a part of JSON without a request.
fn is_json(line: &[u8]) -> bool {
    (line.starts_with(b"{") || line.starts_with(b"[{"))
        && (!has_target(line) || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok())
}

/// The request without the scheme and the host of its target; `None` if it has none.
fn relative(request: &[u8]) -> Option<RelativeRequest<'_>> {
    let RequestLine {
        method,
        target,
        protocol,
    } = RequestLine::parse(request);
    let rest = target
        .strip_prefix(b"http://")
        .or_else(|| target.strip_prefix(b"https://"))?;
    let (host, path) = rest.split_at(
        rest.iter()
            .position(|byte| matches!(byte, b'/' | b'?'))
            .unwrap_or(rest.len()),
    );
    let path = if path.is_empty() { b"/" } else { path };
    (!method.is_empty()).then_some(RelativeRequest {
        host,
        parts: [method, path, protocol],
    })
}

/// Reads a line with two addresses before the time.
#[cold]
fn with_unknown_client(
    text: &[u8],
    context: &LineContext<'_>,
    out: &mut EntryBuffer,
) -> Option<LineKind> {
    let (position, frame) = client_position::locate(text, context.clients)?;
    out.push_frame(&frame);
    let format = FormatId(frame.format() as u8);
    Some(if position == ClientPosition::Unknown {
        LineKind::WithoutClient(format)
    } else {
        LineKind::As(format)
    })
}

/// Adds fields in this format, if any, with the forwarded client, and with this `time` if they have
/// none.
fn push_fields(
    id: FormatId,
    fields: Option<Fields<'_>>,
    time: Option<LogTime>,
    context: &LineContext<'_>,
    out: &mut EntryBuffer,
) -> Option<LineKind> {
    let mut fields = fields?;
    if context.has_absolute_targets()
        && let RequestField::Line(line) = fields.request
        && let Some(RelativeRequest { host, parts }) = relative(line)
    {
        let [method, target, protocol] = parts;
        fields.host = host;
        fields.request = RequestField::Parts {
            method,
            target,
            query: b"",
            protocol,
        };
    }
    if fields.time == TimeField::Parsed(None) {
        fields.time = TimeField::Parsed(time);
    }
    if let Some(origin) = context.formats.client_ip_source() {
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
    Some(if fields.is_client_doubtful && fields.client.is_empty() {
        LineKind::AsDoubtful(id)
    } else {
        LineKind::As(id)
    })
}

/// Adds the field of the forwarded client to columns; cached per header.
fn with_forwarded_field<'c>(
    cache: &'c mut Option<(Arc<FormatLineParser>, FormatLineParser)>,
    named: &Arc<FormatLineParser>,
    origin: &ClientIpSource,
) -> &'c FormatLineParser {
    let reused = cache
        .take()
        .filter(|(parser, _)| Arc::ptr_eq(parser, named));
    let header = || FieldKind::Header(origin.field().to_owned());
    let (_, parser) = cache.insert(reused.unwrap_or_else(|| {
        (
            Arc::clone(named),
            FormatLineParser::clone(named).with_forwarded(&header()),
        )
    }));
    parser
}

/// Whether fields are plausible in a format that was not requested: there is a time, and the client
/// is an address.
fn is_plausible(fields: &Fields<'_>) -> bool {
    fields.time.parse().is_some() && is_client_plausible(fields)
}

/// Whether there is no client, or the client is an address.
fn is_client_plausible(fields: &Fields<'_>) -> bool {
    fields.client.is_empty() || Client::parse(fields.client).address().is_some()
}

/// Whether a text in the place of the client is an address or a name.
fn is_plausible_client(text: &[u8]) -> bool {
    let is_name = || {
        text.iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':'))
    };
    Client::parse_address(text).is_some() || is_name() && !text.iter().all(u8::is_ascii_digit)
}

/// Whether what stands in the places of the request and of the status may be these: a request, or
/// nothing while no other quoted text is one, and a status that servers send. Both
/// `"$host" "$request" 200` and `"$request" 443 200` have something else there.
fn is_request_in_place(line: &[u8], entry: &LogEntry<'_>) -> bool {
    let is_other = |start: usize| {
        let text = &line[start + 1..];
        is_request(&text[..memchr(b'"', text).unwrap_or(text.len())])
    };
    let has_request = is_request(entry.request)
        || is_missing(entry.request) && !memchr::memchr_iter(b'"', line).any(is_other);
    has_request && entry.status.is_none_or(is_status_code)
}

/// Whether a line in the Common Log Format has a number after its request that is no status:
/// `"$request" $body_bytes_sent $status`.
fn has_size_for_status(line: &[u8], request: &[u8]) -> bool {
    let word = line[end_of(line, request)..]
        .split(|byte| *byte == b' ')
        .nth(1)
        .unwrap_or_default();
    let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    is_number && !is_status(word)
}

/// A quick check of the first and the last line: whether the engine can parse these lines.
#[must_use]
pub(crate) fn looks_like_clf(lines: &[u8]) -> bool {
    let end = lines.strip_suffix(b"\n").unwrap_or(lines);
    let first = &end[..memchr(b'\n', end).unwrap_or(end.len())];
    let last = &end[memchr::memrchr(b'\n', end).map_or(0, |at| at + 1)..];
    [first, last]
        .into_iter()
        .all(|line| starts_like_clf(line) || Frame::locate(line, None).is_some())
}

/// A line without the NULs before it and the carriage return after it.
fn content(line: &[u8]) -> &[u8] {
    let text = &line[leading_nuls(line)..];
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// Each line without its newline.
pub(crate) fn each(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines
        .strip_suffix(b"\n")
        .unwrap_or(lines)
        .split(|&byte| byte == b'\n')
        .take(if lines.is_empty() { 0 } else { usize::MAX })
}

#[cfg(test)]
mod tests {
    //! Every built-in format parses its example, and lines of all formats may be split anywhere.

    use std::sync::LazyLock;

    use proptest::prelude::*;

    use crate::formats::reader::*;

    static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().unwrap());

    const W3C_LOG: &str = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n\
        2026-11-02 08:01:00 192.0.2.7 GET /.env - 404\n\
        #Fields: date time cs-method cs-uri-stem c-ip sc-status\n\
        2026-11-02 08:01:01 GET /.git/config 192.0.2.8 200\n";

    fn context(header: W3cHeader) -> LineContext<'static> {
        LineContext {
            formats: &FORMATS,
            preferred: &[],
            header,
            layouts: None,
            clients: ClientPosition::Unknown,
            max_line: 1000,
        }
    }

    fn from_log_start(lines: &[u8]) -> LineContext<'static> {
        context(W3cHeader::from_log_start(lines, 1000))
    }

    /// How each line is read, whatever was read before it, and its fields.
    fn read(lines: &[u8], context: &LineContext<'_>) -> Vec<(LineKind, String)> {
        let mut context = context.clone();
        let shown = |line| {
            let mut log_reader = LogReader::default();
            let (kind, entry) = log_reader.line(line, &mut context);
            (kind, shown(entry))
        };
        each(lines).map(shown).collect()
    }

    /// The kinds of lines that are read in a block.
    fn read_block(lines: &[u8], context: &LineContext<'_>) -> Vec<(LineKind, String)> {
        let (mut log_reader, mut buffer, mut header) = (
            LogReader::default(),
            EntryBuffer::default(),
            context.header.clone(),
        );
        let first_quote = |line: &'_ [u8], from| Some(from + memchr(b'"', line.get(from..)?)?);
        each(lines).for_each(|line| {
            log_reader.read_into(
                line,
                context,
                &mut header,
                |from| first_quote(line, from),
                &mut buffer,
            );
        });
        let entry = |(number, (line, kind)): (usize, (&[u8], &LineKind))| match kind {
            LineKind::Directive => (*kind, shown(None)),
            LineKind::AsIs => (
                *kind,
                shown(
                    LogReader::default()
                        .line(line, &mut self::context(W3cHeader::None))
                        .1,
                ),
            ),
            LineKind::As(_) | LineKind::AsDoubtful(_) | LineKind::WithoutClient(_) => {
                (*kind, shown(Some(buffer.entry(number, line))))
            }
        };
        each(lines)
            .zip(buffer.kinds())
            .enumerate()
            .map(entry)
            .collect()
    }

    fn shown(entry: Option<LogEntry<'_>>) -> String {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        entry.map_or("none".to_owned(), |entry| {
            let LogEntry {
                client,
                host,
                time,
                request,
                status,
                bytes,
                referer,
                user_agent,
                user,
            } = entry;
            let texts = [Some(client), host, Some(request), referer, user_agent, user]
                .map(|field| field.map(text));
            format!(
                "{texts:?} {:?} {status:?} {bytes:?}",
                time.map(LogTime::rfc3339)
            )
        })
    }

    fn kinds(read: &[(LineKind, String)]) -> Vec<LineKind> {
        read.iter().map(|(kind, _)| *kind).collect()
    }

    /// Lines of one format that differ in a few bytes, and the format if it is to be requested.
    fn similar_lines() -> impl Strategy<Value = (Option<FormatId>, Vec<Vec<u8>>)> {
        let ids: Vec<FormatId> = FORMATS
            .ids()
            .filter(|id| FORMATS.format(*id).example.is_some())
            .collect();
        let piece = prop::sample::select(vec![
            "\"", "\\", "\\x22", "-", " ", "", "\0", "\u{e9}", "[", "}", ",", ":", "9", "\r",
            "/.env", ".0", "_",
        ]);
        let edits = prop::collection::vec((any::<prop::sample::Index>(), 0_usize..4, piece), 0..3);
        (
            prop::sample::select(ids),
            prop::collection::vec(edits, 1..8),
        )
            .prop_map(|(id, lines)| {
                let format = FORMATS.format(id);
                let example = format
                    .example
                    .as_deref()
                    .and_then(|example| example.lines().last())
                    .unwrap_or_default();
                let edited = lines.into_iter().map(|edits| {
                    let mut line = example.as_bytes().to_vec();
                    for (at, length, piece) in edits {
                        let at = at.index(line.len() + 1);
                        line.splice(at..line.len().min(at + length), piece.bytes());
                    }
                    line
                });
                (
                    matches!(format.reader, FormatReader::Strings(_) | FormatReader::Json)
                        .then_some(id),
                    edited.collect(),
                )
            })
    }

    /// Lines after the starts of two writers that differ in a few bytes, in any order.
    fn lines_with_similar_starts() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let starts = [
            "2026-11-02T08:01:00.669Z stdout F ",
            "2026-11-02T08:01:00.669794202+01:00 stderr F ",
            "2026-11-02T08:01:00Z ",
            "2026-11-02T08:01:00+01:00 ",
            "2026-11-02 08:01:00,123 ",
            "Nov  2 08:01:00 web nginx: ",
            "<190>Nov 12 08:01:00 web nginx[12]: ",
            "08:01:00 web.1: ",
            "08:01:00 ",
            "web-1  | ",
            "[pod/web-1/nginx] ",
            "a.log:",
            "www:80 ",
            "x 2026-11-02T08:01:00Z ",
            "\x1b[0m",
            "\"",
        ];
        let ends = [
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /.env HTTP/1.1" 404 162 "-" "a b [c] d""#,
            r#"999.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 404 162 "-" "x""#,
            r#"192.0.2.7 - jo [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 404 162 "-" "x""#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" - -"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET \" 1 "-" "x""#,
            r#"2001:db8::7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 404 162 "-" "x""#,
            r#"{"remote_addr":"192.0.2.7","request":"GET / HTTP/1.1"}"#,
        ];
        let edits = prop::collection::vec(
            (
                0_usize..44,
                prop::sample::select(b"0123456789 :.-\"x".to_vec()),
            ),
            0..2,
        );
        let lines = prop::collection::vec(
            (any::<bool>(), prop::sample::select(ends.to_vec()), edits),
            2..12,
        );
        let start = || prop::sample::select(starts.to_vec());
        (start(), start(), lines).prop_map(|(usual, other, lines)| {
            let edited = lines.into_iter().map(|(is_usual, end, edits)| {
                let mut line = [if is_usual { usual } else { other }, end]
                    .concat()
                    .into_bytes();
                for (at, byte) in edits {
                    line[at] = byte;
                }
                line
            });
            edited.collect()
        })
    }

    #[test]
    fn every_example_is_read_as_its_format() {
        for id in FORMATS.ids() {
            let format = FORMATS.format(id);
            let Some(example) = &format.example else {
                continue;
            };
            let (mut log_reader, mut context) =
                (LogReader::default(), from_log_start(example.as_bytes()));
            let lines: Vec<&[u8]> = each(example.as_bytes()).collect();
            let (last, before) = lines.split_last().unwrap();
            for line in before {
                let _ = log_reader.line(line, &mut context);
            }
            let (kind, entry) = log_reader.line(last, &mut context);
            let shown = String::from_utf8_lossy(last);
            let entry = entry.unwrap_or_else(|| panic!("{}: {shown}", format.name));
            let expected = match &format.reader {
                _ if format.is_clf => LineKind::AsIs,
                FormatReader::Json => LineKind::As(JSON),
                FormatReader::W3c => LineKind::As(W3C),
                _ => LineKind::As(id),
            };
            assert_eq!(kind, expected, "{}: {shown}", format.name);
            assert_eq!(
                Client::parse(entry.client),
                Client::parse(b"192.0.2.7"),
                "{}: {shown}",
                format.name
            );
            assert!(
                entry
                    .time
                    .is_some_and(|time| time.rfc3339().starts_with("2026-11-02T08:01:00")),
                "{shown}"
            );
            let has_status = match &format.reader {
                FormatReader::Strings(parsers) => parsers[0].reads(&FieldKind::Status),
                _ => true,
            };
            assert_eq!(entry.status.is_some(), has_status, "{shown}");
            assert!(entry.bytes.is_some(), "{shown}");
        }
    }

    /// The client of the layout of these lines is in doubt. Found by a fuzz target.
    #[test]
    fn a_client_in_doubt_is_in_doubt_on_the_fast_path() {
        let lines = b"www.example.org\x01\0\0\0\0\0\0\0:80 192.0.2.7 - - [02/Nov/2026:08:01:00`k000\xd0\xa2\xdf\xd7\xd0ET \xd1\xdf\
            HTTP/1.1\" 2001:00 +0000] \".5.0:92.0.2.60 - - [05/Nov/\xef026:08:01:04 +0000] \"GET / HTTP/1.1\" 200 3042 \
            \"https://app.example.com/\" \"Mozilla/<.0 (iPhone; CPU iPho\x8ee OS 18192.0.\"2.7 -s\n192.0.2.7 - - [02/Nov\
            /2026:08:01:00 ";
        let context = from_log_start(lines);
        let layouts = LogReader::default().discover(lines, &context);
        assert!(layouts.is_some());
        let context = LineContext { layouts, ..context };
        assert_eq!(
            kinds(&read(lines, &context))[0],
            LineKind::AsDoubtful(DISCOVERED)
        );
        assert_eq!(
            kinds(&read_block(lines, &context)),
            kinds(&read(lines, &context))
        );
    }

    #[test]
    fn every_format_string_parses_its_example_when_requested() {
        for id in FORMATS.ids() {
            let format = FORMATS.format(id);
            let (FormatReader::Strings(_), Some(example)) = (&format.reader, &format.example)
            else {
                continue;
            };
            let read = read(
                example.as_bytes(),
                &LineContext {
                    preferred: &[id],
                    ..from_log_start(b"")
                },
            );
            assert_eq!(
                kinds(&read),
                [LineKind::As(id)],
                "{}: {read:?}",
                format.name
            );
        }
    }

    /// Speed only: without these paths, such a log takes several times as long.
    #[test]
    fn lines_of_known_formats_and_after_usual_starts_take_the_fast_path() {
        let npm = FORMATS
            .format(FORMATS.get("nginx_proxy_manager").unwrap())
            .example
            .clone()
            .unwrap();
        let cri = |second: u8| format!("2026-11-02T08:01:{second:02}.{second:09}Z stdout F {CLF}");
        let compose = format!("web-1  | {CLF}");
        let syslog = |second: u8| format!("Nov  2 08:01:{second:02} web nginx: {CLF}");
        for (lines, is_learned) in [
            ([npm.clone(), npm], false),
            ([cri(1), cri(59)], true),
            ([compose.clone(), compose], true),
            ([syslog(3), syslog(4)], true),
        ] {
            let context = from_log_start(b"");
            let (mut log_reader, mut buffer, mut header) = (
                LogReader::default(),
                EntryBuffer::default(),
                W3cHeader::None,
            );
            let first_quote = |line: &'_ [u8], from| Some(from + memchr(b'"', line.get(from..)?)?);
            let [first, second] = lines.each_ref().map(String::as_bytes);
            buffer.begin(first);
            let before = log_reader.read_fast_path(
                first,
                &context,
                |from| first_quote(first, from),
                &mut buffer,
            );
            assert_eq!(before.is_none(), is_learned, "{}", lines[0]);
            buffer.clear();
            log_reader.read_into(
                first,
                &context,
                &mut header,
                |from| first_quote(first, from),
                &mut buffer,
            );
            buffer.begin(second);
            let after = log_reader.read_fast_path(
                second,
                &context,
                |from| first_quote(second, from),
                &mut buffer,
            );
            assert_eq!(after, buffer.kinds().first().copied(), "{}", lines[1]);
        }
    }

    #[test]
    fn columns_apply_from_where_they_are_declared() {
        let lines = read(W3C_LOG.as_bytes(), &from_log_start(W3C_LOG.as_bytes()));
        assert_eq!(
            kinds(&lines),
            [
                LineKind::Directive,
                LineKind::Directive,
                LineKind::As(W3C),
                LineKind::Directive,
                LineKind::As(W3C)
            ]
        );
        for (line, client) in [(&lines[2], "192.0.2.7"), (&lines[4], "192.0.2.8")] {
            assert!(
                line.1.starts_with(&format!("[Some({client:?})")),
                "{line:?}"
            );
        }
        let plain = "192.0.2.7 and no log\n".to_owned() + W3C_LOG;
        let lines = kinds(&read(plain.as_bytes(), &from_log_start(plain.as_bytes())));
        assert!(
            lines.iter().all(|kind| *kind == LineKind::AsIs),
            "without a header at the start there are no directives: {lines:?}"
        );
    }

    #[test]
    fn other_lines_have_no_fields() {
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
            assert_eq!(
                LogReader::default().line(line.as_bytes(), &mut from_log_start(b"x")),
                (LineKind::AsIs, None),
                "{line}"
            );
        }
    }

    #[test]
    fn lines_after_a_prefix_are_read() {
        let clf = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#;
        let haproxy = FORMATS
            .format(FORMATS.get("haproxy_http").unwrap())
            .example
            .clone()
            .unwrap();
        for (line, name) in [
            (format!("<190>Nov  2 08:01:00 web nginx: {clf}"), "combined"),
            (format!("2026-11-02T08:01:00.6Z stdout F {clf}"), "combined"),
            (format!("access.log:{clf}"), "combined"),
            (
                format!("Nov  2 08:01:00 lb haproxy[14389]: {haproxy}"),
                "haproxy_http",
            ),
        ] {
            let (mut log_reader, mut context) = (LogReader::default(), from_log_start(b""));
            let (kind, entry) = log_reader.line(line.as_bytes(), &mut context);
            assert_eq!(
                (kind, entry.unwrap().client),
                (LineKind::As(FORMATS.get(name).unwrap()), &b"192.0.2.7"[..]),
                "{line}"
            );
        }
    }

    /// What a line is read as: client, host, user, time, status and size, and the request without
    /// its query.
    fn facts(line: &str) -> Option<[String; 7]> {
        let (mut log_reader, mut context) = (LogReader::default(), from_log_start(b""));
        let (_, entry) = log_reader.line(line.as_bytes(), &mut context);
        let LogEntry {
            client,
            host,
            user,
            time,
            request,
            status,
            bytes,
            ..
        } = entry?;
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let time = time.map_or_else(String::new, LogTime::rfc3339);
        let path = request.split(|b| *b == b'?').next().unwrap_or_default();
        let [host, user] = [host, user].map(|field| shown(field.unwrap_or_default()));
        Some([
            shown(client),
            host,
            user,
            time,
            format!("{status:?}"),
            format!("{bytes:?}"),
            shown(path),
        ])
    }

    const CLF: &str =
        r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /.env HTTP/1.1" 404 162 "-" "x""#;

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
            format!(
                r#"{{"log":{},"stream":"stdout","time":"2026-11-02T08:01:00.5Z"}}"#,
                json(&format!("{CLF}\n"))
            ),
            format!(r#"{{"result":{{"_raw":{},"host":"web1"}}}}"#, json(CLF)),
            format!(
                r#"2026-11-02T08:01:00Z stdout F {{"any":{}}}"#,
                json(&format!("<190>Nov  2 08:01:00 web nginx: {CLF}"))
            ),
            format!("2026-11-02T08:01:00Z,web1,\"{}\"", CLF.replace('"', "\"\"")),
            format!(
                "\"2026-11-02T08:01:00Z\",\"<190>Nov  2 08:01:00 web1 nginx: {}\",/var/log/a.log",
                CLF.replace('"', "\"\"")
            ),
            format!("  '{CLF}',"),
            format!(
                r#"{{"message":{},"agent":{{"type":"filebeat"}},"log":{{"file":{{"path":"/var/log/nginx/access.log"}}}}}}"#,
                json(CLF)
            ),
        ] {
            assert_eq!(facts(&line), facts(CLF), "{line}");
        }
        let column = CLF.replace('"', "\"\"");
        for line in [
            format!("\"{column}\",\"{column}\""),
            format!("192.0.2.9,GET,/,404,\"{column}\""),
            format!("192.0.2.9,/,404,\"{column}\""),
        ] {
            assert_eq!(facts(&line), None, "{line}");
        }
        // Two lines in one object: a client may have written one of them.
        assert_eq!(
            facts(&format!(r#"{{"log":{},"note":{}}}"#, json(CLF), json(CLF))),
            None
        );
    }

    #[test]
    fn the_time_of_a_prefix_is_that_of_a_line_without_one() {
        let time = |line: &str| facts(line).unwrap()[3].clone();
        let uvicorn = r#"INFO:     192.0.2.7:4711 - "GET / HTTP/1.1" 200 OK"#;
        assert_eq!(time(uvicorn), "");
        assert_eq!(
            time(&format!("2026-11-02T08:01:00Z {uvicorn}")),
            "2026-11-02T08:01:00+00:00"
        );
        assert_eq!(
            time(&format!(
                r#"{{"log":{},"time":"2026-11-02T08:01:00Z"}}"#,
                serde_json::to_string(uvicorn).unwrap()
            )),
            "2026-11-02T08:01:00+00:00"
        );
        let object =
            r#"{"request":{"remote_ip":"192.0.2.7","method":"GET","uri":"/"},"status":200}"#;
        assert_eq!(
            time(&format!(
                "2026/11/02 08:01:00.123\tINFO\taccess\thandled request\t{object}"
            )),
            "2026-11-02T08:01:00+00:00"
        );
        assert_eq!(
            time(&format!("2020-01-01T00:00:00Z {CLF}")),
            "2026-11-02T08:01:00+00:00"
        );
    }

    /// Lines of several shapes, with `AGENT`, `REFERER` and `QUERY` in the places of texts that a
    /// client chooses; those that are objects escape texts as JSON.
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
                text.replace('\\', r"\x5C")
                    .replace('"', r"\x22")
                    .replace('\t', r"\x09")
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
            format!(
                r#"{{"log":{},"stream":"stdout","time":"2020-01-01T00:00:00Z"}}"#,
                serde_json::to_string(forged).unwrap()
            ),
            format!("a\t{object}"),
            format!("- {forged}"),
        ];
        for shape in SHAPES {
            let with = |text: &str| {
                ["AGENT", "REFERER", "QUERY"]
                    .iter()
                    .fold(shape.to_owned(), |line, place| line.replace(place, text))
            };
            let clean = facts(&with("x"));
            let is_read = !shape.contains("anfrage") && !shape.contains("level");
            assert_eq!(clean.is_some(), is_read, "{shape}");
            for (line, is_hex) in lines.iter().flat_map(|line| [(line, true), (line, false)]) {
                for place in ["AGENT", "REFERER", "QUERY"]
                    .into_iter()
                    .filter(|place| shape.contains(place))
                {
                    let text = sent(shape, line, is_hex);
                    let others = ["AGENT", "REFERER", "QUERY"]
                        .into_iter()
                        .filter(|other| *other != place);
                    let line = others.fold(shape.replace(place, &text), |line, other| {
                        line.replace(other, "x")
                    });
                    assert_eq!(facts(&line), clean, "{place} in {line}");
                }
            }
        }
    }

    /// In JSON, in the log of a container and after a prefix too.
    #[test]
    fn absolute_targets_are_relative_within_other_lines() {
        let clf = |target: &str| {
            format!(
                r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET {target} HTTP/1.1" 404 162 "-" "x""#
            )
        };
        let escaped = |target: &str| clf(target).replace('"', "\\\"");
        let envelopes: [&dyn Fn(&str) -> String; 3] = [
            &|target| {
                format!(
                    r#"{{"time":"2026-11-02T08:01:00Z","client":"192.0.2.7","request":"GET {target} HTTP/1.1","status":404}}"#
                )
            },
            &|target| format!(r#"{{"log":"{}\n","stream":"stdout"}}"#, escaped(target)),
            &|target| format!("Nov  2 08:01:00 web varnishncsa: {}", clf(target)),
        ];
        for envelope in envelopes {
            let line = envelope("http://www.example.org/.env?a=1");
            let log = (line.clone() + "\n").repeat(MIN_ABSOLUTE);
            let mut log_reader = LogReader::default();
            let layouts = log_reader.discover(log.as_bytes(), &from_log_start(log.as_bytes()));
            let mut context = LineContext {
                layouts,
                ..from_log_start(log.as_bytes())
            };
            let (_, entry) = log_reader.line(line.as_bytes(), &mut context);
            let entry = entry.unwrap();
            assert_eq!(
                (entry.host, entry.request),
                (
                    Some(&b"www.example.org"[..]),
                    &b"GET /.env?a=1 HTTP/1.1"[..]
                ),
                "{line}"
            );
        }
    }

    /// A log with a header in front of its lines may go on in another format.
    #[test]
    fn lines_of_other_formats_after_a_header_are_read() {
        let header = b"#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
        let mut context = from_log_start(header);
        let mut log_reader = LogReader::default();
        let mut read = |line: &str| {
            let (kind, entry) = log_reader.line(line.as_bytes(), &mut context);
            let entry = entry.map(|entry| (entry.client.to_vec(), entry.status));
            (kind, entry.unwrap_or_default())
        };
        let header = std::str::from_utf8(header).unwrap().trim_end();
        assert_eq!(read(header).0, LineKind::Directive);
        for line in [
            "2026-11-02 08:01:00 192.0.2.7 GET /.env 404",
            r#"{"ts":"2026-11-02T08:01:00Z","client_ip":"192.0.2.7","method":"GET","uri":"/.env","status":404}"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /.env HTTP/1.1" 404 162 "-" "a b""#,
        ] {
            assert_eq!(read(line).1, (b"192.0.2.7".to_vec(), Some(404)), "{line}");
        }
        // Of a name, and without a value.
        for line in [
            "2026-11-02 08:01:00 crawl.example.net GET /.env 404",
            "2026-11-02 08:01:00 - GET /.env -",
        ] {
            assert_eq!(read(line).0, LineKind::As(W3C), "{line}");
        }
    }

    /// varnishncsa writes the `Host` header before each path.
    #[test]
    fn a_log_of_absolute_targets_has_relative_requests() {
        let line = |target: &str| {
            format!(
                "192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] \"GET {target} HTTP/1.1\" 404 162 \"-\" \"x\"\n"
            )
        };
        let absolute = line("http://www.example.org/.env?a=1").repeat(MIN_ABSOLUTE);
        let discover = |log: &str| {
            LogReader::default().discover(log.as_bytes(), &from_log_start(log.as_bytes()))
        };
        let layouts = discover(&absolute);
        let mut context = LineContext {
            layouts,
            ..from_log_start(absolute.as_bytes())
        };
        let mut log_reader = LogReader::default();
        for (target, host, request) in [
            (
                "http://www.example.org:8080/.env?a=1",
                Some("www.example.org"),
                "GET /.env?a=1 HTTP/1.1",
            ),
            (
                "https://www.example.org",
                Some("www.example.org"),
                "GET / HTTP/1.1",
            ),
            ("http://?x", None, "GET ?x HTTP/1.1"),
            ("/.env", None, "GET /.env HTTP/1.1"),
        ] {
            let line = line(target);
            let (_, entry) = log_reader.line(line.trim_end().as_bytes(), &mut context);
            let entry = entry.unwrap();
            assert_eq!(
                (entry.host, entry.request),
                (host.map(str::as_bytes), request.as_bytes()),
                "{target}"
            );
            assert_eq!(
                (entry.client, entry.status, entry.bytes),
                (&b"192.0.2.7"[..], Some(404), Some(162))
            );
        }
        assert!(
            discover(&(absolute.clone() + &line("/").repeat(2))).is_none(),
            "of a server that clients ask for others"
        );
        assert!(
            discover(&absolute[line("http://www.example.org/.env?a=1").len()..]).is_none(),
            "too few"
        );
    }

    /// A line of any format, of none, or malformed.
    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        let examples: Vec<String> = FORMATS
            .all()
            .filter_map(|format| format.example.as_deref())
            .chain([W3C_LOG])
            .flat_map(str::lines)
            .map(str::to_owned)
            .collect();
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
        let prefixed = (writer, whole.clone())
            .prop_map(|(writer, line)| [writer.as_bytes(), &line[..]].concat());
        let nuls = whole.clone().prop_map(|line| [&[0; 3], &line[..]].concat());
        let other =
            prop::collection::vec(any::<u8>().prop_filter("one line", |b| *b != b'\n'), 0..80);
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
            let expected = read(&whole, &from_log_start(&whole));
            prop_assert_eq!(expected.len(), lines.len());
            let mut bounds: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).collect();
            bounds.extend([0, lines.len()]);
            bounds.sort_unstable();
            let (mut parts, mut header) = (Vec::new(), W3cHeader::from_log_start(&whole, 1000));
            for part in bounds.windows(2) {
                let part = lines[part[0]..part[1]].concat();
                parts.extend(read(&part, &context(header.clone())));
                header = header.after(&part, 1000);
            }
            prop_assert_eq!(parts, expected);
        }

        #[test]
        fn lines_of_a_block_are_read_as_single_lines(lines in prop::collection::vec(any_line(), 0..12), is_w3c: bool) {
            let start: &[u8] = if is_w3c { b"#Version: 1.0\n" } else { b"" };
            let whole = [start, &lines.join(&b'\n')].concat();
            prop_assert_eq!(read_block(&whole, &from_log_start(&whole)), read(&whole, &from_log_start(&whole)));
        }

        #[test]
        fn similar_lines_do_not_affect_each_other((id, lines) in similar_lines(), is_requested: bool) {
            let whole = lines.join(&b'\n');
            let context = LineContext { preferred: if is_requested { id.as_slice() } else { &[] }, ..from_log_start(&whole) };
            prop_assert_eq!(read_block(&whole, &context), read(&whole, &context));
        }

        #[test]
        fn starts_of_lines_do_not_affect_other_lines(lines in lines_with_similar_starts()) {
            let whole = lines.join(&b'\n');
            prop_assert_eq!(read_block(&whole, &from_log_start(b"")), read(&whole, &from_log_start(b"")));
        }

        #[test]
        fn a_format_reads_no_line_that_its_first_fields_exclude(lines in prop::collection::vec(any_line(), 1..12)) {
            for (line, (id, parser)) in lines.iter().flat_map(|line| FORMATS.tried().map(move |tried| (line, tried))) {
                let mut buffers = FieldBuffers::default();
                let is_read = parser.read(line, &mut buffers).is_some_and(|fields| is_plausible(&fields));
                prop_assert!(parser.may_read(line) || !is_read, "{:?}: {}", id, line.escape_ascii());
            }
        }

        #[test]
        fn lines_of_the_common_log_format_stay_as_they_are(lines in prop::collection::vec(any_line(), 1..6)) {
            for line in &lines {
                let text = line.strip_suffix(b"\r").unwrap_or(line);
                if text.len() <= 1000 && text.first().is_some_and(|b| *b != 0) && Frame::locate(text, None).is_some() {
                    prop_assert_eq!(LogReader::default().line(line, &mut from_log_start(b"")).0, LineKind::AsIs);
                }
            }
        }
    }
}
