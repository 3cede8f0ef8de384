//! Tells one kept line as NDJSON does, once the context is known.

use super::build::{Context, Material, severity};
use super::model::Hit;
use super::rows::reread;
use crate::client::Client;
use crate::finding::RuleId;
use crate::normalize::Normalizer;
use crate::record::Outcome;
use crate::tally::{Place, Site};

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

/// The hit a kept line is; `None` where the context takes it below the level that is reported.
pub fn hit<'a>(material: &Material<'a>, context: &Context<'_>, line: &KeptLine<'a>, normalizer: &'a mut Normalizer) -> Option<Hit<'a>> {
    let (record, probe) = reread(line.text, line.parsed);
    let outcome = Outcome::of(record.status);
    let exposes = line.rules.iter().any(|&rule| material.rules.rule(rule).exposes());
    let site = Site::of(record.host, line.place.input);
    let meant = exposes && outcome == Outcome::Answered;
    let catch_all = meant && record.status.is_some_and(|status| context.is_catch_all(&(site.scope(), status, record.bytes)));
    let severity = severity(material.rules, line.rules, meant && !catch_all);
    if severity < material.min_severity {
        return None;
    }
    let text = &material.texts[line.place.input as usize];
    let views = normalizer.views(probe.line.target);
    Some(Hit {
        generation: text.generation,
        offset: line.place.chunk + line.place.offset,
        source: &text.path,
        line: text.line_number(line.place.chunk, line.place.line),
        time: record.time,
        client: Client::parse(record.client),
        method: probe.line.method,
        target: probe.line.target,
        path: views.resolved,
        decoded: Some(views.target).filter(|decoded| *decoded != probe.line.target),
        protocol: probe.line.protocol,
        status: record.status,
        bytes: record.bytes,
        outcome,
        catch_all: Some(catch_all),
        severity,
        rules: line.rules,
        host: record.host,
        referer: record.referer,
        user_agent: record.user_agent,
        context: None,
    })
}
