//! Answers of a live log that are kept for the next run: those that wait to be settled, and those
//! that may be withdrawn.
//!
//! An answer is stored with the numbers that the grader needs, and with its request as alerts print
//! it: redacted, and without referer, agent and user. One whose request or site is no UTF-8 is not
//! stored.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::live::PendingHit;
use super::settle::Probe;
use crate::judge::site::{RuleHashes, SiteName};
use crate::log::finding::RuleId;
use crate::log::log_entry::LogEntry;
use crate::log::time::LogTime;
use crate::soft_404::{Answer, MethodClass, PathShape, Response, ShapeNumbers};

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
    pub(super) answer: Answer,
    pub(super) is_settled: bool,
    pub(super) is_supported: bool,
}

/// A request as alerts print it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedRequest {
    client: String,
    host: Option<String>,
    /// Seconds since 1970, and minutes east of UTC.
    time: Option<(i64, i16)>,
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
            time: time.map(|time| (time.utc, time.offset)),
            request,
            status,
            bytes,
        })
    }

    fn entry(&self) -> LogEntry<'_> {
        LogEntry {
            client: self.client.as_bytes(),
            host: self.host.as_deref().map(str::as_bytes),
            time: self.time.map(|(utc, offset)| LogTime { utc, offset }),
            request: self.request.as_bytes(),
            status: self.status,
            bytes: self.bytes,
            ..LogEntry::default()
        }
    }
}

/// What an answer is stored from.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerParts<'a> {
    pub(super) site: SiteName<'a>,
    pub(super) line: &'a PendingHit,
    pub(super) probe: &'a Probe,
    pub(super) response: &'a Response,
    pub(super) logged: Option<i64>,
    pub(super) answer: Answer,
    pub(super) is_settled: bool,
    pub(super) is_supported: bool,
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
        answers: impl Iterator<Item = AnswerParts<'a>>,
        withdrawn: impl Iterator<Item = u64>,
        rules: &RuleHashes,
        request_of: &mut impl FnMut(&PendingHit) -> Option<SavedRequest>,
    ) -> Self {
        let mut latest: Vec<AnswerParts<'a>> = answers.collect();
        latest.sort_by_key(|parts| (Reverse(parts.logged), parts.line.id()));
        latest.truncate(MAX_ANSWERS);
        latest.sort_by_key(|parts| parts.line.id());
        let answers = latest
            .iter()
            .filter_map(|parts| SavedAnswer::new(parts, rules, request_of))
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
        parts: &AnswerParts<'_>,
        rules: &RuleHashes,
        request_of: &mut impl FnMut(&PendingHit) -> Option<SavedRequest>,
    ) -> Option<Self> {
        let AnswerParts {
            site,
            line,
            probe,
            response,
            logged,
            answer,
            is_settled,
            is_supported,
        } = *parts;
        let (is_host, site) = match site {
            SiteName::Host(name) => (true, name),
            SiteName::Log(name) => (false, name),
        };
        let place = line.line();
        let text = |bytes: &[u8]| String::from_utf8(bytes.into()).ok();
        Some(Self {
            is_host,
            site: text(site)?,
            family: text(place.family)?,
            source: text(place.source)?,
            generation: place.generation,
            offset: place.offset,
            line: place.line,
            request: request_of(line)?,
            rules: place
                .rules
                .iter()
                .filter_map(|&rule| rules.hash(rule))
                .collect(),
            path: probe.path,
            folder: probe.folder,
            shape: probe.shape.into(),
            response: response_numbers(response),
            logged,
            answer,
            is_settled,
            is_supported,
        })
    }

    pub(super) fn site(&self) -> SiteName<'_> {
        if self.is_host {
            SiteName::Host(self.site.as_bytes())
        } else {
            SiteName::Log(self.site.as_bytes())
        }
    }

    pub(super) fn family(&self) -> &[u8] {
        self.family.as_bytes()
    }

    pub(super) fn logged(&self) -> Option<i64> {
        self.logged
    }

    pub(super) fn probe(&self) -> Probe {
        Probe {
            path: self.path,
            shape: PathShape::from(self.shape),
            folder: self.folder,
        }
    }

    pub(super) fn response(&self) -> Response {
        response_from_numbers(self.response)
    }

    /// The line, with the rules that still exist.
    pub(super) fn line(&self, rules: &RuleHashes) -> PendingHit {
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
        PendingHit {
            generation,
            source: self.source.as_bytes().into(),
            family: self.family.as_bytes().into(),
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
        let (probe, site) = (Probe::new(b"/api/v1/x"), SiteName::Host(b"a.example"));
        let entry = LogEntry {
            client: b"192.0.2.7",
            request: b"GET /api/v1/x HTTP/1.1",
            status: Some(200),
            ..LogEntry::default()
        };
        let mut stored = Vec::new();
        entry.store(&mut stored);
        let line = |offset| PendingHit {
            generation: 1,
            source: (*b"a.log").into(),
            family: (*b"a").into(),
            offset,
            line: offset,
            text: stored.clone().into(),
            parsed: true,
            rules: [RuleId(0)].into(),
            is_saved: false,
        };
        let lines: Vec<PendingHit> = (0..600).map(line).collect();
        let parts = lines.iter().map(|line| AnswerParts {
            site,
            line,
            probe: &probe,
            response: &response,
            logged: Some(line.id().1.cast_signed()),
            answer: Answer::Distinct,
            is_settled: true,
            is_supported: false,
        });
        let saved = SavedAnswers::new(parts, 0..600, &rules, &mut |_| SavedRequest::new(&entry));
        let text = serde_json::to_string(&saved).expect("numbers and texts");
        let (answers, withdrawn) = serde_json::from_str::<SavedAnswers>(&text)
            .expect("what was written")
            .into_parts();
        assert_eq!(
            (answers.len(), answers[0].line(&rules).id(), withdrawn.len()),
            (512, (1, 88), 512)
        );
        let first = &answers[0];
        assert_eq!(
            (
                first.site(),
                first.probe(),
                first.response(),
                first.logged()
            ),
            (site, probe, response, Some(88))
        );
        assert_eq!(
            first.line(&rules),
            PendingHit {
                is_saved: true,
                ..line(88)
            }
        );
    }
}
