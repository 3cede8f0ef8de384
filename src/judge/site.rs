//! What only a whole log shows of a site: its apps and its history. Each is a pure function of
//! merged evidence, so it is the same for any split of a log.
//!
//! The history covers earlier runs, because one run may be too short to grade the answers of a
//! site: an hour of a quiet site may have two probes, which do not show how it answers unknown
//! paths. Its size is limited: entries that were not seen for the longest time are dropped first.
//! It holds hashes, and no text of a log.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashSet;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::log::finding::{BoundedSet, RuleId};
use crate::soft_404::{Hours, PathEvidence, PathNumbers, SiteEvidence, SizeNumbers};

/// The apps of every site. A site runs an app if it answered requests that only this app answers,
/// to several clients and with different answers.
#[derive(Debug)]
pub(crate) struct DetectedApps<K> {
    seen: HashSet<(RuleId, K)>,
    declared: Vec<RuleId>,
}

impl<K: Copy + Eq + Hash + Ord> DetectedApps<K> {
    /// The apps with sufficient evidence; the apps of `declared` run on all sites.
    pub(crate) fn from_evidence<'a>(
        evidence: impl Iterator<Item = (RuleId, K, &'a BoundedSet)>,
        declared: &[RuleId],
    ) -> Self {
        let enough =
            evidence.filter(|(app, _, few)| few.is_sufficient() && !declared.contains(app));
        Self {
            seen: enough.map(|(app, site, _)| (app, site)).collect(),
            declared: declared.to_vec(),
        }
    }

    /// Adds an app that a site is known to run.
    pub(crate) fn add(&mut self, app: RuleId, site: K) {
        if !self.declared.contains(&app) {
            self.seen.insert((app, site));
        }
    }

    /// Whether a site runs an app.
    #[must_use]
    pub(crate) fn runs(&self, app: RuleId, site: K) -> bool {
        self.declared.contains(&app) || (!self.seen.is_empty() && self.seen.contains(&(app, site)))
    }

    /// Whether any site runs an app.
    #[must_use]
    pub(crate) fn runs_anywhere(&self, app: RuleId) -> bool {
        self.declared.contains(&app) || self.seen.iter().any(|(seen, _)| *seen == app)
    }

    /// Every app and its site, `None` if it was declared for all sites; in a fixed order.
    #[must_use]
    pub(crate) fn all(&self) -> Vec<(RuleId, Option<K>)> {
        let mut all: Vec<_> = self.declared.iter().map(|&app| (app, None)).collect();
        all.extend(self.seen.iter().map(|&(app, site)| (app, Some(site))));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The most sites with responses: a client may invent any number of host names.
const SITES: usize = 4_096;
/// The most paths of all sites together, about 100 bytes each in the state.
const PATHS: usize = 1 << 15;
/// The most apps on sites.
const APPS: usize = 4_096;

/// The lasting name of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SiteName<'a> {
    /// Whether it is a virtual host, or else the rotated siblings of a log without hosts.
    pub is_host: bool,
    /// The host, or the common part of the names of the log and its siblings.
    pub name: &'a [u8],
}

impl<'a> SiteName<'a> {
    /// The name of a virtual host.
    #[must_use]
    pub fn host(name: &'a [u8]) -> Self {
        Self {
            is_host: true,
            name,
        }
    }

    /// The name of the rotated siblings of a log.
    #[must_use]
    pub fn log(name: &'a [u8]) -> Self {
        Self {
            is_host: false,
            name,
        }
    }

    /// The name of a host, or of the rotated siblings of a log where no host is logged.
    pub(crate) fn new(host: Option<&'a [u8]>, log: &'a [u8]) -> Self {
        host.map_or(Self::log(log), Self::host)
    }

    /// A hash of the site and of something on it.
    pub(crate) fn hash(self, of: &[u8]) -> u64 {
        let kind = if self.is_host { b"host\0" } else { b"log\0\0" };
        let mut hash = Xxh3::new();
        for part in [kind, self.name, b"\0", of] {
            hash.update(part);
        }
        hash.digest()
    }
}

/// The responses of a site, and the time of the last one, in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRecord {
    paths: BTreeMap<u64, PathRecord>,
    home: Vec<u64>,
    last: i64,
}

/// The responses for one path: its shape in numbers, flags, hashes of rule ids, the sizes of GET,
/// POST and partial responses, hashes of clients, and the hours in which it was answered and
/// refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PathRecord(
    u16,
    u32,
    u32,
    u32,
    u8,
    bool,
    u8,
    Vec<u64>,
    [Vec<SizeNumbers>; 3],
    Vec<u16>,
    [Option<Hours>; 2],
);

/// Hashes of the rule ids, which are the same in every run.
#[derive(Debug, Default)]
pub struct RuleHashes {
    hashes: Vec<u64>,
    numbers: BTreeMap<u64, RuleId>,
}

impl RuleHashes {
    /// The hashes of these ids, in the order of rule numbers.
    pub fn new<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        let hashes: Vec<u64> = ids.map(|id| xxh3_64(id.as_bytes())).collect();
        let numbers = hashes
            .iter()
            .zip(0..)
            .map(|(hash, number)| (*hash, RuleId(number)))
            .collect();
        Self { hashes, numbers }
    }

    /// The hash of a rule.
    pub(crate) fn hash(&self, rule: RuleId) -> Option<u64> {
        self.hashes.get(usize::from(rule.0)).copied()
    }

    /// The rule with a hash, if there is one.
    pub(crate) fn number(&self, hash: u64) -> Option<RuleId> {
        self.numbers.get(&hash).copied()
    }
}

impl PathRecord {
    fn new(path: &PathEvidence, rules: &RuleHashes) -> Self {
        let PathNumbers {
            shape: (len, segment, folder, name, extension, is_random),
            flags,
            get,
            post,
            partial,
            clients,
            hours,
        } = path.numbers();
        let ids = path
            .rules()
            .iter()
            .filter_map(|rule| rules.hash(*rule))
            .collect();
        Self(
            len,
            segment,
            folder,
            name,
            extension,
            is_random,
            flags,
            ids,
            [get, post, partial],
            clients,
            hours,
        )
    }

    fn evidence(&self, rules: &RuleHashes) -> PathEvidence {
        let Self(
            len,
            segment,
            folder,
            name,
            extension,
            is_random,
            flags,
            ids,
            sizes,
            clients,
            hours,
        ) = self;
        let shape = (*len, *segment, *folder, *name, *extension, *is_random);
        let rule_ids: Vec<RuleId> = ids.iter().filter_map(|id| rules.number(*id)).collect();
        let [get, post, partial] = sizes.clone();
        PathEvidence::from_numbers(
            PathNumbers {
                shape,
                flags: *flags,
                get,
                post,
                partial,
                clients: clients.clone(),
                hours: *hours,
            },
            &rule_ids,
        )
    }
}

/// The responses and apps of sites in earlier runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteHistory {
    answers: BTreeMap<u64, SiteRecord>,
    /// The last time an app was seen on a site.
    apps: BTreeMap<u64, i64>,
}

impl SiteHistory {
    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.apps.is_empty()
    }

    /// The responses of a site in earlier runs.
    #[must_use]
    pub fn answers(&self, site: SiteName<'_>, rules: &RuleHashes) -> Option<SiteEvidence> {
        let record = self.answers.get(&site.hash(b""))?;
        let mut evidence = SiteEvidence::default();
        for (path, record) in &record.paths {
            evidence.insert(*path, &Arc::new(record.evidence(rules)));
        }
        record
            .home
            .iter()
            .for_each(|size| evidence.home.insert(*size));
        Some(evidence)
    }

    /// Records the responses of a site.
    pub fn record_answers(
        &mut self,
        site: SiteName<'_>,
        evidence: &SiteEvidence,
        rules: &RuleHashes,
        now: i64,
    ) {
        let mut merged = self.answers(site, rules).unwrap_or_default();
        merged.merge(evidence);
        merged.trim();
        let paths = merged
            .answered()
            .chain(merged.refused())
            .map(|(path, evidence)| (path, PathRecord::new(evidence, rules)));
        let mut home: Vec<u64> = merged.home.iter().collect();
        home.sort_unstable();
        let record = SiteRecord {
            paths: paths.collect(),
            home,
            last: now,
        };
        if record.paths.is_empty() && record.home.is_empty() {
            return;
        }
        let old = self.answers.entry(site.hash(b"")).or_default();
        *old = SiteRecord {
            last: old.last.max(now),
            ..record
        };
    }

    /// The hashes of the sites of one run that [`prune`](Self::prune) leaves, so that no others
    /// need to be recorded: a record takes 2 KB, and a client may invent any number of host names.
    pub(crate) fn kept_sites<'s>(sites: impl Iterator<Item = SiteName<'s>>) -> HashSet<u64> {
        let mut hashes: Vec<u64> = sites.map(|site| site.hash(b"")).collect();
        hashes.sort_unstable_by_key(|hash| Reverse(*hash));
        hashes.dedup();
        hashes.into_iter().take(SITES).collect()
    }

    /// Whether a site was seen to run an app.
    #[must_use]
    pub fn runs(&self, site: SiteName<'_>, app: &str) -> bool {
        self.apps.contains_key(&site.hash(app.as_bytes()))
    }

    /// Records that a site runs an app.
    pub fn record_app(&mut self, site: SiteName<'_>, app: &str, now: i64) {
        let last = self.apps.entry(site.hash(app.as_bytes())).or_insert(now);
        *last = now.max(*last);
    }

    /// Drops what was not seen for `keep`, and what exceeds the limits.
    pub fn prune(&mut self, now: i64, keep: Duration) {
        let oldest = now.saturating_sub_unsigned(keep.as_secs());
        self.answers.retain(|_, site| site.last >= oldest);
        self.apps.retain(|_, last| *last >= oldest);
        drop_oldest(&mut self.answers, SITES, |site| site.last);
        self.prune_paths();
        drop_oldest(&mut self.apps, APPS, |last| *last);
    }

    /// Drops the oldest sites until the others have at most [`PATHS`] paths together.
    fn prune_paths(&mut self) {
        let mut paths: usize = self.answers.values().map(|site| site.paths.len()).sum();
        if paths <= PATHS {
            return;
        }
        for site in oldest_first(&self.answers, |site| site.last) {
            paths -= self
                .answers
                .remove(&site)
                .map_or(0, |site| site.paths.len());
            if paths <= PATHS {
                break;
            }
        }
    }
}

/// Drops the oldest entries until at most `most` are left.
fn drop_oldest<V>(map: &mut BTreeMap<u64, V>, most: usize, last: impl Fn(&V) -> i64) {
    if map.len() <= most {
        return;
    }
    let over = map.len() - most;
    for key in &oldest_first(map, last)[..over] {
        map.remove(key);
    }
}

/// Keys by the time they were last seen, then by key, so that the order is fixed.
fn oldest_first<V>(map: &BTreeMap<u64, V>, last: impl Fn(&V) -> i64) -> Vec<u64> {
    let mut ages: Vec<(i64, u64)> = map.iter().map(|(key, value)| (last(value), *key)).collect();
    ages.sort_unstable();
    ages.into_iter().map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soft_404::{MethodClass, PathShape, Response, SentResponse, path_hash};

    const WEEK: Duration = Duration::from_secs(7 * 86_400);

    fn rules() -> RuleHashes {
        RuleHashes::new(["t/a", "t/b"].into_iter())
    }

    /// A site that answered this path with this many bytes.
    fn answered(path: &str, bytes: u64) -> SiteEvidence {
        let response = Response {
            method: MethodClass::Get,
            status: Some(200),
            bytes: Some(bytes),
            extra: 0,
        };
        let mut evidence = SiteEvidence::default();
        evidence.record(
            path_hash(path.as_bytes()),
            || PathShape::new(path.as_bytes()),
            &[RuleId(1)],
            &SentResponse {
                response,
                client: None,
                hours: None,
            },
        );
        evidence.home.insert(bytes);
        evidence
    }

    #[test]
    fn responses_are_stored_by_site() {
        let mut history = SiteHistory::default();
        let site = SiteName::host(b"a.example");
        history.record_answers(site, &answered("/.env", 512), &rules(), 10);
        history.record_answers(site, &answered("/x", 7), &rules(), 11);
        let known = history.answers(site, &rules()).unwrap();
        let mut expected = answered("/.env", 512);
        expected.merge(&answered("/x", 7));
        assert_eq!(known, expected);
        assert!(
            history
                .answers(SiteName::log(b"a.example"), &rules())
                .is_none()
        );
        let other_rules = RuleHashes::new(["t/b"].into_iter());
        let path = path_hash(b"/.env");
        assert_eq!(
            history
                .answers(site, &other_rules)
                .unwrap()
                .path(path)
                .unwrap()
                .rules(),
            [RuleId(0)],
            "by the rule's id"
        );
    }

    #[test]
    fn old_and_excess_entries_are_dropped() {
        let mut history = SiteHistory::default();
        let name = |n: i64| format!("{n}.example").into_bytes();
        for n in 0..5_000 {
            history.record_answers(
                SiteName::host(&name(n)),
                &answered("/.env", 1),
                &rules(),
                1_000 + n,
            );
            history.record_app(SiteName::host(&name(n)), "wordpress", 1_000 + n);
        }
        history.prune(6_000, WEEK);
        assert_eq!((history.answers.len(), history.apps.len()), (SITES, APPS));
        assert!(
            history.runs(SiteName::host(b"4999.example"), "wordpress")
                && !history.runs(SiteName::host(b"4999.example"), "joomla")
        );
        assert!(
            history
                .answers(SiteName::host(b"0.example"), &rules())
                .is_none()
        );
        history.prune(0, WEEK);
        assert_eq!(
            history.apps.len(),
            APPS,
            "a clock that was set back drops nothing"
        );
        history.prune(700_000, WEEK);
        assert_eq!(history, SiteHistory::default());
    }

    #[test]
    fn sites_that_a_prune_would_drop_need_not_be_recorded() {
        let names: Vec<_> = (0..6_000)
            .map(|n| format!("{n}.example").into_bytes())
            .collect();
        let kept =
            SiteHistory::kept_sites(names.iter().chain(&names).map(|name| SiteName::host(name)));
        let [mut all, mut few] = [SiteHistory::default(), SiteHistory::default()];
        for site in names.iter().map(|name| SiteName::host(name)) {
            all.record_answers(site, &answered("/.env", 1), &rules(), 7);
            if kept.contains(&site.hash(b"")) {
                few.record_answers(site, &answered("/.env", 1), &rules(), 7);
            }
        }
        all.prune(7, WEEK);
        assert_eq!((few.answers.len(), few), (SITES, all));
    }

    #[test]
    fn the_oldest_sites_are_dropped_if_there_are_too_many_paths() {
        const OF_A_SITE: usize = 1_000;
        let mut evidence = SiteEvidence::default();
        for n in 0..OF_A_SITE {
            evidence.merge(&answered(&format!("/{n}"), 1));
        }
        let mut history = SiteHistory::default();
        let name = |n: i64| format!("{n}.example").into_bytes();
        for n in 0..40 {
            history.record_answers(SiteName::host(&name(n)), &evidence, &rules(), 1_000 + n);
        }
        history.prune(2_000, WEEK);
        assert_eq!(history.answers.len(), PATHS / OF_A_SITE);
        let fits = i64::try_from(history.answers.len()).unwrap();
        let is_known = |n: i64| {
            history
                .answers(SiteName::host(&name(n)), &rules())
                .is_some()
        };
        assert!(
            is_known(40 - fits) && !is_known(40 - fits - 1),
            "the newest stay"
        );
    }

    #[test]
    fn it_is_written_and_read_back() {
        let mut history = SiteHistory::default();
        history.record_answers(
            SiteName::log(b"access.log"),
            &answered("/.env", u64::MAX),
            &rules(),
            7,
        );
        history.record_app(SiteName::host(b"a.example"), "wordpress", 7);
        let text = serde_json::to_string(&history).unwrap();
        assert_eq!(serde_json::from_str::<SiteHistory>(&text).unwrap(), history);
    }
}
