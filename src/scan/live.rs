//! Takes the lines of live logs as they come, tells each hit at once, and keeps the sums for a summary.
//!
//! One thread, so that the hits of a log are told in the order of its lines. SiteHistory is bounded: a summary covers the time
//! since its tally was last begun anew, and says so. It reads nothing, prints nothing and knows no clock.

mod log;

use self::log::LiveLog;
use super::any_format::AnyFormatScanner;
use super::input_stats::PathStats;
use super::log_detection::{FoundBy, classify_unparsed, unknown_client_notice};
use crate::analysis::build::{LogAnalysis, ReportInput, RowSelection, build};
use crate::analysis::hit::{HitBuffers, LiveHit, LiveLine, ReportReason, live_hit};
use crate::analysis::model::{InputSummary, Report};
use crate::analysis::rule_status::{LiveAnalysis, PendingHit};
use crate::analysis::site::SiteHistory;
use crate::client::Ipv6Prefix;
use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::finding::{Findings, Hit, RuleId, Severity};
use crate::formats::reader::LineContext;
use crate::formats::{Formats, W3cHeader};
use crate::input::chunk::{Body, Chunk};
use crate::input::tail::{LineChunk, Notice};
use crate::intern::SymbolTables;
use crate::log_entry::Outcome;
use crate::rules::RuleSet;
use crate::source::SourceInfo;
use crate::tally::{LinePosition, Tally};
use crate::time::LogTime;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Distinct clients, paths or cells after which a tally is closed and another one begun.
const MAX_TALLY_ENTRIES: usize = 200_000;
/// Paths of logs after which all tallies are begun anew.
const MAX_PATHS: usize = 100_000;
/// Generations that are remembered beside the newest one of each path.
const MAX_OLD_GENERATIONS: usize = 1_000;
/// Bytes of a file found in a folder that wait for its first line that parses: it may be no log at all.
const MAX_HELD_BYTES: usize = 64 << 10;

/// What is job for.
#[derive(Debug, Clone, Copy)]
pub struct LiveJob<'a> {
    /// The rules.
    pub rules: &'a RuleSet,
    /// What to look at and what to keep.
    pub scope: &'a ScanOptions,
    /// The formats that are known.
    pub formats: &'a Formats,
    /// Report from this level on.
    pub min_severity: Severity,
    /// Outcomes to report; all where empty.
    pub outcomes: &'a [Outcome],
    /// Apps that are said to run everywhere.
    pub apps: &'a [RuleId],
    /// Which IPv6 addresses are one client; `None` for each by itself.
    pub prefix: Option<Ipv6Prefix>,
}

/// Live logs on their way through the engine.
#[derive(Debug)]
pub struct LiveScan<'a> {
    job: LiveJob<'a>,
    judge: LineScanner<'a>,
    context: LiveAnalysis<'a>,
    scratch: WorkerState,
    any_format: AnyFormatScanner,
    tally: Tally,
    rolling_tally: RollingTally,
    texts: Vec<SourceInfo>,
    logs: HashMap<u32, LiveLog>,
    path_stats: PathStats,
    /// Hits that were told.
    hits: u64,
    desk: HitBuffers,
    /// What a person wants to know of the logs, and the logs of which something was said.
    notices: Vec<Notice>,
    noted: HashSet<PathBuf>,
}

/// What outlives the rules of a stream: where lines went, and which logs they are from.
#[derive(Debug, Default)]
pub struct LiveState {
    rolling_tally: RollingTally,
    texts: Vec<SourceInfo>,
    logs: HashMap<u32, LiveLog>,
    path_stats: PathStats,
    hits: u64,
    noted: HashSet<PathBuf>,
    /// What sites answered, for the context of other rules.
    sites: SiteHistory,
}

/// Where a run of lines stands in its log.
#[derive(Debug, Clone, Copy)]
struct RunPosition {
    offset: u64,
    lines_before: u64,
    bytes: u64,
}

/// What became of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PieceStats {
    /// Requests in it.
    pub requests: u64,
    /// Lines in it.
    pub lines: u64,
}

impl LiveState {
    /// Before the first line, with what earlier runs recorded of the sites.
    #[must_use]
    pub fn with_sites(sites: SiteHistory) -> Self {
        Self { sites, ..Self::default() }
    }
}

impl<'a> LiveScan<'a> {
    /// Goes on with the sums of another stream; with none, where nothing was read yet.
    #[must_use]
    pub fn new(job: LiveJob<'a>, state: LiveState) -> Self {
        let LiveState { rolling_tally, texts, logs, path_stats, hits, noted, sites } = state;
        Self {
            job,
            judge: LineScanner::new(job.rules, job.scope),
            context: LiveAnalysis::new(job.rules, job.min_severity, job.outcomes, job.apps).with_history(sites),
            scratch: scratch(job.prefix),
            any_format: AnyFormatScanner::default(),
            tally: Tally::default(),
            rolling_tally,
            texts,
            logs,
            path_stats,
            hits,
            desk: HitBuffers::with_prefix(job.prefix),
            notices: Vec::new(),
            noted,
        }
    }

    /// What goes on under other rules. Hits are let go: their rules are.
    #[must_use]
    pub fn into_state(mut self, now: i64) -> LiveState {
        let sites = self.sites(now).clone();
        let Self { texts, logs, path_stats, hits, noted, .. } = self;
        LiveState { rolling_tally: RollingTally::with_earlier_hits_dropped(), texts, logs, path_stats, hits, noted, sites }
    }

    /// Hits that were told, those before the last reload too.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Lines that were read.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.path_stats.lines()
    }

    /// Lines that were read of the logs at a path.
    #[must_use]
    pub fn lines_of(&self, path: &[u8]) -> u64 {
        self.path_stats.lines_of(path)
    }

    /// What a person wants to know of the logs, once.
    pub fn notices(&mut self) -> Vec<Notice> {
        mem::take(&mut self.notices)
    }

    /// Says of a log that is there before the first line comes what it is, where its lines do not parse.
    pub fn check_log(&mut self, path: &Path, is_named: bool) {
        let LiveJob { scope, formats, .. } = self.job;
        let by = if is_named { FoundBy::Name } else { FoundBy::Folder };
        let (_, what) = classify_unparsed(path, by, b"", formats, scope);
        self.add_notice(path, what);
    }

    /// Says something of a log, once.
    fn add_notice(&mut self, path: &Path, what: Option<String>) {
        let Some(what) = what else { return };
        if self.noted.insert(path.to_owned()) {
            self.notices.push(Notice { path: path.to_owned(), what, problem: false });
        }
    }

    /// Judges the lines of a piece, and tells each that matched.
    ///
    /// # Errors
    ///
    /// What `each` could not do. The lines count as stats.
    pub fn process<E>(&mut self, piece: &LineChunk<'_>, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<PieceStats, E> {
        let mut log = self.logs.remove(&piece.log).unwrap_or_else(|| LiveLog::new(piece, self.source_info(piece), self.job.scope.max_line));
        let done = self.process_lines(&mut log, piece, each).and_then(|stats| self.regrade(each).map(|()| stats));
        self.logs.insert(piece.log, log);
        self.evict_if_full();
        done
    }

    fn process_lines<E>(
        &mut self,
        log: &mut LiveLog,
        piece: &LineChunk<'_>,
        each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<PieceStats, E> {
        let Chunk { offset, body } = piece.chunk;
        let header = log.advance_header(body, self.job.scope.max_line);
        let findings = match body {
            Body::Lines(lines) => self.scan_lines(lines, log, header.clone()),
            Body::Oversized { .. } => Findings::of_oversized_line(),
        };
        log.is_known |= findings.lines.parsed() > 0;
        if !log.is_known && !log.is_examined {
            log.is_examined = true;
            let lines = if let Body::Lines(lines) = body { lines } else { b"" };
            let (is_known, what) = classify_unparsed(piece.path, FoundBy::from_piece(piece), lines, self.job.formats, self.job.scope);
            log.is_known = is_known;
            self.add_notice(piece.path, what);
        }
        if !log.is_known {
            log.hold(piece.chunk, piece.lines_before, header, MAX_HELD_BYTES);
            return Ok(PieceStats::default());
        }
        let mut stats = PieceStats::default();
        for held in log.release() {
            let findings = self.scan_lines(&held.lines, log, held.header);
            let run = RunPosition { offset: held.offset, lines_before: held.lines_before, bytes: held.lines.len() as u64 };
            stats.add(self.record_findings(log, findings, run, each)?);
        }
        let bytes = match body {
            Body::Lines(lines) => lines.len() as u64,
            Body::Oversized { bytes } => bytes,
        };
        stats.add(self.record_findings(log, findings, RunPosition { offset, lines_before: piece.lines_before, bytes }, each)?);
        Ok(stats)
    }

    /// Weighs what sites answered so far, and reports hits whose grade changed by that.
    ///
    /// # Errors
    ///
    /// What `each` could not do.
    pub fn regrade_all<E>(&mut self, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<(), E> {
        self.context.update_grader();
        self.regrade(each)
    }

    /// What sites answered, for the next run. `now` is in seconds since 1970.
    pub fn sites(&mut self, now: i64) -> &SiteHistory {
        self.context.history(now)
    }

    /// Reports hits again whose grade changed.
    fn regrade<E>(&mut self, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.context.has_ungraded() {
            return Ok(());
        }
        for regraded in self.context.regrade() {
            let occasion = ReportReason::Regraded { may_alert: regraded.may_alert };
            let told = live_hit(&mut self.context, &regraded.line.line(), occasion, &mut self.desk);
            if told.is_reported() {
                each(&told)?;
            }
        }
        Ok(())
    }

    fn scan_lines(&mut self, lines: &[u8], log: &LiveLog, header: W3cHeader) -> Findings {
        let LiveJob { scope, formats, .. } = self.job;
        let path = Path::new(OsStr::from_bytes(&log.path));
        let mut context = LineContext {
            formats,
            preferred: formats.preferred_for(path),
            header,
            clients: log.clients.current(),
            max_line: scope.max_line,
        };
        let findings = self.any_format.scan(self.judge, scope, lines, &context, &mut self.scratch);
        let Some(place) = log.clients.detect(findings.lines.without_client, path, true) else { return findings };
        context.clients = place;
        self.scratch.recycle(findings);
        self.any_format.scan(self.judge, scope, lines, &context, &mut self.scratch)
    }

    /// Counts what was found in a run of lines, and tells the hits.
    fn record_findings<E>(
        &mut self,
        log: &mut LiveLog,
        findings: Findings,
        run: RunPosition,
        each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<PieceStats, E> {
        let stats = PieceStats { requests: findings.requests(), lines: findings.lines.lines };
        self.path_stats.count(&log.path, run.bytes, &findings);
        self.note_unknown_clients(log, &findings);
        let place = LinePosition { input: log.text, chunk: run.offset, offset: 0, line: run.lines_before };
        self.tally.add_findings(&findings, place);
        self.context.record_app_evidence(&findings.signs, &self.scratch.names, &log.family);
        self.context.record_home_pages(&findings.home, &self.scratch.names, &log.family);
        for hit in &findings.hits {
            self.emit_hit(log, &findings, hit, place, each)?;
        }
        self.scratch.recycle(findings);
        Ok(stats)
    }

    /// Says once of a log that the client of some of its lines is unknown.
    fn note_unknown_clients(&mut self, log: &LiveLog, findings: &Findings) {
        if findings.lines.without_client == 0 {
            return;
        }
        let path = Path::new(OsStr::from_bytes(&log.path));
        let what = unknown_client_notice(findings.lines.without_client, !self.job.formats.preferred_for(path).is_empty());
        self.add_notice(path, what);
    }

    fn emit_hit<E>(
        &mut self,
        log: &LiveLog,
        findings: &Findings,
        hit: &Hit,
        place: LinePosition,
        each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = LiveLine {
            generation: log.generation,
            source: &log.path,
            family: &log.family,
            offset: place.chunk + hit.offset,
            line: place.line + u64::from(hit.line) + 1,
            text: findings.text(hit),
            parsed: hit.parsed,
            rules: self.scratch.names.rules.resolve(hit.rules),
        };
        let mut late = Vec::new();
        let told = live_hit(&mut self.context, &line, ReportReason::New(&mut late), &mut self.desk);
        self.hits += u64::from(told.is_reported());
        each(&told)?;
        let (client, may_come_late) = (told.hit.client, told.may_be_promoted);
        if may_come_late {
            self.context.hold(client, PendingHit::new(&line));
        }
        for line in late {
            let told = live_hit(&mut self.context, &line.line(), ReportReason::Promoted, &mut self.desk);
            if told.is_reported() {
                self.hits += 1;
                each(&told)?;
            }
        }
        Ok(())
    }

    /// The number of the text at a piece's path. All generations of a path are one to a summary: it would grow with every
    /// rotation otherwise.
    fn source_info(&mut self, piece: &LineChunk<'_>) -> u32 {
        let text = log::source_info(piece);
        let known = self.texts.iter().position(|known| known.path == text.path);
        let number = known.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        number as u32
    }

    fn evict_if_full(&mut self) {
        let names = &self.scratch.names;
        if [names.clients.len(), names.paths.keys().len(), self.tally.len(), self.tally.minutes().len()]
            .into_iter()
            .any(|count| count >= MAX_TALLY_ENTRIES)
        {
            self.roll_up_tally();
            self.rolling_tally.begin_period();
        }
        if self.texts.len() >= MAX_PATHS {
            self.rolling_tally = RollingTally::with_earlier_hits_dropped();
            (self.tally, self.scratch) = (Tally::default(), scratch(self.job.prefix));
            self.texts.clear();
            self.logs.clear();
        }
        self.drop_old_generations();
    }

    /// Lets the older half of the generations go when they are many: one that has more to say is met anew.
    fn drop_old_generations(&mut self) {
        let kept = self.texts.len() + MAX_OLD_GENERATIONS;
        if self.logs.len() > 2 * kept {
            let mut numbers: Vec<u32> = self.logs.keys().copied().collect();
            numbers.sort_unstable();
            let first = numbers[numbers.len() - kept];
            self.logs.retain(|number, _| *number >= first);
        }
    }

    /// Puts what was tallied to what was tallied before, with its names.
    fn roll_up_tally(&mut self) {
        let names = self.scratch.reset();
        self.rolling_tally.add(mem::take(&mut self.tally).with_names(names));
    }

    /// The report on what was read so far, for `use_it`. Sums of lines are exact; hits are those of the last rolling_tally, and since
    /// when is said where earlier ones are gone.
    pub fn summary<R>(&mut self, wanted: RowSelection, use_it: impl FnOnce(&mut Report<'_>, SummaryStart) -> R) -> R {
        self.roll_up_tally();
        let tally = self.rolling_tally.merged();
        let material = ReportInput {
            rules: self.job.rules,
            tally: &tally,
            texts: &self.texts,
            min_severity: self.job.min_severity,
            outcomes: self.job.outcomes,
            apps: self.job.apps,
            allow: &self.job.scope.allow,
        };
        let context = LogAnalysis::new(&material);
        let inputs = self.texts.iter().map(|text| InputSummary { path: text.path.clone(), ..InputSummary::default() }).collect();
        let mut report = build(&material, &context, inputs, self.path_stats.without_time(), wanted);
        self.path_stats.put_into(&mut report);
        use_it(&mut report, self.rolling_tally.since())
    }
}

/// A scratch for clients that are counted so.
fn scratch(prefix: Option<Ipv6Prefix>) -> WorkerState {
    let mut scratch = WorkerState::default();
    scratch.names = SymbolTables::with_prefix(prefix);
    scratch
}

impl PieceStats {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.lines += other.lines;
    }
}

/// The era before, and this one.
#[derive(Debug, Default)]
pub(super) struct RollingTally {
    before: Tally,
    now: Tally,
    dropped_earlier: bool,
}

/// From when on hits are in a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryStart {
    /// From the first line.
    Start,
    /// From this time on; earlier ones were forgotten.
    Time(Option<LogTime>),
}

impl RollingTally {
    /// Nothing yet, in a time before which much was forgotten.
    pub(super) fn with_earlier_hits_dropped() -> Self {
        Self { dropped_earlier: true, ..Self::default() }
    }

    /// Adds to this era.
    pub(super) fn add(&mut self, tally: Tally) {
        self.now.merge(tally);
    }

    /// Begins a new era.
    pub(super) fn begin_period(&mut self) {
        let before = mem::replace(&mut self.before, mem::take(&mut self.now));
        self.dropped_earlier |= !before.is_empty();
    }

    /// Both rolling_tally in one tally.
    pub(super) fn merged(&self) -> Tally {
        let mut merged = self.before.clone();
        merged.merge(self.now.clone());
        merged
    }

    /// How far back they reach.
    pub(super) fn since(&self) -> SummaryStart {
        if !self.dropped_earlier {
            return SummaryStart::Start;
        }
        let first = |tally: &Tally| tally.cells().filter_map(|view| Some(view.cell.times()?.0)).min();
        SummaryStart::Time([first(&self.before), first(&self.now)].into_iter().flatten().min())
    }
}

#[cfg(test)]
mod tests;
