//! Answers that earlier reports listed, and that are withdrawn because later requests show that
//! they are soft 404s.
//!
//! A run grades a listed answer again if it has lines of its site. The answers are stored with the
//! redacted text that a report prints, so that a mail can name what it takes back; everything else
//! about them is hashes and numbers.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::anonymize::Privacy;
use super::model::RowKey;
use super::novelty::display_key;
use crate::judge::rule_status::{
    LogAnalysis, ResponseNumbers, response_from_numbers, response_numbers, rule_hashes,
};
use crate::log::finding::Severity;
use crate::soft_404::{Answer, GradeCandidate, PathShape, ShapeNumbers, path_hash};
use crate::text::redact::LogText;

/// The most answers; those listed first are dropped first.
const MAX_ANSWERS: usize = 512;
/// The most responses of an answer: variants of language and compression are two to four.
const MAX_RESPONSES: usize = 4;

/// An answer that a report listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ListedAnswer {
    /// A hash of the site.
    site: u64,
    /// A hash of the path.
    path: u64,
    shape: ShapeNumbers,
    /// Hashes of rule IDs.
    rules: Vec<u64>,
    responses: Vec<ResponseNumbers>,
    key: String,
    severity: Severity,
}

/// An answer that is withdrawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WithdrawnAnswer {
    /// The host, if one was logged, and the path; safe to print.
    pub key: String,
    /// The severity that was reported.
    pub severity: Severity,
}

/// The answers that earlier reports listed, in the order of their reports: at most 512.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ListedAnswers(Vec<ListedAnswer>);

impl ListedAnswers {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns the answers that are soft 404s by the evidence of this run and earlier
    /// ones, the most severe first. An answer that is uncertain, or whose site has no lines in this
    /// run, stays.
    pub(crate) fn withdraw(&mut self, analysis: &LogAnalysis<'_>) -> Vec<WithdrawnAnswer> {
        let (hashes, sites) = (rule_hashes(analysis.input.rules), analysis.sites_by_hash());
        let mut withdrawn = Vec::new();
        self.0.retain(|listed| {
            let Some(&site) = sites.get(&listed.site) else {
                return true;
            };
            let rules: Vec<_> = listed
                .rules
                .iter()
                .filter_map(|hash| hashes.number(*hash))
                .collect();
            let candidate = GradeCandidate {
                path: listed.path,
                shape: PathShape::from(listed.shape),
                rules: &rules,
            };
            let is_soft = |response| {
                analysis
                    .grade_candidate(site, &candidate, &response_from_numbers(response))
                    .answer
                    == Answer::Soft404
            };
            let is_withdrawn = listed.responses.iter().copied().all(is_soft);
            if is_withdrawn {
                withdrawn.push(WithdrawnAnswer {
                    key: listed.key.clone(),
                    severity: listed.severity,
                });
            }
            !is_withdrawn
        });
        withdrawn.sort_by_key(|answer| Reverse(answer.severity));
        withdrawn
    }

    /// Adds the answers that a report lists.
    pub(crate) fn record(&mut self, analysis: &LogAnalysis<'_>, privacy: &Privacy) {
        let hashes = rule_hashes(analysis.input.rules);
        for (view, decision) in analysis.cells_with_path() {
            if !decision.reported || !decision.answered {
                continue;
            }
            let (path, response) = (analysis.input.tally.path(view.path), view.response());
            let listed = ListedAnswer {
                site: analysis.site_hash(view.site),
                path: path_hash(path),
                shape: PathShape::new(path).into(),
                rules: analysis
                    .input
                    .tally
                    .rule_list(view.rules)
                    .iter()
                    .filter_map(|rule| hashes.hash(*rule))
                    .collect(),
                responses: vec![response_numbers(&response)],
                key: privacy.answer_key(display_key(
                    analysis.input.rules,
                    RowKey::Answer(
                        view.site.host().map(LogText::new),
                        path.into(),
                        LogText::default(),
                    ),
                )),
                severity: decision.severity,
            };
            self.add(listed);
        }
    }

    fn add(&mut self, mut listed: ListedAnswer) {
        if let Some(at) = self
            .0
            .iter()
            .position(|known| (known.site, known.path) == (listed.site, listed.path))
        {
            let known = self.0.remove(at);
            listed.severity = listed.severity.max(known.severity);
            let latest = listed.responses[0];
            listed.responses.extend(
                known
                    .responses
                    .into_iter()
                    .filter(|response| *response != latest),
            );
            listed.responses.truncate(MAX_RESPONSES);
        } else if self.0.len() == MAX_ANSWERS {
            self.0.remove(0);
        }
        self.0.push(listed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_answers_and_responses_are_kept() {
        let listed = |path, bytes| ListedAnswer {
            site: 1,
            path,
            shape: PathShape::default().into(),
            rules: Vec::new(),
            responses: vec![(0, Some(200), Some(bytes), 0)],
            key: String::new(),
            severity: Severity::High,
        };
        let mut answers = ListedAnswers::default();
        (0..600).for_each(|path| answers.add(listed(path, 0)));
        assert_eq!((answers.0.len(), answers.0[0].path), (512, 88));
        (0..9).for_each(|bytes| answers.add(listed(88, bytes)));
        let latest = answers.0.last().expect("512 answers");
        let sizes: Vec<_> = latest
            .responses
            .iter()
            .filter_map(|response| response.2)
            .collect();
        assert_eq!(
            (answers.0.len(), latest.path, sizes),
            (512, 88, vec![8, 7, 6, 5])
        );
        let text = serde_json::to_string(&answers).expect("numbers and texts");
        assert_eq!(
            serde_json::from_str::<ListedAnswers>(&text).expect("what was written"),
            answers
        );
    }
}
