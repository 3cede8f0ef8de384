//! Counts of hits that merge: any split of a log, in any order, gives the same tally.
//!
//! Hits are counted in cells, as in a data cube. A cell is what one client requested at one path
//! with one list of matching rules and one kind of response; every row of a report is a sum of
//! cells. Nothing is decided here: what an answer means depends on all cells together and is
//! decided when a report is built.
//!
//! A tally with a [`Budget`] is exact up to that budget. Above it, the tally has a bound on how
//! much each count is too low. A tally with unmatched requests has a [budget of its
//! own](Tally::with_sample_budget), above which it is that of a sample of clients.

mod budget;
mod cell;
mod client_sample;
mod evidence;
mod import;
mod merge;
mod minutes;
mod prune;
mod table;
mod time_counts;
mod unmatched;
mod unmatched_answers;

pub use budget::Budget;
pub(crate) use budget::{ErrorBound, ErrorFloor};
pub use cell::LinePosition;
pub(crate) use cell::{
    Cell, CellCounts, ImportedSample, Sample, SampleContentView, SampleView, Site, union_span,
};
pub(crate) use client_sample::SAMPLE_BUDGET;
pub(crate) use evidence::TallyEvidence;
pub(crate) use import::{ImportRemap, ImportedKey};
pub(crate) use minutes::{MinuteCounts, MinuteKey};
pub(crate) use time_counts::{ListedTimes, TimeCounts, TimeUnit, WEEK_HOURS};
pub(crate) use unmatched::UnmatchedRequests;
pub(crate) use unmatched_answers::{SizeSpan, UnmatchedAnswers};

use crate::collections::intern::SymbolTables;
use crate::collections::prefetch::prefetch;
use crate::log::client::Client;
use crate::log::days::RequestDays;
use crate::log::finding::{AppEvidence, BoundedSet, Findings, Hit, RuleId, UnmatchedAnswer};
use crate::log::log_entry::Outcome;
use crate::soft_404::{MethodClass, Response};
use cell::{CellKey, HitLine};
use table::{BATCH, CellSampleRef, CellTable};
use time_counts::{MAX_TIME_ENTRIES, TimeScale};

/// All hits, in cells.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    names: SymbolTables,
    clients: Vec<ClientCount>,
    /// Requests not yet added to `clients`, by client. Every line adds one, so a dense list of
    /// counts is faster.
    uncounted: Vec<LineCount>,
    /// The number of those requests.
    uncounted_lines: u64,
    cells: CellTable,
    /// How the cells count times.
    scale: TimeScale,
    days: RequestDays,
    /// Requests allowed by each entry of the allow lists, by the number of the entry.
    allowed: Vec<u64>,
    /// Responses that show which apps run, by input and host.
    app_evidence: AppEvidence<(u32, u32)>,
    /// Home pages, and the evidence of cells that were pruned.
    evidence: TallyEvidence,
    /// Requests counted by rules with a `window`.
    minutes: MinuteCounts,
    unmatched: UnmatchedRequests,
    /// The limit of its size; `None` is unlimited.
    budget: Option<Budget>,
    /// The rules for unknown names: their cells are the first that a prune drops.
    unknown: Vec<RuleId>,
    /// The bytes above which it becomes that of a [sample of clients](client_sample); `None` is
    /// unlimited.
    sample_budget: Option<usize>,
    error_floor: ErrorFloor,
    /// The pruned pairs of each path.
    by_path: CellTable,
    /// The most hits of a path that may be uncounted, by its number; paths without any may be
    /// absent.
    path_errors: Vec<u64>,
    /// Further cells of a pair, a client or a path, beyond those that a prune keeps.
    overflow: CellTable,
}

/// Counts of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCount {
    /// All its requests.
    pub requests: u64,
    /// The requests that matched a rule and are allowed.
    pub allowed: u64,
    /// The most hits that its cells may lack.
    pub error: u64,
    /// The most requests that may be uncounted.
    pub missed: u64,
    /// What it got for the requests that no rule matched.
    pub unmatched: UnmatchedAnswers,
}

/// The requests of a client so far, as far as they are counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestsSoFar {
    /// All.
    pub requests: u64,
    /// What it got for those that no rule matched.
    pub unmatched: UnmatchedAnswers,
}

impl RequestsSoFar {
    /// Adds a request.
    pub(crate) fn add(&mut self, answer: UnmatchedAnswer) {
        self.requests += 1;
        self.unmatched.add(answer, 1);
    }
}

/// Counts of one client that every line changes, without branches on the answer: the requests by
/// the class of their answer, and the sizes of pages. They are small, so that those of many clients
/// are in the cache, and [added](Tally::add_uncounted) to its other counts before they overflow.
#[derive(Debug, Clone, Copy, Default)]
struct LineCount {
    requests: [u32; UnmatchedAnswer::CLASSES],
    sizes: SizeSpan,
}

impl LineCount {
    fn requests(self) -> u64 {
        self.requests.into_iter().map(u64::from).sum()
    }

    fn unmatched(self) -> UnmatchedAnswers {
        UnmatchedAnswers::from_classes(self.requests, self.sizes)
    }
}

/// A cell with its key.
#[derive(Debug, Clone, Copy)]
pub struct CellView<'t> {
    /// The client's number in [`Tally::client`], or [`SymbolTables::OTHER`].
    pub client: u32,
    /// The path's number in [`Tally::path`], or [`SymbolTables::OTHER`].
    pub path: u32,
    /// The number of the list of rules in [`Tally::rule_list`].
    pub rules: u32,
    /// The status code.
    pub status: Option<u16>,
    /// The input's number, or [`SymbolTables::NO_INPUT`].
    pub input: u32,
    /// The site that answered.
    pub site: Site<'t>,
    /// It was answered, and the rule says that an answer exposes something.
    pub answered: bool,
    /// It is a probe of its path, so its response shows how the site answers unknown paths.
    pub is_probe: bool,
    /// The class of the method.
    pub method: MethodClass,
    /// The size of an answer.
    pub bytes: Option<u64>,
    /// Bytes of the target beyond the path, where there is a size.
    pub extra: u8,
    /// The counts.
    pub cell: &'t CellCounts,
    rest: CellSampleRef<'t>,
}

impl<'t> CellView<'t> {
    /// The response of the site.
    #[must_use]
    pub fn response(&self) -> Response {
        Response {
            method: self.method,
            status: self.status,
            bytes: self.bytes,
            extra: self.extra,
        }
    }

    /// Whether it holds evicted hits: its client, its path or both are [`SymbolTables::OTHER`].
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.client == SymbolTables::OTHER || self.path == SymbolTables::OTHER
    }

    /// Whether it is one of the [`overflow_cells`](Tally::overflow_cells).
    #[must_use]
    pub fn is_overflow(&self) -> bool {
        self.input == SymbolTables::NO_INPUT
    }

    /// The most hits of this client and path that may be uncounted; 0 where the tally is exact. All
    /// cells of a client and a path have the same value.
    #[must_use]
    pub fn error(&self) -> u64 {
        self.rest.error()
    }

    /// The earliest hit.
    #[must_use]
    pub fn sample(&self) -> SampleView<'t> {
        self.rest.sample()
    }
}

/// How many requests ahead the counts of a client are prefetched: enough to overlap cache misses.
const AHEAD: usize = 8;

impl Tally {
    /// Adds the findings of one run of lines. All runs of one tally come from the same worker.
    pub fn add_findings(&mut self, findings: &Findings, position: LinePosition) {
        self.count_requests(&findings.requests);
        for &(day, requests) in &findings.days {
            self.days.add(day, requests);
        }
        for &client in &findings.mentioned {
            self.count_mut(client).requests += 1;
        }
        for &(entry, client) in &findings.allowed {
            self.count_mut(client).allowed += 1;
            self.count_allowed(entry, 1);
        }
        self.app_evidence.merge(
            &findings.app_evidence,
            |host| (position.input, host),
            |client| client,
        );
        for (host, bytes) in findings.home.iter() {
            self.evidence.record_home((position.input, host), bytes);
        }
        for hits in findings.hits.chunks(BATCH) {
            self.add(findings, hits, position);
        }
        findings.hits.iter().for_each(|hit| self.minutes.count(hit));
        self.unmatched.add_findings(findings, position);
    }

    fn count_requests(&mut self, requests: &[(u32, UnmatchedAnswer)]) {
        let lines = requests.len() as u64;
        if self.uncounted_lines + lines > u64::from(u32::MAX) {
            self.add_uncounted();
        }
        self.uncounted_lines += lines;
        if let Some(most) = requests.iter().map(|(client, _)| *client).max() {
            let len = self.uncounted.len().max(most as usize + 1);
            self.uncounted.resize(len, LineCount::default());
        }
        for (n, &(client, answer)) in requests.iter().enumerate() {
            if let Some(&(next, _)) = requests.get(n + AHEAD) {
                prefetch(&self.uncounted[next as usize]);
            }
            let count = &mut self.uncounted[client as usize];
            count.requests[usize::from(answer.class())] += 1;
            count.sizes.merge(SizeSpan::of(answer));
        }
    }

    /// Adds the counts of lines to those of their clients.
    fn add_uncounted(&mut self) {
        self.uncounted_lines = 0;
        for (client, lines) in (0..).zip(std::mem::take(&mut self.uncounted)) {
            let count = self.count_mut(client);
            count.requests += lines.requests();
            count.unmatched.merge(lines.unmatched());
        }
    }

    fn count_allowed(&mut self, entry: u16, requests: u64) {
        let at = usize::from(entry);
        self.allowed.resize(self.allowed.len().max(at + 1), 0);
        self.allowed[at] += requests;
    }

    fn add(&mut self, findings: &Findings, hits: &[Hit], position: LinePosition) {
        let mut keys = [CellKey::default(); BATCH];
        for (key, hit) in keys.iter_mut().zip(hits) {
            *key = cell_key(hit, position.input);
        }
        let lookups = self.cells.prefetch(&keys[..hits.len()]);
        for ((hit, key), lookup) in hits.iter().zip(&keys).zip(lookups) {
            let position = LinePosition {
                line: position.line + u64::from(hit.line),
                offset: hit.offset,
                ..position
            };
            let line = HitLine {
                time: hit.time,
                position,
                text: findings.text(hit),
                parsed: hit.parsed,
            };
            self.cells.count(key, lookup, &line, &mut self.scale);
        }
        self.enforce_time_entries();
    }

    /// Shortens the lists of times if they are too long.
    #[inline]
    fn enforce_time_entries(&mut self) {
        if self.scale.is_exceeded() {
            self.cells.shrink_times(&mut self.scale, MAX_TIME_ENTRIES);
        }
    }

    #[inline]
    fn count_mut(&mut self, client: u32) -> &mut ClientCount {
        let at = client as usize;
        if at >= self.clients.len() {
            self.clients.resize(at + 1, ClientCount::default());
        }
        &mut self.clients[at]
    }

    /// The requests of a client before it has names.
    pub(crate) fn requests_so_far(&self, client: u32) -> RequestsSoFar {
        let at = client as usize;
        let lines = self.uncounted.get(at).copied().unwrap_or_default();
        let counted = self.clients.get(at).copied().unwrap_or_default();
        let mut unmatched = counted.unmatched;
        unmatched.merge(lines.unmatched());
        RequestsSoFar {
            requests: counted.requests + lines.requests(),
            unmatched,
        }
    }

    /// Adds the names of the clients, paths, hosts and rules to which its numbers refer.
    #[must_use]
    pub fn with_names(mut self, names: SymbolTables) -> Self {
        self.add_uncounted();
        Self { names, ..self }
    }

    /// How many cells there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The bytes that the lines of its samples take.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.cells.held_bytes()
    }

    /// The bytes that it takes, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        const CELL: usize = size_of::<CellCounts>()
            + size_of::<cell::CellSample>()
            + size_of::<crate::collections::intern::InternSlot>();
        let tables = [&self.cells, &self.by_path, &self.overflow];
        let cells: usize = tables
            .iter()
            .map(|table| table.len() * CELL + table.held_bytes())
            .sum();
        let clients = self.clients.len() * size_of::<ClientCount>()
            + self.uncounted.len() * size_of::<LineCount>();
        cells
            + clients
            + self.minutes.len() * (size_of::<MinuteKey>() + size_of::<u64>())
            + self.names.all_bytes()
    }

    /// The number of sites with evidence of an app.
    #[must_use]
    pub fn app_sites(&self) -> usize {
        self.app_evidence.len()
    }

    /// Whether there is no hit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// All cells, in no order. Each hit is in exactly one of them. Hits of an evicted pair are in a
    /// cell of the client without a path; hits of an evicted client are in a cell without client
    /// and path.
    pub fn cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.cells)
    }

    /// The evicted pairs of each path, in no order, in cells without a client. Their hits are in
    /// [`cells`](Self::cells) as well.
    pub fn path_cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.by_path)
    }

    /// Further cells of clients and paths, beyond those that were kept; in no order and without
    /// inputs. A cell with a client and a path belongs to that pair, one whose path is
    /// [`SymbolTables::OTHER`] to the client, one whose client is to the path. Their hits are in
    /// [`cells`](Self::cells) as well, under another client or path or under none.
    pub fn overflow_cells(&self) -> impl Iterator<Item = CellView<'_>> {
        self.views(&self.overflow)
    }

    fn views<'t>(&'t self, cells: &'t CellTable) -> impl Iterator<Item = CellView<'t>> {
        cells.iter().map(|(cell, rest)| CellView {
            client: cell.key.client,
            path: cell.key.path,
            rules: cell.key.rules,
            status: cell.key.status(),
            input: cell.key.input,
            site: self.site(cell.key.input, cell.key.host),
            answered: cell.key.answered(),
            is_probe: cell.key.is_probe(),
            method: cell.key.method(),
            bytes: cell.key.bytes(),
            extra: cell.key.extra,
            cell,
            rest,
        })
    }

    fn site(&self, input: u32, host: u32) -> Site<'_> {
        if host == SymbolTables::NO_HOST {
            Site::Input(input)
        } else {
            Site::Host(self.names.hosts.resolve(host))
        }
    }

    /// Requests allowed by each entry of the allow lists, by the number of the entry; entries that
    /// allowed none may be absent.
    #[must_use]
    pub fn allowed(&self) -> &[u64] {
        &self.allowed
    }

    /// The apps that were detected, their sites, and the evidence.
    pub fn app_evidence(&self) -> impl Iterator<Item = (RuleId, Site<'_>, &BoundedSet)> {
        self.app_evidence
            .iter()
            .map(|(app, (input, host), evidence)| (app, self.site(input, host), evidence))
    }

    /// The number of a client; `None` if the client is unknown.
    #[must_use]
    pub fn client_number(&self, client: Client<'_>) -> Option<u32> {
        self.names.clients.find(client)
    }

    /// The requests counted by rules with a `window`.
    #[must_use]
    pub fn minutes(&self) -> &MinuteCounts {
        &self.minutes
    }

    /// All lists of rules, by number.
    #[must_use]
    pub fn rule_lists(&self) -> &[Box<[RuleId]>] {
        self.names.rules.keys()
    }

    /// The unit in which it counts times. At most [`MAX_BUCKETS`](time_counts::MAX_BUCKETS) buckets
    /// are between its first hit and its last.
    #[must_use]
    pub fn time_unit(&self) -> TimeUnit {
        self.scale.unit()
    }

    /// Whether it counts hours of the week.
    #[must_use]
    pub fn has_hours(&self) -> bool {
        self.scale.has_hours()
    }

    /// The lists of times of a cell; empty for [`path_cells`](Self::path_cells) and
    /// [`overflow_cells`](Self::overflow_cells).
    #[must_use]
    pub fn listed_times(&self, view: &CellView<'_>) -> ListedTimes {
        view.cell.listed_times(&self.scale)
    }

    /// The requests that matched no rule, if the run recorded them.
    #[must_use]
    pub fn unmatched(&self) -> &UnmatchedRequests {
        &self.unmatched
    }

    /// The client with a number.
    #[must_use]
    pub fn client(&self, number: u32) -> Client<'_> {
        self.names.clients.resolve(number)
    }

    /// All requests by day.
    pub(crate) fn days(&self) -> &RequestDays {
        &self.days
    }

    /// Requests of each client, by number.
    #[must_use]
    pub fn client_counts(&self) -> &[ClientCount] {
        &self.clients
    }

    /// The path with a number.
    #[must_use]
    pub fn path(&self, number: u32) -> &[u8] {
        self.names.paths.resolve(number)
    }

    /// The list of rules with a number, sorted.
    #[must_use]
    pub fn rule_list(&self, number: u32) -> &[RuleId] {
        self.names.rules.resolve(number)
    }
}

/// The cell that a hit belongs to.
fn cell_key(hit: &Hit, input: u32) -> CellKey {
    let Hit {
        client,
        path,
        rules,
        status,
        host,
        method,
        extra,
        ..
    } = *hit;
    let is_answered = Outcome::from_status(status) == Outcome::Answered;
    let is_probe = hit.is_probe();
    let answered = hit.exposes && is_answered;
    // The size of other responses is kept where it shows how the site answers unknown paths, or is
    // compared with such a size.
    let bytes = hit
        .bytes
        .filter(|&bytes| answered || (is_answered && (is_probe || hit.needs_client) && bytes > 0));
    ImportedKey {
        client,
        path,
        rules,
        status,
        input,
        host,
        answered,
        is_probe,
        method,
        bytes,
        extra,
    }
    .into()
}

#[cfg(test)]
mod tests;
