//! The analysis of a live log: `follow` decides each hit when it arrives, from what it has seen so far.
//!
//! It collects the same evidence as the analysis of a whole log, in bounded memory: the apps of each site, its answers to unknown
//! paths, and the probers. The oldest entries are dropped first. A request that is an attack only because of its client is held
//! until the client proves to be a prober; it is reported late or never.
//!
//! An answer is graded when it arrives, and reported again when its grade changes. The sites that were idle longest are emptied
//! first, and of each site only the latest answers are kept for another grade. The grader takes new evidence of a site once it
//! has grown by an eighth, so that a flood of answers costs little.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};

use super::{Decision, RuleStatus, decide, required_context};
use crate::analysis::report_input::ReportFilter;
use crate::analysis::site::{CommonAnswer, DetectedApps, RuleHashes, SiteHistory, SiteName};
use crate::client::{Client, ClientKey};
use crate::finding::{AppEvidence, Homes, RuleId, Severity};
use crate::intern::{Interner, SymbolTables};
use crate::log_entry::Outcome;
use crate::lru::LruMap;
use crate::rules::{Rule, RuleSet, WithClient};
use crate::soft_404::{Answer, Grade, GradeCandidate, Grader, PathShape, Response, SentResponse, SiteEvidence, path_hash};

/// The most sites. A client may invent any number of host names; later sites share one entry without evidence.
const MAX_SITES: usize = 4_096;
/// The most clients whose distinct probe paths are stored, for each condition of a rule.
const MAX_CLIENTS: usize = 65_536;
/// The most clients with held requests ...
const MAX_PENDING_CLIENTS: usize = 2_048;
/// ... the most requests of each ...
const MAX_PENDING_LINES: usize = 16;
/// ... and the most bytes of each request.
const MAX_PENDING_BYTES: usize = 2_048;

/// A site by number: a host, or the rotated siblings of a log where hosts are not logged.
type SiteId = u32;

/// What the analysis needs of a hit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveHitContext<'a> {
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
pub(crate) struct ResolvedIds {
    site: Option<SiteId>,
    client: ClientKey,
    path: u64,
    shape: PathShape,
}

/// A line that matched, and its log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveLine<'a> {
    /// The generation of the log.
    pub generation: u64,
    /// The log's path.
    pub source: &'a [u8],
    /// The common part of the names of the log and its rotated siblings.
    pub family: &'a [u8],
    /// Bytes from the start of the log's text.
    pub offset: u64,
    /// The line's number, from 1.
    pub line: u64,
    /// The line.
    pub text: &'a [u8],
    /// Whether a log format matches it.
    pub parsed: bool,
    /// All rules it matched, sorted.
    pub rules: &'a [RuleId],
}

/// A request held until its client proves to be a prober: an owned [`LiveLine`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingHit {
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
    pub(crate) fn new(line: &LiveLine<'_>) -> Self {
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
    pub(crate) fn line(&self) -> LiveLine<'_> {
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
pub(crate) struct LiveAnalysis<'r> {
    rules: &'r RuleSet,
    level: Severity,
    outcomes: &'r [Outcome],
    declared_apps: &'r [RuleId],
    sites: Interner<Box<[u8]>>,
    app_evidence: AppEvidence<SiteId>,
    apps: DetectedApps<SiteId>,
    conditions: Vec<(&'r WithClient, LruMap<ClientKey, DistinctPaths>)>,
    answers: LiveAnswers,
    pending: LruMap<ClientKey, Vec<PendingHit>>,
    state: RandomState,
}

/// The most answers of a client that are stored for each condition: what a site answers to names that it does not have shows in a few.
const MAX_ANSWERS: usize = 16;

/// What a client requested and got.
#[derive(Debug, Default)]
struct DistinctPaths {
    /// Hashes of the first distinct paths, as many as the condition needs.
    paths: Vec<u64>,
    /// The latest answers for distinct paths, if the condition compares them: the site, the status and the size, and the path.
    answers: VecDeque<(Option<SiteId>, (u16, u64), u64)>,
}

impl DistinctPaths {
    /// Adds an answer; returns whether it is the one that makes them enough.
    fn add_answer(&mut self, site: Option<SiteId>, answer: (u16, u64), path: u64, enough: usize) -> bool {
        if self.answers.contains(&(site, answer, path)) {
            return false;
        }
        let before = self.same_answers(site, answer);
        if self.answers.len() == MAX_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back((site, answer, path));
        before < enough && self.same_answers(site, answer) >= enough
    }

    /// The distinct paths with this answer.
    fn same_answers(&self, site: Option<SiteId>, (status, bytes): (u16, u64)) -> usize {
        let sizes = CommonAnswer::same_sizes(bytes);
        let is_same = |&&(other, (other_status, other_size), _): &&(Option<SiteId>, (u16, u64), u64)| {
            other == site && other_status == status && sizes.contains(&other_size)
        };
        self.answers.iter().filter(is_same).map(|(.., path)| path).collect::<HashSet<_>>().len()
    }

    /// Whether the client meets a condition with a request that got this response.
    fn meets(&self, condition: &WithClient, site: Option<SiteId>, response: &Response) -> bool {
        let enough = condition.distinct_paths as usize;
        self.paths.len() >= enough
            && (!condition.same_answer
                || match CommonAnswer::new(response) {
                    CommonAnswer::Refused => true,
                    CommonAnswer::Unlike => false,
                    CommonAnswer::Given(status, bytes) => self.same_answers(site, (status, bytes)) >= enough,
                })
    }
}

impl<'r> LiveAnalysis<'r> {
    /// An empty analysis; `declared_apps` run on all sites.
    #[must_use]
    pub(crate) fn new(rules: &'r RuleSet, filter: ReportFilter<'r>) -> Self {
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
            app_evidence: AppEvidence::default(),
            apps: DetectedApps::from_evidence(std::iter::empty(), declared_apps),
            conditions: conditions.into_iter().map(|condition| (condition, LruMap::new(MAX_CLIENTS))).collect(),
            answers: LiveAnswers::new(rules, SiteHistory::default()),
            pending: LruMap::new(MAX_PENDING_CLIENTS),
            state: RandomState::default(),
        }
    }

    /// The same with the site history of earlier runs.
    #[must_use]
    pub(crate) fn with_history(self, history: SiteHistory) -> Self {
        Self { answers: LiveAnswers::new(self.rules, history), ..self }
    }

    /// The site history for the next run. `now` is in seconds since 1970.
    #[must_use]
    pub(crate) fn history(&mut self, now: i64) -> &SiteHistory {
        self.answers.history(now)
    }

    /// Records sizes of home pages from a run of lines.
    pub(crate) fn record_home_pages(&mut self, homes: &Homes, names: &SymbolTables, family: &[u8]) {
        for (host, bytes) in homes.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            if let Some(site) = site(&mut self.sites, host, family) {
                self.answers.record_home(site, site_name(host, family), bytes);
            }
        }
    }

    /// Updates the grades, and returns the hits whose grade changed.
    pub(crate) fn regrade(&mut self) -> Vec<Regraded> {
        self.answers.regrade()
    }

    /// Updates the grader with all evidence, however little is new.
    pub(crate) fn update_grader(&mut self) {
        self.answers.update_grader_for_all();
    }

    /// Whether there is evidence that no grade uses yet.
    #[must_use]
    pub(crate) fn has_ungraded(&self) -> bool {
        self.answers.has_ungraded()
    }

    /// Stores a hit whose grade may change.
    pub(crate) fn track_answer(&mut self, ids: &ResolvedIds, response: Response, answer: Answer, has_alerted: bool, line: &LiveLine<'_>) {
        if let Some(site) = ids.site.filter(|_| line.text.len() <= MAX_PENDING_BYTES) {
            self.answers.track(site, ids.path, ids.shape, line.rules, response, answer, has_alerted, || PendingHit::new(line));
        }
    }

    /// Whether a distinct answer raises an alert. A site that refuses nothing may answer any path; it gets one alert
    /// until it refuses something.
    pub(crate) fn may_alert(&mut self, ids: &ResolvedIds) -> bool {
        ids.site.is_none_or(|site| self.answers.may_alert(site, &ids.shape))
    }

    /// Records evidence of apps from a run of lines.
    pub(crate) fn record_app_evidence(&mut self, app_evidence: &AppEvidence, names: &SymbolTables, family: &[u8]) {
        if app_evidence.is_empty() {
            return;
        }
        let (sites, state) = (&mut self.sites, &self.state);
        let client = |number: u32| state.hash_one(names.clients.resolve(number)) as u32;
        let mut gathered = AppEvidence::default();
        gathered.merge(app_evidence, |host| host, client);
        for (app, host, few) in gathered.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            if let Some(site) = site(sites, host, family) {
                self.app_evidence.gather(app, site, few);
            }
        }
        self.apps = DetectedApps::from_evidence(self.app_evidence.iter(), self.declared_apps);
    }

    /// Resolves the site and the client of a hit.
    pub(crate) fn resolve(&mut self, context: &LiveHitContext<'_>) -> ResolvedIds {
        let site = site(&mut self.sites, context.host, context.family);
        ResolvedIds { site, client: ClientKey::from(&context.client), path: path_hash(context.path), shape: PathShape::new(context.path) }
    }

    /// Records a hit. Returns the held requests of its client, if this hit proves that it is a prober.
    pub(crate) fn observe(&mut self, matched: &[RuleId], context: &LiveHitContext<'_>, ids: &ResolvedIds) -> Vec<PendingHit> {
        let answer = CommonAnswer::new(&context.response);
        // A page of the site that a prober could request shows nothing of unknown paths.
        let is_probe = answer == CommonAnswer::Refused || matched.iter().any(|&rule| self.rules.rule(rule).with_client.is_none());
        if let Some(site) = ids.site.filter(|_| is_probe) {
            let client = Some(context.client.stable_hash() as u16);
            let sent = SentResponse { response: context.response, client, hours: None };
            self.answers.record(site, site_name(context.host, context.family), ids.path, ids.shape, matched, &sent);
        }
        if context.client.is_unknown() {
            return Vec::new();
        }
        let path = self.state.hash_one(context.path);
        let mut is_proven = false;
        for at in 0..self.conditions.len() {
            let (condition, _) = self.conditions[at];
            let counts = |rule: &Rule| rule.is_certain() && (condition.classes.is_empty() || condition.classes.contains(&rule.class));
            let strong = |rule: &RuleId| counts(self.rules.rule(*rule)) && self.suppressing_app(*rule, ids.site).is_none();
            if !matched.iter().any(strong) {
                continue;
            }
            let enough = condition.distinct_paths as usize;
            let distinct = self.conditions[at].1.get_or_insert_with(ids.client.clone(), DistinctPaths::default);
            if distinct.paths.len() < enough && !distinct.paths.contains(&path) {
                distinct.paths.push(path);
                is_proven |= distinct.paths.len() == enough;
            }
            if let (true, CommonAnswer::Given(status, size)) = (condition.same_answer, answer) {
                is_proven |= distinct.add_answer(ids.site, (status, size), path, enough);
            }
        }
        if is_proven { self.pending.remove(&ids.client).unwrap_or_default() } else { Vec::new() }
    }

    /// The decision for a hit at this time. The reported rules go to `kept`.
    pub(crate) fn decide(&self, matched: &[RuleId], context: &LiveHitContext<'_>, ids: &ResolvedIds, kept: &mut Vec<RuleId>) -> Decision {
        let rule_status = |rule| self.rule_status(rule, ids, &context.response);
        let status = context.response.status;
        let grade = || ids.site.map_or(Grade::DISTINCT, |site| self.answers.grade(site, ids.path, ids.shape, matched, &context.response));
        let decision = decide(self.rules, self.level, matched, status, rule_status, grade, kept);
        decision.filter_outcome(self.outcomes, Outcome::from_status(status))
    }

    /// Whether a request that is no finding becomes one if its client proves to be a prober.
    #[must_use]
    pub(crate) fn may_be_promoted(&self, matched: &[RuleId]) -> bool {
        matched.iter().any(|&rule| self.rules.rule(rule).with_client.is_some())
    }

    /// Holds a request that is no finding yet. If there is no space, the oldest is dropped.
    pub(crate) fn hold(&mut self, client: Client<'_>, hit: PendingHit) {
        if hit.text.len() > MAX_PENDING_BYTES || client.is_unknown() {
            return;
        }
        let lines = self.pending.get_or_insert_with(ClientKey::from(&client), Vec::new);
        if lines.len() == MAX_PENDING_LINES {
            lines.remove(0);
        }
        lines.push(hit);
    }

    /// What these rules require besides the line: `client`, `flood`, or `None`.
    #[must_use]
    pub(crate) fn required_context(&self, rules: &[RuleId]) -> Option<&'static str> {
        required_context(self.rules, rules)
    }

    fn rule_status(&self, rule: RuleId, ids: &ResolvedIds, response: &Response) -> RuleStatus {
        let is_met = |condition: &WithClient| {
            let known = self.conditions.iter().find(|(known, _)| *known == condition);
            known.and_then(|(_, clients)| clients.peek(&ids.client)).is_some_and(|distinct| distinct.meets(condition, ids.site, response))
        };
        if self.rules.rule(rule).with_client.as_ref().is_some_and(|condition| !is_met(condition)) {
            return RuleStatus::Dropped;
        }
        if self.rules.rule(rule).counts_requests() {
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
    if sites.keys().len() >= MAX_SITES {
        return sites.find(&*key);
    }
    Some(sites.intern(&*key, Box::from))
}

/// The most paths of all sites together: 16 MB.
const MAX_PATHS: usize = 1 << 16;
/// The most answers of a site that are kept for another grade.
const MAX_TRACKED_OF_SITE: usize = 256;
/// The most of all sites: 16 MB with lines of 2 KB.
const MAX_TRACKED: usize = 8_192;
/// The first changes of a site reach the grader at once.
const EAGER_CHANGES: usize = 16;

/// Sites without a response for this long are dropped from the history.
const MAX_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// An answer that was graded and may be graded again.
#[derive(Debug)]
struct TrackedAnswer {
    path: u64,
    shape: PathShape,
    rules: Box<[RuleId]>,
    response: Response,
    answer: Answer,
    has_alerted: bool,
    line: PendingHit,
}

/// A line whose grade changed.
#[derive(Debug)]
pub(crate) struct Regraded {
    /// The line.
    pub line: PendingHit,
    /// It raised no alert yet.
    pub may_alert: bool,
}

/// The responses of one site.
#[derive(Debug)]
struct SiteAnswers {
    name: (bool, Box<[u8]>),
    /// Its index in the grader.
    grader_index: usize,
    evidence: SiteEvidence,
    /// Changes of the evidence, those of them that the grader has, and those that the grades use.
    changes: usize,
    changes_in_grader: usize,
    changes_in_grades: usize,
    tracked: VecDeque<TrackedAnswer>,
    /// Whether it raised an alert, and in which of its folders.
    has_alerted: bool,
    folders: HashSet<u32>,
    /// The time of its last change, counted in changes of all sites.
    last_changed: u64,
}

/// The responses of all sites.
#[derive(Debug)]
pub(crate) struct LiveAnswers {
    sites: HashMap<SiteId, SiteAnswers>,
    grader: Grader,
    history: SiteHistory,
    rules: RuleHashes,
    clock: u64,
    /// Paths of all sites.
    paths: usize,
    /// Answers of all sites that are kept for another grade.
    graded: usize,
    /// The grader has evidence that the grades do not use yet.
    has_ungraded: bool,
}

impl SiteAnswers {
    /// Paths in the evidence.
    fn len(&self) -> usize {
        self.evidence.answered_len() + self.evidence.refused_len()
    }

    fn is_ungraded(&self) -> bool {
        self.changes_in_grader > self.changes_in_grades && !self.tracked.is_empty()
    }
}

impl LiveAnswers {
    pub(crate) fn new(rules: &RuleSet, history: SiteHistory) -> Self {
        Self {
            sites: HashMap::default(),
            grader: Grader::empty(rules.subjects()),
            history,
            rules: super::rule_hashes(rules),
            clock: 0,
            paths: 0,
            graded: 0,
            has_ungraded: false,
        }
    }

    /// Records a response to a probe.
    pub(crate) fn record(&mut self, site: SiteId, name: SiteName<'_>, path: u64, shape: PathShape, rules: &[RuleId], sent: &SentResponse) {
        self.change(site, name, |evidence| {
            let before = evidence.shared(path);
            evidence.record(path, || shape, rules, sent);
            evidence.trim();
            evidence.shared(path) != before
        });
    }

    /// Records a size of the home page.
    pub(crate) fn record_home(&mut self, site: SiteId, name: SiteName<'_>, bytes: u64) {
        self.change(site, name, |evidence| {
            let is_new = !evidence.home.contains(bytes);
            evidence.home.insert(bytes);
            is_new && evidence.home.contains(bytes)
        });
    }

    fn change(&mut self, site: SiteId, name: SiteName<'_>, change: impl FnOnce(&mut SiteEvidence) -> bool) {
        self.clock += 1;
        if !self.sites.contains_key(&site) {
            self.add(site, name);
        }
        let Some(site_answers) = self.sites.get_mut(&site) else { return };
        site_answers.last_changed = self.clock;
        let before = site_answers.len();
        if change(&mut site_answers.evidence) {
            site_answers.changes += 1;
            // The first changes matter most, and a small update is cheap.
            if site_answers.changes <= EAGER_CHANGES
                || site_answers.changes - site_answers.changes_in_grader > site_answers.changes_in_grader / 8
            {
                Self::update_grader(&mut self.grader, site_answers);
                self.has_ungraded |= site_answers.is_ungraded();
            }
        }
        self.paths = self.paths - before + site_answers.len();
        if self.paths > MAX_PATHS {
            self.evict_idle(site);
        }
    }

    fn add(&mut self, site: SiteId, name: SiteName<'_>) {
        let evidence = self.history.answers(name, &self.rules).unwrap_or_default();
        let grader_index = self.sites.len();
        let name = match name {
            SiteName::Host(host) => (true, host.into()),
            SiteName::Log(log) => (false, log.into()),
        };
        let mut site_answers = SiteAnswers {
            name,
            grader_index,
            evidence,
            changes: 0,
            changes_in_grader: 0,
            changes_in_grades: 0,
            tracked: VecDeque::new(),
            has_alerted: false,
            folders: HashSet::default(),
            last_changed: self.clock,
        };
        Self::update_grader(&mut self.grader, &mut site_answers);
        self.paths += site_answers.len();
        self.sites.insert(site, site_answers);
    }

    /// Empties the sites that were idle longest until an eighth of the capacity is free. Their indices stay, and so
    /// does the site that changed last.
    fn evict_idle(&mut self, changed: SiteId) {
        let mut by_last_change: Vec<(u64, SiteId)> =
            self.sites.iter().map(|(site, site_answers)| (site_answers.last_changed, *site)).collect();
        by_last_change.sort_unstable();
        for (_, site) in by_last_change {
            if self.paths <= MAX_PATHS - MAX_PATHS / 8 {
                break;
            }
            let Some(site_answers) = self.sites.get_mut(&site).filter(|site_answers| site != changed && !site_answers.evidence.is_empty())
            else {
                continue;
            };
            self.paths -= site_answers.len();
            self.graded -= site_answers.tracked.len();
            site_answers.evidence = SiteEvidence::default();
            site_answers.tracked.clear();
            Self::update_grader(&mut self.grader, site_answers);
        }
    }

    fn update_grader(grader: &mut Grader, site_answers: &mut SiteAnswers) {
        grader.set(site_answers.grader_index, site_answers.name.0, site_answers.evidence.clone());
        site_answers.changes_in_grader = site_answers.changes;
    }

    /// The grade of an answer, by the present evidence.
    pub(crate) fn grade(&self, site: SiteId, path: u64, shape: PathShape, rules: &[RuleId], response: &Response) -> Grade {
        let Some(site_answers) = self.sites.get(&site) else { return Grade::DISTINCT };
        self.grader.grade(site_answers.grader_index, &GradeCandidate { path, shape, rules }, site_answers.evidence.path(path), response)
    }

    /// Whether a distinct answer raises an alert; records that it did.
    pub(crate) fn may_alert(&mut self, site: SiteId, shape: &PathShape) -> bool {
        let Some(site_answers) = self.sites.get_mut(&site) else { return true };
        let is_first_in_folder = shape.folder == 0 || !site_answers.folders.contains(&shape.folder);
        let refuses = |folder| self.grader.refuses(site_answers.grader_index, folder);
        let may = (!site_answers.has_alerted || refuses(0)) && (is_first_in_folder || refuses(shape.folder));
        if may {
            site_answers.has_alerted = true;
            site_answers.folders.insert(shape.folder);
        }
        may
    }

    /// Keeps an answer for another grade.
    #[expect(clippy::too_many_arguments, reason = "an answer, its grade, and the line it came from")]
    pub(crate) fn track(
        &mut self,
        site: SiteId,
        path: u64,
        shape: PathShape,
        rules: &[RuleId],
        response: Response,
        answer: Answer,
        has_alerted: bool,
        line: impl FnOnce() -> PendingHit,
    ) {
        let Some(site_answers) = self.sites.get_mut(&site) else { return };
        if site_answers.tracked.len() >= MAX_TRACKED_OF_SITE || self.graded >= MAX_TRACKED {
            // A soft 404 rarely changes its grade, so it is dropped first.
            let soft = site_answers.tracked.iter().position(|graded| graded.answer == Answer::Soft404);
            if site_answers.tracked.remove(soft.unwrap_or(0)).is_none() {
                return;
            }
            self.graded -= 1;
        }
        site_answers.tracked.push_back(TrackedAnswer { path, shape, rules: rules.into(), response, answer, has_alerted, line: line() });
        self.graded += 1;
        self.has_ungraded |= site_answers.is_ungraded();
    }

    /// Whether the grader has evidence that the grades do not use yet.
    pub(crate) fn has_ungraded(&self) -> bool {
        self.has_ungraded
    }

    /// Updates the grader for every site with new evidence.
    pub(crate) fn update_grader_for_all(&mut self) {
        for site_answers in self.sites.values_mut().filter(|site_answers| site_answers.changes_in_grader < site_answers.changes) {
            Self::update_grader(&mut self.grader, site_answers);
            self.has_ungraded |= site_answers.is_ungraded();
        }
    }

    /// Grades the kept answers again, and returns the lines whose grade changed.
    pub(crate) fn regrade(&mut self) -> Vec<Regraded> {
        self.has_ungraded = false;
        let mut changed = Vec::new();
        let is_of_server =
            self.sites.values().any(|site_answers| site_answers.name.0 && site_answers.changes_in_grader > site_answers.changes_in_grades);
        for site_answers in self.sites.values_mut() {
            // Hosts are compared with each other.
            if site_answers.changes_in_grader == site_answers.changes_in_grades && !(site_answers.name.0 && is_of_server) {
                continue;
            }
            site_answers.changes_in_grades = site_answers.changes_in_grader;
            for graded in &mut site_answers.tracked {
                let candidate = GradeCandidate { path: graded.path, shape: graded.shape, rules: &graded.rules };
                let grade =
                    self.grader.grade(site_answers.grader_index, &candidate, site_answers.evidence.path(graded.path), &graded.response);
                if grade.answer != graded.answer {
                    graded.answer = grade.answer;
                    changed.push(Regraded { line: graded.line.clone(), may_alert: !graded.has_alerted });
                }
            }
        }
        changed
    }

    /// The site history for the next run.
    pub(crate) fn history(&mut self, now: i64) -> &SiteHistory {
        for site_answers in self.sites.values().filter(|site_answers| !site_answers.evidence.is_empty()) {
            let (is_host, name) = &site_answers.name;
            let name = if *is_host { SiteName::Host(name) } else { SiteName::Log(name) };
            self.history.record_answers(name, &site_answers.evidence, &self.rules, now);
        }
        self.history.prune(now, MAX_AGE);
        &self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::rules;
    use crate::finding::RuleId;
    use crate::log_entry::MethodClass;

    /// Fails if a known site can grow without bound.
    #[test]
    fn growing_sites_evict_each_other() {
        let mut answers = LiveAnswers::new(rules(), SiteHistory::default());
        let response = Response { method: MethodClass::Get, status: Some(404), bytes: Some(612), extra: 0 };
        // Each site may hold 1,024 answered and 1,024 refused paths: in total more than the limit of all sites.
        for path in 0..1_000 {
            for site in 0..80 {
                let name = format!("host{site}");
                let rule = [RuleId(0)];
                let shape = PathShape::new(format!("/{path}").as_bytes());
                answers.record(
                    site,
                    SiteName::Host(name.as_bytes()),
                    path,
                    shape,
                    &rule,
                    &SentResponse { response, client: None, hours: None },
                );
            }
        }
        let counted: usize = answers.sites.values().map(SiteAnswers::len).sum();
        assert_eq!(answers.paths, counted);
        assert!(counted <= MAX_PATHS, "{counted}");
        assert!(counted > MAX_PATHS / 2, "{counted}");
    }
}
