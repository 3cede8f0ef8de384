//! Encodes a tally as rows, in an order that depends on the texts only.
//!
//! It holds numbers and borrowed texts; each row is made when it is written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::rows::{CellRow, HeadRow, RuleRow, SampleRow, SnapshotRow};
use crate::collections::intern::SymbolTables;
use crate::formats::LogFormat;
use crate::log::client::{Client, Ipv6Prefix};
use crate::log::finding::{AppEvidence, BoundedSet, RuleId};
use crate::log::source::SourceInfo;
use crate::report::model::{AllowedCount, ReportModel, SampleRequest, SnapshotSource};
use crate::report::rows::sample_request;
use crate::rules::Rule;
use crate::scan::input_summary::InputSummary;
use crate::soft_404::{PathEvidence, PathNumbers};
use crate::tally::{CellView, ClientCount, MinuteKey, Site, Tally, UnmatchedAnswers};
use crate::text::redact::LogText;
use crate::text::redact::mask::RedactedKey;
use crate::text::redact::sanitize::{escape, escape_lossless};

/// The snapshot of a report, ready to be encoded.
pub(crate) struct SnapshotEncoder<'a> {
    report: &'a ReportModel<'a>,
    source: SnapshotSource<'a>,
    inputs: InputTable<'a>,
    rules: Vec<RuleId>,
    lists: SortedIds<&'a [RuleId]>,
    clients: SortedIds<ClientText<'a>>,
    paths: SortedIds<PathText<'a>>,
    /// The encoded virtual hosts; the first one stands for no host.
    hosts: Vec<Cow<'a, [u8]>>,
    /// The index of each virtual host by its text in the tally.
    host_indices: HashMap<&'a [u8], u32>,
    cells: Vec<IndexedCell<'a>>,
    app_evidence: Vec<(RuleId, Site<'a>, BoundedSet)>,
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
        let app_evidence: Vec<_> = app_evidence
            .iter()
            .map(|(app, site, evidence)| (app, site, *evidence))
            .collect();
        let kept: Vec<_> = tally.kept_evidence().map(|(_, site, ..)| site).collect();
        let sites = || {
            cells_of(tally)
                .filter_map(site_of)
                .chain(app_evidence.iter().map(|row| row.1))
                .chain(kept.iter().copied())
        };
        let with_counts = |&(client, count): &(u32, &ClientCount)| {
            (*count != ClientCount::default()).then_some(client)
        };
        let clients = (0..)
            .zip(tally.client_counts())
            .filter_map(|pair| with_counts(&pair));
        let clients = clients
            .chain(cells_of(tally).map(|view| view.client))
            .chain(
                app_evidence
                    .iter()
                    .filter_map(|row| row.2.clients())
                    .flatten()
                    .copied(),
            );
        let clients = clients.chain(tally.minutes().iter().map(|(key, _)| key.client));
        let counted = tally.minutes().iter().map(|(key, _)| key);
        let lists = SortedIds::new(
            cells_of(tally)
                .map(|view| view.rules)
                .chain(counted.map(|key| key.rules)),
            |list| tally.rule_list(list),
        );
        let counted = tally.minutes().iter().map(|(key, _)| key.path);
        let paths = cells_of(tally)
            .map(|view| view.path)
            .chain(nonzero(tally.path_errors()))
            .chain(counted);
        let mut rules: Vec<RuleId> = lists
            .names
            .iter()
            .flat_map(|list| list.iter().copied())
            .chain(app_evidence.iter().map(|row| row.0))
            .chain(kept_rules(tally))
            .collect();
        rules.sort_unstable();
        rules.dedup();
        let hosts = hosts(sites());
        let host_indices = hosts
            .iter()
            .zip(1..)
            .map(|((_, host), index)| (*host, index))
            .collect();
        let mut encoder = Self {
            report,
            source,
            inputs: InputTable::new(
                report,
                source.sources,
                cells_of(tally)
                    .map(|view| source_of(&view))
                    .chain(sites().filter_map(input_of)),
            ),
            clients: SortedIds::new(clients, |client| ClientText::new(tally.client(client))),
            paths: SortedIds::new(paths, |path| PathText::new(tally.path(path))),
            hosts: std::iter::once(Cow::Borrowed(&b""[..]))
                .chain(hosts.into_iter().map(|(encoded, _)| encoded))
                .collect(),
            host_indices,
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
            input: self.inputs.index(source_of(&view)),
            host: site_of(view).map(|site| self.host(site)),
            list: self.lists.index(view.rules),
            view,
        };
        let mut cells: Vec<_> = cells_of(self.source.tally).map(indexed).collect();
        cells.sort_unstable_by_key(|cell| {
            let CellView {
                status,
                answered,
                is_probe,
                method,
                bytes,
                extra,
                ..
            } = cell.view;
            (
                cell.client,
                cell.path,
                cell.input,
                cell.host,
                cell.list,
                status,
                (answered, is_probe, method, bytes, extra),
            )
        });
        self.cells = cells;
    }

    fn host(&self, site: Site<'_>) -> u32 {
        site.host()
            .and_then(|host| self.host_indices.get(host))
            .copied()
            .unwrap_or(0)
    }

    fn rule_index(&self, rule: RuleId) -> u32 {
        self.rules.partition_point(|known| *known < rule) as u32
    }

    /// The rules that occur in the counts.
    pub(crate) fn rules(&self) -> impl Iterator<Item = RuleRow<'a>> {
        self.rules
            .iter()
            .map(|&rule| rule_row(self.report.rule_set.rule(rule)))
    }

    /// Passes on all rows, each after those that it refers to.
    pub(crate) fn for_each<E>(
        &self,
        mut put: impl FnMut(SnapshotRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        put(SnapshotRow::Head(self.head()))?;
        self.rules()
            .try_for_each(|row| put(SnapshotRow::Rule(row)))?;
        self.inputs
            .rows()
            .try_for_each(|row| put(SnapshotRow::Input(row)))?;
        self.hosts
            .iter()
            .try_for_each(|host| put(SnapshotRow::Host(escape_lossless(host))))?;
        let clients = || {
            (0..)
                .zip(self.clients.numbered())
                .map(|(index, (client, name))| (index, name, self.count(client)))
        };
        clients().try_for_each(|(_, name, count)| {
            put(SnapshotRow::Client(
                name.escape_lossless(),
                count.requests,
                count.allowed,
            ))
        })?;
        for (index, _, count) in clients() {
            let UnmatchedAnswers {
                refused,
                redirected,
                served,
                sizes,
            } = count.unmatched;
            if refused > 0 || redirected > 0 || served > 0 {
                put(SnapshotRow::UnmatchedAnswers(
                    index,
                    refused,
                    redirected,
                    served,
                    sizes.least,
                    sizes.most,
                ))?;
            }
        }
        self.paths
            .names
            .iter()
            .try_for_each(|path| put(SnapshotRow::Path(escape_lossless(&path.bytes))))?;
        for list in &self.lists.names {
            put(SnapshotRow::List(
                list.iter().map(|&rule| self.rule_index(rule)).collect(),
            ))?;
        }
        self.for_each_cell(&mut put)?;
        self.minutes()
            .into_iter()
            .try_for_each(|(client, path, list, minute, requests)| {
                put(SnapshotRow::Minute(
                    known(client),
                    known(path),
                    list,
                    minute,
                    requests,
                ))
            })?;
        self.for_each_app(&mut put)?;
        self.home_pages()
            .into_iter()
            .try_for_each(|((input, host), sizes)| {
                put(SnapshotRow::HomePage(input, host, sizes))
            })?;
        self.site_paths()
            .into_iter()
            .try_for_each(|((input, host), hash, rules, path)| {
                put(SnapshotRow::SitePath(input, host, hash, rules, path))
            })?;
        for AllowedCount {
            file,
            line,
            reason,
            requests,
        } in &self.report.allowed
        {
            put(SnapshotRow::Allowed(
                escape(file.as_bytes()),
                *line,
                escape(reason.as_bytes()),
                *requests,
            ))?;
        }
        for (index, _, count) in clients().filter(|(.., count)| count.error > 0 || count.missed > 0)
        {
            put(SnapshotRow::ClientError(index, count.error, count.missed))?;
        }
        let errors = (0..)
            .zip(self.paths.numbered())
            .map(|(index, (path, _))| (index, self.source.tally.path_error(path)));
        errors
            .filter(|(_, error)| *error > 0)
            .try_for_each(|(index, error)| put(SnapshotRow::PathError(index, error)))
    }

    fn head(&self) -> HeadRow {
        let Self {
            report,
            source: SnapshotSource { tally, .. },
            ..
        } = self;
        HeadRow {
            log_host: report.log_host.clone(),
            period: report.period.clone(),
            ipv6_prefix: report.prefix.map(Ipv6Prefix::bits),
            time_unit: tally.time_unit().seconds(),
            has_hours: tally.has_hours(),
            without_time: report.totals.without_time,
            days: tally.days().clone(),
            uncounted: tally.minutes().dropped(),
            floor: (!tally.is_exact()).then(|| tally.error_floor()),
        }
    }

    fn count(&self, client: u32) -> ClientCount {
        self.source
            .tally
            .client_counts()
            .get(client as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Passes on the cells, and their agents and times.
    fn for_each_cell<E>(
        &self,
        put: &mut impl FnMut(SnapshotRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut samples = SampleEncoder::default();
        for IndexedCell {
            client,
            path,
            input,
            host,
            list,
            view,
        } in &self.cells
        {
            let source = &self.source.sources[source_of(view) as usize];
            let request = sample_request(source, view.sample());
            let (generation, new) = samples.generation(request.id.generation);
            if new {
                put(SnapshotRow::Generation(request.id.generation))?;
            }
            let (agent, new) = request.user_agent.map(|agent| samples.agent(agent)).unzip();
            if let Some(agent) = new.flatten() {
                put(SnapshotRow::Agent(agent))?;
            }
            if let Some((untimed, hours, buckets)) = self.times(view) {
                put(SnapshotRow::Times(untimed, hours, buckets))?;
            }
            let shown = self
                .paths
                .names
                .get(*path as usize)
                .map(|path| &*path.redacted);
            put(SnapshotRow::Cell(CellRow {
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
                times: view.cell.times(),
                sample: SampleRow {
                    time: view.sample().time,
                    generation,
                    agent,
                    ..samples.row(&request, shown, view.site)
                },
            }))?;
        }
        Ok(())
    }

    /// The times of a cell that has more than a first and a last time.
    fn times(&self, view: &CellView<'a>) -> Option<(u64, Vec<u64>, Vec<u64>)> {
        let tally = self.source.tally;
        let listed = tally.listed_times(view);
        let (first, _) = view.cell.times().filter(|_| !listed.is_empty())?;
        let mut before = tally.time_unit().bucket(first.utc);
        let mut buckets = Vec::with_capacity(2 * listed.buckets.len());
        for (bucket, hits) in listed.buckets {
            buckets.extend([u64::from(bucket - before), hits]);
            before = bucket;
        }
        Some((
            listed.untimed,
            listed
                .hours
                .into_iter()
                .flat_map(|(hour, hits)| [hour.into(), hits])
                .collect(),
            buckets,
        ))
    }

    fn minutes(&self) -> Vec<(u32, u32, u32, i64, u64)> {
        let row = |(key, requests): (MinuteKey, u64)| {
            (
                self.clients.index(key.client),
                self.paths.index(key.path),
                self.lists.index(key.rules),
                key.minute,
                requests,
            )
        };
        let mut rows: Vec<_> = self.source.tally.minutes().iter().map(row).collect();
        rows.sort_unstable();
        rows
    }

    fn for_each_app<E>(
        &self,
        put: &mut impl FnMut(SnapshotRow<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows: Vec<_> = self
            .app_evidence
            .iter()
            .map(|(app, site, evidence)| (self.rule_index(*app), self.site(*site), evidence))
            .collect();
        rows.sort_unstable_by_key(|(app, site, _)| (*app, *site));
        rows.into_iter()
            .try_for_each(|(app, (input, host), evidence)| {
                let clients = evidence
                    .clients()
                    .map(|clients| clients.iter().map(|&client| self.clients.index(client)));
                let sizes = evidence.sizes().map(|sizes| sizes.iter().copied());
                put(SnapshotRow::AppEvidence(
                    app,
                    input,
                    host,
                    clients.map(sorted),
                    sizes.map(sorted),
                    evidence.magnitudes(),
                ))
            })
    }

    /// Sizes of home pages.
    fn home_pages(&self) -> Vec<(SiteIndex, Vec<u64>)> {
        // One host may be in several inputs.
        let mut sites: BTreeMap<SiteIndex, BTreeSet<u64>> = BTreeMap::new();
        for (_, site, _, home) in self.source.tally.kept_evidence() {
            if let Some(home) = home {
                sites
                    .entry(self.site(site))
                    .or_default()
                    .extend(home.iter());
            }
        }
        sites
            .into_iter()
            .map(|(site, sizes)| (site, sizes.into_iter().collect()))
            .collect()
    }

    /// The responses of sites whose cells were pruned.
    fn site_paths(&self) -> Vec<(SiteIndex, u64, Vec<u32>, PathNumbers)> {
        let mut rows = Vec::new();
        for (_, site, evidence, _) in self.source.tally.kept_evidence() {
            let paths = evidence
                .into_iter()
                .flat_map(|evidence| evidence.answered().chain(evidence.refused()));
            let rules = |path: &PathEvidence| {
                path.rules()
                    .iter()
                    .map(|&rule| self.rule_index(rule))
                    .collect()
            };
            rows.extend(
                paths.map(|(hash, path)| (self.site(site), hash, rules(path), path.numbers())),
            );
        }
        rows.sort_unstable();
        rows
    }

    /// The index of a site: of its input or of its host.
    fn site(&self, site: Site<'_>) -> SiteIndex {
        match site {
            Site::Input(input) => (Some(self.inputs.index(input)), None),
            Site::Host(_) => (None, Some(self.host(site))),
        }
    }
}

/// The index of an input or of a host.
type SiteIndex = (Option<u32>, Option<u32>);

fn known(index: u32) -> Option<u32> {
    (index != SymbolTables::OTHER).then_some(index)
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items
}

/// The rules that occur in evidence outside the cells.
fn kept_rules(tally: &Tally) -> impl Iterator<Item = RuleId> {
    let evidence = tally
        .kept_evidence()
        .filter_map(|(_, _, evidence, _)| evidence);
    evidence
        .flat_map(|evidence| evidence.answered().chain(evidence.refused()))
        .flat_map(|(_, path)| path.rules().to_vec())
}

/// All cells, the path cells of evicted pairs, and the overflow.
fn cells_of(tally: &Tally) -> impl Iterator<Item = CellView<'_>> {
    tally
        .cells()
        .chain(tally.path_cells())
        .chain(tally.overflow_cells())
}

/// The site of a cell, if it has one.
fn site_of(view: CellView<'_>) -> Option<Site<'_>> {
    (!view.is_overflow()).then_some(view.site)
}

/// The number of the input that is stored with a cell.
fn source_of(view: &CellView<'_>) -> u32 {
    if view.is_overflow() {
        view.sample().position.input
    } else {
        view.input
    }
}

/// The numbers of paths that may lack hits.
fn nonzero(errors: &[u64]) -> impl Iterator<Item = u32> {
    (0..)
        .zip(errors)
        .filter(|(_, error)| **error > 0)
        .map(|(number, _)| number)
}

fn input_of(site: Site<'_>) -> Option<u32> {
    match site {
        Site::Input(input) => Some(input),
        Site::Host(_) => None,
    }
}

/// The hosts in their encoded order, each with its text in the tally.
fn hosts<'a>(sites: impl Iterator<Item = Site<'a>>) -> Vec<(Cow<'a, [u8]>, &'a [u8])> {
    let known: HashSet<&[u8]> = sites.filter_map(Site::host).collect();
    let mut hosts: Vec<_> = known
        .into_iter()
        .map(|host| (RedactedKey::new(host).into_bytes(), host))
        .collect();
    hosts.sort_unstable();
    hosts
}

fn rule_row(rule: &Rule) -> RuleRow<'_> {
    let all = |texts: &'_ [String]| texts.iter().map(|text| Cow::Owned(text.clone())).collect();
    RuleRow {
        id: Cow::Borrowed(&rule.id),
        title: escape(rule.title.as_bytes()),
        class: Cow::Borrowed(&rule.class),
        severity: rule.severity,
        exposes: rule.exposes(),
        with_client: rule
            .with_client
            .as_ref()
            .map(|with| (with.distinct_paths, all(&with.classes))),
        same_answer: rule
            .with_client
            .as_ref()
            .is_some_and(|with| with.same_answer),
        window: rule.counts_requests(),
        counts: rule
            .window
            .map(|window| (window.by, window.count, window.within)),
        others: rule.window.and_then(|window| window.others),
        guess: rule.guess,
        unless_app: all(&rule.unless_app),
        is_app_evidence: rule.is_app_evidence,
        subject: rule.subject,
        cve: all(rule.cve()),
    }
}

/// Encodes samples: a repeated text is stored once.
#[derive(Default)]
struct SampleEncoder<'a> {
    generations: HashMap<u64, u32>,
    agents: HashMap<Cow<'a, str>, u32>,
    /// The number of an agent by its text in the tally: most come again, and are not redacted
    /// again.
    agents_by_text: HashMap<LogText<'a>, u32>,
    hosts: HashMap<&'a [u8], Cow<'a, str>>,
}

impl<'a> SampleEncoder<'a> {
    /// The row of a sample, without time and indices. `path` and `site` are those of its cell, and
    /// are not repeated.
    fn row(
        &mut self,
        request: &SampleRequest<'a>,
        path: Option<&str>,
        site: Site<'a>,
    ) -> SampleRow<'a> {
        let host = request.host.map(LogText::redacted);
        let is_usual = match site {
            Site::Host(usual) => {
                host.as_ref()
                    == Some(
                        self.hosts
                            .entry(usual)
                            .or_insert_with(|| LogText::new(usual).redacted()),
                    )
            }
            Site::Input(_) => host.is_none(),
        };
        let target = request.target.redacted();
        SampleRow {
            time: None,
            generation: 0,
            offset: request.id.offset,
            line: request.line,
            target: Some(target).filter(|target| Some(&**target) != path),
            host: host.filter(|_| !is_usual),
            agent: None,
            user: request.user.map(LogText::redacted),
        }
    }

    /// The index of a generation, and whether it is new.
    fn generation(&mut self, generation: u64) -> (u32, bool) {
        let next = self.generations.len() as u32;
        let number = *self.generations.entry(generation).or_insert(next);
        (number, number == next)
    }

    /// The index of an agent, and its text if it is new.
    fn agent(&mut self, text: LogText<'a>) -> (u32, Option<Cow<'a, str>>) {
        if let Some(&known) = self.agents_by_text.get(&text) {
            return (known, None);
        }
        let agent = text.redacted();
        let next = self.agents.len() as u32;
        let number = *self.agents.entry(agent.clone()).or_insert(next);
        self.agents_by_text.insert(text, number);
        (number, Some(agent).filter(|_| number == next))
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
        Self {
            names,
            numbers,
            indices,
        }
    }

    /// The index of a name by its number. [`SymbolTables::OTHER`] stays, so it sorts after all
    /// others.
    pub(crate) fn index(&self, number: u32) -> u32 {
        self.indices
            .get(number as usize)
            .copied()
            .unwrap_or(SymbolTables::OTHER)
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
        Self {
            redacted: key.redacted(),
            bytes: key.into_bytes(),
        }
    }
}

/// The inputs of a snapshot, and the input of each log of a tally.
struct InputTable<'a> {
    report: &'a ReportModel<'a>,
    /// Used logs that are no input of the report, and their hosts.
    others: Vec<(Option<&'a str>, &'a SourceInfo)>,
    /// By the number of the log.
    indices: Vec<u32>,
}

impl<'a> InputTable<'a> {
    /// The inputs in the order of the report, followed by used sources that are no input of it.
    fn new(
        report: &'a ReportModel<'a>,
        sources: &'a [SourceInfo],
        used: impl Iterator<Item = u32>,
    ) -> Self {
        let log_host = report.log_host.as_deref();
        let mut known: HashMap<(Option<&str>, &[u8]), u32> = HashMap::new();
        for (input, index) in report.inputs.iter().zip(0..) {
            known
                .entry((input.log_host.as_deref().or(log_host), &input.path))
                .or_insert(index);
        }
        let (mut others, mut indices) = (Vec::new(), vec![u32::MAX; sources.len()]);
        for number in used {
            let at = number as usize;
            if indices[at] == u32::MAX {
                let source = &sources[at];
                let its_host = source.log_host.as_deref().or(log_host);
                indices[at] = *known.entry((its_host, &source.path)).or_insert_with(|| {
                    others.push((its_host, source));
                    (report.inputs.len() + others.len() - 1) as u32
                });
            }
        }
        Self {
            report,
            others,
            indices,
        }
    }

    /// The index of a log by its number.
    fn index(&self, number: u32) -> u32 {
        self.indices[number as usize]
    }

    fn rows(&self) -> impl Iterator<Item = InputSummary> {
        let listed = self.report.inputs.iter().map(|input| {
            let mut row = input.clone();
            // Hits of one severity: each report counts its own.
            row.counts.hits = 0;
            row.log_host = row.log_host.or_else(|| self.report.log_host.clone());
            if let Some(format) = LogFormat::ALL
                .iter()
                .position(|format| Some(format.as_str()) == row.format.as_deref())
                && row.formats == [0; 3]
                && row.others.is_empty()
            {
                row.formats[format] = row.counts.parsed;
            }
            row
        });
        let other = |(log_host, source): &(Option<&str>, &SourceInfo)| InputSummary {
            log_host: log_host.map(str::to_owned),
            path: source.path.clone(),
            ..InputSummary::default()
        };
        listed.chain(self.others.iter().map(other))
    }
}
