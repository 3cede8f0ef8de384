//! Reads one input through the engine into the tallies, and accounts for its lines.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Job;
use super::account::Account;
use super::client_places::ClientPlaces;
use super::doubt::{BINARY, By, Head, holes, passed_over, unexplained, without_client};
use super::headers::Headers;
use super::spool::Spool;
use super::worker::{Underway, Workers, own};
use crate::engine::LineScanner;
use crate::finding::{Findings, LineCounts};
use crate::format::transcriber::Course;
use crate::input::chunk::{Body, Chunk, Reading};
use crate::input::find::Source;
use crate::input::permission::denied;
use crate::input::read::{self, Unread};
use crate::report::model::{Input, Skipped};
use crate::source::SourceText;
use crate::tally::Place;

/// A text may begin with a byte-order mark, which belongs to no line.
const LONGEST_BOM: u64 = 3;

/// One input and everybody who has to do with it.
pub(super) struct OneInput<'a> {
    number: usize,
    source: &'a Source,
    job: &'a Job<'a>,
    judge: LineScanner<'a>,
    workers: &'a Workers,
    spool: Option<&'a Spool>,
    headers: Headers,
    clients: ClientPlaces,
    state: Mutex<State<'a>>,
}

/// What came of one input.
pub(super) struct Done {
    pub(super) text: SourceText,
    pub(super) input: Option<Input>,
    pub(super) notices: Vec<String>,
    pub(super) without_time: u64,
    pub(super) stopped: bool,
    pub(super) has_forwarded: bool,
}

impl Done {
    /// A file of a folder that is something else.
    fn passed_over(path: Vec<u8>, what: &str) -> Self {
        let notices = vec![format!("passed over: {what}, no access log")];
        Self { text: SourceText::new(path, 0, Vec::new()), input: None, notices, without_time: 0, stopped: false, has_forwarded: false }
    }
}

/// What is known of an input so far.
#[derive(Default)]
struct State<'w> {
    account: Account,
    /// Where each run of lines begins, and how many lines it has.
    runs: Vec<(u64, u64)>,
    head: Head,
    /// Findings, until a line parses or the input is known to be a log: it may be none at all.
    held: Vec<Judged<'w>>,
    is_log: bool,
}

/// What was found in one chunk.
struct Judged<'w> {
    worker: usize,
    offset: u64,
    findings: Findings,
    /// How the text begins, where this is its first chunk.
    head: Option<Head>,
    underway: Option<Underway<'w>>,
}

impl Done {
    /// Of an input that is not read.
    pub(super) fn skipped(source: &Source, why: Skipped, progress: &AtomicU64) -> Self {
        progress.fetch_add(source.path.metadata().map_or(0, |metadata| metadata.len()), Ordering::Relaxed);
        let path = source.path.as_os_str().as_bytes().to_vec();
        let input = Input { path: path.clone(), skipped_whole: Some(why), ..Input::default() };
        Self {
            text: SourceText::new(path, 0, Vec::new()),
            input: Some(input),
            notices: Vec::new(),
            without_time: 0,
            stopped: false,
            has_forwarded: false,
        }
    }
}

impl<'a> OneInput<'a> {
    pub(super) fn new(
        number: usize,
        source: &'a Source,
        job: &'a Job<'a>,
        judge: LineScanner<'a>,
        workers: &'a Workers,
        spool: Option<&'a Spool>,
    ) -> Self {
        let headers = Headers::of(source, job.scope.max_line);
        Self { number, source, job, judge, workers, spool, headers, clients: ClientPlaces::default(), state: Mutex::default() }
    }

    /// Reads it to the end.
    pub(super) fn read(self) -> Done {
        let Job { mmap, stop, progress, scope, .. } = *self.job;
        let options = read::Options { mmap, max_line: scope.max_line, stop, progress };
        let reading = read::read_in_order(self.source, &options, &|chunk| self.see(chunk), &|chunk| self.judge(chunk), &|judged| {
            self.keep(judged);
        });
        self.done(reading)
    }

    /// Looks at a chunk that comes in order, before any is judged.
    fn see(&self, chunk: Chunk<'_>) {
        self.headers.see(chunk);
        self.clients.see(chunk);
    }

    fn judge(&self, chunk: Chunk<'_>) -> Judged<'a> {
        let worker = Workers::mine();
        let (findings, head, underway) = match chunk.body {
            Body::Lines(lines) => {
                let head = (chunk.offset <= LONGEST_BOM).then(|| Head::of(lines));
                let mut desk = self.workers.desk(worker);
                let mut scratch = self.workers.scratch(worker);
                let mut course = self.course(chunk.offset);
                let mut findings = desk.judge(self.judge, self.job.scope, lines, &course, &mut scratch);
                if let Some(place) = self.clients.better(findings.lines.without_client, &self.source.path, false) {
                    course.clients = place;
                    scratch.recycle(findings);
                    findings = desk.judge(self.judge, self.job.scope, lines, &course, &mut scratch);
                }
                (findings, head, Some(self.workers.underway(worker, &scratch)))
            }
            Body::Oversized { .. } => (Findings::of_oversized_line(), None, None),
        };
        Judged { worker, offset: chunk.offset, findings, head, underway }
    }

    /// What the lines from here on are read by.
    fn course(&self, offset: u64) -> Course<'a> {
        let Job { formats, scope, .. } = *self.job;
        let (first, header, clients) = (formats.first_of(&self.source.path), self.headers.at(offset), self.clients.known());
        Course { formats, first, header, clients, max_line: scope.max_line }
    }

    fn keep(&self, judged: Judged<'a>) {
        let mut ready = Vec::new();
        {
            let mut state = own(&self.state);
            state.account(&judged, self.by());
            if state.is_log {
                ready = std::mem::take(&mut state.held);
                ready.push(judged);
            } else {
                state.held.push(judged);
            }
        }
        self.count(ready);
    }

    /// Puts findings into the tallies of their workers.
    fn count(&self, ready: Vec<Judged<'a>>) {
        for Judged { worker, offset, findings, underway, .. } in ready {
            let place = Place { input: self.number as u32, chunk: offset, offset: 0, line: 0 };
            self.workers.tally(worker).absorb(&findings, place);
            let mut scratch = self.workers.scratch(worker);
            if let Some(spool) = self.spool {
                spool.push(&findings, &scratch.names, place);
            }
            scratch.recycle(findings);
            drop(scratch);
            drop(underway);
            self.workers.make_room(worker);
        }
    }

    /// How it was found.
    fn by(&self) -> By {
        match (self.source.named, self.source.literal) {
            (_, true) => By::Name,
            (true, false) => By::Pattern,
            (false, false) => By::Folder,
        }
    }

    fn done(self, reading: Result<Reading, Unread>) -> Done {
        let path = self.source.path.as_os_str().as_bytes().to_vec();
        let (reading, unread) = match reading {
            Ok(reading) => (reading, None),
            Err(Unread::NoLog(what)) if !self.source.named => return Done::passed_over(path, what),
            Err(Unread::Unreadable(error)) if error.kind() == ErrorKind::PermissionDenied => {
                (Reading::default(), Some(denied(&self.source.path)))
            }
            Err(unread) => (Reading::default(), Some(unread.to_string())),
        };
        let mut state = std::mem::take(&mut *own(&self.state));
        let lines = state.account.lines.lines;
        let is_foreign = lines > 0 && !state.is_log && state.head.is_foreign(&path, self.by());
        let held = std::mem::take(&mut state.held);
        if !is_foreign {
            self.count(held);
        }
        let text = SourceText::new(path.clone(), reading.generation, state.runs.clone());
        let mut notices = reading.notes.clone();
        let (stopped, without_time) = (reading.stopped, state.account.without_time);
        let is_binary = is_foreign && state.head.is_binary && self.source.named;
        let is_passed_over = is_foreign && !is_binary;
        notices.extend(is_passed_over.then(|| passed_over(&state.head)));
        let has_forwarded = state.head.has_forwarded;
        let is_asked = !self.job.formats.first_of(&self.source.path).is_empty();
        notices.extend(without_client(state.account.lines.without_client, is_asked));
        let unread = unread.or_else(|| is_binary.then(|| BINARY.to_owned()));
        let input = (!is_passed_over).then(|| state.input(path, &reading, unread, self.job));
        Done { text, input, notices, without_time, stopped, has_forwarded }
    }
}

impl<'w> State<'w> {
    fn account(&mut self, judged: &Judged<'w>, by: By) {
        let findings = &judged.findings;
        self.account.add(findings);
        self.runs.push((judged.offset, findings.lines.lines));
        self.is_log |= findings.lines.parsed() > 0;
        if let Some(head) = &judged.head {
            self.head.clone_from(head);
            self.is_log |= by == By::Name && !head.is_binary;
        }
    }

    fn input(self, path: Vec<u8>, reading: &Reading, unread: Option<String>, job: &Job<'_>) -> Input {
        let problem = unread.or_else(|| self.problem(reading, job));
        Input { problem, ..self.account.input(path, reading.bytes) }
    }

    fn problem(&self, reading: &Reading, job: &Job<'_>) -> Option<String> {
        let LineCounts { lines, nul_bytes, skipped, .. } = self.account.lines;
        if let Some(damage) = &reading.damage {
            return Some(damage.clone());
        }
        if lines == 0 && reading.hole_bytes > 0 {
            return Some(format!("holds nothing but {} NUL bytes", reading.hole_bytes));
        }
        if lines > skipped && self.account.lines.parsed() == 0 {
            return Some(unexplained(lines, &self.head.first_line, job.scope.format, job.formats));
        }
        holes(nul_bytes)
    }
}
