//! Tells a line at once, in the light of what was seen so far.

use super::{Desk, Spot, Verdict, counted, lowered, response, told};
use crate::alerting::alert::MIN_ANSWERED_SEVERITY;
use crate::analysis::model::Hit;
use crate::analysis::rows::reread;
use crate::analysis::rule_status::{Late, LiveContext, LiveSeen};
use crate::finding::RuleId;

/// A line that matched, and the log it stands in.
#[derive(Debug, Clone, Copy)]
pub struct LiveLine<'a> {
    /// Names the log's generation.
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
    pub hit: Hit<'a>,
    /// Its answer is distinct.
    pub answered: bool,
    /// Its answer is to raise an alert.
    pub alerts: bool,
    /// It was reported before, with another grade.
    pub is_update: bool,
    /// All rules it matched, sorted.
    pub matched: &'a [RuleId],
    /// Its client may yet make it a finding.
    pub may_come_late: bool,
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
pub enum Occasion<'o> {
    /// It came. Lines that waited for its client to show itself go into the list.
    New(&'o mut Vec<Late>),
    /// Its client showed itself.
    Late,
    /// The grade of its answer changed.
    Regraded {
        /// It raised no alert yet.
        may_alert: bool,
    },
}

/// The hit a line is by now.
pub fn live<'a>(context: &mut LiveContext<'_>, line: &LiveLine<'a>, occasion: Occasion<'_>, desk: &'a mut Desk) -> LiveHit<'a> {
    let (record, probe) = reread(line.text, line.parsed);
    let Desk { normalizer, rules, host, client, prefix } = desk;
    let client = counted(record.client, *prefix, client);
    let views = normalizer.views(probe.line.target);
    let seen = LiveSeen {
        client,
        path: views.resolved,
        host: lowered(record.host, host),
        family: line.family,
        response: response(&record, &probe),
    };
    let met = context.meet(&seen);
    let (is_update, may_alert) = match occasion {
        Occasion::New(late) => {
            late.extend(context.see(line.rules, &seen, &met));
            (false, true)
        }
        Occasion::Late => (false, true),
        Occasion::Regraded { may_alert } => (true, may_alert),
    };
    let decision = context.decide(line.rules, &seen, &met, rules);
    let answer = decision.grade.map(|grade| grade.answer);
    let alerts =
        decision.reported && decision.answered && decision.severity >= MIN_ANSWERED_SEVERITY && may_alert && context.may_alert(&met);
    if let Some(answer) = answer.filter(|_| decision.reported && !is_update) {
        context.keep_graded(&met, seen.response, answer, alerts, line);
    }
    if !decision.reported {
        rules.clear();
    }
    let verdict = Verdict { severity: decision.severity, rules, answer, context: context.word_of(rules).filter(|_| !rules.is_empty()) };
    let spot = Spot { generation: line.generation, offset: line.offset, source: line.source, line: line.line };
    LiveHit {
        hit: told(&record, client, &probe, views, &spot, &verdict),
        answered: decision.answered,
        alerts,
        is_update,
        matched: line.rules,
        may_come_late: !decision.matched && context.may_come_late(line.rules),
    }
}
