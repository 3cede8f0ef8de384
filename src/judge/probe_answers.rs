//! What the answers to the probes of one client have in common. A rule with `same_answer` compares
//! a request with them.
//!
//! Sums up answers, and finds no prober.

use std::ops::RangeInclusive;

use foldhash::HashMap;

use crate::log::log_entry::Outcome;
use crate::soft_404::{Response, page_tolerance};

/// What an answer has in common with others to the same client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommonAnswer {
    /// Neither answered nor redirected: there is nothing to compare.
    Refused,
    /// Nothing to compare it by: a 304, or a size that is unknown.
    Unlike,
    /// The status, and the size in bytes; 0 for a redirect, whose size depends on its target.
    Given(u16, u64),
}

impl CommonAnswer {
    /// That of a response.
    pub(crate) fn new(response: &Response) -> Self {
        match (
            response.status,
            Outcome::from_status(response.status),
            response.bytes,
        ) {
            (Some(status), Outcome::Redirected, _) => Self::Given(status, 0),
            (Some(status @ 200..300), _, Some(bytes)) => Self::Given(status, bytes),
            (_, Outcome::Answered, _) => Self::Unlike,
            _ => Self::Refused,
        }
    }

    /// Whether it is evidence beside enough others: a refusal always, another answer if enough of
    /// them are like it, as `is_common` finds out of its status and size.
    pub(crate) fn agrees(self, is_common: impl FnOnce(u16, u64) -> bool) -> bool {
        match self {
            Self::Refused => true,
            Self::Unlike => false,
            Self::Given(status, size) => is_common(status, size),
        }
    }

    /// The sizes that are those of one page, see [`page_tolerance`].
    pub(crate) fn same_sizes(size: u64) -> RangeInclusive<u64> {
        let difference = page_tolerance(size);
        size.saturating_sub(difference)..=size.saturating_add(difference)
    }
}

/// A client, a site and a status.
type AnswerKey<S> = (u32, S, u16);

/// The answers that clients got for several distinct paths that rules name.
#[derive(Debug)]
pub(crate) struct ProbeAnswers<S> {
    /// A client, a site and a status; a size; and the least size from which on this and the sizes
    /// between belong to enough distinct paths. Sorted.
    answers: Vec<(AnswerKey<S>, u64, Option<u64>)>,
}

impl<S: Copy + Ord> ProbeAnswers<S> {
    /// From answers with their paths, in any order.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "the window begins with the answer whose path it counts"
    )]
    pub(crate) fn new(mut answers: Vec<(AnswerKey<S>, u64, u32)>, distinct_paths: u32) -> Self {
        answers.sort_unstable();
        answers.dedup();
        let mut all = Vec::with_capacity(answers.len());
        for group in answers.chunk_by(|a, b| a.0 == b.0) {
            let (mut paths, mut end): (HashMap<u32, usize>, usize) = (HashMap::default(), 0);
            for &(key, size, path) in group {
                while paths.len() < distinct_paths as usize && end < group.len() {
                    *paths.entry(group[end].2).or_default() += 1;
                    end += 1;
                }
                let last = (paths.len() >= distinct_paths as usize).then(|| group[end - 1].1);
                all.push((key, size, last));
                let count = paths
                    .get_mut(&path)
                    .expect("the window begins with this answer");
                *count -= 1;
                if *count == 0 {
                    paths.remove(&path);
                }
            }
        }
        Self { answers: all }
    }

    /// Whether a client got such an answer, of about this size, for enough distinct paths.
    #[must_use]
    pub(crate) fn include(&self, client: u32, site: S, status: u16, bytes: u64) -> bool {
        let (key, sizes) = ((client, site, status), CommonAnswer::same_sizes(bytes));
        let first = self
            .answers
            .partition_point(|&(other, size, _)| (other, size) < (key, *sizes.start()));
        self.answers.get(first).is_some_and(|&(other, _, last)| {
            other == key && last.is_some_and(|last| last <= *sizes.end())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soft_404::MethodClass;

    #[test]
    fn answers_are_compared_with_those_of_distinct_probes() {
        let answer = |client, size, path| ((client, 'a', 200), size, path);
        let probes = vec![
            answer(1, 1_000, 1),
            answer(1, 1_000, 1),
            answer(1, 1_010, 2),
            answer(1, 1_016, 3),
            answer(1, 5_000, 4),
            answer(2, 900, 1),
        ];
        let answers = ProbeAnswers::new(probes.clone(), 3);
        let sizes = |client, site, status| {
            (900..=5_500)
                .step_by(10)
                .filter(|&size| answers.include(client, site, status, size))
                .collect::<Vec<_>>()
        };
        let found = sizes(1, 'a', 200);
        assert_eq!(
            (found.first(), found.last()),
            (Some(&970), Some(&1_050)),
            "three distinct paths got within a twentieth of it"
        );
        for (client, site, status) in [(1, 'b', 200), (1, 'a', 302), (2, 'a', 200), (3, 'a', 200)] {
            assert!(sizes(client, site, status).is_empty());
        }
        assert!(
            !ProbeAnswers::new(probes, 4).include(1, 'a', 200, 1_000),
            "the fourth path got another page"
        );
    }

    #[test]
    fn refusals_need_no_comparison() {
        let of = |status, bytes| {
            CommonAnswer::new(&Response {
                method: MethodClass::Get,
                status,
                bytes,
                extra: 0,
            })
        };
        assert_eq!(
            [
                of(Some(404), Some(9)),
                of(Some(500), None),
                of(Some(401), None)
            ],
            [CommonAnswer::Refused; 3]
        );
        assert_eq!(
            [of(Some(302), Some(154)), of(Some(302), None)],
            [CommonAnswer::Given(302, 0); 2]
        );
        assert_eq!(
            [of(Some(200), Some(154)), of(Some(206), Some(7))],
            [CommonAnswer::Given(200, 154), CommonAnswer::Given(206, 7)]
        );
        assert_eq!(
            [of(Some(304), Some(0)), of(Some(200), None)],
            [CommonAnswer::Unlike; 2]
        );
        assert_eq!(
            [
                CommonAnswer::same_sizes(100),
                CommonAnswer::same_sizes(2_000)
            ],
            [84..=116, 1_900..=2_100]
        );
    }
}
