//! Tells one kept line as NDJSON does, once the context is known.

mod live;

pub use self::live::{LiveHit, LiveLine, ReportReason, live_hit};
use super::build::ReportInput;
use super::model::ReportedHit;
use super::rows::parse_stored_line;
use super::rule_status::{HitContext, LogAnalysis};
use crate::client::{Client, Ipv6Prefix};
use crate::engine::ParsedRequest;
use crate::finding::{RuleId, Severity};
use crate::intern::SymbolTables;
use crate::log_entry::{LogEntry, Outcome};
use crate::normalize::{DecodedViews, Normalizer};
use crate::soft_404::{Answer, MethodClass, Response};
use crate::tally::{LinePosition, Site};

/// A line that matched, as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct StoredLine<'a> {
    /// Where it stands.
    pub position: LinePosition,
    /// The line.
    pub text: &'a [u8],
    /// Whether a format explains it.
    pub parsed: bool,
    /// The rules it matched, sorted.
    pub rules: &'a [RuleId],
}

/// Room to tell a hit in.
#[derive(Debug, Default)]
pub struct HitBuffers {
    normalizer: Normalizer,
    rules: Vec<RuleId>,
    host: Vec<u8>,
    client: Vec<u8>,
    prefix: Option<Ipv6Prefix>,
}

impl HitBuffers {
    /// Room for clients of whom those of one IPv6 prefix are one.
    #[must_use]
    pub fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self { prefix, ..Self::default() }
    }
}

/// The hit a kept line is; `None` where it is none in the context, or none that is asked for.
pub fn hit_from_line<'a>(
    material: &ReportInput<'a>,
    context: &LogAnalysis<'_>,
    line: &StoredLine<'a>,
    desk: &'a mut HitBuffers,
) -> Option<ReportedHit<'a>> {
    let (record, probe) = parse_stored_line(line.text, line.parsed);
    let HitBuffers { normalizer, rules, host, client, prefix } = desk;
    let views = normalizer.views(probe.line.target);
    let who = counted_client(record.client, *prefix, client);
    // One that was let go is nobody the context knows.
    let client = material.tally.client_number(who).unwrap_or(SymbolTables::OTHER);
    let site = lowercase_host(record.host, host).map_or(Site::Input(line.position.input), Site::Host);
    let seen = HitContext { client, site, path: views.resolved, response: response(&record, &probe) };
    let decision = context.filter_outcome(context.decide(line.rules, &seen, rules), Outcome::of(record.status));
    if !decision.reported {
        return None;
    }
    let text = &material.texts[line.position.input as usize];
    let verdict = HitVerdict {
        severity: decision.severity,
        rules,
        answer: decision.grade.map(|grade| grade.answer),
        context: context.required_context(rules),
    };
    let spot = HitLocation {
        generation: text.generation,
        offset: line.position.chunk + line.position.offset,
        source: &text.path,
        line: text.line_number(line.position.chunk, line.position.line),
    };
    Some(assemble(&record, who, &probe, views, &spot, &verdict))
}

/// What the site answered.
pub(crate) fn response(record: &LogEntry<'_>, probe: &ParsedRequest<'_>) -> Response {
    Response { method: MethodClass::of(probe.line.method), status: record.status, bytes: record.bytes, extra: probe.line.query_len() }
}

/// The client as it is counted: its group, or itself.
pub(crate) fn counted_client<'a>(logged: &'a [u8], prefix: Option<Ipv6Prefix>, room: &'a mut Vec<u8>) -> Client<'a> {
    let client = Client::from_log_field(logged);
    let Some(group) = prefix.and_then(|prefix| prefix.prefix_text(client)) else { return client };
    room.clear();
    room.extend_from_slice(group.as_bytes());
    Client::Text(room)
}

/// The host in lower case.
pub(crate) fn lowercase_host<'a>(host: Option<&[u8]>, room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    room.clear();
    room.extend_from_slice(host?);
    room.make_ascii_lowercase();
    Some(room)
}

/// Where a line stands, for a reader.
struct HitLocation<'a> {
    generation: u64,
    offset: u64,
    source: &'a [u8],
    line: u64,
}

/// What was decided about it.
struct HitVerdict<'a> {
    severity: Severity,
    rules: &'a [RuleId],
    answer: Option<Answer>,
    context: Option<&'static str>,
}

fn assemble<'a>(
    record: &LogEntry<'a>,
    client: Client<'a>,
    probe: &ParsedRequest<'a>,
    views: DecodedViews<'a>,
    spot: &HitLocation<'a>,
    verdict: &HitVerdict<'a>,
) -> ReportedHit<'a> {
    ReportedHit {
        generation: spot.generation,
        offset: spot.offset,
        source: spot.source,
        line: spot.line,
        time: record.time,
        client,
        method: probe.line.method,
        target: probe.line.target,
        path: views.resolved,
        decoded: Some(views.target).filter(|decoded| *decoded != probe.line.target),
        protocol: probe.line.protocol,
        status: record.status,
        bytes: record.bytes,
        outcome: Outcome::of(record.status),
        answer: verdict.answer,
        severity: verdict.severity,
        context: verdict.context,
        rules: verdict.rules,
        host: record.host,
        referer: record.referer,
        user_agent: record.user_agent,
    }
}
