//! The whole report as one JSON document.
//!
//! The keys are a promise: additions only, and `schema_version` counts them. Holds nothing that differs between two runs
//! over the same input, and builds no tree in memory: rows go out as they are met.

pub(crate) mod proposals;
mod rows;

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::ser::Serializer as JsonSerializer;

use self::rows::RowLineFormatter;
use super::grades;
use crate::analysis::block_candidates::BlockDecision;
use crate::analysis::diff::DiffRow;
use crate::analysis::labels::{self, first};
use crate::analysis::model::{
    AllowedCount, AppSeen, Approximation, Campaign, FloodRow, InputSummary, Report, Row, RowKey, SampleRequest, SkipReason, Soft404, Totals,
};
use crate::analysis::snapshot::SnapshotJson;
use crate::client::Ipv6Prefix;
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::rules::RuleSet;
use crate::time::LogTime;

/// Counts the additions to the document.
const SCHEMA_VERSION: u32 = 4;

/// Who wrote it.
const GENERATED_BY: &str = concat!("probewatch ", env!("CARGO_PKG_VERSION"));

/// Writes the document, the first `top` rows of each list.
pub(crate) fn write<W: Write>(report: &Report<'_>, top: Option<usize>, mut out: W) -> io::Result<()> {
    let list = |rows| RowList { rules: report.rule_set, list: first(rows, top), blocks: None };
    let document = ReportDocument {
        schema_version: SCHEMA_VERSION,
        generated_by: GENERATED_BY,
        inputs: Inputs(&report.inputs),
        totals: totals(&report.totals),
        approximate: report.approximate.map(approximate),
        answered: list(&report.answered),
        uncertain: list(&report.uncertain),
        soft_404: report.soft_404.iter().map(soft_404).collect(),
        clients: RowList { blocks: report.blocks.as_deref(), ..list(&report.clients) },
        paths: list(&report.paths),
        rules: list(&report.rules),
        pairs: list(&report.pairs),
        campaigns: first(&report.campaigns, top).iter().map(campaign).collect(),
        floods: first(&report.floods, top).iter().map(|one| flood(report.rule_set, one)).collect(),
        apps: report.apps.iter().map(app).collect(),
        allowed: report.allowed.iter().map(allowed).collect(),
        log_host: report.log_host.as_ref().map(|host| escape(host.as_bytes())),
        period: report.period.as_deref(),
        ipv6_prefix: report.prefix.map(Ipv6Prefix::bits),
        anonymized: report.hidden,
        evidence: SnapshotJson::new(report, top.is_none()),
    };
    document.serialize(&mut JsonSerializer::with_formatter(&mut out, RowLineFormatter::default()))?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct ReportDocument<'a> {
    schema_version: u32,
    generated_by: &'static str,
    inputs: Inputs<'a>,
    totals: TotalsObject,
    approximate: Option<ApproximateObject>,
    answered: RowList<'a>,
    uncertain: RowList<'a>,
    soft_404: Vec<Soft404Object<'a>>,
    clients: RowList<'a>,
    paths: RowList<'a>,
    rules: RowList<'a>,
    pairs: RowList<'a>,
    campaigns: Vec<CampaignObject<'a>>,
    floods: Vec<FloodObject<'a>>,
    apps: Vec<AppObject<'a>>,
    allowed: Vec<AllowedObject<'a>>,
    log_host: Option<Cow<'a, str>>,
    period: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ipv6_prefix: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    anonymized: Option<&'static str>,
    evidence: SnapshotJson<'a>,
}

/// The inputs, each made when it is written: a folder may hold a hundred thousand.
struct Inputs<'a>(&'a [InputSummary]);

impl Serialize for Inputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(input))
    }
}

#[derive(Serialize)]
struct InputObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    log_host: Option<Cow<'a, str>>,
    path: Cow<'a, str>,
    format: Option<Cow<'a, str>>,
    bytes: u64,
    lines: u64,
    parsed: u64,
    unparsed: u64,
    oversized: u64,
    skipped: u64,
    pending: u64,
    requests: u64,
    hits: u64,
    first_time: Option<String>,
    last_time: Option<String>,
    problem: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_whole: Option<SkipReason>,
}

fn input(input: &InputSummary) -> InputObject<'_> {
    InputObject {
        log_host: input.log_host.as_ref().map(|host| escape(host.as_bytes())),
        path: escape(&input.path),
        format: input.format.as_deref().map(|name| escape(name.as_bytes())),
        bytes: input.bytes,
        lines: input.lines,
        parsed: input.parsed,
        unparsed: input.unparsed,
        oversized: input.oversized,
        skipped: input.skipped,
        pending: input.pending,
        requests: input.requests,
        hits: input.hits,
        first_time: input.first_time.map(LogTime::rfc3339),
        last_time: input.last_time.map(LogTime::rfc3339),
        problem: input.problem.as_ref().map(|problem| escape(problem.as_bytes())),
        skipped_whole: input.skipped_whole,
    }
}

#[derive(Serialize)]
struct AppObject<'a> {
    app: &'a str,
    site: Option<Cow<'a, str>>,
    silenced: u64,
}

fn app<'a>(seen: &AppSeen<'a>) -> AppObject<'a> {
    AppObject { app: seen.app, site: seen.site.map(redacted), silenced: seen.silenced }
}

#[derive(Serialize)]
struct AllowedObject<'a> {
    file: Cow<'a, str>,
    line: usize,
    reason: Cow<'a, str>,
    requests: u64,
}

fn allowed<'a>(entry: &AllowedCount<'a>) -> AllowedObject<'a> {
    let AllowedCount { file, line, reason, requests } = *entry;
    AllowedObject { file: escape(file.as_bytes()), line, reason: escape(reason.as_bytes()), requests }
}

#[derive(Serialize)]
struct TotalsObject {
    bytes: u64,
    lines: u64,
    parsed: u64,
    unparsed: u64,
    oversized: u64,
    skipped: u64,
    pending: u64,
    requests: u64,
    hits: u64,
    first_time: Option<String>,
    last_time: Option<String>,
    clients: u64,
    paths: u64,
    rules: u64,
    answered: u64,
    uncertain: u64,
    soft_404: u64,
    without_time: u64,
    outcomes: OutcomeCounts,
    severity: Option<Severity>,
}

fn totals(totals: &Totals) -> TotalsObject {
    let sum = &totals.sum;
    TotalsObject {
        bytes: sum.bytes,
        lines: sum.lines,
        parsed: sum.parsed,
        unparsed: sum.unparsed,
        oversized: sum.oversized,
        skipped: sum.skipped,
        pending: sum.pending,
        requests: sum.requests,
        hits: sum.hits,
        first_time: sum.first_time.map(LogTime::rfc3339),
        last_time: sum.last_time.map(LogTime::rfc3339),
        clients: totals.clients,
        paths: totals.paths,
        rules: totals.rules,
        answered: totals.answered,
        uncertain: totals.uncertain,
        soft_404: totals.soft_404,
        without_time: totals.without_time,
        outcomes: OutcomeCounts(totals.outcomes),
        severity: totals.severity,
    }
}

#[derive(Serialize)]
struct ApproximateObject {
    pairs: u64,
    clients: u64,
    requests: u64,
    paths: u64,
    rest_hits: u64,
    uncounted: u64,
}

fn approximate(bound: Approximation) -> ApproximateObject {
    let Approximation { pairs, clients, requests, paths, rest_hits, uncounted } = bound;
    ApproximateObject { pairs, clients, requests, paths, rest_hits, uncounted }
}

/// Rows that become objects one by one, while they are written.
struct RowList<'a> {
    rules: &'a RuleSet,
    list: &'a [Row<'a>],
    /// What is known of each row's block.
    blocks: Option<&'a [BlockDecision]>,
}

impl Serialize for RowList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let known = |number| self.blocks.and_then(|blocks| blocks.get(number)).map(block);
        let row = |(number, row)| RowObject { block: known(number), ..row_object(self.rules, row) };
        serializer.collect_seq(self.list.iter().enumerate().map(row))
    }
}

#[derive(Serialize)]
struct RowObject<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<Cow<'a, str>>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    answer: Option<AnswerObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    hits: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_requests: Option<u64>,
    first_time: Option<String>,
    last_time: Option<String>,
    outcomes: OutcomeCounts,
    answered: u64,
    uncertain: u64,
    soft_404: u64,
    severity: Severity,
    rules: Vec<&'a str>,
    classes: Vec<&'a str>,
    cve: Vec<&'a str>,
    sample: SampleObject<'a>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    block: Option<BlockObject>,
}

#[derive(Serialize)]
struct BlockObject {
    block_candidate: bool,
    block_reason: String,
    network: Option<String>,
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
    let path = row.shown_path();
    let of_client = |n| (client.is_some() && path.is_none()).then_some(n);
    RowObject {
        rule: row.key.rule().map(|rule| rules.rule(rule).id.as_str()),
        outcome: row.key.outcome().map(Outcome::as_str),
        hits: row.hits,
        clients: client.is_none().then_some(row.clients),
        paths: path.is_none().then_some(row.paths),
        requests: of_client(row.requests),
        other_requests: of_client(row.other_requests),
        first_time: row.first_time.map(LogTime::rfc3339),
        last_time: row.last_time.map(LogTime::rfc3339),
        outcomes: OutcomeCounts(row.outcomes),
        answered: row.answered,
        uncertain: row.uncertain,
        soft_404: row.soft_404,
        answer: answer(row),
        severity: row.severity,
        rules: labels::rule_ids(rules, &row.rules),
        classes: labels::classes(rules, &row.rules),
        cve: labels::cves(rules, &row.rules),
        sample: sample(&row.sample),
        block: None,
        client: client.map(labels::client),
        path,
    }
}

/// What an answer was, why it is graded so, and a command that looks.
#[derive(Serialize)]
struct AnswerObject<'a> {
    site: Cow<'a, str>,
    status: Vec<u16>,
    bytes: Option<u64>,
    method: &'static str,
    reason: &'static str,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
}

fn answer<'a>(row: &'a Row<'_>) -> Option<AnswerObject<'a>> {
    let (RowKey::Answer(.., site), Some(detail)) = (row.key, &row.answer) else { return None };
    Some(AnswerObject {
        site: redacted(site),
        status: detail.statuses.clone(),
        bytes: detail.bytes,
        method: detail.method.as_str(),
        reason: grades::reason(detail.grade.reason),
        why: grades::why(detail),
        command: grades::command(row),
    })
}

/// Counts by the words of [`Outcome`], all of them always: a program need not ask which are there.
struct OutcomeCounts([u64; 8]);

impl Serialize for OutcomeCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Outcome::ALL.iter().map(|outcome| outcome.as_str()).zip(self.0))
    }
}

#[derive(Serialize)]
struct SampleObject<'a> {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_host: Option<Cow<'a, str>>,
    source: Cow<'a, str>,
    line: u64,
    target: Cow<'a, str>,
    status: Option<u16>,
    host: Option<Cow<'a, str>>,
    user_agent: Option<Cow<'a, str>>,
}

fn sample<'a>(sample: &SampleRequest<'a>) -> SampleObject<'a> {
    SampleObject {
        id: labels::id(sample.generation, sample.offset),
        log_host: sample.log_host.map(|host| escape(host.as_bytes())),
        source: escape(sample.source),
        line: sample.line,
        target: redacted(sample.target),
        status: sample.status,
        host: sample.host.map(redacted),
        user_agent: sample.user_agent.map(redacted),
    }
}

#[derive(Serialize)]
struct Soft404Object<'a> {
    site: Cow<'a, str>,
    hosts: u64,
    reason: &'static str,
    sizes: &'a [(u64, u64)],
    paths: u64,
    requests: u64,
}

fn soft_404<'a>(site: &'a Soft404<'_>) -> Soft404Object<'a> {
    let Soft404 { hosts, paths, requests, .. } = *site;
    Soft404Object { site: redacted(site.site), hosts, reason: grades::reason(site.grade.reason), sizes: &site.sizes, paths, requests }
}

#[derive(Serialize)]
struct CampaignObject<'a> {
    key: &'a str,
    clients: u64,
    networks: u64,
    paths: u64,
    hits: u64,
    first_time: Option<String>,
    last_time: Option<String>,
    answered: u64,
    severity: Severity,
    sample_paths: Vec<Cow<'a, str>>,
    sample: SampleObject<'a>,
}

fn campaign<'a>(campaign: &'a Campaign<'_>) -> CampaignObject<'a> {
    let Campaign { ref key, severity, clients, networks, paths, hits, answered, .. } = *campaign;
    CampaignObject {
        key,
        clients,
        networks,
        paths,
        hits,
        first_time: campaign.first_time.map(LogTime::rfc3339),
        last_time: campaign.last_time.map(LogTime::rfc3339),
        answered,
        severity,
        sample_paths: campaign.sample_paths.iter().map(|path| redacted(path)).collect(),
        sample: sample(&campaign.sample),
    }
}

#[derive(Serialize)]
struct FloodObject<'a> {
    rule: &'a str,
    severity: Severity,
    client: Option<Cow<'a, str>>,
    method: &'static str,
    path: Cow<'a, str>,
    clients: u64,
    paths: u64,
    requests: u64,
    minutes: u64,
    first_minute: String,
    last_minute: String,
    floods: u64,
    sample: SampleObject<'a>,
}

fn flood<'a>(rules: &'a RuleSet, flood: &'a FloodRow<'_>) -> FloodObject<'a> {
    let FloodRow { severity, clients, paths, requests, minutes, floods, .. } = *flood;
    FloodObject {
        rule: &rules.rule(flood.rule).id,
        severity,
        client: flood.client.map(labels::client),
        method: flood.method.as_str(),
        path: redacted(flood.path),
        clients,
        paths,
        requests,
        minutes,
        first_minute: flood.first_minute.rfc3339(),
        last_minute: flood.last_minute.rfc3339(),
        floods,
        sample: sample(&flood.sample),
    }
}

#[derive(Serialize)]
struct DiffObject<'a> {
    kind: &'static str,
    key: &'a str,
    change: &'static str,
    severity: Severity,
    hits_before: u64,
    hits_after: u64,
    status_after: Option<u16>,
}

/// Writes what differs between two reports as a list: the first `top` changes, a line each.
pub(crate) fn write_diff<W: Write>(rows: &[DiffRow], top: Option<usize>, mut out: W) -> io::Result<()> {
    out.write_all(b"[")?;
    for (number, row) in first(rows, top).iter().enumerate() {
        out.write_all(if number == 0 { b"\n  " } else { b",\n  " })?;
        serde_json::to_writer(&mut out, &diff_object(row))?;
    }
    out.write_all(if first(rows, top).is_empty() { b"]\n" } else { b"\n]\n" })
}

fn diff_object(row: &DiffRow) -> DiffObject<'_> {
    DiffObject {
        kind: row.kind.as_str(),
        key: &row.key,
        change: row.change.as_str(),
        severity: row.severity,
        hits_before: row.before,
        hits_after: row.after,
        status_after: row.status,
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::fixture;
    use crate::render::json::*;
    use proptest::prelude::*;

    fn json(report: &Report<'_>, top: Option<usize>) -> String {
        let mut out = Vec::new();
        write(report, top, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_a_line() {
        let rules = fixture::rules();
        insta::assert_snapshot!(json(&fixture::report(rules), Some(1)).replace(GENERATED_BY, "probewatch VERSION"));
    }

    #[test]
    fn an_empty_report_is_a_document_too() {
        let rules = fixture::rules();
        let value: serde_json::Value = serde_json::from_str(&json(&fixture::empty(rules), None)).unwrap();
        assert_eq!(value["clients"], serde_json::json!([]));
        assert_eq!(value["totals"]["severity"], serde_json::Value::Null);
    }

    #[test]
    fn elapsed_time_changes_nothing() {
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
            report.pairs[0].sample.target = &target;
            report.pairs[0].sample.source = &source;
            report.inputs[0].problem = Some(problem);
            let value: serde_json::Value = serde_json::from_str(&json(&report, None)).unwrap();
            prop_assert_eq!(value["pairs"][0]["sample"]["target"].as_str().unwrap(), &*redacted(&target));
            prop_assert_eq!(value["pairs"].as_array().unwrap().len(), report.pairs.len());
        }
    }
}
