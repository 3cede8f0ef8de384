//! Encodes a tally as rows, in an order that depends on the texts only.
//!
//! It holds numbers and borrowed texts; each row is made when it is written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::decode::SnapshotDecoder;
use super::inputs::InputTable;
use super::rows::{
    AllowedRow, AppEvidenceRow, BackRef, CellRow, CellTimesRow, ClientErrorRow, ClientRow, ErrorFloorRow, HomePageRow, InputRow, MinuteRow,
    PathErrorRow, RuleRow, SampleRow, SitePathRow, TimeUnitRow, UnmatchedAnswersRow,
};
use crate::analysis::labels;
use crate::analysis::model::{AllowedCount, ReportModel, SnapshotSource};
use crate::analysis::rows::sample_request;
use crate::client::Client;
use crate::finding::{AppEvidence, BoundedSet, RuleId};
use crate::intern::SymbolTables;
use crate::redact::mask::{RedactedKey, redacted};
use crate::redact::sanitize::{escape, escape_lossless};
use crate::rules::{Rule, RuleSet};
use crate::soft_404::{HomeSizes, PathEvidence, PathNumbers, SiteEvidence};
use crate::source::SourceInfo;
use crate::tally::{CellView, ClientCount, ErrorFloor, MinuteKey, SampleView, Site, Tally, UnmatchedAnswers};

/// The snapshot of a report, ready to be encoded.
pub(crate) struct SnapshotEncoder<'a> {
    source: SnapshotSource<'a>,
    set: &'a RuleSet,
    allowed: &'a [AllowedCount<'a>],
    pub(crate) without_time: u64,
    sources: InputTable<'a>,
    rules: Vec<RuleId>,
    lists: SortedIds<&'a [RuleId]>,
    clients: SortedIds<ClientText<'a>>,
    paths: SortedIds<PathText<'a>>,
    hosts: HostTable<'a>,
    cells: Vec<IndexedCell<'a>>,
    app_evidence: Vec<(RuleId, Site<'a>, BoundedSet)>,
}

/// The encoded virtual hosts, and the index of each by its text in the tally.
struct HostTable<'a> {
    names: Vec<Cow<'a, [u8]>>,
    indices: HashMap<&'a [u8], u32>,
}

/// A cell with the indices of its names.
struct IndexedCell<'a> {
    client: u32,
    path: u32,
    input: u32,
    host: Option<u32>,
    list: u32,
    view: CellView<'a>,
}

impl<'a> SnapshotEncoder<'a> {
    /// The snapshot of a report; `None` if the report has none.
    pub(crate) fn new(report: &'a ReportModel<'a>) -> Option<Self> {
        let source = report.evidence?;
        let tally = source.tally;
        let mut app_evidence: AppEvidence<Site<'a>> = AppEvidence::default();
        for (app, site, evidence) in tally.app_evidence() {
            app_evidence.gather(app, site, evidence);
        }
        let app_evidence: Vec<_> = app_evidence.iter().map(|(app, site, evidence)| (app, site, *evidence)).collect();
        let kept: Vec<_> = tally.kept_evidence().map(|(_, site, ..)| site).collect();
        let sites = || cells_of(tally).filter_map(site_of).chain(app_evidence.iter().map(|row| row.1)).chain(kept.iter().copied());
        let with_counts = |&(client, count): &(u32, &ClientCount)| (*count != ClientCount::default()).then_some(client);
        let clients = (0..).zip(tally.client_counts()).filter_map(|pair| with_counts(&pair));
        let clients = clients
            .chain(cells_of(tally).map(|view| view.client))
            .chain(app_evidence.iter().filter_map(|row| row.2.clients()).flatten().copied());
        let clients = clients.chain(tally.minutes().iter().map(|(key, _)| key.client));
        let counted = tally.minutes().iter().map(|(key, _)| key);
        let lists =
            SortedIds::new(cells_of(tally).map(|view| view.rules).chain(counted.map(|key| key.rules)), |list| tally.rule_list(list));
        let counted = tally.minutes().iter().map(|(key, _)| key.path);
        let paths = cells_of(tally).map(|view| view.path).chain(nonzero(tally.path_errors())).chain(counted);
        let mut rules: Vec<RuleId> = lists
            .names
            .iter()
            .flat_map(|list| list.iter().copied())
            .chain(app_evidence.iter().map(|row| row.0))
            .chain(kept_rules(tally))
            .collect();
        rules.sort_unstable();
        rules.dedup();
        let mut encoder = Self {
            source,
            set: report.rule_set,
            allowed: &report.allowed,
            without_time: report.totals.without_time,
            sources: InputTable::new(
                report,
                source.sources,
                cells_of(tally).map(|view| source_of(&view)).chain(sites().filter_map(input_of)),
            ),
            clients: SortedIds::new(clients, |client| ClientText::new(tally.client(client))),
            paths: SortedIds::new(paths, |path| PathText::new(tally.path(path))),
            hosts: hosts(sites()),
            rules,
            lists,
            cells: Vec::with_capacity(tally.len()),
            app_evidence,
        };
        encoder.index_cells();
        Some(encoder)
    }

    fn index_cells(&mut self) {
        let indexed = |view: CellView<'a>| IndexedCell {
            client: self.clients.index(view.client),
            path: self.paths.index(view.path),
            input: self.sources.index(source_of(&view)),
            host: site_of(view).map(|site| self.host(site)),
            list: self.lists.index(view.rules),
            view,
        };
        let mut cells: Vec<_> = cells_of(self.source.tally).map(indexed).collect();
        cells.sort_unstable_by_key(|cell| {
            let CellView { status, answered, is_probe, method, bytes, extra, .. } = cell.view;
            (cell.client, cell.path, cell.input, cell.host, cell.list, status, (answered, is_probe, method, bytes, extra))
        });
        self.cells = cells;
    }

    fn host(&self, site: Site<'_>) -> u32 {
        host_of(site).and_then(|host| self.hosts.indices.get(host)).copied().unwrap_or(0)
    }

    fn rule_index(&self, rule: RuleId) -> u32 {
        self.rules.partition_point(|known| *known < rule) as u32
    }

    pub(crate) fn rules(&self) -> impl Iterator<Item = RuleRow<'a>> {
        self.rules.iter().map(|&rule| rule_row(self.set.rule(rule)))
    }

    pub(crate) fn inputs(&self) -> &[InputRow<'a>] {
        &self.sources.rows
    }

    /// The first one stands for no host.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.hosts.names.iter().map(|host| escape_lossless(host))
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = ClientRow<'_>> {
        let counts = self.source.tally.client_counts();
        self.clients.numbered().map(|(client, name)| {
            let count = counts.get(client as usize).copied().unwrap_or_default();
            ClientRow(name.escape_lossless(), count.requests, count.allowed)
        })
    }

    /// Of clients with a request that no rule matched.
    pub(crate) fn unmatched_answers(&self) -> impl Iterator<Item = UnmatchedAnswersRow> {
        let counts = self.source.tally.client_counts();
        let row = |(index, (client, _)): (u32, (u32, &ClientText<'_>))| {
            let UnmatchedAnswers { refused, redirected, served, sizes } = counts.get(client as usize)?.unmatched;
            let is_any = refused > 0 || redirected > 0 || served > 0;
            is_any.then_some(UnmatchedAnswersRow(index, refused, redirected, served, sizes.least, sizes.most))
        };
        (0..).zip(self.clients.numbered()).filter_map(row)
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.paths.names.iter().map(|path| escape_lossless(&path.bytes))
    }

    /// Lists of indices of rules.
    pub(crate) fn lists(&self) -> impl Iterator<Item = Vec<u32>> {
        self.lists.names.iter().map(|list| list.iter().map(|&rule| self.rule_index(rule)).collect())
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = CellRow<'_>> {
        let mut samples = SampleEncoder::default();
        self.cells.iter().map(move |indexed| {
            let IndexedCell { client, path, input, host, list, view } = indexed;
            let source = &self.source.sources[source_of(view) as usize];
            let known = |index: u32| (index != SymbolTables::OTHER).then_some(index);
            let shown = self.paths.names.get(*path as usize).map(|path| &*path.redacted);
            CellRow {
                client: known(*client),
                path: known(*path),
                list: *list,
                status: view.status,
                input: *input,
                host: *host,
                answered: view.answered,
                is_probe: view.is_probe,
                method: view.method as u8,
                bytes: view.bytes,
                extra: view.extra,
                hits: view.cell.hits,
                error: view.error(),
                times: view.cell.times().map(|(first, last)| (first.into(), last.into())),
                sample: samples.row(source, view.sample(), shown, view.site),
            }
        })
    }

    pub(crate) fn time_unit(&self) -> TimeUnitRow {
        TimeUnitRow(self.source.tally.time_unit().seconds(), self.source.tally.has_hours())
    }

    /// The times of cells that have more than a first and a last time.
    pub(crate) fn times(&self) -> impl Iterator<Item = CellTimesRow> {
        let tally = self.source.tally;
        (0..).zip(&self.cells).filter_map(move |(index, IndexedCell { view, .. })| {
            let listed = tally.listed_times(view);
            let (first, _) = view.cell.times().filter(|_| !listed.is_empty())?;
            let mut before = tally.time_unit().bucket(first.utc);
            let mut buckets = Vec::with_capacity(2 * listed.buckets.len());
            for (bucket, hits) in listed.buckets {
                buckets.extend([u64::from(bucket - before), hits]);
                before = bucket;
            }
            let hours = listed.hours.into_iter().flat_map(|(hour, hits)| [hour.into(), hits]).collect();
            Some(CellTimesRow(index, listed.untimed, hours, buckets))
        })
    }

    pub(crate) fn minutes(&self) -> Vec<MinuteRow> {
        let known = |index: u32| (index != SymbolTables::OTHER).then_some(index);
        let row = |(key, requests): (MinuteKey, u64)| {
            let (client, path) = (self.clients.index(key.client), self.paths.index(key.path));
            MinuteRow(known(client), known(path), self.lists.index(key.rules), key.minute, requests)
        };
        let mut rows: Vec<MinuteRow> = self.source.tally.minutes().iter().map(row).collect();
        rows.sort_unstable();
        rows
    }

    /// Requests that are in no minute.
    pub(crate) fn uncounted(&self) -> u64 {
        self.source.tally.minutes().dropped()
    }

    pub(crate) fn app_evidence(&self) -> Vec<AppEvidenceRow> {
        let row = |(app, site, evidence): &(RuleId, Site<'a>, BoundedSet)| {
            let (input, host) = self.site(*site);
            let mut clients: Option<Vec<u32>> =
                evidence.clients().map(|clients| clients.iter().map(|&client| self.clients.index(client)).collect());
            let mut sizes = evidence.sizes().map(<[u64]>::to_vec);
            if let Some(clients) = &mut clients {
                clients.sort_unstable();
            }
            if let Some(sizes) = &mut sizes {
                sizes.sort_unstable();
            }
            AppEvidenceRow(self.rule_index(*app), input, host, clients, sizes, evidence.magnitudes())
        };
        let mut rows: Vec<_> = self.app_evidence.iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.0, row.1, row.2));
        rows
    }

    /// Sizes of home pages.
    pub(crate) fn home_pages(&self) -> Vec<HomePageRow> {
        let row = |(_, site, _, home): (u32, Site<'a>, Option<&SiteEvidence>, Option<&'a HomeSizes>)| {
            let mut sizes: Vec<u64> = home?.iter().collect();
            sizes.sort_unstable();
            let (input, host) = self.site(site);
            Some(HomePageRow(input, host, sizes))
        };
        let mut rows: Vec<_> = self.source.tally.kept_evidence().filter_map(row).collect();
        rows.sort_unstable_by_key(|row| (row.0, row.1));
        // One host may be in several inputs.
        rows.dedup_by(|row, first| {
            let same = (row.0, row.1) == (first.0, first.1);
            if same {
                first.2.append(&mut row.2);
                first.2.sort_unstable();
                first.2.dedup();
            }
            same
        });
        rows
    }

    /// The responses of sites whose cells were pruned.
    pub(crate) fn site_paths(&self) -> Vec<SitePathRow> {
        let mut rows = Vec::new();
        for (_, site, evidence, _) in self.source.tally.kept_evidence() {
            let (input, host) = self.site(site);
            let paths = evidence.into_iter().flat_map(|evidence| evidence.answered().chain(evidence.refused()));
            rows.extend(paths.map(|(hash, path)| site_row((input, host), hash, path, |rule| self.rule_index(rule))));
        }
        rows.sort_unstable_by(|a, b| (a.0, a.1, &a.2, &a.6, &a.7).cmp(&(b.0, b.1, &b.2, &b.6, &b.7)));
        rows
    }

    /// The index of a site: of its input or of its host.
    fn site(&self, site: Site<'_>) -> (Option<u32>, Option<u32>) {
        match site {
            Site::Input(input) => (Some(self.sources.index(input)), None),
            Site::Host(_) => (None, Some(self.host(site))),
        }
    }

    pub(crate) fn allowed(&self) -> impl Iterator<Item = AllowedRow<'_>> {
        self.allowed
            .iter()
            .map(|entry| AllowedRow(escape(entry.file.as_bytes()), entry.line, escape(entry.reason.as_bytes()), entry.requests))
    }

    /// Whether nothing was evicted, so that there are no error bounds.
    pub(crate) fn is_exact(&self) -> bool {
        self.source.tally.is_exact()
    }

    pub(crate) fn floor(&self) -> ErrorFloorRow {
        let ErrorFloor { pairs, clients, requests, paths } = self.source.tally.error_floor();
        ErrorFloorRow { pairs, clients, requests, paths }
    }

    /// Of clients that may lack hits or requests.
    pub(crate) fn client_errors(&self) -> impl Iterator<Item = ClientErrorRow> {
        let counts = self.source.tally.client_counts();
        let row = |(index, (client, _)): (u32, (u32, &ClientText<'_>))| {
            let ClientCount { error, missed, .. } = *counts.get(client as usize)?;
            (error > 0 || missed > 0).then_some(ClientErrorRow(index, error, missed))
        };
        (0..).zip(self.clients.numbered()).filter_map(row)
    }

    /// Of paths that may lack hits.
    pub(crate) fn path_errors(&self) -> impl Iterator<Item = PathErrorRow> {
        let error = |path| self.source.tally.path_error(path);
        let rows = (0..).zip(self.paths.numbered()).map(move |(index, (path, _))| PathErrorRow(index, error(path)));
        rows.filter(|row| row.1 > 0)
    }
}

fn site_row((input, host): (Option<u32>, Option<u32>), hash: u64, path: &PathEvidence, rule: impl Fn(RuleId) -> u32) -> SitePathRow {
    let PathNumbers { shape, flags, get, post, partial, clients, hours } = path.numbers();
    let rules = path.rules().iter().map(|&id| rule(id)).collect();
    SitePathRow(input, host, format!("{hash:016x}"), shape, rules, flags, get, post, partial, clients, hours)
}

/// The rules that occur in evidence outside the cells.
fn kept_rules(tally: &Tally) -> impl Iterator<Item = RuleId> {
    let evidence = tally.kept_evidence().filter_map(|(_, _, evidence, _)| evidence);
    evidence.flat_map(|evidence| evidence.answered().chain(evidence.refused())).flat_map(|(_, path)| path.rules().to_vec())
}

/// All cells, the path cells of evicted pairs, and the overflow.
fn cells_of(tally: &Tally) -> impl Iterator<Item = CellView<'_>> {
    tally.cells().chain(tally.path_cells()).chain(tally.overflow_cells())
}

/// The site of a cell, if it has one.
fn site_of(view: CellView<'_>) -> Option<Site<'_>> {
    (!view.is_overflow()).then_some(view.site)
}

/// The number of the input that is stored with a cell.
fn source_of(view: &CellView<'_>) -> u32 {
    if view.is_overflow() { view.sample().position.input } else { view.input }
}

/// The numbers of paths that may lack hits.
fn nonzero(errors: &[u64]) -> impl Iterator<Item = u32> {
    (0..).zip(errors).filter(|(_, error)| **error > 0).map(|(number, _)| number)
}

/// Passes all rows to a decoder.
pub(crate) fn transfer(encoder: &SnapshotEncoder<'_>, decoder: &mut SnapshotDecoder<'_>) -> Result<(), String> {
    encoder.rules().try_for_each(|row| decoder.rule(row))?;
    encoder.inputs().iter().try_for_each(|row| decoder.input(row))?;
    encoder.hosts().try_for_each(|row| decoder.host(&row))?;
    encoder.clients().try_for_each(|row| decoder.client(&row))?;
    encoder.unmatched_answers().try_for_each(|row| decoder.unmatched_answers(&row))?;
    encoder.paths().try_for_each(|row| decoder.path(&row))?;
    encoder.lists().try_for_each(|row| decoder.list(&row))?;
    decoder.time_unit(encoder.time_unit())?;
    encoder.times().try_for_each(|row| decoder.times(row))?;
    encoder.cells().try_for_each(|row| decoder.cell(row))?;
    encoder.minutes().into_iter().try_for_each(|row| decoder.minute(row))?;
    decoder.uncounted(encoder.uncounted())?;
    encoder.app_evidence().iter().try_for_each(|row| decoder.app_evidence(row))?;
    encoder.home_pages().iter().try_for_each(|row| decoder.home(row))?;
    encoder.site_paths().into_iter().try_for_each(|row| decoder.site_path(row))?;
    encoder.allowed().try_for_each(|row| decoder.allowed(row))?;
    decoder.without_time(encoder.without_time)?;
    decoder.floor(&encoder.floor())?;
    encoder.client_errors().try_for_each(|row| decoder.client_error(&row))?;
    encoder.path_errors().try_for_each(|row| decoder.path_error(&row))
}

fn input_of(site: Site<'_>) -> Option<u32> {
    match site {
        Site::Input(input) => Some(input),
        Site::Host(_) => None,
    }
}

/// The hosts in their encoded order, after the one that stands for no host, and the index of each by its text in the
/// tally.
fn hosts<'a>(sites: impl Iterator<Item = Site<'a>>) -> HostTable<'a> {
    let known: HashSet<&[u8]> = sites.filter_map(host_of).collect();
    let mut hosts: Vec<_> = known.into_iter().map(|host| (RedactedKey::new(host).into_bytes(), host)).collect();
    hosts.sort_unstable();
    let indices = hosts.iter().zip(1..).map(|((_, host), index)| (*host, index)).collect();
    HostTable { names: std::iter::once(Cow::Borrowed(&b""[..])).chain(hosts.into_iter().map(|(encoded, _)| encoded)).collect(), indices }
}

fn host_of(site: Site<'_>) -> Option<&[u8]> {
    match site {
        Site::Host(host) => Some(host),
        Site::Input(_) => None,
    }
}

fn rule_row(rule: &Rule) -> RuleRow<'_> {
    let all = |texts: &'_ [String]| texts.iter().map(|text| Cow::Owned(text.clone())).collect();
    RuleRow {
        id: Cow::Borrowed(&rule.id),
        title: escape(rule.title.as_bytes()),
        class: Cow::Borrowed(&rule.class),
        severity: rule.severity,
        exposes: rule.exposes(),
        with_client: rule.with_client.as_ref().map(|with| (with.distinct_paths, all(&with.classes))),
        same_answer: rule.with_client.as_ref().is_some_and(|with| with.same_answer),
        window: rule.counts_requests(),
        counts: rule.window.map(|window| (window.by, window.count, window.within)),
        others: rule.window.and_then(|window| window.others),
        guess: rule.guess,
        unless_app: all(&rule.unless_app),
        is_app_evidence: rule.is_app_evidence,
        subject: rule.subject,
        cve: all(&rule.cve),
    }
}

/// Encodes samples: a repeated text is stored once.
#[derive(Default)]
pub(crate) struct SampleEncoder<'a> {
    generations: HashMap<u64, u32>,
    agents: HashMap<Cow<'a, str>, u32>,
    /// The number of an agent by its text in the tally: most come again, and are not redacted again.
    agents_by_text: HashMap<&'a [u8], u32>,
    hosts: HashMap<&'a [u8], Cow<'a, str>>,
}

impl<'a> SampleEncoder<'a> {
    /// The row of a sample. `path` and `site` are those of its cell, and are not repeated.
    pub(crate) fn row(&mut self, source: &'a SourceInfo, sample: SampleView<'a>, path: Option<&'a str>, site: Site<'a>) -> SampleRow<'a> {
        let request = sample_request(source, sample);
        let host = request.host.map(redacted);
        let is_usual = match site {
            Site::Host(usual) => host.as_ref() == Some(self.hosts.entry(usual).or_insert_with(|| redacted(usual))),
            Site::Input(_) => host.is_none(),
        };
        let target = redacted(request.target);
        SampleRow {
            time: sample.time.map(Into::into),
            generation: self.generation(request.generation),
            offset: request.offset,
            line: request.line,
            target: Some(target).filter(|target| Some(&**target) != path),
            host: host.filter(|_| !is_usual),
            user_agent: request.user_agent.map(|agent| self.agent(agent)),
            user: request.user.map(redacted),
        }
    }

    fn generation(&mut self, generation: u64) -> BackRef<'a> {
        let next = self.generations.len() as u32;
        match *self.generations.entry(generation).or_insert(next) {
            new if new == next => BackRef::First(Cow::Owned(labels::generation(generation))),
            known => BackRef::Again(known),
        }
    }

    fn agent(&mut self, text: &'a [u8]) -> BackRef<'a> {
        if let Some(&known) = self.agents_by_text.get(text) {
            return BackRef::Again(known);
        }
        let agent = redacted(text);
        let next = self.agents.len() as u32;
        let number = *self.agents.entry(agent.clone()).or_insert(next);
        self.agents_by_text.insert(text, number);
        if number == next { BackRef::First(agent) } else { BackRef::Again(number) }
    }
}

/// Sorted names and their numbers in the tally.
pub(crate) struct SortedIds<T> {
    pub(crate) names: Vec<T>,
    /// The number by index.
    numbers: Vec<u32>,
    /// The index by number.
    indices: Vec<u32>,
}

impl<T: Ord> SortedIds<T> {
    /// The names of these numbers, which may repeat; [`SymbolTables::OTHER`] has no name.
    pub(crate) fn new(numbers: impl Iterator<Item = u32>, name: impl Fn(u32) -> T) -> Self {
        let mut is_used = Vec::new();
        for number in numbers.filter(|&number| number != SymbolTables::OTHER) {
            let at = number as usize;
            if at >= is_used.len() {
                is_used.resize(at + 1, false);
            }
            is_used[at] = true;
        }
        let used = (0..).zip(&is_used).filter(|(_, used)| **used);
        let mut sorted: Vec<(T, u32)> = used.map(|(number, _)| (name(number), number)).collect();
        sorted.sort_unstable();
        let (names, numbers): (Vec<T>, Vec<u32>) = sorted.into_iter().unzip();
        let mut indices = vec![0; is_used.len()];
        for (index, number) in (0..).zip(&numbers) {
            indices[*number as usize] = index;
        }
        Self { names, numbers, indices }
    }

    /// The index of a name by its number. [`SymbolTables::OTHER`] stays, so it sorts after all others.
    pub(crate) fn index(&self, number: u32) -> u32 {
        self.indices.get(number as usize).copied().unwrap_or(SymbolTables::OTHER)
    }

    /// All names with their numbers.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u32, &T)> {
        self.numbers.iter().copied().zip(&self.names)
    }
}

/// A client as it is stored.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClientText<'a> {
    Address(Client<'a>),
    Text(Cow<'a, [u8]>),
}

impl<'a> ClientText<'a> {
    pub(crate) fn new(client: Client<'a>) -> Self {
        match client {
            Client::Text(text) => Self::Text(RedactedKey::new(text).into_bytes()),
            address => Self::Address(address),
        }
    }

    pub(crate) fn escape_lossless(&self) -> Cow<'_, str> {
        match self {
            Self::Address(address) => Cow::Owned(address.to_string()),
            Self::Text(text) => escape_lossless(text),
        }
    }
}

/// A path as it is stored, and as it is printed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathText<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    pub(crate) redacted: Cow<'a, str>,
}

impl<'a> PathText<'a> {
    pub(crate) fn new(path: &'a [u8]) -> Self {
        let key = RedactedKey::new(path);
        Self { redacted: key.redacted(), bytes: key.into_bytes() }
    }
}
