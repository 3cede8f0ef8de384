//! Explains one answer by all responses of a log: its grade, and the evidence for it.
//!
//! The grade itself comes from the analysis, as in a scan.

use foldhash::HashMap;

use super::build::LogAnalysis;
use super::hit::{counted_client, lowercase_host, response};
use super::model::AnswerDetail;
use super::soft_404::ranges;
use crate::collections::intern::SymbolTables;
use crate::engine::ParsedRequest;
use crate::judge::report_input::ReportInput;
use crate::judge::rule_status::HitContext;
use crate::log::client::Ipv6Prefix;
use crate::log::finding::RuleId;
use crate::log::log_entry::{LogEntry, Outcome};
use crate::rules::RuleSet;
use crate::soft_404::{
    Answer, Grade, MAX_PATHS, MethodClass, Reason, Response, ResponseSize, SiteEvidence, path_hash,
};
use crate::tally::Site;

/// The most paths with a similar answer that are listed.
const MAX_SIMILAR: usize = 3;
/// Where no other path received the same size, sizes within a tenth are listed.
const TOLERANCE_DIVISOR: u64 = 10;

/// A log by which answers are graded.
#[derive(Debug)]
pub(crate) struct GradedLog<'a> {
    analysis: LogAnalysis<'a>,
    sites: HashMap<Site<'a>, SiteEvidence>,
}

/// A request whose answer is to be graded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GradeRequest<'r> {
    /// Its line.
    pub record: &'r LogEntry<'r>,
    /// Its resolved path.
    pub path: &'r [u8],
    /// The rules that matched, sorted.
    pub rules: &'r [RuleId],
    /// Which IPv6 addresses count as one client.
    pub prefix: Option<Ipv6Prefix>,
}

/// The grade of an answer that could expose something.
#[derive(Debug, Clone)]
pub(crate) enum GradeResult {
    /// The grade depends on a log, and none was given.
    NeedsLog,
    /// It has no grade: with the whole log known, no rule that exposes something applies.
    Ordinary,
    /// It has a grade.
    Known(Box<GradedAnswer>),
}

/// A graded answer and the evidence for the grade. Text is as logged.
#[derive(Debug, Clone)]
pub(crate) struct GradedAnswer {
    /// The answer and its grade.
    pub detail: AnswerDetail<'static>,
    /// The host, or the input where hosts are not logged.
    pub site: Vec<u8>,
    /// Probed paths that the site answered.
    pub answered: u64,
    /// Probed paths that it refused and never answered.
    pub refused: u64,
    /// The number of refused paths was limited.
    pub is_refused_cut: bool,
    /// Ranges of the sizes that the site answers to unknown paths.
    pub sizes: Vec<(u64, u64)>,
    /// Sizes of the home page, if they decided.
    pub home_sizes: Vec<(u64, u64)>,
    /// Sizes of the GET responses for the same path, if they decided instead of the answer's own
    /// size.
    pub get_sizes: Vec<(u64, u64)>,
    /// Statuses with which GET of the same path was refused, sorted.
    pub get_refused: Vec<u16>,
    /// Other paths with an answer of the same size, or of a similar size if there are none.
    pub alike: Vec<SimilarAnswer>,
}

/// Another path with a similar answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SimilarAnswer {
    /// The difference in bytes.
    difference: u64,
    /// A rule matches both paths.
    is_like: bool,
    /// Length of the path: short paths are listed first.
    len: usize,
    /// The path.
    pub path: Vec<u8>,
    /// The host, if it is another one.
    pub host: Option<Vec<u8>>,
    /// Bytes of the answer.
    pub bytes: u64,
}

/// Whether the answer to a request that matched these rules gets a grade.
#[must_use]
pub(crate) fn is_graded(rules: &RuleSet, matched: &[RuleId], status: Option<u16>) -> bool {
    Outcome::from_status(status) == Outcome::Answered
        && matched.iter().any(|&rule| rules.rule(rule).exposes())
}

impl<'a> GradedLog<'a> {
    /// Analyses the log.
    #[must_use]
    pub(crate) fn new(report_input: ReportInput<'a>) -> Self {
        let analysis = LogAnalysis::new(&report_input);
        let mut sites: HashMap<Site<'a>, SiteEvidence> = HashMap::default();
        for (site, evidence) in report_input.tally.evidence() {
            sites
                .entry(analysis.site_root(site))
                .or_default()
                .merge(&evidence);
        }
        Self { analysis, sites }
    }

    /// Grades the answer to a request like a scan of the log. Where hosts are not logged, the
    /// request belongs to the first input.
    #[must_use]
    pub(crate) fn grade(&self, request: &GradeRequest<'_>) -> GradeResult {
        let probe = ParsedRequest::new(request.record);
        let (mut host, mut client) = (Vec::new(), Vec::new());
        let client_key = counted_client(request.record.client, request.prefix, &mut client);
        let client = self
            .analysis
            .input
            .tally
            .client_number(client_key)
            .unwrap_or(SymbolTables::OTHER);
        let site =
            lowercase_host(request.record.host, &mut host).map_or(Site::Input(0), Site::Host);
        let context = HitContext {
            client,
            site,
            path: request.path,
            response: response(request.record, &probe, request.path),
        };
        match self
            .analysis
            .decide(request.rules, &context, &mut Vec::new())
            .grade
        {
            Some(grade) => GradeResult::Known(Box::new(self.explained(request, &context, grade))),
            None => GradeResult::Ordinary,
        }
    }

    fn explained(
        &self,
        request: &GradeRequest<'_>,
        context: &HitContext<'_>,
        grade: Grade,
    ) -> GradedAnswer {
        let site = self.analysis.site_root(context.site);
        let evidence = self.sites.get(&site);
        let get_sizes: Vec<u64> = match context.response.size() {
            Some(_) => Vec::new(),
            None => evidence
                .and_then(|evidence| evidence.path(path_hash(context.path)))
                .map(|path| path.get_sizes().iter().map(|size| size.bytes).collect())
                .unwrap_or_default(),
        };
        let compared = context
            .response
            .size()
            .map_or_else(|| get_sizes.clone(), |size| vec![size.bytes]);
        let mut answer = GradedAnswer {
            detail: detail(&context.response, grade),
            site: self.name(site),
            answered: evidence.map_or(0, |evidence| evidence.answered_len() as u64),
            refused: evidence.map_or(0, |evidence| evidence.refused_len() as u64),
            is_refused_cut: evidence.is_some_and(|evidence| evidence.refused_len() >= MAX_PATHS),
            sizes: Vec::new(),
            home_sizes: Vec::new(),
            get_sizes: in_ranges(get_sizes),
            get_refused: Vec::new(),
            alike: Vec::new(),
        };
        if grade.reason == Reason::HomePage {
            answer.home_sizes = in_ranges(
                evidence
                    .map(|evidence| evidence.home.iter().collect())
                    .unwrap_or_default(),
            );
        }
        let mut sizes = Vec::new();
        for (view, decision) in self.analysis.cells_with_path() {
            let is_here = self.analysis.site_root(view.site) == site;
            let is_other_host =
                grade.reason == Reason::SameOnOtherHosts && matches!(view.site, Site::Host(_));
            let path = self.analysis.input.tally.path(view.path);
            let response = view.response();
            if is_here
                && path == context.path
                && response.method == MethodClass::Get
                && response.is_refusal()
            {
                answer.get_refused.extend(response.status);
            }
            let Some(ResponseSize { bytes, .. }) = response.size() else {
                continue;
            };
            if is_here
                && decision
                    .grade
                    .is_some_and(|grade| grade.answer == Answer::Soft404)
            {
                sizes.push(bytes);
            }
            if path != context.path && view.is_probe && (is_here || is_other_host) {
                let host = view.site.host().filter(|_| !is_here).map(<[u8]>::to_vec);
                let rules = self.analysis.input.tally.rule_list(view.rules);
                let is_like = rules.iter().any(|rule| request.rules.contains(rule));
                let difference = compared.iter().map(|other| other.abs_diff(bytes)).min();
                // A distinct answer differs from all answers of a similar size.
                let most = if grade.answer == Answer::Distinct {
                    0
                } else {
                    bytes / TOLERANCE_DIVISOR
                };
                let difference = difference.filter(|difference| *difference <= most);
                let alike = |difference| SimilarAnswer {
                    difference,
                    is_like,
                    len: path.len(),
                    path: path.to_vec(),
                    host,
                    bytes,
                };
                answer.alike.extend(difference.map(alike));
            }
        }
        answer.sizes = in_ranges(sizes);
        answer.get_refused.sort_unstable();
        answer.get_refused.dedup();
        answer.alike = nearest(answer.alike);
        answer
    }

    fn name(&self, site: Site<'_>) -> Vec<u8> {
        match site {
            Site::Host(host) => host.to_vec(),
            Site::Input(input) if self.analysis.input.sources.is_empty() => {
                input.to_string().into_bytes()
            }
            Site::Input(input) => self.analysis.input.site_name(Site::Input(input)).to_vec(),
        }
    }
}

fn detail(response: &Response, grade: Grade) -> AnswerDetail<'static> {
    let &Response {
        method,
        status,
        bytes,
        ..
    } = response;
    AnswerDetail {
        statuses: status.into_iter().collect(),
        bytes,
        method,
        grade,
        client: None,
        is_known_host: false,
        needs_login: false,
        members: Vec::new(),
    }
}

fn in_ranges(mut sizes: Vec<u64>) -> Vec<(u64, u64)> {
    sizes.sort_unstable();
    sizes.dedup();
    ranges(&sizes)
}

/// The first paths with the same size, or with a similar size if there are none. Each path once;
/// paths that other rules match come first, because they are the stronger evidence.
fn nearest(mut alike: Vec<SimilarAnswer>) -> Vec<SimilarAnswer> {
    alike.sort_unstable();
    let is_exact = alike.first().is_some_and(|first| first.difference == 0);
    let mut listed: Vec<SimilarAnswer> = Vec::new();
    for answer in alike {
        let is_new = !listed
            .iter()
            .any(|other| other.path == answer.path && other.host == answer.host);
        if listed.len() < MAX_SIMILAR && is_new && (answer.difference == 0 || !is_exact) {
            listed.push(answer);
        }
    }
    listed
}

impl GradedAnswer {
    /// Whether the listed paths received exactly the same size.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        self.alike.iter().all(|answer| answer.difference == 0)
    }

    /// Whether the grade raises the severity.
    #[must_use]
    pub(crate) fn is_distinct(&self) -> bool {
        self.detail.grade.answer == Answer::Distinct
    }
}

#[cfg(test)]
mod tests {
    use crate::report::path_answer::*;

    fn alike(path: &str, difference: u64, is_like: bool) -> SimilarAnswer {
        SimilarAnswer {
            difference,
            is_like,
            len: path.len(),
            path: path.into(),
            host: None,
            bytes: 612 + difference,
        }
    }

    fn listed(all: &[SimilarAnswer]) -> Vec<String> {
        nearest(all.to_vec())
            .into_iter()
            .map(|answer| String::from_utf8(answer.path).unwrap())
            .collect()
    }

    #[test]
    fn paths_of_other_rules_with_the_same_size_come_first() {
        let same = [
            alike("/a/.env", 0, true),
            alike("/b.sql", 0, false),
            alike("/b.sql", 0, false),
            alike("/c.php", 9, false),
        ];
        assert_eq!(listed(&same), ["/b.sql", "/a/.env"]);
        let many = ["/1", "/2", "/3", "/4"].map(|path| alike(path, 0, false));
        assert_eq!(listed(&many), ["/1", "/2", "/3"]);
        let near = [alike("/far", 40, false), alike("/near", 2, true)];
        assert_eq!(listed(&near), ["/near", "/far"]);
        assert_eq!(listed(&[]), [""; 0]);
    }
}
