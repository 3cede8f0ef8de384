//! What a client got for the requests that no rule matched.

use crate::log::finding::UnmatchedAnswer;
use crate::soft_404::page_tolerance;

/// The answers to the requests of one client that no rule matched, without those for the home page.
/// Counts are of 4 bytes, because there is one of each for every client; above that they stay at
/// the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnmatchedAnswers {
    /// Requests for a name that the server refused.
    pub refused: u32,
    /// Requests that were redirected.
    pub redirected: u32,
    /// Requests that got a page.
    pub served: u32,
    /// The least and the greatest size of those pages; the least is above the greatest if there is
    /// none.
    pub sizes: SizeSpan,
}

/// The least and the greatest of some sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeSpan {
    /// The least.
    pub least: u32,
    /// The greatest, less than the least if there is none.
    pub most: u32,
}

impl Default for SizeSpan {
    fn default() -> Self {
        Self {
            least: u32::MAX,
            most: 0,
        }
    }
}

impl SizeSpan {
    /// The size of a page; none of another answer.
    #[inline]
    pub(super) fn of(answer: UnmatchedAnswer) -> Self {
        answer.page().map_or(Self::default(), |size| Self {
            least: size,
            most: size,
        })
    }

    /// Adds a size.
    pub fn add(&mut self, size: u32) {
        self.merge(Self {
            least: size,
            most: size,
        });
    }

    /// Adds other sizes.
    pub fn merge(&mut self, other: Self) {
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Whether all may be sizes of one page. There must be one.
    #[must_use]
    pub fn is_one_page(self) -> bool {
        self.most
            .checked_sub(self.least)
            .is_some_and(|range| u64::from(range) <= page_tolerance(self.least.into()))
    }
}

impl UnmatchedAnswers {
    /// The answers to requests, by the class of the answer.
    pub(super) fn from_classes(
        [_, refused, redirected, served]: [u32; UnmatchedAnswer::CLASSES],
        sizes: SizeSpan,
    ) -> Self {
        Self {
            refused,
            redirected,
            served,
            sizes,
        }
    }

    /// Adds requests with this status and size.
    pub fn add_requests(&mut self, status: Option<u16>, bytes: Option<u64>, requests: u64) {
        self.add(UnmatchedAnswer::new(status, bytes), requests);
    }

    /// Adds requests that got an answer.
    pub(super) fn add(&mut self, answer: UnmatchedAnswer, requests: u64) {
        let mut classes = [0; UnmatchedAnswer::CLASSES];
        classes[usize::from(answer.class())] = requests.try_into().unwrap_or(u32::MAX);
        self.merge(Self::from_classes(classes, SizeSpan::of(answer)));
    }

    /// Adds those of another tally.
    pub fn merge(&mut self, other: Self) {
        self.refused = self.refused.saturating_add(other.refused);
        self.redirected = self.redirected.saturating_add(other.redirected);
        self.served = self.served.saturating_add(other.served);
        self.sizes.merge(other.sizes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_one_page_differ_by_16_bytes_or_a_twentieth() {
        let span = |sizes: &[u32]| {
            sizes.iter().fold(SizeSpan::default(), |mut span, &size| {
                span.add(size);
                span
            })
        };
        for (sizes, expected) in [
            (&[][..], false),
            (&[0], true),
            (&[500, 500, 500], true),
            (&[100, 116], true),
            (&[100, 117], false),
            (&[1_000, 1_050], true),
            (&[1_000, 1_051], false),
        ] {
            assert_eq!(span(sizes).is_one_page(), expected, "{sizes:?}");
        }
    }

    #[test]
    fn answers_are_counted_in_any_order() {
        let answers = [
            (Some(404), Some(9)),
            (Some(302), None),
            (Some(200), Some(700)),
            (Some(200), Some(500)),
            (Some(206), Some(600)),
        ];
        let count = |answers: &[(Option<u16>, Option<u64>)]| {
            answers
                .iter()
                .fold(UnmatchedAnswers::default(), |mut sum, (status, bytes)| {
                    sum.add_requests(*status, *bytes, 1);
                    sum
                })
        };
        let (mut first, last) = (count(&answers[..2]), count(&answers[2..]));
        first.merge(last);
        assert_eq!(first, count(&answers));
        assert_eq!(
            first,
            UnmatchedAnswers {
                refused: 1,
                redirected: 1,
                served: 3,
                sizes: SizeSpan {
                    least: 500,
                    most: 700
                }
            }
        );
    }
}
