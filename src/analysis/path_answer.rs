//! What a whole log shows of one answer: its grade, and what the grade rests on.
//!
//! Grades nothing itself: asks the context as a scan does, and counts what the log holds of the site.

use foldhash::HashMap;

use super::build::{Decision, LogAnalysis, ReportInput};
use super::hit::{counted_client, lowercase_host, response};
use super::model::AnswerDetail;
use super::rule_status::HitContext;
use super::soft_404::ranges;
use crate::client::Ipv6Prefix;
use crate::engine::ParsedRequest;
use crate::finding::RuleId;
use crate::intern::SymbolTables;
use crate::log_entry::{LogEntry, Outcome};
use crate::rules::RuleSet;
use crate::soft_404::{Answer, Grade, MOST_PATHS, MethodClass, Reason, Response, SiteEvidence, Size, path_hash};
use crate::tally::{CellView, Site};

/// Paths with an answer of the same size that are named.
const MOST_ALIKE: usize = 3;
/// A tenth: sizes that differ by no more are named where no other path got the same size.
const ALIKE: u64 = 10;

/// A log that answers are graded by.
#[derive(Debug)]
pub struct GradedLog<'a> {
    material: ReportInput<'a>,
    context: LogAnalysis<'a>,
    sites: HashMap<Site<'a>, SiteEvidence>,
}

/// A request whose answer is to be graded.
#[derive(Debug, Clone, Copy)]
pub struct GradeRequest<'r> {
    /// Its line.
    pub record: &'r LogEntry<'r>,
    /// Its resolved path.
    pub path: &'r [u8],
    /// The rules that match, sorted.
    pub rules: &'r [RuleId],
    /// Which IPv6 addresses count as one client.
    pub prefix: Option<Ipv6Prefix>,
}

/// What there is to say of the answer to a request that could expose something.
#[derive(Debug, Clone)]
pub enum GradeResult {
    /// The grade depends on a log that is not known.
    NeedsLog,
    /// It has no grade: in the light of the whole log no rule that exposes something stands.
    Ordinary,
    /// It has a grade.
    Known(Box<GradedAnswer>),
}

/// A graded answer, and what the grade rests on. Text is as logged.
#[derive(Debug, Clone)]
pub struct GradedAnswer {
    /// What it was, and its grade.
    pub detail: AnswerDetail<'static>,
    /// The host, or the input where hosts are not logged.
    pub site: Vec<u8>,
    /// Probed paths that the site answered.
    pub answered: u64,
    /// Probed paths that it refused and never answered.
    pub refused: u64,
    /// There are more refused paths than are counted.
    pub is_refused_cut: bool,
    /// Sizes that the site gives to anything, as ranges.
    pub sizes: Vec<(u64, u64)>,
    /// Sizes of the home page, where they decided.
    pub home_sizes: Vec<(u64, u64)>,
    /// Sizes that GET of the same path got, where they decided in place of the answer's own.
    pub get_sizes: Vec<(u64, u64)>,
    /// Statuses by which GET of the same path was refused, sorted.
    pub get_refused: Vec<u16>,
    /// Other paths with an answer of the same size, or where there are none, of about that size.
    pub alike: Vec<SimilarAnswer>,
}

/// Another path that got as much.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimilarAnswer {
    /// By how many bytes it differs.
    difference: u64,
    /// A rule looks for both paths.
    is_like: bool,
    /// Bytes of the path: short ones are read at a glance.
    len: usize,
    /// The path.
    pub path: Vec<u8>,
    /// The host, where it is another one.
    pub host: Option<Vec<u8>>,
    /// Bytes of the answer.
    pub bytes: u64,
}

/// Whether the answer to a request that matched these rules gets a grade.
#[must_use]
pub fn is_graded(rules: &RuleSet, matched: &[RuleId], status: Option<u16>) -> bool {
    Outcome::of(status) == Outcome::Answered && matched.iter().any(|&rule| rules.rule(rule).exposes())
}

impl<'a> GradedLog<'a> {
    /// Decides what the whole log shows.
    #[must_use]
    pub fn new(material: ReportInput<'a>) -> Self {
        let context = LogAnalysis::new(&material);
        let mut sites: HashMap<Site<'a>, SiteEvidence> = HashMap::default();
        for (site, evidence) in material.tally.evidence() {
            sites.entry(context.site_root(site)).or_default().merge(&evidence);
        }
        Self { material, context, sites }
    }

    /// Grades the answer to a request as a scan of the log does. Where hosts are not logged the request is one of the first input.
    #[must_use]
    pub fn grade(&self, request: &GradeRequest<'_>) -> GradeResult {
        let probe = ParsedRequest::new(request.record);
        let (mut host, mut client) = (Vec::new(), Vec::new());
        let who = counted_client(request.record.client, request.prefix, &mut client);
        let client = self.material.tally.client_number(who).unwrap_or(SymbolTables::OTHER);
        let site = lowercase_host(request.record.host, &mut host).map_or(Site::Input(0), Site::Host);
        let seen = HitContext { client, site, path: request.path, response: response(request.record, &probe) };
        match self.context.decide(request.rules, &seen, &mut Vec::new()).grade {
            Some(grade) => GradeResult::Known(Box::new(self.explained(request, &seen, grade))),
            None => GradeResult::Ordinary,
        }
    }

    fn explained(&self, request: &GradeRequest<'_>, seen: &HitContext<'_>, grade: Grade) -> GradedAnswer {
        let site = self.context.site_root(seen.site);
        let evidence = self.sites.get(&site);
        let get_sizes: Vec<u64> = match seen.response.size() {
            Some(_) => Vec::new(),
            None => evidence
                .and_then(|known| known.path(path_hash(seen.path)))
                .map(|path| path.get_sizes().iter().map(|size| size.bytes).collect())
                .unwrap_or_default(),
        };
        let compared = seen.response.size().map_or_else(|| get_sizes.clone(), |size| vec![size.bytes]);
        let mut answer = GradedAnswer {
            detail: detail(&seen.response, grade),
            site: self.name(site),
            answered: evidence.map_or(0, |known| known.given_len() as u64),
            refused: evidence.map_or(0, |known| known.refused_len() as u64),
            is_refused_cut: evidence.is_some_and(|known| known.refused_len() >= MOST_PATHS),
            sizes: Vec::new(),
            home_sizes: Vec::new(),
            get_sizes: in_ranges(get_sizes),
            get_refused: Vec::new(),
            alike: Vec::new(),
        };
        if grade.reason == Reason::HomePage {
            answer.home_sizes = in_ranges(evidence.map(|known| known.home.iter().collect()).unwrap_or_default());
        }
        let mut sizes = Vec::new();
        for (view, decision) in self.cells() {
            let is_here = self.context.site_root(view.site) == site;
            let is_other_host = grade.reason == Reason::SameOnOtherHosts && matches!(view.site, Site::Host(_));
            let path = self.material.tally.path(view.path);
            let got = view.response();
            if is_here && path == seen.path && got.method == MethodClass::Get && got.is_refusal() {
                answer.get_refused.extend(got.status);
            }
            let Some(Size { bytes, .. }) = got.size() else { continue };
            if is_here && decision.grade.is_some_and(|grade| grade.answer == Answer::Soft404) {
                sizes.push(bytes);
            }
            if path != seen.path && view.is_probe && (is_here || is_other_host) {
                let host = if let Site::Host(host) = view.site { Some(host.to_vec()).filter(|_| !is_here) } else { None };
                let rules = self.material.tally.rule_list(view.rules);
                let is_like = rules.iter().any(|rule| request.rules.contains(rule));
                let difference = compared.iter().map(|other| other.abs_diff(bytes)).min();
                // A distinct answer is none of those of about its size.
                let most = if grade.answer == Answer::Distinct { 0 } else { bytes / ALIKE };
                let difference = difference.filter(|difference| *difference <= most);
                let alike = |difference| SimilarAnswer { difference, is_like, len: path.len(), path: path.to_vec(), host, bytes };
                answer.alike.extend(difference.map(alike));
            }
        }
        answer.sizes = in_ranges(sizes);
        answer.get_refused.sort_unstable();
        answer.get_refused.dedup();
        answer.alike = nearest(answer.alike);
        answer
    }

    /// The cells of known paths, and what was decided of each.
    fn cells(&self) -> impl Iterator<Item = (CellView<'a>, &Decision)> {
        let cells = self.material.tally.cells().zip(self.context.decisions());
        cells
            .chain(self.material.tally.path_cells().zip(self.context.path_decisions()))
            .filter(|(view, _)| view.path != SymbolTables::OTHER)
    }

    fn name(&self, site: Site<'_>) -> Vec<u8> {
        match site {
            Site::Host(host) => host.to_vec(),
            Site::Input(input) if self.material.texts.is_empty() => input.to_string().into_bytes(),
            Site::Input(input) => super::build::site_name(&self.material, Site::Input(input)).to_vec(),
        }
    }
}

fn detail(response: &Response, grade: Grade) -> AnswerDetail<'static> {
    let &Response { method, status, bytes, .. } = response;
    AnswerDetail { statuses: status.into_iter().collect(), bytes, method, grade, client: None, is_known_host: false }
}

fn in_ranges(mut sizes: Vec<u64>) -> Vec<(u64, u64)> {
    sizes.sort_unstable();
    sizes.dedup();
    ranges(&sizes)
}

/// The first of those that got the same size; where none did, of those that got about as much. Each path once; paths that other
/// rules look for say most.
fn nearest(mut alike: Vec<SimilarAnswer>) -> Vec<SimilarAnswer> {
    alike.sort_unstable();
    let is_exact = alike.first().is_some_and(|first| first.difference == 0);
    let mut named: Vec<SimilarAnswer> = Vec::new();
    for one in alike {
        let is_new = !named.iter().any(|other| other.path == one.path && other.host == one.host);
        if named.len() < MOST_ALIKE && is_new && (one.difference == 0 || !is_exact) {
            named.push(one);
        }
    }
    named
}

impl GradedAnswer {
    /// Whether the paths that are named got exactly the same size.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.alike.iter().all(|one| one.difference == 0)
    }

    /// Whether the grade raises the severity.
    #[must_use]
    pub fn is_distinct(&self) -> bool {
        self.detail.grade.answer == Answer::Distinct
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::path_answer::*;

    fn alike(path: &str, difference: u64, is_like: bool) -> SimilarAnswer {
        SimilarAnswer { difference, is_like, len: path.len(), path: path.into(), host: None, bytes: 612 + difference }
    }

    fn named(all: &[SimilarAnswer]) -> Vec<String> {
        nearest(all.to_vec()).into_iter().map(|one| String::from_utf8(one.path).unwrap()).collect()
    }

    #[test]
    fn unlike_paths_of_the_same_size_are_named_first() {
        let same = [alike("/a/.env", 0, true), alike("/b.sql", 0, false), alike("/b.sql", 0, false), alike("/c.php", 9, false)];
        assert_eq!(named(&same), ["/b.sql", "/a/.env"]);
        let many = ["/1", "/2", "/3", "/4"].map(|path| alike(path, 0, false));
        assert_eq!(named(&many), ["/1", "/2", "/3"]);
        let near = [alike("/far", 40, false), alike("/near", 2, true)];
        assert_eq!(named(&near), ["/near", "/far"]);
        assert_eq!(named(&[]), [""; 0]);
    }
}
