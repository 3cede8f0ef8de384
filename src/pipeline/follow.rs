//! Takes the lines of live logs as they come, tells each hit at once, and keeps the sums for a summary.
//!
//! One thread, so that the hits of a log are told in the order of its lines. Memory is bounded: a summary covers the time
//! since its tally was last begun anew, and says so. It reads nothing, prints nothing and knows no clock.

mod accounts;
mod eras;
mod log;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::accounts::Accounts;
use self::eras::Eras;
pub use self::eras::Since;
use self::log::Log;
use super::desk::Desk as Writing;
use super::doubt::{By, examine, without_client};
use crate::client::Prefix;
use crate::context::Memory;
use crate::engine::{LineScanner, ScanOptions, WorkerState};
use crate::finding::{Findings, Hit, RuleId, Severity};
use crate::format::transcriber::Course;
use crate::format::{Formats, Header};
use crate::input::chunk::{Body, Chunk};
use crate::input::tail::{Notice, Piece};
use crate::intern::SymbolTables;
use crate::log_entry::Outcome;
use crate::report::build::{Context, Material, Wanted, build};
use crate::report::context::{Late, LiveContext};
use crate::report::hit::{Desk, LiveHit, LiveLine, Occasion, live};
use crate::report::model::{Input, Report};
use crate::rules::RuleSet;
use crate::source::SourceText;
use crate::tally::{Place, Tally};

/// Distinct clients, paths or cells after which a tally is closed and another one begun.
const ROOM: usize = 200_000;
/// Paths of logs after which all tallies are begun anew.
const PATHS: usize = 100_000;
/// Generations that are remembered beside the newest one of each path.
const GENERATIONS: usize = 1_000;
/// Bytes of a file found in a folder that wait for its first line that parses: it may be no log at all.
const WAITING: usize = 64 << 10;

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
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
    pub prefix: Option<Prefix>,
}

/// Live logs on their way through the engine.
#[derive(Debug)]
pub struct Stream<'a> {
    asked: Asked<'a>,
    judge: LineScanner<'a>,
    context: LiveContext<'a>,
    scratch: WorkerState,
    writing: Writing,
    tally: Tally,
    eras: Eras,
    texts: Vec<SourceText>,
    logs: HashMap<u32, Log>,
    accounts: Accounts,
    /// Hits that were told.
    hits: u64,
    desk: Desk,
    /// What a person wants to know of the logs, and the logs of which something was said.
    notices: Vec<Notice>,
    noted: HashSet<PathBuf>,
}

/// What outlives the rules of a stream: where lines went, and which logs they are from.
#[derive(Debug, Default)]
pub struct Carried {
    eras: Eras,
    texts: Vec<SourceText>,
    logs: HashMap<u32, Log>,
    accounts: Accounts,
    hits: u64,
    noted: HashSet<PathBuf>,
    /// What sites answered, for the context of other rules.
    sites: Memory,
}

/// Where a run of lines stands in its log.
#[derive(Debug, Clone, Copy)]
struct Run {
    offset: u64,
    lines_before: u64,
    bytes: u64,
}

/// What became of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Requests in it.
    pub requests: u64,
    /// Lines in it.
    pub lines: u64,
}

impl Carried {
    /// Before the first line, with what earlier runs recorded of the sites.
    #[must_use]
    pub fn remembering(sites: Memory) -> Self {
        Self { sites, ..Self::default() }
    }
}

impl<'a> Stream<'a> {
    /// Goes on with the sums of another stream; with none, where nothing was read yet.
    #[must_use]
    pub fn new(asked: Asked<'a>, carried: Carried) -> Self {
        let Carried { eras, texts, logs, accounts, hits, noted, sites } = carried;
        Self {
            asked,
            judge: LineScanner::new(asked.rules, asked.scope),
            context: LiveContext::new(asked.rules, asked.min_severity, asked.outcomes, asked.apps).remembering(sites),
            scratch: scratch(asked.prefix),
            writing: Writing::default(),
            tally: Tally::default(),
            eras,
            texts,
            logs,
            accounts,
            hits,
            desk: Desk::counting(asked.prefix),
            notices: Vec::new(),
            noted,
        }
    }

    /// What goes on under other rules. Hits are let go: their rules are.
    #[must_use]
    pub fn into_carried(mut self, now: i64) -> Carried {
        let sites = self.sites(now).clone();
        let Self { texts, logs, accounts, hits, noted, .. } = self;
        Carried { eras: Eras::of_a_later_time(), texts, logs, accounts, hits, noted, sites }
    }

    /// Hits that were told, those before the last reload too.
    #[must_use]
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Lines that were read.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.accounts.lines()
    }

    /// Lines that were read of the logs at a path.
    #[must_use]
    pub fn lines_of(&self, path: &[u8]) -> u64 {
        self.accounts.lines_of(path)
    }

    /// What a person wants to know of the logs, once.
    pub fn notices(&mut self) -> Vec<Notice> {
        mem::take(&mut self.notices)
    }

    /// Says of a log that is there before the first line comes what it is, where its lines do not parse.
    pub fn look_at(&mut self, path: &Path, is_named: bool) {
        let Asked { scope, formats, .. } = self.asked;
        let by = if is_named { By::Name } else { By::Folder };
        let (_, what) = examine(path, by, b"", formats, scope);
        self.notice(path, what);
    }

    /// Says something of a log, once.
    fn notice(&mut self, path: &Path, what: Option<String>) {
        let Some(what) = what else { return };
        if self.noted.insert(path.to_owned()) {
            self.notices.push(Notice { path: path.to_owned(), what, problem: false });
        }
    }

    /// Judges the lines of a piece, and tells each that matched.
    ///
    /// # Errors
    ///
    /// What `each` could not do. The lines count as taken.
    pub fn take<E>(&mut self, piece: &Piece<'_>, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<Taken, E> {
        let mut log = self.logs.remove(&piece.log).unwrap_or_else(|| Log::new(piece, self.text_of(piece), self.asked.scope.max_line));
        let done = self.take_from(&mut log, piece, each).and_then(|taken| self.regrade(each).map(|()| taken));
        self.logs.insert(piece.log, log);
        self.make_room();
        done
    }

    fn take_from<E>(&mut self, log: &mut Log, piece: &Piece<'_>, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<Taken, E> {
        let Chunk { offset, body } = piece.chunk;
        let header = log.pass(body, self.asked.scope.max_line);
        let findings = match body {
            Body::Lines(lines) => self.judge(lines, log, header.clone()),
            Body::Oversized { .. } => Findings::of_oversized_line(),
        };
        log.is_known |= findings.lines.parsed() > 0;
        if !log.is_known && !log.is_examined {
            log.is_examined = true;
            let lines = if let Body::Lines(lines) = body { lines } else { b"" };
            let (is_known, what) = examine(piece.path, By::of(piece), lines, self.asked.formats, self.asked.scope);
            log.is_known = is_known;
            self.notice(piece.path, what);
        }
        if !log.is_known {
            log.hold(piece.chunk, piece.lines_before, header, WAITING);
            return Ok(Taken::default());
        }
        let mut taken = Taken::default();
        for held in log.release() {
            let findings = self.judge(&held.lines, log, held.header);
            let run = Run { offset: held.offset, lines_before: held.lines_before, bytes: held.lines.len() as u64 };
            taken.add(self.keep(log, findings, run, each)?);
        }
        let bytes = match body {
            Body::Lines(lines) => lines.len() as u64,
            Body::Oversized { bytes } => bytes,
        };
        taken.add(self.keep(log, findings, Run { offset, lines_before: piece.lines_before, bytes }, each)?);
        Ok(taken)
    }

    /// Weighs what sites answered so far, and reports hits whose grade changed by that.
    ///
    /// # Errors
    ///
    /// What `each` could not do.
    pub fn settle<E>(&mut self, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<(), E> {
        self.context.weigh_all();
        self.regrade(each)
    }

    /// What sites answered, for the next run. `now` is in seconds since 1970.
    pub fn sites(&mut self, now: i64) -> &Memory {
        self.context.memory(now)
    }

    /// Reports hits again whose grade changed.
    fn regrade<E>(&mut self, each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>) -> Result<(), E> {
        if !self.context.has_ungraded() {
            return Ok(());
        }
        for regraded in self.context.regrade() {
            let occasion = Occasion::Regraded { may_alert: regraded.may_alert };
            let told = live(&mut self.context, &regraded.line.line(), occasion, &mut self.desk);
            if told.is_reported() {
                each(&told)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, lines: &[u8], log: &Log, header: Header) -> Findings {
        let Asked { scope, formats, .. } = self.asked;
        let path = Path::new(OsStr::from_bytes(&log.path));
        let mut course = Course { formats, first: formats.first_of(path), header, clients: log.clients.known(), max_line: scope.max_line };
        let findings = self.writing.judge(self.judge, scope, lines, &course, &mut self.scratch);
        let Some(place) = log.clients.better(findings.lines.without_client, path, true) else { return findings };
        course.clients = place;
        self.scratch.recycle(findings);
        self.writing.judge(self.judge, scope, lines, &course, &mut self.scratch)
    }

    /// Counts what was found in a run of lines, and tells the hits.
    fn keep<E>(
        &mut self,
        log: &mut Log,
        findings: Findings,
        run: Run,
        each: &mut impl FnMut(&LiveHit<'_>) -> Result<(), E>,
    ) -> Result<Taken, E> {
        let taken = Taken { requests: findings.requests(), lines: findings.lines.lines };
        self.accounts.count(&log.path, run.bytes, &findings);
        self.note(log, &findings);
        let place = Place { input: log.text, chunk: run.offset, offset: 0, line: run.lines_before };
        self.tally.absorb(&findings, place);
        self.context.see_signs(&findings.signs, &self.scratch.names, &log.family);
        self.context.see_homes(&findings.home, &self.scratch.names, &log.family);
        for hit in &findings.hits {
            self.tell(log, &findings, hit, place, each)?;
        }
        self.scratch.recycle(findings);
        Ok(taken)
    }

    /// Says once of a log that the client of some of its lines is unknown.
    fn note(&mut self, log: &Log, findings: &Findings) {
        if findings.lines.without_client == 0 {
            return;
        }
        let path = Path::new(OsStr::from_bytes(&log.path));
        let what = without_client(findings.lines.without_client, !self.asked.formats.first_of(path).is_empty());
        self.notice(path, what);
    }

    fn tell<E>(
        &mut self,
        log: &Log,
        findings: &Findings,
        hit: &Hit,
        place: Place,
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
        let told = live(&mut self.context, &line, Occasion::New(&mut late), &mut self.desk);
        self.hits += u64::from(told.is_reported());
        each(&told)?;
        let (client, may_come_late) = (told.hit.client, told.may_come_late);
        if may_come_late {
            self.context.wait(client, Late::of(&line));
        }
        for line in late {
            let told = live(&mut self.context, &line.line(), Occasion::Late, &mut self.desk);
            if told.is_reported() {
                self.hits += 1;
                each(&told)?;
            }
        }
        Ok(())
    }

    /// The number of the text at a piece's path. All generations of a path are one to a summary: it would grow with every
    /// rotation otherwise.
    fn text_of(&mut self, piece: &Piece<'_>) -> u32 {
        let text = log::text_of(piece);
        let known = self.texts.iter().position(|known| known.path == text.path);
        let number = known.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        number as u32
    }

    fn make_room(&mut self) {
        let names = &self.scratch.names;
        if [names.clients.len(), names.paths.keys().len(), self.tally.len(), self.tally.minutes().len()]
            .into_iter()
            .any(|count| count >= ROOM)
        {
            self.close();
            self.eras.begin();
        }
        if self.texts.len() >= PATHS {
            self.eras = Eras::of_a_later_time();
            (self.tally, self.scratch) = (Tally::default(), scratch(self.asked.prefix));
            self.texts.clear();
            self.logs.clear();
        }
        self.forget_generations();
    }

    /// Lets the older half of the generations go when they are many: one that has more to say is met anew.
    fn forget_generations(&mut self) {
        let kept = self.texts.len() + GENERATIONS;
        if self.logs.len() > 2 * kept {
            let mut numbers: Vec<u32> = self.logs.keys().copied().collect();
            numbers.sort_unstable();
            let first = numbers[numbers.len() - kept];
            self.logs.retain(|number, _| *number >= first);
        }
    }

    /// Puts what was tallied to what was tallied before, with its names.
    fn close(&mut self) {
        let names = self.scratch.reset();
        self.eras.add(mem::take(&mut self.tally).named(names));
    }

    /// The report on what was read so far, for `use_it`. Sums of lines are exact; hits are those of the last eras, and since
    /// when is said where earlier ones are gone.
    pub fn summary<R>(&mut self, wanted: Wanted, use_it: impl FnOnce(&mut Report<'_>, Since) -> R) -> R {
        self.close();
        let tally = self.eras.whole();
        let material = Material {
            rules: self.asked.rules,
            tally: &tally,
            texts: &self.texts,
            min_severity: self.asked.min_severity,
            outcomes: self.asked.outcomes,
            apps: self.asked.apps,
            allow: &self.asked.scope.allow,
        };
        let context = Context::of(&material);
        let inputs = self.texts.iter().map(|text| Input { path: text.path.clone(), ..Input::default() }).collect();
        let mut report = build(&material, &context, inputs, self.accounts.without_time(), wanted);
        self.accounts.put_into(&mut report);
        use_it(&mut report, self.eras.since())
    }
}

/// A scratch for clients that are counted so.
fn scratch(prefix: Option<Prefix>) -> WorkerState {
    let mut scratch = WorkerState::default();
    scratch.names = SymbolTables::with_prefix(prefix);
    scratch
}

impl Taken {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.lines += other.lines;
    }
}

#[cfg(test)]
mod tests;
