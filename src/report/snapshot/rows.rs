//! The rows of a snapshot: a JSON value each, mostly an array, because there are many of them and
//! field names would repeat.
//!
//! Types that read themselves check their values; whether a row fits the others is checked by the
//! decoder.

use std::borrow::Cow;

use serde::{Deserialize, Serialize, Serializer};

use crate::log::days::RequestDays;
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::rules::{By, Guess};
use crate::scan::input_summary::InputSummary;
use crate::soft_404::{PathNumbers, RuleSubject};
use crate::tally::ErrorFloor;

/// A row, such as `{"path":"/.env"}`. Numbers are indices of earlier rows of one kind, from 0.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SnapshotRow<'a> {
    /// What all rows have in common. It is the first one.
    Head(HeadRow),
    Rule(RuleRow<'a>),
    Input(InputSummary),
    /// The first one is empty and stands for no host.
    Host(#[serde(borrow)] Cow<'a, str>),
    /// A client, all its requests, and the allowed ones.
    Client(#[serde(borrow)] Cow<'a, str>, u64, u64),
    /// The index of a client, and its requests that no rule matched: how many were refused,
    /// redirected and served, and the least and the greatest size of what was served.
    UnmatchedAnswers(u32, u32, u32, u32, u32, u32),
    Path(#[serde(borrow)] Cow<'a, str>),
    /// The rules that matched a request.
    List(Vec<u32>),
    /// The generation of a log.
    Generation(u64),
    /// A user agent, redacted.
    Agent(#[serde(borrow)] Cow<'a, str>),
    /// The times of the next cell between its first and its last: its hits without a time, hours of
    /// the week and their hits in turn, and buckets and their hits in turn. Each bucket is the
    /// number after the one before it; the first one is that after the bucket of the first time.
    Times(u64, Vec<u64>, Vec<u64>),
    Cell(#[serde(borrow)] CellRow<'a>),
    /// Requests that rules with a window count: the index of a client or of a path, that of a list
    /// of rules, the minute since 1970, and the requests.
    Minute(Option<u32>, Option<u32>, u32, i64, u64),
    /// Evidence of an app: the rule, the input or the host, the clients and sizes while they are
    /// not sufficient, and the magnitudes of the sizes.
    AppEvidence(
        u32,
        Option<u32>,
        Option<u32>,
        Option<Vec<u32>>,
        Option<Vec<u64>>,
        u64,
    ),
    /// Sizes of the home page of an input or a host, sorted.
    HomePage(Option<u32>, Option<u32>, Vec<u64>),
    /// The response of a site for a path whose cells may be pruned: the input or the host, the hash
    /// of the path, the rules, and the response.
    SitePath(Option<u32>, Option<u32>, u64, Vec<u32>, PathNumbers),
    /// An entry of an allow list and its requests: file, line, reason, requests.
    Allowed(Cow<'a, str>, usize, Cow<'a, str>, u64),
    /// The index of a client, and the most hits and requests that it may lack.
    ClientError(u32, u64, u64),
    /// The index of a path, and the most hits that it may lack.
    PathError(u32, u64),
}

/// What all rows of a snapshot have in common.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HeadRow {
    /// The host whose logs were read, if known.
    pub(crate) log_host: Option<String>,
    /// The day or hour of the report, if the run was split into periods.
    pub(crate) period: Option<String>,
    pub(crate) ipv6_prefix: Option<u8>,
    /// Seconds of a bucket of times.
    pub(crate) time_unit: i64,
    /// Whether hours of the week are counted.
    pub(crate) has_hours: bool,
    /// Lines without a time, if a time range was given.
    pub(crate) without_time: u64,
    /// Days since 1970 and their requests; null if there are too many days.
    pub(crate) days: RequestDays,
    /// Requests that are in no minute.
    pub(crate) uncounted: u64,
    /// The most that an absent key may have had, if anything was evicted.
    pub(crate) floor: Option<ErrorFloor>,
}

/// A rule, for readers that do not have it.
#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a key of a rule")]
pub(crate) struct RuleRow<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) title: Cow<'a, str>,
    pub(crate) class: Cow<'a, str>,
    pub(crate) severity: Severity,
    pub(crate) exposes: bool,
    /// The number of distinct paths, and their classes.
    pub(crate) with_client: Option<(u32, Vec<Cow<'a, str>>)>,
    /// Whether these paths must have got the same answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) same_answer: bool,
    /// A single request is no finding.
    pub(crate) window: bool,
    /// The window: by client or path, requests, seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<(By, u32, u32)>,
    /// The most other requests of a client of the window, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) others: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) guess: Option<Guess>,
    pub(crate) unless_app: Vec<Cow<'a, str>>,
    pub(crate) is_app_evidence: bool,
    pub(crate) subject: RuleSubject,
    pub(crate) cve: Vec<Cow<'a, str>>,
}

/// A cell, written as an array. Without a path, it holds the evicted pairs of a client; without a
/// client too, it holds evicted clients. With a path and without a client, it holds the evicted
/// pairs of that path; those hits are in other cells as well. Without a host, it belongs to the
/// overflow: further hits of a pair, a client or a path on several sites. Those hits are in other
/// cells as well, the input is that of the sample, and there is no size.
#[derive(Debug, Deserialize)]
pub(crate) struct CellRow<'a> {
    pub(crate) client: Option<u32>,
    pub(crate) path: Option<u32>,
    pub(crate) list: u32,
    pub(crate) status: Option<u16>,
    pub(crate) input: u32,
    pub(crate) host: Option<u32>,
    pub(crate) answered: bool,
    /// Its response shows how the site answers unknown paths.
    pub(crate) is_probe: bool,
    /// The class of the method: 0 GET, 1 POST, 2 HEAD, 3 others.
    pub(crate) method: u8,
    pub(crate) bytes: Option<u64>,
    /// Bytes of the target beyond the path.
    pub(crate) extra: u8,
    pub(crate) hits: u64,
    /// The most hits of the pair that may be uncounted.
    pub(crate) error: u64,
    pub(crate) times: Option<(LogTime, LogTime)>,
    #[serde(borrow)]
    pub(crate) sample: SampleRow<'a>,
}

/// A request that is an example of a cell, written as an array.
#[derive(Debug, Deserialize)]
pub(crate) struct SampleRow<'a> {
    pub(crate) time: Option<LogTime>,
    /// The index of the generation of its log.
    pub(crate) generation: u32,
    pub(crate) offset: u64,
    pub(crate) line: u64,
    /// Redacted; `None` if it is the path of the cell.
    pub(crate) target: Option<Cow<'a, str>>,
    /// Redacted; `None` if it is the host of the cell.
    pub(crate) host: Option<Cow<'a, str>>,
    /// The index of its user agent.
    pub(crate) agent: Option<u32>,
    /// Redacted.
    pub(crate) user: Option<Cow<'a, str>>,
}

impl Serialize for CellRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Self {
            client,
            path,
            list,
            status,
            input,
            host,
            answered,
            is_probe,
            method,
            bytes,
            extra,
            hits,
            error,
            times,
            ref sample,
        } = self;
        (
            client, path, list, status, input, host, answered, is_probe, method, bytes, extra,
            hits, error, times, sample,
        )
            .serialize(serializer)
    }
}

impl Serialize for SampleRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self {
            time,
            generation,
            offset,
            line,
            target,
            host,
            agent,
            user,
        } = self;
        (time, generation, offset, line, target, host, agent, user).serialize(serializer)
    }
}
