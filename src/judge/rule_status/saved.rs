//! Answers of a live log that are kept for the next run: those that wait to be settled, and those
//! that may be withdrawn.
//!
//! An answer is stored with the numbers that the grader needs, and with its request as alerts print
//! it: redacted, and without referer, agent and user. One whose request or site is no UTF-8 is not
//! stored.

use std::cmp::Reverse;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::live::{LiveLine, TrackedAnswer};
use super::settle::{Arrival, Probe};
use crate::judge::site::{RuleHashes, SiteName};
use crate::log::finding::RuleId;
use crate::log::log_entry::LogEntry;
use crate::log::time::LogTime;
use crate::soft_404::{Answer, Grade, MethodClass, PathShape, Response, ShapeNumbers};

/// The most answers; the earliest are dropped first.
const MAX_ANSWERS: usize = 512;
/// The most sites with a withdrawn find.
const MAX_SITES: usize = 512;

/// The answers that a run of `follow` keeps for the next one: at most 512.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedAnswers {
    answers: Vec<SavedAnswer>,
    /// Hashes of the sites on which a find was withdrawn.
    withdrawn: Vec<u64>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedAnswer {
    is_host: bool,
    site: String,
    family: String,
    source: String,
    generation: u64,
    offset: u64,
    line: u64,
    request: SavedRequest,
    /// Hashes of rule IDs.
    rules: Vec<u64>,
    path: u64,
    folder: u64,
    shape: ShapeNumbers,
    response: ResponseNumbers,
    logged: Option<i64>,
    answer: Answer,
    is_settled: bool,
    is_supported: bool,
}

/// A request as alerts print it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedRequest {
    client: String,
    host: Option<String>,
    time: Option<LogTime>,
    request: String,
    status: Option<u16>,
    bytes: Option<u64>,
}

impl SavedRequest {
    /// The request of an entry without referer, agent and user; `None` if a text is no UTF-8.
    pub(crate) fn new(entry: &LogEntry<'_>) -> Option<Self> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.into()).ok();
        let host = match entry.host {
            Some(host) => Some(text(host)?),
            None => None,
        };
        let LogEntry {
            time,
            status,
            bytes,
            ..
        } = *entry;
        let (client, request) = (text(entry.client)?, text(entry.request)?);
        Some(Self {
            client,
            host,
            time,
            request,
            status,
            bytes,
        })
    }

    fn entry(&self) -> LogEntry<'_> {
        LogEntry {
            client: self.client.as_bytes(),
            host: self.host.as_deref().map(str::as_bytes),
            time: self.time,
            request: self.request.as_bytes(),
            status: self.status,
            bytes: self.bytes,
            ..LogEntry::default()
        }
    }
}

impl SavedAnswers {
    /// Whether there are none.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.withdrawn.is_empty()
    }

    /// The latest of these answers, and the sites on which a find was withdrawn. `request_of` is
    /// the request of a line.
    pub(super) fn new<'a>(
        answers: impl Iterator<Item = (SiteName<'a>, &'a TrackedAnswer)>,
        withdrawn: impl Iterator<Item = u64>,
        rules: &RuleHashes,
        request_of: &mut impl FnMut(&LiveLine<'_>) -> Option<SavedRequest>,
    ) -> Self {
        let mut latest: Vec<(SiteName<'a>, &TrackedAnswer)> = answers.collect();
        latest.sort_by_key(|(_, answer)| (Reverse(answer.arrival.logged), answer.line.id()));
        latest.truncate(MAX_ANSWERS);
        latest.sort_by_key(|(_, answer)| answer.line.id());
        let answers = latest
            .into_iter()
            .filter_map(|(site, answer)| SavedAnswer::new(site, answer, rules, request_of))
            .collect();
        let mut withdrawn: Vec<u64> = withdrawn.take(MAX_SITES).collect();
        withdrawn.sort_unstable();
        Self { answers, withdrawn }
    }

    /// The answers, and the hashes of sites.
    pub(super) fn into_parts(self) -> (Vec<SavedAnswer>, Vec<u64>) {
        (self.answers, self.withdrawn)
    }
}

impl SavedAnswer {
    fn new(
        site: SiteName<'_>,
        tracked: &TrackedAnswer,
        rules: &RuleHashes,
        request_of: &mut impl FnMut(&LiveLine<'_>) -> Option<SavedRequest>,
    ) -> Option<Self> {
        let TrackedAnswer {
            probe,
            response,
            grade,
            arrival,
            is_settled,
            is_supported,
            line,
            ..
        } = tracked;
        let text = |bytes: &[u8]| String::from_utf8(bytes.into()).ok();
        Some(Self {
            is_host: site.is_host,
            site: text(site.name)?,
            family: text(&line.family)?,
            source: text(&line.source)?,
            generation: line.generation,
            offset: line.offset,
            line: line.line,
            request: request_of(line)?,
            rules: line
                .rules
                .iter()
                .filter_map(|&rule| rules.hash(rule))
                .collect(),
            path: probe.path,
            folder: probe.folder,
            shape: probe.shape.into(),
            response: response_numbers(response),
            logged: arrival.logged,
            answer: grade.answer,
            is_settled: *is_settled,
            is_supported: *is_supported,
        })
    }

    pub(super) fn site(&self) -> SiteName<'_> {
        SiteName {
            is_host: self.is_host,
            name: self.site.as_bytes(),
        }
    }

    /// The answer, with the rules that still exist. `clock` is the time since the start of the run.
    pub(super) fn restored(&self, rules: &RuleHashes, clock: Duration) -> TrackedAnswer {
        TrackedAnswer {
            probe: Probe {
                path: self.path,
                shape: PathShape::from(self.shape),
                folder: self.folder,
            },
            response: response_from_numbers(self.response),
            grade: Grade {
                answer: self.answer,
                ..Grade::DISTINCT
            },
            arrival: Arrival {
                logged: self.logged,
                clock,
                position: 0,
            },
            is_settled: self.is_settled,
            stood_out: false,
            is_supported: self.is_supported,
            may_alert: false,
            line: self.line(rules),
        }
    }

    fn line(&self, rules: &RuleHashes) -> LiveLine<'static> {
        let mut matched: Vec<RuleId> = self
            .rules
            .iter()
            .filter_map(|hash| rules.number(*hash))
            .collect();
        matched.sort_unstable();
        let Self {
            generation,
            offset,
            line,
            ..
        } = *self;
        let mut text = Vec::new();
        self.request.entry().store(&mut text);
        LiveLine {
            generation,
            source: self.source.as_bytes().to_vec().into(),
            family: self.family.as_bytes().to_vec().into(),
            offset,
            line,
            text: text.into(),
            parsed: true,
            rules: matched.into(),
            is_saved: true,
        }
    }
}

/// A response as numbers: method, status, size, and the bytes of the target beyond the path.
pub(crate) type ResponseNumbers = (u8, Option<u16>, Option<u64>, u8);

pub(crate) fn response_numbers(response: &Response) -> ResponseNumbers {
    (
        response.method as u8,
        response.status,
        response.bytes,
        response.extra,
    )
}

pub(crate) fn response_from_numbers((method, status, bytes, extra): ResponseNumbers) -> Response {
    Response {
        method: MethodClass::from_u8(method),
        status,
        bytes,
        extra,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soft_404::MethodClass;

    #[test]
    fn the_latest_512_answers_are_saved() {
        let rules = RuleHashes::new(["a/b"].into_iter());
        let response = Response {
            method: MethodClass::Get,
            status: Some(200),
            bytes: Some(7),
            extra: 0,
        };
        let (probe, site) = (Probe::new(b"/api/v1/x"), SiteName::host(b"a.example"));
        let entry = LogEntry {
            client: b"192.0.2.7",
            request: b"GET /api/v1/x HTTP/1.1",
            status: Some(200),
            ..LogEntry::default()
        };
        let mut stored = Vec::new();
        entry.store(&mut stored);
        let line = |offset| LiveLine {
            generation: 1,
            source: b"a.log".into(),
            family: b"a".into(),
            offset,
            line: offset,
            text: stored.clone().into(),
            parsed: true,
            rules: vec![RuleId(0)].into(),
            is_saved: false,
        };
        let answer = |line: LiveLine<'static>| TrackedAnswer {
            probe,
            response,
            grade: Grade::DISTINCT,
            arrival: Arrival {
                logged: Some(line.id().1.cast_signed()),
                clock: Duration::ZERO,
                position: 0,
            },
            is_settled: true,
            stood_out: false,
            is_supported: false,
            may_alert: false,
            line,
        };
        let answers: Vec<TrackedAnswer> = (0..600).map(line).map(answer).collect();
        let answers = answers.iter().map(|answer| (site, answer));
        let saved = SavedAnswers::new(answers, 0..600, &rules, &mut |_| SavedRequest::new(&entry));
        let text = serde_json::to_string(&saved).expect("numbers and texts");
        let (answers, withdrawn) = serde_json::from_str::<SavedAnswers>(&text)
            .expect("what was written")
            .into_parts();
        assert_eq!(
            (answers.len(), answers[0].line(&rules).id(), withdrawn.len()),
            (512, (1, 88), 512)
        );
        let first = answers[0].restored(&rules, Duration::ZERO);
        assert_eq!(
            (
                answers[0].site(),
                first.probe,
                first.response,
                first.arrival.logged
            ),
            (site, probe, response, Some(88))
        );
        assert_eq!(
            first.line,
            LiveLine {
                is_saved: true,
                ..line(88)
            }
        );
    }
}
