//! What the whole log shows, and what each hit comes to in that light: which of its rules stand, how bad it is, and
//! whether its answer means something.
//!
//! Decides from merged tallies alone, so that any split of a log and any number of threads come to the same.

mod decide;
mod live;
mod live_answers;

use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use self::decide::Standing;
pub use self::live::{Late, LiveContext, LiveSeen, Met};
pub use self::live_answers::Regraded;
use super::build::Material;
use super::floods;
use crate::context::{Apps, Memory, Probers, RuleHashes, Site};
use crate::finding::{AppEvidence, RuleId, Severity};
use crate::intern::Interner;
use crate::intern::SymbolTables;
use crate::log_entry::Outcome;
use crate::rules::{Rule, RuleSet, Window, WithClient};
use crate::soft_404::{Grade, GradeCandidate, Grader, PathEvidence, PathShape, Response, SiteEvidence, path_hash};
use crate::source::SourceText;
use crate::tally::{CellView, Scope};

/// What the whole log shows.
#[derive(Debug)]
pub struct Context<'a> {
    rules: &'a RuleSet,
    level: Severity,
    outcomes: &'a [Outcome],
    apps: Apps<Scope<'a>>,
    /// By rule: whether an app that runs anywhere silences it.
    may_be_silent: Vec<bool>,
    /// By input: the first one that is a rotated sibling of it.
    families: Vec<u32>,
    /// The conditions on clients that rules have, and who meets them.
    probers: Vec<(&'a WithClient, Probers)>,
    floods: floods::Found<'a>,
    answers: Answers<'a>,
    lists: Interner<Box<[RuleId]>>,
    /// By cell, in the order of the tally.
    decisions: Vec<Decision>,
    /// The same for the cells of paths that let go of their clients.
    path_decisions: Vec<Decision>,
    /// The same for the cells of the overflow.
    overflow_decisions: Vec<OverflowDecision>,
}

/// What the hits of a cell without a site come to. Which apps the sites run, what they answer to anything, and how many of the
/// requests are a flood is not known, so that two decisions take the place of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct OverflowDecision {
    /// What they come to wherever they were: only what a line alone makes a finding counts, and an app that runs anywhere silences
    /// its rules. An answer is uncertain at best, as there is nothing to compare it with.
    pub(super) least: Decision,
    /// What they come to where no app silences anything and every answer is distinct.
    pub(super) most: Decision,
}

/// What the hits of a cell come to.
#[derive(Debug, Clone, Copy)]
pub struct Decision {
    /// The list of rules to report, in [`Context::list`].
    list: u32,
    pub(super) severity: Severity,
    /// It is reported.
    pub(super) reported: bool,
    /// A rule stands, reported or not.
    pub(super) matched: bool,
    /// The answer is distinct.
    pub(super) answered: bool,
    /// The grade of an answer that could expose something.
    pub(super) grade: Option<Grade>,
    /// But for this app it would be reported.
    pub(super) silenced: Option<RuleId>,
}

/// One hit as the context sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) client: u32,
    pub(super) site: Scope<'a>,
    pub(super) path: &'a [u8],
    pub(super) response: Response,
}

/// What the sites answered, and the grades that follow from it.
#[derive(Debug)]
struct Answers<'a> {
    grader: Grader,
    sites: HashMap<Scope<'a>, usize>,
}

impl<'a> Context<'a> {
    /// Decides the context from all cells.
    #[must_use]
    pub fn of(material: &Material<'a>) -> Self {
        Self::remembering(material, &Memory::default())
    }

    /// The same, with what earlier runs saw: for a report on lines that are too few to show what a site is like.
    #[must_use]
    pub fn remembering(material: &Material<'a>, memory: &Memory) -> Self {
        let tally = material.tally;
        let families = families(material);
        let mut signs: AppEvidence<Scope<'a>> = AppEvidence::default();
        for (app, site, few) in tally.signs() {
            signs.gather(app, home(&families, site), few);
        }
        let mut context = Self {
            rules: material.rules,
            level: material.min_severity,
            outcomes: material.outcomes,
            apps: Apps::weigh(signs.iter(), material.apps),
            may_be_silent: Vec::new(),
            families,
            probers: Vec::new(),
            floods: floods::Found::of(material.rules, tally),
            answers: Answers::default(),
            lists: Interner::default(),
            decisions: Vec::new(),
            path_decisions: Vec::new(),
            overflow_decisions: Vec::new(),
        };
        context.remember_apps(material, memory);
        let is_somewhere = |rule| material.rules.suppressed_by_apps(RuleId(rule)).iter().any(|&app| context.apps.run_somewhere(app));
        context.may_be_silent = (0..).zip(material.rules.rules()).map(|(rule, _)| is_somewhere(rule)).collect();
        context.probers = context.probers(material);
        context.answers = context.answers(material, memory);
        context.decide_all(material);
        context
    }

    /// Notes what these lines show of their sites, for runs to come. `now` is in seconds since 1970.
    pub fn teach(&self, material: &Material<'a>, memory: &mut Memory, now: i64) {
        for (app, site) in self.apps.all() {
            if let (Some(app), Some(site)) = (self.rules.rule(app).app(), site) {
                memory.note_app(lasting(material, site), app, now);
            }
        }
        let rules = rule_hashes(self.rules);
        for (site, evidence) in material.tally.evidence() {
            memory.record_answers(lasting(material, self.home(site)), &evidence, &rules, now);
        }
    }

    /// Takes in the apps that sites were seen to run before.
    fn remember_apps(&mut self, material: &Material<'a>, memory: &Memory) {
        if memory.is_empty() {
            return;
        }
        let signs: Vec<(RuleId, &str)> =
            (0..).zip(self.rules.rules()).filter_map(|(number, rule)| Some((RuleId(number), rule.app()?))).collect();
        let sites: HashSet<Scope<'a>> = material.tally.cells().map(|view| self.home(view.site)).collect();
        for site in sites {
            let known = lasting(material, site);
            for (app, _) in signs.iter().filter(|(_, name)| memory.runs(known, name)) {
                self.apps.add(*app, site);
            }
        }
    }

    /// The apps that were seen or said to run, and where.
    pub(super) fn apps(&self) -> Vec<(RuleId, Option<Scope<'a>>)> {
        self.apps.all()
    }

    /// The site whose apps count for another: the logs of a site are rotated, and the newest may hold few lines.
    pub(super) fn home<'s>(&self, site: Scope<'s>) -> Scope<'s> {
        home(&self.families, site)
    }

    /// Whether ordinary requests that were answered name this host: any other may be a client's invention.
    pub(super) fn is_known_host(&self, site: Scope<'_>) -> bool {
        matches!(site, Scope::Host(_)) && self.answers.has_home_page(self.home(site))
    }

    /// Decisions by cell, in the order of the tally.
    #[must_use]
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    /// Decisions by cell of [`path_cells`](crate::tally::Tally::path_cells), in that order.
    #[must_use]
    pub(super) fn path_decisions(&self) -> &[Decision] {
        &self.path_decisions
    }

    /// Decisions by cell of [`overflow_cells`](crate::tally::Tally::overflow_cells), in that order.
    #[must_use]
    pub(super) fn overflow_decisions(&self) -> &[OverflowDecision] {
        &self.overflow_decisions
    }

    /// The rules that a decision leaves.
    #[must_use]
    pub fn list(&self, decision: &Decision) -> &[RuleId] {
        self.lists.resolve(decision.list)
    }

    /// How bad one rule is for a hit.
    pub(super) fn severity_of(&self, rule: RuleId, site: Scope<'_>, answered: bool) -> Severity {
        match self.silenced(rule, site) {
            Some(_) => Severity::Info,
            None => self.rules.rule(rule).effective_severity(answered),
        }
    }

    /// What a hit by these rules comes to, whatever outcomes are asked for; the rules that are reported go to `kept`.
    pub(super) fn decide(&self, matched: &[RuleId], seen: &Seen<'_>, kept: &mut Vec<RuleId>) -> Decision {
        let grade = || self.answers.grade(self.home(seen.site), seen.path, matched, &seen.response);
        decide::decide(self.rules, self.level, matched, seen.response.status, |rule| self.standing(rule, seen), grade, kept)
    }

    /// A decision for a hit with this outcome: one that is not asked for is neither reported nor missed.
    pub(super) fn within_outcomes(&self, decision: Decision, outcome: Outcome) -> Decision {
        decision.within(self.outcomes, outcome)
    }

    /// What makes these rules a finding besides the line, where the line alone does not.
    pub(super) fn word_of(&self, rules: &[RuleId]) -> Option<&'static str> {
        decide::word_of(self.rules, rules)
    }

    /// The floods that there are.
    pub(super) fn floods(&self) -> &floods::Found<'a> {
        &self.floods
    }

    fn standing(&self, rule: RuleId, seen: &Seen<'_>) -> Standing {
        let upheld = |with: &WithClient| self.probers.iter().any(|(known, probers)| *known == with && probers.contains(seen.client));
        if self.rules.rule(rule).with_client.as_ref().is_some_and(|with| !upheld(with)) {
            return Standing::Falls;
        }
        let is_flood = |window: Window| self.floods.has(rule, window.by, seen.client, seen.path);
        if self.rules.rule(rule).window.is_some_and(|window| !is_flood(window)) {
            return Standing::Falls;
        }
        self.silenced(rule, seen.site).map_or(Standing::Stands, Standing::Silenced)
    }

    /// The app that silences a rule on a site.
    fn silenced(&self, rule: RuleId, site: Scope<'_>) -> Option<RuleId> {
        let apps = if self.may_be_silent[usize::from(rule.0)] { self.rules.suppressed_by_apps(rule) } else { &[] };
        apps.iter().copied().find(|&app| self.apps.run(app, self.home(site)))
    }

    /// Who meets the conditions that rules have on clients. Only what a line alone makes a finding counts, and only
    /// where no app silences it; an unknown client is none.
    fn probers(&self, material: &Material<'a>) -> Vec<(&'a WithClient, Probers)> {
        let mut conditions: Vec<&'a WithClient> = self.rules.rules().iter().filter_map(|rule| rule.with_client.as_ref()).collect();
        conditions.sort_unstable();
        conditions.dedup();
        let with = |with: &'a WithClient| {
            let counts = |rule: &Rule| rule.is_certain() && (with.classes.is_empty() || with.classes.contains(&rule.class));
            let lists = by_list(material, |rule| counts(self.rules.rule(rule)));
            // Of what was let go nobody knows how many paths it were.
            let cells = material.tally.cells().filter(|view| lists[view.rules as usize] && !view.is_rest());
            let cells = cells.filter(|view| !material.tally.client(view.client).is_unknown());
            let strong = |view: &CellView<'a>| {
                let rules = material.tally.rules(view.rules).iter();
                rules.filter(|&&rule| counts(self.rules.rule(rule))).any(|&rule| self.silenced(rule, view.site).is_none())
            };
            let asked = cells.filter(strong).map(|view| (view.client, view.path)).collect();
            (with, Probers::weigh(asked, with.distinct_paths))
        };
        conditions.into_iter().map(with).collect()
    }

    /// What each site answered, in these lines and in those of earlier runs.
    fn answers(&self, material: &Material<'a>, memory: &Memory) -> Answers<'a> {
        let is_answered = |view: CellView<'_>| view.answered;
        if !material.tally.cells().any(is_answered) && !material.tally.path_cells().any(is_answered) {
            return Answers::default();
        }
        let mut evidence: HashMap<Scope<'a>, SiteEvidence> = HashMap::default();
        for (site, of_site) in material.tally.evidence() {
            let known = evidence.entry(self.home(site)).or_default();
            if known.is_empty() { *known = of_site } else { known.merge(&of_site) }
        }
        let rules = rule_hashes(self.rules);
        for (site, known) in &mut evidence {
            if let Some(remembered) = memory.answers(lasting(material, *site), &rules) {
                known.merge(&remembered);
            }
        }
        Answers::of(evidence, self.rules)
    }

    fn decide_all(&mut self, material: &Material<'a>) {
        // The same for every client and site, as most lists are: decided once for each answer.
        let depends = |rule: RuleId| !self.rules.rule(rule).is_certain() || self.may_be_silent[usize::from(rule.0)];
        let depends = by_list(material, depends);
        let mut known: Vec<Option<Decision>> = vec![None; depends.len()];
        let mut kept = Vec::new();
        let mut decide = |context: &mut Self, view: CellView<'a>| {
            let seen = Seen::of(material, &view);
            let at = view.rules as usize;
            // A grade differs from path to path.
            let is_known = !depends[at] && !view.answered;
            let decision = known[at].filter(|_| is_known).unwrap_or_else(|| {
                let mut decision = context.decide(material.tally.rules(view.rules), &seen, &mut kept);
                decision.list = context.lists.intern(&*kept, Box::from);
                if is_known {
                    known[at] = Some(decision);
                }
                decision
            });
            context.within_outcomes(decision, Outcome::of(view.status))
        };
        self.decisions = material.tally.cells().map(|view| decide(self, view)).collect();
        self.path_decisions = material.tally.path_cells().map(|view| decide(self, view)).collect();
        self.overflow_decisions = material.tally.overflow_cells().map(|view| self.decide_overflow(material, view, &mut kept)).collect();
    }

    fn decide_overflow(&mut self, material: &Material<'a>, view: CellView<'a>, kept: &mut Vec<RuleId>) -> OverflowDecision {
        let (matched, seen) = (material.tally.rules(view.rules), Seen::of(material, &view));
        let least = |rule| self.standing_anywhere(rule);
        let least = decide::decide(self.rules, self.level, matched, view.status, least, || Grade::OF_MANY_SITES, kept);
        let list = self.lists.intern(kept.as_slice(), Box::from);
        let most = |rule| self.standing(rule, &seen);
        let most = decide::decide(self.rules, self.level, matched, view.status, most, || Grade::DISTINCT, kept);
        let within = |decision| self.within_outcomes(decision, Outcome::of(view.status));
        OverflowDecision { least: Decision { list, ..within(least) }, most: within(most) }
    }

    /// What becomes of a rule whatever the site, and however many of the requests are a flood there.
    fn standing_anywhere(&self, rule: RuleId) -> Standing {
        if !self.rules.rule(rule).is_certain() {
            return Standing::Falls;
        }
        let mut apps = self.rules.suppressed_by_apps(rule).iter().copied();
        apps.find(|&app| self.apps.run_somewhere(app)).map_or(Standing::Stands, Standing::Silenced)
    }
}

/// Rules as later runs know them too.
fn rule_hashes(rules: &RuleSet) -> RuleHashes {
    RuleHashes::new(rules.rules().iter().map(|rule| rule.id.as_str()))
}

/// A site as later runs know it too.
fn lasting<'m>(material: &Material<'m>, site: Scope<'m>) -> Site<'m> {
    match site {
        Scope::Host(host) => Site::Host(host),
        Scope::Input(input) => Site::Log(material.texts.get(input as usize).map_or(b"", SourceText::family)),
    }
}

fn home<'a>(families: &[u32], site: Scope<'a>) -> Scope<'a> {
    match site {
        Scope::Input(input) => Scope::Input(families.get(input as usize).copied().unwrap_or(input)),
        host @ Scope::Host(_) => host,
    }
}

fn families(material: &Material<'_>) -> Vec<u32> {
    let mut first = HashMap::default();
    (0..).zip(material.texts).map(|(number, text)| *first.entry(text.home()).or_insert(number)).collect()
}

/// Which lists of rules hold one that meets a condition, by number.
fn by_list(material: &Material<'_>, holds: impl Fn(RuleId) -> bool) -> Vec<bool> {
    material.tally.lists().iter().map(|list| list.iter().any(|&rule| holds(rule))).collect()
}

impl<'a> Seen<'a> {
    fn of(material: &Material<'a>, view: &CellView<'a>) -> Self {
        let path = if view.path == SymbolTables::OTHER { b"" } else { material.tally.path(view.path) };
        Self { client: view.client, site: view.site, path, response: view.response() }
    }
}

impl Default for Answers<'_> {
    fn default() -> Self {
        Self { grader: Grader::new(Vec::new(), Arc::new([])), sites: HashMap::default() }
    }
}

impl<'a> Answers<'a> {
    fn of(evidence: HashMap<Scope<'a>, SiteEvidence>, rules: &RuleSet) -> Self {
        let mut all: Vec<(Scope<'a>, SiteEvidence)> = evidence.into_iter().collect();
        // Sites share a server, and are sampled in this order.
        all.sort_unstable_by_key(|(site, _)| *site);
        let sites = all.iter().zip(0..).map(|((site, _), number)| (*site, number)).collect();
        let evidence = all.into_iter().map(|(site, evidence)| (matches!(site, Scope::Host(_)), evidence)).collect();
        Self { grader: Grader::new(evidence, rules.subjects()), sites }
    }

    /// Whether a site's home page was answered.
    fn has_home_page(&self, site: Scope<'_>) -> bool {
        self.sites.get(&site).is_some_and(|&site| self.grader.has_home_page(site))
    }

    /// The grade of an answer that could expose something.
    fn grade(&self, site: Scope<'_>, path: &[u8], rules: &[RuleId], response: &Response) -> Grade {
        let Some(&site) = self.sites.get(&site) else { return Grade::DISTINCT };
        let candidate = GradeCandidate { path: path_hash(path), shape: PathShape::of(path), rules };
        self.grader.grade(site, &candidate, None::<&PathEvidence>, response)
    }
}

#[cfg(test)]
mod tests;
