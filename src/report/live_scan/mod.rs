//! Scans the lines of live logs, emits each hit at once, and keeps totals for a summary.
//!
//! Runs on one thread, so that hits are emitted in the order of the lines. Memory is bounded: a
//! summary covers the time since the last roll-over of the tally, and states it. Reads no files,
//! prints nothing and does not read the clock.

use crate::collections::intern::SymbolTables;
use crate::engine::{LineScanner, WorkerState};
use crate::formats::W3cHeader;
use crate::formats::reader::LogReader;
use crate::input::find::InputOrigin;
use crate::input::read::Body;
use crate::input::tail::{LineChunk, Notice};
use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::judge::rule_status::{AnswerChange, AnswerEvent, LiveAnalysis, LiveLine, SavedAnswers};
use crate::judge::site::SiteHistory;
use crate::log::client::Ipv6Prefix;
use crate::log::finding::{Findings, Hit};
use crate::log::source::SourceInfo;
use crate::log::time::LogTime;
use crate::report::anonymize::Privacy;
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::hit::{HitBuffers, LiveHit, ReportReason, alert_request, live_hit};
use crate::report::model::ReportModel;
use crate::scan::ScanJob;
use crate::scan::any_format::scan_any_format;
use crate::scan::input_stats::PathStats;
use crate::scan::input_summary::InputSummary;
use crate::scan::log::{HEAD_BYTES, ScannedLog};
use crate::tally::{LinePosition, RequestsSoFar, Tally};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of distinct clients or paths at which the tally is rolled over.
const MAX_TALLY_NAMES: usize = 200_000;
/// The number of cells, of counted minutes or of sites with evidence of an app at which it is, ...
const MAX_TALLY_ENTRIES: usize = 50_000;
/// ... and the bytes of their texts. A summary takes twice as much as two full tallies for a
/// moment.
const MAX_TALLY_TEXT: usize = 10 << 20;
/// The number of paths at which all tallies are reset.
const MAX_PATHS: usize = 100_000;
/// Generations that are kept in addition to the newest one of each path.
const MAX_OLD_GENERATIONS: usize = 1_000;
/// A scan of live logs.
#[derive(Debug)]
pub(crate) struct LiveScan<'a> {
    job: ScanJob<'a>,
    filter: ReportFilter<'a>,
    line_scanner: LineScanner<'a>,
    analysis: LiveAnalysis<'a>,
    worker_state: WorkerState,
    log_reader: LogReader,
    tally: Tally,
    state: LiveState,
    buffers: HitBuffers,
    notices: Vec<Notice>,
}

/// The part of a live scan that survives a reload of the rules: line counts and logs.
#[derive(Debug, Default)]
pub(crate) struct LiveState {
    rolling_tally: RollingTally,
    sources: Vec<SourceInfo>,
    logs: HashMap<u32, LiveLog>,
    path_stats: PathStats,
    /// The number of reported hits.
    hits: u64,
    /// Logs with a notice.
    noted: HashSet<PathBuf>,
    /// The response history of the sites, to grade hits of the new rules.
    sites: SiteHistory,
    /// The answers that wait or may be withdrawn.
    answers: SavedAnswers,
}

/// The position of some lines in their log.
#[derive(Debug, Clone, Copy)]
struct RunPosition {
    offset: u64,
    lines_before: u64,
    bytes: u64,
}

/// One generation of a live log.
#[derive(Debug)]
struct LiveLog {
    scanned: ScannedLog,
    generation: u64,
    /// The common part of its name and those of its rotated siblings.
    family: Vec<u8>,
    /// The number of its input.
    input: u32,
    /// There is a notice about fields that were not read.
    is_warned: bool,
    /// Lines of a file in a folder that may still show that it is an access log.
    held: Vec<HeldLines>,
}

/// Lines that are held back until a line shows a request.
#[derive(Debug)]
struct HeldLines {
    position: RunPosition,
    lines: Vec<u8>,
    header: W3cHeader,
}

impl LiveLog {
    fn new(line_chunk: &LineChunk<'_>, input: u32, job: &ScanJob<'_>) -> Self {
        Self {
            scanned: ScannedLog::of_chunk(line_chunk, job.formats, job.scan_options),
            generation: line_chunk.generation,
            family: source_info(line_chunk).family().to_vec(),
            input,
            is_warned: false,
            held: Vec::new(),
        }
    }

    /// Holds lines back. More than decide whether it is an access log are dropped: it is none.
    fn hold(&mut self, body: Body<'_>, position: RunPosition, header: W3cHeader) {
        let Body::Lines(lines) = body else { return };
        let held: u64 = self.held.iter().map(|held| held.position.bytes).sum();
        if !self.scanned.may_become_access_log() || held + position.bytes > HEAD_BYTES as u64 {
            self.held.clear();
        } else {
            self.held.push(HeldLines {
                position,
                lines: lines.to_vec(),
                header,
            });
        }
    }
}

/// The input of a chunk. Live lines are numbered from the start of the log, so no list of
/// chunks is needed.
fn source_info(line_chunk: &LineChunk<'_>) -> SourceInfo {
    SourceInfo::new(
        line_chunk.path.as_os_str().as_bytes().to_vec(),
        line_chunk.generation,
        Vec::new(),
    )
}

/// What was counted in a chunk of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ChunkStats {
    /// The number of requests.
    pub requests: u64,
    /// The number of lines.
    pub lines: u64,
    /// The number of lines that no format matches.
    pub unparsed: u64,
}

impl LiveState {
    /// The state before the first line, with the response history and the answers of earlier runs.
    #[must_use]
    pub(crate) fn of_earlier_runs(sites: SiteHistory, answers: SavedAnswers) -> Self {
        Self {
            sites,
            answers,
            ..Self::default()
        }
    }
}

impl<'a> LiveScan<'a> {
    /// Continues from the state of an earlier live scan.
    #[must_use]
    pub(crate) fn new(job: ScanJob<'a>, filter: ReportFilter<'a>, mut state: LiveState) -> Self {
        Self {
            job,
            filter,
            line_scanner: LineScanner::new(job.rules, job.scan_options),
            analysis: LiveAnalysis::new(
                job.rules,
                filter,
                mem::take(&mut state.sites),
                mem::take(&mut state.answers),
            ),
            worker_state: worker_state(job.prefix),
            log_reader: LogReader::default(),
            tally: Tally::default(),
            state,
            buffers: HitBuffers::with_prefix(job.prefix),
            notices: Vec::new(),
        }
    }

    /// The state to continue from with other rules. Hits are dropped, because they refer to the old
    /// rules.
    #[must_use]
    pub(crate) fn into_state(mut self, now: i64, privacy: &Privacy) -> LiveState {
        let (sites, answers) = (self.sites(now).clone(), self.answers(privacy));
        LiveState {
            rolling_tally: RollingTally::with_earlier_hits_dropped(),
            sites,
            answers,
            ..self.state
        }
    }

    /// The number of reported hits, including those before the last reload.
    #[must_use]
    pub(crate) fn hits(&self) -> u64 {
        self.state.hits
    }

    /// Whether so many lines that match a rule are in no known format that it is a problem.
    #[must_use]
    pub(crate) fn has_unparsed_hits(&self) -> bool {
        self.state.path_stats.has_unparsed_hits()
    }

    /// The number of lines that were read.
    #[must_use]
    pub(crate) fn lines(&self) -> u64 {
        self.state.path_stats.lines()
    }

    /// The number of lines that were read from the logs at a path.
    #[must_use]
    pub(crate) fn lines_of(&self, path: &[u8]) -> u64 {
        self.state.path_stats.lines_of(path)
    }

    /// Takes the pending notices.
    pub(crate) fn notices(&mut self) -> Vec<Notice> {
        mem::take(&mut self.notices)
    }

    /// Adds a notice about an existing log whose lines do not parse, before a new line arrives.
    pub(crate) fn check_log(&mut self, path: &Path, is_named: bool) {
        let ScanJob {
            scan_options,
            formats,
            ..
        } = self.job;
        let origin = InputOrigin::new(is_named, false);
        let log = ScannedLog::of_file(path, origin, formats, scan_options);
        self.add_notice(path, log.first_problem(formats, scan_options));
    }

    /// Adds a notice about a log, once per log.
    fn add_notice(&mut self, path: &Path, what: Option<String>) {
        let Some(what) = what else { return };
        if self.state.noted.insert(path.to_owned()) {
            self.notices.push(Notice {
                path: path.to_owned(),
                what,
                problem: false,
            });
        }
    }

    /// Scans the lines of a chunk and emits each hit, and the hits whose answer changed. `clock` is
    /// the time since the start of the run.
    ///
    /// # Errors
    ///
    /// An error of `emit`. The lines count as processed.
    pub(crate) fn process<E>(
        &mut self,
        line_chunk: &LineChunk<'_>,
        clock: Duration,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<ChunkStats, E> {
        self.analysis.answers.clock = clock;
        let mut log =
            self.state.logs.remove(&line_chunk.log).unwrap_or_else(|| {
                LiveLog::new(line_chunk, self.source_info(line_chunk), &self.job)
            });
        let done = self
            .process_lines(&mut log, line_chunk, emit)
            .and_then(|stats| {
                let changes = self.analysis.answers.regrade(false);
                self.emit_changes(changes, emit).map(|()| stats)
            });
        self.state.logs.insert(line_chunk.log, log);
        self.evict_if_full();
        done
    }

    fn process_lines<E>(
        &mut self,
        log: &mut LiveLog,
        line_chunk: &LineChunk<'_>,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<ChunkStats, E> {
        let ScanJob {
            scan_options,
            formats,
            ..
        } = self.job;
        let body = line_chunk.chunk.body;
        let header = log.scanned.advance_header(body, scan_options.max_line);
        log.scanned.grow(line_chunk, formats, scan_options);
        self.add_notice(
            line_chunk.path,
            log.scanned.first_problem(formats, scan_options),
        );
        let position = RunPosition {
            offset: line_chunk.chunk.offset,
            lines_before: line_chunk.lines_before,
            bytes: body.bytes(),
        };
        if !log.scanned.is_access_log() {
            log.hold(body, position, header);
            return Ok(ChunkStats::default());
        }
        let mut stats = ChunkStats::default();
        for held in mem::take(&mut log.held) {
            let findings = self.scan_lines(&held.lines, log, held.header);
            stats.add(self.record_findings(log, findings, held.position, emit)?);
        }
        let findings = match body {
            Body::Lines(lines) => {
                let findings = self.scan_lines(lines, log, header.clone());
                if log
                    .scanned
                    .look_again(&findings.lines, line_chunk, formats, scan_options)
                {
                    self.worker_state.recycle(findings);
                    self.scan_lines(lines, log, header)
                } else {
                    findings
                }
            }
            Body::Skipped(skipped) => Findings::of_skipped_text(skipped.lines(), skipped.nuls),
        };
        stats.add(self.record_findings(log, findings, position, emit)?);
        Ok(stats)
    }

    /// Recomputes the grades from all responses so far, and emits the hits whose answer changed.
    /// `clock` is the time since the start of the run.
    ///
    /// # Errors
    ///
    /// An error of `emit`.
    pub(crate) fn regrade_all<E>(
        &mut self,
        clock: Duration,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.analysis.answers.clock = clock;
        let changes = self.analysis.answers.regrade_all(false);
        self.emit_changes(changes, emit)
    }

    /// Grades everything again and settles every grade, as no more lines are to be awaited.
    ///
    /// # Errors
    ///
    /// An error of `emit`.
    pub(crate) fn settle_all<E>(
        &mut self,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let changes = self.analysis.answers.regrade_all(true);
        self.emit_changes(changes, emit)
    }

    /// The response history of the sites, for the next run. `now` is in seconds since 1970.
    pub(crate) fn sites(&mut self, now: i64) -> &SiteHistory {
        self.analysis.answers.history(now)
    }

    /// The answers for the next run, as alerts print them.
    pub(crate) fn answers(&self, privacy: &Privacy) -> SavedAnswers {
        self.analysis
            .answers
            .saved(&mut |line| alert_request(privacy, line, self.job.prefix))
    }

    /// Emits hits whose answer changed. One that is no finding any more is emitted only if it was a
    /// find.
    fn emit_changes<E>(
        &mut self,
        changes: Vec<AnswerChange>,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for AnswerChange { line, event } in changes {
            let hit_report = live_hit(
                &mut self.analysis,
                &line,
                ReportReason::Changed(event),
                &mut self.buffers,
            );
            let is_printed = hit_report.is_reported()
                && !(hit_report.is_saved && event == AnswerEvent::Regraded);
            if is_printed || event == AnswerEvent::Withdrawn {
                emit(&hit_report)?;
            }
        }
        Ok(())
    }

    fn scan_lines(&mut self, lines: &[u8], log: &LiveLog, header: W3cHeader) -> Findings {
        let ScanJob {
            scan_options,
            formats,
            ..
        } = self.job;
        let context = log.scanned.context(formats, scan_options, header);
        scan_any_format(
            &mut self.log_reader,
            self.line_scanner,
            scan_options,
            lines,
            &context,
            &mut self.worker_state,
        )
    }

    /// Counts findings and emits the hits.
    fn record_findings<E>(
        &mut self,
        log: &mut LiveLog,
        findings: Findings,
        run: RunPosition,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<ChunkStats, E> {
        let stats = ChunkStats {
            requests: findings.requests(),
            lines: findings.lines.lines,
            unparsed: findings.lines.unparsed,
        };
        self.state.path_stats.count(
            log.scanned.path.as_os_str().as_bytes(),
            run.bytes,
            &findings,
        );
        for what in log.scanned.notices(&findings.lines, self.job.formats) {
            self.add_notice(&log.scanned.path, Some(what));
        }
        let warning = self
            .state
            .path_stats
            .warning_of(log.scanned.path.as_os_str().as_bytes())
            .filter(|_| !log.is_warned);
        if let Some(what) = warning {
            log.is_warned = true;
            self.notices.push(Notice {
                path: log.scanned.path.clone(),
                what,
                problem: true,
            });
        }
        let position = LinePosition {
            input: log.input,
            chunk: run.offset,
            offset: 0,
            line: run.lines_before,
        };
        // Up to each hit: later lines, which may be in the same chunk or in the next, change
        // nothing that is known at a line.
        let so_far = |hit: &Hit| (hit.client, self.tally.requests_so_far(hit.client));
        let mut so_far: HashMap<u32, RequestsSoFar> = findings.hits.iter().map(so_far).collect();
        self.tally.add_findings(&findings, position);
        self.analysis.record_app_evidence(
            &findings.app_evidence,
            &self.worker_state.names,
            &log.family,
        );
        self.analysis
            .record_home_pages(&findings.home, &self.worker_state.names, &log.family);
        if let Some((_, latest)) = findings.times {
            self.analysis.answers.record_time(&log.family, latest);
        }
        let mut requests = findings.requests.iter().zip(0_u32..).peekable();
        for hit in &findings.hits {
            while let Some(((client, answer), _)) =
                requests.next_if(|(_, number)| hit.parsed && *number <= hit.request)
            {
                if let Some(so_far) = so_far.get_mut(client) {
                    so_far.add(*answer);
                }
            }
            self.emit_hit(log, &findings, (hit, so_far[&hit.client]), position, emit)?;
        }
        self.worker_state.recycle(findings);
        Ok(stats)
    }

    fn emit_hit<E>(
        &mut self,
        log: &LiveLog,
        findings: &Findings,
        (hit, so_far): (&Hit, RequestsSoFar),
        position: LinePosition,
        emit: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = LiveLine {
            generation: log.generation,
            source: log.scanned.path.as_os_str().as_bytes().into(),
            family: (&log.family).into(),
            offset: position.chunk + hit.offset,
            line: position.line + u64::from(hit.line) + 1,
            text: findings.text(hit).into(),
            parsed: hit.parsed,
            rules: (&**self.worker_state.names.rules.resolve(hit.rules)).into(),
            is_saved: false,
        };
        let mut late = Vec::new();
        let reason = ReportReason::New {
            is_probe: hit.is_probe(),
            so_far,
            late: &mut late,
        };
        let new = live_hit(&mut self.analysis, &line, reason, &mut self.buffers);
        let hit_report = LiveHit {
            requests: so_far.requests,
            ..new
        };
        self.state.hits += u64::from(hit_report.is_reported());
        emit(&hit_report)?;
        let (client, may_come_late) = (hit_report.hit.client, hit_report.may_be_promoted);
        if may_come_late {
            self.analysis.hold(client, line.to_held());
        }
        for line in late {
            let hit_report = live_hit(
                &mut self.analysis,
                &line,
                ReportReason::Promoted,
                &mut self.buffers,
            );
            let (client, may_come_later) = (hit_report.hit.client, hit_report.may_be_promoted);
            if hit_report.is_reported() {
                self.state.hits += 1;
                emit(&hit_report)?;
            } else if may_come_later {
                self.analysis.hold(client, line.clone());
            }
        }
        Ok(())
    }

    /// The number of the input at the path of a chunk. All generations of a path share one:
    /// the summary would grow with every rotation otherwise.
    fn source_info(&mut self, line_chunk: &LineChunk<'_>) -> u32 {
        let source = source_info(line_chunk);
        let known = self
            .state
            .sources
            .iter()
            .position(|known| known.path == source.path);
        let number = known.unwrap_or_else(|| {
            self.state.sources.push(source);
            self.state.sources.len() - 1
        });
        number as u32
    }

    fn evict_if_full(&mut self) {
        let (names, tally) = (&self.worker_state.names, &self.tally);
        if [names.clients.len(), names.paths.keys().len()]
            .into_iter()
            .any(|count| count >= MAX_TALLY_NAMES)
            || [tally.len(), tally.minutes().len(), tally.app_sites()]
                .into_iter()
                .any(|count| count >= MAX_TALLY_ENTRIES)
            || names.bytes() + tally.held_bytes() >= MAX_TALLY_TEXT
        {
            self.roll_up_tally();
            self.state.rolling_tally.begin_period();
        }
        if self.state.sources.len() >= MAX_PATHS {
            self.state.rolling_tally = RollingTally::with_earlier_hits_dropped();
            (self.tally, self.worker_state) = (Tally::default(), worker_state(self.job.prefix));
            self.state.sources.clear();
            self.state.logs.clear();
        }
        self.drop_old_generations();
    }

    /// Drops the older half of the generations if there are too many. A dropped one with new lines
    /// is added again.
    fn drop_old_generations(&mut self) {
        let kept = self.state.sources.len() + MAX_OLD_GENERATIONS;
        if self.state.logs.len() > 2 * kept {
            let mut numbers: Vec<u32> = self.state.logs.keys().copied().collect();
            numbers.sort_unstable();
            let first = numbers[numbers.len() - kept];
            self.state.logs.retain(|number, _| *number >= first);
        }
    }

    /// Adds the current tally to the rolling tally, with its names.
    fn roll_up_tally(&mut self) {
        let names = self.worker_state.reset();
        self.state
            .rolling_tally
            .add(mem::take(&mut self.tally).with_names(names));
    }

    /// Builds the report on everything read so far and passes it to `consume`. Line counts are
    /// exact. Hits cover the rolling tally, with the time since when they are complete.
    pub(crate) fn summary<R>(
        &mut self,
        wanted: RowSelection,
        consume: impl FnOnce(&mut ReportModel<'_>, SummaryStart) -> R,
    ) -> R {
        self.roll_up_tally();
        let tally = self.state.rolling_tally.merged();
        let inputs: Vec<_> = self
            .state
            .sources
            .iter()
            .map(|source| InputSummary {
                path: source.path.clone(),
                ..InputSummary::default()
            })
            .collect();
        let report_input = ReportInput {
            rules: self.job.rules,
            tally: &tally,
            sources: &self.state.sources,
            inputs: &inputs,
            without_time: self.state.path_stats.without_time(),
            filter: self.filter,
            allow: &self.job.scan_options.allow,
        };
        let analysis = LogAnalysis::new(&report_input);
        let mut report = build(&analysis, wanted);
        let mut hits: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
        for input in report.inputs.drain(..) {
            *hits.entry(input.path).or_default() += input.counts.hits;
        }
        report.inputs = self.state.path_stats.inputs(&hits);
        report.recount();
        consume(&mut report, self.state.rolling_tally.since())
    }
}

/// Creates a state that counts clients by this prefix.
fn worker_state(prefix: Option<Ipv6Prefix>) -> WorkerState {
    let mut worker_state = WorkerState::default();
    worker_state.names = SymbolTables::with_prefix(prefix);
    worker_state
}

impl ChunkStats {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.lines += other.lines;
        self.unparsed += other.unparsed;
    }
}

/// Tallies in two halves, so that a summary covers enough time and memory stays bounded: when the
/// current half is full, the older one is dropped.
#[derive(Debug, Default)]
pub(super) struct RollingTally {
    before: Tally,
    now: Tally,
    dropped_earlier: bool,
}

/// The start of the hits in a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SummaryStart {
    /// The first line.
    Start,
    /// This time; earlier hits were dropped.
    Time(Option<LogTime>),
}

impl RollingTally {
    /// An empty tally, after earlier hits were dropped.
    pub(super) fn with_earlier_hits_dropped() -> Self {
        Self {
            dropped_earlier: true,
            ..Self::default()
        }
    }

    /// Adds to the current half.
    pub(super) fn add(&mut self, tally: Tally) {
        self.now.merge(tally);
    }

    /// Starts a new half.
    pub(super) fn begin_period(&mut self) {
        let before = mem::replace(&mut self.before, mem::take(&mut self.now));
        self.dropped_earlier |= !before.is_empty();
    }

    /// Both halves in one tally.
    pub(super) fn merged(&self) -> Tally {
        let mut merged = self.before.clone();
        merged.merge(self.now.clone());
        merged
    }

    /// How far back the tally reaches.
    pub(super) fn since(&self) -> SummaryStart {
        if !self.dropped_earlier {
            return SummaryStart::Start;
        }
        let first = |tally: &Tally| {
            tally
                .cells()
                .filter_map(|view| Some(view.cell.times()?.0))
                .min()
        };
        SummaryStart::Time(
            [first(&self.before), first(&self.now)]
                .into_iter()
                .flatten()
                .min(),
        )
    }
}

#[cfg(test)]
mod tests;
