//! Reads lines of any format as the Common Log Format's children would have them, so that everything behind knows one family of
//! formats: onto a [`FrameBuffer`], where a judge finds what he asks of each, or write_fields down again, one for one.
//!
//! What a line says depends on the line, on the formats of the run, and on the columns that a W3C extended log has named
//! before it, and on nothing else: so it does not matter how a log is cut, or who reads which part. A line that no format
//! explains is left as it is.

mod rewritten;

use std::sync::Arc;

use memchr::memchr;

pub use self::rewritten::RewrittenLines;

use super::builtin::{FormatId, FormatReader, Formats, JSON, W3C};
use super::bytes::leading_nuls;
use super::clf_writer::FieldSink;
use super::client_position::{self, ClientPosition};
use super::line_prefix::{self, LinePrefix};
use super::{FieldBuffers, FieldKind, Fields, FormatLineParser, Frame, FrameBuffer, LogFormat, TimeField, W3cHeader};
use crate::client::{Client, ClientIpSource};
use crate::time::LogTime;

/// What lines are read write_as.
#[derive(Debug, Clone)]
pub struct LineContext<'f> {
    /// The formats of the run.
    pub formats: &'f Formats,
    /// The formats that are tried first, in this order.
    pub preferred: &'f [FormatId],
    /// The columns in force before the first line.
    pub header: W3cHeader,
    /// Where the client is in lines with two addresses before the time.
    pub clients: ClientPosition,
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
}

/// Reads lines. Keeps its buffers.
#[derive(Debug, Default)]
pub struct LogReader {
    buffers: FieldBuffers,
    strip_prefix: Vec<u8>,
    /// Who wrote what stood before the last line.
    prefix: Option<LinePrefix>,
    /// Columns as a header names them, and the same with the field in which a proxy wrote who asked.
    columns: Option<(Arc<FormatLineParser>, FormatLineParser)>,
}

/// As what a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// It is left as it is: the engine reads it, or nobody does.
    AsIs,
    /// It was write_fields down again.
    As(FormatId),
    /// It was write_fields down again, as a combined line without a client: which of two addresses is the client is unknown.
    WithoutClient,
    /// It is one of the log's own: no request.
    Directive,
}

/// What stands for a line of the log's own.
const DIRECTIVE: &[u8] = b"#";

impl LineContext<'_> {
    /// Whether the engine may read_into a line first: nothing that was asked for or named comes before what it reads.
    #[must_use]
    pub fn is_clf_first(&self) -> bool {
        self.preferred.is_empty() && !self.header.is_w3c() && self.formats.client_ip_source().is_none()
    }
}

impl LogReader {
    /// Writes lines down again into `out`; `false`, and nothing is write_fields, where all are to be left as they are. The last
    /// one may lack its newline.
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

    /// Writes a line down again to the end of `out`, which holds nothing of use where the answer is that it is left as it is. Takes
    /// over the columns that it names.
    pub fn line(&mut self, line: &[u8], context: &mut LineContext<'_>, out: &mut Vec<u8>) -> LineKind {
        let mut header = std::mem::take(&mut context.header);
        let read = self.read(line, context, &mut header, out);
        context.header = header;
        read
    }

    /// Reads a line, and puts onto a buffer as what, and what it says. Takes over the columns that it names. `first_quote` says where the first
    /// quote stands in it from a place on.
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

    /// Reads a line that is of the format asked for, or JSON where none is, and is write_fields as nearly all are.
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
        let told = match &formats.format(id).reader {
            FormatReader::Json => {
                formats.json().read_fast(line, first_quote, &mut self.buffers, |fields| buffer.put_unescaped(line, fields))
            }
            FormatReader::Strings(plans) => {
                plans.first()?.read_fast(line, first_quote, &mut self.buffers, |fields| buffer.put_unescaped(line, fields))
            }
            FormatReader::Clf | FormatReader::W3c => false,
        };
        // What takes more buffers than a line may have was no request to begin with.
        told.then(|| if buffer.length() - start <= *max_line { LineKind::As(id) } else { LineKind::AsIs })
    }

    /// Who wrote what stood before the last line, where that was another writer.
    #[must_use]
    pub fn prefix(&self) -> Option<LinePrefix> {
        self.prefix
    }

    /// Whether a line is one that a format explains, or `only` where only that is asked for.
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

    /// Whether one of the lines is not to be left as it is.
    pub fn needs_rewrite(&mut self, lines: &[u8], context: &LineContext<'_>) -> bool {
        let (mut header, mut buffers) = (context.header.clone(), Vec::new());
        each(lines).any(|(_, line, _)| {
            buffers.clear();
            self.read(line, context, &mut header, &mut buffers) != LineKind::AsIs
        })
    }

    /// Reads a line, which comes without its newline, and writes it to the end of `out` where it is read as another format.
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
            // What takes more buffers than a line may have was no request to begin with.
            Some(_) if out.length() - start > context.max_line => LineKind::AsIs,
            Some(_) if self.buffers.is_without_client => LineKind::WithoutClient,
            Some(id) => LineKind::As(id),
            None => LineKind::AsIs,
        }
    }

    /// Writes a line as the first format has it that explains it; `None` where the engine reads it, or nobody does.
    fn one(&mut self, text: &[u8], context: &LineContext<'_>, header: &W3cHeader, out: &mut impl FieldSink) -> Option<FormatId> {
        let origin = context.formats.client_ip_source();
        let Self { buffers, strip_prefix, prefix, columns } = self;
        *prefix = None;
        buffers.is_without_client = false;
        if let Some(named) = header.columns() {
            let plan = origin.map_or(&**named, |origin| with_forwarded_field(columns, named, origin));
            if write_fields(plan.read(text, buffers), origin, out) {
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
                // One line is one line.
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

/// What can be told at once: the format that was asked for, JSON, and what the engine reads, which is `Some(None)`.
#[expect(clippy::option_option, reason = "nobody reads it, the engine does, or a format: three answers")]
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
        FormatReader::Strings(plans) => {
            plans.iter().any(|plan| write_fields(plan.read(text, buffers).filter(is_plausible), context.formats.client_ip_source(), out))
        }
        _ => false,
    })
}

/// Writes a line as a format has it, if it is of that format.
fn write_as(id: FormatId, text: &[u8], context: &LineContext<'_>, buffers: &mut FieldBuffers, out: &mut impl FieldSink) -> bool {
    let origin = context.formats.client_ip_source();
    match &context.formats.format(id).reader {
        FormatReader::Strings(plans) => plans.iter().any(|plan| write_fields(plan.read(text, buffers), origin, out)),
        FormatReader::Json => write_fields(context.formats.json().read(text, buffers), origin, out),
        FormatReader::Clf | FormatReader::W3c => false,
    }
}

/// Writes fields, where there are any, with who asked in place of the proxy that handed it on.
fn write_fields(fields: Option<Fields<'_>>, origin: Option<&ClientIpSource>, out: &mut impl FieldSink) -> bool {
    let Some(mut fields) = fields else { return false };
    if let Some(origin) = origin {
        fields.client = origin.resolve(fields.client, fields.forwarded);
    }
    out.put(&fields);
    true
}

/// Columns, with the field in which a proxy wrote who asked; made once for each header.
fn with_forwarded_field<'c>(
    kept: &'c mut Option<(Arc<FormatLineParser>, FormatLineParser)>,
    named: &Arc<FormatLineParser>,
    origin: &ClientIpSource,
) -> &'c FormatLineParser {
    let known = kept.take().filter(|(plan, _)| Arc::ptr_eq(plan, named));
    let header = || FieldKind::Header(origin.field().to_owned());
    let (_, plan) = kept.insert(known.unwrap_or_else(|| (Arc::clone(named), FormatLineParser::clone(named).with_forwarded(&header()))));
    plan
}

/// Whether fields make sense in a format that nobody asked for: there is a time, and what is to be a client is an address.
fn is_plausible(fields: &Fields<'_>) -> bool {
    let is_timed = match fields.time {
        TimeField::Clf(text) => LogTime::parse_clf(text).is_some(),
        TimeField::Parsed(time) => time.is_some(),
    };
    is_timed && (fields.client.is_empty() || Client::parse(fields.client).address().is_some())
}

/// Whether a line begins as nearly all lines of the Common Log Format do, `192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "`: it
/// is of no other format then, whether it goes on like that or not.
#[must_use]
pub fn starts_like_clf(line: &[u8]) -> bool {
    let start = &line[..line.len().min(40)];
    let Some(space) = memchr(b' ', start) else { return false };
    let behind = &line[space..];
    space > 0 && behind.starts_with(b" - - [") && behind.get(32..35) == Some(b"] \"")
}

/// Whether the engine reads lines that begin and end like these, as far as one can read_into at a glance.
#[must_use]
pub fn looks_like_clf(lines: &[u8]) -> bool {
    let end = lines.strip_suffix(b"\n").unwrap_or(lines);
    let first = &end[..memchr(b'\n', end).unwrap_or(end.len())];
    let last = &end[memchr::memrchr(b'\n', end).map_or(0, |at| at + 1)..];
    [first, last].into_iter().all(|line| starts_like_clf(line) || Frame::locate(line, None).is_some())
}

/// Each line with where it begins, without its newline, and whether it has one.
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

#[cfg(test)]
mod tests;
