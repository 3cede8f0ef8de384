//! The line loop: splits text into lines, counts each line, and records those that match a rule.
//!
//! Every line is parsed, unparsed or oversized; parsed and unparsed lines are matched. Only the text of a matching line is copied.
//! This file scans the formats of the Common Log Format family, `other_formats` scans all others, and `batch` matches both.

mod batch;
mod line;
mod other_formats;

use std::hint::black_box;

use memchr::memchr_iter;

use self::line::{LinePosition, ScannedLine};
use super::newline_index::BLOCK;
use super::{Matcher, WorkerState};
use crate::client::Client;
use crate::finding::Findings;
use crate::formats::bytes::nuls_within;
use crate::formats::{Frame, LogFormat};
use crate::intern::SymbolTables;
use crate::prefetch::prefetch;
use crate::rules::{AllowList, RuleSet};
use crate::time::{LogTime, PackedTime, TimeBound};

/// Options of a scan: which lines it reads and what it records.
#[derive(Debug, Clone)]
pub struct ScanOptions {
    /// The only format of the log; `None` for any.
    pub format: Option<LogFormat>,
    /// Skip lines before this time.
    pub since: Option<TimeBound>,
    /// Skip lines from this time on.
    pub until: Option<TimeBound>,
    /// Requests that are counted but not recorded.
    pub allow: AllowList,
    /// The longest line that is matched, in bytes.
    pub max_line: usize,
    /// Whether to record requests that match no rule, for `learn`.
    pub unlisted: bool,
    /// Whether to record requests for rules with a `window`. A single such request is no finding, so only callers that count
    /// requests need them.
    pub windows: bool,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { format: None, since: None, until: None, allow: AllowList::default(), max_line: 1 << 20, unlisted: false, windows: false }
    }
}

/// Prefetch distance, in bytes.
const AHEAD: usize = 64 << 10;

/// Requests in a batch.
const BATCH: usize = 64;

/// A parsed request that waits for its batch.
struct BatchedRequest<'t> {
    /// The line in Combined Log Format; `None` if it has not been written yet.
    line: Option<&'t [u8]>,
    position: LinePosition,
    frame: Frame<'t>,
    time: Option<PackedTime>,
}

impl BatchedRequest<'_> {
    fn time(&self) -> Option<LogTime> {
        self.time.map(PackedTime::time)
    }
}

/// Scans chunks of lines.
#[derive(Debug, Clone, Copy)]
pub struct LineScanner<'a> {
    rules: &'a RuleSet,
    matcher: Matcher<'a>,
    options: &'a ScanOptions,
}

impl<'a> LineScanner<'a> {
    /// A scanner for `rules`.
    #[must_use]
    pub fn new(rules: &'a RuleSet, options: &'a ScanOptions) -> Self {
        Self { rules, matcher: Matcher::new(rules), options }
    }

    /// Scans a chunk of whole lines; the last one may lack its newline.
    #[must_use]
    pub fn scan(&self, lines: &[u8], worker: &mut WorkerState) -> Findings {
        let mut findings = worker.findings();
        let mut index = std::mem::take(&mut worker.index);
        let mut batch = Vec::with_capacity(BATCH);
        let mut start = 0;
        while start < lines.len() {
            let block = &lines[start..lines.len().min(start + BLOCK)];
            index.read(block);
            prefault(lines, start + BLOCK + AHEAD - 1);
            if let Some(&last) = index.newlines().last() {
                for line in ScannedLine::each(block, start, &index) {
                    prefetch_line(lines, line.offset as usize + AHEAD);
                    self.scan_line(line, &mut batch, worker, &mut findings);
                }
                start += last as usize + 1;
            } else {
                let (line, taken) = ScannedLine::long(&lines[start..], start, &mut findings);
                if let Some(line) = line {
                    self.scan_long_line(line, &mut batch, worker, &mut findings);
                }
                start += taken;
            }
        }
        self.match_batch(&mut batch, worker, &mut findings);
        findings.times = std::mem::take(&mut worker.span).ends();
        worker.index = index;
        findings
    }

    /// [`scan_line`](Self::scan_line) outside of the hot loop.
    #[cold]
    fn scan_long_line<'t>(
        &self,
        line: ScannedLine<'t, '_>,
        batch: &mut Vec<BatchedRequest<'t>>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        self.scan_line(line, batch, worker, findings);
    }

    /// Counts a line, and appends it to the batch if it is a request.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    fn scan_line<'t>(
        &self,
        line: ScannedLine<'t, '_>,
        batch: &mut Vec<BatchedRequest<'t>>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        let (position, text, quotes) = line.count(findings);
        if text.len() > self.options.max_line {
            findings.lines.oversized += 1;
            findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
            return;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.is_empty() {
            return self.count_empty(findings);
        }
        let Some(frame) = Frame::locate_by(text, self.options.format, |from| quotes.first(text, from)) else {
            // Hits must be in line order.
            self.match_batch(batch, worker, findings);
            return self.unparsed(text, position, worker, findings);
        };
        findings.lines.parsed[frame.format() as usize] += 1;
        findings.lines.nul_bytes += nuls_within(text) as u64;
        let time = worker.clock.parse(frame.time);
        self.push_request(BatchedRequest { line: Some(text), position, frame, time }, batch, worker, findings);
    }

    /// Appends a request to the batch, and matches the batch when it is full.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    fn push_request<'t>(
        &self,
        request: BatchedRequest<'t>,
        batch: &mut Vec<BatchedRequest<'t>>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        if let Some(time) = request.time {
            worker.span.add(time);
        }
        if self.in_window(request.time, findings) {
            batch.push(request);
            if batch.len() == BATCH {
                self.match_batch(batch, worker, findings);
            }
        }
    }

    /// Counts an empty line. No rule matches it, and some files hold only newlines.
    fn count_empty(&self, findings: &mut Findings) {
        findings.lines.unparsed += 1;
        self.in_window(None, findings);
    }

    fn unparsed(&self, text: &[u8], position: LinePosition, worker: &mut WorkerState, findings: &mut Findings) {
        findings.lines.unparsed += 1;
        findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
        if !self.in_window(None, findings) {
            return;
        }
        let verdict = self.matcher.match_raw(text, worker);
        if verdict.rules == SymbolTables::EMPTY_RULES {
            return record_mentions(text, worker, findings);
        }
        let mut hit = position.hit();
        hit.client = worker.names.clients.intern(b"");
        let summary = self.summary(verdict.rules, worker);
        self.record_hit(hit, summary, verdict.path, (text, None), || None, worker, findings);
    }

    /// Whether a line is between `--since` and `--until`. A line without a time is, and is counted.
    fn in_window(&self, time: Option<PackedTime>, findings: &mut Findings) -> bool {
        let ScanOptions { since, until, .. } = self.options;
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

/// Bytes of an unparsed line that are searched for client addresses, and the most addresses that are recorded. Nearly all formats
/// have the client among the first fields; fields that a client controls, such as the referer, come later.
const MENTION_BYTES: usize = 256;
const MENTIONS: usize = 4;

/// Records the clients that may have sent an unparsed line.
#[cold]
fn record_mentions(text: &[u8], worker: &mut WorkerState, findings: &mut Findings) {
    let start = &text[..text.len().min(MENTION_BYTES)];
    for client in Client::addresses_in(start).take(MENTIONS) {
        let number = worker.names.clients.intern_grouped(client);
        findings.mentioned.push(number);
    }
}

/// Touches a byte so that the system maps its page: a prefetch of an unmapped page does nothing.
#[inline]
fn prefault(lines: &[u8], at: usize) {
    black_box(lines.get(at).copied());
}

/// Prefetches as many bytes as a line usually has, so that they arrive while earlier lines are scanned.
#[inline]
fn prefetch_line(lines: &[u8], at: usize) {
    if let Some(part) = lines.get(at..at + 256) {
        part.iter().step_by(64).for_each(prefetch);
    }
}
