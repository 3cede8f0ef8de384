//! The evidence that a tally holds about its sites: their responses to probes, and their home
//! pages.
//!
//! Most of it is in the cells. Stored besides are home pages, which are no hits, and the evidence
//! of pruned cells. Nothing is graded here.

use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use super::budget::MAX_APP_SITES;
use super::cell::CellKey;
use super::{Site, Tally};
use crate::collections::intern::SymbolTables;
use crate::log::finding::{BoundedSet, RuleId};
use crate::log::log_entry::Outcome;
use crate::soft_404::{HomeSizes, Hours, PathShape, SentResponse, SiteEvidence, path_hash};

/// An input and a virtual host, by their numbers.
type SiteKey = (u32, u32);

/// The most paths of all sites together that are kept from pruned cells: 8 MB. A client may invent
/// any number of host names: with 200,000 and twice as many paths, a scan took 207 MiB, now 199.
const MAX_PATHS: usize = 1 << 15;
/// A site counts as this many paths more: its maps and its name take as much memory.
const SITE: usize = 3;
/// The most home pages that are kept: 12 MB with their hosts.
const MAX_HOMES: usize = 1 << 15;

/// Evidence that is not in the cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct TallyEvidence {
    /// Evidence of pruned cells.
    dropped: HashMap<SiteKey, SiteEvidence>,
    homes: HashMap<SiteKey, HomeSizes>,
}

impl TallyEvidence {
    pub(super) fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.homes.is_empty()
    }

    pub(super) fn record_home(&mut self, site: SiteKey, bytes: u64) {
        if self.homes.len() < MAX_HOMES || self.homes.contains_key(&site) {
            self.homes.entry(site).or_default().insert(bytes);
        }
    }

    pub(super) fn merge_home(&mut self, site: SiteKey, sizes: &HomeSizes) {
        if self.homes.len() < MAX_HOMES || self.homes.contains_key(&site) {
            self.homes.entry(site).or_default().merge(sizes);
        }
    }

    pub(super) fn merge_site(&mut self, site: SiteKey, evidence: &SiteEvidence) {
        let known = self.dropped.entry(site).or_default();
        known.merge(evidence);
        known.trim();
    }

    /// Merges the evidence of another part of the log, with new numbers for its hosts.
    pub(super) fn merge(&mut self, other: &Self, site: impl Fn(SiteKey) -> SiteKey) {
        for (key, evidence) in &other.dropped {
            self.merge_site(site(*key), evidence);
        }
        for (key, sizes) in &other.homes {
            self.merge_home(site(*key), sizes);
        }
        self.trim();
    }

    /// Renumbers the hosts. Distinct sites must stay distinct.
    pub(super) fn with_hosts(self, new: &[u32]) -> Self {
        let site = |(input, host): SiteKey| (input, new[host as usize]);
        Self {
            dropped: self
                .dropped
                .into_iter()
                .map(|(key, evidence)| (site(key), evidence))
                .collect(),
            homes: self
                .homes
                .into_iter()
                .map(|(key, sizes)| (site(key), sizes))
                .collect(),
        }
    }

    /// Renumbers sites and rules.
    pub(super) fn remapped(
        self,
        site: impl Fn(SiteKey) -> SiteKey,
        rule: &dyn Fn(RuleId) -> Option<RuleId>,
    ) -> Self {
        let mut renumbered = Self::default();
        for (key, evidence) in self.dropped {
            renumbered.merge_site(site(key), &evidence.renumbered(rule));
        }
        for (key, sizes) in &self.homes {
            renumbered.merge_home(site(*key), sizes);
        }
        renumbered
    }

    /// Forgets the evidence of pruned cells, where the cells are still there.
    pub(super) fn clear_dropped(&mut self) {
        self.dropped.clear();
    }

    /// Drops the sites with the fewest responses while there are too many paths, because few rows
    /// need them.
    fn trim(&mut self) {
        let len = |evidence: &SiteEvidence| SITE + evidence.answered_len() + evidence.refused_len();
        let mut paths: usize = self.dropped.values().map(len).sum();
        if paths <= MAX_PATHS {
            return;
        }
        let mut sites: Vec<(usize, SiteKey)> = self
            .dropped
            .iter()
            .map(|(key, evidence)| (len(evidence), *key))
            .collect();
        sites.sort_unstable();
        for (count, key) in sites {
            if paths <= MAX_PATHS {
                break;
            }
            self.dropped.remove(&key);
            paths -= count;
        }
    }

    /// The hosts that occur in it.
    pub(super) fn hosts(&self) -> impl Iterator<Item = u32> {
        self.dropped
            .keys()
            .chain(self.homes.keys())
            .map(|(_, host)| *host)
    }
}

impl Tally {
    /// Limits the evidence of apps. What shows enough stays first: a site without its evidence has
    /// more findings, not fewer.
    pub(super) fn trim_app_evidence(&mut self) {
        let names = &self.names;
        let rank = |app: RuleId, &(input, host): &SiteKey, set: &BoundedSet| {
            let text = xxh3_64(names.hosts.resolve(host));
            (
                Reverse(set.is_sufficient()),
                Reverse(set.kept_clients().len()),
                text,
                input,
                app,
            )
        };
        self.app_evidence.truncate(MAX_APP_SITES, rank);
    }

    /// What each site answered to probes, by input and host, in no order: from the cells and from
    /// pruned cells.
    #[must_use]
    pub fn evidence(&self) -> HashMap<Site<'_>, SiteEvidence> {
        let mut sites: HashMap<Site<'_>, SiteEvidence> = HashMap::default();
        for ((input, host), evidence) in self.evidence_by_number() {
            let merged = sites.entry(self.site(input, host)).or_default();
            if merged.is_empty() {
                *merged = evidence;
            } else {
                merged.merge(&evidence);
            }
        }
        sites
    }

    /// Sizes of home pages and evidence of pruned cells, by input and host.
    pub fn kept_evidence(
        &self,
    ) -> impl Iterator<Item = (u32, Site<'_>, Option<&SiteEvidence>, Option<&HomeSizes>)> {
        let keys: HashSet<SiteKey> = self
            .evidence
            .dropped
            .keys()
            .chain(self.evidence.homes.keys())
            .copied()
            .collect();
        keys.into_iter().map(|key| {
            (
                key.0,
                self.site(key.0, key.1),
                self.evidence.dropped.get(&key),
                self.evidence.homes.get(&key),
            )
        })
    }

    pub(super) fn evidence_by_number(&self) -> HashMap<SiteKey, SiteEvidence> {
        let mut sites = self.evidence.dropped.clone();
        self.record_evidence(&mut sites);
        sites
    }

    /// Adds the home pages, and the evidence of the cells that are present.
    fn record_evidence(&self, sites: &mut HashMap<SiteKey, SiteEvidence>) {
        for (key, sizes) in &self.evidence.homes {
            sites.entry(*key).or_default().home.merge(sizes);
        }
        let mut hashes: Vec<Option<u64>> = vec![None; self.names.paths.keys().len()];
        let mut hash =
            |path: u32| *hashes[path as usize].get_or_insert_with(|| path_hash(self.path(path)));
        let client_hash = |client: u32| {
            (client != SymbolTables::OTHER).then(|| self.client(client).stable_hash() as u16)
        };
        // Answers first: of the refused paths only a sample is kept, except for those that were
        // also answered.
        for is_answered in [true, false] {
            for (counts, _) in self.cells.iter().chain(self.by_path.iter()) {
                let cell = &counts.key;
                if !cell.is_probe()
                    || cell.path == SymbolTables::OTHER
                    || (Outcome::from_status(cell.status()) == Outcome::Answered) != is_answered
                {
                    continue;
                }
                let shape = || PathShape::new(self.path(cell.path));
                let site = sites.entry((cell.input, cell.host)).or_default();
                let hours = counts
                    .times()
                    .map(|(first, last)| Hours::new(first.utc, last.utc));
                let sent = SentResponse {
                    response: cell.response(),
                    client: client_hash(cell.client),
                    hours,
                };
                site.record(hash(cell.path), shape, self.rule_list(cell.rules), &sent);
            }
        }
    }

    /// Saves the evidence of the cells before some of them are pruned. Returns how frequent similar
    /// answers are, counted before any site is dropped; otherwise the answers of dropped sites
    /// would count as the rarest.
    pub(super) fn fold_evidence(&mut self) -> AnswerFrequencies {
        let mut sites = std::mem::take(&mut self.evidence.dropped);
        self.record_evidence(&mut sites);
        let names = &self.names;
        let shape_of = |path: u32| PathShape::new(names.paths.resolve(path));
        let shapes = (0..names.paths.keys().len() as u32).map(shape_of).collect();
        let mut ordinariness = AnswerFrequencies {
            sites: AnswerSizes::default(),
            server: AnswerSizes::default(),
            shapes,
        };
        for (key, evidence) in &mut sites {
            evidence.trim();
            ordinariness.sites.add(*key, evidence);
            ordinariness.server.add((), evidence);
        }
        ordinariness.sites.sort();
        ordinariness.server.sort();
        self.evidence.dropped = sites;
        self.evidence.trim();
        ordinariness
    }
}

/// How many other answers are similar to one. A prune evicts first what a site answers most,
/// however rarely it was requested.
#[derive(Debug)]
pub(super) struct AnswerFrequencies {
    sites: AnswerSizes<SiteKey>,
    /// Of all sites together.
    server: AnswerSizes<()>,
    /// By path number.
    shapes: Vec<PathShape>,
}

/// How many answers are similar to one. Answers with the greatest counts are evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SimilarCounts {
    /// The least of three counts: answers of about the same size on the site, of about the same
    /// size in the folder, and to the same rules. So a flood of answers does not hide an answer
    /// that differs from it in one respect.
    least: usize,
    /// Answers of about the same size on the site. It breaks ties, because a flood may use a new
    /// folder for each path.
    of_site: usize,
    /// The least of the three counts over all sites, because a flood may use a new host for each
    /// path.
    of_server: usize,
}

/// The sizes of answers, and the rules of their paths, of several sites. Lists and not maps,
/// because there may be very many sites with one path each. Sorted once all are known.
#[derive(Debug)]
struct AnswerSizes<S> {
    all: Vec<(S, u64)>,
    folders: Vec<((S, u32), u64)>,
    rules: Vec<(S, RuleId)>,
}

impl<S> Default for AnswerSizes<S> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            folders: Vec::new(),
            rules: Vec::new(),
        }
    }
}

impl<S: Copy + Ord> AnswerSizes<S> {
    fn add(&mut self, site: S, evidence: &SiteEvidence) {
        for (_, path) in evidence.answered() {
            for size in path.sizes() {
                self.all.push((site, size.bytes));
                self.folders.push(((site, path.shape.folder), size.bytes));
            }
            self.rules
                .extend(path.rules().iter().map(|rule| (site, *rule)));
        }
    }

    fn sort(&mut self) {
        self.all.sort_unstable();
        self.folders.sort_unstable();
        self.rules.sort_unstable();
    }

    /// How many answers of a site have about this size, and the least of this count, that of the
    /// folder and that of the rules. Without a size only the rules count.
    fn similar(
        &self,
        site: S,
        bytes: Option<u64>,
        folder: u32,
        rules: &[RuleId],
    ) -> (usize, usize) {
        let of_rule = |rule: &RuleId| between(&self.rules, &(site, *rule), &(site, *rule));
        let of_rules = rules.iter().map(of_rule).max().unwrap_or(0);
        let Some(bytes) = bytes else {
            return (of_rules, of_rules);
        };
        let all = similar(&self.all, site, bytes);
        (
            all,
            all.min(similar(&self.folders, (site, folder), bytes))
                .min(of_rules),
        )
    }
}

impl AnswerFrequencies {
    /// How many answers are similar to that of a cell.
    pub(super) fn similar_to(&self, key: &CellKey, rules: &[RuleId]) -> SimilarCounts {
        let folder = self
            .shapes
            .get(key.path as usize)
            .map_or(0, |shape| shape.folder);
        let bytes = key.bytes().filter(|&bytes| bytes > 0);
        let (of_site, least) = self
            .sites
            .similar((key.input, key.host), bytes, folder, rules);
        let (_, of_server) = self.server.similar((), bytes, folder, rules);
        SimilarCounts {
            least,
            of_site,
            of_server,
        }
    }
}

/// How many of the sorted sizes of a part differ from one by at most a tenth.
fn similar<P: Copy + Ord>(sizes: &[(P, u64)], part: P, bytes: u64) -> usize {
    let tenth = bytes / 10;
    between(
        sizes,
        &(part, bytes - tenth),
        &(part, bytes.saturating_add(tenth)),
    )
}

/// How many of the sorted values are neither less than `least` nor more than `most`.
fn between<T: Ord>(sorted: &[T], least: &T, most: &T) -> usize {
    sorted.partition_point(|value| value <= most) - sorted.partition_point(|value| value < least)
}
