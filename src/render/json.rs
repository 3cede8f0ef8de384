//! A report, or the differences between two, as a JSON document.
//!
//! The keys are stable: `schema_version` counts additions. Two runs over the same input write the
//! same bytes. Rows are rendered in parallel, some thousand at a time, while another thread
//! compresses the evidence. There is no tree in memory.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use rayon::prelude::*;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::ser::Serializer as JsonSerializer;

use super::grades;
use super::hit_fields::ObjectFields;
use super::row_lines::{RenderedRows, RowLineFormatter};
use crate::geoip::GeoInfo;
use crate::log::client::{Client, Ipv6Prefix};
use crate::log::finding::Severity;
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::report::diff::DiffRow;
use crate::report::labels::{self, first};
use crate::report::model::{
    AllowedCount, AppSeen, BlockDecision, Campaign, DayRow, FloodRow, LeakMember, NetworkRow,
    ReportModel, Row, RowKey, SampleRequest, Soft404, Timeline, TimelineBucket, Totals,
    outcome_properties,
};
use crate::report::snapshot::{PackedSnapshot, SCHEMA_VERSION};
use crate::rules::RuleSet;
use crate::scan::input_summary::{InputSummary, LineTotals, SkipReason};
use crate::tally::ErrorBound;
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// The program that wrote it.
pub(crate) const GENERATED_BY: &str = concat!("probewatch ", env!("CARGO_PKG_VERSION"));

/// Writes the document, the first `top` rows of each list.
pub(crate) fn write<W: Write>(
    report: &ReportModel<'_>,
    top: Option<usize>,
    mut out: W,
) -> io::Result<()> {
    let list = |rows| RowList {
        rules: report.rule_set,
        list: first(rows, top),
    };
    let document = |evidence| ReportDocument {
        schema_version: SCHEMA_VERSION,
        generated_by: GENERATED_BY,
        inputs: &report.inputs,
        totals: &report.totals,
        approximate: report.approximate,
        answered: list(&report.answered),
        uncertain: list(&report.uncertain),
        soft_404: &report.soft_404,
        clients: list(&report.clients),
        paths: list(&report.paths),
        rules: list(&report.rules),
        pairs: list(&report.pairs),
        campaigns: first(&report.campaigns, top),
        floods: first(&report.floods, top),
        timeline: &report.timeline.buckets,
        days: &report.days,
        hours: has_hours(&report.timeline).then_some(report.timeline.hours),
        apps: &report.apps,
        allowed: &report.allowed,
        networks: first(&report.networks, top),
        log_host: report.log_host.as_ref().map(|host| escape(host.as_bytes())),
        period: report.period.as_deref(),
        ipv6_prefix: report.prefix.map(Ipv6Prefix::bits),
        anonymized: report.hidden,
        evidence,
    };
    thread::scope(|scope| {
        document(SnapshotTask::start(scope, report, top.is_none())).serialize(
            &mut JsonSerializer::with_formatter(&mut out, RowLineFormatter::default()),
        )
    })?;
    out.write_all(b"\n")
}

/// The evidence, which one thread compresses while others render rows.
struct SnapshotTask(Receiver<io::Result<Option<PackedSnapshot>>>);

impl SnapshotTask {
    fn start<'s>(
        scope: &'s thread::Scope<'s, '_>,
        report: &'s ReportModel<'_>,
        is_whole: bool,
    ) -> Self {
        let (sender, task) = mpsc::sync_channel(1);
        // A send fails only if the document could not be written.
        let work = move || drop(sender.send(PackedSnapshot::new(report, is_whole)));
        let has_threads = rayon::current_num_threads() > 1;
        if !has_threads
            || thread::Builder::new()
                .spawn_scoped(scope, work.clone())
                .is_err()
        {
            work();
        }
        Self(task)
    }
}

impl Serialize for SnapshotTask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0
            .recv()
            .map_err(S::Error::custom)?
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

/// A report: `scan -f json`, `merge -f json` and the `report.json` of a run.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "probewatch report")]
pub(crate) struct ReportDocument<'a> {
    /// Version of this document. It rises when a key is added, renamed or removed.
    schema_version: u32,
    /// Program and version that wrote the document.
    generated_by: &'static str,
    /// Logs that were read, in the order of the command line.
    #[serde(serialize_with = "inputs")]
    #[schemars(with = "Vec<InputObject<'a>>")]
    inputs: &'a [InputSummary],
    /// Sums over all inputs.
    totals: &'a Totals,
    /// How far counts may be too low; null where every count is exact.
    approximate: Option<ErrorBound>,
    /// Paths with a distinct answer, the worst first.
    answered: RowList<'a>,
    /// Paths whose answer may be distinct, the worst first.
    uncertain: RowList<'a>,
    /// Sites that answer any path.
    soft_404: &'a [Soft404<'a>],
    /// One row for each client, the worst first.
    clients: RowList<'a>,
    /// One row for each probed path, the worst first.
    paths: RowList<'a>,
    /// One row for each rule that matched, the worst first.
    rules: RowList<'a>,
    /// One row for each client, path and outcome, the worst first.
    pairs: RowList<'a>,
    /// Lists of paths that several networks requested.
    campaigns: &'a [Campaign<'a>],
    /// Requests of one client or for one path that exceed the limit of a rule with a `window`.
    floods: &'a [FloodRow<'a>],
    /// Hits over time, in at most 400 buckets of one length, and one of hits without a time. Their
    /// sums are those of `totals`.
    timeline: &'a [TimelineBucket],
    /// All requests and the hits by day, in UTC; empty where the buckets of `timeline` are longer
    /// than a day.
    days: &'a [DayRow],
    /// Hits by weekday, from Monday, and hour, in the time zone of the logs; null where no hit has
    /// a time or where memory was limited.
    hours: Option<[[u64; 24]; 7]>,
    /// Applications that the sites run, whose normal pages are not reported.
    apps: &'a [AppSeen<'a>],
    /// Entries of the allow list that matched requests.
    allowed: &'a [AllowedCount<'a>],
    /// Hits by autonomous system, most hits first; empty without a GeoIP database. All hits are in
    /// it.
    networks: &'a [NetworkRow],
    /// Host whose logs these are; null where it is unknown.
    log_host: Option<Cow<'a, str>>,
    /// Period that the report covers, such as `2026-11-20`; null where it covers all lines read.
    period: Option<&'a str>,
    /// Length in bits of the IPv6 prefixes that count as one client.
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv6_prefix: Option<u8>,
    /// How clients were anonymized.
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymized: Option<&'static str>,
    /// All counts the report is made of, for `merge` and `diff`: their rules, and the rest
    /// compressed; null in a report with `--top`. Its form may change with any version.
    #[schemars(with = "PackedSnapshot")]
    evidence: SnapshotTask,
}

/// The inputs, each made when it is written: a folder may hold a hundred thousand.
fn inputs<S: Serializer>(inputs: &[InputSummary], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(inputs.iter().map(input))
}

/// A log that was read.
#[derive(JsonSchema, Serialize)]
pub(super) struct InputObject<'a> {
    /// Host the log is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_host: Option<Cow<'a, str>>,
    /// Path of the log, or the name given with `--source`.
    path: Cow<'a, str>,
    /// Name or string of the log format; null where no line was parsed.
    format: Option<Cow<'a, str>>,
    #[serde(flatten)]
    counts: LineTotals,
    /// Earliest time of a line, RFC 3339; null where no line has a time.
    first_time: Option<String>,
    /// Latest time of a line, RFC 3339; null where no line has a time.
    last_time: Option<String>,
    /// Why the log could not be read to its end; null where it was.
    problem: Option<Cow<'a, str>>,
    /// Fields of its lines that were perhaps not read, and what to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<Cow<'a, str>>,
    /// Why no line of the log was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_whole: Option<SkipReason>,
}

pub(super) fn input(input: &InputSummary) -> InputObject<'_> {
    InputObject {
        log_host: input.log_host.as_ref().map(|host| escape(host.as_bytes())),
        path: escape(&input.path),
        format: input.format.as_deref().map(|name| escape(name.as_bytes())),
        counts: input.counts,
        first_time: input.first_time.map(LogTime::rfc3339),
        last_time: input.last_time.map(LogTime::rfc3339),
        problem: input
            .problem
            .as_ref()
            .map(|problem| escape(problem.as_bytes())),
        warning: input
            .warning
            .as_ref()
            .map(|warning| escape(warning.as_bytes())),
        skipped_whole: input.skipped_whole,
    }
}

fn has_hours(timeline: &Timeline) -> bool {
    timeline.hours.iter().flatten().any(|hits| *hits > 0)
}

impl JsonSchema for RowList<'_> {
    fn schema_name() -> Cow<'static, str> {
        "RowList".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        <Vec<RowObject<'_>>>::json_schema(generator)
    }
}

/// Rows that are rendered at one time, in parallel: only their text is in memory.
const ROWS_AT_A_TIME: usize = 4096;

/// Rows that one thread renders into one buffer: enough that most of their user agents occur more
/// than once.
const ROWS_PER_BUFFER: usize = 256;

/// The bytes of a usual row.
const USUAL_ROW_BYTES: usize = 640;

/// Rows that are rendered in parallel and serialized in order.
struct RowList<'a> {
    rules: &'a RuleSet,
    list: &'a [Row<'a>],
}

impl Serialize for RowList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.list.len()))?;
        for list in self.list.chunks(ROWS_AT_A_TIME) {
            let buffers = list.par_chunks(ROWS_PER_BUFFER);
            let rendered: Result<Vec<_>, _> = buffers.map(|rows| self.render(rows)).collect();
            for some in rendered.map_err(S::Error::custom)? {
                rows.serialize_element(&some)?;
            }
        }
        rows.end()
    }
}

impl RowList<'_> {
    /// Renders some rows.
    fn render(&self, rows: &[Row<'_>]) -> serde_json::Result<RenderedRows> {
        let mut rendered = RenderedRows(Vec::with_capacity(rows.len() * USUAL_ROW_BYTES));
        for row in rows {
            rendered.push(&row_object(self.rules, row))?;
        }
        Ok(rendered)
    }
}

/// A row. Which keys it has depends on its list.
#[derive(JsonSchema, Serialize)]
struct RowObject<'a> {
    /// Client: an address, or the text of the log. Rows of `clients` and `pairs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<Client<'a>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerObject<'a>>,
    /// Normalized path. Rows of `paths`, `pairs`, `answered` and `uncertain`.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<LogText<'a>>,
    /// ID of the rule. Rows of `rules`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    /// Outcome of the requests. Rows of `pairs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// Requests that match at least one rule.
    hits: u64,
    /// Distinct clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<u64>,
    /// Distinct paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<u64>,
    /// All requests of the client, hits or not. Rows of `clients`.
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    /// Requests of the client that match no rule, and unparsed lines that begin with its address.
    /// Rows of `clients`.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_requests: Option<u64>,
    /// Time of the earliest hit, RFC 3339; absent where no hit has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_time: Option<String>,
    /// Time of the latest hit, RFC 3339; absent where no hit has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_time: Option<String>,
    /// Hits by outcome, without those that have none.
    outcomes: NonzeroOutcomes,
    /// Hits with a distinct answer.
    answered: u64,
    /// Hits whose answer may be distinct; absent where there are none.
    #[serde(skip_serializing_if = "is_zero")]
    uncertain: u64,
    /// Hits that got what the site answers to anything; absent where there are none.
    #[serde(skip_serializing_if = "is_zero")]
    soft_404: u64,
    /// Highest severity of the hits, one step higher where an answer exposes something.
    severity: Severity,
    /// IDs of the rules that matched, sorted.
    rules: Vec<&'a str>,
    /// Classes of these rules, sorted.
    classes: Vec<&'a str>,
    /// CVE IDs of these rules, sorted; absent where they have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cve: Vec<&'a str>,
    /// Products that the requests are for, sorted; absent where no rule names one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    product: Vec<&'a str>,
    /// The most severe hit, of several the earliest.
    sample: &'a SampleRequest<'a>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    block: Option<BlockObject>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    geo: Option<&'a GeoInfo>,
}

/// Whether the client may be blocked. Rows of `clients` that `report` writes.
#[derive(JsonSchema, Serialize)]
struct BlockObject {
    /// Whether the client is a block candidate.
    block_candidate: bool,
    /// Why it is a block candidate or is not.
    block_reason: String,
    /// The /24 or /64 of the client; null where it has no address.
    network: Option<String>,
    /// Clients of that network with hits.
    network_probers: u64,
}

fn block(block: &BlockDecision) -> BlockObject {
    BlockObject {
        block_candidate: block.is_candidate(),
        block_reason: block.reason(),
        network: block.network.map(|network| network.to_string()),
        network_probers: block.network_probers,
    }
}

fn row_object<'a>(rules: &'a RuleSet, row: &'a Row<'_>) -> RowObject<'a> {
    let client = row.key.client();
    let path = row.key.path();
    let of_client = |n| (client.is_some() && path.is_none()).then_some(n);
    let has_paths = path.is_none() || row.answer.is_some();
    RowObject {
        rule: row.key.rule().map(|rule| rules.rule(rule).id.as_str()),
        outcome: row.key.outcome().map(Outcome::as_str),
        hits: row.hits,
        clients: client.is_none().then_some(row.clients),
        paths: has_paths.then_some(row.paths),
        requests: of_client(row.requests),
        other_requests: of_client(row.other_requests),
        first_time: row.first_time.map(LogTime::rfc3339),
        last_time: row.last_time.map(LogTime::rfc3339),
        outcomes: NonzeroOutcomes(row.outcomes),
        answered: row.answered,
        uncertain: row.uncertain,
        soft_404: row.soft_404,
        answer: answer(row),
        severity: row.severity,
        rules: labels::rule_ids(rules, &row.rules),
        classes: labels::classes(rules, &row.rules),
        cve: row.about.cves.clone(),
        product: row.about.products.clone(),
        sample: &row.sample,
        block: row.block.as_deref().map(block),
        geo: row.geo.as_deref(),
        client,
        path,
    }
}

/// What a path answered. Rows of `answered` and `uncertain`.
#[derive(JsonSchema, Serialize)]
struct AnswerObject<'a> {
    /// Host that answered, or the log where hosts are not logged.
    site: LogText<'a>,
    /// Status codes of the answers, sorted.
    status: Vec<u16>,
    /// Size of the answer in bytes; absent where none is logged.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// Method of the requests: `GET`, `POST`, `HEAD` or `OTHER`, each for the methods like it.
    method: &'static str,
    /// Why the answer is distinct or uncertain, as a word.
    reason: &'static str,
    /// Why the answer is distinct or uncertain, as a sentence.
    why: String,
    /// A shell command that requests the path, to see what it answers now.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    /// If several paths are one leak: all of them, the most important first. `path` is their folder
    /// then, and the other details are those of the first one.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    members: &'a [LeakMember<'a>],
}

fn answer<'a>(row: &'a Row<'_>) -> Option<AnswerObject<'a>> {
    let (RowKey::Answer(.., site), Some(detail)) = (row.key, &row.answer) else {
        return None;
    };
    Some(AnswerObject {
        site,
        status: detail.statuses.clone(),
        bytes: detail.bytes,
        method: detail.method.as_str(),
        reason: detail.grade.reason.as_str(),
        why: grades::why(detail),
        command: grades::command(row),
        members: &detail.members,
    })
}

/// Counts by [`Outcome`], of those that have any.
struct NonzeroOutcomes([u64; 8]);

impl JsonSchema for NonzeroOutcomes {
    fn schema_name() -> Cow<'static, str> {
        "NonzeroOutcomes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "properties": outcome_properties(), "additionalProperties": false })
    }
}

impl Serialize for NonzeroOutcomes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counts = Outcome::ALL
            .iter()
            .map(|outcome| outcome.as_str())
            .zip(self.0);
        serializer.collect_map(counts.filter(|(_, count)| *count > 0))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Writes the first `top` differences between two reports as a list, a line each.
pub(crate) fn write_diff<W: Write>(
    rows: &[DiffRow],
    top: Option<usize>,
    mut out: W,
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (number, row) in first(rows, top).iter().enumerate() {
        out.write_all(if number == 0 { b"\n  " } else { b",\n  " })?;
        let mut json = Vec::new();
        ObjectFields::object(&mut json, |fields| {
            fields.put("kind", row.kind.as_str());
            fields.put("key", &row.key);
            fields.put("change", row.change.as_str());
            fields.put("severity", row.severity);
            fields.put("hits_before", row.before);
            fields.put("hits_after", row.after);
            fields.put("status_after", row.status);
        });
        out.write_all(&json)?;
    }
    out.write_all(if first(rows, top).is_empty() {
        b"]\n"
    } else {
        b"\n]\n"
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::render::json::*;
    use crate::report::fixture;
    use serde_json::Value;

    fn json(report: &ReportModel<'_>, top: Option<usize>) -> String {
        let mut out = Vec::new();
        write(report, top, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_is_a_line() {
        let rules = fixture::rules();
        insta::assert_snapshot!(
            json(&fixture::report(rules), Some(1)).replace(GENERATED_BY, "probewatch VERSION")
        );
    }

    #[test]
    fn an_empty_report_is_a_valid_document() {
        let rules = fixture::rules();
        let value: Value = serde_json::from_str(&json(&fixture::empty(rules), None)).unwrap();
        assert_eq!(value["clients"], serde_json::json!([]));
        assert_eq!(value["totals"]["severity"], Value::Null);
    }

    #[test]
    fn elapsed_time_is_not_written() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        let before = json(&report, None);
        report.elapsed *= 2;
        assert_eq!(json(&report, None), before);
    }

    proptest! {
        #[test]
        fn any_text_gives_valid_json(target in any::<Vec<u8>>(), source in any::<Vec<u8>>(), problem in any::<String>()) {
            let rules = fixture::rules();
            let mut report = fixture::report(rules);
            report.pairs[0].sample.target = LogText::new(&target);
            report.pairs[0].sample.source = &source;
            report.inputs[0].problem = Some(problem);
            let value: Value = serde_json::from_str(&json(&report, None)).unwrap();
            prop_assert_eq!(value["pairs"][0]["sample"]["target"].as_str().unwrap(), &*LogText::new(&target).redacted());
            prop_assert_eq!(value["pairs"].as_array().unwrap().len(), report.pairs.len());
        }
    }
}
