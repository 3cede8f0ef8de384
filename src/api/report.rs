//! The result of a scan: rows with plain fields, and the documents that the `scan` command prints.
//!
//! Rows are copied from the same model that the documents are made of. Nothing is counted or
//! decided here.

use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::judge::report_input::{ReportFilter, ReportInput};
use crate::log::client::Client;
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::render::{GroupBy, OutputFormat, RenderOptions, grades, render};
use crate::report::build::{LogAnalysis, RowSelection, build};
use crate::report::labels;
use crate::report::model::{ReportModel, Row, SampleRequest};
use crate::rules::{AllowList, RuleSet};
use crate::scan::input_summary::{InputSummary, LineTotals};
use crate::scan::{ScanResult, drop_skipped};
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// The rows that are copied.
const COPIED: RowSelection = RowSelection {
    answered: true,
    pairs: false,
    clients: true,
    paths: true,
    rules: false,
    campaigns: false,
    hosts: false,
    networks: false,
    most: None,
};

/// The report of a scan.
///
/// Rows and documents have the findings and the order of the `scan` command: the most important
/// rows come first. All text is safe to print: control characters are escaped, and what looks like
/// a password or a token is masked.
#[derive(Debug)]
pub struct Report {
    rules: Arc<RuleSet>,
    scan: ScanResult,
    /// All inputs by number; those that are not logs have no path.
    summaries: Vec<InputSummary>,
    min_severity: Severity,
    elapsed: Duration,
    notices: Vec<String>,
    counts: LineTotals,
    severity: Option<Severity>,
    inputs: Vec<ReportedInput>,
    answers: Vec<ReportedRow>,
    clients: Vec<ReportedRow>,
    paths: Vec<ReportedRow>,
}

/// A log that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedInput {
    /// The path as given or found, or the name of the reader.
    pub path: String,
    /// The format of most of its lines, such as `combined`; `None` where no line is in a known
    /// format.
    pub format: Option<String>,
    /// The counts of its lines.
    pub counts: LineTotals,
    /// Why it could not be read, or not to its end.
    pub problem: Option<String>,
}

/// A client with hits, a path with hits, or a path with a distinct answer, as its list says. As in
/// the JSON document, some fields are those of some lists; they are empty or 0 in others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedRow {
    /// Clients: the address, or the text that the log has in its place; `-` if the client is
    /// unknown.
    pub client: String,
    /// Clients: the address, if the client is one.
    pub address: Option<IpAddr>,
    /// Paths and answers: the path without the query, decoded and normalized, in lower case; the
    /// folder of several paths that are one leak.
    pub path: String,
    /// The highest severity of its hits.
    pub severity: Severity,
    /// Requests that match at least one rule; of an answer those with this answer.
    pub hits: u64,
    /// Hits with a distinct answer.
    pub answered: u64,
    /// Distinct clients among the hits.
    pub clients: u64,
    /// Distinct paths among the hits.
    pub paths: u64,
    /// Clients: all requests.
    pub requests: u64,
    /// Clients: requests that match no rule: what it would cost to block the client.
    pub other_requests: u64,
    /// Answers: the host, or the log where hosts are not logged.
    pub site: String,
    /// Answers: if several paths are one leak, all of them, the most important first. Status, size
    /// and sample are those of the first one.
    pub members: Vec<String>,
    /// Answers: the status codes, sorted.
    pub statuses: Vec<u16>,
    /// Answers: the size in bytes, if it is logged.
    pub bytes: Option<u64>,
    /// Answers: why the answer is distinct, as a sentence. Its status is 2xx or 304 and it differs
    /// from what the site answers to any path: the path exists, as far as the log shows.
    pub why: String,
    /// IDs of the rules that match, sorted.
    pub rules: Vec<String>,
    /// The logged time of the first hit.
    pub first_time: Option<SystemTime>,
    /// The logged time of the last hit.
    pub last_time: Option<SystemTime>,
    /// The first of the most severe hits.
    pub sample: ReportedSample,
}

/// One hit, as an example.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReportedSample {
    /// The path of the log.
    pub source: String,
    /// The number of the line, from 1.
    pub line: u64,
    /// The request target as logged, secrets masked.
    pub target: String,
    /// The status code.
    pub status: Option<u16>,
    /// The host of the request, if it is logged.
    pub host: Option<String>,
    /// The `User-Agent` header, if it is logged.
    pub user_agent: Option<String>,
    /// The user, if it is logged, secrets masked. A client can send any name.
    pub user: Option<String>,
}

impl Report {
    pub(super) fn new(
        rules: Arc<RuleSet>,
        scan: ScanResult,
        summaries: Vec<InputSummary>,
        notices: Vec<String>,
        min_severity: Severity,
        elapsed: Duration,
    ) -> Self {
        let (counts, severity) = (LineTotals::default(), None);
        let (inputs, answers, clients, paths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let empty = Self {
            rules,
            scan,
            summaries,
            min_severity,
            elapsed,
            notices,
            counts,
            severity,
            inputs,
            answers,
            clients,
            paths,
        };
        let row = |row: &Row<'_>| ReportedRow::new(&empty.rules, row);
        let (counts, severity, inputs, answers, clients, paths) =
            empty.with_model(COPIED, |model| {
                (
                    model.totals.sum,
                    model.totals.severity,
                    model.inputs.iter().map(ReportedInput::new).collect(),
                    model.answered.iter().map(row).collect(),
                    model.clients.iter().map(row).collect(),
                    model.paths.iter().map(row).collect(),
                )
            });
        Self {
            counts,
            severity,
            inputs,
            answers,
            clients,
            paths,
            ..empty
        }
    }

    /// The sums over all inputs.
    #[must_use]
    pub fn counts(&self) -> &LineTotals {
        &self.counts
    }

    /// The highest severity of a finding; `None` if there is none.
    #[must_use]
    pub fn severity(&self) -> Option<Severity> {
        self.severity
    }

    /// The inputs, in the order in which they were read; those that could not be found come last.
    #[must_use]
    pub fn inputs(&self) -> &[ReportedInput] {
        &self.inputs
    }

    /// Paths with a distinct answer, the most severe first.
    #[must_use]
    pub fn answers(&self) -> &[ReportedRow] {
        &self.answers
    }

    /// Clients with hits, the most severe first.
    #[must_use]
    pub fn clients(&self) -> &[ReportedRow] {
        &self.clients
    }

    /// Paths with hits, the most severe first.
    #[must_use]
    pub fn paths(&self) -> &[ReportedRow] {
        &self.paths
    }

    /// What a person should know of the inputs, such as files in a folder that were left out
    /// because they are not access logs.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Writes the JSON document of `probewatch scan -f json`, which `probewatch schema json`
    /// describes.
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    pub fn write_json<W: Write>(&self, out: W) -> io::Result<()> {
        self.write(
            &RenderOptions {
                format: OutputFormat::Json,
                ..RenderOptions::default()
            },
            out,
        )
    }

    /// Writes a CSV table (RFC 4180), which `probewatch schema csv` describes. `by` is what its
    /// rows are about.
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    pub fn write_csv<W: Write>(&self, by: GroupBy, out: W) -> io::Result<()> {
        self.write(
            &RenderOptions {
                format: OutputFormat::Csv,
                by: Some(by),
                ..RenderOptions::default()
            },
            out,
        )
    }

    /// Writes the report for people, without colours, in lines of at most `width` columns: 80 for
    /// 0, and at least 40.
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    pub fn write_table<W: Write>(&self, width: u16, out: W) -> io::Result<()> {
        self.write(
            &RenderOptions {
                width,
                ..RenderOptions::default()
            },
            out,
        )
    }

    fn write<W: Write>(&self, options: &RenderOptions, mut out: W) -> io::Result<()> {
        self.with_model(options.rows(), |model| render(model, options, &mut out))
    }

    fn with_model<T>(&self, rows: RowSelection, use_it: impl FnOnce(&ReportModel<'_>) -> T) -> T {
        let input = ReportInput {
            rules: &self.rules,
            tally: &self.scan.tally,
            sources: &self.scan.sources,
            inputs: &self.summaries,
            without_time: self.scan.without_time,
            filter: ReportFilter {
                min_severity: self.min_severity,
                ..ReportFilter::default()
            },
            allow: &AllowList::default(),
        };
        let analysis = LogAnalysis::new(&input);
        let mut model = build(&analysis, rows);
        drop_skipped(&mut model.inputs);
        model.elapsed = self.elapsed;
        use_it(&model)
    }
}

impl ReportedInput {
    fn new(input: &InputSummary) -> Self {
        Self {
            path: escape(&input.path).into_owned(),
            format: input
                .format
                .as_ref()
                .map(|name| escape(name.as_bytes()).into_owned()),
            counts: input.counts,
            problem: input
                .problem
                .as_ref()
                .map(|problem| escape(problem.as_bytes()).into_owned()),
        }
    }
}

impl ReportedRow {
    fn new(rules: &RuleSet, row: &Row<'_>) -> Self {
        let answer = row.answer.as_deref();
        Self {
            client: row
                .key
                .client()
                .map(Client::redacted)
                .unwrap_or_default()
                .into_owned(),
            address: row.key.client().and_then(Client::address),
            path: row.key.path().unwrap_or_default().to_string(),
            severity: row.severity,
            hits: row.hits,
            answered: row.answered,
            clients: row.clients,
            paths: row.paths,
            requests: row.requests,
            other_requests: row.other_requests,
            site: row.key.site().unwrap_or_default().to_string(),
            members: answer
                .iter()
                .flat_map(|answer| &answer.members)
                .map(|member| member.path.to_string())
                .collect(),
            statuses: answer
                .map(|answer| answer.statuses.clone())
                .unwrap_or_default(),
            bytes: answer.and_then(|answer| answer.bytes),
            why: answer.map(grades::why).unwrap_or_default(),
            rules: labels::rule_ids(rules, &row.rules)
                .into_iter()
                .map(str::to_owned)
                .collect(),
            first_time: row.first_time.map(system_time),
            last_time: row.last_time.map(system_time),
            sample: ReportedSample::new(&row.sample),
        }
    }
}

impl ReportedSample {
    fn new(sample: &SampleRequest<'_>) -> Self {
        Self {
            source: escape(sample.source).into_owned(),
            line: sample.line,
            target: sample.target.to_string(),
            status: sample.status,
            host: sample.host.as_ref().map(LogText::to_string),
            user_agent: sample.user_agent.as_ref().map(LogText::to_string),
            user: sample.user.as_ref().map(LogText::to_string),
        }
    }
}

/// The instant of a time. The UTC offset of the log is lost.
fn system_time(time: LogTime) -> SystemTime {
    let seconds = Duration::from_secs(time.utc.unsigned_abs());
    if time.utc < 0 {
        UNIX_EPOCH - seconds
    } else {
        UNIX_EPOCH + seconds
    }
}
