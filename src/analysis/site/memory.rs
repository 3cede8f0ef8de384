//! What earlier runs saw of a site, where one run is too short to show it: an hour of a quiet site has two probes, and
//! says nothing about whether everything there gets the same answer.
//!
//! Bounded: of many the one seen last longest ago is forgotten first, and may be learnt again. Holds hashes, and no text of a log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::finding::RuleId;
use crate::soft_404::{PathEvidence, PathNumbers, SiteEvidence, SizeNumbers};

/// Sites whose answers are remembered: a client may choose the name of a host.
const SITES: usize = 4_096;
/// Paths of all sites together, each some 100 bytes of the state.
const PATHS: usize = 1 << 15;
/// Apps on sites that are remembered.
const APPS: usize = 4_096;

/// A site, wherever it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SiteName<'a> {
    /// A virtual host.
    Host(&'a [u8]),
    /// A log that names no host, and its rotated siblings.
    Log(&'a [u8]),
}

impl SiteName<'_> {
    fn hash(self, of: &[u8]) -> u64 {
        let (kind, name) = match self {
            Self::Host(name) => (b"host\0", name),
            Self::Log(name) => (b"log\0\0", name),
        };
        let mut hash = Xxh3::new();
        for part in [kind, name, b"\0", of] {
            hash.update(part);
        }
        hash.digest()
    }
}

/// What a site answered, and when it last answered anything in seconds since 1970.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteRecord {
    paths: BTreeMap<u64, PathRecord>,
    home: Vec<u64>,
    last: i64,
}

/// What a site answered for one path: its shape in numbers, flags, hashes of rule ids, and the sizes that GET and POST got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PathRecord(u16, u32, u32, u32, u8, bool, u8, Vec<u64>, Vec<SizeNumbers>, Vec<SizeNumbers>);

/// The rules of a run by the hashes of their ids, which stay the same from run to run.
#[derive(Debug, Default)]
pub struct RuleHashes {
    hashes: Vec<u64>,
    numbers: BTreeMap<u64, RuleId>,
}

impl RuleHashes {
    /// Those of rules with these ids, in the order of their numbers.
    pub fn new<'i>(ids: impl Iterator<Item = &'i str>) -> Self {
        let hashes: Vec<u64> = ids.map(|id| xxh3_64(id.as_bytes())).collect();
        let numbers = hashes.iter().zip(0..).map(|(hash, number)| (*hash, RuleId(number))).collect();
        Self { hashes, numbers }
    }
}

impl PathRecord {
    fn new(path: &PathEvidence, rules: &RuleHashes) -> Self {
        let PathNumbers { shape: (len, segment, folder, name, extension, is_random), flags, get, post } = path.numbers();
        let ids = path.rules().iter().filter_map(|rule| rules.hashes.get(usize::from(rule.0)).copied()).collect();
        Self(len, segment, folder, name, extension, is_random, flags, ids, get, post)
    }

    fn evidence(&self, rules: &RuleHashes) -> PathEvidence {
        let Self(len, segment, folder, name, extension, is_random, flags, ids, get, post) = self;
        let shape = (*len, *segment, *folder, *name, *extension, *is_random);
        let known: Vec<RuleId> = ids.iter().filter_map(|id| rules.numbers.get(id).copied()).collect();
        PathEvidence::from_numbers(PathNumbers { shape, flags: *flags, get: get.clone(), post: post.clone() }, &known)
    }
}

/// What earlier runs saw.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteHistory {
    answers: BTreeMap<u64, SiteRecord>,
    /// When an app was last seen on a site.
    apps: BTreeMap<u64, i64>,
}

impl SiteHistory {
    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.apps.is_empty()
    }

    /// What a site answered in earlier runs.
    #[must_use]
    pub fn answers(&self, site: SiteName<'_>, rules: &RuleHashes) -> Option<SiteEvidence> {
        let record = self.answers.get(&site.hash(b""))?;
        let mut evidence = SiteEvidence::default();
        for (path, known) in &record.paths {
            evidence.insert(*path, &Arc::new(known.evidence(rules)));
        }
        record.home.iter().for_each(|size| evidence.home.insert(*size));
        Some(evidence)
    }

    /// Records what a site answered.
    pub fn record_answers(&mut self, site: SiteName<'_>, evidence: &SiteEvidence, rules: &RuleHashes, now: i64) {
        let mut all = self.answers(site, rules).unwrap_or_default();
        all.merge(evidence);
        all.trim();
        let paths = all.given().chain(all.refused()).map(|(path, known)| (path, PathRecord::new(known, rules)));
        let mut home: Vec<u64> = all.home.iter().collect();
        home.sort_unstable();
        let record = SiteRecord { paths: paths.collect(), home, last: now };
        if record.paths.is_empty() && record.home.is_empty() {
            return;
        }
        let known = self.answers.entry(site.hash(b"")).or_default();
        *known = SiteRecord { last: known.last.max(now), ..record };
    }

    /// Whether a site was seen to run an app.
    #[must_use]
    pub fn runs(&self, site: SiteName<'_>, app: &str) -> bool {
        self.apps.contains_key(&site.hash(app.as_bytes()))
    }

    /// Takes in that a site runs an app.
    pub fn record_app(&mut self, site: SiteName<'_>, app: &str, now: i64) {
        let last = self.apps.entry(site.hash(app.as_bytes())).or_insert(now);
        *last = now.max(*last);
    }

    /// Forgets what was not seen for as long as `keep`, and what is too much.
    pub fn prune(&mut self, now: i64, keep: Duration) {
        let oldest = now.saturating_sub_unsigned(keep.as_secs());
        self.answers.retain(|_, site| site.last >= oldest);
        self.apps.retain(|_, last| *last >= oldest);
        drop_oldest(&mut self.answers, SITES, |site| site.last);
        self.prune_paths();
        drop_oldest(&mut self.apps, APPS, |last| *last);
    }

    /// Drops the sites seen longest ago until the others have no more than [`PATHS`] together.
    fn prune_paths(&mut self) {
        let mut paths: usize = self.answers.values().map(|site| site.paths.len()).sum();
        if paths <= PATHS {
            return;
        }
        for site in oldest_first(&self.answers, |site| site.last) {
            paths -= self.answers.remove(&site).map_or(0, |site| site.paths.len());
            if paths <= PATHS {
                break;
            }
        }
    }
}

/// Drops what was seen longest ago until there are `most`.
fn drop_oldest<V>(map: &mut BTreeMap<u64, V>, most: usize, last: impl Fn(&V) -> i64) {
    if map.len() <= most {
        return;
    }
    let over = map.len() - most;
    for key in &oldest_first(map, last)[..over] {
        map.remove(key);
    }
}

/// Keys by when they were last seen; of one time by the key, so that the order is fixed.
fn oldest_first<V>(map: &BTreeMap<u64, V>, last: impl Fn(&V) -> i64) -> Vec<u64> {
    let mut ages: Vec<(i64, u64)> = map.iter().map(|(key, value)| (last(value), *key)).collect();
    ages.sort_unstable();
    ages.into_iter().map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use crate::analysis::site::memory::*;
    use crate::soft_404::{MethodClass, PathShape, Response, path_hash};

    const WEEK: Duration = Duration::from_secs(7 * 86_400);

    fn rules() -> RuleHashes {
        RuleHashes::new(["t/a", "t/b"].into_iter())
    }

    /// A site that answered this path with so many bytes.
    fn answered(path: &str, bytes: u64) -> SiteEvidence {
        let response = Response { method: MethodClass::Get, status: Some(200), bytes: Some(bytes), extra: 0 };
        let mut evidence = SiteEvidence::default();
        evidence.record(path_hash(path.as_bytes()), || PathShape::of(path.as_bytes()), &[RuleId(1)], &response);
        evidence.home.insert(bytes);
        evidence
    }

    #[test]
    fn what_a_site_answered_is_known_by_the_site() {
        let mut memory = SiteHistory::default();
        let site = SiteName::Host(b"a.example");
        memory.record_answers(site, &answered("/.env", 512), &rules(), 10);
        memory.record_answers(site, &answered("/x", 7), &rules(), 11);
        let known = memory.answers(site, &rules()).unwrap();
        let mut expected = answered("/.env", 512);
        expected.merge(&answered("/x", 7));
        assert_eq!(known, expected);
        assert!(memory.answers(SiteName::Log(b"a.example"), &rules()).is_none());
        let other_rules = RuleHashes::new(["t/b"].into_iter());
        let path = path_hash(b"/.env");
        assert_eq!(memory.answers(site, &other_rules).unwrap().path(path).unwrap().rules(), [RuleId(0)], "by the rule's id");
    }

    #[test]
    fn what_is_old_or_too_much_is_dropped() {
        let mut memory = SiteHistory::default();
        let name = |n: i64| format!("{n}.example").into_bytes();
        for n in 0..5_000 {
            memory.record_answers(SiteName::Host(&name(n)), &answered("/.env", 1), &rules(), 1_000 + n);
            memory.record_app(SiteName::Host(&name(n)), "wordpress", 1_000 + n);
        }
        memory.prune(6_000, WEEK);
        assert_eq!((memory.answers.len(), memory.apps.len()), (SITES, APPS));
        assert!(memory.runs(SiteName::Host(b"4999.example"), "wordpress") && !memory.runs(SiteName::Host(b"4999.example"), "joomla"));
        assert!(memory.answers(SiteName::Host(b"0.example"), &rules()).is_none());
        memory.prune(0, WEEK);
        assert_eq!(memory.apps.len(), APPS, "a clock that was set back drops nothing");
        memory.prune(700_000, WEEK);
        assert_eq!(memory, SiteHistory::default());
    }

    #[test]
    fn of_too_many_paths_those_of_the_oldest_sites_are_dropped() {
        const OF_A_SITE: usize = 1_000;
        let mut evidence = SiteEvidence::default();
        for n in 0..OF_A_SITE {
            evidence.merge(&answered(&format!("/{n}"), 1));
        }
        let mut memory = SiteHistory::default();
        let name = |n: i64| format!("{n}.example").into_bytes();
        for n in 0..40 {
            memory.record_answers(SiteName::Host(&name(n)), &evidence, &rules(), 1_000 + n);
        }
        memory.prune(2_000, WEEK);
        assert_eq!(memory.answers.len(), PATHS / OF_A_SITE);
        let fits = i64::try_from(memory.answers.len()).unwrap();
        let is_known = |n: i64| memory.answers(SiteName::Host(&name(n)), &rules()).is_some();
        assert!(is_known(40 - fits) && !is_known(40 - fits - 1), "the newest stay");
    }

    #[test]
    fn it_is_written_and_read_back() {
        let mut memory = SiteHistory::default();
        memory.record_answers(SiteName::Log(b"access.log"), &answered("/.env", u64::MAX), &rules(), 7);
        memory.record_app(SiteName::Host(b"a.example"), "wordpress", 7);
        let text = serde_json::to_string(&memory).unwrap();
        assert_eq!(serde_json::from_str::<SiteHistory>(&text).unwrap(), memory);
    }
}
