//! Tells a tally in rows, in an order that does not depend on who counted what: names are numbered by their texts.
//!
//! Holds numbers and borrowed texts; rows are made as they are asked for.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::SnapshotSource;
use super::ranks::{ClientText, PathText, SortedIds};
use super::rebuild::SnapshotDecoder;
use super::rows::{
    AllowedRow, AppEvidenceRow, CellRow, ClientErrorRow, ClientRow, ErrorFloorRow, HomePageRow, InputRow, MinuteRow, PathErrorRow, RuleRow,
    SitePathRow,
};
use super::samples::SampleEncoder;
use super::sources::InputTable;
use crate::analysis::model::{AllowedCount, Report};
use crate::finding::{AppEvidence, BoundedSet, RuleId};
use crate::intern::SymbolTables;
use crate::redact::mask::RedactedKey;
use crate::redact::sanitize::{escape, escape_lossless};
use crate::rules::{Rule, RuleSet};
use crate::soft_404::{HomeSizes, PathEvidence, PathNumbers, SiteEvidence};
use crate::tally::{CellView, ClientCount, ErrorFloor, MinuteKey, Site, Tally};

/// A report's evidence, ready to be told.
pub(crate) struct SnapshotEncoder<'a> {
    basis: SnapshotSource<'a>,
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
    signs: Vec<(RuleId, Site<'a>, BoundedSet)>,
}

/// Virtual hosts as they are told, and the place of each as the tally has it.
struct HostTable<'a> {
    names: Vec<Cow<'a, [u8]>>,
    places: HashMap<&'a [u8], u32>,
}

/// A cell and the places of its names.
struct IndexedCell<'a> {
    client: u32,
    path: u32,
    input: u32,
    host: Option<u32>,
    list: u32,
    view: CellView<'a>,
}

impl<'a> SnapshotEncoder<'a> {
    /// The evidence of a report, where it has any.
    pub(crate) fn new(report: &'a Report<'a>) -> Option<Self> {
        let basis = report.evidence?;
        let tally = basis.tally;
        let mut signs: AppEvidence<Site<'a>> = AppEvidence::default();
        for (app, site, few) in tally.app_evidence() {
            signs.gather(app, site, few);
        }
        let signs: Vec<_> = signs.iter().map(|(app, site, few)| (app, site, *few)).collect();
        let kept: Vec<_> = tally.kept_evidence().map(|(_, site, ..)| site).collect();
        let sites = || cells_of(tally).filter_map(site_of).chain(signs.iter().map(|sign| sign.1)).chain(kept.iter().copied());
        let asked = |&(client, count): &(u32, &ClientCount)| (*count != ClientCount::default()).then_some(client);
        let clients = (0..).zip(tally.client_counts()).filter_map(|pair| asked(&pair));
        let clients = clients
            .chain(cells_of(tally).map(|view| view.client))
            .chain(signs.iter().filter_map(|sign| sign.2.clients()).flatten().copied());
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
            .chain(signs.iter().map(|sign| sign.0))
            .chain(kept_rules(tally))
            .collect();
        rules.sort_unstable();
        rules.dedup();
        let mut teller = Self {
            basis,
            set: report.rule_set,
            allowed: &report.allowed,
            without_time: report.totals.without_time,
            sources: InputTable::new(report, basis.texts, cells_of(tally).map(|view| source_of(&view)).chain(sites().filter_map(input_of))),
            clients: SortedIds::new(clients, |client| ClientText::new(tally.client(client))),
            paths: SortedIds::new(paths, |path| PathText::new(tally.path(path))),
            hosts: hosts(sites()),
            rules,
            lists,
            cells: Vec::with_capacity(tally.len()),
            signs,
        };
        teller.index_cells();
        Some(teller)
    }

    fn index_cells(&mut self) {
        let place = |view: CellView<'a>| IndexedCell {
            client: self.clients.place(view.client),
            path: self.paths.place(view.path),
            input: self.sources.place(source_of(&view)),
            host: site_of(view).map(|site| self.host(site)),
            list: self.lists.place(view.rules),
            view,
        };
        let mut cells: Vec<_> = cells_of(self.basis.tally).map(place).collect();
        cells.sort_unstable_by_key(|cell| {
            let CellView { status, answered, is_probe, method, bytes, extra, .. } = cell.view;
            (cell.client, cell.path, cell.input, cell.host, cell.list, status, (answered, is_probe, method, bytes, extra))
        });
        self.cells = cells;
    }

    fn host(&self, site: Site<'_>) -> u32 {
        host_of(site).and_then(|host| self.hosts.places.get(host)).copied().unwrap_or(0)
    }

    fn rule_place(&self, rule: RuleId) -> u32 {
        self.rules.partition_point(|known| *known < rule) as u32
    }

    pub(crate) fn rules(&self) -> impl Iterator<Item = RuleRow<'a>> {
        self.rules.iter().map(|&rule| rule_row(self.set.rule(rule)))
    }

    pub(crate) fn inputs(&self) -> &[InputRow<'a>] {
        &self.sources.rows
    }

    /// The first one is no host.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.hosts.names.iter().map(|host| escape_lossless(host))
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = ClientRow<'_>> {
        let counts = self.basis.tally.client_counts();
        self.clients.numbered().map(|(client, name)| {
            let count = counts.get(client as usize).copied().unwrap_or_default();
            ClientRow(name.exact(), count.requests, count.allowed)
        })
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.paths.names.iter().map(|path| escape_lossless(&path.bytes))
    }

    /// Lists of places of rules.
    pub(crate) fn lists(&self) -> impl Iterator<Item = Vec<u32>> {
        self.lists.names.iter().map(|list| list.iter().map(|&rule| self.rule_place(rule)).collect())
    }

    pub(crate) fn cells(&self) -> impl Iterator<Item = CellRow<'_>> {
        let mut samples = SampleEncoder::default();
        self.cells.iter().map(move |placed| {
            let IndexedCell { client, path, input, host, list, view } = placed;
            let text = &self.basis.texts[source_of(view) as usize];
            let known = |place: u32| (place != SymbolTables::OTHER).then_some(place);
            let shown = self.paths.names.get(*path as usize).map(|path| &*path.shown);
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
                sample: samples.row(text, view.sample(), shown, view.site),
            }
        })
    }

    pub(crate) fn minutes(&self) -> Vec<MinuteRow> {
        let known = |place: u32| (place != SymbolTables::OTHER).then_some(place);
        let row = |(key, requests): (MinuteKey, u64)| {
            let (client, path) = (self.clients.place(key.client), self.paths.place(key.path));
            MinuteRow(known(client), known(path), self.lists.place(key.rules), key.minute, requests)
        };
        let mut rows: Vec<MinuteRow> = self.basis.tally.minutes().iter().map(row).collect();
        rows.sort_unstable();
        rows
    }

    /// Requests that no minute counts any more.
    pub(crate) fn uncounted(&self) -> u64 {
        self.basis.tally.minutes().dropped()
    }

    pub(crate) fn app_evidence(&self) -> Vec<AppEvidenceRow> {
        let row = |(app, site, few): &(RuleId, Site<'a>, BoundedSet)| {
            let (input, host) = self.site(*site);
            let mut clients: Option<Vec<u32>> = few.clients().map(|few| few.iter().map(|&client| self.clients.place(client)).collect());
            let mut sizes = few.sizes().map(<[u64]>::to_vec);
            if let Some(clients) = &mut clients {
                clients.sort_unstable();
            }
            if let Some(sizes) = &mut sizes {
                sizes.sort_unstable();
            }
            AppEvidenceRow(self.rule_place(*app), input, host, clients, sizes, few.magnitudes())
        };
        let mut rows: Vec<_> = self.signs.iter().map(row).collect();
        rows.sort_unstable_by_key(|row| (row.0, row.1, row.2));
        rows
    }

    /// Sizes of home pages.
    pub(crate) fn homes(&self) -> Vec<HomePageRow> {
        let row = |(_, site, _, home): (u32, Site<'a>, Option<&SiteEvidence>, Option<&'a HomeSizes>)| {
            let mut sizes: Vec<u64> = home?.iter().collect();
            sizes.sort_unstable();
            let (input, host) = self.site(site);
            Some(HomePageRow(input, host, sizes))
        };
        let mut rows: Vec<_> = self.basis.tally.kept_evidence().filter_map(row).collect();
        rows.sort_unstable_by_key(|row| (row.0, row.1));
        // Of one host on several inputs.
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

    /// What sites answered where the cells that showed it are gone.
    pub(crate) fn site_paths(&self) -> Vec<SitePathRow> {
        let mut rows = Vec::new();
        for (_, site, evidence, _) in self.basis.tally.kept_evidence() {
            let (input, host) = self.site(site);
            let paths = evidence.into_iter().flat_map(|evidence| evidence.given().chain(evidence.refused()));
            rows.extend(paths.map(|(hash, path)| site_row((input, host), hash, path, |rule| self.rule_place(rule))));
        }
        rows.sort_unstable_by(|a, b| (a.0, a.1, &a.2, &a.6, &a.7).cmp(&(b.0, b.1, &b.2, &b.6, &b.7)));
        rows
    }

    /// The place of a site: of its input, or of its host.
    fn site(&self, site: Site<'_>) -> (Option<u32>, Option<u32>) {
        match site {
            Site::Input(input) => (Some(self.sources.place(input)), None),
            Site::Host(_) => (None, Some(self.host(site))),
        }
    }

    pub(crate) fn allowed(&self) -> impl Iterator<Item = AllowedRow<'_>> {
        self.allowed
            .iter()
            .map(|entry| AllowedRow(escape(entry.file.as_bytes()), entry.line, escape(entry.reason.as_bytes()), entry.requests))
    }

    /// Whether nothing was let go, so that there are no bounds to tell.
    pub(crate) fn is_exact(&self) -> bool {
        self.basis.tally.is_exact()
    }

    pub(crate) fn floor(&self) -> ErrorFloorRow {
        let ErrorFloor { pairs, clients, requests, paths } = self.basis.tally.error_floor();
        ErrorFloorRow { pairs, clients, requests, paths }
    }

    /// Of those that may have had something besides.
    pub(crate) fn client_errors(&self) -> impl Iterator<Item = ClientErrorRow> {
        let counts = self.basis.tally.client_counts();
        let row = |(place, (client, _)): (u32, (u32, &ClientText<'_>))| {
            let ClientCount { error, missed, .. } = *counts.get(client as usize)?;
            (error > 0 || missed > 0).then_some(ClientErrorRow(place, error, missed))
        };
        (0..).zip(self.clients.numbered()).filter_map(row)
    }

    /// The same of paths.
    pub(crate) fn path_errors(&self) -> impl Iterator<Item = PathErrorRow> {
        let error = |path| self.basis.tally.path_error(path);
        let rows = (0..).zip(self.paths.numbered()).map(move |(place, (path, _))| PathErrorRow(place, error(path)));
        rows.filter(|row| row.1 > 0)
    }
}

fn site_row((input, host): (Option<u32>, Option<u32>), hash: u64, path: &PathEvidence, rule: impl Fn(RuleId) -> u32) -> SitePathRow {
    let PathNumbers { shape, flags, get, post } = path.numbers();
    let rules = path.rules().iter().map(|&id| rule(id)).collect();
    SitePathRow(input, host, format!("{hash:016x}"), shape, rules, flags, get, post)
}

/// The rules that evidence beside the cells names.
fn kept_rules(tally: &Tally) -> impl Iterator<Item = RuleId> {
    let evidence = tally.kept_evidence().filter_map(|(_, _, evidence, _)| evidence);
    evidence.flat_map(|evidence| evidence.given().chain(evidence.refused())).flat_map(|(_, path)| path.rules().to_vec())
}

/// All cells, what was let go of the pairs of each path, and the overflow.
fn cells_of(tally: &Tally) -> impl Iterator<Item = CellView<'_>> {
    tally.cells().chain(tally.path_cells()).chain(tally.overflow_cells())
}

/// The site of a cell, where it has one.
fn site_of(view: CellView<'_>) -> Option<Site<'_>> {
    (!view.is_overflow()).then_some(view.site)
}

/// The number of the input that a cell is told of.
fn source_of(view: &CellView<'_>) -> u32 {
    if view.is_overflow() { view.sample().position.input } else { view.input }
}

/// The numbers of those that may have had something besides.
fn nonzero(errors: &[u64]) -> impl Iterator<Item = u32> {
    (0..).zip(errors).filter(|(_, error)| **error > 0).map(|(number, _)| number)
}

/// Tells it all to a tally that is put together anew.
pub(crate) fn transfer(teller: &SnapshotEncoder<'_>, rebuild: &mut SnapshotDecoder<'_>) -> Result<(), String> {
    teller.rules().try_for_each(|row| rebuild.rule(row))?;
    teller.inputs().iter().try_for_each(|row| rebuild.input(row))?;
    teller.hosts().try_for_each(|row| rebuild.host(&row))?;
    teller.clients().try_for_each(|row| rebuild.client(&row))?;
    teller.paths().try_for_each(|row| rebuild.path(&row))?;
    teller.lists().try_for_each(|row| rebuild.list(&row))?;
    teller.cells().try_for_each(|row| rebuild.cell(row))?;
    teller.minutes().into_iter().try_for_each(|row| rebuild.minute(row))?;
    rebuild.uncounted(teller.uncounted())?;
    teller.app_evidence().iter().try_for_each(|row| rebuild.app_evidence(row))?;
    teller.homes().iter().try_for_each(|row| rebuild.home(row))?;
    teller.site_paths().into_iter().try_for_each(|row| rebuild.site_path(row))?;
    teller.allowed().try_for_each(|row| rebuild.allowed(row))?;
    rebuild.without_time(teller.without_time)?;
    rebuild.floor(&teller.floor())?;
    teller.client_errors().try_for_each(|row| rebuild.client_error(&row))?;
    teller.path_errors().try_for_each(|row| rebuild.path_error(&row))
}

fn input_of(site: Site<'_>) -> Option<u32> {
    match site {
        Site::Input(input) => Some(input),
        Site::Host(_) => None,
    }
}

/// The hosts in their order as they are told, behind the one that is none; and the place of each as the tally has it.
fn hosts<'a>(sites: impl Iterator<Item = Site<'a>>) -> HostTable<'a> {
    let known: HashSet<&[u8]> = sites.filter_map(host_of).collect();
    let mut hosts: Vec<_> = known.into_iter().map(|host| (RedactedKey::new(host).into_bytes(), host)).collect();
    hosts.sort_unstable();
    let places = hosts.iter().zip(1..).map(|((_, host), place)| (*host, place)).collect();
    HostTable { names: std::iter::once(Cow::Borrowed(&b""[..])).chain(hosts.into_iter().map(|(told, _)| told)).collect(), places }
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
        window: rule.window.is_some(),
        counts: rule.window.map(|window| (window.by, window.count, window.within)),
        unless_app: all(&rule.unless_app),
        is_app_evidence: rule.is_app_evidence,
        subject: rule.subject,
        cve: all(&rule.cve),
    }
}
