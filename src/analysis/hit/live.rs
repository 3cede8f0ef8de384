//! Tells a line at once, in the light of what was seen so far.

use super::{HitBuffers, HitLocation, HitVerdict, assemble, counted_client, lowercase_host, response};
use crate::alerting::alert::MIN_ANSWERED_SEVERITY;
use crate::analysis::model::ReportedHit;
use crate::analysis::rows::parse_stored_line;
use crate::analysis::rule_status::{LiveAnalysis, LiveHitContext, PendingHit};
use crate::finding::RuleId;

/// A line that matched, and the log it stands in.
#[derive(Debug, Clone, Copy)]
pub struct LiveLine<'a> {
    /// SymbolTables the log's generation.
    pub generation: u64,
    /// The log's path.
    pub source: &'a [u8],
    /// What its name and those of its rotated siblings have in common.
    pub family: &'a [u8],
    /// Bytes from the start of the log's text.
    pub offset: u64,
    /// The line's number, from 1.
    pub line: u64,
    /// The line.
    pub text: &'a [u8],
    /// Whether a format explains it.
    pub parsed: bool,
    /// All rules it matched, sorted.
    pub rules: &'a [RuleId],
}

/// A line that matched, as it is told.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
pub struct LiveHit<'a> {
    /// The request; it has no rules where it is no finding, or none that was asked for.
    pub hit: ReportedHit<'a>,
    /// Its answer is distinct.
    pub answered: bool,
    /// Its answer is to raise an alert.
    pub alerts: bool,
    /// It was reported before, with another grade.
    pub is_update: bool,
    /// All rules it matched, sorted.
    pub matched: &'a [RuleId],
    /// Its client may yet make it a finding.
    pub may_be_promoted: bool,
}

impl LiveHit<'_> {
    /// Whether it is a finding that was asked for.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        !self.hit.rules.is_empty()
    }
}

/// Why a line is reported.
#[derive(Debug)]
pub enum ReportReason<'o> {
    /// It came. Lines that waited for its client to show itself go into the list.
    New(&'o mut Vec<PendingHit>),
    /// Its client showed itself.
    Promoted,
    /// The grade of its answer changed.
    Regraded {
        /// It raised no alert yet.
        may_alert: bool,
    },
}

/// The hit a line is by now.
pub fn live_hit<'a>(
    context: &mut LiveAnalysis<'_>,
    line: &LiveLine<'a>,
    occasion: ReportReason<'_>,
    desk: &'a mut HitBuffers,
) -> LiveHit<'a> {
    let (record, probe) = parse_stored_line(line.text, line.parsed);
    let HitBuffers { normalizer, rules, host, client, prefix } = desk;
    let client = counted_client(record.client, *prefix, client);
    let views = normalizer.views(probe.line.target);
    let seen = LiveHitContext {
        client,
        path: views.resolved,
        host: lowercase_host(record.host, host),
        family: line.family,
        response: response(&record, &probe),
    };
    let met = context.resolve(&seen);
    let (is_update, may_alert) = match occasion {
        ReportReason::New(late) => {
            late.extend(context.observe(line.rules, &seen, &met));
            (false, true)
        }
        ReportReason::Promoted => (false, true),
        ReportReason::Regraded { may_alert } => (true, may_alert),
    };
    let decision = context.decide(line.rules, &seen, &met, rules);
    let answer = decision.grade.map(|grade| grade.answer);
    let alerts =
        decision.reported && decision.answered && decision.severity >= MIN_ANSWERED_SEVERITY && may_alert && context.may_alert(&met);
    if let Some(answer) = answer.filter(|_| decision.reported && !is_update) {
        context.track_answer(&met, seen.response, answer, alerts, line);
    }
    if !decision.reported {
        rules.clear();
    }
    let verdict =
        HitVerdict { severity: decision.severity, rules, answer, context: context.required_context(rules).filter(|_| !rules.is_empty()) };
    let spot = HitLocation { generation: line.generation, offset: line.offset, source: line.source, line: line.line };
    LiveHit {
        hit: assemble(&record, client, &probe, views, &spot, &verdict),
        answered: decision.answered,
        alerts,
        is_update,
        matched: line.rules,
        may_be_promoted: !decision.matched && context.may_be_promoted(line.rules),
    }
}
