//! The line loop: splits text into lines, counts each line, matches requests in batches, and
//! records those that match a rule.
//!
//! Every line is parsed, unparsed or oversized; parsed and unparsed lines are matched. Only the
//! text of a matching line is copied. Formats of the Common Log Format family are scanned directly;
//! a log reader converts all others.

use std::hint::black_box;

use memchr::{memchr, memchr_iter};

use super::parsed_request::is_refused_login;
use super::verdict_cache::{CacheKey, CachedVerdicts, SelectedIndices};
use super::{Matcher, Verdict, WorkerState, path_interner};
use crate::collections::fingerprint::Fingerprint;
use crate::collections::intern::SymbolTables;
use crate::collections::prefetch::prefetch;
use crate::engine::newline_index::{BLOCK, NewlineIndex, QuotePositions};
use crate::engine::worker_state::RuleSummary;
use crate::formats::bytes::{leading_nuls, nuls_within};
use crate::formats::reader::{LineContext, LineKind, LogReader};
use crate::formats::{EntryBuffer, Frame, LogFormat, W3cHeader};
use crate::log::client::Client;
use crate::log::finding::{
    AppAsset, Findings, Hit, RuleId, Severity, UnmatchedAnswer, UnmatchedRequest, Windows,
};
use crate::log::log_entry::{Outcome, RequestLine};
use crate::log::time::{LogTime, PackedTime, TimeBound};
use crate::rules::{AllowList, By, RuleSet};
use crate::soft_404::MethodClass;

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
    pub unmatched: bool,
    /// Whether to record requests for rules with a `window` or `guess`. A single such request is no
    /// finding, so only callers that count requests need them.
    pub windows: bool,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            format: None,
            since: None,
            until: None,
            allow: AllowList::default(),
            max_line: 1 << 20,
            unmatched: false,
            windows: false,
        }
    }
}

/// Prefetch distance, in bytes.
const PREFETCH_DISTANCE: usize = 64 << 10;

/// Requests in a batch.
const BATCH: usize = 64;

/// A parsed request that waits for its batch.
struct BatchedRequest<'t> {
    position: ChunkPosition,
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
        Self {
            rules,
            matcher: Matcher::new(rules),
            options,
        }
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
            prefault(lines, start + BLOCK + PREFETCH_DISTANCE - 1);
            if let Some(&last) = index.newlines().last() {
                for line in ScannedLine::each(block, start, &index) {
                    prefetch_line(lines, line.offset as usize + PREFETCH_DISTANCE);
                    self.scan_line(line, &mut batch, worker, &mut findings);
                }
                start += last as usize + 1;
            } else {
                let (line, len) = ScannedLine::long(&lines[start..], start, &mut findings);
                if let Some(line) = line {
                    self.scan_long_line(line, &mut batch, worker, &mut findings);
                }
                start += len;
            }
        }
        self.match_batch(&mut batch, worker, &mut findings);
        findings.times = std::mem::take(&mut worker.span).ends();
        findings.days = worker.days.take();
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
        let Some(frame) =
            Frame::locate_by(text, self.options.format, |from| quotes.first(text, from))
        else {
            // Hits must be in line order.
            self.match_batch(batch, worker, findings);
            return self.unparsed(text, position, worker, findings);
        };
        findings.lines.parsed[frame.format() as usize] += 1;
        findings.lines.nul_bytes += nuls_within(text) as u64;
        let time = worker.clock.parse(frame.time);
        self.push_request(
            BatchedRequest {
                position,
                frame,
                time,
            },
            batch,
            worker,
            findings,
        );
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
        if self.in_window(request.time, findings) {
            if let Some(time) = request.time {
                worker.span.add(time);
                worker.days.add(time);
            }
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

    fn unparsed(
        &self,
        text: &[u8],
        position: ChunkPosition,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
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
        if let Some(mut hit) = self.reported_hit(hit, summary, verdict.path, None, worker, findings)
        {
            hit.host = worker.names.host(None);
            findings.push(hit, &worker.buffers.matched);
        }
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
        !since.is_some_and(|bound| bound.is_after(time))
            && until.is_none_or(|bound| bound.is_after(time))
    }
}

/// Bytes of an unparsed line that are searched for client addresses, and the most addresses that
/// are recorded. Nearly all formats have the client among the first fields; fields that a client
/// controls, such as the referer, come later.
const MENTION_BYTES: usize = 256;
const MAX_MENTIONS: usize = 4;

/// Records the clients that may have sent an unparsed line.
#[cold]
fn record_mentions(text: &[u8], worker: &mut WorkerState, findings: &mut Findings) {
    let start = &text[..text.len().min(MENTION_BYTES)];
    for client in Client::addresses_in(start).take(MAX_MENTIONS) {
        let number = worker.names.clients.intern_grouped(client);
        findings.mentioned.push(number);
    }
}

/// Touches a byte so that the system maps its page: a prefetch of an unmapped page does nothing.
#[inline]
fn prefault(lines: &[u8], at: usize) {
    black_box(lines.get(at).copied());
}

/// Prefetches as many bytes as a line usually has, so that they arrive while earlier lines are
/// scanned.
#[inline]
fn prefetch_line(lines: &[u8], at: usize) {
    if let Some(part) = lines.get(at..at + 256) {
        part.iter().step_by(64).for_each(prefetch);
    }
}

impl LineScanner<'_> {
    /// Matches a batch, one step for all requests before the next step. A lookup in a large table
    /// costs as much as a hundred instructions; independent lookups overlap their cache misses.
    fn match_batch(
        &self,
        batch: &mut Vec<BatchedRequest<'_>>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        if batch.is_empty() {
            return;
        }
        let mut requests = [(0, UnmatchedAnswer::default()); BATCH];
        for (request, (_, answer)) in batch.iter().zip(&mut requests) {
            *answer = UnmatchedAnswer::new(request.frame.status, request.frame.bytes);
        }
        let has_unknown = !self.rules.unknown().is_empty();
        let texts = batch.iter().zip(&requests).map(|(request, (_, answer))| {
            (
                request.frame.request,
                request.frame.headers,
                has_unknown && answer.may_be_unknown_name(),
            )
        });
        let keys: [CacheKey; BATCH] = worker.cache.keys(texts);
        let mut fingerprints = [Fingerprint::default(); BATCH];
        worker.names.clients.fingerprints(
            batch.iter().map(|request| request.frame.client),
            &mut fingerprints,
        );
        for ((request, fingerprint), (client, _)) in
            batch.iter().zip(fingerprints).zip(&mut requests)
        {
            *client = worker
                .names
                .clients
                .intern_by(fingerprint, request.frame.client);
        }
        let mut cached = CachedVerdicts::<BATCH>::default();
        worker
            .cache
            .get_each(&keys[..batch.len()], |n| batch[n].frame.status, &mut cached);
        let mut selected = SelectedIndices::<BATCH>::default();
        for (n, request) in batch.iter().enumerate() {
            let is_selected = !cached.is_known_to_match_nothing(n)
                || self.options.unmatched
                || request.frame.is_home_page()
                || request.frame.status == Some(401);
            selected.push_if(n, is_selected);
        }
        for n in selected.iter() {
            let (request, client) = (&batch[n], requests[n].0);
            let verdict = match request.frame.status {
                Some(401) => self.verdict_of_refused(request, worker),
                _ => cached
                    .get(n)
                    .unwrap_or_else(|| self.verdict(request, worker)),
            };
            if request.frame.is_home_page() {
                record_home_page(request, worker, findings);
                requests[n].1 = UnmatchedAnswer::default();
            }
            if verdict.rules != SymbolTables::EMPTY_RULES {
                requests[n].1 = UnmatchedAnswer::default();
                let hits = findings.hits.len();
                self.record_request(request, client, verdict, worker, findings);
                if let Some(hit) = findings.hits.get_mut(hits) {
                    hit.request = (findings.requests.len() + n) as u32;
                }
            } else if self.options.unmatched {
                record_unmatched(request, client, worker, findings);
            }
        }
        findings
            .requests
            .extend_from_slice(&requests[..batch.len()]);
        batch.clear();
    }

    #[cold]
    fn verdict(&self, request: &BatchedRequest<'_>, worker: &mut WorkerState) -> Verdict {
        // The same request may have occurred earlier in the batch.
        let may_be_unknown = self.matcher.may_be_unknown(request.frame.status);
        let cached = worker.cached_verdict(
            request.frame.request,
            request.frame.headers,
            request.frame.status,
            may_be_unknown,
        );
        cached.unwrap_or_else(|| {
            self.matcher.verdict(
                &request.frame.record(request.time()),
                request.frame.headers,
                worker,
            )
        })
    }

    /// The verdict of a request with status 401. It depends on whether the client sent a user,
    /// which the cache does not know.
    #[cold]
    fn verdict_of_refused(
        &self,
        request: &BatchedRequest<'_>,
        worker: &mut WorkerState,
    ) -> Verdict {
        let entry = request.frame.record(request.time());
        if is_refused_login(&entry) {
            self.matcher.match_uncached(&entry, worker)
        } else {
            self.verdict(request, worker)
        }
    }

    fn record_request(
        &self,
        request: &BatchedRequest<'_>,
        client: u32,
        verdict: Verdict,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        let BatchedRequest {
            position, frame, ..
        } = request;
        let entry = frame.record(request.time());
        let mut hit = position.hit();
        (hit.parsed, hit.client, hit.time, hit.status, hit.bytes) =
            (true, client, entry.time, entry.status, entry.bytes);
        set_request(
            &mut hit,
            entry.request,
            worker.names.paths.resolve(verdict.path),
        );
        let summary = self.summary(verdict.rules, worker);
        if summary.app_evidence != SymbolTables::EMPTY_RULES {
            record_app_evidence(&hit, summary.app_evidence, frame, worker, findings);
        }
        if self.options.unmatched && !summary.is_certain {
            record_unmatched(request, client, worker, findings);
        }
        if let Some(mut hit) = self.reported_hit(
            hit,
            summary,
            verdict.path,
            entry.user_agent,
            worker,
            findings,
        ) {
            hit.host = worker.names.host(entry.host);
            findings.push_entry(hit, &entry);
        }
    }

    /// The hit of a request that matches a rule. A request that an allow list entry excuses is
    /// counted.
    fn reported_hit(
        &self,
        mut hit: Hit,
        summary: RuleSummary,
        path: u32,
        user_agent: Option<&[u8]>,
        worker: &WorkerState,
        findings: &mut Findings,
    ) -> Option<Hit> {
        if summary.rules == SymbolTables::EMPTY_RULES {
            return None;
        }
        let names = &worker.names;
        if !self.options.allow.entries().is_empty()
            && let Some(entry) = self.options.allow.entry_for(
                names.clients.resolve(hit.client),
                names.paths.resolve(path),
                user_agent,
            )
        {
            findings.allowed.push((entry, hit.client));
            return None;
        }
        (hit.rules, hit.path, hit.exposes, hit.windows) =
            (summary.rules, path, summary.exposes, summary.windows);
        hit.needs_client = summary.needs_client;
        // A line without a client counts for no client. Few rules count, and the lookup is slow.
        if hit.windows.by_client {
            let client = names.clients.resolve(hit.client);
            hit.windows.by_client = !matches!(client, Client::Text(b"" | b"-"));
        }
        Some(hit)
    }

    /// The summary of a list of rules.
    fn summary(&self, list: u32, worker: &mut WorkerState) -> RuleSummary {
        let WorkerState {
            names, summaries, ..
        } = worker;
        let at = list as usize;
        if let Some(Some(cached)) = summaries.get(at) {
            return *cached;
        }
        let counts =
            |&&rule: &&RuleId| self.options.windows || !self.rules.rule(rule).counts_requests();
        let counted = names.rules.resolve(list).iter().filter(counts);
        let (app_evidence, mut rules): (Vec<RuleId>, Vec<RuleId>) =
            counted.partition(|&&rule| self.rules.rule(rule).is_app_evidence);
        let is_certain = rules.iter().any(|&rule| self.rules.rule(rule).is_certain());
        if rules
            .iter()
            .map(|&rule| self.rules.rule(rule))
            .any(|rule| rule.is_certain() && rule.severity > Severity::Info)
        {
            // The line alone is a hit, whatever else its client requested.
            rules.retain(|&rule| self.rules.rule(rule).with_client.is_none());
        }
        let exposes = rules.iter().any(|&rule| self.rules.rule(rule).exposes());
        let counts_by = |by| {
            rules.iter().any(|&rule| {
                self.rules
                    .rule(rule)
                    .window
                    .is_some_and(|window| window.by == by)
            })
        };
        let windows = Windows {
            by_client: counts_by(By::Client),
            by_path: counts_by(By::Path),
            only: rules
                .iter()
                .all(|&rule| self.rules.rule(rule).counts_requests()),
        };
        let needs_client = !is_certain
            && rules
                .iter()
                .any(|&rule| self.rules.rule(rule).with_client.is_some());
        let [app_evidence, rules] =
            [app_evidence, rules].map(|rules| names.rules.intern(&*rules, Box::from));
        let new = RuleSummary {
            app_evidence,
            rules,
            exposes,
            is_certain,
            needs_client,
            windows,
        };
        summaries.resize(summaries.len().max(at + 1), None);
        summaries[at] = Some(new);
        new
    }
}

/// Sets the parts of the request that soft 404 detection compares.
fn set_request(hit: &mut Hit, request: &[u8], path: &[u8]) {
    let line = RequestLine::parse(request);
    hit.method = MethodClass::from_method(line.method);
    hit.extra = line.len_beyond(path);
    hit.has_query = line.has_query();
}

/// Records the size of the home page.
fn record_home_page(
    request: &BatchedRequest<'_>,
    worker: &mut WorkerState,
    findings: &mut Findings,
) {
    if let (Some(200), Some(bytes @ 1..)) = (request.frame.status, request.frame.bytes) {
        findings
            .home
            .record(worker.names.host(request.frame.host), bytes);
    }
}

/// Records app assets that were served to a client.
fn record_app_evidence(
    hit: &Hit,
    apps: u32,
    frame: &Frame<'_>,
    worker: &mut WorkerState,
    findings: &mut Findings,
) {
    if !matches!(hit.status, Some(200..=299)) {
        return;
    }
    let host = worker.names.host(frame.host);
    let asset = AppAsset {
        client: hit.client,
        size: hit.bytes.unwrap_or(0),
        request_len: frame.request.len(),
    };
    for &app in worker.names.rules.resolve(apps) {
        findings.app_evidence.record(app, host, asset);
    }
}

/// Records a request that no rule matches, if `learn` can propose its path.
fn record_unmatched(
    request: &BatchedRequest<'_>,
    client: u32,
    worker: &mut WorkerState,
    findings: &mut Findings,
) {
    let BatchedRequest {
        position, frame, ..
    } = request;
    let (time, status) = (request.time(), frame.status);
    let Some(path) = worker.path_ids.intern(frame.request, &mut worker.names) else {
        return;
    };
    let mut unmatched = UnmatchedRequest::new(position.line, position.offset, client, path);
    (unmatched.time, unmatched.status) = (time, status);
    unmatched.level = worker.names.clients.resolve(client).sample_level();
    unmatched.linked = Outcome::from_status(status) == Outcome::Answered
        && path_interner::is_linked(&frame.record(time));
    let example = path_interner::example(frame.request);
    let is_path = &**worker.names.paths.resolve(path) == example;
    findings.push_unmatched(unmatched, if is_path { b"" } else { example });
}

/// A line that is not parsed yet.
#[derive(Clone, Copy)]
struct ScannedLine<'t, 'i> {
    text: &'t [u8],
    /// Its start in the chunk.
    offset: u64,
    quotes: QuotePositions<'i>,
}

/// The position of a line in its chunk.
#[derive(Clone, Copy)]
struct ChunkPosition {
    line: u32,
    offset: u64,
}

impl<'t, 'i> ScannedLine<'t, 'i> {
    /// The lines that end in a block; the block starts at byte `start` of its chunk.
    #[inline]
    fn each(
        block: &'t [u8],
        start: usize,
        index: &'i NewlineIndex,
    ) -> impl Iterator<Item = Self> + Clone {
        let mut from = 0;
        index.newlines().iter().map(move |&newline| {
            let end = newline as usize;
            let line = Self {
                text: &block[from..end],
                offset: (start + from) as u64,
                quotes: QuotePositions::Indexed(index, from),
            };
            from = end + 1;
            line
        })
    }

    /// A line that is longer than a block, or the last one without its newline, and its length in
    /// bytes. A rest of NULs is a hole of a sparse file and no line; its bytes are counted.
    #[cold]
    fn long(rest: &'t [u8], start: usize, findings: &mut Findings) -> (Option<Self>, usize) {
        let newline = memchr(b'\n', rest);
        let text = &rest[..newline.unwrap_or(rest.len())];
        if newline.is_none() && text.iter().all(|&b| b == 0) {
            findings.lines.nul_bytes += text.len() as u64;
            return (None, text.len());
        }
        (
            Some(Self {
                text,
                offset: start as u64,
                quotes: QuotePositions::Unknown,
            }),
            text.len() + 1,
        )
    }

    /// Counts the line and its leading NULs; returns position, text and quotes after the NULs.
    #[expect(clippy::inline_always, reason = "in the line loop")]
    #[inline(always)]
    fn count(self, findings: &mut Findings) -> (ChunkPosition, &'t [u8], QuotePositions<'i>) {
        let nuls = leading_nuls(self.text);
        if nuls > 0 {
            findings.lines.nul_bytes += nuls as u64;
        }
        let position = ChunkPosition {
            line: findings.lines.lines as u32,
            offset: self.offset + nuls as u64,
        };
        findings.lines.lines += 1;
        (position, &self.text[nuls..], self.quotes.skip(nuls))
    }
}

impl ChunkPosition {
    fn hit(self) -> Hit {
        Hit::at(self.line, self.offset)
    }
}

/// The reader of other formats, and its state between blocks.
struct AnyFormatReader<'r, 'f> {
    log_reader: &'r mut LogReader,
    context: &'r LineContext<'f>,
    /// The current W3C header.
    header: W3cHeader,
    buffer: EntryBuffer,
    /// Lines by format id.
    read: [u64; 256],
}

impl LineScanner<'_> {
    /// Scans a chunk of whole lines in any format; the last one may lack its newline.
    #[must_use]
    pub fn scan_any(
        &self,
        lines: &[u8],
        context: &LineContext<'_>,
        log_reader: &mut LogReader,
        worker: &mut WorkerState,
    ) -> Findings {
        let buffer = std::mem::take(&mut worker.entries);
        let mut reader = AnyFormatReader {
            log_reader,
            context,
            header: context.header.clone(),
            buffer,
            read: [0; 256],
        };
        let mut findings = worker.findings();
        let mut index = std::mem::take(&mut worker.index);
        let mut start = 0;
        while start < lines.len() {
            let block = &lines[start..lines.len().min(start + BLOCK)];
            index.read(block);
            prefault(lines, start + BLOCK + PREFETCH_DISTANCE - 1);
            if let Some(&last) = index.newlines().last() {
                let prefetch_line = |line: ScannedLine<'_, '_>| {
                    prefetch_line(lines, line.offset as usize + PREFETCH_DISTANCE);
                };
                self.scan_read(
                    ScannedLine::each(block, start, &index),
                    prefetch_line,
                    &mut reader,
                    worker,
                    &mut findings,
                );
                start += last as usize + 1;
            } else {
                let (line, len) = ScannedLine::long(&lines[start..], start, &mut findings);
                self.scan_read(line.into_iter(), |_| (), &mut reader, worker, &mut findings);
                start += len;
            }
        }
        findings.times = std::mem::take(&mut worker.span).ends();
        findings.days = worker.days.take();
        for (id, lines) in context.formats.ids().zip(reader.read) {
            findings.lines.others.count(context.name(id), lines);
        }
        worker.index = index;
        worker.entries = reader.buffer;
        findings
    }

    /// Reads all lines first, then matches them: matching borrows from the buffer that reading
    /// fills.
    fn scan_read<'t, 'i>(
        &self,
        lines: impl Iterator<Item = ScannedLine<'t, 'i>> + Clone,
        before_each: impl Fn(ScannedLine<'_, '_>),
        reader: &mut AnyFormatReader<'_, '_>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        let AnyFormatReader {
            log_reader,
            context,
            header,
            buffer,
            read,
        } = reader;
        buffer.clear();
        for line in lines.clone() {
            before_each(line);
            log_reader.read_into(
                line.text,
                context,
                header,
                |from| line.quotes.first(line.text, from),
                buffer,
            );
        }
        let mut batch = Vec::with_capacity(BATCH);
        for (number, (line, kind)) in lines.zip(buffer.kinds()).enumerate() {
            let format = match *kind {
                LineKind::AsIs => {
                    self.scan_line(line, &mut batch, worker, findings);
                    continue;
                }
                LineKind::Directive => {
                    skip_line(line, findings);
                    continue;
                }
                LineKind::As(format) => format,
                LineKind::AsDoubtful(format) => {
                    findings.lines.doubtful_clients += 1;
                    format
                }
                LineKind::WithoutClient(format) => {
                    findings.lines.without_client += 1;
                    format
                }
            };
            // A line of the Common Log Format family, after a prefix, counts as that format.
            let at = usize::from(format.0);
            *findings.lines.parsed.get_mut(at).unwrap_or(&mut read[at]) += 1;
            let (frame, time) = buffer.frame(number, line.text);
            let (position, text, _) = line.count(findings);
            findings.lines.nul_bytes += nuls_within(text) as u64;
            self.push_request(
                BatchedRequest {
                    position,
                    frame,
                    time,
                },
                &mut batch,
                worker,
                findings,
            );
        }
        self.match_batch(&mut batch, worker, findings);
    }
}

/// Counts a directive of the log writer.
fn skip_line(line: ScannedLine<'_, '_>, findings: &mut Findings) {
    line.count(findings);
    findings.lines.skipped += 1;
}
