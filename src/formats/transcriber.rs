//! Reads lines of any format as the Common Log Format's children would have them, so that everything behind knows one family of
//! formats: onto a [`Sheet`], where a judge finds what he asks of each, or written down again, one for one.
//!
//! What a line says depends on the line, on the formats of the run, and on the columns that a W3C extended log has named
//! before it, and on nothing else: so it does not matter how a log is cut, or who reads which part. A line that no format
//! explains is left as it is.

mod transcribed;

use std::sync::Arc;

use memchr::memchr;

pub use self::transcribed::Transcribed;

use super::builtin::{FormatId, Formats, JSON, Reader, W3C};
use super::client_place::{self, ClientPlace};
use super::hole::leading_nuls;
use super::page::Page;
use super::prefix::{self, Prefix};
use super::{Fields, Frame, Header, LogFormat, Meaning, Plan, Room, Sheet, When};
use crate::client::{Client, Origin};
use crate::time::LogTime;

/// What lines are read by.
#[derive(Debug, Clone)]
pub struct Course<'f> {
    /// The formats of the run.
    pub formats: &'f Formats,
    /// The formats that are tried first, in this order.
    pub first: &'f [FormatId],
    /// The columns in force before the first line.
    pub header: Header,
    /// Where the client is in lines with two addresses before the time.
    pub clients: ClientPlace,
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
}

/// Reads lines. Keeps its buffers.
#[derive(Debug, Default)]
pub struct Transcriber {
    room: Room,
    within: Vec<u8>,
    /// Who wrote what stood before the last line.
    prefix: Option<Prefix>,
    /// Columns as a header names them, and the same with the field in which a proxy wrote who asked.
    columns: Option<(Arc<Plan>, Plan)>,
}

/// As what a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// It is left as it is: the engine reads it, or nobody does.
    AsIs,
    /// It was written down again.
    As(FormatId),
    /// It was written down again, as a combined line without a client: which of two addresses is the client is unknown.
    WithoutClient,
    /// It is one of the log's own: no request.
    Own,
}

/// What stands for a line of the log's own.
const OWN: &[u8] = b"#";

impl Course<'_> {
    /// Whether the engine may see a line first: nothing that was asked for or named comes before what it reads.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.first.is_empty() && !self.header.is_w3c() && self.formats.origin().is_none()
    }
}

impl Transcriber {
    /// Writes lines down again into `out`; `false`, and nothing is written, where all are to be left as they are. The last
    /// one may lack its newline.
    pub fn transcribe(&mut self, lines: &[u8], course: &Course<'_>, out: &mut Transcribed) -> bool {
        out.clear();
        if !self.changes(lines, course) {
            return false;
        }
        let mut header = course.header.clone();
        for (start, line, is_ended) in each(lines) {
            let nuls = leading_nuls(line);
            out.text.extend_from_slice(&line[..nuls]);
            let at = out.text.len();
            let read = self.read(line, course, &mut header, &mut out.text);
            match read {
                Read::AsIs => {
                    out.text.truncate(at);
                    out.text.extend_from_slice(&line[nuls..]);
                }
                Read::Own => out.text.extend_from_slice(OWN),
                Read::As(_) | Read::WithoutClient => {}
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
    pub fn line(&mut self, line: &[u8], course: &mut Course<'_>, out: &mut Vec<u8>) -> Read {
        let mut header = std::mem::take(&mut course.header);
        let read = self.read(line, course, &mut header, out);
        course.header = header;
        read
    }

    /// Reads a line, and puts onto a sheet as what, and what it says. Takes over the columns that it names. `first_quote` says where the first
    /// quote stands in it from a place on.
    pub fn see(
        &mut self,
        line: &[u8],
        course: &Course<'_>,
        header: &mut Header,
        first_quote: impl Fn(usize) -> Option<usize>,
        sheet: &mut Sheet,
    ) {
        sheet.begin(line);
        let read = self.at_once(line, course, first_quote, sheet).unwrap_or_else(|| self.read(line, course, header, sheet));
        sheet.end(read);
    }

    /// Reads a line that is of the format asked for, or JSON where none is, and is written as nearly all are.
    #[inline]
    fn at_once(
        &mut self,
        line: &[u8],
        course: &Course<'_>,
        first_quote: impl Fn(usize) -> Option<usize>,
        sheet: &mut Sheet,
    ) -> Option<Read> {
        let Course { formats, first, header, max_line, .. } = course;
        let id = match (first.first(), line.first()?) {
            (_, 0) => return None,
            (Some(first), _) => *first,
            (None, b'{') => JSON,
            (None, _) => return None,
        };
        if header.is_w3c() || formats.origin().is_some() || line.len() > *max_line {
            return None;
        }
        self.prefix = None;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = sheet.length();
        let told = match &formats.format(id).reader {
            Reader::Json => formats.json().tell_short(line, first_quote, &mut self.room, |fields| sheet.put_plain(line, fields)),
            Reader::Plans(plans) => plans.first()?.tell_short(line, first_quote, &mut self.room, |fields| sheet.put_plain(line, fields)),
            Reader::Clf | Reader::W3c => false,
        };
        // What takes more room than a line may have was no request to begin with.
        told.then(|| if sheet.length() - start <= *max_line { Read::As(id) } else { Read::AsIs })
    }

    /// Who wrote what stood before the last line, where that was another writer.
    #[must_use]
    pub fn prefix(&self) -> Option<Prefix> {
        self.prefix
    }

    /// Whether a line is one that a format explains, or `only` where only that is asked for.
    pub fn reads_any(&mut self, lines: &[u8], course: &Course<'_>, only: Option<LogFormat>) -> bool {
        let (mut header, mut room) = (course.header.clone(), Vec::new());
        each(lines).any(|(_, line, _)| {
            let text = line.strip_suffix(b"\r").unwrap_or(line);
            let is_clf = Frame::locate(&text[leading_nuls(text)..], only).is_some();
            room.clear();
            is_clf || only.is_none() && matches!(self.read(line, course, &mut header, &mut room), Read::As(_) | Read::WithoutClient)
        })
    }

    /// Whether one of the lines is not to be left as it is.
    pub fn changes(&mut self, lines: &[u8], course: &Course<'_>) -> bool {
        let (mut header, mut room) = (course.header.clone(), Vec::new());
        each(lines).any(|(_, line, _)| {
            room.clear();
            self.read(line, course, &mut header, &mut room) != Read::AsIs
        })
    }

    /// Reads a line, which comes without its newline, and writes it to the end of `out` where it is read as another format.
    fn read(&mut self, line: &[u8], course: &Course<'_>, header: &mut Header, out: &mut impl Page) -> Read {
        let text = &line[leading_nuls(line)..];
        if text.is_empty() || text.len() > course.max_line {
            return Read::AsIs;
        }
        if header.take(line) {
            return Read::Own;
        }
        let start = out.length();
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match self.one(text, course, header, out) {
            // What takes more room than a line may have was no request to begin with.
            Some(_) if out.length() - start > course.max_line => Read::AsIs,
            Some(_) if self.room.is_without_client => Read::WithoutClient,
            Some(id) => Read::As(id),
            None => Read::AsIs,
        }
    }

    /// Writes a line as the first format has it that explains it; `None` where the engine reads it, or nobody does.
    fn one(&mut self, text: &[u8], course: &Course<'_>, header: &Header, out: &mut impl Page) -> Option<FormatId> {
        let origin = course.formats.origin();
        let Self { room, within, prefix, columns } = self;
        *prefix = None;
        room.is_without_client = false;
        if let Some(named) = header.columns() {
            let plan = origin.map_or(&**named, |origin| with_field(columns, named, origin));
            if written(plan.read(text, room), origin, out) {
                return Some(W3C);
            }
        }
        if let Some(id) = outright(text, course, room, out) {
            return id;
        }
        if let Some((writer, inner)) = prefix::within(text, within) {
            match outright(inner, course, room, out).or_else(|| by_plans(inner, course, room, out).map(Some)) {
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
        by_plans(text, course, room, out)
    }
}

/// What can be told at once: the format that was asked for, JSON, and what the engine reads, which is `Some(None)`.
#[expect(clippy::option_option, reason = "nobody reads it, the engine does, or a format: three answers")]
fn outright(text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut impl Page) -> Option<Option<FormatId>> {
    if let Some(first) = course.first.iter().copied().find(|first| by(*first, text, course, room, out)) {
        return Some(Some(first));
    }
    match text.first()? {
        b'{' if by(JSON, text, course, room, out) => Some(Some(JSON)),
        _ if is_usual(text) || Frame::locate(text, None).is_some() => {
            Some(course.formats.behind_proxy().iter().copied().find(|id| by(*id, text, course, room, out)))
        }
        _ => in_doubt(text, course, room, out).map(Some),
    }
}

/// Writes a line with two addresses before the time as a combined line.
#[cold]
fn in_doubt(text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut impl Page) -> Option<FormatId> {
    let mut line = std::mem::take(&mut room.line);
    line.clear();
    let place = client_place::rewrite(text, course.clients, &mut line);
    let format = place.and_then(|_| Frame::locate(&line, None)).map(|frame| FormatId(frame.format() as u8));
    if let Some(place) = place.filter(|_| format.is_some()) {
        out.put_line(&line);
        room.is_without_client = place == ClientPlace::Unknown;
    }
    room.line = line;
    format
}

fn by_plans(text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut impl Page) -> Option<FormatId> {
    course.formats.order().iter().copied().find(|id| match &course.formats.format(*id).reader {
        Reader::Plans(plans) => plans.iter().any(|plan| written(plan.read(text, room).filter(is_plausible), course.formats.origin(), out)),
        _ => false,
    })
}

/// Writes a line as a format has it, if it is of that format.
fn by(id: FormatId, text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut impl Page) -> bool {
    let origin = course.formats.origin();
    match &course.formats.format(id).reader {
        Reader::Plans(plans) => plans.iter().any(|plan| written(plan.read(text, room), origin, out)),
        Reader::Json => written(course.formats.json().read(text, room), origin, out),
        Reader::Clf | Reader::W3c => false,
    }
}

/// Writes fields, where there are any, with who asked in place of the proxy that handed it on.
fn written(fields: Option<Fields<'_>>, origin: Option<&Origin>, out: &mut impl Page) -> bool {
    let Some(mut fields) = fields else { return false };
    if let Some(origin) = origin {
        fields.client = origin.real(fields.client, fields.forwarded);
    }
    out.put(&fields);
    true
}

/// Columns, with the field in which a proxy wrote who asked; made once for each header.
fn with_field<'c>(kept: &'c mut Option<(Arc<Plan>, Plan)>, named: &Arc<Plan>, origin: &Origin) -> &'c Plan {
    let known = kept.take().filter(|(plan, _)| Arc::ptr_eq(plan, named));
    let header = || Meaning::Header(origin.field().to_owned());
    let (_, plan) = kept.insert(known.unwrap_or_else(|| (Arc::clone(named), Plan::clone(named).with_forwarded(&header()))));
    plan
}

/// Whether fields make sense in a format that nobody asked for: there is a time, and what is to be a client is an address.
fn is_plausible(fields: &Fields<'_>) -> bool {
    let is_timed = match fields.time {
        When::Clf(text) => LogTime::parse_clf(text).is_some(),
        When::Read(time) => time.is_some(),
    };
    is_timed && (fields.client.is_empty() || Client::parse(fields.client).address().is_some())
}

/// Whether a line begins as nearly all lines of the Common Log Format do, `192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "`: it
/// is of no other format then, whether it goes on like that or not.
#[must_use]
pub fn is_usual(line: &[u8]) -> bool {
    let start = &line[..line.len().min(40)];
    let Some(space) = memchr(b' ', start) else { return false };
    let behind = &line[space..];
    space > 0 && behind.starts_with(b" - - [") && behind.get(32..35) == Some(b"] \"")
}

/// Whether the engine reads lines that begin and end like these, as far as one can see at a glance.
#[must_use]
pub fn looks_usual(lines: &[u8]) -> bool {
    let end = lines.strip_suffix(b"\n").unwrap_or(lines);
    let first = &end[..memchr(b'\n', end).unwrap_or(end.len())];
    let last = &end[memchr::memrchr(b'\n', end).map_or(0, |at| at + 1)..];
    [first, last].into_iter().all(|line| is_usual(line) || Frame::locate(line, None).is_some())
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
