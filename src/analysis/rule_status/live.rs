//! The analysis of a live log: `follow` decides each hit when it arrives, from what it has seen so far.
//!
//! It knows the same as the analysis of a whole log, in bounded memory: the apps of each site, its answers to unknown
//! paths, and the probers. The oldest entries are dropped first. A request that is an attack only because of its client
//! is held until the client proves to be a prober; it is reported late or never. An answer is graded when it arrives,
//! and reported again when its grade changes.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::Decision;
use super::decide::{self, RuleStatus};
use super::live_answers::{LiveAnswers, Regraded};
use crate::analysis::build::ReportFilter;
use crate::analysis::hit::LiveLine;
use crate::analysis::site::{DetectedApps, SiteHistory, SiteName};
use crate::client::{Client, ClientKey};
use crate::finding::{AppEvidence, Homes, RuleId, Severity};
use crate::intern::Interner;
use crate::intern::SymbolTables;
use crate::log_entry::Outcome;
use crate::lru::LruMap;
use crate::rules::{Rule, RuleSet, WithClient};
use crate::soft_404::{Answer, Grade, PathShape, Response, path_hash};

/// The most sites. A client may invent any number of host names; later sites share one entry without evidence.
const SITES: usize = 4_096;
/// The most clients whose distinct probe paths are stored, for each condition of a rule.
const CLIENTS: usize = 65_536;
/// The most clients with held requests ...
const WAITING_CLIENTS: usize = 2_048;
/// ... the most requests of each ...
const WAITING_LINES: usize = 16;
/// ... and the most bytes of each request.
const WAITING_BYTES: usize = 2_048;

/// A site by number: a host, or the rotated siblings of a log where hosts are not logged.
type SiteId = u32;

/// A hit with what the analysis needs to know of it.
#[derive(Debug, Clone, Copy)]
pub struct LiveHitContext<'a> {
    /// The client.
    pub client: Client<'a>,
    /// The normalized path.
    pub path: &'a [u8],
    /// The virtual host in lower case, if one was logged.
    pub host: Option<&'a [u8]>,
    /// The common part of the names of the log and its rotated siblings.
    pub family: &'a [u8],
    /// The response of the site.
    pub response: Response,
}

/// The site, the client and the path of a hit, as identifiers.
#[derive(Debug, Clone)]
pub struct ResolvedIds {
    site: Option<SiteId>,
    client: ClientKey,
    path: u64,
    shape: PathShape,
}

/// A request held until its client proves to be a prober: an owned [`LiveLine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingHit {
    generation: u64,
    source: Box<[u8]>,
    family: Box<[u8]>,
    offset: u64,
    line: u64,
    text: Box<[u8]>,
    parsed: bool,
    rules: Box<[RuleId]>,
}

impl PendingHit {
    /// Copies the line.
    #[must_use]
    pub fn new(line: &LiveLine<'_>) -> Self {
        Self {
            generation: line.generation,
            source: line.source.into(),
            family: line.family.into(),
            offset: line.offset,
            line: line.line,
            text: line.text.into(),
            parsed: line.parsed,
            rules: line.rules.into(),
        }
    }

    /// The held line.
    #[must_use]
    pub fn line(&self) -> LiveLine<'_> {
        LiveLine {
            generation: self.generation,
            source: &self.source,
            family: &self.family,
            offset: self.offset,
            line: self.line,
            text: &self.text,
            parsed: self.parsed,
            rules: &self.rules,
        }
    }
}

/// The analysis of what was seen so far.
#[derive(Debug)]
pub struct LiveAnalysis<'r> {
    rules: &'r RuleSet,
    level: Severity,
    outcomes: &'r [Outcome],
    declared_apps: &'r [RuleId],
    sites: Interner<Box<[u8]>>,
    signs: AppEvidence<SiteId>,
    apps: DetectedApps<SiteId>,
    conditions: Vec<(&'r WithClient, LruMap<ClientKey, DistinctPaths>)>,
    answers: LiveAnswers,
    waiting: LruMap<ClientKey, Vec<PendingHit>>,
    state: RandomState,
}

/// Hashes of the first distinct paths that a client requested, as many as the condition needs.
#[derive(Debug, Default)]
struct DistinctPaths {
    paths: Vec<u64>,
}

impl<'r> LiveAnalysis<'r> {
    /// An empty analysis; `declared_apps` run on all sites.
    #[must_use]
    pub fn new(rules: &'r RuleSet, filter: ReportFilter<'r>) -> Self {
        let ReportFilter { min_severity: level, outcomes, apps: declared_apps } = filter;
        let mut conditions: Vec<&WithClient> = rules.rules().iter().filter_map(|rule| rule.with_client.as_ref()).collect();
        conditions.sort_unstable();
        conditions.dedup();
        Self {
            rules,
            level,
            outcomes,
            declared_apps,
            sites: Interner::default(),
            signs: AppEvidence::default(),
            apps: DetectedApps::from_evidence(std::iter::empty(), declared_apps),
            conditions: conditions.into_iter().map(|with| (with, LruMap::new(CLIENTS))).collect(),
            answers: LiveAnswers::new(rules, SiteHistory::default()),
            waiting: LruMap::new(WAITING_CLIENTS),
            state: RandomState::default(),
        }
    }

    /// The same with the site history of earlier runs.
    #[must_use]
    pub fn with_history(self, history: SiteHistory) -> Self {
        Self { answers: LiveAnswers::new(self.rules, history), ..self }
    }

    /// The site history for the next run. `now` is in seconds since 1970.
    #[must_use]
    pub fn history(&mut self, now: i64) -> &SiteHistory {
        self.answers.history(now)
    }

    /// Records sizes of home pages from a run of lines.
    pub fn record_home_pages(&mut self, homes: &Homes, names: &SymbolTables, family: &[u8]) {
        for (host, bytes) in homes.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            if let Some(site) = site(&mut self.sites, host, family) {
                self.answers.record_home(site, site_name(host, family), bytes);
            }
        }
    }

    /// Updates the grades, and returns the hits whose grade changed.
    pub fn regrade(&mut self) -> Vec<Regraded> {
        self.answers.regrade()
    }

    /// Updates the grader with all evidence, however little is new.
    pub fn update_grader(&mut self) {
        self.answers.update_grader_for_all();
    }

    /// Whether there is evidence that no grade uses yet.
    #[must_use]
    pub fn has_ungraded(&self) -> bool {
        self.answers.has_ungraded()
    }

    /// Stores a hit whose grade may change.
    pub fn track_answer(&mut self, ids: &ResolvedIds, response: Response, answer: Answer, has_alerted: bool, line: &LiveLine<'_>) {
        if let Some(site) = ids.site.filter(|_| line.text.len() <= WAITING_BYTES) {
            self.answers.track(site, ids.path, ids.shape, line.rules, response, answer, has_alerted, || PendingHit::new(line));
        }
    }

    /// Whether a distinct answer raises an alert. A site that refuses nothing may answer any path; it gets one alert
    /// until it refuses something.
    pub fn may_alert(&mut self, ids: &ResolvedIds) -> bool {
        ids.site.is_none_or(|site| self.answers.may_alert(site, &ids.shape))
    }

    /// Records evidence of apps from a run of lines.
    pub fn record_app_evidence(&mut self, signs: &AppEvidence, names: &SymbolTables, family: &[u8]) {
        if signs.is_empty() {
            return;
        }
        let (sites, state) = (&mut self.sites, &self.state);
        let client = |number: u32| state.hash_one(names.clients.resolve(number)) as u32;
        let mut gathered = AppEvidence::default();
        gathered.merge(signs, |host| host, client);
        for (app, host, few) in gathered.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            if let Some(site) = site(sites, host, family) {
                self.signs.gather(app, site, few);
            }
        }
        self.apps = DetectedApps::from_evidence(self.signs.iter(), self.declared_apps);
    }

    /// Resolves the site and the client of a hit.
    pub fn resolve(&mut self, seen: &LiveHitContext<'_>) -> ResolvedIds {
        let site = site(&mut self.sites, seen.host, seen.family);
        ResolvedIds { site, client: ClientKey::from(&seen.client), path: path_hash(seen.path), shape: PathShape::of(seen.path) }
    }

    /// Records a hit. Returns the held requests of its client, if this hit proves that it is a prober.
    pub fn observe(&mut self, matched: &[RuleId], seen: &LiveHitContext<'_>, ids: &ResolvedIds) -> Vec<PendingHit> {
        if let Some(site) = ids.site {
            self.answers.record(site, site_name(seen.host, seen.family), ids.path, ids.shape, matched, &seen.response);
        }
        if seen.client.is_unknown() {
            return Vec::new();
        }
        let path = self.state.hash_one(seen.path);
        let mut is_proven = false;
        for at in 0..self.conditions.len() {
            let (with, _) = self.conditions[at];
            let counts = |rule: &Rule| rule.is_certain() && (with.classes.is_empty() || with.classes.contains(&rule.class));
            let strong = |rule: &RuleId| counts(self.rules.rule(*rule)) && self.suppressing_app(*rule, ids.site).is_none();
            if !matched.iter().any(strong) {
                continue;
            }
            let enough = with.distinct_paths as usize;
            let distinct = self.conditions[at].1.value(ids.client.clone(), DistinctPaths::default);
            if distinct.paths.len() < enough && !distinct.paths.contains(&path) {
                distinct.paths.push(path);
                is_proven |= distinct.paths.len() == enough;
            }
        }
        if is_proven { self.waiting.remove(&ids.client).unwrap_or_default() } else { Vec::new() }
    }

    /// The decision for a hit at this time. The reported rules go to `kept`.
    pub fn decide(&self, matched: &[RuleId], seen: &LiveHitContext<'_>, ids: &ResolvedIds, kept: &mut Vec<RuleId>) -> Decision {
        let standing = |rule| self.rule_status(rule, ids);
        let status = seen.response.status;
        let grade = || ids.site.map_or(Grade::DISTINCT, |site| self.answers.grade(site, ids.path, ids.shape, matched, &seen.response));
        let decision = decide::decide(self.rules, self.level, matched, status, standing, grade, kept);
        decision.filter_outcome(self.outcomes, Outcome::of(status))
    }

    /// Whether a request that is no finding becomes one if its client proves to be a prober.
    #[must_use]
    pub fn may_be_promoted(&self, matched: &[RuleId]) -> bool {
        matched.iter().any(|&rule| self.rules.rule(rule).with_client.is_some())
    }

    /// Holds a request that is no finding yet. If there is no space, the oldest is dropped.
    pub fn hold(&mut self, client: Client<'_>, late: PendingHit) {
        if late.text.len() > WAITING_BYTES || client.is_unknown() {
            return;
        }
        let lines = self.waiting.value(ClientKey::from(&client), Vec::new);
        if lines.len() == WAITING_LINES {
            lines.remove(0);
        }
        lines.push(late);
    }

    /// What these rules require besides the line: `client`, `flood`, or `None`.
    #[must_use]
    pub fn required_context(&self, rules: &[RuleId]) -> Option<&'static str> {
        decide::required_context(self.rules, rules)
    }

    fn rule_status(&self, rule: RuleId, ids: &ResolvedIds) -> RuleStatus {
        let upheld = |with: &WithClient| {
            let known = self.conditions.iter().find(|(known, _)| *known == with);
            known
                .and_then(|(_, clients)| clients.peek(&ids.client))
                .is_some_and(|distinct| distinct.paths.len() >= with.distinct_paths as usize)
        };
        if self.rules.rule(rule).with_client.as_ref().is_some_and(|with| !upheld(with)) {
            return RuleStatus::Dropped;
        }
        if self.rules.rule(rule).window.is_some() {
            return RuleStatus::Dropped;
        }
        self.suppressing_app(rule, ids.site).map_or(RuleStatus::Active, RuleStatus::Suppressed)
    }

    /// The app that suppresses a rule on a site.
    fn suppressing_app(&self, rule: RuleId, site: Option<SiteId>) -> Option<RuleId> {
        let run = |app: &RuleId| site.map_or(self.declared_apps.contains(app), |site| self.apps.runs(*app, site));
        self.rules.suppressed_by_apps(rule).iter().copied().find(run)
    }
}

/// A site as the site history identifies it.
fn site_name<'n>(host: Option<&'n [u8]>, family: &'n [u8]) -> SiteName<'n> {
    host.map_or(SiteName::Log(family), SiteName::Host)
}

/// The number of a site; `None` if there are too many.
fn site(sites: &mut Interner<Box<[u8]>>, host: Option<&[u8]>, family: &[u8]) -> Option<SiteId> {
    // Neither a path nor a host begins with NUL, so the keys cannot collide.
    let key = match host {
        Some(host) => host.to_vec(),
        None => [&b"\0"[..], family].concat(),
    };
    if sites.keys().len() >= SITES {
        return sites.find(&*key);
    }
    Some(sites.intern(&*key, Box::from))
}
