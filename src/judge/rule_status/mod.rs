//! The analysis of a whole log, and the decision for each hit: which of its rules apply, how severe
//! it is, and whether its answer is distinct.
//!
//! The analysis depends on merged tallies only, so it is the same for any split of a log and any
//! number of threads. The decision does not depend on a tally: a scan passes the status of each
//! rule from the whole log, `follow` from what it has seen so far, and both decide alike.

mod live;
mod saved;
mod settle;

pub(crate) use self::live::{AnswerChange, AnswerEvent, LiveAnalysis, LiveLine};
pub(crate) use self::saved::{
    ResponseNumbers, SavedAnswers, SavedRequest, response_from_numbers, response_numbers,
};

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use super::flood_index::FloodIndex;
use super::guesses::{GuessIndex, LoginClients};
use super::report_input::ReportInput;
use crate::collections::intern::{Interner, SymbolTables};
use crate::judge::probe_answers::{CommonAnswer, ProbeAnswers};
use crate::judge::prober::{ProberSet, client_requests};
use crate::judge::site::{DetectedApps, RuleHashes, SiteHistory, SiteName};
use crate::log::finding::{AppEvidence, RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::source::SourceInfo;
use crate::rules::{Rule, RuleSet, Window, WithClient};
use crate::soft_404::{
    Answer, Grade, GradeCandidate, Grader, PathEvidence, PathShape, Response, SiteEvidence,
    path_hash,
};
use crate::tally::{CellView, Site, Tally};

/// The analysis of a whole log.
#[derive(Debug)]
pub struct LogAnalysis<'a> {
    /// What was analysed.
    pub(crate) input: ReportInput<'a>,
    apps: DetectedApps<Site<'a>>,
    /// By rule: whether an app that suppresses it runs on any site.
    may_be_suppressed: Vec<bool>,
    /// By input: the first of its rotated siblings.
    families: Vec<u32>,
    /// The client conditions of rules, the clients that meet them, and what these got.
    probers: Vec<(&'a WithClient, ProberSet, ProbeAnswers<Site<'a>>)>,
    floods: FloodIndex<'a>,
    guesses: GuessIndex,
    answers: SiteGrades<'a>,
    lists: Interner<Box<[RuleId]>>,
    /// By cell, in the order of the tally.
    decisions: Vec<Decision>,
    /// By path cell of evicted pairs.
    path_decisions: Vec<Decision>,
    /// By cell of the overflow.
    overflow_decisions: Vec<OverflowDecision>,
}

/// The decision for an overflow cell. It has no site, so the apps, the answers to unknown paths and
/// the floods are unknown; it has a lower and an upper bound instead.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverflowDecision {
    /// The decision that holds on every site: only rules that need no more than the line apply, and
    /// an app that runs on any site suppresses its rules. An answer is at best uncertain, because
    /// there is nothing to compare it with.
    pub(crate) lower: Decision,
    /// The decision if no app suppresses a rule and every answer is distinct.
    pub(crate) upper: Decision,
}

/// The decision for the hits of a cell.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The list of rules to report, in [`LogAnalysis::list`].
    list: u32,
    pub(crate) severity: Severity,
    /// It is reported.
    pub(crate) reported: bool,
    /// A rule applies, reported or not.
    pub(crate) matched: bool,
    /// The answer is distinct.
    pub(crate) answered: bool,
    /// The grade of an answer that could expose something.
    pub(crate) grade: Option<Grade>,
    /// The app without which it would be reported.
    pub(crate) suppressed_by: Option<RuleId>,
}

/// What the analysis needs of a hit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HitContext<'a> {
    pub(crate) client: u32,
    pub(crate) site: Site<'a>,
    pub(crate) path: &'a [u8],
    pub(crate) response: Response,
}

/// The responses of the sites, and the grades that follow from them.
#[derive(Debug)]
struct SiteGrades<'a> {
    grader: Grader,
    sites: HashMap<Site<'a>, usize>,
}

impl<'a> LogAnalysis<'a> {
    /// Analyses all cells.
    #[must_use]
    pub fn new(report_input: &ReportInput<'a>) -> Self {
        Self::with_history(report_input, &SiteHistory::default())
    }

    /// Decides with the history of earlier runs, for logs that are too short to show how a site
    /// answers.
    #[must_use]
    pub fn with_history(report_input: &ReportInput<'a>, history: &SiteHistory) -> Self {
        let tally = report_input.tally;
        let families = families(report_input);
        let mut app_evidence: AppEvidence<Site<'a>> = AppEvidence::default();
        for (app, site, evidence) in tally.app_evidence() {
            app_evidence.gather(app, site_root(&families, site), evidence);
        }
        let mut analysis = Self {
            input: *report_input,
            apps: DetectedApps::from_evidence(app_evidence.iter(), report_input.filter.apps),
            may_be_suppressed: Vec::new(),
            families,
            probers: Vec::new(),
            floods: FloodIndex::default(),
            guesses: GuessIndex::default(),
            answers: SiteGrades::default(),
            lists: Interner::default(),
            decisions: Vec::new(),
            path_decisions: Vec::new(),
            overflow_decisions: Vec::new(),
        };
        analysis.add_known_apps(history);
        let is_somewhere = |rule| {
            report_input
                .rules
                .suppressed_by_apps(RuleId(rule))
                .iter()
                .any(|&app| analysis.apps.runs_anywhere(app))
        };
        analysis.may_be_suppressed = (0..)
            .zip(report_input.rules.rules())
            .map(|(rule, _)| is_somewhere(rule))
            .collect();
        analysis.probers = analysis.probers();
        let logins = LoginClients::new(report_input.rules, tally, |view| {
            analysis.is_attack(tally.rule_list(view.rules), view.site)
        });
        analysis.floods = FloodIndex::new(report_input.rules, tally, &logins);
        analysis.guesses = GuessIndex::new(report_input.rules, tally, &logins);
        analysis.answers = analysis.answers(history);
        analysis.decide_all();
        analysis
    }

    /// Records what this log shows of its sites, for later runs. `now` is in seconds since 1970.
    pub fn update_history(&self, history: &mut SiteHistory, now: i64) {
        for (app, site) in self.apps.all() {
            if let (Some(app), Some(site)) = (self.rule(app).app(), site) {
                history.record_app(history_name(&self.input, site), app, now);
            }
        }
        let rules = rule_hashes(self.input.rules);
        let evidence = self.input.tally.evidence();
        let name = |site| history_name(&self.input, self.site_root(site));
        let kept = SiteHistory::kept_sites(
            evidence
                .iter()
                .filter(|(_, known)| !known.is_empty())
                .map(|(site, _)| name(*site)),
        );
        for (site, evidence) in &evidence {
            if kept.contains(&name(*site).hash(b"")) {
                history.record_answers(name(*site), evidence, &rules, now);
            }
        }
    }

    fn rule(&self, rule: RuleId) -> &'a Rule {
        self.input.rules.rule(rule)
    }

    /// The hash of a site, by its lasting name.
    pub(crate) fn site_hash(&self, site: Site<'a>) -> u64 {
        history_name(&self.input, self.site_root(site)).hash(b"")
    }

    /// The sites with evidence, by the hash of their lasting names.
    pub(crate) fn sites_by_hash(&self) -> HashMap<u64, Site<'a>> {
        self.answers
            .sites
            .keys()
            .map(|&site| (self.site_hash(site), site))
            .collect()
    }

    /// The grade of a response to this path, as if it were in the log.
    pub(crate) fn grade_candidate(
        &self,
        site: Site<'a>,
        candidate: &GradeCandidate<'_>,
        response: &Response,
    ) -> Grade {
        self.answers.grade_candidate(site, candidate, response)
    }

    /// Adds the apps that earlier runs detected.
    fn add_known_apps(&mut self, history: &SiteHistory) {
        if history.is_empty() {
            return;
        }
        let evidence_rules: Vec<(RuleId, &str)> = (0..)
            .zip(self.input.rules.rules())
            .filter_map(|(number, rule)| Some((RuleId(number), rule.app()?)))
            .collect();
        let sites: HashSet<Site<'a>> = self
            .input
            .tally
            .cells()
            .map(|view| self.site_root(view.site))
            .collect();
        for site in sites {
            let site_name = history_name(&self.input, site);
            for (app, _) in evidence_rules
                .iter()
                .filter(|(_, name)| history.runs(site_name, name))
            {
                self.apps.add(*app, site);
            }
        }
    }

    /// The detected and declared apps, and their sites.
    pub(crate) fn apps(&self) -> Vec<(RuleId, Option<Site<'a>>)> {
        self.apps.all()
    }

    /// The site that represents this one and its rotated siblings, because the newest log may hold
    /// few lines.
    pub(crate) fn site_root<'s>(&self, site: Site<'s>) -> Site<'s> {
        site_root(&self.families, site)
    }

    /// Whether normal requests that were answered name this host; any other host may be invented by
    /// a client.
    pub(crate) fn is_known_host(&self, site: Site<'_>) -> bool {
        matches!(site, Site::Host(_)) && self.answers.has_home_page(self.site_root(site))
    }

    /// The cells of the tally, and the decision for each.
    pub fn cells(&self) -> impl Iterator<Item = (CellView<'a>, &Decision)> {
        self.input.tally.cells().zip(&self.decisions)
    }

    /// The cells of evicted pairs, by path, and the decision for each.
    pub(crate) fn path_cells(&self) -> impl Iterator<Item = (CellView<'a>, &Decision)> {
        self.input.tally.path_cells().zip(&self.path_decisions)
    }

    /// The cells with a path, also of evicted pairs, and the decision for each.
    pub(crate) fn cells_with_path(&self) -> impl Iterator<Item = (CellView<'a>, &Decision)> {
        self.cells()
            .filter(|(view, _)| view.path != SymbolTables::OTHER)
            .chain(self.path_cells())
    }

    /// The cells of the overflow, and the decision for each.
    pub(crate) fn overflow_cells(&self) -> impl Iterator<Item = (CellView<'a>, &OverflowDecision)> {
        self.input
            .tally
            .overflow_cells()
            .zip(&self.overflow_decisions)
    }

    /// The rules that a decision reports.
    #[must_use]
    pub fn list(&self, decision: &Decision) -> &[RuleId] {
        self.lists.resolve(decision.list)
    }

    /// The severity of one rule for a hit.
    pub(crate) fn severity_of(&self, rule: RuleId, site: Site<'_>, answered: bool) -> Severity {
        match self.suppressing_app(rule, site) {
            Some(_) => Severity::Info,
            None => self.rule(rule).effective_severity(answered),
        }
    }

    /// The decision for a hit on these rules, whatever outcomes were requested. The reported rules
    /// go to `kept`.
    pub(crate) fn decide(
        &self,
        matched: &[RuleId],
        context: &HitContext<'_>,
        kept: &mut Vec<RuleId>,
    ) -> Decision {
        let grade = || {
            self.answers.grade(
                self.site_root(context.site),
                context.path,
                matched,
                &context.response,
            )
        };
        decide(
            self.input.rules,
            self.input.filter.min_severity,
            matched,
            context.response.status,
            |rule| self.rule_status(rule, context),
            grade,
            kept,
        )
    }

    /// Limits a decision to the requested outcomes: with any other outcome a hit is neither
    /// reported nor suppressed.
    pub(crate) fn filter_outcome(&self, decision: Decision, outcome: Outcome) -> Decision {
        decision.filter_outcome(self.input.filter.outcomes, outcome)
    }

    /// What these rules require besides the line: `client`, `flood`, or `None`.
    pub(crate) fn required_context(&self, rules: &[RuleId]) -> Option<&'static str> {
        required_context(self.input.rules, rules)
    }

    /// Whether a hit is a finding by its line alone, and no ordinary request of an app that runs on
    /// its site.
    fn is_attack(&self, rules: &[RuleId], site: Site<'_>) -> bool {
        let counts = |rule: RuleId| {
            self.rule(rule).is_certain() && self.rule(rule).severity > Severity::Info
        };
        rules
            .iter()
            .any(|&rule| counts(rule) && self.suppressing_app(rule, site).is_none())
    }

    /// The clients that guess passwords.
    pub(crate) fn guesses(&self) -> &GuessIndex {
        &self.guesses
    }

    /// The floods in the log.
    pub(crate) fn floods(&self) -> &FloodIndex<'a> {
        &self.floods
    }

    fn rule_status(&self, rule: RuleId, context: &HitContext<'_>) -> RuleStatus {
        let is_met = |with: &WithClient| {
            let known = self.probers.iter().find(|(known, ..)| *known == with);
            known.is_some_and(|(_, probers, answers)| {
                probers.contains(context.client) && self.is_alike(with, answers, context)
            })
        };
        if self
            .rule(rule)
            .with_client
            .as_ref()
            .is_some_and(|with| !is_met(with))
        {
            return RuleStatus::Dropped;
        }
        let is_flood = |window: Window| {
            self.floods
                .has(rule, window.by, context.client, context.path)
        };
        let is_counted = self.rule(rule).counts_requests();
        if is_counted
            && !self.rule(rule).window.is_some_and(is_flood)
            && !self.guesses.has(rule, context.client)
        {
            return RuleStatus::Dropped;
        }
        self.suppressing_app(rule, context.site)
            .map_or(RuleStatus::Active, RuleStatus::Suppressed)
    }

    /// Whether the client got the same answer for paths that rules name, if the rule requires it.
    fn is_alike(
        &self,
        with: &WithClient,
        answers: &ProbeAnswers<Site<'a>>,
        context: &HitContext<'_>,
    ) -> bool {
        let is_common = |status, size| {
            answers.include(context.client, self.site_root(context.site), status, size)
        };
        !with.same_answer || CommonAnswer::new(&context.response).agrees(is_common)
    }

    /// The app that suppresses a rule on a site.
    fn suppressing_app(&self, rule: RuleId, site: Site<'_>) -> Option<RuleId> {
        let apps = if self.may_be_suppressed[usize::from(rule.0)] {
            self.input.rules.suppressed_by_apps(rule)
        } else {
            &[]
        };
        apps.iter()
            .copied()
            .find(|&app| self.apps.runs(app, self.site_root(site)))
    }

    /// The clients that meet the conditions of rules. Only rules that need no more than the line
    /// count, and only where no app suppresses them. An unknown client never qualifies.
    fn probers(&self) -> Vec<(&'a WithClient, ProberSet, ProbeAnswers<Site<'a>>)> {
        let mut conditions: Vec<&'a WithClient> = self
            .input
            .rules
            .rules()
            .iter()
            .filter_map(|rule| rule.with_client.as_ref())
            .collect();
        conditions.sort_unstable();
        conditions.dedup();
        let tally = self.input.tally;
        // Whether a cell is a hit by the lines of its requests, on rules of these classes.
        let strong = |view: &CellView<'a>, lists: &[bool], counts: &dyn Fn(&Rule) -> bool| {
            let rules = tally
                .rule_list(view.rules)
                .iter()
                .filter(|&&rule| counts(self.rule(rule)));
            lists[view.rules as usize]
                && rules
                    .into_iter()
                    .any(|&rule| self.suppressing_app(rule, view.site).is_none())
        };
        let requests = (!conditions.is_empty()).then(|| {
            let lists = lists_with(self.input.tally, |rule| self.rule(rule).is_certain());
            let is_answered =
                |view: &CellView<'_>| Outcome::from_status(view.status) == Outcome::Answered;
            let cells = tally.cells().map(|view| {
                (
                    strong(&view, &lists, &Rule::is_certain),
                    is_answered(&view),
                    view,
                )
            });
            client_requests(tally, cells)
        });
        let with = |with: &'a WithClient| {
            let counts = |rule: &Rule| {
                rule.is_certain() && (with.classes.is_empty() || with.classes.contains(&rule.class))
            };
            let lists = lists_with(self.input.tally, |rule| counts(self.rule(rule)));
            // The distinct paths of evicted cells are unknown.
            let cells = tally
                .cells()
                .filter(|view| !view.is_other() && !tally.client(view.client).is_unknown());
            let (mut requested, mut answers) = (Vec::new(), Vec::new());
            for view in cells.filter(|view| strong(view, &lists, &counts)) {
                requested.push((view.client, view.path));
                if let (true, CommonAnswer::Given(status, size)) =
                    (with.same_answer, CommonAnswer::new(&view.response()))
                {
                    answers.push((
                        (view.client, self.site_root(view.site), status),
                        size,
                        view.path,
                    ));
                }
            }
            let probers = ProberSet::from_requests(requested, with.distinct_paths);
            let probers = requests
                .iter()
                .fold(probers, |probers, of| probers.with_requests(of));
            (
                with,
                probers,
                ProbeAnswers::new(answers, with.distinct_paths),
            )
        };
        conditions.into_iter().map(with).collect()
    }

    /// The responses of each site, in this log and in earlier runs.
    fn answers(&self, history: &SiteHistory) -> SiteGrades<'a> {
        let is_answered = |view: CellView<'_>| view.answered;
        if !self.input.tally.cells().any(is_answered)
            && !self.input.tally.path_cells().any(is_answered)
        {
            return SiteGrades::default();
        }
        let mut evidence: HashMap<Site<'a>, SiteEvidence> = HashMap::default();
        for (site, of_site) in self.input.tally.evidence() {
            let merged = evidence.entry(self.site_root(site)).or_default();
            if merged.is_empty() {
                *merged = of_site;
            } else {
                merged.merge(&of_site);
            }
        }
        let rules = rule_hashes(self.input.rules);
        for (site, known) in &mut evidence {
            if let Some(remembered) = history.answers(history_name(&self.input, *site), &rules) {
                known.merge(&remembered);
            }
        }
        SiteGrades::new(evidence, self.input.rules)
    }

    fn decide_all(&mut self) {
        // Most lists of rules do not depend on the client or the site, so they are decided once per
        // status.
        let depends_on_context = |rule: RuleId| {
            !self.rule(rule).is_certain() || self.may_be_suppressed[usize::from(rule.0)]
        };
        let tally = self.input.tally;
        let depends_on_context = lists_with(tally, depends_on_context);
        let mut cached: Vec<Option<Decision>> = vec![None; depends_on_context.len()];
        let mut kept = Vec::new();
        let mut decide = |analysis: &mut Self, view: CellView<'a>| {
            let context = HitContext::new(&analysis.input, &view);
            let at = view.rules as usize;
            // The grade depends on the path.
            let is_cacheable = !depends_on_context[at] && !view.answered;
            let decision = cached[at].filter(|_| is_cacheable).unwrap_or_else(|| {
                let mut decision =
                    analysis.decide(tally.rule_list(view.rules), &context, &mut kept);
                decision.list = analysis.lists.intern(&*kept, Box::from);
                if is_cacheable {
                    cached[at] = Some(decision);
                }
                decision
            });
            analysis.filter_outcome(decision, Outcome::from_status(view.status))
        };
        self.decisions = tally.cells().map(|view| decide(self, view)).collect();
        self.path_decisions = tally.path_cells().map(|view| decide(self, view)).collect();
        self.overflow_decisions = tally
            .overflow_cells()
            .map(|view| self.decide_overflow(view, &mut kept))
            .collect();
    }

    fn decide_overflow(&mut self, view: CellView<'a>, kept: &mut Vec<RuleId>) -> OverflowDecision {
        let (matched, context) = (
            self.input.tally.rule_list(view.rules),
            HitContext::new(&self.input, &view),
        );
        let lower = |rule| self.rule_status_anywhere(rule);
        let lower = decide(
            self.input.rules,
            self.input.filter.min_severity,
            matched,
            view.status,
            lower,
            || Grade::OF_MANY_SITES,
            kept,
        );
        let list = self.lists.intern(kept.as_slice(), Box::from);
        let upper = |rule| self.rule_status(rule, &context);
        let upper = decide(
            self.input.rules,
            self.input.filter.min_severity,
            matched,
            view.status,
            upper,
            || Grade::DISTINCT,
            kept,
        );
        let within = |decision| self.filter_outcome(decision, Outcome::from_status(view.status));
        OverflowDecision {
            lower: Decision {
                list,
                ..within(lower)
            },
            upper: within(upper),
        }
    }

    /// The status of a rule on any site, without its flood.
    fn rule_status_anywhere(&self, rule: RuleId) -> RuleStatus {
        if !self.rule(rule).is_certain() {
            return RuleStatus::Dropped;
        }
        let mut apps = self.input.rules.suppressed_by_apps(rule).iter().copied();
        apps.find(|&app| self.apps.runs_anywhere(app))
            .map_or(RuleStatus::Active, RuleStatus::Suppressed)
    }
}

/// Rules as the site history identifies them.
pub(crate) fn rule_hashes(rules: &RuleSet) -> RuleHashes {
    RuleHashes::new(rules.rules().iter().map(|rule| rule.id.as_str()))
}

/// A site as the site history identifies it.
fn history_name<'m>(report_input: &ReportInput<'m>, site: Site<'m>) -> SiteName<'m> {
    match site {
        Site::Host(host) => SiteName::host(host),
        Site::Input(input) => SiteName::log(
            report_input
                .sources
                .get(input as usize)
                .map_or(b"", SourceInfo::family),
        ),
    }
}

fn site_root<'a>(families: &[u32], site: Site<'a>) -> Site<'a> {
    match site {
        Site::Input(input) => Site::Input(families.get(input as usize).copied().unwrap_or(input)),
        host @ Site::Host(_) => host,
    }
}

fn families(report_input: &ReportInput<'_>) -> Vec<u32> {
    let mut first = HashMap::default();
    (0..)
        .zip(report_input.sources)
        .map(|(number, source)| *first.entry(source.family_key()).or_insert(number))
        .collect()
}

/// Which lists of rules hold a rule that meets a condition, by number.
fn lists_with(tally: &Tally, holds: impl Fn(RuleId) -> bool) -> Vec<bool> {
    tally
        .rule_lists()
        .iter()
        .map(|list| list.iter().any(|&rule| holds(rule)))
        .collect()
}

impl<'a> HitContext<'a> {
    fn new(report_input: &ReportInput<'a>, view: &CellView<'a>) -> Self {
        let path = if view.path == SymbolTables::OTHER {
            b""
        } else {
            report_input.tally.path(view.path)
        };
        Self {
            client: view.client,
            site: view.site,
            path,
            response: view.response(),
        }
    }
}

impl Default for SiteGrades<'_> {
    fn default() -> Self {
        Self {
            grader: Grader::new(Vec::new(), Arc::new([])),
            sites: HashMap::default(),
        }
    }
}

impl<'a> SiteGrades<'a> {
    fn new(evidence: HashMap<Site<'a>, SiteEvidence>, rules: &RuleSet) -> Self {
        let mut all: Vec<(Site<'a>, SiteEvidence)> = evidence.into_iter().collect();
        // Sites share a server and are sampled in this order.
        all.sort_unstable_by_key(|(site, _)| *site);
        let sites = all
            .iter()
            .zip(0..)
            .map(|((site, _), number)| (*site, number))
            .collect();
        let evidence = all
            .into_iter()
            .map(|(site, evidence)| (matches!(site, Site::Host(_)), evidence))
            .collect();
        Self {
            grader: Grader::new(evidence, rules.subjects()),
            sites,
        }
    }

    /// Whether a site's home page was answered.
    fn has_home_page(&self, site: Site<'_>) -> bool {
        self.sites
            .get(&site)
            .is_some_and(|&site| self.grader.has_home_page(site))
    }

    /// The grade of an answer that could expose something.
    fn grade(&self, site: Site<'_>, path: &[u8], rules: &[RuleId], response: &Response) -> Grade {
        self.grade_candidate(
            site,
            &GradeCandidate {
                path: path_hash(path),
                shape: PathShape::new(path),
                rules,
            },
            response,
        )
    }

    fn grade_candidate(
        &self,
        site: Site<'_>,
        candidate: &GradeCandidate<'_>,
        response: &Response,
    ) -> Grade {
        let Some(&site) = self.sites.get(&site) else {
            return Grade::DISTINCT;
        };
        self.grader
            .grade(site, candidate, None::<&PathEvidence>, response)
    }
}

/// Whether a rule that a request matched applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleStatus {
    Active,
    /// The site runs this app, so the rule counts as `info`, whatever the response was.
    Suppressed(RuleId),
    /// The client does not meet its condition, or sent too few requests.
    Dropped,
}

/// The decision for a hit on the rules `matched`, whatever outcomes were requested. Rules from
/// severity `level` on are reported and go to `kept`.
pub(crate) fn decide(
    rules: &RuleSet,
    level: Severity,
    matched: &[RuleId],
    status: Option<u16>,
    rule_status: impl Fn(RuleId) -> RuleStatus,
    grade: impl FnOnce() -> Grade,
    kept: &mut Vec<RuleId>,
) -> Decision {
    let is_active = |rule: &&RuleId| rule_status(**rule) == RuleStatus::Active;
    let may_expose = Outcome::from_status(status) == Outcome::Answered
        && matched
            .iter()
            .filter(is_active)
            .any(|&rule| rules.rule(rule).exposes());
    let grade = may_expose.then(grade);
    let answered = grade.is_some_and(|grade| grade.answer == Answer::Distinct);
    let mut suppressed_by = None;
    let mut decision = Decision {
        list: 0,
        severity: Severity::Info,
        reported: false,
        matched: false,
        answered,
        grade,
        suppressed_by: None,
    };
    kept.clear();
    for &rule in matched {
        let usual = rules.rule(rule).effective_severity(answered);
        let severity = match rule_status(rule) {
            RuleStatus::Dropped => continue,
            RuleStatus::Active => usual,
            RuleStatus::Suppressed(app) => {
                suppressed_by = suppressed_by.or((usual >= level).then_some(app));
                Severity::Info
            }
        };
        decision.matched = true;
        if severity >= level {
            kept.push(rule);
            decision.severity = decision.severity.max(severity);
        }
    }
    decision.reported = !kept.is_empty();
    decision.suppressed_by = suppressed_by.filter(|_| kept.is_empty());
    decision
}

impl Decision {
    /// Limits the decision to the requested outcomes: with any other outcome a hit is neither
    /// reported nor suppressed.
    pub(crate) fn filter_outcome(self, outcomes: &[Outcome], outcome: Outcome) -> Self {
        if outcomes.is_empty() || outcomes.contains(&outcome) {
            return self;
        }
        Self {
            reported: false,
            suppressed_by: None,
            ..self
        }
    }
}

/// What these rules require besides the line: `client`, `flood`, or `None` if the line alone is a
/// finding.
pub(crate) fn required_context(rules: &RuleSet, list: &[RuleId]) -> Option<&'static str> {
    let is_of_client = |rule: &RuleId| rules.rule(*rule).with_client.is_some();
    match list.iter().any(|rule| rules.rule(*rule).is_certain()) {
        true => None,
        false if list.iter().any(is_of_client) => Some("client"),
        false => Some("flood"),
    }
}

#[cfg(test)]
mod tests {
    //! Rules that need many requests.

    use std::path::Path;

    use super::*;
    use crate::engine::{LineScanner, ScanOptions, WorkerState};
    use crate::judge::report_input::ReportFilter;
    use crate::log::source::SourceInfo;
    use crate::rules::AllowList;
    use crate::tally::{LinePosition, Tally};

    const RULES: &str = r#"
[[rule]]
id = "t/flood"
title = "Floods"
class = "panel"
severity = "critical"
paths = ["/a", "/b", "/c"]
window = { by = "client", count = 3, within = "60s" }

[[rule]]
id = "t/guess"
title = "Guesses"
class = "exposure"
severity = "high"
paths = ["/guess"]
with_client = { distinct_paths = 3 }

[[rule]]
id = "t/key"
title = "Key"
class = "backup"
severity = "low"
paths = ["/c"]
"#;

    #[test]
    fn enough_requests_within_a_window_are_findings() {
        // Three requests match the rule, and one does not.
        assert_eq!(
            reported(RULES),
            [
                ("/a", vec!["t/flood"]),
                ("/b", vec!["t/flood"]),
                ("/c", vec!["t/flood", "t/key"])
            ]
        );
        assert_eq!(
            reported(&RULES.replace("count = 3", "count = 4")),
            [("/c", vec!["t/key"])]
        );
    }

    /// The paths of reported hits and their rules.
    fn reported(text: &str) -> Vec<(&'static str, Vec<&'static str>)> {
        let rules = crate::rules::check(Path::new("t.toml"), text).unwrap();
        let options = ScanOptions {
            windows: true,
            ..ScanOptions::default()
        };
        let (mut worker_state, mut tally) = (WorkerState::default(), Tally::default());
        let line = |path| {
            format!(
                "192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" 404 9 \"-\" \"x\"\n"
            )
        };
        let log = ["/a", "/b", "/c", "/guess"].map(line).concat();
        tally.add_findings(
            &LineScanner::new(&rules, &options).scan(log.as_bytes(), &mut worker_state),
            LinePosition {
                input: 0,
                chunk: 0,
                offset: 0,
                line: 0,
            },
        );
        let (tally, sources, allow) = (
            tally.with_names(worker_state.names),
            [SourceInfo::new(b"a.log".to_vec(), 0, vec![(0, 0)])],
            AllowList::default(),
        );
        let report_input = ReportInput {
            rules: &rules,
            tally: &tally,
            sources: &sources,
            inputs: &[],
            without_time: 0,
            filter: ReportFilter::default(),
            allow: &allow,
        };
        let analysis = LogAnalysis::new(&report_input);
        assert_eq!(tally.cells().count(), 4, "all are kept");
        let mut rows = Vec::new();
        for (view, decision) in analysis.cells() {
            assert_eq!(decision.matched, decision.reported);
            let known = |text: &str| {
                ["/a", "/b", "/c", "/guess", "t/flood", "t/guess", "t/key"]
                    .into_iter()
                    .find(|known| *known == text)
                    .unwrap()
            };
            let list = analysis
                .list(decision)
                .iter()
                .map(|&rule| known(&rules.rule(rule).id))
                .collect();
            if decision.reported {
                rows.push((
                    known(std::str::from_utf8(tally.path(view.path)).unwrap()),
                    list,
                ));
            }
        }
        rows.sort();
        rows
    }
}
