//! Tells one kept line as NDJSON does, once the context is known.

mod live;

pub use self::live::{LiveHit, LiveLine, Occasion, live};
use super::build::Material;
use super::context::{Context, Seen};
use super::model::Hit;
use super::rows::reread;
use crate::client::{Client, Prefix};
use crate::engine::ParsedRequest;
use crate::finding::{RuleId, Severity};
use crate::intern::SymbolTables;
use crate::log_entry::{LogEntry, Outcome};
use crate::normalize::{DecodedViews, Normalizer};
use crate::soft_404::{Answer, MethodClass, Response};
use crate::tally::{Place, Scope};

/// A line that matched, as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptLine<'a> {
    /// Where it stands.
    pub place: Place,
    /// The line.
    pub text: &'a [u8],
    /// Whether a format explains it.
    pub parsed: bool,
    /// The rules it matched, sorted.
    pub rules: &'a [RuleId],
}

/// Room to tell a hit in.
#[derive(Debug, Default)]
pub struct Desk {
    normalizer: Normalizer,
    rules: Vec<RuleId>,
    host: Vec<u8>,
    client: Vec<u8>,
    prefix: Option<Prefix>,
}

impl Desk {
    /// Room for clients of whom those of one IPv6 prefix are one.
    #[must_use]
    pub fn counting(prefix: Option<Prefix>) -> Self {
        Self { prefix, ..Self::default() }
    }
}

/// The hit a kept line is; `None` where it is none in the context, or none that is asked for.
pub fn hit<'a>(material: &Material<'a>, context: &Context<'_>, line: &KeptLine<'a>, desk: &'a mut Desk) -> Option<Hit<'a>> {
    let (record, probe) = reread(line.text, line.parsed);
    let Desk { normalizer, rules, host, client, prefix } = desk;
    let views = normalizer.views(probe.line.target);
    let who = counted(record.client, *prefix, client);
    // One that was let go is nobody the context knows.
    let client = material.tally.number_of(who).unwrap_or(SymbolTables::OTHER);
    let site = lowered(record.host, host).map_or(Scope::Input(line.place.input), Scope::Host);
    let seen = Seen { client, site, path: views.resolved, response: response(&record, &probe) };
    let decision = context.within_outcomes(context.decide(line.rules, &seen, rules), Outcome::of(record.status));
    if !decision.reported {
        return None;
    }
    let text = &material.texts[line.place.input as usize];
    let verdict =
        Verdict { severity: decision.severity, rules, answer: decision.grade.map(|grade| grade.answer), context: context.word_of(rules) };
    let spot = Spot {
        generation: text.generation,
        offset: line.place.chunk + line.place.offset,
        source: &text.path,
        line: text.line_number(line.place.chunk, line.place.line),
    };
    Some(told(&record, who, &probe, views, &spot, &verdict))
}

/// What the site answered.
pub(super) fn response(record: &LogEntry<'_>, probe: &ParsedRequest<'_>) -> Response {
    Response { method: MethodClass::of(probe.line.method), status: record.status, bytes: record.bytes, extra: probe.line.query_len() }
}

/// The client as it is counted: its group, or itself.
pub(super) fn counted<'a>(logged: &'a [u8], prefix: Option<Prefix>, room: &'a mut Vec<u8>) -> Client<'a> {
    let client = Client::of_line(logged);
    let Some(group) = prefix.and_then(|prefix| prefix.group(client)) else { return client };
    room.clear();
    room.extend_from_slice(group.as_bytes());
    Client::Text(room)
}

/// The host in lower case.
pub(super) fn lowered<'a>(host: Option<&[u8]>, room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    room.clear();
    room.extend_from_slice(host?);
    room.make_ascii_lowercase();
    Some(room)
}

/// Where a line stands, for a reader.
struct Spot<'a> {
    generation: u64,
    offset: u64,
    source: &'a [u8],
    line: u64,
}

/// What was decided about it.
struct Verdict<'a> {
    severity: Severity,
    rules: &'a [RuleId],
    answer: Option<Answer>,
    context: Option<&'static str>,
}

fn told<'a>(
    record: &LogEntry<'a>,
    client: Client<'a>,
    probe: &ParsedRequest<'a>,
    views: DecodedViews<'a>,
    spot: &Spot<'a>,
    verdict: &Verdict<'a>,
) -> Hit<'a> {
    Hit {
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
