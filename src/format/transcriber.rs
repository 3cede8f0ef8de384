//! Writes lines of any format down again as lines of the Common Log Format's children, one for one, so that everything
//! behind reads one family of formats.
//!
//! What a line says depends on the line, on the formats of the run, and on the columns that a W3C extended log has named
//! before it, and on nothing else: so it does not matter how a log is cut, or who reads which part. A line that no format
//! explains is left as it is.

use std::sync::Arc;

use memchr::{memchr, memchr_iter};

use super::formats::{FormatId, Formats, JSON, Reader, W3C};
use super::prefix::{self, Prefix};
use super::{Fields, Frame, Header, LogFormat, Meaning, Plan, Room, When, canonical};
use crate::client::{Client, Origin};
use crate::finding::Findings;
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
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
}

/// Writes lines down again. Keeps its buffers.
#[derive(Debug, Default)]
pub struct Transcriber {
    room: Room,
    within: Vec<u8>,
    /// Who wrote what stood before the last line.
    prefix: Option<Prefix>,
    /// Columns as a header names them, and the same with the field in which a proxy wrote who asked.
    columns: Option<(Arc<Plan>, Plan)>,
}

/// Lines that were written down again, and where each was.
#[derive(Debug, Default)]
pub struct Transcribed {
    /// The lines.
    pub text: Vec<u8>,
    lines: Vec<Line>,
}

/// Where a line was, and as what it was read.
#[derive(Debug, Clone, Copy)]
struct Line {
    /// Bytes from the start of the run.
    start: u64,
    /// NULs before it.
    nuls: u32,
    /// NULs in it that are not there any more.
    hidden: u32,
    read: Read,
    /// The format of the engine's that it was written in.
    written: LogFormat,
}

/// As what a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// It is left as it is: the engine reads it, or nobody does.
    AsIs,
    /// It was written down again.
    As(FormatId),
    /// It is one of the log's own: no request.
    Own,
}

/// A line of so many bytes is looked through for NULs, as the judge does.
const MAY_HOLD_A_HOLE: usize = 512;

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
        if !self.is_changed(lines, course, &mut out.text) {
            return false;
        }
        out.text.clear();
        let mut header = course.header.clone();
        for (start, line, is_ended) in each(lines) {
            let nuls = leading_nuls(line);
            let mut new = Line { start: start as u64, nuls: nuls as u32, hidden: 0, read: Read::AsIs, written: LogFormat::Combined };
            out.text.extend_from_slice(&line[..nuls]);
            let at = out.text.len();
            new.read = self.read(line, course, &mut header, &mut out.text);
            match new.read {
                Read::AsIs => {
                    out.text.truncate(at);
                    out.text.extend_from_slice(&line[nuls..]);
                }
                Read::Own => out.text.extend_from_slice(OWN),
                Read::As(_) => {
                    new.written = written_as(&out.text[at..]);
                    if line.len() >= MAY_HOLD_A_HOLE {
                        new.hidden = memchr_iter(0, &line[nuls..]).count() as u32;
                    }
                }
            }
            if is_ended {
                out.text.push(b'\n');
            }
            out.lines.push(new);
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
            is_clf || only.is_none() && matches!(self.read(line, course, &mut header, &mut room), Read::As(_))
        })
    }

    /// Whether one of the lines is to be written otherwise.
    fn is_changed(&mut self, lines: &[u8], course: &Course<'_>, room: &mut Vec<u8>) -> bool {
        let mut header = course.header.clone();
        each(lines).any(|(_, line, _)| {
            room.clear();
            self.read(line, course, &mut header, room) != Read::AsIs
        })
    }

    /// Reads a line, which comes without its newline, and writes it to the end of `out` where it is read as another format.
    fn read(&mut self, line: &[u8], course: &Course<'_>, header: &mut Header, out: &mut Vec<u8>) -> Read {
        let text = &line[leading_nuls(line)..];
        if text.is_empty() || text.len() > course.max_line {
            return Read::AsIs;
        }
        if header.take(line) {
            return Read::Own;
        }
        let start = out.len();
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match self.one(text, course, header, out) {
            // What takes more room than a line may have was no request to begin with.
            Some(id) if out.len() - start <= course.max_line => Read::As(id),
            _ => Read::AsIs,
        }
    }

    /// Writes a line as the first format has it that explains it; `None` where the engine reads it, or nobody does.
    fn one(&mut self, text: &[u8], course: &Course<'_>, header: &Header, out: &mut Vec<u8>) -> Option<FormatId> {
        let origin = course.formats.origin();
        let Self { room, within, prefix, columns } = self;
        *prefix = None;
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
                    let format = Frame::locate(inner, None).map_or(LogFormat::Combined, |frame| frame.format(frame.headers()));
                    out.extend_from_slice(inner);
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
fn outright(text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut Vec<u8>) -> Option<Option<FormatId>> {
    if let Some(first) = course.first.iter().copied().find(|first| by(*first, text, course, room, out)) {
        return Some(Some(first));
    }
    match text.first()? {
        b'{' if by(JSON, text, course, room, out) => Some(Some(JSON)),
        _ if is_usual(text) || Frame::locate(text, None).is_some() => {
            Some(course.formats.behind_proxy().iter().copied().find(|id| by(*id, text, course, room, out)))
        }
        _ => None,
    }
}

fn by_plans(text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut Vec<u8>) -> Option<FormatId> {
    course.formats.order().iter().copied().find(|id| match &course.formats.format(*id).reader {
        Reader::Plans(plans) => plans.iter().any(|plan| written(plan.read(text, room).filter(is_plausible), course.formats.origin(), out)),
        _ => false,
    })
}

/// Writes a line as a format has it, if it is of that format.
fn by(id: FormatId, text: &[u8], course: &Course<'_>, room: &mut Room, out: &mut Vec<u8>) -> bool {
    let origin = course.formats.origin();
    match &course.formats.format(id).reader {
        Reader::Plans(plans) => plans.iter().any(|plan| written(plan.read(text, room), origin, out)),
        Reader::Json => written(course.formats.json().read(text, room), origin, out),
        Reader::Clf | Reader::W3c => false,
    }
}

/// Writes fields, where there are any, with who asked in place of the proxy that handed it on.
fn written(fields: Option<Fields<'_>>, origin: Option<&Origin>, out: &mut Vec<u8>) -> bool {
    let Some(mut fields) = fields else { return false };
    if let Some(origin) = origin {
        fields.client = origin.real(fields.client, fields.forwarded);
    }
    canonical::write(&fields, out);
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

impl Transcribed {
    fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
    }

    /// Lines.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Where a line began, NULs and all, in bytes from the start of the run; where the run ended, behind the last.
    #[must_use]
    pub fn start_of(&self, line: usize, end: u64) -> u64 {
        self.lines.get(line).map_or(end, |line| line.start)
    }

    /// Gives findings in the lines from `first` on their places in the log back, and the names of their formats; these lines
    /// were judged as a run of their own. Places are from the start of the first of them. With `in_window`, lines without a time
    /// were counted.
    pub fn restore(&self, first: usize, findings: &mut Findings, formats: &Formats, in_window: bool) {
        let judged = usize::try_from(findings.lines.lines).unwrap_or(usize::MAX);
        let lines = self.lines.get(first..).unwrap_or_default();
        let lines = &lines[..judged.min(lines.len())];
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
            counts.nul_bytes += u64::from(line.hidden);
            match line.read {
                Read::AsIs => {}
                Read::Own => {
                    counts.unparsed = counts.unparsed.saturating_sub(1);
                    counts.skipped += 1;
                    findings.without_time = findings.without_time.saturating_sub(u64::from(in_window));
                }
                // What stood behind a prefix is of the engine's own formats, and counted as such.
                Read::As(id) if usize::from(id.0) < LogFormat::ALL.len() => {}
                Read::As(id) => {
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

/// The format of the engine's in which a line was written down again: behind a client, or behind a host and a client, come
/// two dashes.
fn written_as(line: &[u8]) -> LogFormat {
    let behind = memchr(b' ', line).map_or(&[][..], |space| &line[space + 1..]);
    if behind.starts_with(b"- - [") { LogFormat::Combined } else { LogFormat::VhostCombined }
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

fn leading_nuls(line: &[u8]) -> usize {
    if line.first() == Some(&0) { line.iter().take_while(|&&b| b == 0).count() } else { 0 }
}

#[cfg(test)]
mod tests;
