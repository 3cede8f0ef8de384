//! Gathers lines into batches, has them judged on all threads, and counts what came of it.
//!
//! Two steps go over all lines side by side, to read their times and to judge them; between the two, one thread goes over
//! the pieces in their order and says which of them count, and when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;

use rayon::prelude::*;

use super::cutting::{Cutter, Run};
use super::item::{Counted, Item, Lines, whole};
use super::log::Log;
use super::parts::{OPEN, Parts, When};
use super::{Increment, Reading};
use crate::engine::LineScanner;
use crate::finding::Findings;
use crate::format::Header;
use crate::format::transcriber::{Transcribed, Transcriber};
use crate::input::chunk::{Body, Chunk};
use crate::input::tail::{Notice, Piece, Tail};
use crate::pipeline::account::Account;
use crate::pipeline::desk::in_window;
use crate::pipeline::doubt::{BINARY, By, begins_as_log, holes, parses, passed_over, unexplained, without_client};
use crate::pipeline::worker::Workers;
use crate::source::SourceText;
use crate::tally::Place;
use crate::time::Cut;

/// Bytes that are judged side by side.
pub(super) const BYTES: usize = 4 << 20;
/// Pieces that are, where they are small.
const PIECES: usize = 1024;
/// Bytes of one log that wait.
const WAITING: usize = 1 << 20;

/// What was seen in an item before it is judged.
struct Seen {
    runs: Vec<Run>,
    parses: bool,
    /// Its lines, where they are cut and of another format.
    transcribed: Option<Transcribed>,
}

/// Everything that is being counted.
#[derive(Debug)]
pub(super) struct Collector<'a> {
    job: &'a Reading<'a>,
    cut: Option<&'a Cut>,
    judge: LineScanner<'a>,
    /// Bytes of a batch.
    most: usize,
    batch: Vec<Item>,
    bytes: usize,
    logs: HashMap<u32, Log>,
    texts: Vec<SourceText>,
    by_path: HashMap<Vec<u8>, u32>,
    parts: Parts,
}

impl<'a> Collector<'a> {
    pub(super) fn new(job: &'a Reading<'a>, cut: Option<&'a Cut>, most: usize) -> Self {
        Self {
            job,
            cut,
            judge: LineScanner::new(job.rules, job.scope),
            most,
            batch: Vec::new(),
            bytes: 0,
            logs: HashMap::new(),
            texts: Vec::new(),
            by_path: HashMap::new(),
            parts: Parts::default(),
        }
    }

    /// Takes a piece; judges the batch if that is full.
    pub(super) fn take(&mut self, piece: &Piece<'_>) {
        if self.job.stop.load(Ordering::Relaxed) {
            return;
        }
        let log = self.logs.entry(piece.log).or_insert_with(|| Log::new(piece, self.job.scope.max_line));
        let Chunk { offset, body } = piece.chunk;
        let mut header = Header::None;
        let lines = match body {
            Body::Lines(lines) => {
                if log.head.is_none() {
                    log.see_first(lines);
                }
                header = log.pass(lines, self.job.scope.max_line);
                Lines::Text(lines.to_vec())
            }
            Body::Oversized { bytes } => Lines::Oversized(bytes),
        };
        self.bytes += lines.held();
        self.batch.push(Item { log: piece.log, offset, lines_before: piece.lines_before, header, lines });
        if self.bytes >= self.most || self.batch.len() >= PIECES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        let seen: Vec<Seen> = batch.par_iter().with_max_len(1).map(|item| self.see(item)).collect();
        let mut ready = Vec::new();
        for (mut item, mut seen) in batch.into_iter().zip(seen) {
            if let Some(transcribed) = seen.transcribed.take() {
                item.lines = Lines::Written { transcribed, bytes: item.lines.bytes() };
            }
            self.sort_out(item, seen, &mut ready);
        }
        self.count(&ready);
    }

    /// Looks at an item, beside others.
    fn see(&self, item: &Item) -> Seen {
        let Lines::Text(text) = &item.lines else { return Seen { runs: Vec::new(), parses: false, transcribed: None } };
        let log = self.logs.get(&item.log);
        let mut course = self.job.course(item, log);
        // The times of lines must be read before they are judged, so they are written down here.
        let mut written = Transcribed::default();
        let may_write = self.cut.is_some() && self.job.scope.format.is_none();
        let mut is_written = may_write && Transcriber::default().transcribe(text, &course, &mut written);
        let without_client = written.without_client();
        if let Some(place) = log.and_then(|log| log.clients.better(without_client, &log.path, false)) {
            course.clients = place;
            is_written = Transcriber::default().transcribe(text, &course, &mut written);
        }
        let transcribed = is_written.then_some(written);
        let lines = transcribed.as_ref().map_or(text, |written| &written.text);
        let runs = match self.cut {
            Some(cut) => Cutter::new(cut, self.job.scope).runs(lines),
            None => vec![Run { period: None, start: 0, end: text.len(), lines_before: 0 }],
        };
        let is_known = log.is_none_or(|log| log.is_known);
        Seen { runs, parses: is_known || parses(text, &course, self.job.scope.format), transcribed }
    }

    /// Sees whether an item counts, and when; one that waits is held back, and those that waited for it are let go on.
    fn sort_out(&mut self, item: Item, seen: Seen, ready: &mut Vec<(Item, Vec<Run>)>) {
        let Some(log) = self.logs.get_mut(&item.log) else { return };
        log.is_known |= seen.parses;
        let first = seen.runs.iter().find_map(|run| run.period);
        let is_waiting = !log.is_known || self.cut.is_some() && log.period.or(first).is_none();
        if is_waiting {
            let number = item.log;
            log.wait(item);
            if log.waiting_bytes > WAITING {
                self.end_waiting(number, ready);
            }
            return;
        }
        let before = log.period.or(first);
        for item in log.release() {
            let runs = whole(&item, before);
            ready.push((item, runs));
        }
        let mut runs = seen.runs;
        if runs.is_empty() {
            runs = whole(&item, before);
        }
        for run in &mut runs {
            run.period = run.period.or(before);
        }
        log.period = runs.last().and_then(|run| run.period);
        ready.push((item, runs));
    }

    /// A log waited for too long: it is taken for what it seems to be.
    fn end_waiting(&mut self, number: u32, ready: &mut Vec<(Item, Vec<Run>)>) {
        let Some(log) = self.logs.get_mut(&number) else { return };
        log.is_known |= !log.is_foreign();
        if !log.is_known {
            log.let_go();
            return;
        }
        let period = self.cut.map(|cut| cut.of(self.job.now));
        log.period = period;
        for item in log.release() {
            let runs = whole(&item, period);
            ready.push((item, runs));
        }
    }

    /// Judges what counts.
    fn count(&mut self, ready: &[(Item, Vec<Run>)]) {
        let mut counted = Vec::new();
        for (item, runs) in ready {
            let Some(text) = self.text_of(item.log) else { continue };
            for run in runs {
                counted.push(Counted { period: run.period, text, log: item.log, item, run: *run });
            }
        }
        counted.sort_by_key(|run| run.period);
        let mut rest = counted.as_slice();
        while !rest.is_empty() {
            let periods: BTreeSet<When> =
                rest.chunk_by(|one, other| one.period == other.period).take(OPEN).map(|runs| runs[0].period).collect();
            let end = rest.partition_point(|run| periods.last().is_some_and(|last| run.period <= *last));
            let group;
            (group, rest) = rest.split_at(end);
            self.count_group(group, &periods);
        }
    }

    fn count_group(&mut self, group: &[Counted<'_>], periods: &BTreeSet<When>) {
        let Self { job, judge, parts, logs, .. } = self;
        let workers = parts.open(periods, rayon::current_num_threads(), job.prefix);
        let done: Vec<Account> = group.par_iter().with_max_len(1).map(|run| judge_run(*judge, job, logs, run, &workers)).collect();
        for (run, account) in group.iter().zip(done) {
            let bytes = run.bytes(account.lines.lines);
            parts.count(run.period, run.text, bytes, &account);
            if let Some(log) = self.logs.get_mut(&run.log) {
                log.counts.add(&account.lines);
            }
        }
    }

    /// The number of the text that a log's lines count to.
    fn text_of(&mut self, number: u32) -> Option<u32> {
        let log = self.logs.get_mut(&number)?;
        if let Some(text) = log.text {
            return Some(text);
        }
        let path = log.path.as_os_str().as_bytes().to_vec();
        let new = self.texts.len() as u32;
        let text = *self.by_path.entry(path.clone()).or_insert(new);
        if text == new {
            self.texts.push(SourceText::new(path, log.generation, Vec::new()));
        }
        log.text = Some(text);
        if log.skipped.0 > 0 {
            self.parts.count_skipped(log.period, text, log.skipped);
        }
        Some(text)
    }

    /// Judges what is left, and says what came of it all.
    pub(super) fn finish(mut self, tail: &mut Tail) -> Increment {
        self.flush();
        let mut notices = tail.notices();
        let mut ready = Vec::new();
        let mut numbers: Vec<u32> = self.logs.keys().copied().collect();
        numbers.sort_unstable();
        for number in &numbers {
            self.decide(*number, &mut notices);
            self.end_waiting(*number, &mut ready);
        }
        self.count(&ready);
        for number in numbers {
            self.doubt(number, &mut notices);
        }
        self.note(&mut notices);
        for log in tail.logs().filter(|log| log.pending) {
            if let Some(text) = self.by_path.get(log.path.as_os_str().as_bytes()) {
                self.parts.count_pending(*text);
            }
        }
        let without_time = self.parts.without_time();
        Increment { parts: self.parts.into_parts(&self.texts), texts: self.texts, without_time, stopped: false, notices }
    }

    /// Sees whether a log counts of which no line parsed.
    fn decide(&mut self, number: u32, notices: &mut Vec<Notice>) {
        let Reading { scope, formats, .. } = *self.job;
        let Some(log) = self.logs.get_mut(&number).filter(|log| !log.is_known) else { return };
        log.is_known = log.goes_on && begins_as_log(&log.path, formats, scope);
        let Some(head) = log.head.as_ref().filter(|_| !log.is_known && log.is_foreign() && log.fresh) else { return };
        let is_asked = log.by == By::Name && head.is_binary;
        let what = if is_asked { BINARY.to_owned() } else { passed_over(head) };
        notices.push(Notice { path: log.path.clone(), what, problem: is_asked });
    }

    /// Says of a log that counts that no line of it parses, or that the client of lines is unknown.
    fn doubt(&mut self, number: u32, notices: &mut Vec<Notice>) {
        let Some(log) = self.logs.get(&number) else { return };
        let Reading { scope, formats, .. } = *self.job;
        let what = without_client(log.counts.without_client, !formats.first_of(&log.path).is_empty());
        notices.extend(what.map(|what| Notice { path: log.path.clone(), what, problem: false }));
        let is_doubtful = log.is_known && log.counts.lines > log.counts.skipped && log.counts.parsed() == 0;
        if is_doubtful && !(log.goes_on && begins_as_log(&log.path, formats, scope)) {
            let what = unexplained(log.lines(), log.first_line(), scope.format, formats);
            notices.push(Notice { path: log.path.clone(), what, problem: true });
        }
    }

    /// Puts what is wrong with a log to its lines, and says what is wrong with lines.
    fn note(&mut self, notices: &mut Vec<Notice>) {
        for notice in notices.iter().filter(|notice| notice.problem) {
            if let Some(text) = self.by_path.get(notice.path.as_os_str().as_bytes()) {
                self.parts.note(*text, &notice.what);
            }
        }
        for (text, nuls) in self.parts.holes() {
            let path = self.texts.get(text as usize).map(|text| Path::new(std::ffi::OsStr::from_bytes(&text.path)).to_owned());
            if let (Some(path), Some(what)) = (path, holes(nuls)) {
                notices.push(Notice { path, what, problem: true });
            }
        }
    }
}

/// Judges a run of lines by the workers of its period. A line that was too long to be held is only counted.
fn judge_run(
    judge: LineScanner<'_>,
    job: &Reading<'_>,
    logs: &HashMap<u32, Log>,
    run: &Counted<'_>,
    workers: &BTreeMap<When, &Workers>,
) -> Account {
    let mut account = Account::default();
    let worker = Workers::mine();
    let range = run.run.start..run.run.end;
    let (findings, mut scratch, workers) = match (&run.item.lines, workers.get(&run.period)) {
        (Lines::Text(text), Some(workers)) => {
            let log = logs.get(&run.log);
            let mut course = job.course(run.item, log);
            let mut desk = workers.desk(worker);
            let mut scratch = workers.scratch(worker);
            let mut findings = desk.judge(judge, job.scope, &text[range.clone()], &course, &mut scratch);
            if let Some(place) = log.and_then(|log| log.clients.better(findings.lines.without_client, &log.path, false)) {
                course.clients = place;
                scratch.recycle(findings);
                findings = desk.judge(judge, job.scope, &text[range], &course, &mut scratch);
            }
            (findings, scratch, workers)
        }
        (Lines::Written { transcribed, .. }, Some(workers)) => {
            let mut scratch = workers.scratch(worker);
            let mut findings = judge.scan(&transcribed.text[range], &mut scratch);
            transcribed.restore(run.run.lines_before as usize, &mut findings, job.formats, in_window(job.scope));
            (findings, scratch, workers)
        }
        _ => {
            account.add(&Findings::of_oversized_line());
            return account;
        }
    };
    let chunk = run.item.offset + run.start();
    let place = Place { input: run.text, chunk, offset: 0, line: run.item.lines_before + run.run.lines_before };
    workers.tally(worker).absorb(&findings, place);
    account.add(&findings);
    scratch.recycle(findings);
    drop(scratch);
    workers.make_room(worker);
    account
}
