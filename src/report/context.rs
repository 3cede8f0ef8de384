//! What the whole log shows, and what each hit comes to in that light: which of its rules stand, how bad it is, and
//! whether its answer means something.
//!
//! Decides from merged tallies alone, so that any split of a log and any number of threads come to the same.

mod decide;
mod live;

use foldhash::{HashMap, HashSet};
use xxhash_rust::xxh3::xxh3_64;

use self::decide::Standing;
pub use self::live::{Late, LiveContext, LiveSeen, Met};
use super::build::Material;
use crate::context::{Apps, CatchAlls, Evidence, Memory, Probers, Site};
use crate::finding::{RuleId, Severity, Signs};
use crate::intern::Interner;
use crate::record::Outcome;
use crate::rules::{Rule, RuleSet, WithClient};
use crate::source::SourceText;
use crate::tally::{CellView, Scope};

/// Status and size of an answer, and who gave it.
pub(super) type AnswerKey<'a> = (Scope<'a>, u16, Option<u64>);

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
    catch_alls: CatchAlls<AnswerKey<'a>>,
    lists: Interner<Box<[RuleId]>>,
    /// By cell, in the order of the tally.
    decisions: Vec<Decision>,
    /// The same for the cells of paths that let go of their clients.
    path_decisions: Vec<Decision>,
}

/// What the hits of a cell come to.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own, and all answers occur")]
pub struct Decision {
    /// The list of rules to report, in [`Context::list`].
    list: u32,
    pub(super) severity: Severity,
    /// It is reported.
    pub(super) reported: bool,
    /// A rule stands, reported or not.
    pub(super) matched: bool,
    /// The answer means something.
    pub(super) answered: bool,
    pub(super) catch_all: bool,
    /// But for this app it would be reported.
    pub(super) silenced: Option<RuleId>,
}

/// One hit as the context sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) client: u32,
    pub(super) site: Scope<'a>,
    pub(super) status: Option<u16>,
    pub(super) bytes: Option<u64>,
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
        let mut signs: Signs<Scope<'a>> = Signs::default();
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
            catch_alls: CatchAlls::weigh(std::iter::empty::<Evidence<'_, _, u8>>()),
            lists: Interner::default(),
            decisions: Vec::new(),
            path_decisions: Vec::new(),
        };
        context.remember_apps(material, memory);
        let is_somewhere = |rule| material.rules.silenced_by(RuleId(rule)).iter().any(|&app| context.apps.run_somewhere(app));
        context.may_be_silent = (0..).zip(material.rules.rules()).map(|(rule, _)| is_somewhere(rule)).collect();
        context.probers = context.probers(material);
        context.catch_alls = context.catch_alls(material, memory);
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
        for ((site, status, bytes), path, classes) in self.answers(material) {
            memory.note_given(lasting(material, site), status, bytes, path, &classes, now);
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
    pub(super) fn home(&self, site: Scope<'a>) -> Scope<'a> {
        home(&self.families, site)
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

    /// The rules that a decision leaves.
    #[must_use]
    pub fn list(&self, decision: &Decision) -> &[RuleId] {
        self.lists.key(decision.list)
    }

    /// The number of unlike probe paths an answer was given to; 0 where it is no catch-all.
    pub(super) fn catch_all_paths(&self, answer: &AnswerKey<'_>) -> usize {
        self.catch_alls.paths(answer)
    }

    /// How bad one rule is for a hit.
    pub(super) fn severity_of(&self, rule: RuleId, site: Scope<'a>, answered: bool) -> Severity {
        match self.silenced(rule, site) {
            Some(_) => Severity::Info,
            None => self.rules.rule(rule).severity_when(answered),
        }
    }

    /// What a hit by these rules comes to, whatever outcomes are asked for; the rules that are reported go to `kept`.
    pub(super) fn decide(&self, matched: &[RuleId], seen: &Seen<'a>, kept: &mut Vec<RuleId>) -> Decision {
        let is_catch_all = || seen.status.is_some_and(|status| self.catch_alls.contains(&(seen.site, status, seen.bytes)));
        decide::decide(self.rules, self.level, matched, seen.status, |rule| self.standing(rule, seen), is_catch_all, kept)
    }

    /// A decision for a hit with this outcome: one that is not asked for is neither reported nor missed.
    pub(super) fn within_outcomes(&self, decision: Decision, outcome: Outcome) -> Decision {
        decision.within(self.outcomes, outcome)
    }

    /// Whether rules make a finding only because of who asks.
    pub(super) fn is_of_client(&self, rules: &[RuleId]) -> bool {
        decide::is_of_client(self.rules, rules)
    }

    fn standing(&self, rule: RuleId, seen: &Seen<'a>) -> Standing {
        let upheld = |with: &WithClient| self.probers.iter().any(|(known, probers)| *known == with && probers.contains(seen.client));
        if self.rules.rule(rule).with_client.as_ref().is_some_and(|with| !upheld(with)) {
            return Standing::Falls;
        }
        if self.rules.rule(rule).window.is_some() {
            return Standing::Falls;
        }
        self.silenced(rule, seen.site).map_or(Standing::Stands, Standing::Silenced)
    }

    /// The app that silences a rule on a site.
    fn silenced(&self, rule: RuleId, site: Scope<'a>) -> Option<RuleId> {
        let apps = if self.may_be_silent[usize::from(rule.0)] { self.rules.silenced_by(rule) } else { &[] };
        apps.iter().copied().find(|&app| self.apps.run(app, self.home(site)))
    }

    /// Who meets the conditions that rules have on clients. Only what a line alone makes a finding counts, and only
    /// where no app silences it.
    fn probers(&self, material: &Material<'a>) -> Vec<(&'a WithClient, Probers)> {
        let mut conditions: Vec<&'a WithClient> = self.rules.rules().iter().filter_map(|rule| rule.with_client.as_ref()).collect();
        conditions.sort_unstable();
        conditions.dedup();
        let with = |with: &'a WithClient| {
            let counts = |rule: &Rule| rule.is_certain() && (with.classes.is_empty() || with.classes.contains(&rule.class));
            let lists = by_list(material, |rule| counts(self.rules.rule(rule)));
            // Of what was let go nobody knows how many paths it were.
            let cells = material.tally.cells().filter(|view| lists[view.rules as usize] && !view.is_rest());
            let strong = |view: &CellView<'a>| {
                let rules = material.tally.rules(view.rules).iter();
                rules.filter(|&&rule| counts(self.rules.rule(rule))).any(|&rule| self.silenced(rule, view.site).is_none())
            };
            let asked = cells.filter(strong).map(|view| (view.client, view.path)).collect();
            (with, Probers::weigh(asked, with.distinct_paths))
        };
        conditions.into_iter().map(with).collect()
    }

    fn catch_alls(&self, material: &Material<'a>, memory: &Memory) -> CatchAlls<AnswerKey<'a>> {
        let answers = self.answers(material);
        let known: HashSet<AnswerKey<'a>> = answers.iter().map(|(answer, ..)| *answer).collect();
        let remembered: Vec<(AnswerKey<'a>, u64, Vec<&str>)> = known
            .into_iter()
            .filter_map(|answer @ (site, status, bytes)| Some((answer, memory.given(lasting(material, site), status, bytes)?)))
            .flat_map(|(answer, given)| {
                let classes: Vec<&str> = given.classes.iter().map(String::as_str).collect();
                given.paths.iter().map(move |&path| (answer, path, classes.clone()))
            })
            .collect();
        let all = answers.iter().chain(&remembered);
        CatchAlls::weigh(all.map(|(answer, path, classes)| Evidence { answer: *answer, path: *path, classes }))
    }

    /// The answers that mean something, if they are not given to everything: to which path, and what rules call that.
    fn answers(&self, material: &Material<'a>) -> Vec<(AnswerKey<'a>, u64, Vec<&'a str>)> {
        let classes = |view: &CellView<'a>| -> Vec<&'a str> {
            let stands = |rule: &&RuleId| self.standing(**rule, &Seen::of(view)) == Standing::Stands;
            let rules = material.tally.rules(view.rules).iter().filter(stands).map(|&rule| self.rules.rule(rule));
            rules.filter(|rule| rule.exposes()).map(|rule| rule.class.as_str()).collect()
        };
        let path = |view: &CellView<'a>| xxh3_64(material.tally.path(view.path));
        // What was let go of a pair is still known of its path.
        let cells = material.tally.cells().filter(|view| !view.is_rest()).chain(material.tally.path_cells());
        let answers = cells.filter_map(|view| Some((answer_key(&view)?, path(&view), classes(&view))));
        answers.filter(|(_, _, classes)| !classes.is_empty()).collect()
    }

    fn decide_all(&mut self, material: &Material<'a>) {
        // The same for every client and site, as most lists are: decided once for each answer.
        let depends = |rule: RuleId| self.rules.rule(rule).with_client.is_some() || self.may_be_silent[usize::from(rule.0)];
        let depends = by_list(material, depends);
        let mut known: Vec<[Option<Decision>; 3]> = vec![[None; 3]; depends.len()];
        let mut kept = Vec::new();
        let mut decide = |context: &mut Self, view: CellView<'a>| {
            let seen = Seen::of(&view);
            let at = view.rules as usize;
            let answer = answer_key(&view).map_or(0, |key| 1 + usize::from(context.catch_alls.contains(&key)));
            let decision = known[at][answer].filter(|_| !depends[at]).unwrap_or_else(|| {
                let mut decision = context.decide(material.tally.rules(view.rules), &seen, &mut kept);
                decision.list = context.lists.number(&*kept, Box::from);
                known[at][answer] = Some(decision);
                decision
            });
            context.within_outcomes(decision, Outcome::of(view.status))
        };
        self.decisions = material.tally.cells().map(|view| decide(self, view)).collect();
        self.path_decisions = material.tally.path_cells().map(|view| decide(self, view)).collect();
    }
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
    fn of(view: &CellView<'a>) -> Self {
        Self { client: view.client, site: view.site, status: view.status, bytes: view.bytes }
    }
}

/// What answered, where it means something.
pub(super) fn answer_key<'a>(view: &CellView<'a>) -> Option<AnswerKey<'a>> {
    view.status.filter(|_| view.answered).map(|status| (view.site, status, view.bytes))
}

#[cfg(test)]
mod tests;
