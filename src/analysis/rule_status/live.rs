//! The context as far as it shows by now: `follow` decides each hit when it comes, and cannot wait for the whole.
//!
//! The same questions as for a whole log, in bounded memory: which apps a site runs, what it answers to anything, and who is
//! a prober. What was seen longest ago is dropped first. A request that is an attack only because of its client waits until the
//! client shows itself; it is reported late, or never. An answer is graded by what is known when it comes; it is reported again
//! when its grade changes.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::Decision;
use super::decide::{self, RuleStatus};
use super::live_answers::{LiveAnswers, Regraded};
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

/// Sites that are told apart. Whoever asks may choose the name of a host; those that come later share one place, which
/// shows nothing.
const SITES: usize = 4_096;
/// Clients whose distinct probe paths are remembered, for each condition that rules have.
const CLIENTS: usize = 65_536;
/// Clients of whom requests wait ...
const WAITING_CLIENTS: usize = 2_048;
/// ... so many of each ...
const WAITING_LINES: usize = 16;
/// ... of so many bytes.
const WAITING_BYTES: usize = 2_048;

/// A site among those that are known: a host, or the logs of one family where hosts are not logged.
type SiteId = u32;

/// One hit as the context sees it.
#[derive(Debug, Clone, Copy)]
pub struct LiveHitContext<'a> {
    /// Who asked.
    pub client: Client<'a>,
    /// For what: the normalised path.
    pub path: &'a [u8],
    /// The virtual host in lower case, where one was logged.
    pub host: Option<&'a [u8]>,
    /// What the names of the log and of its rotated siblings have in common.
    pub family: &'a [u8],
    /// What the site answered.
    pub response: Response,
}

/// A hit's site and client, as they are remembered.
#[derive(Debug, Clone)]
pub struct ResolvedIds {
    site: Option<SiteId>,
    client: ClientKey,
    path: u64,
    shape: PathShape,
}

/// A request that waits for its client to show itself: a [`LiveLine`] that owns what it says.
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
    /// A line that is to wait.
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

    /// The line that waited.
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

/// What was seen so far.
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

/// The first distinct paths a client asked for, by their hashes: as many as it takes.
#[derive(Debug, Default)]
struct DistinctPaths {
    paths: Vec<u64>,
}

impl<'r> LiveAnalysis<'r> {
    /// Nothing was seen; the apps of `declared_apps` run everywhere.
    #[must_use]
    pub fn new(rules: &'r RuleSet, level: Severity, outcomes: &'r [Outcome], declared_apps: &'r [RuleId]) -> Self {
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

    /// The same, with what earlier runs recorded of the sites.
    #[must_use]
    pub fn with_history(self, memory: SiteHistory) -> Self {
        Self { answers: LiveAnswers::new(self.rules, memory), ..self }
    }

    /// What is known of the sites, for the next run. `now` is in seconds since 1970.
    #[must_use]
    pub fn history(&mut self, now: i64) -> &SiteHistory {
        self.answers.history(now)
    }

    /// Takes in sizes of home pages in a run of lines of a log.
    pub fn record_home_pages(&mut self, homes: &Homes, names: &SymbolTables, family: &[u8]) {
        for (host, bytes) in homes.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            if let Some(site) = site(&mut self.sites, host, family) {
                self.answers.record_home(site, site_name(host, family), bytes);
            }
        }
    }

    /// Brings the grades up to date, and gives the hits whose grade changed.
    pub fn regrade(&mut self) -> Vec<Regraded> {
        self.answers.regrade()
    }

    /// Weighs all evidence, however little came since it was weighed.
    pub fn update_grader(&mut self) {
        self.answers.update_grader_for_all();
    }

    /// Whether there is more to grade by than there was.
    #[must_use]
    pub fn has_ungraded(&self) -> bool {
        self.answers.has_ungraded()
    }

    /// Keeps a hit whose grade may change.
    pub fn track_answer(&mut self, met: &ResolvedIds, response: Response, answer: Answer, has_alerted: bool, line: &LiveLine<'_>) {
        if let Some(site) = met.site.filter(|_| line.text.len() <= WAITING_BYTES) {
            self.answers.track(site, met.path, met.shape, line.rules, response, answer, has_alerted, || PendingHit::new(line));
        }
    }

    /// Whether a distinct answer is to raise an alert. A site that refuses nothing may answer anything: of such a site one alert
    /// is enough until it shows that it does not.
    pub fn may_alert(&mut self, met: &ResolvedIds) -> bool {
        met.site.is_none_or(|site| self.answers.may_alert(site, &met.shape))
    }

    /// Takes in the signs of apps in a run of lines of a log.
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

    /// Finds whose hit it is, and on which site.
    pub fn resolve(&mut self, seen: &LiveHitContext<'_>) -> ResolvedIds {
        let site = site(&mut self.sites, seen.host, seen.family);
        ResolvedIds { site, client: ClientKey::from(&seen.client), path: path_hash(seen.path), shape: PathShape::of(seen.path) }
    }

    /// Takes in a hit; what waited for its client to show itself, if it did so now.
    pub fn observe(&mut self, matched: &[RuleId], seen: &LiveHitContext<'_>, met: &ResolvedIds) -> Vec<PendingHit> {
        if let Some(site) = met.site {
            self.answers.record(site, site_name(seen.host, seen.family), met.path, met.shape, matched, &seen.response);
        }
        if seen.client.is_unknown() {
            return Vec::new();
        }
        let path = self.state.hash_one(seen.path);
        let mut shown = false;
        for at in 0..self.conditions.len() {
            let (with, _) = self.conditions[at];
            let counts = |rule: &Rule| rule.is_certain() && (with.classes.is_empty() || with.classes.contains(&rule.class));
            let strong = |rule: &RuleId| counts(self.rules.rule(*rule)) && self.suppressing_app(*rule, met.site).is_none();
            if !matched.iter().any(strong) {
                continue;
            }
            let enough = with.distinct_paths as usize;
            let asked = self.conditions[at].1.value(met.client.clone(), DistinctPaths::default);
            if asked.paths.len() < enough && !asked.paths.contains(&path) {
                asked.paths.push(path);
                shown |= asked.paths.len() == enough;
            }
        }
        if shown { self.waiting.remove(&met.client).unwrap_or_default() } else { Vec::new() }
    }

    /// What a hit comes to by now; the rules that are reported go to `kept`.
    pub fn decide(&self, matched: &[RuleId], seen: &LiveHitContext<'_>, met: &ResolvedIds, kept: &mut Vec<RuleId>) -> Decision {
        let standing = |rule| self.rule_status(rule, met);
        let status = seen.response.status;
        let grade = || met.site.map_or(Grade::DISTINCT, |site| self.answers.grade(site, met.path, met.shape, matched, &seen.response));
        let decision = decide::decide(self.rules, self.level, matched, status, standing, grade, kept);
        decision.filter_outcome(self.outcomes, Outcome::of(status))
    }

    /// Whether a request that is no finding may become one when its client shows itself.
    #[must_use]
    pub fn may_be_promoted(&self, matched: &[RuleId]) -> bool {
        matched.iter().any(|&rule| self.rules.rule(rule).with_client.is_some())
    }

    /// Keeps a request that is no finding yet. Where there is no room, the one that waited longest goes.
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

    /// What makes these rules a finding besides the line, where the line alone does not.
    #[must_use]
    pub fn required_context(&self, rules: &[RuleId]) -> Option<&'static str> {
        decide::required_context(self.rules, rules)
    }

    fn rule_status(&self, rule: RuleId, met: &ResolvedIds) -> RuleStatus {
        let upheld = |with: &WithClient| {
            let known = self.conditions.iter().find(|(known, _)| *known == with);
            known.and_then(|(_, clients)| clients.peek(&met.client)).is_some_and(|asked| asked.paths.len() >= with.distinct_paths as usize)
        };
        if self.rules.rule(rule).with_client.as_ref().is_some_and(|with| !upheld(with)) {
            return RuleStatus::Dropped;
        }
        if self.rules.rule(rule).window.is_some() {
            return RuleStatus::Dropped;
        }
        self.suppressing_app(rule, met.site).map_or(RuleStatus::Active, RuleStatus::Suppressed)
    }

    /// The app that silences a rule on a site.
    fn suppressing_app(&self, rule: RuleId, site: Option<SiteId>) -> Option<RuleId> {
        let run = |app: &RuleId| site.map_or(self.declared_apps.contains(app), |site| self.apps.runs(*app, site));
        self.rules.suppressed_by_apps(rule).iter().copied().find(run)
    }
}

/// A site as later runs know it.
fn site_name<'n>(host: Option<&'n [u8]>, family: &'n [u8]) -> SiteName<'n> {
    host.map_or(SiteName::Log(family), SiteName::Host)
}

/// The number of a site; `None` where there are too many.
fn site(sites: &mut Interner<Box<[u8]>>, host: Option<&[u8]>, family: &[u8]) -> Option<SiteId> {
    // A path begins with no NUL, and neither does a host.
    let key = match host {
        Some(host) => host.to_vec(),
        None => [&b"\0"[..], family].concat(),
    };
    if sites.keys().len() >= SITES {
        return sites.find(&*key);
    }
    Some(sites.intern(&*key, Box::from))
}
