//! Counts of the lines and requests of each input, what was wrong with it, and which inputs were
//! skipped because they are outside the time range. Lines of skipped logs were not read or counted.

use std::ops::AddAssign;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log::finding::OtherFormatCounts;
use crate::log::source::LineSpan;
use crate::log::time::LogTime;
use crate::text::number::{counted, grouped};
use crate::text::redact::sanitize::escape;

/// Counts of lines and requests, of one input or of all:
/// `lines = parsed + unparsed + oversized + skipped + pending`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LineTotals {
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Lines that were parsed.
    pub parsed: u64,
    /// Lines that were not parsed. They were matched as raw text.
    pub unparsed: u64,
    /// Lines longer than the limit. They were not matched.
    pub oversized: u64,
    /// Directives of the log writer, such as `#Version: 1.0`, and lines of files that are no logs.
    pub skipped: u64,
    /// Last lines without a newline, left for the next run.
    pub pending: u64,
    /// Requests within `--since` and `--until`.
    pub requests: u64,
    /// Requests that match at least one rule.
    pub hits: u64,
}

impl AddAssign for LineTotals {
    fn add_assign(&mut self, other: Self) {
        let Self {
            bytes,
            lines,
            parsed,
            unparsed,
            oversized,
            skipped,
            pending,
            requests,
            hits,
        } = other;
        self.bytes += bytes;
        self.lines += lines;
        self.parsed += parsed;
        self.unparsed += unparsed;
        self.oversized += oversized;
        self.skipped += skipped;
        self.pending += pending;
        self.requests += requests;
        self.hits += hits;
    }
}

impl LineTotals {
    /// The counts of all inputs.
    pub(crate) fn sum(inputs: &[InputSummary]) -> Self {
        inputs.iter().fold(Self::default(), |mut sum, input| {
            sum += input.counts;
            sum
        })
    }

    /// The parts of the lines, with their names.
    pub(crate) fn parts(&self) -> [(u64, &'static str); 5] {
        let Self {
            parsed,
            unparsed,
            oversized,
            skipped,
            pending,
            ..
        } = *self;
        [
            (parsed, "parsed"),
            (unparsed, "unparsed"),
            (oversized, "oversized"),
            (skipped, "skipped"),
            (pending, "pending"),
        ]
    }
}

/// One input and its line counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputSummary {
    /// The path as named or found; `-` is standard input. May hold any byte.
    #[serde(with = "crate::log::source")]
    pub path: Vec<u8>,
    /// The host of the log, if known.
    pub log_host: Option<String>,
    /// The format of most of its lines, such as `combined`; `None` where no line parses.
    #[serde(skip)]
    pub format: Option<Arc<str>>,
    /// Counts of its lines and requests.
    #[serde(flatten)]
    pub counts: LineTotals,
    /// Parsed lines per format, for the Common Log Format and its variants, in the order of
    /// [`LogFormat::ALL`](crate::formats::LogFormat::ALL).
    pub formats: [u64; 3],
    /// Parsed lines of other formats, by name.
    pub others: OtherFormatCounts,
    /// The earliest time of a line.
    pub first_time: Option<LogTime>,
    /// The latest time of a line.
    pub last_time: Option<LogTime>,
    /// What was wrong with it: damaged, unreadable, not a log.
    pub problem: Option<String>,
    /// What was perhaps not read as it is meant.
    pub warning: Option<String>,
    /// Why it was not read at all; `None` where it was read.
    pub skipped_whole: Option<SkipReason>,
    /// The byte ranges that were read, if it was not read whole and the ranges are not joined yet.
    pub spans: Vec<LineSpan>,
}

impl InputSummary {
    /// What was wrong with it, and what was perhaps not read as it is meant.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = &str> {
        self.problem.iter().chain(&self.warning).map(String::as_str)
    }
}

/// Why a log was not read: it is entirely outside the requested time range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It was last written to before `--since`.
    BeforeSince,
    /// It begins after `--until`.
    AfterUntil,
}

/// The most names in a notice; the rest are counted.
const NAMED: usize = 3;

/// How many inputs were skipped, and why; `None` if all were read.
#[must_use]
pub(crate) fn skipped_sentence(inputs: &[InputSummary]) -> Option<String> {
    let many = |why| skipped_inputs(inputs, why).count() as u64;
    let (before, after) = (many(SkipReason::BeforeSince), many(SkipReason::AfterUntil));
    let reasons = [
        (before, skip_reason(SkipReason::BeforeSince, before)),
        (after, skip_reason(SkipReason::AfterUntil, after)),
    ];
    let reasons: Vec<_> = reasons.into_iter().filter(|(many, _)| *many > 0).collect();
    let why = match reasons.as_slice() {
        [] => return None,
        [(_, only)] => (*only).to_owned(),
        more => more
            .iter()
            .map(|(many, reason)| format!("{} {reason}", grouped(*many)))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let inputs = counted(before + after, "input was", "inputs were");
    Some(format!("{inputs} skipped unread: {why}."))
}

/// A notice for each reason, with the first names.
pub(crate) fn skipped_notices(inputs: &[InputSummary]) -> impl Iterator<Item = String> {
    [SkipReason::BeforeSince, SkipReason::AfterUntil]
        .into_iter()
        .filter_map(|why| {
            let many = skipped_inputs(inputs, why).count();
            let names: Vec<_> = skipped_inputs(inputs, why)
                .take(NAMED)
                .map(|input| escape(&input.path))
                .collect();
            let more = if many > NAMED {
                format!(" and {} more", grouped((many - NAMED) as u64))
            } else {
                String::new()
            };
            let inputs = counted(many as u64, "input", "inputs");
            (many > 0).then(|| {
                format!(
                    "{inputs} skipped unread, {}: {}{more}",
                    skip_reason(why, many as u64),
                    names.join(", ")
                )
            })
        })
}

fn skipped_inputs(inputs: &[InputSummary], why: SkipReason) -> impl Iterator<Item = &InputSummary> {
    inputs
        .iter()
        .filter(move |input| input.skipped_whole == Some(why))
}

fn skip_reason(why: SkipReason, many: u64) -> &'static str {
    match (why, many) {
        (SkipReason::BeforeSince, _) => "last written before --since",
        (SkipReason::AfterUntil, 1) => "begins after --until",
        (SkipReason::AfterUntil, _) => "begin after --until",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(reasons: &[Option<SkipReason>]) -> Vec<InputSummary> {
        let named = |(name, &skipped_whole): (u8, _)| InputSummary {
            path: vec![name],
            skipped_whole,
            ..InputSummary::default()
        };
        (b'a'..).zip(reasons).map(named).collect()
    }

    #[test]
    fn counts_and_reasons_are_named() {
        let (since, until) = (Some(SkipReason::BeforeSince), Some(SkipReason::AfterUntil));
        assert_eq!(skipped_sentence(&inputs(&[None, None])), None);
        let one = inputs(&[None, until]);
        assert_eq!(
            skipped_sentence(&one).unwrap(),
            "1 input was skipped unread: begins after --until."
        );
        let all = inputs(&[since, since, None, since, until, since]);
        assert_eq!(
            skipped_sentence(&all).unwrap(),
            "5 inputs were skipped unread: 4 last written before --since, 1 begins after --until."
        );
        let texts: Vec<_> = skipped_notices(&all).collect();
        assert_eq!(
            texts,
            [
                "4 inputs skipped unread, last written before --since: a, b, d and 1 more",
                "1 input skipped unread, begins after --until: e"
            ]
        );
    }
}
