//! What a report holds, before any format is chosen.
//!
//! Plain data, complete and in its final order; text is as logged. Renderers may cut (`--top`), escape and lay out; they
//! count and sort nothing.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::block_candidates::BlockDecision;
use super::snapshot::SnapshotSource;
use crate::client::{Client, Ipv6Prefix};
use crate::finding::{OtherFormatCounts, RuleId, Severity};
use crate::log_entry::Outcome;
use crate::rules::RuleSet;
use crate::soft_404::{Answer, Grade, MethodClass};
use crate::time::LogTime;

/// A whole report. Vectors hold what the chosen format prints of them: all, the first rows, or nothing; how many clients,
/// paths and rules there are, [`Totals`] says.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// The rules that [`RuleId`]s point into.
    pub rule_set: &'a RuleSet,
    /// The machine it speaks of, where that was said.
    pub log_host: Option<String>,
    /// The day or hour it speaks of, where it was cut into such.
    pub period: Option<String>,
    /// Which IPv6 addresses count as one client.
    pub prefix: Option<Ipv6Prefix>,
    /// The word for how clients are hidden.
    pub hidden: Option<&'static str>,
    /// Every input, in the order it was named or found.
    pub inputs: Vec<InputSummary>,
    /// Sums over all inputs.
    pub totals: Totals,
    /// By how much rows may be too low; `None` where they are exact.
    pub approximate: Option<Approximation>,
    /// A row a site's path with a distinct answer, out of those of its hits that got it.
    pub answered: Vec<Row<'a>>,
    /// The same where the answer is uncertain.
    pub uncertain: Vec<Row<'a>>,
    /// A row a client, path and outcome.
    pub pairs: Vec<Row<'a>>,
    /// A row a client.
    pub clients: Vec<Row<'a>>,
    /// Which of them one could block, row by row; `None` where nobody asked.
    pub blocks: Option<Vec<BlockDecision>>,
    /// A row a path.
    pub paths: Vec<Row<'a>>,
    /// A row a rule.
    pub rules: Vec<Row<'a>>,
    /// Sites that answer anything.
    pub soft_404: Vec<Soft404<'a>>,
    /// Lists of paths that several networks worked through.
    pub campaigns: Vec<Campaign<'a>>,
    /// Clients that sent, or paths that got, more requests than a rule with a `window` allows.
    pub floods: Vec<FloodRow<'a>>,
    /// The apps that sites run, what was silenced most first.
    pub apps: Vec<AppSeen<'a>>,
    /// What allow lists took out, an item an entry.
    pub allowed: Vec<AllowedCount<'a>>,
    /// How long it took, for the table only: programs get the same bytes for the same input.
    pub elapsed: Duration,
    /// What it was made of, to be told along with it; `None` where it tells only a part.
    pub evidence: Option<SnapshotSource<'a>>,
}

/// One input and where each of its lines went: `lines = parsed + unparsed + oversized + skipped + pending`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InputSummary {
    /// The path as named or found; `-` is standard input. May hold any byte.
    pub path: Vec<u8>,
    /// The machine it lies on, where that was said.
    pub log_host: Option<String>,
    /// The format most of its lines have, `combined`; `None` where no line parses.
    pub format: Option<Arc<str>>,
    /// Bytes of log text, after decompression.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Lines that a format explains.
    pub parsed: u64,
    /// The same by format where the Common Log Format or a child of it explains them, in the order of [`LogFormat::ALL`](crate::formats::LogFormat::ALL).
    pub formats: [u64; 3],
    /// The same of other formats, by name.
    pub others: OtherFormatCounts,
    /// Lines that none does; matched as raw text all the same.
    pub unparsed: u64,
    /// Lines over the length limit.
    pub oversized: u64,
    /// Lines passed over on purpose.
    pub skipped: u64,
    /// A last line that still waits for its end.
    pub pending: u64,
    /// Requests within `--since` and `--until`.
    pub requests: u64,
    /// Requests that matched.
    pub hits: u64,
    /// The earliest time of a line.
    pub first_time: Option<LogTime>,
    /// The latest time of a line.
    pub last_time: Option<LogTime>,
    /// What was wrong with it: damaged, unreadable, not a log. `None` where all is well.
    pub problem: Option<String>,
    /// Why it was skipped as a whole, its lines not even counted; `None` where it was read.
    pub skipped_whole: Option<SkipReason>,
}

/// Why a log was not read: as a whole it lies outside the time that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It was last written to before `--since`.
    BeforeSince,
    /// It begins after `--until`.
    AfterUntil,
}

/// Sums over all inputs, and distinct counts over all hits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// The sum of every number of the inputs; `path`, `format` and `problem` stay empty.
    pub sum: InputSummary,
    /// Hits by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; 8],
    /// Distinct clients that hit.
    pub clients: u64,
    /// Distinct paths that were hit.
    pub paths: u64,
    /// Distinct rules that matched.
    pub rules: u64,
    /// Hits with a distinct answer.
    pub answered: u64,
    /// Hits with an uncertain answer.
    pub uncertain: u64,
    /// Hits that got a soft 404.
    pub soft_404: u64,
    /// Lines without a time that could be read, where `--since` or `--until` asked for one.
    pub without_time: u64,
    /// The worst severity of all.
    pub severity: Option<Severity>,
    /// The same without soft 404s: what `--fail-on` is compared with.
    pub fail_severity: Option<Severity>,
}

/// By how much rows may be too low, where there was more to count than memory was allowed for. The truth lies between what
/// a row says and so much more; what has no row has no more than that. What is summed over all hits is exact: `totals`,
/// but for how many clients and paths there are, and rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Approximation {
    /// Hits of a client and a path.
    pub pairs: u64,
    /// Hits of a client.
    pub clients: u64,
    /// Requests of a client.
    pub requests: u64,
    /// Hits of a path.
    pub paths: u64,
    /// Hits that no pair row counts.
    pub rest_hits: u64,
    /// Requests of rules with a `window` that no minute counts: a flood among them is missed.
    pub uncounted: u64,
}

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKey<'a> {
    /// A client, a path and what was said.
    Pair(Client<'a>, &'a [u8], Outcome),
    /// A client.
    Client(Client<'a>),
    /// A path.
    Path(&'a [u8]),
    /// A rule.
    Rule(RuleId),
    /// A path that answered: its host where one was logged, in lower case, the path, and the site as a reader knows it.
    Answer(Option<&'a [u8]>, &'a [u8], &'a [u8]),
}

/// One row of a report.
#[derive(Debug, Clone)]
pub struct Row<'a> {
    /// What it is about.
    pub key: RowKey<'a>,
    /// The worst of its hits, raised where one was answered.
    pub severity: Severity,
    /// The rules that matched, sorted by their ids' text.
    pub rules: Vec<RuleId>,
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
    /// For an answer: what it was, and why it is graded so.
    pub answer: Option<AnswerDetail<'a>>,
    /// Distinct clients among the hits.
    pub clients: u64,
    /// Distinct paths among the hits.
    pub paths: u64,
    /// For a client: all its requests.
    pub requests: u64,
    /// For a client: its requests that matched nothing, and lines with its address that no format explains.
    pub other_requests: u64,
    /// The commonest status, the lowest of equals.
    pub status: Option<u16>,
    /// The earliest hit.
    pub first_time: Option<LogTime>,
    /// The latest hit.
    pub last_time: Option<LogTime>,
    /// Of the most severe hits the earliest.
    pub sample: SampleRequest<'a>,
}

/// One hit, to prove a row.
#[derive(Debug, Clone, Copy)]
pub struct SampleRequest<'a> {
    /// With `offset` the identity of the request.
    pub generation: u64,
    /// Bytes from the start of the input's text.
    pub offset: u64,
    /// The machine the input lies on, where that was said.
    pub log_host: Option<&'a str>,
    /// The input's path.
    pub source: &'a [u8],
    /// The line's number, from 1.
    pub line: u64,
    /// The request target as logged.
    pub target: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
    /// The virtual host, where one was logged.
    pub host: Option<&'a [u8]>,
    /// The `User-Agent` header as logged.
    pub user_agent: Option<&'a [u8]>,
}

/// What an answer was, and why it is graded so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerDetail<'a> {
    /// The statuses, sorted.
    pub statuses: Vec<u16>,
    /// Bytes of the answer that decided; `None` where the log has none.
    pub bytes: Option<u64>,
    /// The class of its method.
    pub method: MethodClass,
    /// Its grade.
    pub grade: Grade,
    /// The only client; `None` where there are several.
    pub client: Option<Client<'a>>,
    /// Ordinary requests use the host as well, so that a URL may name it.
    pub is_known_host: bool,
}

impl AnswerDetail<'_> {
    /// The statuses as one text.
    #[must_use]
    pub fn joined_statuses(&self, separator: &str) -> String {
        self.statuses.iter().map(u16::to_string).collect::<Vec<_>>().join(separator)
    }
}

/// A site that answers anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Soft404<'a> {
    /// The host, or the input where hosts are not logged.
    pub site: &'a [u8],
    /// Hosts of one server that answer alike; 1 for one site.
    pub hosts: u64,
    /// What shows that they are soft 404s, for most paths.
    pub grade: Grade,
    /// Sizes of the answers, from and to, smallest first; at most [`Soft404::MOST_RANGES`].
    pub sizes: Vec<(u64, u64)>,
    /// Distinct probed paths.
    pub paths: u64,
    /// Requests for them.
    pub requests: u64,
}

impl Soft404<'_> {
    /// More sizes than fit are one range.
    pub const MOST_RANGES: usize = 5;
}

/// One list of probed paths that clients of several networks worked through, give or take a few paths.
#[derive(Debug, Clone)]
pub struct Campaign<'a> {
    /// SymbolTables the list, in hexadecimal digits: the same paths have the same key in every report.
    pub key: String,
    /// The worst of its hits, raised where one was answered.
    pub severity: Severity,
    /// Clients that worked through the list.
    pub clients: u64,
    /// Networks they are of.
    pub networks: u64,
    /// Distinct paths of the list.
    pub paths: u64,
    /// Requests of these clients for these paths that matched.
    pub hits: u64,
    /// Hits whose answer means something.
    pub answered: u64,
    /// The earliest hit.
    pub first_time: Option<LogTime>,
    /// The latest hit.
    pub last_time: Option<LogTime>,
    /// Up to three of the paths: those of the worst hits, and of these the longest.
    pub sample_paths: Vec<&'a [u8]>,
    /// Of the most severe hits the earliest.
    pub sample: SampleRequest<'a>,
}

/// What one client sent, or one path got, of a rule with a `window`: more within the window than the rule takes for ordinary.
#[derive(Debug, Clone)]
pub struct FloodRow<'a> {
    /// The rule.
    pub rule: RuleId,
    /// Its severity.
    pub severity: Severity,
    /// The client; `None` where the requests for one path are counted.
    pub client: Option<Client<'a>>,
    /// The class of the method of most requests.
    pub method: MethodClass,
    /// The path of most requests; empty where it is not known any more.
    pub path: &'a [u8],
    /// Distinct clients.
    pub clients: u64,
    /// Distinct paths.
    pub paths: u64,
    /// Requests of the largest flood.
    pub requests: u64,
    /// Fixed minutes from the first to the last of it.
    pub minutes: u64,
    /// When the first of these minutes begins.
    pub first_minute: LogTime,
    /// When the last one does.
    pub last_minute: LogTime,
    /// Floods with a rest between them, the largest among them.
    pub floods: u64,
    /// Of the most severe requests the earliest.
    pub sample: SampleRequest<'a>,
}

/// An app that a site runs, whose own pages are no news there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppSeen<'a> {
    /// Its name, as rules have it.
    pub app: &'a str,
    /// Its name, for people.
    pub title: &'a str,
    /// The host it was seen on, or the input where hosts are not logged; `None` where it was said to run.
    pub site: Option<&'a [u8]>,
    /// Requests that would be reported but for it.
    pub silenced: u64,
}

/// What one entry of an allow list took out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowedCount<'a> {
    /// The list.
    pub file: &'a str,
    /// The line the entry begins at, from 1.
    pub line: usize,
    /// Why it is allowed.
    pub reason: &'a str,
    /// Requests that matched a rule and are allowed.
    pub requests: u64,
}

/// One hit as NDJSON tells it.
#[derive(Debug, Clone, Copy)]
pub struct ReportedHit<'a> {
    /// With `offset` the identity of the request.
    pub generation: u64,
    /// Bytes from the start of the input's text.
    pub offset: u64,
    /// The input's path.
    pub source: &'a [u8],
    /// The line's number, from 1.
    pub line: u64,
    /// When.
    pub time: Option<LogTime>,
    /// The client; an empty text where the line has none.
    pub client: Client<'a>,
    /// The method; empty where there is none.
    pub method: &'a [u8],
    /// The request target as logged.
    pub target: &'a [u8],
    /// The normalised path, its case kept.
    pub path: &'a [u8],
    /// The target percent-decoded, where that differs.
    pub decoded: Option<&'a [u8]>,
    /// The protocol; empty where there is none.
    pub protocol: &'a [u8],
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent.
    pub bytes: Option<u64>,
    /// What the server said.
    pub outcome: Outcome,
    /// How the answer compares with what the site answers to anything; `None` where it exposes nothing.
    pub answer: Option<Answer>,
    /// The highest severity of its rules, raised where an answer means something.
    pub severity: Severity,
    /// The rules that matched, sorted by their ids' text.
    pub rules: &'a [RuleId],
    /// The virtual host, where one was logged.
    pub host: Option<&'a [u8]>,
    /// The `Referer` header as logged.
    pub referer: Option<&'a [u8]>,
    /// The `User-Agent` header as logged.
    pub user_agent: Option<&'a [u8]>,
    /// What made it a finding besides the line.
    pub context: Option<&'static str>,
}
