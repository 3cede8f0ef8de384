//! The context as far as it shows by now: `follow` decides each hit when it comes, and cannot wait for the whole.
//!
//! The same questions as for a whole log, asked of bounded memory: which apps a site runs, which answers are given to
//! everything, and who is a prober. What was seen longest ago is forgotten first. A request that is an attack only because
//! of who asks waits for its client to show itself; it is told late, or never.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::Decision;
use super::decide::{self, Standing};
use crate::client::{Client, ClientKey};
use crate::context::{Apps, CLASSES, PATHS};
use crate::finding::{RuleId, Severity, Signs};
use crate::intern::Interner;
use crate::names::Names;
use crate::recent::Recent;
use crate::record::Outcome;
use crate::report::hit::LiveLine;
use crate::rules::{Rule, RuleSet, WithClient};

/// Sites that are told apart. Whoever asks may choose the name of a host; those that come later share one place, which
/// shows nothing.
const SITES: usize = 4_096;
/// Clients whose distinct probe paths are remembered, for each condition that rules have.
const CLIENTS: usize = 65_536;
/// Answers of which it is remembered what they were given to.
const ANSWERS: usize = 4_096;
/// Clients of whom requests wait ...
const WAITING_CLIENTS: usize = 2_048;
/// ... so many of each ...
const WAITING_LINES: usize = 16;
/// ... of so many bytes.
const WAITING_BYTES: usize = 2_048;

/// A site among those that are known: a host, or the logs of one family where hosts are not logged.
type Site = u32;

/// One hit as the context sees it.
#[derive(Debug, Clone, Copy)]
pub struct LiveSeen<'a> {
    /// Who asked.
    pub client: Client<'a>,
    /// For what: the normalised path.
    pub path: &'a [u8],
    /// The virtual host in lower case, where one was logged.
    pub host: Option<&'a [u8]>,
    /// What the names of the log and of its rotated siblings have in common.
    pub family: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent.
    pub bytes: Option<u64>,
}

/// A hit's site and client, as they are remembered.
#[derive(Debug, Clone)]
pub struct Met {
    site: Option<Site>,
    client: ClientKey,
}

/// A request that waits for its client to show itself: a [`LiveLine`] that owns what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    generation: u64,
    source: Box<[u8]>,
    family: Box<[u8]>,
    offset: u64,
    line: u64,
    text: Box<[u8]>,
    parsed: bool,
    rules: Box<[RuleId]>,
}

impl Late {
    /// A line that is to wait.
    #[must_use]
    pub fn of(line: &LiveLine<'_>) -> Self {
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
pub struct LiveContext<'r> {
    rules: &'r RuleSet,
    level: Severity,
    outcomes: &'r [Outcome],
    said: &'r [RuleId],
    sites: Interner<Box<[u8]>>,
    signs: Signs<Site>,
    apps: Apps<Site>,
    conditions: Vec<(&'r WithClient, Recent<ClientKey, Asked>)>,
    answers: Recent<(Site, u16, Option<u64>), Given>,
    waiting: Recent<ClientKey, Vec<Late>>,
    state: RandomState,
}

/// The first distinct paths a client asked for, by their hashes: as many as it takes.
#[derive(Debug, Default)]
struct Asked {
    paths: Vec<u64>,
}

/// What an answer was given to: as much as it takes.
#[derive(Debug, Default)]
struct Given {
    paths: Vec<u64>,
    classes: Vec<String>,
}

impl Given {
    fn is_catch_all(&self) -> bool {
        self.paths.len() >= PATHS && self.classes.len() >= CLASSES
    }
}

impl<'r> LiveContext<'r> {
    /// Nothing was seen; the apps of `said` run everywhere.
    #[must_use]
    pub fn new(rules: &'r RuleSet, level: Severity, outcomes: &'r [Outcome], said: &'r [RuleId]) -> Self {
        let mut conditions: Vec<&WithClient> = rules.rules().iter().filter_map(|rule| rule.with_client.as_ref()).collect();
        conditions.sort_unstable();
        conditions.dedup();
        Self {
            rules,
            level,
            outcomes,
            said,
            sites: Interner::default(),
            signs: Signs::default(),
            apps: Apps::weigh(std::iter::empty(), said),
            conditions: conditions.into_iter().map(|with| (with, Recent::new(CLIENTS))).collect(),
            answers: Recent::new(ANSWERS),
            waiting: Recent::new(WAITING_CLIENTS),
            state: RandomState::default(),
        }
    }

    /// Takes in the signs of apps in a run of lines of a log.
    pub fn see_signs(&mut self, signs: &Signs, names: &Names, family: &[u8]) {
        if signs.is_empty() {
            return;
        }
        let (sites, state) = (&mut self.sites, &self.state);
        let client = |number: u32| state.hash_one(names.clients.client(number)) as u32;
        let mut gathered = Signs::default();
        gathered.merge(signs, |host| host, client);
        for (app, host, few) in gathered.iter() {
            let host = (host != Names::NO_HOST).then(|| &**names.hosts.key(host));
            if let Some(site) = site(sites, host, family) {
                self.signs.gather(app, site, few);
            }
        }
        self.apps = Apps::weigh(self.signs.iter(), self.said);
    }

    /// Finds whose hit it is, and on which site.
    pub fn meet(&mut self, seen: &LiveSeen<'_>) -> Met {
        Met { site: site(&mut self.sites, seen.host, seen.family), client: ClientKey::from(&seen.client) }
    }

    /// Takes in a hit; what waited for its client to show itself, if it did so now.
    pub fn see(&mut self, matched: &[RuleId], seen: &LiveSeen<'_>, met: &Met) -> Vec<Late> {
        self.see_answer(matched, seen, met);
        let path = self.state.hash_one(seen.path);
        let mut shown = false;
        for at in 0..self.conditions.len() {
            let (with, _) = self.conditions[at];
            let counts = |rule: &Rule| rule.is_certain() && (with.classes.is_empty() || with.classes.contains(&rule.class));
            let strong = |rule: &RuleId| counts(self.rules.rule(*rule)) && self.silenced(*rule, met.site).is_none();
            if !matched.iter().any(strong) {
                continue;
            }
            let enough = with.distinct_paths as usize;
            let asked = self.conditions[at].1.value(met.client.clone(), Asked::default);
            if asked.paths.len() < enough && !asked.paths.contains(&path) {
                asked.paths.push(path);
                shown |= asked.paths.len() == enough;
            }
        }
        if shown { self.waiting.remove(&met.client).unwrap_or_default() } else { Vec::new() }
    }

    /// What a hit comes to by now, and whether a catch-all answered, `None` while that is not known; the rules that are
    /// reported go to `kept`.
    pub fn decide(&self, matched: &[RuleId], seen: &LiveSeen<'_>, met: &Met, kept: &mut Vec<RuleId>) -> (Decision, Option<bool>) {
        let standing = |rule| self.standing(rule, met);
        let is_catch_all = || {
            let answer = met.site.zip(seen.status).map(|(site, status)| (site, status, seen.bytes));
            answer.and_then(|answer| self.answers.peek(&answer)).is_some_and(Given::is_catch_all)
        };
        let decision = decide::decide(self.rules, self.level, matched, seen.status, standing, is_catch_all, kept);
        let catch_all = if decision.catch_all { Some(true) } else { (!decision.answered).then_some(false) };
        (decision.within(self.outcomes, Outcome::of(seen.status)), catch_all)
    }

    /// Whether a request that is no finding may become one when its client shows itself.
    #[must_use]
    pub fn may_come_late(&self, matched: &[RuleId]) -> bool {
        matched.iter().any(|&rule| self.rules.rule(rule).with_client.is_some())
    }

    /// Keeps a request that is no finding yet. Where there is no room, the one that waited longest goes.
    pub fn wait(&mut self, client: Client<'_>, late: Late) {
        if late.text.len() > WAITING_BYTES {
            return;
        }
        let lines = self.waiting.value(ClientKey::from(&client), Vec::new);
        if lines.len() == WAITING_LINES {
            lines.remove(0);
        }
        lines.push(late);
    }

    /// Whether rules make a finding only because of who asks.
    #[must_use]
    pub fn is_of_client(&self, rules: &[RuleId]) -> bool {
        decide::is_of_client(self.rules, rules)
    }

    /// Notes what an answer that means something was given to.
    fn see_answer(&mut self, matched: &[RuleId], seen: &LiveSeen<'_>, met: &Met) {
        let (Some(site), Some(status), Outcome::Answered) = (met.site, seen.status, Outcome::of(seen.status)) else { return };
        let exposes = |rule: &&RuleId| {
            let exposes = self.rules.rule(**rule).exposes();
            exposes && self.standing(**rule, met) == Standing::Stands
        };
        let classes: Vec<&String> = matched.iter().filter(exposes).map(|&rule| &self.rules.rule(rule).class).collect();
        if classes.is_empty() {
            return;
        }
        let path = self.state.hash_one(seen.path);
        let given = self.answers.value((site, status, seen.bytes), Given::default);
        if given.paths.len() < PATHS && !given.paths.contains(&path) {
            given.paths.push(path);
        }
        for class in classes {
            if given.classes.len() < CLASSES && !given.classes.contains(class) {
                given.classes.push(class.clone());
            }
        }
    }

    fn standing(&self, rule: RuleId, met: &Met) -> Standing {
        let upheld = |with: &WithClient| {
            let known = self.conditions.iter().find(|(known, _)| *known == with);
            known.and_then(|(_, clients)| clients.peek(&met.client)).is_some_and(|asked| asked.paths.len() >= with.distinct_paths as usize)
        };
        if self.rules.rule(rule).with_client.as_ref().is_some_and(|with| !upheld(with)) {
            return Standing::Falls;
        }
        if self.rules.rule(rule).window.is_some() {
            return Standing::Falls;
        }
        self.silenced(rule, met.site).map_or(Standing::Stands, Standing::Silenced)
    }

    /// The app that silences a rule on a site.
    fn silenced(&self, rule: RuleId, site: Option<Site>) -> Option<RuleId> {
        let run = |app: &RuleId| site.map_or(self.said.contains(app), |site| self.apps.run(*app, site));
        self.rules.silenced_by(rule).iter().copied().find(run)
    }
}

/// The number of a site; `None` where there are too many.
fn site(sites: &mut Interner<Box<[u8]>>, host: Option<&[u8]>, family: &[u8]) -> Option<Site> {
    // A path begins with no NUL, and neither does a host.
    let key = match host {
        Some(host) => host.to_vec(),
        None => [&b"\0"[..], family].concat(),
    };
    if sites.keys().len() >= SITES {
        return sites.find(&*key);
    }
    Some(sites.number(&*key, Box::from))
}
