//! Who is a prober: a client most of whose requests are probes, whatever a single one of them is.
//!
//! Such a client makes findings of the requests that no rule matches by their line, see `unknown`
//! in `rules/README.md`, and of its requests none is what a block would cost.
//!
//! Probes are hits, and requests for names that do not exist which no rule knows. The latter were
//! refused; or they got what the probes of the same client got, where a site redirects what it does
//! not have, or answers anything with one page.

use super::rule_status::{Decision, LogAnalysis};
use crate::log::log_entry::Outcome;
use crate::soft_404::Answer;
use crate::tally::{CellView, ClientCount, SizeSpan, Tally, UnmatchedAnswers};

/// Three failed probes are no accident: a visitor or a search engine with an outdated link may
/// cause one or two.
pub(crate) const MIN_PROBES: u64 = 3;
/// This many probes are never an accident, whatever the responses were.
pub(crate) const MANY_PROBES: u64 = 10;

/// The requests of a client, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ClientRequests {
    /// Hits.
    pub(crate) hits: u64,
    /// Those that are no hit.
    pub(crate) others: u64,
    /// Of those, the requests for names that do not exist.
    pub(crate) unknown: u64,
}

impl ClientRequests {
    /// Whether at least half of them are probes.
    #[must_use]
    pub(crate) fn are_of_prober(&self) -> bool {
        let unknown = self.unknown.min(self.others);
        self.hits + unknown >= self.others - unknown
    }

    /// Those that an ordinary client may send: what a block would cost. The unknown ones of a
    /// prober are not among them.
    #[must_use]
    pub(crate) fn ordinary(&self) -> u64 {
        if self.are_of_prober() {
            self.others.saturating_sub(self.unknown)
        } else {
            self.others
        }
    }
}

/// How a site responds to the probes of one client.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProbeResponses {
    /// Hits.
    hits: u64,
    /// It redirects one of them.
    is_redirected: bool,
    /// The sizes of soft 404s.
    soft_404: SizeSpan,
    /// Requests that match only rules whose other conditions are not met.
    unmatched: UnmatchedAnswers,
}

/// The requests of each client for names that do not exist and that are no hit, by the number of
/// the client.
#[must_use]
pub(crate) fn unknown_requests(analysis: &LogAnalysis<'_>) -> Vec<u64> {
    let is_soft_404 = |decision: &Decision| {
        decision
            .grade
            .is_some_and(|grade| grade.answer == Answer::Soft404)
    };
    let cells = analysis
        .cells()
        .map(|(view, decision)| (decision.matched, is_soft_404(decision), view));
    client_requests(analysis.input.tally, cells)
        .into_iter()
        .map(|requests| requests.unknown)
        .collect()
}

/// The requests of each client, by its number. Of each cell it takes whether its requests are hits,
/// and whether they may have got what the site gives to any name.
pub(crate) fn client_requests<'t>(
    tally: &Tally,
    cells: impl Iterator<Item = (bool, bool, CellView<'t>)>,
) -> Vec<ClientRequests> {
    let counts = tally.client_counts();
    let mut responses = vec![ProbeResponses::default(); counts.len()];
    for (is_hit, is_soft_404, view) in cells {
        let Some(of_client) = responses.get_mut(view.client as usize) else {
            continue;
        };
        of_client.add(
            (is_hit, is_soft_404),
            (view.status, view.bytes),
            view.cell.hits,
        );
    }
    let requests = |(count, responses): (&ClientCount, ProbeResponses)| {
        responses.of_requests(
            count.requests.saturating_sub(count.allowed),
            count.unmatched,
        )
    };
    counts.iter().zip(responses).map(requests).collect()
}

impl ProbeResponses {
    /// Adds requests that got a status and a size: whether they are hits, and whether that may be
    /// what the site gives to any name.
    pub(crate) fn add(
        &mut self,
        (is_hit, is_soft_404): (bool, bool),
        (status, bytes): (Option<u16>, Option<u64>),
        requests: u64,
    ) {
        if !is_hit {
            self.unmatched.add_requests(status, bytes, requests);
            return;
        }
        self.hits += requests;
        self.is_redirected |= Outcome::from_status(status) == Outcome::Redirected;
        if let Some(bytes) = bytes.filter(|_| is_soft_404) {
            self.soft_404.add(bytes.try_into().unwrap_or(u32::MAX));
        }
    }

    /// Of a client with this many requests, of which no rule matched some.
    pub(crate) fn of_requests(self, requests: u64, unmatched: UnmatchedAnswers) -> ClientRequests {
        ClientRequests {
            hits: self.hits,
            others: requests.saturating_sub(self.hits),
            unknown: self.unknown(unmatched),
        }
    }

    /// The requests for names that do not exist among those that no rule matched.
    fn unknown(mut self, unmatched: UnmatchedAnswers) -> u64 {
        self.unmatched.merge(unmatched);
        let UnmatchedAnswers {
            refused,
            redirected,
            served,
            mut sizes,
        } = self.unmatched;
        let redirected = if self.is_redirected { redirected } else { 0 };
        sizes.merge(self.soft_404);
        let is_soft_404 = self.soft_404.most > 0 && sizes.is_one_page();
        [refused, redirected, if is_soft_404 { served } else { 0 }]
            .into_iter()
            .map(u64::from)
            .sum()
    }
}

/// The clients that are probers, by number.
#[derive(Debug, Default)]
pub(crate) struct ProberSet {
    is_prober: Vec<bool>,
}

impl ProberSet {
    /// The clients with at least `distinct_paths` distinct paths, from pairs of a client and a path
    /// in any order.
    #[must_use]
    pub(crate) fn from_requests(mut requested: Vec<(u32, u32)>, distinct_paths: u32) -> Self {
        requested.sort_unstable();
        requested.dedup();
        let mut is_prober = Vec::new();
        for paths in requested
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|paths| paths.len() >= distinct_paths as usize)
        {
            let client = paths[0].0 as usize;
            is_prober.resize(client + 1, false);
            is_prober[client] = true;
        }
        Self { is_prober }
    }

    /// Only the clients whose requests are those of a prober; `requests` are by client.
    #[must_use]
    pub(crate) fn with_requests(mut self, requests: &[ClientRequests]) -> Self {
        for (is_prober, requests) in self.is_prober.iter_mut().zip(requests) {
            *is_prober &= requests.are_of_prober();
        }
        self
    }

    /// Whether a client is a prober.
    #[must_use]
    pub(crate) fn contains(&self, client: u32) -> bool {
        self.is_prober
            .get(client as usize)
            .copied()
            .unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_requests_of_a_prober_are_probes() {
        let requests = |hits, others, unknown| ClientRequests {
            hits,
            others,
            unknown,
        };
        for (of, is_prober, ordinary) in [
            (requests(5, 15, 15), true, 0),
            (requests(5, 15, 5), true, 10),
            (requests(5, 15, 4), false, 15),
            (requests(5, 5, 0), true, 5),
            (requests(5, 6, 0), false, 6),
            (requests(0, 9, 9), true, 0),
            (requests(0, 9, 4), false, 9),
        ] {
            assert_eq!(
                (of.are_of_prober(), of.ordinary()),
                (is_prober, ordinary),
                "{of:?}"
            );
        }
    }

    #[test]
    fn a_redirect_or_one_page_is_an_unknown_name_if_probes_got_it_too() {
        let (page, other) = (
            SizeSpan {
                least: 500,
                most: 510,
            },
            SizeSpan {
                least: 90,
                most: 9_000,
            },
        );
        let unmatched = |served, sizes| UnmatchedAnswers {
            refused: 1,
            redirected: 10,
            served,
            sizes,
        };
        let probes = |is_redirected, soft_404| ProbeResponses {
            is_redirected,
            soft_404,
            ..ProbeResponses::default()
        };
        let none = SizeSpan::default();
        for (of_probes, of_others, expected) in [
            (probes(false, none), unmatched(0, none), 1),
            (probes(true, none), unmatched(0, none), 11),
            (probes(false, none), unmatched(100, page), 1),
            (probes(false, page), unmatched(100, page), 101),
            (probes(false, page), unmatched(100, other), 1),
            (
                probes(
                    false,
                    SizeSpan {
                        least: 900,
                        most: 900,
                    },
                ),
                unmatched(100, page),
                1,
            ),
            (probes(true, page), unmatched(100, page), 111),
        ] {
            assert_eq!(
                of_probes.unknown(of_others),
                expected,
                "{of_probes:?} {of_others:?}"
            );
        }
    }

    #[test]
    fn counts_distinct_paths() {
        let requested = vec![
            (7, 1),
            (2, 1),
            (7, 2),
            (2, 1),
            (2, 1),
            (7, 1),
            (9, 3),
            (9, 4),
        ];
        let probers = ProberSet::from_requests(requested, 2);
        assert_eq!(
            (0..12)
                .filter(|&client| probers.contains(client))
                .collect::<Vec<_>>(),
            [7, 9]
        );
        assert!(!ProberSet::from_requests(vec![(1, 1)], 2).contains(1));
    }
}
