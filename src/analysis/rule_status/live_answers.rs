//! The responses of sites during `follow`: grades answers when they arrive, and again with more evidence.
//!
//! Memory is bounded: the sites that were idle longest are emptied first, and of each site only the latest answers are
//! kept for another grade. The grader takes new evidence of a site once it has grown by an eighth, so that a flood of
//! answers costs little.

use std::collections::VecDeque;
use std::time::Duration;

use foldhash::{HashMap, HashSet};

use super::live::PendingHit;
use crate::analysis::site::{RuleHashes, SiteHistory, SiteName};
use crate::finding::RuleId;
use crate::rules::RuleSet;
use crate::soft_404::{Answer, Candidate, Grade, Grader, PathShape, Response, SiteEvidence};

/// The most paths of all sites together: 16 MB.
const PATHS: usize = 1 << 16;
/// The most answers of a site that are kept for another grade.
const GRADED: usize = 256;
/// The most of all sites: 16 MB with lines of 2 KB.
const ALL_GRADED: usize = 8_192;
/// The first changes of a site reach the grader at once.
const EAGER_CHANGES: usize = 16;

/// Sites without a response for this long are dropped from the history.
const MAX_AGE: Duration = Duration::from_secs(60 * 24 * 60 * 60);

/// A site's number.
type SiteId = u32;

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
pub struct Regraded {
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
    place: usize,
    evidence: SiteEvidence,
    /// Changes of the evidence; how many of them the grader has; how many the grades use.
    changes: usize,
    weighed: usize,
    graded_by: usize,
    graded: VecDeque<TrackedAnswer>,
    /// Whether it raised an alert, and in which of its folders.
    has_alerted: bool,
    folders: HashSet<u32>,
    /// The time of its last change, counted in changes of all sites.
    last: u64,
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
        self.evidence.given_len() + self.evidence.refused_len()
    }

    fn is_ungraded(&self) -> bool {
        self.weighed > self.graded_by && !self.graded.is_empty()
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
    pub(crate) fn record(&mut self, site: SiteId, name: SiteName<'_>, path: u64, shape: PathShape, rules: &[RuleId], response: &Response) {
        self.change(site, name, |evidence| {
            let before = evidence.shared(path);
            evidence.record(path, || shape, rules, response);
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
        let Some(known) = self.sites.get_mut(&site) else { return };
        known.last = self.clock;
        let before = known.len();
        if change(&mut known.evidence) {
            known.changes += 1;
            // The first changes matter most, and a small update is cheap.
            if known.changes <= EAGER_CHANGES || known.changes - known.weighed > known.weighed / 8 {
                Self::update_grader(&mut self.grader, known);
                self.has_ungraded |= known.is_ungraded();
            }
        }
        self.paths = self.paths - before + known.len();
        if self.paths > PATHS {
            self.evict_idle(site);
        }
    }

    fn add(&mut self, site: SiteId, name: SiteName<'_>) {
        let evidence = self.history.answers(name, &self.rules).unwrap_or_default();
        let place = self.sites.len();
        let name = match name {
            SiteName::Host(host) => (true, host.into()),
            SiteName::Log(log) => (false, log.into()),
        };
        let mut known = SiteAnswers {
            name,
            place,
            evidence,
            changes: 0,
            weighed: 0,
            graded_by: 0,
            graded: VecDeque::new(),
            has_alerted: false,
            folders: HashSet::default(),
            last: self.clock,
        };
        Self::update_grader(&mut self.grader, &mut known);
        self.paths += known.len();
        self.sites.insert(site, known);
    }

    /// Empties the sites that were idle longest until an eighth of the capacity is free. Their indices stay, and so
    /// does the site that changed last.
    fn evict_idle(&mut self, changed: SiteId) {
        let mut quiet: Vec<(u64, SiteId)> = self.sites.iter().map(|(site, known)| (known.last, *site)).collect();
        quiet.sort_unstable();
        for (_, site) in quiet {
            if self.paths <= PATHS - PATHS / 8 {
                break;
            }
            let Some(known) = self.sites.get_mut(&site).filter(|known| site != changed && !known.evidence.is_empty()) else { continue };
            self.paths -= known.len();
            self.graded -= known.graded.len();
            known.evidence = SiteEvidence::default();
            known.graded.clear();
            Self::update_grader(&mut self.grader, known);
        }
    }

    fn update_grader(grader: &mut Grader, known: &mut SiteAnswers) {
        grader.set(known.place, known.name.0, known.evidence.clone());
        known.weighed = known.changes;
    }

    /// The grade of an answer, by the present evidence.
    pub(crate) fn grade(&self, site: SiteId, path: u64, shape: PathShape, rules: &[RuleId], response: &Response) -> Grade {
        let Some(known) = self.sites.get(&site) else { return Grade::DISTINCT };
        self.grader.grade(known.place, &Candidate { path, shape, rules }, known.evidence.path(path), response)
    }

    /// Whether a distinct answer raises an alert; records that it did.
    pub(crate) fn may_alert(&mut self, site: SiteId, shape: &PathShape) -> bool {
        let Some(known) = self.sites.get_mut(&site) else { return true };
        let is_first_in_folder = shape.folder == 0 || !known.folders.contains(&shape.folder);
        let refuses = |folder| self.grader.refuses(known.place, folder);
        let may = (!known.has_alerted || refuses(0)) && (is_first_in_folder || refuses(shape.folder));
        if may {
            known.has_alerted = true;
            known.folders.insert(shape.folder);
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
        let Some(known) = self.sites.get_mut(&site) else { return };
        if known.graded.len() >= GRADED || self.graded >= ALL_GRADED {
            // A soft 404 rarely changes its grade, so it is dropped first.
            let soft = known.graded.iter().position(|graded| graded.answer == Answer::Soft404);
            if known.graded.remove(soft.unwrap_or(0)).is_none() {
                return;
            }
            self.graded -= 1;
        }
        known.graded.push_back(TrackedAnswer { path, shape, rules: rules.into(), response, answer, has_alerted, line: line() });
        self.graded += 1;
        self.has_ungraded |= known.is_ungraded();
    }

    /// Whether the grader has evidence that the grades do not use yet.
    pub(crate) fn has_ungraded(&self) -> bool {
        self.has_ungraded
    }

    /// Updates the grader for every site with new evidence.
    pub(crate) fn update_grader_for_all(&mut self) {
        for known in self.sites.values_mut().filter(|known| known.weighed < known.changes) {
            Self::update_grader(&mut self.grader, known);
            self.has_ungraded |= known.is_ungraded();
        }
    }

    /// Grades the kept answers again, and returns the lines whose grade changed.
    pub(crate) fn regrade(&mut self) -> Vec<Regraded> {
        self.has_ungraded = false;
        let mut changed = Vec::new();
        let is_of_server = self.sites.values().any(|known| known.name.0 && known.weighed > known.graded_by);
        for known in self.sites.values_mut() {
            // Hosts are compared with each other.
            if known.weighed == known.graded_by && !(known.name.0 && is_of_server) {
                continue;
            }
            known.graded_by = known.weighed;
            for graded in &mut known.graded {
                let candidate = Candidate { path: graded.path, shape: graded.shape, rules: &graded.rules };
                let grade = self.grader.grade(known.place, &candidate, known.evidence.path(graded.path), &graded.response);
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
        for known in self.sites.values().filter(|known| !known.evidence.is_empty()) {
            let (is_host, name) = &known.name;
            let name = if *is_host { SiteName::Host(name) } else { SiteName::Log(name) };
            self.history.record_answers(name, &known.evidence, &self.rules, now);
        }
        self.history.prune(now, MAX_AGE);
        &self.history
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture::rules;
    use crate::analysis::rule_status::live_answers::*;
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
                let shape = PathShape::of(format!("/{path}").as_bytes());
                answers.record(site, SiteName::Host(name.as_bytes()), path, shape, &rule, &response);
            }
        }
        let counted: usize = answers.sites.values().map(SiteAnswers::len).sum();
        assert_eq!(answers.paths, counted);
        assert!(counted <= PATHS, "{counted}");
        assert!(counted > PATHS / 2, "{counted}");
    }
}
