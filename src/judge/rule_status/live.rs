//! The analysis of a live log: `follow` decides each hit when it arrives, from what it has seen so
//! far.
//!
//! It collects the same evidence as the analysis of a whole log, in bounded memory: the apps of
//! each site, its answers to unknown paths, and the probers. The oldest entries are dropped first.
//! A request that is an attack only because of its client is held until the client proves to be a
//! prober; it is reported late or never.
//!
//! An answer is graded when it arrives, and reported again when its grade changes. It is a find
//! once the grade `distinct` is settled (see `settle`), and is withdrawn if it proves to be a soft
//! 404 after that. The sites that were idle longest are emptied first, and of each site only the
//! latest answers are kept for another grade. The grader takes new evidence of a site once it has
//! grown by an eighth, so that a flood of answers costs little.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;
use foldhash::{HashMap, HashSet};

use super::saved::{SavedAnswer, SavedAnswers, SavedRequest};
use super::settle::{Arrival, Probe, RecentProbes, Waiting};
use super::{Decision, RuleStatus, decide, required_context};
use crate::alerting::FIND_SEVERITY;
use crate::collections::intern::{Interner, SymbolTables};
use crate::collections::lru::LruMap;
use crate::judge::probe_answers::CommonAnswer;
use crate::judge::prober::ProbeResponses;
use crate::judge::report_input::ReportFilter;
use crate::judge::site::{DetectedApps, RuleHashes, SiteHistory, SiteName};
use crate::log::client::Client;
use crate::log::finding::{AppEvidence, Homes, RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::rules::{Rule, RuleSet, WithClient};
use crate::soft_404::{
    Answer, Grade, GradeCandidate, Grader, Hours, MethodClass, Reason, Response, SentResponse,
    SiteEvidence,
};
use crate::tally::RequestsSoFar;

/// The most sites. A client may invent any number of host names; later sites share one entry
/// without evidence.
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

/// What the analysis needs of a hit, with the numbers of its site, its client and its path.
#[derive(Debug, Clone)]
pub(crate) struct LiveHitContext<'a> {
    /// The client.
    pub client: Client<'a>,
    /// The normalized path.
    path: &'a [u8],
    /// The site.
    pub site: SiteName<'a>,
    /// The response of the site.
    response: Response,
    /// The time of the request.
    time: Option<LogTime>,
    site_id: Option<SiteId>,
    /// The hash of the client.
    key: u64,
    probe: Probe,
}

/// A line that matched, and its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveLine<'a> {
    /// The generation of the log.
    pub generation: u64,
    /// The log's path.
    pub source: Cow<'a, [u8]>,
    /// The common part of the names of the log and its rotated siblings.
    pub family: Cow<'a, [u8]>,
    /// Bytes from the start of the log's text.
    pub offset: u64,
    /// The line's number, from 1.
    pub line: u64,
    /// The line.
    pub text: Cow<'a, [u8]>,
    /// Whether a log format matches it.
    pub parsed: bool,
    /// All rules it matched, sorted.
    pub rules: Cow<'a, [RuleId]>,
    /// An earlier run read it: the text is the request as alerts print it.
    pub is_saved: bool,
}

impl LiveLine<'_> {
    /// Copies the line, to hold it back or to grade it again.
    pub(crate) fn to_held(&self) -> LiveLine<'static> {
        LiveLine {
            source: self.source.to_vec().into(),
            family: self.family.to_vec().into(),
            text: self.text.to_vec().into(),
            rules: self.rules.to_vec().into(),
            ..*self
        }
    }

    /// What identifies it.
    pub(super) fn id(&self) -> (u64, u64) {
        (self.generation, self.offset)
    }
}

/// The analysis of what was seen so far.
#[derive(Debug)]
pub(crate) struct LiveAnalysis<'r> {
    rules: &'r RuleSet,
    filter: ReportFilter<'r>,
    sites: Interner<Box<[u8]>>,
    app_evidence: AppEvidence<SiteId>,
    apps: DetectedApps<SiteId>,
    /// By the hash of a client, whose text may be long.
    conditions: Vec<(&'r WithClient, LruMap<u64, DistinctPaths>)>,
    /// The answers of all sites.
    pub answers: LiveAnswers,
    pending: LruMap<u64, Vec<LiveLine<'static>>>,
    state: RandomState,
}

/// The most answers of a client that are stored for each condition: what a site answers to names
/// that it does not have shows in a few.
const MAX_ANSWERS: usize = 16;

/// What a client requested and got.
#[derive(Debug, Default)]
struct DistinctPaths {
    /// Hashes of the first distinct paths, as many as the condition needs.
    paths: Vec<u64>,
    responses: ProbeResponses,
    so_far: RequestsSoFar,
    /// The latest answers for distinct paths, if the condition compares them: the site, the status
    /// and the size, and the path.
    answers: VecDeque<(Option<SiteId>, (u16, u64), u64)>,
}

impl DistinctPaths {
    /// Adds an answer; returns whether it is the one that makes them enough.
    fn add_answer(
        &mut self,
        site: Option<SiteId>,
        answer: (u16, u64),
        path: u64,
        enough: usize,
    ) -> bool {
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
        let is_same =
            |&&(other, (other_status, other_size), _): &&(Option<SiteId>, (u16, u64), u64)| {
                other == site && other_status == status && sizes.contains(&other_size)
            };
        self.answers
            .iter()
            .filter(is_same)
            .map(|(.., path)| path)
            .collect::<HashSet<_>>()
            .len()
    }

    /// Whether its requests meet a condition.
    fn is_prober(&self, condition: &WithClient) -> bool {
        let RequestsSoFar {
            requests,
            unmatched,
        } = self.so_far;
        let requests = self.responses.of_requests(requests, unmatched);
        self.paths.len() >= condition.distinct_paths as usize && requests.are_of_prober()
    }

    /// Whether such a response is one to a name that the site does not have.
    fn is_of_unknown_name(
        &self,
        condition: &WithClient,
        site: Option<SiteId>,
        answer: CommonAnswer,
    ) -> bool {
        answer.agrees(|status, size| {
            self.same_answers(site, (status, size)) >= condition.distinct_paths as usize
        })
    }

    /// Whether the client meets a condition with a request that got this response.
    fn meets(&self, condition: &WithClient, site: Option<SiteId>, response: &Response) -> bool {
        let is_unknown = || self.is_of_unknown_name(condition, site, CommonAnswer::new(response));
        self.is_prober(condition) && (!condition.same_answer || is_unknown())
    }
}

impl<'r> LiveAnalysis<'r> {
    /// An analysis that has seen no line, with the site history and the answers of earlier runs.
    #[must_use]
    pub(crate) fn new(
        rules: &'r RuleSet,
        filter: ReportFilter<'r>,
        history: SiteHistory,
        saved: SavedAnswers,
    ) -> Self {
        let mut conditions: Vec<&WithClient> = rules
            .rules()
            .iter()
            .filter_map(|rule| rule.with_client.as_ref())
            .collect();
        conditions.sort_unstable();
        conditions.dedup();
        let (mut sites, mut answers) = (Interner::default(), LiveAnswers::new(rules, history));
        let (earlier, withdrawn) = saved.into_parts();
        answers.withdrawn.extend(withdrawn);
        for answer in earlier {
            if let Some(site) = site_id(&mut sites, answer.site()) {
                answers.restore(site, &answer, rules);
            }
        }
        Self {
            rules,
            filter,
            sites,
            app_evidence: AppEvidence::default(),
            apps: DetectedApps::from_evidence(std::iter::empty(), filter.apps),
            conditions: conditions
                .into_iter()
                .map(|condition| (condition, LruMap::new(MAX_CLIENTS)))
                .collect(),
            answers,
            pending: LruMap::new(MAX_PENDING_CLIENTS),
            state: RandomState::default(),
        }
    }

    /// Records sizes of home pages from a run of lines.
    pub(crate) fn record_home_pages(&mut self, homes: &Homes, names: &SymbolTables, family: &[u8]) {
        for (host, bytes) in homes.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            let name = SiteName::new(host, family);
            if let Some(site) = site_id(&mut self.sites, name) {
                self.answers.record_home(site, name, bytes);
            }
        }
    }

    /// Stores a hit whose grade may change.
    pub(crate) fn track_answer(
        &mut self,
        context: &LiveHitContext<'_>,
        grade: Grade,
        line: &LiveLine<'_>,
    ) {
        let may_alert = answered_severity(self.rules, &line.rules) >= FIND_SEVERITY;
        self.answers.track(context, grade, may_alert, line);
    }

    /// Records evidence of apps from a run of lines.
    pub(crate) fn record_app_evidence(
        &mut self,
        app_evidence: &AppEvidence,
        names: &SymbolTables,
        family: &[u8],
    ) {
        if app_evidence.is_empty() {
            return;
        }
        let (sites, state) = (&mut self.sites, &self.state);
        let client = |number: u32| state.hash_one(names.clients.resolve(number)) as u32;
        let mut gathered = AppEvidence::default();
        gathered.merge(app_evidence, |host| host, client);
        for (app, host, few) in gathered.iter() {
            let host = (host != SymbolTables::NO_HOST).then(|| &**names.hosts.resolve(host));
            if let Some(site) = site_id(sites, SiteName::new(host, family)) {
                self.app_evidence.gather(app, site, few);
            }
        }
        self.apps = DetectedApps::from_evidence(self.app_evidence.iter(), self.filter.apps);
    }

    /// The context of a hit: its client, the normalized path, its site, the response and the time.
    pub(crate) fn context<'a>(
        &mut self,
        client: Client<'a>,
        path: &'a [u8],
        site: SiteName<'a>,
        response: Response,
        time: Option<LogTime>,
    ) -> LiveHitContext<'a> {
        LiveHitContext {
            client,
            path,
            site,
            response,
            time,
            site_id: site_id(&mut self.sites, site),
            key: self.state.hash_one(client),
            probe: Probe::new(path),
        }
    }

    /// Records a hit: its rules, and whether it is a probe. Returns the held requests of its
    /// client, if this hit proves that it is a prober.
    pub(crate) fn observe(
        &mut self,
        (matched, is_probe): (&[RuleId], bool),
        context: &LiveHitContext<'_>,
        so_far: RequestsSoFar,
    ) -> Vec<LiveLine<'static>> {
        let answer = CommonAnswer::new(&context.response);
        if let Some(site) = context.site_id.filter(|_| is_probe) {
            let client = Some(context.client.stable_hash() as u16);
            let hours = context.time.map(|time| Hours::new(time.utc, time.utc));
            let sent = SentResponse {
                response: context.response,
                client,
                hours,
            };
            self.answers
                .record(site, context.site, context.probe, matched, &sent);
        }
        if context.client.is_unknown() {
            return Vec::new();
        }
        let path = self.state.hash_one(context.path);
        let is_answered = Outcome::from_status(context.response.status) == Outcome::Answered;
        let mut is_proven = false;
        for at in 0..self.conditions.len() {
            let (condition, _) = self.conditions[at];
            let counts = |rule: &Rule| {
                rule.is_certain()
                    && (condition.classes.is_empty() || condition.classes.contains(&rule.class))
            };
            let strong = |rule: &RuleId| {
                counts(self.rules.rule(*rule))
                    && self.suppressing_app(*rule, context.site_id).is_none()
            };
            let is_strong = matched.iter().any(strong);
            let enough = condition.distinct_paths as usize;
            let distinct = self.conditions[at]
                .1
                .get_or_insert_with(context.key, DistinctPaths::default);
            let was_prober = distinct.is_prober(condition);
            distinct.so_far = so_far;
            if is_strong && distinct.paths.len() < enough && !distinct.paths.contains(&path) {
                distinct.paths.push(path);
            }
            if let (true, true, CommonAnswer::Given(status, size)) =
                (is_strong, condition.same_answer, answer)
            {
                is_proven |= distinct.add_answer(context.site_id, (status, size), path, enough);
            }
            distinct.responses.add(
                (is_strong, is_answered),
                (context.response.status, context.response.bytes),
                1,
            );
            is_proven |= !was_prober && distinct.is_prober(condition);
        }
        if is_proven {
            self.pending.remove(&context.key).unwrap_or_default()
        } else {
            Vec::new()
        }
    }

    /// The decision for a hit at this time. The reported rules go to `kept`.
    pub(crate) fn decide(
        &self,
        matched: &[RuleId],
        context: &LiveHitContext<'_>,
        kept: &mut Vec<RuleId>,
    ) -> Decision {
        let rule_status = |rule| self.rule_status(rule, context);
        let status = context.response.status;
        let grade = || {
            context.site_id.map_or(Grade::DISTINCT, |site| {
                self.answers
                    .grade(site, &context.probe, matched, &context.response)
            })
        };
        let decision = decide(
            self.rules,
            self.filter.min_severity,
            matched,
            status,
            rule_status,
            grade,
            kept,
        );
        decision.filter_outcome(self.filter.outcomes, Outcome::from_status(status))
    }

    /// Whether a request that is no finding becomes one if its client proves to be a prober.
    #[must_use]
    pub(crate) fn may_be_promoted(&self, matched: &[RuleId]) -> bool {
        matched
            .iter()
            .any(|&rule| self.rules.rule(rule).with_client.is_some())
    }

    /// Holds a request that is no finding yet. If there is no space, the oldest is dropped.
    pub(crate) fn hold(&mut self, client: Client<'_>, hit: LiveLine<'static>) {
        if hit.text.len() > MAX_PENDING_BYTES || client.is_unknown() {
            return;
        }
        let lines = self
            .pending
            .get_or_insert_with(self.state.hash_one(client), Vec::new);
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

    fn rule_status(&self, rule: RuleId, context: &LiveHitContext<'_>) -> RuleStatus {
        let is_met = |condition: &WithClient| {
            let known = self
                .conditions
                .iter()
                .find(|(known, _)| *known == condition);
            known
                .and_then(|(_, clients)| clients.peek(&context.key))
                .is_some_and(|distinct| {
                    distinct.meets(condition, context.site_id, &context.response)
                })
        };
        if self
            .rules
            .rule(rule)
            .with_client
            .as_ref()
            .is_some_and(|condition| !is_met(condition))
        {
            return RuleStatus::Dropped;
        }
        if self.rules.rule(rule).counts_requests() {
            return RuleStatus::Dropped;
        }
        self.suppressing_app(rule, context.site_id)
            .map_or(RuleStatus::Active, RuleStatus::Suppressed)
    }

    /// The app that suppresses a rule on a site.
    fn suppressing_app(&self, rule: RuleId, site: Option<SiteId>) -> Option<RuleId> {
        let run = |app: &RuleId| {
            site.map_or(self.filter.apps.contains(app), |site| {
                self.apps.runs(*app, site)
            })
        };
        self.rules
            .suppressed_by_apps(rule)
            .iter()
            .copied()
            .find(run)
    }
}

fn answered_severity(rules: &RuleSet, matched: &[RuleId]) -> Severity {
    matched
        .iter()
        .map(|&rule| rules.rule(rule).effective_severity(true))
        .max()
        .unwrap_or(Severity::Info)
}

/// The number of a site; `None` if there are too many.
fn site_id(sites: &mut Interner<Box<[u8]>>, site: SiteName<'_>) -> Option<SiteId> {
    // Neither a path nor a host begins with NUL, so the keys cannot collide.
    let kind = if site.is_host { &b""[..] } else { b"\0" };
    let key = [kind, site.name].concat();
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
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct TrackedAnswer {
    pub(super) probe: Probe,
    pub(super) response: Response,
    pub(super) grade: Grade,
    pub(super) arrival: Arrival,
    /// It is a find.
    pub(super) is_settled: bool,
    /// It is one because it stood out.
    pub(super) stood_out: bool,
    /// The site refused a path beside it, or it stands out against later answers too.
    pub(super) is_supported: bool,
    /// As severe as a find that raises an alert, by default.
    pub(super) may_alert: bool,
    pub(super) line: LiveLine<'static>,
}

impl TrackedAnswer {
    fn is_waiting(&self) -> bool {
        self.grade.answer == Answer::Distinct && !self.is_settled
    }

    /// Whether it raised an alert that may be false.
    fn is_unproven(&self) -> bool {
        let may_be_false = match self.grade.answer {
            Answer::Distinct => !self.is_supported,
            Answer::Uncertain => true,
            Answer::Soft404 => false,
        };
        self.is_settled && self.may_alert && may_be_false
    }
}

/// What changed for a hit after it was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerEvent {
    /// Its answer has another grade.
    Regraded,
    /// Its answer is distinct, and that is settled: it is a find.
    Settled,
    /// It was a find, and its answer proved to be a soft 404.
    Withdrawn,
}

/// A change of a hit.
#[derive(Debug)]
pub(crate) struct AnswerChange {
    /// The line.
    pub line: LiveLine<'static>,
    /// What changed.
    pub event: AnswerEvent,
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
    recent: RecentProbes,
    /// The position of the latest probe that support was updated by.
    supported_to: u64,
    /// The time of its last change, counted in changes of all sites.
    last_changed: u64,
}

/// The responses of all sites.
#[derive(Debug)]
pub(crate) struct LiveAnswers {
    sites: HashMap<SiteId, SiteAnswers>,
    grader: Grader,
    history: SiteHistory,
    /// Hashes of the sites on which an earlier run withdrew a find.
    withdrawn: HashSet<u64>,
    rules: RuleHashes,
    /// The number of changes.
    change_count: u64,
    /// The time since the start of the run.
    pub clock: Duration,
    /// The latest times of the logs, by the common part of the names of rotated siblings.
    log_times: HashMap<Box<[u8]>, i64>,
    /// Finds that are tracked no more, or were never.
    untracked_finds: Vec<LiveLine<'static>>,
    /// Paths of all sites.
    paths: usize,
    /// Answers of all sites that are kept for another grade.
    graded: usize,
    /// The grader has evidence that the grades do not use yet.
    has_ungraded: bool,
    /// The changes of hosts that the grades use.
    compared_changes: usize,
}

impl SiteAnswers {
    fn site_name(&self) -> SiteName<'_> {
        let (is_host, ref name) = self.name;
        SiteName { is_host, name }
    }

    /// Paths in the evidence.
    fn len(&self) -> usize {
        self.evidence.answered_len() + self.evidence.refused_len()
    }

    fn is_ungraded(&self) -> bool {
        self.changes_in_grader > self.changes_in_grades && !self.tracked.is_empty()
    }

    /// Grades the kept answers again.
    fn regrade(&mut self, grader: &Grader, changes: &mut Vec<AnswerChange>) {
        self.changes_in_grades = self.changes_in_grader;
        let mut withdrawn = Vec::new();
        for tracked in &mut self.tracked {
            let candidate = GradeCandidate {
                path: tracked.probe.path,
                shape: tracked.probe.shape,
                rules: &tracked.line.rules,
            };
            let before = tracked.grade.answer;
            tracked.grade = grader.grade(
                self.grader_index,
                &candidate,
                self.evidence.path(tracked.probe.path),
                &tracked.response,
            );
            if tracked.grade.answer == before {
                continue;
            }
            changes.push(AnswerChange {
                line: tracked.line.clone(),
                event: AnswerEvent::Regraded,
            });
            // An uncertain one may still be a find.
            if tracked.grade.answer == Answer::Soft404 && std::mem::take(&mut tracked.is_settled) {
                withdrawn.push(tracked.probe);
                self.recent.record_withdrawal(tracked.stood_out);
                changes.push(AnswerChange {
                    line: tracked.line.clone(),
                    event: AnswerEvent::Withdrawn,
                });
            }
        }
        // Another answer to the same path, or of the same leak, may be a find of its own.
        let is_near = |probe: &Probe| withdrawn.iter().any(|other| other.is_of_one_leak(probe));
        for tracked in self
            .tracked
            .iter_mut()
            .filter(|tracked| is_near(&tracked.probe))
        {
            tracked.is_settled = false;
        }
    }

    /// Takes new refusals into account.
    fn update_support(&mut self) {
        if std::mem::replace(&mut self.supported_to, self.recent.position())
            < self.recent.position()
        {
            for tracked in self
                .tracked
                .iter_mut()
                .filter(|tracked| !tracked.is_supported)
            {
                let is_outlier = matches!(tracked.grade.reason, Reason::StandsOut(..))
                    && self.recent.is_proven_by_later(&tracked.arrival);
                tracked.is_supported = is_outlier || self.recent.support(&tracked.probe);
            }
        }
    }

    /// Whether an answer is to be settled; `logged` and `clock` are the times now.
    fn is_due(&self, tracked: &TrackedAnswer, logged: Option<i64>, clock: Duration) -> bool {
        let TrackedAnswer {
            ref probe,
            ref arrival,
            grade,
            is_supported,
            ..
        } = *tracked;
        let unproven = || {
            self.tracked
                .iter()
                .filter(|other| other.is_unproven() && other.probe.path != probe.path)
        };
        let waiting = Waiting {
            probe,
            arrival,
            stands_out: matches!(grade.reason, Reason::StandsOut(..)),
            is_supported,
            is_second: unproven().next().is_some(),
            is_other_doubtful: unproven().any(|other| other.grade.answer == Answer::Uncertain),
        };
        self.recent.is_due(&waiting, logged, clock)
    }
}

impl LiveAnswers {
    pub(crate) fn new(rules: &RuleSet, history: SiteHistory) -> Self {
        Self {
            sites: HashMap::default(),
            grader: Grader::empty(rules.subjects()),
            history,
            withdrawn: HashSet::default(),
            rules: super::rule_hashes(rules),
            change_count: 0,
            clock: Duration::ZERO,
            log_times: HashMap::default(),
            untracked_finds: Vec::new(),
            paths: 0,
            graded: 0,
            has_ungraded: false,
            compared_changes: 0,
        }
    }

    /// Records a response to a probe.
    fn record(
        &mut self,
        site: SiteId,
        name: SiteName<'_>,
        probe: Probe,
        rules: &[RuleId],
        sent: &SentResponse,
    ) {
        let Probe { path, shape, .. } = probe;
        self.change(site, name, |evidence| {
            let before = evidence.shared(path);
            evidence.record(path, || shape, rules, sent);
            evidence.trim();
            evidence.shared(path) != before
        });
        let response = &sent.response;
        let is_answered = Outcome::from_status(response.status) == Outcome::Answered
            && response.method != MethodClass::Other;
        if let Some(site_answers) = self
            .sites
            .get_mut(&site)
            .filter(|_| is_answered || response.is_refusal())
        {
            site_answers.recent.record(probe, is_answered);
        }
    }

    /// Records the latest time of a run of lines.
    pub(crate) fn record_time(&mut self, family: &[u8], time: LogTime) {
        if let Some(known) = self.log_times.get_mut(family) {
            *known = time.utc;
        } else if self.log_times.len() < MAX_SITES {
            self.log_times.insert(family.into(), time.utc);
        }
    }

    /// Records a size of the home page.
    pub(crate) fn record_home(&mut self, site: SiteId, name: SiteName<'_>, bytes: u64) {
        self.change(site, name, |evidence| {
            let is_new = !evidence.home.contains(bytes);
            evidence.home.insert(bytes);
            is_new && evidence.home.contains(bytes)
        });
    }

    fn change(
        &mut self,
        site: SiteId,
        name: SiteName<'_>,
        change: impl FnOnce(&mut SiteEvidence) -> bool,
    ) {
        self.change_count += 1;
        if !self.sites.contains_key(&site) {
            self.add(site, name);
        }
        let Some(site_answers) = self.sites.get_mut(&site) else {
            return;
        };
        site_answers.last_changed = self.change_count;
        let before = site_answers.len();
        if change(&mut site_answers.evidence) {
            site_answers.changes += 1;
            // The first changes matter most, and a small update is cheap.
            if site_answers.changes <= EAGER_CHANGES
                || site_answers.changes - site_answers.changes_in_grader
                    > site_answers.changes_in_grader / 8
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
        let mut recent = RecentProbes::default();
        if self.withdrawn.contains(&name.hash(b"")) {
            recent.record_withdrawal(false);
        }
        let mut site_answers = SiteAnswers {
            name: (name.is_host, name.name.into()),
            grader_index,
            evidence,
            changes: 0,
            changes_in_grader: 0,
            changes_in_grades: 0,
            tracked: VecDeque::new(),
            recent,
            supported_to: 0,
            last_changed: self.change_count,
        };
        Self::update_grader(&mut self.grader, &mut site_answers);
        self.paths += site_answers.len();
        self.sites.insert(site, site_answers);
    }

    /// Empties the sites that were idle longest until an eighth of the capacity is free. Their
    /// indices stay, and so does the site that changed last.
    fn evict_idle(&mut self, changed: SiteId) {
        let mut by_last_change: Vec<(u64, SiteId)> = self
            .sites
            .iter()
            .map(|(site, site_answers)| (site_answers.last_changed, *site))
            .collect();
        by_last_change.sort_unstable();
        for (_, site) in by_last_change {
            if self.paths <= MAX_PATHS - MAX_PATHS / 8 {
                break;
            }
            let Some(site_answers) = self
                .sites
                .get_mut(&site)
                .filter(|site_answers| site != changed && !site_answers.evidence.is_empty())
            else {
                continue;
            };
            self.paths -= site_answers.len();
            self.graded -= site_answers.tracked.len();
            site_answers.evidence = SiteEvidence::default();
            let waiting = site_answers
                .tracked
                .drain(..)
                .filter(TrackedAnswer::is_waiting);
            self.untracked_finds
                .extend(waiting.map(|tracked| tracked.line));
            Self::update_grader(&mut self.grader, site_answers);
        }
    }

    fn update_grader(grader: &mut Grader, site_answers: &mut SiteAnswers) {
        grader.set(
            site_answers.grader_index,
            site_answers.name.0,
            site_answers.evidence.clone(),
        );
        site_answers.changes_in_grader = site_answers.changes;
    }

    /// The grade of an answer, by the present evidence.
    fn grade(&self, site: SiteId, probe: &Probe, rules: &[RuleId], response: &Response) -> Grade {
        let Probe { path, shape, .. } = *probe;
        let Some(site_answers) = self.sites.get(&site) else {
            return Grade::DISTINCT;
        };
        self.grader.grade(
            site_answers.grader_index,
            &GradeCandidate { path, shape, rules },
            site_answers.evidence.path(path),
            response,
        )
    }

    /// Keeps an answer for another grade. A distinct answer that cannot be kept is a find at once.
    fn track(
        &mut self,
        context: &LiveHitContext<'_>,
        grade: Grade,
        may_alert: bool,
        line: &LiveLine<'_>,
    ) {
        let site = context
            .site_id
            .filter(|_| line.text.len() <= MAX_PENDING_BYTES);
        let Some(site_answers) = site.and_then(|site| self.sites.get_mut(&site)) else {
            return self
                .untracked_finds
                .extend((grade.answer == Answer::Distinct).then(|| line.to_held()));
        };
        if site_answers.tracked.len() >= MAX_TRACKED_OF_SITE || self.graded >= MAX_TRACKED {
            // A soft 404 rarely changes its grade, so it is dropped first, and what waits for an
            // alert last.
            let position = |is_dropped: fn(&TrackedAnswer) -> bool| {
                site_answers.tracked.iter().position(is_dropped)
            };
            let dropped = position(|tracked| tracked.grade.answer == Answer::Soft404)
                .or_else(|| position(|tracked| !tracked.is_waiting()));
            let Some(dropped) = site_answers.tracked.remove(dropped.unwrap_or(0)) else {
                return self
                    .untracked_finds
                    .extend((grade.answer == Answer::Distinct).then(|| line.to_held()));
            };
            self.untracked_finds
                .extend(dropped.is_waiting().then_some(dropped.line));
            self.graded -= 1;
        }
        let arrival = Arrival {
            logged: context.time.map(|time| time.utc),
            clock: self.clock,
            position: site_answers.recent.position(),
        };
        let (probe, line) = (context.probe, line.to_held());
        let is_supported = site_answers.recent.support(&probe);
        let tracked = TrackedAnswer {
            probe,
            response: context.response,
            grade,
            arrival,
            is_settled: false,
            stood_out: false,
            is_supported,
            may_alert,
            line,
        };
        site_answers.tracked.push_back(tracked);
        self.graded += 1;
        self.has_ungraded |= site_answers.is_ungraded();
    }

    /// Keeps an answer of an earlier run for another grade.
    fn restore(&mut self, site: SiteId, answer: &SavedAnswer, rules: &RuleSet) {
        let tracked = answer.restored(&self.rules, self.clock);
        if tracked.line.rules.is_empty() || self.graded >= MAX_TRACKED {
            return;
        }
        if !self.sites.contains_key(&site) {
            self.add(site, answer.site());
        }
        let Some(site_answers) = self.sites.get_mut(&site) else {
            return;
        };
        let may_alert = answered_severity(rules, &tracked.line.rules) >= FIND_SEVERITY;
        site_answers.tracked.push_back(TrackedAnswer {
            may_alert,
            ..tracked
        });
        self.graded += 1;
    }

    /// The answers for the next run: those that wait for an alert or may have raised one.
    /// `request_of` writes the request of a line.
    pub(crate) fn saved(
        &self,
        request_of: &mut impl FnMut(&LiveLine<'_>) -> Option<SavedRequest>,
    ) -> SavedAnswers {
        let answers = self.sites.values().flat_map(|site| {
            let of_interest = |tracked: &&TrackedAnswer| tracked.is_waiting() || tracked.is_settled;
            site.tracked
                .iter()
                .filter(of_interest)
                .map(|tracked| (site.site_name(), tracked))
        });
        let withdrawn = self
            .sites
            .values()
            .filter(|site| site.recent.has_withdrawn())
            .map(|site| site.site_name().hash(b""));
        let earlier = self.withdrawn.iter().copied();
        let withdrawn: HashSet<u64> = withdrawn.chain(earlier).collect();
        SavedAnswers::new(answers, withdrawn.into_iter(), &self.rules, request_of)
    }

    /// Updates the grader for every site with new evidence.
    fn update_grader_for_all(&mut self) {
        for site_answers in self
            .sites
            .values_mut()
            .filter(|site_answers| site_answers.changes_in_grader < site_answers.changes)
        {
            Self::update_grader(&mut self.grader, site_answers);
            self.has_ungraded |= site_answers.is_ungraded();
        }
        self.grader.compare_hosts();
    }

    /// Grades the kept answers again by all evidence, however little is new, as
    /// [`regrade`](Self::regrade).
    pub(crate) fn regrade_all(&mut self, settles_all: bool) -> Vec<AnswerChange> {
        self.update_grader_for_all();
        self.regrade(settles_all)
    }

    /// Grades the kept answers again if there is new evidence, and returns what changed: grades
    /// first, then new finds. If `settles_all`, every distinct answer is one.
    pub(crate) fn regrade(&mut self, settles_all: bool) -> Vec<AnswerChange> {
        let (clock, log_times) = (self.clock, &self.log_times);
        let is_due = |site: &SiteAnswers, tracked: &TrackedAnswer| {
            let logged = log_times.get(&*tracked.line.family).copied();
            tracked.is_waiting() && (settles_all || site.is_due(tracked, logged, clock))
        };
        // A find is graded by all evidence, however little is new.
        let mut is_any_due = false;
        for site_answers in self.sites.values_mut() {
            site_answers.update_support();
            if site_answers
                .tracked
                .iter()
                .any(|tracked| is_due(site_answers, tracked))
            {
                is_any_due = true;
                if site_answers.changes_in_grader < site_answers.changes {
                    Self::update_grader(&mut self.grader, site_answers);
                    self.has_ungraded = true;
                }
            }
        }
        if is_any_due {
            self.grader.compare_hosts();
        }
        let mut changes = Vec::new();
        let is_compared_anew =
            std::mem::replace(&mut self.compared_changes, self.grader.compared_changes())
                != self.compared_changes;
        if std::mem::take(&mut self.has_ungraded) || is_compared_anew {
            for site_answers in self.sites.values_mut() {
                if site_answers.changes_in_grader > site_answers.changes_in_grades
                    || (site_answers.name.0 && is_compared_anew)
                {
                    site_answers.regrade(&self.grader, &mut changes);
                }
            }
        }
        let mut finds = std::mem::take(&mut self.untracked_finds);
        for site_answers in self.sites.values_mut() {
            // One at a time, as each may make the next one wait.
            for at in 0..site_answers.tracked.len() {
                if is_due(site_answers, &site_answers.tracked[at]) {
                    let tracked = &mut site_answers.tracked[at];
                    (tracked.is_settled, tracked.stood_out) =
                        (true, matches!(tracked.grade.reason, Reason::StandsOut(..)));
                    finds.push(tracked.line.clone());
                }
            }
        }
        // In the order of the log, not of the sites.
        finds.sort_by_key(|line| (line.generation, line.offset));
        changes.extend(finds.into_iter().map(|line| AnswerChange {
            line,
            event: AnswerEvent::Settled,
        }));
        changes
    }

    /// The site history for the next run. `now` is in seconds since 1970.
    pub(crate) fn history(&mut self, now: i64) -> &SiteHistory {
        for site_answers in self
            .sites
            .values()
            .filter(|site_answers| !site_answers.evidence.is_empty())
        {
            self.history.record_answers(
                site_answers.site_name(),
                &site_answers.evidence,
                &self.rules,
                now,
            );
        }
        self.history.prune(now, MAX_AGE);
        &self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::finding::RuleId;
    use crate::log::log_entry::MethodClass;
    use crate::report::fixture::rules;

    /// Fails if a known site can grow without bound.
    #[test]
    fn growing_sites_evict_each_other() {
        let mut answers = LiveAnswers::new(rules(), SiteHistory::default());
        let response = Response {
            method: MethodClass::Get,
            status: Some(404),
            bytes: Some(612),
            extra: 0,
        };
        // Each site may hold 1,024 answered and 1,024 refused paths: in total more than the limit
        // of all sites.
        for path in 0..1_000 {
            for site in 0..80 {
                let name = format!("host{site}");
                let rule = [RuleId(0)];
                let probe = Probe::new(format!("/{path}").as_bytes());
                let sent = SentResponse {
                    response,
                    client: None,
                    hours: None,
                };
                answers.record(site, SiteName::host(name.as_bytes()), probe, &rule, &sent);
            }
        }
        let counted: usize = answers.sites.values().map(SiteAnswers::len).sum();
        assert_eq!(answers.paths, counted);
        assert!(counted <= MAX_PATHS, "{counted}");
        assert!(counted > MAX_PATHS / 2, "{counted}");
    }
}
