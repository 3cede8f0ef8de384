//! The line loop: finds lines, counts each, and keeps those that match.
//!
//! Every line is parsed, unparsed or oversized, and matched in the first two cases. Only a line that matches has its
//! text copied. Lines of the engine's own formats are taken here, those of any format in `any`; `settle` judges both.

mod any;
mod line;
mod settle;

use std::hint::black_box;

use memchr::memchr_iter;

use self::line::{Line, Place};
use super::index::BLOCK;
use super::{Matcher, Scratch};
use crate::client::Client;
use crate::fetch::fetch;
use crate::finding::Findings;
use crate::formats::bytes::nuls_within;
use crate::formats::{Frame, LogFormat};
use crate::names::Names;
use crate::rules::{AllowList, RuleSet};
use crate::time::{LogTime, PackedTime, TimeBound};

/// What a run is asked to look at and to keep.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The only format of the log; `None` for any.
    pub format: Option<LogFormat>,
    /// Lines before this are not looked at.
    pub since: Option<TimeBound>,
    /// Lines from this on are not looked at.
    pub until: Option<TimeBound>,
    /// Requests that are not kept, only counted.
    pub allow: AllowList,
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
    /// Whether requests that match nothing are noted as well, to learn from them.
    pub unlisted: bool,
    /// Whether requests are kept for rules with a `window`: only who counts requests needs them, as alone they are no findings.
    pub windows: bool,
}

impl Default for Scope {
    fn default() -> Self {
        Self { format: None, since: None, until: None, allow: AllowList::default(), max_line: 1 << 20, unlisted: false, windows: false }
    }
}

/// Bytes between what is judged and what is brought near.
const AHEAD: usize = 64 << 10;

/// Requests that are judged side by side.
const BATCH: usize = 64;

/// A line that a format explains.
struct Request<'t> {
    /// The line as the engine reads it; `None` where nobody has written it down.
    line: Option<&'t [u8]>,
    place: Place,
    frame: Frame<'t>,
    time: Option<PackedTime>,
}

impl Request<'_> {
    fn time(&self) -> Option<LogTime> {
        self.time.map(PackedTime::time)
    }
}

/// Judges runs of lines.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    rules: &'a RuleSet,
    matcher: Matcher<'a>,
    scope: &'a Scope,
}

impl<'a> Judge<'a> {
    /// A judge who goes by `rules`, within `scope`.
    #[must_use]
    pub fn new(rules: &'a RuleSet, scope: &'a Scope) -> Self {
        Self { rules, matcher: Matcher::new(rules), scope }
    }

    /// Judges whole lines; the last one may lack its newline.
    #[must_use]
    pub fn judge(&self, lines: &[u8], scratch: &mut Scratch) -> Findings {
        let mut findings = scratch.findings();
        let mut index = std::mem::take(&mut scratch.index);
        let mut batch = Vec::with_capacity(BATCH);
        let mut start = 0;
        while start < lines.len() {
            let block = &lines[start..lines.len().min(start + BLOCK)];
            index.read(block);
            map_ahead(lines, start + BLOCK + AHEAD - 1);
            if let Some(&last) = index.newlines().last() {
                for line in Line::each(block, start, &index) {
                    fetch_ahead(lines, line.offset as usize + AHEAD);
                    self.take(line, &mut batch, scratch, &mut findings);
                }
                start += last as usize + 1;
            } else {
                let (line, taken) = Line::long(&lines[start..], start, &mut findings);
                if let Some(line) = line {
                    self.take_long(line, &mut batch, scratch, &mut findings);
                }
                start += taken;
            }
        }
        self.settle(&mut batch, scratch, &mut findings);
        findings.times = std::mem::take(&mut scratch.span).ends();
        scratch.index = index;
        findings
    }

    /// The same as [`take`](Self::take), for lines that are few.
    #[cold]
    fn take_long<'t>(&self, line: Line<'t, '_>, batch: &mut Vec<Request<'t>>, scratch: &mut Scratch, findings: &mut Findings) {
        self.take(line, batch, scratch, findings);
    }

    /// Counts a line, and puts it into the batch if it is a request.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    fn take<'t>(&self, line: Line<'t, '_>, batch: &mut Vec<Request<'t>>, scratch: &mut Scratch, findings: &mut Findings) {
        let (place, text, quotes) = line.count(findings);
        if text.len() > self.scope.max_line {
            findings.lines.oversized += 1;
            findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
            return;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.is_empty() {
            return self.count_empty(findings);
        }
        let Some(frame) = Frame::locate_by(text, self.scope.format, |from| quotes.first(text, from)) else {
            // Hits are in the order of their lines.
            self.settle(batch, scratch, findings);
            return self.unparsed(text, place, scratch, findings);
        };
        findings.lines.parsed[frame.format() as usize] += 1;
        findings.lines.nul_bytes += nuls_within(text) as u64;
        let time = scratch.clock.parse(frame.time);
        self.take_request(Request { line: Some(text), place, frame, time }, batch, scratch, findings);
    }

    /// Puts a request into the batch, and judges that when it is full.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    fn take_request<'t>(&self, request: Request<'t>, batch: &mut Vec<Request<'t>>, scratch: &mut Scratch, findings: &mut Findings) {
        if let Some(time) = request.time {
            scratch.span.add(time);
        }
        if self.in_window(request.time, findings) {
            batch.push(request);
            if batch.len() == BATCH {
                self.settle(batch, scratch, findings);
            }
        }
    }

    /// Counts a line without a byte. No rule matches one, and a file may be nothing but newlines.
    fn count_empty(&self, findings: &mut Findings) {
        findings.lines.unparsed += 1;
        self.in_window(None, findings);
    }

    fn unparsed(&self, text: &[u8], place: Place, scratch: &mut Scratch, findings: &mut Findings) {
        findings.lines.unparsed += 1;
        findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
        if !self.in_window(None, findings) {
            return;
        }
        let verdict = self.matcher.raw_verdict(text, scratch);
        if verdict.rules == Names::NO_RULES {
            return mention(text, scratch, findings);
        }
        let mut hit = place.hit();
        hit.client = scratch.names.clients.number(b"");
        let reading = self.reading(verdict.rules, scratch);
        self.keep(hit, reading, verdict.path, (text, None), || None, scratch, findings);
    }

    /// Whether a line lies between `--since` and `--until`; one without a time does, and is counted.
    fn in_window(&self, time: Option<PackedTime>, findings: &mut Findings) -> bool {
        let Scope { since, until, .. } = self.scope;
        if since.is_none() && until.is_none() {
            return true;
        }
        let Some(time) = time.map(PackedTime::time) else {
            findings.without_time += 1;
            return true;
        };
        !since.is_some_and(|bound| bound.is_after(time)) && until.is_none_or(|bound| bound.is_after(time))
    }
}

/// Bytes of an unparsed line in which a client is looked for, and addresses of a line that may be the client: it is among the first
/// fields of nearly all formats, and what a client writes itself, such as the referer, is long and comes later.
const MENTION_BYTES: usize = 256;
const MENTIONS: usize = 4;

/// Notes the clients that an unparsed line may be from.
#[cold]
fn mention(text: &[u8], scratch: &mut Scratch, findings: &mut Findings) {
    let start = &text[..text.len().min(MENTION_BYTES)];
    for client in Client::addresses_in(start).take(MENTIONS) {
        let number = scratch.names.clients.number_of_group(client);
        findings.mentioned.push(number);
    }
}

/// Has the system map the page at a place, if there is one: what is not mapped cannot be brought near.
#[inline]
fn map_ahead(lines: &[u8], at: usize) {
    black_box(lines.get(at).copied());
}

/// Has what will be read later brought near, as much as a line takes: it comes while this line is judged, and else would
/// be waited for.
#[inline]
fn fetch_ahead(lines: &[u8], at: usize) {
    if let Some(part) = lines.get(at..at + 256) {
        part.iter().step_by(64).for_each(fetch);
    }
}
