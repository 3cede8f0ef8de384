//! Assembles single hits for NDJSON and `follow` from stored lines, once they are analysed.

use super::anonymize::Privacy;
use super::model::ReportedHit;
use super::rows::restore;
use crate::collections::intern::{SymbolTables, bound_name};
use crate::engine::ParsedRequest;
use crate::judge::rule_status::{
    AnswerEvent, HitContext, LiveAnalysis, LiveLine, LogAnalysis, SavedRequest,
};
use crate::judge::site::SiteName;
use crate::log::client::{Client, Ipv6Prefix};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::{LogEntry, Outcome};
use crate::log::source::RequestId;
use crate::scan::hit_spool::StoredLine;
use crate::soft_404::{MethodClass, Response};
use crate::tally::{RequestsSoFar, Site};
use crate::text::normalize::{DecodedViews, Normalizer};
use crate::text::redact::{DecodedText, LogText};

/// Buffers for one hit.
#[derive(Debug, Default)]
pub(crate) struct HitBuffers {
    normalizer: Normalizer,
    rules: Vec<RuleId>,
    host: Vec<u8>,
    client: Vec<u8>,
    prefix: Option<Ipv6Prefix>,
}

impl HitBuffers {
    /// Buffers that count clients of one IPv6 prefix as one.
    #[must_use]
    pub(crate) fn with_prefix(prefix: Option<Ipv6Prefix>) -> Self {
        Self {
            prefix,
            ..Self::default()
        }
    }
}

/// The hit of a stored line; `None` if the analysis drops it or its outcome was not requested.
pub(crate) fn hit_from_line<'a>(
    analysis: &LogAnalysis<'a>,
    line: &StoredLine<'a>,
    buffers: &'a mut HitBuffers,
) -> Option<ReportedHit<'a>> {
    let (record, probe) = restore(line.text, line.parsed);
    let HitBuffers {
        normalizer,
        rules,
        host,
        client,
        prefix,
    } = buffers;
    let views = normalizer.views(probe.line.target);
    let client_key = counted_client(record.client, *prefix, client);
    // The analysis has merged evicted clients into this one.
    let client = analysis
        .input
        .tally
        .client_number(client_key)
        .unwrap_or(SymbolTables::OTHER);
    let site =
        lowercase_host(record.host, host).map_or(Site::Input(line.position.input), Site::Host);
    let context = HitContext {
        client,
        site,
        path: views.resolved,
        response: response(&record, &probe, views.resolved),
    };
    let decision = analysis.filter_outcome(
        analysis.decide(line.rules, &context, rules),
        Outcome::from_status(record.status),
    );
    if !decision.reported {
        return None;
    }
    let source = &analysis.input.sources[line.position.input as usize];
    Some(ReportedHit {
        id: RequestId {
            generation: source.generation,
            offset: line.position.chunk + line.position.offset,
        },
        source: &source.path,
        line: source.line_number(line.position.chunk, line.position.line),
        severity: decision.severity,
        answer: decision.grade.map(|grade| grade.answer),
        context: analysis.required_context(rules),
        rules,
        ..from_line(&record, client_key, &probe, views)
    })
}

/// The response of the site to a request for this path.
pub(crate) fn response(record: &LogEntry<'_>, probe: &ParsedRequest<'_>, path: &[u8]) -> Response {
    Response {
        method: MethodClass::from_method(probe.line.method),
        status: record.status,
        bytes: record.bytes,
        extra: probe.line.len_beyond(path),
    }
}

/// The client as it is counted: its prefix, or itself.
pub(crate) fn counted_client<'a>(
    logged: &'a [u8],
    prefix: Option<Ipv6Prefix>,
    buffers: &'a mut Vec<u8>,
) -> Client<'a> {
    let client = Client::from_log_field(logged);
    let Some(group) = prefix.and_then(|prefix| prefix.prefix_text(client)) else {
        return client;
    };
    buffers.clear();
    buffers.extend_from_slice(group.as_bytes());
    Client::Text(buffers)
}

/// The host in lower case, as the symbol tables hold it.
pub(crate) fn lowercase_host<'a>(
    host: Option<&[u8]>,
    buffers: &'a mut Vec<u8>,
) -> Option<&'a [u8]> {
    buffers.clear();
    buffers.extend_from_slice(host?);
    buffers.make_ascii_lowercase();
    bound_name(buffers);
    Some(buffers)
}

/// What the line alone shows of a hit.
fn from_line<'a>(
    record: &LogEntry<'a>,
    client: Client<'a>,
    probe: &ParsedRequest<'a>,
    views: DecodedViews<'a>,
) -> ReportedHit<'a> {
    ReportedHit {
        id: RequestId::default(),
        source: b"",
        line: 0,
        time: record.time,
        client,
        method: probe.line.method.into(),
        target: probe.line.target.into(),
        path: views.resolved.into(),
        decoded: Some(views.target)
            .filter(|decoded| *decoded != probe.line.target)
            .map(DecodedText::new),
        protocol: probe.line.protocol.into(),
        status: record.status,
        bytes: record.bytes,
        outcome: Outcome::from_status(record.status),
        answer: None,
        severity: Severity::Info,
        context: None,
        rules: &[],
        host: record.host.map(LogText::new),
        referer: record.referer.map(LogText::new),
        user_agent: record.user_agent.map(LogText::new),
        user: record.user.map(LogText::new),
        geo: None,
    }
}

/// A live hit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveHit<'a> {
    /// The request; it has no rules if it is no finding or was not requested.
    pub hit: ReportedHit<'a>,
    /// Its answer is distinct.
    pub answered: bool,
    /// The requests of its client so far; 0 where they are not counted. The number may start anew.
    pub requests: u64,
    /// What changed, if it was reported before.
    pub change: Option<AnswerEvent>,
    /// Its site.
    pub site: SiteName<'a>,
    /// All rules it matched, sorted.
    pub matched: &'a [RuleId],
    /// It becomes a finding if its client proves to be a prober.
    pub may_be_promoted: bool,
    /// An earlier run read it: it has what alerts print, redacted.
    pub is_saved: bool,
}

impl LiveHit<'_> {
    /// Whether it is a finding that was requested.
    #[must_use]
    pub(crate) fn is_reported(&self) -> bool {
        !self.hit.rules.is_empty()
    }
}

/// Why a line is reported.
#[derive(Debug)]
pub(crate) enum ReportReason<'o> {
    /// It is a new line.
    New {
        /// See [`Hit::is_probe`](crate::log::finding::Hit::is_probe).
        is_probe: bool,
        /// The requests of its client, this one included.
        so_far: RequestsSoFar,
        /// Gets the requests held of the client, if it proves to be a prober.
        late: &'o mut Vec<LiveLine<'static>>,
    },
    /// Its client has proved to be a prober.
    Promoted,
    /// It was reported before, and its answer changed.
    Changed(AnswerEvent),
}

/// The live hit of a line, by the present analysis.
pub(crate) fn live_hit<'a>(
    analysis: &mut LiveAnalysis<'_>,
    line: &'a LiveLine<'_>,
    occasion: ReportReason<'_>,
    buffers: &'a mut HitBuffers,
) -> LiveHit<'a> {
    let (record, probe) = restore(&line.text, line.parsed);
    let HitBuffers {
        normalizer,
        rules,
        host,
        client,
        prefix,
    } = buffers;
    let client = counted_client(record.client, *prefix, client);
    let views = normalizer.views(probe.line.target);
    let context = analysis.context(
        client,
        views.resolved,
        SiteName::new(lowercase_host(record.host, host), &line.family),
        response(&record, &probe, views.resolved),
        record.time,
    );
    let change = match occasion {
        ReportReason::New {
            is_probe,
            so_far,
            late,
        } => {
            late.extend(analysis.observe((&line.rules, is_probe), &context, so_far));
            None
        }
        ReportReason::Promoted => None,
        ReportReason::Changed(event) => Some(event),
    };
    let decision = analysis.decide(&line.rules, &context, rules);
    if let Some(grade) = decision
        .grade
        .filter(|_| decision.reported && change.is_none())
    {
        analysis.track_answer(&context, grade, line);
    }
    if !decision.reported {
        rules.clear();
    }
    LiveHit {
        hit: ReportedHit {
            id: RequestId {
                generation: line.generation,
                offset: line.offset,
            },
            source: &line.source,
            line: line.line,
            severity: decision.severity,
            answer: decision.grade.map(|grade| grade.answer),
            context: analysis
                .required_context(rules)
                .filter(|_| !rules.is_empty()),
            rules,
            ..from_line(&record, client, &probe, views)
        },
        answered: decision.answered,
        requests: 0,
        change,
        site: context.site,
        matched: &line.rules,
        may_be_promoted: !decision.matched && analysis.may_be_promoted(&line.rules),
        is_saved: line.is_saved,
    }
}

/// The request of a line as alerts print it; `None` if no log format matched the line, or a text of
/// it is no UTF-8.
pub(crate) fn alert_request(
    privacy: &Privacy,
    line: &LiveLine<'_>,
    prefix: Option<Ipv6Prefix>,
) -> Option<SavedRequest> {
    let (entry, probe) = line.parsed.then(|| restore(&line.text, true))?;
    if line.is_saved {
        return SavedRequest::new(&entry);
    }
    let mut buffers = Vec::new();
    let client = privacy.client(counted_client(entry.client, prefix, &mut buffers));
    let [method, target, protocol] = [probe.line.method, probe.line.target, probe.line.protocol]
        .map(|text| privacy.alert_text(text));
    let client = client.client().redacted();
    let request = [&*method, &*target, &*protocol]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    SavedRequest::new(&LogEntry {
        client: client.as_bytes(),
        request: request.as_bytes(),
        ..entry
    })
}
