//! The data of a report, independent of any output format.
//!
//! Plain data, complete and in its final order. Text of a log is a [`LogText`]. Renderers may
//! truncate (`--top`) and lay out; they do not count or sort.

#![expect(
    clippy::ref_option_ref,
    reason = "what serde derives passes fields by reference"
)]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::labels::Attributed;
use crate::block::NeverBlockReason;
use crate::geoip::GeoInfo;
use crate::judge::proxied::ProxiedClients;
use crate::log::client::{Client, Ipv6Prefix};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::source::{RequestId, SourceInfo};
use crate::log::time::{self, LogTime};
use crate::rules::RuleSet;
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::soft_404::{Answer, Grade, MethodClass};
use crate::tally::{ErrorBound, Tally, union_span};
use crate::text::number::percent;
use crate::text::redact::{self, DecodedText, LogText};

/// A report. Lists hold what the chosen format prints: all rows, the first rows, or none.
/// [`Totals`] has the number of clients, paths and rules.
#[derive(Debug, Clone)]
pub struct ReportModel<'a> {
    /// The rules that [`RuleId`]s point into.
    pub rule_set: &'a RuleSet,
    /// The host whose logs were read, if known.
    pub log_host: Option<String>,
    /// The day or hour of the report, if the run was split into periods.
    pub period: Option<String>,
    /// Which IPv6 addresses count as one client.
    pub prefix: Option<Ipv6Prefix>,
    /// The name of the anonymization method.
    pub hidden: Option<&'static str>,
    /// Every input, in the order it was named or found.
    pub inputs: Vec<InputSummary>,
    /// Sums over all inputs.
    pub totals: Totals,
    /// What the addresses of the clients show; not saved with the report.
    pub proxied: Option<ProxiedClients>,
    /// The most that rows may lack; `None` where they are exact.
    pub approximate: Option<ErrorBound>,
    /// One row per site and path with a distinct answer; counts only the hits that received it.
    pub answered: Vec<Row<'a>>,
    /// One row per site and path with an uncertain answer.
    pub uncertain: Vec<Row<'a>>,
    /// One row per client, path and outcome.
    pub pairs: Vec<Row<'a>>,
    /// One row per client.
    pub clients: Vec<Row<'a>>,
    /// Each client has a decision whether it could be blocked.
    pub has_blocks: bool,
    /// One row per path.
    pub paths: Vec<Row<'a>>,
    /// One row per rule.
    pub rules: Vec<Row<'a>>,
    /// Sites that answer any path.
    pub soft_404: Vec<Soft404<'a>>,
    /// Lists of paths that clients of several networks requested.
    pub campaigns: Vec<Campaign<'a>>,
    /// Clients or paths with more requests than a rule with a `window` allows.
    pub floods: Vec<FloodRow<'a>>,
    /// Hits by class and outcome.
    pub classes: Vec<ClassHits<'a>>,
    /// When hits occurred.
    pub timeline: Timeline,
    /// All requests and the hits by day, the earliest first; empty where the hits are counted in
    /// longer buckets, or where there are more than 400 days.
    pub days: Vec<DayRow>,
    /// Hits by virtual host, most hits first; empty where logs have no host.
    pub hosts: Vec<HostRow<'a>>,
    /// Hits by autonomous system, most hits first; empty without a GeoIP database.
    pub networks: Vec<NetworkRow>,
    /// The hits of each client, if they were requested and `clients` does not have all of them.
    /// Only `networks` is made of them.
    pub client_hits: Vec<ClientHits<'a>>,
    /// The apps that run on the sites, those that suppress most hits first.
    pub apps: Vec<AppSeen<'a>>,
    /// Requests removed by allow lists, one item per entry.
    pub allowed: Vec<AllowedCount<'a>>,
    /// The duration of the run. Only the table prints it, so that other formats give the same bytes
    /// for the same input.
    pub elapsed: Duration,
    /// The data that the report was made of, for the snapshot; `None` if the report shows only a
    /// part of it.
    pub evidence: Option<SnapshotSource<'a>>,
}

/// Sums over all inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "TotalsObject")]
pub struct Totals {
    /// Counts of the lines and requests of all inputs.
    #[serde(flatten)]
    pub sum: LineTotals,
    /// Earliest time of a line, RFC 3339; null where no line has a time.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "Option<String>")]
    pub first_time: Option<LogTime>,
    /// Latest time of a line, RFC 3339; null where no line has a time.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "Option<String>")]
    pub last_time: Option<LogTime>,
    /// Distinct clients with a hit.
    pub clients: u64,
    /// Distinct paths with a hit.
    pub paths: u64,
    /// Rules that matched.
    pub rules: u64,
    /// Hits with a distinct answer.
    pub answered: u64,
    /// Hits whose answer may be distinct.
    pub uncertain: u64,
    /// Hits that got what the site answers to anything.
    pub soft_404: u64,
    /// Lines without a time, kept although a time range was requested.
    pub without_time: u64,
    /// Hits by outcome.
    #[serde(serialize_with = "serialize_outcomes")]
    #[schemars(with = "OutcomeCounts")]
    pub outcomes: [u64; 8],
    /// Highest severity of a hit; null where there is no hit.
    pub severity: Option<Severity>,
    /// Highest severity without soft 404s; `--fail-on` compares with it.
    #[serde(skip)]
    pub fail_severity: Option<Severity>,
    /// Hits of evicted clients are not counted in `clients`.
    #[serde(skip)]
    pub has_more_clients: bool,
    /// Hits of evicted paths are not counted in `paths`.
    #[serde(skip)]
    pub has_more_paths: bool,
}

impl Totals {
    /// Sums the counts and times of all inputs.
    pub(crate) fn sum_up(&mut self, inputs: &[InputSummary]) {
        self.sum = LineTotals::sum(inputs);
        let times = inputs.iter().fold(None, |times, input| {
            union_span(times, input.first_time.zip(input.last_time))
        });
        (self.first_time, self.last_time) = times.unzip();
    }
}

/// Writes counts by [`Outcome`], in the order of [`Outcome::ALL`]. All outcomes are always present.
fn serialize_outcomes<S: Serializer>(counts: &[u64; 8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        Outcome::ALL
            .iter()
            .map(|outcome| outcome.as_str())
            .zip(counts),
    )
}

/// The schema of counts by [`Outcome`].
struct OutcomeCounts;

impl JsonSchema for OutcomeCounts {
    fn schema_name() -> Cow<'static, str> {
        "OutcomeCounts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Outcome::ALL.map(Outcome::as_str);
        json_schema!({ "type": "object", "properties": outcome_properties(), "required": words })
    }
}

/// The schema of each count by [`Outcome`].
pub(crate) fn outcome_properties() -> Map<String, Value> {
    let property = |word: &str| json!({ "type": "integer", "minimum": 0, "description": format!("Hits with the outcome `{word}`.") });
    Outcome::ALL
        .map(Outcome::as_str)
        .into_iter()
        .map(|word| (word.to_owned(), property(word)))
        .collect()
}

/// The subject of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey<'a> {
    /// A client, a path and an outcome.
    Pair(Client<'a>, LogText<'a>, Outcome),
    /// A client.
    Client(Client<'a>),
    /// A path.
    Path(LogText<'a>),
    /// A rule.
    Rule(RuleId),
    /// A path that answered: its host in lower case, if one was logged; the path; and the display
    /// name of the site.
    Answer(Option<LogText<'a>>, LogText<'a>, LogText<'a>),
}

/// One row of a report.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// Its subject.
    pub key: RowKey<'a>,
    /// The highest severity of its hits, raised if one was answered.
    pub severity: Severity,
    /// The rules that matched, sorted by their ids' text.
    pub rules: Cow<'a, [RuleId]>,
    /// The CVE ids and products of its requests.
    pub about: Attributed<'a>,
    /// Requests that matched.
    pub hits: u64,
    /// Hits by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; 8],
    /// Hits with a distinct answer.
    pub answered: u64,
    /// Hits with an uncertain answer.
    pub uncertain: u64,
    /// Hits that got a soft 404.
    pub soft_404: u64,
    /// For an answer: its details and the reason for its grade.
    pub answer: Option<Box<AnswerDetail<'a>>>,
    /// Distinct clients among the hits.
    pub clients: u64,
    /// Distinct paths among the hits.
    pub paths: u64,
    /// For a client: its country and network, if a GeoIP database has them.
    pub geo: Option<Arc<GeoInfo>>,
    /// For a client: whether it could be blocked, if that was requested.
    pub block: Option<Box<BlockDecision>>,
    /// For a client: all its requests.
    pub requests: u64,
    /// For a client: its requests that matched no rule, and lines with its address that no format
    /// matches.
    pub other_requests: u64,
    /// The most frequent status; the lowest of several.
    pub status: Option<u16>,
    /// The earliest hit.
    pub first_time: Option<LogTime>,
    /// The latest hit.
    pub last_time: Option<LogTime>,
    /// The earliest of the most severe hits.
    pub sample: SampleRequest<'a>,
}

/// Hits of clients of one autonomous system.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "NetworkObject")]
pub struct NetworkRow {
    /// Number of the autonomous system; null for clients whose system is unknown.
    pub asn: Option<u32>,
    /// Name of the autonomous system; null where it is unknown.
    #[serde(serialize_with = "redact::serialize_name")]
    #[schemars(with = "Option<String>")]
    pub as_name: Option<Arc<str>>,
    /// Countries of its clients, sorted.
    #[serde(serialize_with = "redact::serialize_names")]
    #[schemars(with = "Vec<String>")]
    pub countries: Vec<Arc<str>>,
    /// Distinct clients with a hit.
    pub clients: u64,
    /// Hits of these clients.
    pub hits: u64,
    /// Hits with a distinct answer.
    pub answered: u64,
}

/// The hits of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientHits<'a> {
    /// The client.
    pub client: Client<'a>,
    /// Its hits.
    pub hits: u64,
    /// Its hits with a distinct answer.
    pub answered: u64,
}

/// One request.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "SampleObject")]
pub struct SampleRequest<'a> {
    /// Identity of the request: the generation of its log and the byte offset of its line. Two
    /// requests never share one.
    pub id: RequestId,
    /// Host the log is from.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "redact::serialize_name"
    )]
    pub log_host: Option<&'a str>,
    /// Path of the log.
    #[serde(serialize_with = "redact::serialize_escaped")]
    #[schemars(with = "String")]
    pub source: &'a [u8],
    /// Number of the line, from 1.
    pub line: u64,
    /// Request target as logged, secrets masked.
    pub target: LogText<'a>,
    /// Status code; absent where none is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Host the request was for; absent where none is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<LogText<'a>>,
    /// User agent; absent where none is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<LogText<'a>>,
    /// User of the log, secrets masked; absent where none is logged. A client can send any name,
    /// also one that does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<LogText<'a>>,
}

/// The details of an answer, and the reason for its grade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerDetail<'a> {
    /// The statuses, sorted.
    pub statuses: Vec<u16>,
    /// Bytes of the answer that decided the grade; `None` where the log has no size.
    pub bytes: Option<u64>,
    /// The class of its method.
    pub method: MethodClass,
    /// Its grade.
    pub grade: Grade,
    /// The client, if there is only one.
    pub client: Option<Client<'a>>,
    /// Normal requests use the host too, so it is safe to print it in a URL.
    pub is_known_host: bool,
    /// The request of the sample has a user, and others got 401 for the path.
    pub needs_login: bool,
    /// If several paths are one leak: these, the most important first. The other details are those
    /// of the first one.
    pub members: Vec<LeakMember<'a>>,
}

/// One of several paths that are one leak.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "LeakMemberObject")]
pub struct LeakMember<'a> {
    /// The path.
    pub path: LogText<'a>,
    /// Severity of its answer.
    pub severity: Severity,
    /// Status codes of the answers, sorted.
    #[serde(rename = "status")]
    pub statuses: Vec<u16>,
    /// Size of the answer in bytes; absent where none is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Hits with such an answer.
    pub hits: u64,
}

impl AnswerDetail<'_> {
    /// The statuses as one string.
    #[must_use]
    pub fn joined_statuses(&self, separator: &str) -> String {
        self.statuses
            .iter()
            .map(u16::to_string)
            .collect::<Vec<_>>()
            .join(separator)
    }
}

/// A site that answers any path.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "Soft404Object")]
pub struct Soft404<'a> {
    /// Host, or the log where hosts are not logged.
    pub site: LogText<'a>,
    /// Hosts of one server that answer alike; 1 for one site.
    pub hosts: u64,
    /// Why the site is one, as a word.
    #[serde(rename = "reason", serialize_with = "serialize_reason")]
    #[schemars(with = "String")]
    pub grade: Grade,
    /// Sizes of its answers in bytes, as ranges: lowest and highest.
    pub sizes: Vec<(u64, u64)>,
    /// Probed paths that got such an answer.
    pub paths: u64,
    /// Hits that got such an answer.
    pub requests: u64,
}

fn serialize_reason<S: Serializer>(grade: &Grade, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(grade.reason.as_str())
}

impl Soft404<'_> {
    /// More sizes are merged into this many ranges.
    pub const MAX_RANGES: usize = 5;
}

/// A list of paths that several networks requested, or logins that they tried out.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "CampaignObject")]
pub struct Campaign<'a> {
    /// Name of the campaign, in hexadecimal digits: the same list of paths, or the same rule of
    /// `guesses`, has the same key in every report.
    pub key: String,
    /// Distinct clients.
    pub clients: u64,
    /// Distinct networks of these clients.
    pub networks: u64,
    /// Paths of the list.
    pub paths: u64,
    /// Hits on these paths by these clients.
    pub hits: u64,
    /// Time of the earliest hit, RFC 3339; null where no hit has one.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "Option<String>")]
    pub first_time: Option<LogTime>,
    /// Time of the latest hit, RFC 3339; null where no hit has one.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "Option<String>")]
    pub last_time: Option<LogTime>,
    /// Hits with a distinct answer.
    pub answered: u64,
    /// Highest severity of the hits; for `guesses` one level more, as several networks take part.
    pub severity: Severity,
    /// Up to three of the paths.
    pub sample_paths: Vec<LogText<'a>>,
    /// The most severe hit, of several the earliest.
    pub sample: SampleRequest<'a>,
    /// What clients that guess passwords have in common; null for a list of paths.
    pub guesses: Option<Guesses<'a>>,
}

/// Attempts to log in by clients that request little else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "GuessesObject")]
pub struct Guesses<'a> {
    /// ID of the rule whose `guess` they meet.
    pub rule: &'a str,
    /// Method of most attempts: `GET`, `POST`, `HEAD` or `OTHER`, each for the methods like it.
    #[serde(serialize_with = "serialize_method")]
    #[schemars(with = "String")]
    pub method: MethodClass,
    /// Clients that sent nothing but attempts.
    pub nothing_else: u64,
    /// Days from the first attempt to the last, both included; null where no attempt has a time.
    pub days: Option<u64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn serialize_method<S: Serializer>(method: &MethodClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(method.as_str())
}

/// More requests in a window than a rule allows.
#[derive(Debug, Clone, JsonSchema, Serialize)]
#[schemars(rename = "FloodObject")]
pub struct FloodRow<'a> {
    /// ID of the rule with the window.
    pub rule: &'a str,
    /// Severity of the rule.
    pub severity: Severity,
    /// Client that sent the requests; null where several sent them to one path.
    pub client: Option<Client<'a>>,
    /// Method of most requests: `GET`, `POST`, `HEAD` or `OTHER`, each for the methods like it.
    #[serde(serialize_with = "serialize_method")]
    #[schemars(with = "String")]
    pub method: MethodClass,
    /// Path of most requests; empty where it is unknown.
    pub path: LogText<'a>,
    /// Distinct clients.
    pub clients: u64,
    /// Requests of evicted clients are not counted in `clients`.
    #[serde(skip)]
    pub has_more_clients: bool,
    /// Distinct paths.
    pub paths: u64,
    /// Requests of the largest flood.
    pub requests: u64,
    /// Minutes from the first to the last of it.
    pub minutes: u64,
    /// Start of its first minute, RFC 3339.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "String")]
    pub first_minute: LogTime,
    /// Start of its last minute, RFC 3339.
    #[serde(serialize_with = "time::serialize_rfc3339")]
    #[schemars(with = "String")]
    pub last_minute: LogTime,
    /// Floods, the largest one included.
    pub floods: u64,
    /// The most severe hit, of several the earliest.
    pub sample: SampleRequest<'a>,
}

/// The hits of a virtual host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRow<'a> {
    /// The host, in lower case.
    pub host: LogText<'a>,
    /// Hits.
    pub hits: u64,
    /// Distinct clients.
    pub clients: u64,
    /// Distinct paths.
    pub paths: u64,
    /// Hits with a distinct answer.
    pub answered: u64,
}

/// An application that a site runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "AppObject")]
pub struct AppSeen<'a> {
    /// ID of the application.
    pub app: &'a str,
    /// Its display name.
    #[serde(skip)]
    pub title: &'a str,
    /// Host it was detected on, or the log where hosts are not logged; null where it was given with
    /// `--app`.
    pub site: Option<LogText<'a>>,
    /// Hits on its normal pages, which are not reported.
    pub silenced: u64,
}

/// An entry of an allow list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "AllowedObject")]
pub struct AllowedCount<'a> {
    /// Path of the allow list.
    #[serde(serialize_with = "redact::serialize_escaped")]
    pub file: &'a str,
    /// Line of the entry, from 1.
    pub line: usize,
    /// Reason that the entry gives.
    #[serde(serialize_with = "redact::serialize_escaped")]
    pub reason: &'a str,
    /// Requests that matched a rule and are allowed.
    pub requests: u64,
}

/// One hit, as NDJSON prints it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedHit<'a> {
    /// Its identity.
    pub id: RequestId,
    /// The input's path.
    pub source: &'a [u8],
    /// The line's number, from 1.
    pub line: u64,
    /// Its time.
    pub time: Option<LogTime>,
    /// The client; empty where the line has none.
    pub client: Client<'a>,
    /// The method; empty where there is none.
    pub method: LogText<'a>,
    /// The request target as logged.
    pub target: LogText<'a>,
    /// The normalised path, its case kept.
    pub path: LogText<'a>,
    /// The target percent-decoded, where that differs.
    pub decoded: Option<DecodedText<'a>>,
    /// The protocol; empty where there is none.
    pub protocol: LogText<'a>,
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent.
    pub bytes: Option<u64>,
    /// The outcome, by status.
    pub outcome: Outcome,
    /// How the answer compares with the site's answers to unknown paths; `None` where nothing is
    /// exposed.
    pub answer: Option<Answer>,
    /// The highest severity of its rules, raised for a distinct answer.
    pub severity: Severity,
    /// The rules that matched, sorted by their ids' text.
    pub rules: &'a [RuleId],
    /// The virtual host, where one was logged.
    pub host: Option<LogText<'a>>,
    /// The `Referer` header as logged.
    pub referer: Option<LogText<'a>>,
    /// The `User-Agent` header as logged.
    pub user_agent: Option<LogText<'a>>,
    /// The user of the log. A client can send any name.
    pub user: Option<LogText<'a>>,
    /// What makes it a finding, if not the line alone: `client` or `flood`.
    pub context: Option<&'static str>,
    /// The country and network of the client, if a GeoIP database has them.
    pub geo: Option<&'a GeoInfo>,
}

/// The data that a report was made of.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotSource<'a> {
    /// All hits.
    pub tally: &'a Tally,
    /// The logs, by number of the input.
    pub sources: &'a [SourceInfo],
}

/// Hits over time. The sum of all buckets equals the hits in the totals of the report, by outcome
/// too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Buckets from the first hit to the last, also empty ones between them; then hits without a
    /// time, if there are any.
    pub buckets: Vec<TimelineBucket>,
    /// Seconds of a bucket; 0 if no hit has a time.
    pub unit: u32,
    /// The times of the first hits of distinct answers, sorted.
    pub answered_at: Vec<LogTime>,
    /// Hits by weekday, from Monday, and hour, in the offset of the log. Empty for a tally with too
    /// many of them, see [`Tally::has_hours`].
    pub hours: [[u64; 24]; 7],
}

/// The requests of one day, in UTC, and how many of them are hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "DayObject")]
pub struct DayRow {
    /// Start of the day, RFC 3339 in UTC.
    #[serde(serialize_with = "serialize_start")]
    #[schemars(with = "String")]
    pub from: i64,
    /// All requests.
    pub requests: u64,
    /// Requests that match at least one rule.
    pub hits: u64,
    /// Distinct clients with a hit.
    pub clients: u64,
}

/// Hits of one span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "BucketObject")]
pub struct TimelineBucket {
    /// Start of the bucket, RFC 3339 in UTC; null where the hits have no time.
    #[serde(serialize_with = "serialize_utc")]
    #[schemars(with = "Option<String>")]
    pub from: Option<i64>,
    /// End of the bucket, RFC 3339 in UTC; it is not part of the bucket. Null where the hits have
    /// no time.
    #[serde(serialize_with = "serialize_utc")]
    #[schemars(with = "Option<String>")]
    pub to: Option<i64>,
    /// Requests that match at least one rule.
    pub hits: u64,
    /// Hits by outcome.
    #[serde(rename = "by_outcome", serialize_with = "serialize_outcomes")]
    #[schemars(with = "OutcomeCounts")]
    pub outcomes: [u64; 8],
}

impl DayRow {
    /// Its date, in UTC.
    pub(crate) fn date(&self) -> String {
        let start = utc_text(self.from);
        start.split('T').next().unwrap_or(&start).to_owned()
    }

    /// The part of its requests that are hits.
    pub(crate) fn share(&self) -> String {
        percent(self.hits, self.requests.max(self.hits).max(1))
    }
}

/// Writes seconds since 1970, if they are known.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn serialize_utc<S: Serializer>(utc: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    utc.map(utc_text).serialize(serializer)
}

/// Writes seconds since 1970.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn serialize_start<S: Serializer>(utc: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    utc_text(*utc).serialize(serializer)
}

fn utc_text(utc: i64) -> String {
    LogTime { utc, offset: 0 }.rfc3339_utc()
}

/// The hits of one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassHits<'a> {
    /// The class.
    pub class: &'a str,
    /// Hits by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; 8],
    /// Hits with a distinct answer.
    pub answered: u64,
}

/// The decision for one client row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockDecision {
    /// Whether it could be blocked, or why not.
    pub verdict: BlockVerdict,
    /// By its hits it could be blocked, whatever its address is.
    pub is_prober: bool,
    /// Its /24 or /64; `None` if it is no address.
    pub network: Option<IpNet>,
    /// Clients of that network with a hit in this report.
    pub network_probers: u64,
    /// What was judged: the address, or all addresses of an IPv6 network.
    pub stats: OffenderStats,
}

/// The activity of one address, or of all addresses of an IPv6 network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OffenderStats {
    /// Clients in the report.
    pub clients: u64,
    /// Their hits.
    pub hits: u64,
    /// Their distinct paths; for a network a lower bound.
    pub paths: u64,
    /// Requests that matched no rule.
    pub others: u64,
    /// Of those, the requests for names that do not exist.
    pub unknown: u64,
    /// Hits that did not receive the requested page. A client that receives every page may be a
    /// visitor who follows links; a guess usually fails.
    pub unsuccessful: u64,
    /// Hits that exposed nothing, whatever the response was.
    pub without_exposure: u64,
    /// The highest severity of its certain rules, before any answer raises it.
    pub worst: Option<Severity>,
}

/// Whether a client could be blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockVerdict {
    /// It could be blocked.
    Candidate,
    /// It could be blocked, but the requested number of candidates is reached.
    LeftOut,
    /// It must never be blocked.
    NeverBlock(NeverBlockReason),
    /// It did too little to be judged.
    Unclear,
    /// It received every page it requested, like a client that follows links.
    Served,
    /// It sent more normal requests than hits.
    Ordinary,
    /// A page of a third party may have made its browser send the hits.
    ThirdParty,
    /// Its address is hidden.
    Hidden,
}
